"""Check the table of test rows with the data: which rows they are, and what nearest neighbours and ridge say of them.

Both judges are written here once more, as in a textbook. Where rows are equally near, rounding decides which of them
votes, so a score must lie between the least and the largest that any of them give. The forest is not grown again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import r2_score, roc_auc_score

from bestleaf.proof.record import Certificate, MatchedRows, NewRowsClaim, Panel
from bestleaf.proof.text import counted
from bestleaf.proof.verify import RefusedError
from bestleaf.selection.data import Data
from bestleaf.selection.folds import kept_together
from bestleaf.selection.new_rows import Split, drawn

EQUAL = 1e-9  # distances that differ by a smaller part are the same
CLOSE = 1e-6
DEFAULT = {"5 nearest neighbours", "ridge regression", "extra trees"}  # judge where no estimator is given
JUDGE = re.compile(r"(\d+ nearest neighbours|ridge regression|extra trees|\w+)( \d+)?")  # or an estimator's class

Bounds = tuple[np.ndarray, np.ndarray]  # of what a judge says, [rows, outputs]


def check_new_rows(certificate: Certificate, rows: Data) -> list[str]:
    """Return what was found of the score on new rows, in words."""
    claim = certificate.new_rows
    assert claim is not None
    if claim.how == "given rows":
        where = "The test rows were handed in after the fit and are not among these data"
        return [f"Not checked: the score on new rows. {where}."]
    _check_judges(certificate, claim)
    if claim.how == "nested folds":
        return ["Not checked: the score on new rows, an estimate that was not computed again."]
    split = split_of(certificate, rows)
    checked = list(_checked(certificate, Again.of(certificate, rows, split)))
    drawn_again = f"The {claim.rows:,} test rows are those that the seed draws"
    if not checked:
        return ["Not checked: the score on new rows. It was not computed again.", f"{drawn_again}."]
    again = f"computed again and found the same: {counted(len(checked), 'score')} ({', '.join(dict.fromkeys(checked))})"
    others = ", ".join(judge for judge in claim.judges if judge not in checked) or "scores of other sets"
    return [f"{drawn_again}; {again}; not computed again: {others}."]


def _check_judges(certificate: Certificate, claim: NewRowsClaim) -> None:
    """Refuse judges that there are not: nobody could compute their scores again."""
    objective, made, judges = certificate.data and certificate.data.objective, certificate.table, {*claim.judges}
    same = isinstance(objective, Panel) and {*objective.judges} == judges
    ours = not judges & {"ridge regression", "extra trees"} if made is None else made.estimator is not None
    if not same or not (ours or judges >= DEFAULT) or not all(map(JUDGE.fullmatch, judges)):
        raise RefusedError(f"the judges must be those of the choice, got {', '.join(sorted(judges))}")


def _checked(certificate: Certificate, again: Again) -> Iterator[str]:
    """Yield the model of each score that was computed again; refuse one that does not follow."""
    claim, path, left = certificate.new_rows, certificate.path, 1e10  # numbers added or compared: ten seconds
    assert claim is not None
    assert path is not None
    if claim.table is not None:
        _check_trials(claim, claim.table, again.labels)
    answer = path.chosen
    sets = [(answer, claim.judges)]
    if len(claim.judges) == 1 and answer != path.rows[-1]:  # of several judges only the mean is written
        sets.append((path.rows[-1], dict.fromkeys(claim.judges, claim.all_columns)))
    for row, judges in sets:
        columns = again.columns(row.features)
        left -= float(len(again.known)) * len(again.new) * len(columns)
        if left < 0 and row != answer:
            return
        for judge, got in judges.items():
            bounds = again.score(judge, columns)
            if bounds is None:
                continue
            low, high = bounds
            if not low - CLOSE <= got <= high + CLOSE:
                size = counted(row.size, "column")
                raise RefusedError(f"with {size}, {judge} scores {low:.6g} on the test rows, not {got:.6g}")
            yield judge


class Again(NamedTuple):
    """What the judges need: training rows and test rows, standardised, targets and weights."""

    data: Data
    numbers: dict[str, int]  # of each feature
    scoring: str
    known: np.ndarray
    new: np.ndarray
    targets: np.ndarray  # [training rows, outputs]
    labels: np.ndarray  # of test rows: classes by number, or real targets
    weights: np.ndarray | None  # of test rows

    @classmethod
    def of(cls, certificate: Certificate, rows: Data, split: Split) -> Again:
        """Return what a certificate is about; nothing is learned from test rows."""
        data, weights = certificate.data, rows.weights
        assert data is not None
        known, new = _standardised(rows.learned_from(split.kept).X.astype(np.float64), split)
        y, scoring = rows.y, getattr(data.objective, "scoring", "")
        if getattr(data.objective, "task", "") == "regression":
            labels, targets = y, y[split.kept, None].astype(np.float64)
        else:  # classes are numbered as they first appear
            classes = y[split.kept][np.sort(np.unique(y[split.kept], return_index=True)[1])]
            labels = np.argmax(y[:, None] == classes, axis=1)
            outputs = np.arange(len(classes))[len(classes) == 2 :]
            targets = (labels[split.kept, None] == outputs).astype(np.float64)
        numbers = {name: place for place, name in enumerate(data.names)}
        weights = None if weights is None else weights[split.aside]
        return cls(rows, numbers, scoring, known, new, targets, labels[split.aside], weights)

    def columns(self, features: Iterable[str]) -> list[int]:
        """Return the columns of some features."""
        return self.data.columns_of(self.numbers[name] for name in features)

    def score(self, judge: str, columns: list[int]) -> tuple[float, float] | None:
        """Return the least and the largest score that a judge may have; None if it is not written here."""
        known, new, real = self.known[:, columns], self.new[:, columns], self.scoring in ("r2", "concordance")
        scored = {"roc_auc": self._auc, "accuracy": self._accuracy, "r2": self._r2, "concordance": self._concordance}
        if self.scoring not in scored or judge not in ("5 nearest neighbours", "ridge regression"):
            return None
        if judge == "5 nearest neighbours":
            low, high = _votes(known, new, self.targets, real=real)
        else:
            low = high = _ridge(known, new, self.targets)
        return scored[self.scoring](low, high)

    def _auc(self, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
        found = []
        for one, (least, most) in enumerate(zip(low.T, high.T, strict=True), start=int(low.shape[1] == 1)):
            ours = self.labels == one
            ends = np.where(ours, least, most), np.where(ours, most, least)
            found.append([roc_auc_score(ours, end, sample_weight=self.weights) for end in ends])
        least, most = np.mean(found, axis=0).tolist()
        return least, most

    def _accuracy(self, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
        """Return the share of rows whose class has the largest output for sure, and of those where it may."""
        if low.shape[1] == 1:
            low, high = np.column_stack([1 - high, low]), np.column_stack([1 - low, high])
        rows = np.arange(len(low))
        ours = np.arange(low.shape[1]) == self.labels[:, None]
        sure = low[rows, self.labels] > np.where(ours, -np.inf, high).max(axis=1) + EQUAL
        may = high[rows, self.labels] >= np.where(ours, -np.inf, low).max(axis=1) - EQUAL
        return float(np.average(sure, weights=self.weights)), float(np.average(may, weights=self.weights))

    def _r2(self, low: np.ndarray, high: np.ndarray) -> tuple[float, float] | None:
        if not np.allclose(low, high, rtol=0, atol=EQUAL):  # of equally near rows any may vote
            return None
        score = float(r2_score(self.labels, low[:, 0], sample_weight=self.weights))
        return score, score

    def _concordance(self, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
        """Return the share of pairs with different targets that are in their order for sure, and of those that may."""
        weights = np.ones(len(self.labels)) if self.weights is None else self.weights
        slack, found = EQUAL * max(1.0, float(np.abs(self.targets).max())), np.zeros(3)
        for target, weight, least, most in zip(self.labels, weights, low[:, 0], high[:, 0], strict=True):
            above = np.where(self.labels > target, weight * weights, 0.0)
            sure, may = low[:, 0] > most + slack, high[:, 0] >= least - slack
            found += [above[sure].sum(), above[may].sum(), above.sum()]
        return float(found[0] / found[2]), float(found[1] / found[2])


def split_of(certificate: Certificate, rows: Data) -> Split:
    """Return the rows to choose by, and the test rows, as the seed of a certificate draws them."""
    claim, path, data = certificate.new_rows, certificate.path, certificate.data
    assert claim is not None
    assert data is not None
    if path is None or path.seed is None:
        raise RefusedError("test rows need the seed that they are drawn by, got none")
    task = getattr(data.objective, "task", "classification")
    groups = kept_together(rows).groups
    kept, aside = (drawn(rows.y, task, many, path.seed, groups) for many in (len(rows.y) - claim.trained, claim.rows))
    split = Split(kept.kept, aside.aside)  # if time was over, not all rows kept aside are test rows
    whole = certificate.reason != "settled" or claim.rows + claim.trained == len(rows.y)
    if (len(split.aside), len(split.kept)) != (claim.rows, claim.trained) or not whole:
        got = f"{len(split.aside):,} of {len(rows.y):,} rows, not {claim.rows:,} beside {claim.trained:,}"
        raise RefusedError(f"the seed draws {got}")
    return split


def _check_trials(claim: NewRowsClaim, table: MatchedRows, labels: np.ndarray) -> None:
    """Check how many trials there are, and that their mean levels are the scores, as far as they must be."""
    many = len(labels) // 2 if table.measure == "concordance" else len(labels)
    if table.measure == "auc":
        many = int(np.unique(labels, return_counts=True)[1].min())
    trials = np.array(table.score).sum(axis=1)
    if (trials > many).any() or (table.measure != "concordance" and (trials != many).any()):
        raise RefusedError(f"these data make {counted(many, 'trial')} of test rows, not {trials.max():,}")
    found = [(np.array(table.score), 0.0, claim.score)]
    if table.sets[0] != max(table.sets):
        found.append((np.array(table.gains[0]), -1.0, claim.score - claim.all_columns))
    for counts, lowest, score in found:
        means = counts @ np.linspace(lowest, 1, counts.shape[1]) / np.maximum(1, counts.sum(axis=1))
        # The mean over matchings at random is that of all pairs but for six standard errors, and what no one has met.
        slack = (6 * means.std() + 10 / many / len(means) ** 0.5) / len(means) ** 0.5
        if abs(means.mean() - score) > (slack if len(means) > 1 else CLOSE):
            raise RefusedError(f"the trials of test rows have a mean level of {means.mean():.6g}, not {score:.6g}")


def _standardised(X: np.ndarray, split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to choose by and the test rows, standardised; gaps are filled with medians of the former."""
    known, new = X[split.kept], X[split.aside]
    if np.isnan(X).any():
        fill = np.nan_to_num(np.nanmedian(known, axis=0))
        known, new = np.where(np.isnan(known), fill, known), np.where(np.isnan(new), fill, new)
    size = np.maximum(np.abs(known).max(axis=0), 1e-300)  # so that no square overflows
    middle, spread = (known / size).mean(axis=0), (known / size).std(axis=0)
    spread = np.where(spread > 1e-12, spread, 1.0)
    known, new = (np.clip((side / size - middle) / spread, -1e6, 1e6) for side in (known, new))
    return known, new


def _votes(known: np.ndarray, new: np.ndarray, targets: np.ndarray, *, real: bool) -> Bounds:
    """Return the least and the largest share of votes for each class, over all ways to choose among equally near rows.

    Of real targets it is the mean, and anything where rows are equally near.
    """
    many, step = min(5, len(known)), max(1, 2**22 // len(known))  # distances that are held at a time
    low, high = np.empty((2, len(new), targets.shape[1]))
    for start in range(0, len(new), step):
        rows, at = new[start : start + step], slice(start, start + step)
        distance = cdist(rows, known, "sqeuclidean")
        last = np.partition(distance, many - 1, axis=1)[:, many - 1, None]
        near = distance < last * (1 - EQUAL) - EQUAL
        equal = (distance <= last * (1 + EQUAL) + EQUAL) & ~near
        room, tied = many - near.sum(axis=1, keepdims=True), equal.sum(axis=1, keepdims=True)
        sure, may = near @ targets, equal @ targets
        if not real:
            low[at], high[at] = sure + np.maximum(0, room - (tied - may)), sure + np.minimum(room, may)
        else:
            low[at], high[at] = (np.where(tied > room, end, (sure + may) / many) for end in (-np.inf, np.inf))
    return (low, high) if real else (low / many, high / many)


def _ridge(known: np.ndarray, new: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the fits of ridge regression; generalised cross-validation sets the penalty."""
    middle, rows = targets.mean(axis=0), len(known)
    left, sizes, right = np.linalg.svd(known, full_matrices=False)
    turned = left.T @ (targets - middle)
    found = []
    # Of ridge regression, times the number of rows or, if larger, of columns.
    for penalty in max(rows, known.shape[1]) * np.array((1e-3, 1e-2, 1e-1, 1.0, 10.0)):
        kept = sizes**2 / (sizes**2 + penalty)
        rest = ((targets - middle) ** 2).sum() - ((1 - (1 - kept[:, None]) ** 2) * turned**2).sum()
        found.append((rest / max(rows - 1 - kept.sum(), 1e-9) ** 2, penalty))
    penalty = min(found)[1]
    return middle + new @ (right.T @ ((sizes / (sizes**2 + penalty))[:, None] * turned))
