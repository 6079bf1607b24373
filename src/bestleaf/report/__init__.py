"""A self-contained HTML page about a result, and each of its figures as SVG: both can be read offline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bestleaf.certificate import Certificate
from bestleaf.certificate.claims import in_line, shown
from bestleaf.certificate.path import HEADS, path_cells
from bestleaf.certificate.record import objective_in_words
from bestleaf.certificate.same_data import encoding_in_words
from bestleaf.certificate.schema import MALFORMED, RefusedError, check_form
from bestleaf.certificate.searched import searched
from bestleaf.certificate.verify_data import check_values
from bestleaf.certificate.verify_graph import check_graph
from bestleaf.checks import one_of
from bestleaf.files import write_atomically
from bestleaf.report.content import chosen_features, how_to_repeat, leading_leaves, leaves_not_drawn
from bestleaf.report.drawing import Picture, draw_gap, draw_intervals, draw_path, draw_sizes, standalone, templates

if TYPE_CHECKING:
    from bestleaf.selection.selector import BestLeafSelector

__all__ = ["figure", "report_html", "save_report"]

FEW_NOTES = 12  # notes about the table that are shown at once
LONGEST_NOTE = 500  # characters
FIGURES = {"path": draw_path, "intervals": draw_intervals, "gap": draw_gap, "sizes": draw_sizes}
NEEDED = {  # by figures that not every certificate has
    "path": "a path, which choose='new_data' gives",
    "gap": "a gap that was known at least twice in the search",
    "sizes": "exact values of subsets of several sizes",
}


def figure(found: Certificate | BestLeafSelector, name: str) -> Picture:
    """Return one figure of the page as SVG, with its colours, so that it can be saved as a file of its own.

    Parameters
    ----------
    found : BestLeafSelector or Certificate
        A fitted selector, or the certificate of any search.
    name : {"path", "intervals", "gap", "sizes"}
        "path" has training values and left-out scores by number of features, "intervals" the answer and its closest
        rivals, "gap" how much better another subset might have been in the course of time, "sizes" the best value of
        each number of features.

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
    with _well_formed(certificate):
        drawn = FIGURES[name](certificate.content)
    if drawn is None:
        raise ValueError(f"found must have {NEEDED[name]} for the figure {name!r}, got none")
    return standalone(drawn)


def report_html(certificate: Certificate, *, title: str | None = None) -> str:
    """Return the page as text.

    Parameters
    ----------
    certificate : Certificate
        The certificate of any search. The page of a `BestLeafSelector` also shows the gap over time and the best subset
        of each size. If left-out rows decided, its first figure is the path.
    title : str, default=None
        Heading of the page.

    Raises
    ------
    ValueError
        If parts of the certificate are missing or malformed. To check that it holds, use `bestleaf.verify`.
    """
    if not isinstance(certificate, Certificate):
        raise TypeError(f"certificate must be a Certificate, got a {type(certificate).__name__}")
    with _well_formed(certificate):
        return _page(certificate, title)


def _page(certificate: Certificate, title: str | None) -> str:
    content, extras = certificate.content, certificate.content.get("report")
    selection = content["data"] is not None
    sizes = [] if extras is None else extras["by_size"]
    page = templates().get_template("report.html")
    return page.render(
        certificate=certificate,
        content=content,
        selection=selection,
        title=title or ("Feature selection" if selection else f"Best {content['search']['task']}"),
        new_data=certificate.new_data_in_words(),
        path_heads=HEADS,
        path=[] if certificate.path is None else path_cells(content, None),
        answer=" ".join(certificate.answer_in_words().splitlines()),
        baseline=certificate.all_features_in_words(),
        unseen=certificate.unseen_in_words(),
        cost=certificate.cost_in_words(),
        objective=objective_in_words(content["data"]) if selection else None,
        repeat=how_to_repeat(content),
        notes=[in_line(note, LONGEST_NOTE) for note in (extras or {}).get("notes", [])],
        few_notes=FEW_NOTES,
        encoding=encoding_in_words(content["data"]) if selection and "encoding" in content["data"] else None,
        features=chosen_features(content),
        leaves=leading_leaves(content),
        not_drawn=leaves_not_drawn(content),
        searched_is_answer=searched(content).is_answer,
        sizes=[[size, value, [shown(name) for name in names]] for size, value, names in sizes],
        figures={name: draw(content) for name, draw in FIGURES.items()},
    )


@contextmanager
def _well_formed(certificate: Certificate) -> Iterator[None]:
    """Refuse a certificate that is not complete and well formed, also if that is only noticed when it is drawn."""
    try:
        check_form(certificate.content)
        check_graph(certificate.content)
        check_values(certificate.content)
        yield
    except (RefusedError, *MALFORMED) as error:
        reason = error if isinstance(error, RefusedError) else f"{type(error).__name__}: {error}"
        raise ValueError(
            f"certificate must be complete and well formed to be shown, got one refused: {reason}"
        ) from None


def save_report(certificate: Certificate, path: str | Path, *, title: str | None = None) -> None:
    """Write the page to a file, whole or not at all."""
    write_atomically(Path(path), report_html(certificate, title=title))
