"""The certificate of `best_linear_subset`: the best subsets of least squares, and the proof that none is better."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from bestleaf.certificate.claims import counted, first_of, in_line
from bestleaf.certificate.claims import shown as name_shown
from bestleaf.certificate.linear import (
    CRITERIA,
    HIGHER_IS_BETTER,
    MARGIN,
    criterion_value,
    error_of,
    growth,
    moments,
    product_of,
)
from bestleaf.certificate.linear_proof import nothing_better
from bestleaf.certificate.record import checksum
from bestleaf.certificate.same_data import fingerprint
from bestleaf.certificate.schema import MALFORMED, Content, OtherDataError, RefusedError, need
from bestleaf.certificate.verify import Verdict
from bestleaf.files import write_atomically

FORMAT, FORMAT_VERSION = "bestleaf linear subsets", 1
NAMES = {"r2": "R²", "adjusted_r2": "adjusted R²", "aic": "AIC", "bic": "BIC"}
CLOSE = 1e-9
PARTS = {
    "format": str,
    "format_version": int,
    "criterion": str,
    "every_size": bool,
    "proved": bool,
    "reason": str,
    "rows": int,
    "names": list,
    "fingerprint": str,
    "allowed": list,
    "forced": list,
    "max_features": int,
    "sizes": list,
    "answer": list,
    "value": float,
    "bound": float,
    "rounding": float,
    "looked_at": int,
    "seconds": float,
}


class LinearCertificate:
    """What `best_linear_subset` found and proved.

    Attributes
    ----------
    content : dict
        All of it, in numbers, texts, lists and dictionaries only, as `save` writes it.

    Examples
    --------
    >>> import numpy as np
    >>> from bestleaf import best_linear_subset
    >>> X = np.random.default_rng(0).normal(size=(50, 6))
    >>> found = best_linear_subset(X, X[:, 1] - X[:, 4] + 0.1 * X[:, 0] ** 2)
    >>> bool(found.certificate.verify(X, X[:, 1] - X[:, 4] + 0.1 * X[:, 0] ** 2))
    True
    """

    def __init__(self, content: Content, *, from_file: bool = False) -> None:
        self.content = content
        self.from_file = from_file  # a file must have a checksum

    @property
    def claims(self) -> tuple[str, ...]:
        """What is proved."""
        content = self.content
        name, many = NAMES[content["criterion"]], len(content["allowed"])
        kind = f"subset of the {counted(many, 'feature')}" + self._limits()
        equal = (
            f"that differ by a share of {MARGIN:g}, plus {content['rounding']:.0e} of that of the mean, count as equal"
        )
        rounding = f"This holds up to rounding: sums of squared errors {equal}."
        if not content["proved"]:
            side = "above" if content["criterion"] in HIGHER_IS_BETTER else "below"
            return (f"No {kind} has {_article(name)} {name} {side} {content['bound']:.6f}. {rounding}",)
        better = f"No other {kind} has a better {name} than {content['value']:.6f}. {rounding}"
        if not content["every_size"]:
            return (better,)
        sizes = f"{content['sizes'][0][0]} to {content['sizes'][-1][0]}"
        return better, f"For each size from {sizes}, no other {kind} fits better than the one that is listed."

    @property
    def not_claimed(self) -> tuple[str, ...]:
        """What is not proved."""
        why = {"max_time": "time was over", "interrupted": "it was interrupted"}.get(self.content["reason"], "")
        early = (f"That the answer is the best: the search ended early, because {why}.",)
        rows = ("Anything about new rows: the criterion is computed on the rows that the model is fitted on.",)
        return rows if self.content["proved"] else early + rows

    def _limits(self) -> str:
        content = self.content
        limits = []
        if content["forced"]:
            limits.append(f"with the {counted(len(content['forced']), 'forced feature')}")
        if content["max_features"] < len(content["allowed"]):
            limits.append(f"of at most {counted(content['max_features'], 'feature')}")
        return "".join(f" {one}" for one in limits)

    def summary(self) -> str:
        """Return everything a reader must know, in words."""
        content = self.content
        chosen = [name_shown(content["names"][feature]) for feature in content["answer"]]
        listed = f": {first_of(chosen)}" if chosen else ", the mean alone"
        found = f"Selected {len(chosen)} of {counted(len(content['allowed']), 'feature')}{listed}."
        value = f"{NAMES[content['criterion']]} {content['value']:.6f} of least squares on {content['rows']:,} rows."
        cost = f"{counted(content['looked_at'], 'subset')} looked at in {content['seconds']:.2f} s."
        return "\n".join([found, value, cost, *self.claims, *(f"Not claimed: {text}" for text in self.not_claimed)])

    __str__ = summary

    def to_json(self) -> str:
        """Return the certificate as text, with a checksum of all of it."""
        return json.dumps({**self.content, "checksum": checksum(self.content)}, indent=1, allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Write the certificate to a file, whole or not at all."""
        write_atomically(Path(path), self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | Path) -> LinearCertificate:
        """Return the certificate in a file. It is not checked: use `verify`."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (UnicodeDecodeError, ValueError, RecursionError) as error:
            raise ValueError(f"{path} is not a certificate: no JSON ({in_line(str(error), 200)})") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"{path} is not a certificate of best_linear_subset")
        return cls(content, from_file=True)

    def verify(self, X: ArrayLike, y: ArrayLike, *, max_time: float | None = None) -> Verdict:
        """Check the certificate on the data: compute all listed values again, and prove again that none is better.

        The proof uses no code of the search. It is another branch and bound, in numpy, which is fast because the best
        subsets are known.

        Parameters
        ----------
        X, y : arrays
            The data, as they were given to `best_linear_subset`.
        max_time : float, default=None
            Seconds that the proof may take; a certificate that could not be proved again in time is refused.

        Returns
        -------
        Verdict
            True if the certificate holds; its text says what was checked or why it is refused.
        """
        began = perf_counter()
        try:
            checked = self._checked(
                np.asarray(X, np.float64),
                np.asarray(y, np.float64),
                lambda: max_time is not None and perf_counter() - began > max_time,
            )
        except RefusedError as reason:
            return Verdict(False, f"Refused: {in_line(str(reason))}.", isinstance(reason, OtherDataError))
        except MALFORMED as error:
            what = in_line(f"{type(error).__name__}: {error}", 200)
            return Verdict(False, f"Refused: the certificate is incomplete or malformed ({what}).")
        return Verdict(True, f"The certificate holds.\n{checked}")

    def _checked(self, X: np.ndarray, y: np.ndarray, over: Callable[[], bool]) -> str:
        """Check everything; return what was checked, in words."""
        content = self.content
        self._check_form()
        if X.ndim != 2 or len(X) != content["rows"] or fingerprint(X, y) != content["fingerprint"]:
            raise OtherDataError("these are not the data the certificate is about (their fingerprints differ)")
        allowed, forced, criterion = content["allowed"], content["forced"], content["criterion"]
        known = moments(X[:, allowed], y)
        rows, total = known.rows, known.total
        errors: dict[int, float] = {}
        for size, subset, written, value in content["sizes"]:
            fine = sorted(set(subset)) == subset and set(forced) <= set(subset) <= set(allowed) and len(subset) == size
            need(fine and size not in errors, f"{subset!r:.80} must be a subset of {size} features that may be chosen")
            errors[size] = error_of(X, y, subset)
            need(_same(errors[size], written), f"the error of {subset!r:.80} is {errors[size]:.6g}, not {written:.6g}")
            mine = criterion_value(criterion, errors[size], size, rows, total)
            need(_same(mine, value), f"the {NAMES[criterion]} of {subset!r:.80} is {mine:.6g}, not {value:.6g}")
        sign = 1.0 if criterion in HIGHER_IS_BETTER else -1.0
        best = max(content["sizes"], key=lambda row: sign * row[3])
        need(_same(best[3], content["value"]), f"the best value listed is {best[3]:.6g}, not {content['value']:.6g}")
        need([content["answer"], content["value"]] in [[row[1], row[3]] for row in content["sizes"]], "no such answer")
        fine = sign * (content["bound"] - content["value"]) >= -CLOSE
        need(fine, f"the bound must not be worse than the best value listed, got {content['bound']:.6g}")
        sizes = np.arange(len(allowed) + 1)
        share, rounding = known.margins
        right = abs(content["rounding"] - rounding) <= 1e-3 * rounding
        need(right, f"the margin for rounding is {rounding:.3g}, not {content['rounding']:.3g}")
        if content["proved"] and content["every_size"]:
            need(sorted(errors) == list(range(len(forced), content["max_features"] + 1)), "a size is missing")
            limits = np.array([errors.get(size, -np.inf) for size in range(len(sizes))])
        else:
            product = product_of(criterion, content["value"] if content["proved"] else content["bound"], rows, total)
            limits = product / growth(criterion, rows, sizes)
        limits = np.where(np.isfinite(limits), limits * (1.0 - share) - rounding, -np.inf)
        limits[(sizes < len(forced)) | (sizes > content["max_features"])] = -np.inf
        places = [allowed.index(feature) for feature in forced]
        shown_again, looked = nothing_better(known, places, limits, over)
        need(shown_again or not over(), "time was over before it was proved again that no subset is better")
        need(shown_again, "there is a subset that is better than the certificate says")
        listed = f"{counted(len(errors), 'listed subset')} computed again"
        return f"{listed}; that none is better was proved again by looking at {counted(looked, 'set')}."

    def _check_form(self) -> None:
        content = self.content
        if self.from_file:
            need(content.get("checksum") == checksum(content), "the file is not as it was saved: its checksum differs")
        for name, kind in PARTS.items():
            fine = isinstance(content.get(name), kind) and (kind is bool or not isinstance(content.get(name), bool))
            need(fine, f"the part {name!r} must be a {kind.__name__}, got {content.get(name)!r:.40}")
        need(content["format_version"] == FORMAT_VERSION, f"the format version must be {FORMAT_VERSION}")
        need(content["criterion"] in CRITERIA, f"the criterion must be one of {', '.join(CRITERIA)}")
        allowed = content["allowed"]
        fine = allowed == sorted(set(allowed)) and set(content["forced"]) <= set(allowed)
        need(
            fine and len(content["names"]) > max(allowed, default=-1), "the features that may be chosen are not listed"
        )
        need(0 <= content["max_features"] <= len(allowed), "max_features must be a number of features")
        need(len(content["sizes"]) > 0, "at least one subset must be listed")


def is_linear(path: str | Path) -> bool:
    """Whether a file says that it is a certificate of `best_linear_subset`."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            return f'"{FORMAT}"' in file.read(200)
    except (OSError, UnicodeDecodeError):
        return False  # whoever reads it says why


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= CLOSE * max(1.0, abs(one))


def _article(name: str) -> str:
    return "an" if name[0] in "aAR" else "a"
