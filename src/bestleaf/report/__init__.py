"""A self-contained HTML page about a result: it can be read offline and without installing anything."""

from __future__ import annotations

from pathlib import Path

from bestleaf.certificate import Certificate
from bestleaf.certificate.claims import in_line, shown
from bestleaf.certificate.encoded import encoding_in_words
from bestleaf.certificate.path import HEADS, path_cells
from bestleaf.certificate.record import objective_in_words
from bestleaf.certificate.schema import MALFORMED, RefusedError, check_form
from bestleaf.certificate.searched import searched
from bestleaf.certificate.verify_data import check_values
from bestleaf.certificate.verify_graph import check_graph
from bestleaf.files import write_atomically
from bestleaf.report.content import chosen_features, graph, how_to_repeat, leading_leaves, leaves_not_drawn
from bestleaf.report.drawing import draw_gap, draw_intervals, draw_path, draw_sizes, templates

__all__ = ["report_html", "save_report"]

FEW_NOTES = 12  # notes about the table that are shown at once
LONGEST_NOTE = 500  # characters


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
    try:
        check_form(certificate.content)
        check_graph(certificate.content)
        check_values(certificate.content)
        return _page(certificate, title)
    except (RefusedError, *MALFORMED) as error:
        reason = error if isinstance(error, RefusedError) else f"{type(error).__name__}: {error}"
        raise ValueError(
            f"certificate must be complete and well formed to be shown, got one refused: {reason}"
        ) from None


def _page(certificate: Certificate, title: str | None) -> str:
    content, extras = certificate.content, certificate.content.get("report")
    selection = content["data"] is not None
    leaves, sizes = leading_leaves(content), [] if extras is None else extras["by_size"]
    page = templates().get_template("report.html")
    return page.render(
        certificate=certificate,
        content=content,
        selection=selection,
        title=title or ("Feature selection" if selection else f"Best {content['search']['task']}"),
        new_data=certificate.new_data_in_words(),
        path_plot=None if certificate.path is None else draw_path(content),
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
        frequency=extras is not None and bool(extras.get("selection_frequency")),
        leaves=leaves,
        not_drawn=leaves_not_drawn(content),
        searched_is_answer=searched(content).is_answer,
        sizes=[[size, value, [shown(name) for name in names]] for size, value, names in sizes],
        graph=graph(content),
        interval_plot=draw_intervals(content, leaves),
        gap_plot=None if extras is None else draw_gap(content),
        size_plot=draw_sizes(content) if len(sizes) > 1 else None,
    )


def save_report(certificate: Certificate, path: str | Path, *, title: str | None = None) -> None:
    """Write the page to a file, whole or not at all."""
    write_atomically(Path(path), report_html(certificate, title=title))
