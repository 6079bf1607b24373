"""What the value of a subset of features is, in words that follow from the settings of its oracle alone."""

from __future__ import annotations

from typing import Any


def neighbours_in_words(*, classes: int, n_neighbors: int, queries: int, rows: int, sampled: bool = False) -> str:
    """Return what nearest neighbours say of a subset; no classes stand for real targets.

    Values are of `queries` examples, always the same or, if `sampled`, random ones.
    """
    kind = (
        "AUC" if classes == 2 else f"mean one-against-rest AUC ({classes} classes)" if classes else "concordance index"
    )
    where = f"all {rows:,} examples"
    if sampled:
        where = f"random subsamples of {queries:,} of the {rows:,} examples (neighbours are searched among all)"
    elif queries < rows:
        where = (
            f"a fixed random subsample of {queries:,} of the {rows:,} examples (computing it on all would take too "
            "long; neighbours are searched among all)"
        )
    mean = "mean " if sampled else ""
    return f"{mean}leave-one-out {kind} of the votes of {n_neighbors} nearest neighbours on {where}"


def estimator_in_words(settings: dict[str, Any], *, sampled: bool = False) -> str:
    """Return what the score of an estimator on a subset is, on fixed splits or, if `sampled`, on random ones."""
    fresh = sampled and settings["fresh_splits"]
    how = "random splits" if fresh else f"{settings['splits']} fixed splits"
    low, high = settings["score_range"]
    mapped = "" if (low, high) == (0, 1) else f", mapped from [{low:g}, {high:g}] to [0, 1]"
    weighted = "weighted " if settings["weighted"] else ""
    return f"mean {weighted}{settings['scoring']} of {settings['name']} on {how}{mapped}"
