"""One self-contained HTML page about a result: no network, nothing to install to read it."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from bestleaf.certificate import Certificate
from bestleaf.certificate.extras import check_extras
from bestleaf.certificate.refusal import MALFORMED, RefusedError
from bestleaf.certificate.schema import check_form
from bestleaf.certificate.verify_graph import check_graph
from bestleaf.files import write_atomically
from bestleaf.report import charts
from bestleaf.report.content import page_content

__all__ = ["report_html", "save_report"]


def report_html(certificate: Certificate, *, title: str | None = None) -> str:
    """Return the page as text.

    Parameters
    ----------
    certificate : Certificate
        Of any search; that of a `BestLeafSelector` also knows how the gap closed and the best subset of each size.
    title : str, default=None
        Heading of the page.

    Raises
    ------
    ValueError
        If parts of the certificate are missing or malformed; whether it holds is for `bestleaf.verify` to say.
    """
    if not isinstance(certificate, Certificate):
        raise TypeError(f"certificate must be a Certificate, got a {type(certificate).__name__}")
    try:
        check_form(certificate.content)
        check_graph(certificate.content)
        check_extras(certificate.content)
        return _page(certificate, title)
    except (RefusedError, *MALFORMED) as error:
        reason = error if isinstance(error, RefusedError) else f"{type(error).__name__}: {error}"
        raise ValueError(
            f"certificate must be complete and well formed to be shown, got one refused: {reason}"
        ) from None


def _page(certificate: Certificate, title: str | None) -> str:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    shown, folder = page_content(certificate), files(__package__) / "templates"
    summary = certificate.summary().splitlines()
    data = json.dumps(shown["graph"], separators=(",", ":")).replace("<", "\\u003c")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string((folder / "report.html").read_text(encoding="utf-8")).render(
        **shown,
        title=title or ("Feature selection" if shown["selection"] else f"Best {certificate.content['search']['task']}"),
        answer=" ".join(summary[: 2 if shown["selection"] else 1]),
        unseen=next((text for text in summary if text.startswith("On ")), None),
        cost=next(text for text in summary if " in " in text and " s (" in text),
        charts={name: None if plot is None else Markup(plot) for name, plot in _plots(certificate, shown).items()},
        graph_json=Markup(data),
        style=Markup((folder / "report.css").read_text(encoding="utf-8")),
        script=Markup((folder / "report.js").read_text(encoding="utf-8")),
    )


def _plots(certificate: Certificate, shown: dict[str, Any]) -> dict[str, str | None]:
    """Return the plots there is something to show in."""
    history = [(row["elapsed"], row["gap"]) for row in shown["history"] if row["gap"] < 1]
    sizes = [(float(size), value) for size, value, _ in shown["sizes"]]
    epsilon = certificate.epsilon
    return {
        "intervals": charts.intervals(shown["leaves"], certificate.score + epsilon),
        "gap": charts.gap(history, epsilon) if len(history) > 1 else None,
        "sizes": charts.sizes(sizes) if len(sizes) > 1 else None,
    }


def save_report(certificate: Certificate, path: str | Path, *, title: str | None = None) -> None:
    """Write the page to a file, whole or not at all."""
    write_atomically(Path(path), report_html(certificate, title=title))
