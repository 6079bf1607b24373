"""An honest score of the choice: every fold is judged by a choice that never saw its rows.

Folds stand in a ring. The choice is made again without two neighbouring folds, for each pair of neighbours. What it
scores on one of the two helps to decide for the other one. So two such choices decide for a fold, and none of them,
nor any row that they were judged on, knew a row of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bestleaf.features.scoring import corrected_error
from bestleaf.proof.record import NewRowsClaim
from bestleaf.selection.folds import Fold, rounds_of
from bestleaf.selection.judges import Panel, finite
from bestleaf.selection.orders import ORDERS, pooled
from bestleaf.selection.tasks import Plan, Run, Scored, Task

if TYPE_CHECKING:
    from bestleaf.selection.choice import SizeRule


class Ring(NamedTuple):
    """The folds of an honest score."""

    plan: Plan
    folds: list[Fold]  # every row is scored in one of them
    shared: bool  # whether they are the folds of the first round, whose orders are known

    @classmethod
    def of(cls, plan: Plan, first: list[Fold], labels: np.ndarray) -> Ring | None:
        """Return a ring of the folds of the first round, or of others if rows are scored twice or not at all there.

        There is none if all folds score later rows than they train on: others would know the future.
        """
        scored = np.bincount(np.concatenate([fold.test for fold in first]), minlength=len(labels)) if first else [0]
        fewest = 3  # folds of a ring
        shared = len(first) >= fewest and bool((np.asarray(scored) == 1).all())
        if first and all(fold.train.max() < fold.test.min() for fold in first):
            return None
        if not shared:
            rounds = rounds_of(plan.data, labels, None, plan.seed, real=plan.panel.classes is None)
            first = rounds[0] if rounds else []
        found = cls(plan, first, shared)
        without = [found.without(number).fold.train for number in range(len(first))] if len(first) >= fewest else []
        targets = labels, plan.data.y
        return found if without and all(len(np.unique(one[rows])) > 1 for rows in without for one in targets) else None

    @property
    def tasks(self) -> int:
        """The number of tasks that it takes."""
        return (2 if self.shared else 3) * len(self.folds)

    def score(self, run: Run, rule: SizeRule, known: Sequence[tuple[Scored, ...]]) -> NewRowsClaim | None:
        """Return the honest score; None if time is over. `known` has what was found on each shared fold, by order."""
        many, thin = len(self.folds), rule._replace(sizes=self.plan.thin)
        inner = list(run.results([self.without(number) for number in range(many)]))
        if len(inner) < many:
            return None
        own = [[scored.order for scored in each] for each in known]
        if not self.shared:
            found = list(run.results([Task("order", fold) for fold in self.folds]))
            own = [[inner[number][0], order] for number, (order,) in enumerate(found)]
        if len(own) < many:
            return None
        asked = []
        for number, fold in enumerate(self.folds):
            before, after = inner[number - 1], inner[number]
            curves = (before[-1][0] + after[-1][1]) / 2  # on the neighbour before, and on the neighbour after
            which, place = thin.decide(curves)
            order = own[number][which]
            if ORDERS[which] == "elimination":
                order = pooled([before[which], after[which], order])
            sets = [order[: thin.sizes[place]]]
            asked.append(Task("outer", fold, tuple(sets if self.shared else [*sets, np.arange(len(order))])))
        outer = list(run.results(asked))
        if len(outer) < many:
            return None
        scores = np.array([found[0] for found in outer])
        every = [each[0].scores[:, -1] for each in known] if self.shared else [found[1] for found in outer]
        return self._summed_up(scores, np.array(every))

    def without(self, number: int) -> Task:
        """Return the task of choosing without a fold and the next one."""
        one, other = self.folds[number], self.folds[(number + 1) % len(self.folds)]
        train = np.intersect1d(np.setdiff1d(one.train, other.test), np.setdiff1d(other.train, one.test))
        return Task("inner", Fold(train, np.concatenate([one.test, other.test])), (np.array([len(one.test)]),))

    def _summed_up(self, scores: np.ndarray, every: np.ndarray) -> NewRowsClaim | None:
        """Return what the scores [folds, judges] of the choice and of all columns say together."""
        rows, trained = zip(*((len(fold.test), len(fold.train)) for fold in self.folds), strict=True)
        if not np.isfinite([scores, every]).all():
            return None
        gains, data = (scores - every).mean(axis=1), self.plan.data
        weights = data.weights
        least = by_rows(self.plan.panel, data.y, weights, float(scores.mean()))
        there = len(data.y) if weights is None else int((weights > 0).sum())
        by_folds, panel = corrected_error(scores.mean(axis=1), rows, trained), self.plan.panel
        return NewRowsClaim(
            score=float(scores.mean()),
            all_columns=float(every.mean()),
            standard_error=finite(max(by_folds, least)),
            difference_error=finite(corrected_error(gains, rows, trained) or (1 / there if least else 0.0)),
            judges=dict(zip(panel.names, scores.mean(axis=0).tolist(), strict=True)),
            rows=min(sum(rows), there),
            trained=round(float(np.mean(trained))),
            guessing=panel.guessing(self.plan.data.y),
            how="nested folds",
            why_no_proof="folds",
        )


def by_rows(panel: Panel, y: np.ndarray, weights: np.ndarray | None, score: float) -> float:
    """Return the standard error that follows from the number of rows that have weight, where known; otherwise 0."""
    y = y if weights is None else y[np.asarray(weights) > 0]
    if panel.scorer is not None or panel.scoring not in ("accuracy", "roc_auc"):
        return 0.0
    if panel.scoring == "accuracy":
        score = min(max(score, 0.5 / (len(y) + 1)), 1 - 0.5 / (len(y) + 1))  # no error of 0
        return float(np.sqrt(score * (1 - score) / len(y)))
    counts = np.unique(y, return_counts=True)[1].tolist()
    return float(np.sqrt(np.mean([hanley_mcneil(score, many, len(y) - many) for many in counts])))


def hanley_mcneil(auc: float, positives: int, negatives: int) -> float:
    """Return the variance of an AUC (Hanley and McNeil, 1982)."""
    few = min(positives, negatives)
    auc = min(max(auc, 1 - auc), 1 - 0.5 / (few + 1))  # no variance of 0
    one, other = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    spread = auc * (1 - auc) + (positives - 1) * (one - auc**2) + (negatives - 1) * (other - auc**2)
    return spread / (positives * negatives)
