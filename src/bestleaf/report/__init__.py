"""A self-contained HTML page about a result, and each of its figures as SVG: both can be read offline."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from bestleaf.checks import one_of
from bestleaf.files import write_atomically
from bestleaf.proof.record import Certificate
from bestleaf.proof.text import in_line
from bestleaf.proof.words import cost_in_words, encoding_in_words, objective_in_words
from bestleaf.proof.words_new_rows import almost_perfect
from bestleaf.report.content import cards_of, columns_of, nearly_chosen, rows_of, sizes_of
from bestleaf.report.drawing import Picture, draw_intervals, draw_path, standalone, templates

if TYPE_CHECKING:
    from bestleaf.selection.selector import BestLeafSelector

__all__ = ["figure", "report_html", "save_report"]

LONGEST_NOTE, LONGEST_CALL = 500, 5000  # characters
LONGEST_EMBEDDED = 2 * 10**6  # characters of a certificate that the page carries; a longer one is dropped on it
FIGURES = {"path": draw_path, "intervals": draw_intervals}
NEEDED = {
    "path": "scores by size, which choose='new_data' gives",
    "intervals": "a search, which choose='training' and best_leaf give",
}
NOTHING_PROVED = "Nothing is proved here: every number on this page is an estimate."


def figure(found: Certificate | BestLeafSelector, name: str) -> Picture:
    """Return one figure of the page as SVG, with its colours, so that it can be saved as a file of its own.

    Parameters
    ----------
    found : BestLeafSelector or Certificate
        A fitted selector, or the certificate of any search.
    name : {"path", "intervals"}
        "path" is the difference to all columns by number of columns, "intervals" the answer of a search and its closest
        rivals.

    Returns
    -------
    str
        The SVG as text. A notebook shows it as a picture.

    Raises
    ------
    ValueError
        If the certificate does not have what the figure shows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from bestleaf import best_leaf, problems
    >>> from bestleaf.report import figure
    >>> found = best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0)
    >>> Path("intervals.svg").write_text(figure(found.certificate, "intervals"))  # doctest: +SKIP
    """
    one_of("name", name, FIGURES)
    certificate = getattr(found, "certificate_", found)
    if not isinstance(certificate, Certificate):
        raise TypeError(f"found must be a fitted selector or a Certificate, got a {type(found).__name__}")
    drawn = FIGURES[name](certificate)
    if drawn is None:
        raise ValueError(f"found must have {NEEDED[name]}, for the figure {name!r}, got none")
    return standalone(drawn)


def report_html(certificate: Certificate, *, title: str | None = None) -> str:
    """Return the page as text.

    Parameters
    ----------
    certificate : Certificate
        The certificate of a selection or of any search. To check that it holds, use `bestleaf.verify`.
    title : str, default=None
        Heading of the page.
    """
    if not isinstance(certificate, Certificate):
        raise TypeError(f"certificate must be a Certificate, got a {type(certificate).__name__}")
    data, told = certificate.data, certificate.told
    claims = list(certificate.claims)
    script, written = _script(), certificate.to_json()
    return (
        templates()
        .get_template("report.html")
        .render(
            title=title or ("Which columns?" if data is not None else "Which move?"),
            about=_about(certificate),
            cards=cards_of(certificate),
            figures={name: draw(certificate) for name, draw in FIGURES.items()},
            path=certificate.path,
            sizes=[] if certificate.path is None else sizes_of(certificate.path),
            columns=columns_of(certificate),
            doubted=almost_perfect(certificate) is not None,
            nearly=nearly_chosen(certificate),
            proved=claims[0] if claims else NOTHING_PROVED,
            more=claims[1:],
            not_claimed=certificate.not_claimed,
            rows=rows_of(certificate),
            cost=cost_in_words(certificate),
            fingerprint=None if data is None else data.fingerprint,
            encoding=None if data is None or data.encoding is None else encoding_in_words(data.encoding),
            notes=[] if told is None else [in_line(note, LONGEST_NOTE) for note in told.notes],
            repeat=None if told is None or told.repeat is None else _repeat(told.repeat),
            version=certificate.bestleaf,
            script=Markup(script),
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
            embedded=Markup(written.replace("<", "\\u003c")) if len(written) < LONGEST_EMBEDDED else None,
        )
    )


def _script() -> str:
    """Return the second reader of certificates with what the page does with it."""
    folder = Path(__file__).parent
    return "".join(
        file.read_text(encoding="utf-8") for file in (folder / "check.js", folder / "templates/check_page.js")
    )


def _repeat(call: str) -> str:
    """Return the command, or the call in Python with what it needs to be imported, that repeats a selection."""
    used = [name for name in ("BestLeafSelector", "NeighbourVotes", "SearchOptions") if f"{name}(" in call]
    imports = f"from bestleaf import {', '.join(used)}\n\n" if used else ""
    return f"{imports}{in_line(call, LONGEST_CALL)}"


def _about(certificate: Certificate) -> str | None:
    """Return what the table is and how it was judged; None if there is no table."""
    data, claim = certificate.data, certificate.new_rows
    if data is None:
        return None
    kept = f" to choose by, {claim.rows:,} test rows" if claim is not None and claim.how == "test rows" else ""
    return f"{data.rows:,} rows{kept}. Score: {objective_in_words(data)}."


def save_report(certificate: Certificate, path: str | Path, *, title: str | None = None) -> None:
    """Write the page to a file, whole or not at all."""
    write_atomically(Path(path), report_html(certificate, title=title))
