"""Check a certificate: its file by `bestleaf.proof.check` alone; with the data, its values are computed again, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bestleaf.checks import number
from bestleaf.proof import check
from bestleaf.proof.record import Certificate, InvalidRecordError, content_of, decoded, read_text
from bestleaf.proof.text import in_line, part_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

OURS = ("betting", "hoeffding", "theory", "beta1", "beta1_published", "beta2")  # bounds that are no user's own


class OwnBound(Protocol):
    """A bound of the user's own, with a function that says whether an end of an interval follows from its samples."""

    name: str
    check: Callable[[str, float, float, list[float]], bool] | None


class RefusedError(Exception):
    """A certificate does not hold; the text says why."""


class OtherDataError(RefusedError):
    """The data are not those that a certificate is about; the text says why."""


@dataclass(frozen=True)
class Verdict:
    """Whether a certificate holds, and why; true in a condition if it holds.

    Attributes
    ----------
    holds : bool
        Whether it holds.
    text : str
        What was checked, or why it is refused.
    other_data : bool
        Whether it is refused because the data given are not those it is about; it may hold for other data.
    """

    holds: bool
    text: str
    other_data: bool = False

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.text


def verify(
    certificate: Certificate | str | Path,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    oracle: Any = None,
    bound: OwnBound | None = None,
    audit: float | None = None,
) -> Verdict:
    """Check a certificate or its file; with the data, also compute its values again.

    Parameters
    ----------
    certificate : Certificate or path-like
        What is checked. A file must have the checksum it was saved with.
    X, y : default=None
        The data of a feature selection, as they were given to the selector.
    groups, sample_weight : default=None
        The groups and the weights of the rows, if they were given to the selector.
    oracle : EstimatorOracle, default=None
        Computes the values of an estimator again; without it they are taken as written.
    bound : Bound, default=None
        Your own bound, if the search used one. Its ``check`` says whether an interval follows from the samples; without
        it the intervals are taken as written.
    audit : float, default=0.01
        Share of the subsets, drawn at random, that are computed again with the data, where all subsets were evaluated;
        at least one subset, unless it is 0.

    Returns
    -------
    Verdict
        True if the certificate holds; its text says what was checked or why it is refused.
    """
    if (X is None) != (y is None):
        raise ValueError(f"X and y must be given together, got only {'y' if X is None else 'X'}")
    for name, given in (("groups", groups), ("sample_weight", sample_weight), ("audit", audit)):
        if given is not None and X is None:
            raise ValueError(f"{name} must be given with X and y, got only {name}")
    # Share of all subsets that are computed again.
    share = 0.01 if audit is None else number("audit", audit, "between 0 and 1", 0, 1)
    if not isinstance(certificate, Certificate | str | Path):
        raise TypeError(f"certificate must be a Certificate or the path of one, got a {type(certificate).__name__}")
    try:
        content, record = _read(certificate)
        lines = _without_data(content, _own(bound, record), with_data=X is not None)
        lines[1:1] = record.claims
        if X is None and record.data is not None:
            new = record.new_rows
            what = "the values are" if new is None else "the score on new rows is"
            if new is not None and new.table is not None:
                what = f"the results on the {new.rows:,} test rows are"
            lines.insert(0, f"Not checked without the data (--data, or X and y): that {what} real.")
        if X is not None and y is not None:
            from bestleaf.selection.recheck import recheck

            lines += recheck(record, X, y, groups=groups, sample_weight=sample_weight, oracle=oracle, audit=share)
            lines.sort(key=lambda line: not line.startswith("Not checked: "))  # first what nobody may overlook
    except RefusedError as reason:
        return Verdict(False, f"Refused: {in_line(str(reason))}.", isinstance(reason, OtherDataError))
    return Verdict(True, "\n".join(["The certificate holds.", *lines]))


def _read(given: Certificate | str | Path) -> tuple[dict[str, object], Certificate]:
    """Return the JSON of a certificate and its record; refuse a field that is none or has a wrong value."""
    try:
        text = given.to_json() if isinstance(given, Certificate) else read_text(given)
    except InvalidRecordError as error:
        raise RefusedError(str(error)) from None
    try:
        content = content_of(text)
        return content, given if isinstance(given, Certificate) else decoded(text.encode())
    except InvalidRecordError as error:
        raise RefusedError(str(error)) from None
    except ValueError as error:
        raise ValueError(f"{given}: {error}") from None


def _without_data(content: dict[str, object], own: tuple[str, check.Bound] | None, *, with_data: bool) -> list[str]:
    """Check everything that needs no data; return what was found."""
    report = check.check(content, own_bound=own)
    if not report.holds:
        raise RefusedError(report.reason)
    unless = ", unless the data show it" if with_data else ""
    return [*report.lines, f"Not checked{unless}: {'; '.join(report.taken_as_written)}."]


def _own(bound: OwnBound | None, certificate: Certificate) -> tuple[str, check.Bound] | None:
    """Return the name of a bound and its check, if it is that of the certificate; None if there is no check."""
    if bound is None:
        return None
    name = part_name(bound.name, OURS, ours=False)
    written = None if certificate.search is None else certificate.search.bound
    if name != written:
        raise RefusedError(f"the bound given is {name}, that of the certificate {written}")
    given = getattr(bound, "check", None)
    if given is None:
        return None
    return name, lambda side, value, share, evidence: bool(given(side, value, share, list(evidence)))
