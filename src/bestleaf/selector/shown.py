"""A fitted selector in a notebook: scikit-learn's diagram, and below it what the certificate says."""

from __future__ import annotations

from typing import Any


class ShowsCertificate:
    """Adds the certificate to the HTML of an estimator; the methods are those of scikit-learn from 1.6 to 1.9."""

    def _repr_html_inner(self) -> str:
        return self._with_certificate(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **keywords: Any) -> dict[str, str]:
        shown = super()._repr_mimebundle_(**keywords)  # type: ignore[misc]
        if "text/html" in shown:  # not when scikit-learn is told to display text
            shown["text/html"] = self._with_certificate(shown["text/html"])
        return shown

    def _with_certificate(self, diagram: str) -> str:
        found = getattr(self, "certificate_", None)
        return diagram if found is None else f'{diagram}<div class="bestleaf-certificate">{found._repr_html_()}</div>'
