"""Test rows: which rows are kept aside before anything is looked at, and what they say of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np

from bestleaf.checks import shown
from bestleaf.features.rows import group_numbers
from bestleaf.proof.record import NewRowsClaim, Path
from bestleaf.search.budget import Budget
from bestleaf.selection.data import Data
from bestleaf.selection.folds import MOST_ROWS, Fold, Part
from bestleaf.selection.judges import Panel, finite
from bestleaf.selection.matched import MATCHINGS, Measure, Rows, draws, proved
from bestleaf.selection.nested import by_rows
from bestleaf.selection.space import Space

A_SECOND = 10**9  # differences of two cells that nearest neighbours look at in a second
BLOCKS = 20  # of test rows; a standard error follows from the scores without each of them
MEASURES: dict[str, Measure] = {"roc_auc": "auc", "concordance": "concordance", "accuracy": "accuracy"}  # have a proof
Why = Literal["folds", "groups", "weights", "classes", "scoring", "size"]


class Split(NamedTuple):
    """Numbers of the rows to choose by, and of the test rows."""

    kept: np.ndarray
    aside: np.ndarray


def rows_aside(data: Data, holdout: object, task: str, seed: int) -> Split | None:
    """Return which rows are test rows; None if no row is.

    By default they are a quarter of 2,000 rows or more, at most 5,000. Classes keep their shares; groups stay together.
    """
    many = _how_many(len(data.y), holdout)
    if not many:
        return None
    split = drawn(data.y, task, many, seed, data.groups)
    kept, aside = (np.unique(data.y[part]) for part in split)
    known = task == "regression" or bool(np.isin(aside, kept).all())
    if min(len(kept), len(aside)) > 1 and known:
        return split
    if holdout is None:
        return None
    what = f"a fraction of {holdout:g} of {len(data.y)} rows"
    raise ValueError(f"holdout must leave at least two targets, and every class, on both sides, got {what}")


def _how_many(rows: int, holdout: object) -> int:
    """Return how many test rows there should be."""
    if holdout is None:
        return min(int(np.ceil(rows * 0.25)), 5000) if rows >= 2000 else 0
    if isinstance(holdout, bool) or not isinstance(holdout, Real) or not 0 <= float(holdout) < 1:
        raise ValueError(f"holdout must be None, 0 or a fraction below 1, got {shown(holdout)}")
    return int(np.ceil(rows * float(holdout)))


def drawn(y: np.ndarray, task: str, many: int, seed: int, groups: np.ndarray | None = None) -> Split:
    """Return `many` rows at random, of each class its share, and the others; of groups as many as have so many rows."""
    if groups is not None:
        group = group_numbers(groups, len(y))
        order = np.argsort(draws(seed, 0, int(group.max()) + 1), kind="stable")
        sizes = np.bincount(group)[order]
        # A group that would leave less than 60 % of the rows to choose by is none of them.
        taken, found, most = list[int](), 0, len(y) * (0.4 if many <= 0.4 * len(y) else 0.9)
        for one, size in zip(order.tolist(), sizes.tolist(), strict=True):
            if found < many and found + size <= most:
                taken, found = [*taken, one], found + size
        aside = np.isin(group, taken)
    else:
        aside = np.zeros(len(y), bool)
        aside[_in_turn(y, task, seed)[:many]] = True
    return Split(np.flatnonzero(~aside), np.flatnonzero(aside))


def as_time_allows(split: Split, data: Data, task: str, seed: int, left: float) -> Split:
    """Return the split if there is time for it, otherwise fewer rows of it, drawn in the same way.

    `left` are the seconds; if time is over, the rows are what takes about a fifth of a second.
    """
    columns = data.X.shape[1]
    if 2 * len(split.kept) * len(split.aside) * columns / A_SECOND <= left:  # the answer and all columns
        return split
    times = max(1, int(left / 0.4))
    turn = _in_turn(data.y, task, seed)
    most = min(len(split.kept), times * min(MOST_ROWS, max(500, 5 * 10**5 // columns)))
    kept = np.sort(turn[-most:])
    if task == "classification" and not np.isin(data.y[split.kept], data.y[kept]).all():
        kept = split.kept
    few = min(len(split.aside), max(50, times * A_SECOND // 5 // (len(kept) * columns)))
    return Split(kept, np.sort(turn[:few]))


def _in_turn(y: np.ndarray, task: str, seed: int) -> np.ndarray:
    """Return the rows in a random order in which all classes are spread evenly."""
    keys = draws(seed, 0, len(y))
    labels = np.zeros(len(y), int) if task == "regression" else np.unique(y, return_inverse=True)[1].ravel()
    order, sizes = np.lexsort((keys, labels)), np.bincount(labels)
    place = np.empty(len(y))
    place[order] = np.arange(len(y)) - (np.cumsum(sizes) - sizes)[labels[order]]
    return np.lexsort((keys, (place + 0.5) / sizes[labels]))


def on_test_rows(
    data: Data,
    split: Split,
    space: Space,
    panel: Panel,
    sets: Sequence[tuple[int, ...]],
    delta: float,
    *,
    matching: int,
    seed: int = 0,
    how: Literal["test rows", "given rows"] = "test rows",
    fingerprint: str | None = None,
    budget: Budget | None = None,
) -> NewRowsClaim:
    """Return what test rows say of the answer.

    `split` says which rows of `data` they are. `sets` are the answer and then other sets of the path, first those that
    are most likely to be better; once the budget is spent, no other one is compared. `matching` is the seed of
    `matching_of`, `seed` that of blocks of rows.
    """
    part = panel.part(data, space, Fold(split.kept, split.aside))
    answer, every = tuple(sorted(sets[0])), space.everything
    asked = [answer] if answer == every else [answer, every]
    claim = partial(
        NewRowsClaim,
        rows=len(split.aside),
        trained=len(split.kept),
        how=how,
        fingerprint=fingerprint,
        guessing=panel.guessing(data.y[split.aside]),
    )
    why, known = _why_no_proof(data, part, panel), list[list[np.ndarray]]()
    if why is None:
        known = [_predicted(panel, part, one) for one in asked]
        width = sum(outputs.shape[1] for outputs in known[0])
        # The table has so many numbers, fewer with other sets.
        why = "size" if MATCHINGS * 4 * width * len(asked) > 10**6 else None
    if why is not None:
        blocks = _blocks(data, split, panel.task, seed)
        return _estimate(partial(claim, why_no_proof=why), part, panel, asked, blocks)
    others = [one for one in sets[1:] if tuple(sorted(one)) not in asked]
    others = others[: max(0, room(width, len(split.aside), len(split.kept)) - len(asked))]
    for one in others:
        if budget is not None and budget.spent():
            break
        known.append(_predicted(panel, part, one))
        asked.append(one)
    rows = Rows.of(MEASURES[panel.scoring], part.new_y, known, [len(one) for one in asked])
    scores = rows.scores()
    return claim(
        score=float(scores[0].mean()),
        all_columns=float(scores[0 if answer == every else 1].mean()),
        judges=dict(zip(panel.names, scores[0].tolist(), strict=True)),
        delta=delta,
        **proved(rows, delta, matching, len(others))._asdict(),
    )


def matching_of(fingerprint: str) -> int:
    """Return the seed of the matchings; it follows from the data, so nobody chooses it by the result."""
    return int(fingerprint[:16], 16)


def room(width: int, rows: int, trained: int) -> int:
    """Return how many sets are compared at most; nobody chooses it by the result. `width` counts judges and outputs."""
    return min(300_000 // (MATCHINGS * 4 * width), 10**9 // trained // rows)  # of numbers, and of distances


def is_cut_short(claim: NewRowsClaim, sets: int) -> bool:
    """Return whether a budget ended the comparison with the sets of a path."""
    if claim.table is None:
        return False
    most = room((len(claim.table.score[0]) - 1) // 2, claim.rows, claim.trained)
    return len(claim.table.sets) < min(sets, most)


def compared(features: Iterable[str], path: Path | None, space: Space, data: Data) -> list[tuple[int, ...]]:
    """Return the units of the answer, then those of the sets of a path, the highest score first."""
    numbers = {str(name): place for place, name in enumerate(data.names)}
    rows = () if path is None else sorted(path.rows, key=lambda row: -(row.difference or 0.0))
    found = dict[tuple[int, ...], None]()
    for names in (features, *(row.features for row in rows)):
        columns = set(data.columns_of(numbers[name] for name in names))
        found[tuple(unit for unit, some in enumerate(space.units) if columns.issuperset(some))] = None
    return list(found)


def _why_no_proof(data: Data, part: Part, panel: Panel) -> Why | None:
    """Return why there is no proof, as far as it follows from what is asked."""
    if data.groups is not None:
        return "groups"
    if data.weights is not None:
        return "weights"
    if panel.scorer is not None or panel.scoring not in MEASURES:
        return "scoring"
    classes = () if panel.classes is None else panel.classes
    missing = panel.scoring == "roc_auc" and len(np.unique(part.new_y)) < len(classes)
    return "classes" if missing else None


def _predicted(panel: Panel, part: Part, units: tuple[int, ...]) -> list[np.ndarray]:
    """Return what each judge says of the test rows; all of them say something where the score is a known one."""
    return [outputs for outputs in panel.predictions(part, units) if outputs is not None]


def _estimate(
    claim: Callable[..., NewRowsClaim],
    part: Part,
    panel: Panel,
    sets: Sequence[tuple[int, ...]],
    blocks: Sequence[np.ndarray],
) -> NewRowsClaim:
    """Return the scores of the first and the last set, with errors from the scores without each block of rows."""
    every = np.arange(len(part.new_y))
    several = [every, *(np.setdiff1d(every, block) for block in blocks)]
    scores = np.array([panel.scores_on(part, one, [len(one)], several)[:, :, 0] for one in (sets[0], sets[-1])])
    means = scores.mean(axis=2)  # [sets, all rows and the rows without each block]
    return claim(
        score=float(means[0, 0]),
        all_columns=float(means[1, 0]),
        judges=dict(zip(panel.names, scores[0, 0].tolist(), strict=True)),
        standard_error=_at_least(_jackknife(means[0, 1:]), by_rows(panel, part.new_y, part.weights, means[0, 0])),
        difference_error=_jackknife(means[0, 1:] - means[1, 1:]),
    )


def _blocks(data: Data, split: Split, task: str, seed: int) -> list[np.ndarray]:
    """Return places among the test rows in about equal blocks; groups stay together."""
    groups = data.groups
    if groups is None:
        turn = np.empty(len(split.aside), int)
        turn[_in_turn(data.y[split.aside], task, seed)] = np.arange(len(turn))
    else:
        group = group_numbers(groups[split.aside], len(split.aside))
        turn = np.argsort(np.argsort(draws(seed, 0, int(group.max()) + 1)))[group]
    found = [np.flatnonzero(turn % BLOCKS == block) for block in range(BLOCKS)]
    return [block for block in found if 0 < len(block) < len(turn)]


def _at_least(error: float | None, least: float) -> float | None:
    return None if error is None else max(error, least)


def _jackknife(without: np.ndarray) -> float | None:
    """Return a standard error from the scores without each block of rows."""
    return finite(np.sqrt((len(without) - 1) * np.var(without))) if len(without) > 1 else None
