"""Check the table of test rows with the data: which rows they are, and what nearest neighbours and ridge say of them.

Both judges are written here once more, as in a textbook. Where rows are equally near, rounding decides which of them
votes, so a score must lie between the least and the largest that any of them give. The forest is not grown again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score

from bestleaf.proof.record import Certificate, NewRowsClaim, Panel, PathRow, RankTable
from bestleaf.proof.text import counted
from bestleaf.proof.verify import RefusedError
from bestleaf.selection.data import Data
from bestleaf.selection.matched import Rows
from bestleaf.selection.new_rows import Split, drawn

NEIGHBOURS, NEAREST, RIDGE = 5, "5 nearest neighbours", "ridge regression"
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # of ridge regression, times the number of rows or, if larger, of columns
WORK = 1e10  # numbers that are added or compared: about ten seconds
AT_ONCE = 2**22  # distances that are held at a time
EQUAL = 1e-9  # distances that differ by a smaller part are the same
CLOSE = 1e-6

Bounds = tuple[np.ndarray, np.ndarray]  # of what a judge says, [rows, outputs]


def check_new_rows(certificate: Certificate, rows: Data) -> list[str]:
    """Return what was found of the score on new rows, in words."""
    claim, path, data = certificate.new_rows, certificate.path, certificate.data
    assert claim is not None
    assert data is not None
    if claim.how == "given rows":
        return ["The test rows that were handed in are not among these data: their table is taken as written."]
    if claim.how == "nested folds" or path is None or path.seed is None:
        return ["The score on new rows is an estimate, and was not computed again."]
    split = split_of(certificate, rows)
    if claim.table is None or claim.table.measure != "auc" or not isinstance(data.objective, Panel):
        return [f"The {claim.rows:,} test rows are those that the seed draws. Their scores were not computed again."]
    y = rows.y
    classes = y[split.kept][np.sort(np.unique(y[split.kept], return_index=True)[1])]
    labels = np.argmax(y[:, None] == classes, axis=1)
    _check_classes(claim.table, labels[split.aside])
    known, new = _standardised(rows.learned_from(split.kept).X.astype(np.float64), split)
    targets = (labels[split.kept, None] == np.arange(len(classes))[len(classes) == 2 :]).astype(np.float64)
    numbers = {name: place for place, name in enumerate(data.names)}
    scores, left, checked = Rows.of(claim.table).scores(), WORK, 0
    for place, row in enumerate(_sets(path.rows, claim.table)):
        some = rows.columns_of(numbers[name] for name in row.features)
        left -= float(len(known)) * (len(new) + len(some)) * len(some)
        if left < 0 and place:
            break
        for judge, bounds in _said(claim, known[:, some], new[:, some], targets):
            low, high = _scores(labels[split.aside], bounds, len(classes))
            written, number = scores[place, list(claim.judges).index(judge)], counted(row.size, "column")
            if not low - CLOSE <= written <= high + CLOSE:
                raise RefusedError(f"with {number}, {judge} scores {low:.6g} on the test rows, not {written:.6g}")
            checked += 1
    again = f"{counted(checked, 'score')} by nearest neighbours or ridge regression were computed again"
    if not checked:
        again = "their scores, by estimators of the user's, were not computed again"
    return [f"The {claim.rows:,} test rows are those that the seed draws; {again}; the rest is taken as written."]


def split_of(certificate: Certificate, rows: Data) -> Split:
    """Return the rows to choose by, and the test rows, as the seed of a certificate draws them."""
    claim, path, data = certificate.new_rows, certificate.path, certificate.data
    assert claim is not None
    assert data is not None
    if path is None or path.seed is None:
        raise RefusedError("test rows need the seed that they are drawn by, got none")
    task = getattr(data.objective, "task", "classification")
    split = drawn(rows.y, task, claim.rows, path.seed, rows.metadata.get("groups"))
    if (len(split.aside), len(split.kept)) != (claim.rows, claim.trained):
        got = f"{len(split.aside):,} of {len(rows.y):,} rows, not {claim.rows:,} beside {claim.trained:,}"
        raise RefusedError(f"the seed draws {got}")
    return split


def _check_classes(table: RankTable, labels: np.ndarray) -> None:
    """Check how many test rows there are of each class."""
    written = np.bincount(Rows.of(table).target).tolist()
    if written != (right := np.bincount(labels).tolist()):
        raise RefusedError(f"the test rows are {right} of each class on these data, not {written}")


def _sets(rows: tuple[PathRow, ...], table: RankTable) -> list[PathRow]:
    by_size = {row.size: row for row in rows}
    if lost := [size for size in table.sets if size not in by_size]:
        raise RefusedError(f"the path must have the set of {lost[0]} that the test rows are about")
    return [by_size[size] for size in table.sets]


def _standardised(X: np.ndarray, split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to choose by and the test rows, standardised; gaps are filled with medians of the former."""
    known, new = X[split.kept], X[split.aside]
    if np.isnan(X).any():
        fill = np.nan_to_num(np.nanmedian(known, axis=0))
        known, new = np.where(np.isnan(known), fill, known), np.where(np.isnan(new), fill, new)
    size = np.maximum(np.abs(known).max(axis=0), 1e-300)  # so that no square overflows
    middle, spread = (known / size).mean(axis=0), (known / size).std(axis=0)
    spread = np.where(spread > 1e-12, spread, 1.0)
    return tuple(np.clip((side / size - middle) / spread, -1e6, 1e6) for side in (known, new))


def _said(claim: NewRowsClaim, known: np.ndarray, new: np.ndarray, targets: np.ndarray) -> Iterator[tuple[str, Bounds]]:
    """Yield the judges that are written here, with bounds of what they say of each test row."""
    for judge in claim.judges:
        if judge == NEAREST:
            yield judge, _votes(known, new, targets)
        elif judge == RIDGE:
            found = _ridge(known, new, targets)
            yield judge, (found, found)


def _votes(known: np.ndarray, new: np.ndarray, targets: np.ndarray) -> Bounds:
    """Return the fewest and the most votes for each class, over all ways to choose among equally near rows."""
    many, step = min(NEIGHBOURS, len(known)), max(1, AT_ONCE // len(known))
    low, high = np.empty((2, len(new), targets.shape[1]))
    for start in range(0, len(new), step):
        rows, at = new[start : start + step], slice(start, start + step)
        distance = cdist(rows, known, "sqeuclidean")
        last = np.partition(distance, many - 1, axis=1)[:, many - 1, None]
        near = distance < last * (1 - EQUAL) - EQUAL
        equal = (distance <= last * (1 + EQUAL) + EQUAL) & ~near
        room, tied = many - near.sum(axis=1, keepdims=True), equal.sum(axis=1, keepdims=True)
        sure, may = near @ targets, equal @ targets
        low[at], high[at] = sure + np.maximum(0, room - (tied - may)), sure + np.minimum(room, may)
    return low, high


def _ridge(known: np.ndarray, new: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the fits of ridge regression; generalised cross-validation sets the penalty."""
    middle, rows = targets.mean(axis=0), len(known)
    left, sizes, right = np.linalg.svd(known, full_matrices=False)
    turned = left.T @ (targets - middle)
    found = []
    for penalty in max(rows, known.shape[1]) * np.array(PENALTIES):
        kept = sizes**2 / (sizes**2 + penalty)
        rest = ((targets - middle) ** 2).sum() - ((1 - (1 - kept[:, None]) ** 2) * turned**2).sum()
        found.append((rest / max(rows - 1 - kept.sum(), 1e-9) ** 2, penalty))
    penalty = min(found)[1]
    return middle + new @ (right.T @ ((sizes / (sizes**2 + penalty))[:, None] * turned))


def _scores(labels: np.ndarray, bounds: Bounds, classes: int) -> tuple[float, float]:
    """Return the least and the largest mean AUC, one class against the rest."""
    found = []
    for one, (low, high) in enumerate(zip(*(side.T for side in bounds), strict=True), start=int(classes == 2)):
        ours = labels == one
        ends = (np.where(ours, first, second) for first, second in ((low, high), (high, low)))
        found.append([roc_auc_score(ours, end) for end in ends])
    low, high = np.mean(found, axis=0).tolist()
    return low, high
