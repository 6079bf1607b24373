"""The choice of columns for new rows: orders found inside cross-validation folds, judged on the rows left for that.

On the training rows of every fold two orders of the columns are found. Judges score prefixes of each order on the other
rows of the fold, as differences to all columns. The order with the larger area under its mean curve is taken, and of
its sizes the smallest that costs next to nothing and with which no judge scores clearly worse.

Time decides how many folds are finished, and nothing else: folds come in a fixed order, the quick order of columns
before the slow one. Without a finished fold the answer is all columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, cast

import numpy as np
from msgspec import structs

from bestleaf.features.scoring import corrected_error
from bestleaf.memory import Answers
from bestleaf.proof.record import NewRowsClaim, Path, PathRow
from bestleaf.search.budget import Budget
from bestleaf.search.executors import Serial
from bestleaf.selection.data import Data
from bestleaf.selection.folds import Fold, numbered, rounds_of, rows_to_choose_by
from bestleaf.selection.judges import Panel, finite
from bestleaf.selection.nested import Ring
from bestleaf.selection.orders import ORDERS, pooled
from bestleaf.selection.space import Space
from bestleaf.selection.tasks import Plan, Run, Scored, Task, Tell

SLACK = 0.003  # a smaller set may cost so much score

Reason = Literal["settled", "max_time", "interrupted"]


def sizes_of(least: int, limit: int, every: int, asked: int | None = None) -> tuple[int, ...]:
    """Return the sizes that are scored: from `least` to `limit`, then that of every unit.

    Sizes up to 6 are all scored; then each is a quarter larger, beyond a hundred by half.
    """
    sizes = list(range(1, 7))
    while sizes[-1] < every:
        sizes.append(max(sizes[-1] + 1, round(sizes[-1] * (1.25 if sizes[-1] < 100 else 1.5))))
    some = {size for size in (*sizes, limit, asked or limit) if least <= size <= limit and size < every}
    return (*sorted(some), every)


class SizeRule(NamedTuple):
    """How curves decide about a size."""

    sizes: tuple[int, ...]  # that were scored; the last one is that of all units
    limit: int  # the largest size that may be chosen
    parsimony: float | None = None  # how much score a smaller set may cost; None is 0.003 units
    asked: int | None = None  # the size that is asked for
    unit: float = 1.0  # what a score of 1 is: 1, or the size of the score of all columns if scores have no bounds

    @property
    def tolerance(self) -> float:
        """How much score a smaller set may cost."""
        return SLACK * self.unit if self.parsimony is None else self.parsimony

    def smoothed(self, differences: np.ndarray) -> np.ndarray:
        """Return differences to all columns [judges, sizes] smoothed over sizes; that of all columns stays 0.

        Weights fall with the distance of the logarithms of sizes, and with that of mean differences: a size that is far
        worse than another says nothing about it.
        """
        scale, mean = np.log(self.sizes), differences.mean(axis=0) / self.unit
        far = (scale[:, None] - scale) / 0.4  # of the smoothing over the logarithm of the size
        unlike = (mean[:, None] - mean) / 0.02  # and over the difference to all columns
        weights = np.exp(-0.5 * (far**2 + unlike**2))
        found = differences @ (weights / weights.sum(axis=0))
        found[:, -1] = 0.0
        return found

    def decide(self, differences: np.ndarray) -> tuple[int, int]:
        """Return which order and the place of which size to choose, by mean differences [orders, judges, sizes]."""
        which = self.order(differences)
        return which, self.size(self.smoothed(differences[which]))

    def size(self, curve: np.ndarray) -> int:
        """Return the place of the size to choose: the smallest that costs no more than is tolerated.

        All judges must put up with it; where none of the sizes within the limit is such, their mean decides alone.
        """
        if self.asked is not None:
            return self.sizes.index(self.asked)
        mean, within = curve.mean(axis=0), np.array(self.sizes) <= self.limit
        guard = max(0.01 * self.unit, self.tolerance)  # no judge may lose more than this plus half of the mean gain
        allowed = within & (curve.min(axis=0) + np.maximum(mean, 0.0) / 2 >= -guard)
        mean = np.where(allowed if allowed.any() else within, mean, -np.inf)
        return int(np.argmax(mean >= mean.max() - self.tolerance))

    def order(self, differences: np.ndarray) -> int:
        """Return which of several orders is best: the larger area over the logarithm of the size."""
        if self.asked is not None:
            at = self.sizes.index(self.asked)
            return int(np.argmax([self.smoothed(one)[:, at].mean() for one in differences]))
        width = np.gradient(np.log(self.sizes)) if len(self.sizes) > 1 else np.ones(1)
        return int(np.argmax((differences.mean(axis=1) * width).sum(axis=1)))


class Chosen(NamedTuple):
    """The answer, and what it follows from."""

    units: tuple[int, ...]  # the answer
    order: tuple[int, ...]  # all units that may be chosen, best first; forced ones first
    path: Path  # the set of each size; the last one is that of all units, even if there is a lower limit
    nested: NewRowsClaim | None  # the honest score; None if it was not asked for or time was over
    reason: Reason


@dataclass
class Curves:
    """What is known of the folds that are finished, by order of columns."""

    rule: SizeRule
    folds: list[Fold]
    fewest: int  # elimination takes part once it has finished so many folds, those of the first round
    by_order: dict[str, list[Scored]] = field(default_factory=lambda: {name: [] for name in ORDERS})
    on_all_rows: np.ndarray | None = None  # the order of forward selection

    @property
    def orders(self) -> list[str]:
        """The orders that take part."""
        return [name for name in ORDERS if name == "forward" or len(self.by_order[name]) >= self.fewest]

    @property
    def finished(self) -> int:
        """Folds that are finished by all orders that take part."""
        return min(len(self.by_order[name]) for name in self.orders)

    def differences(self) -> np.ndarray:
        """Return the differences to all columns, [orders, folds, judges, sizes]."""
        return np.array([[one.difference for one in self.by_order[name][: self.finished]] for name in self.orders])

    def score_of_all(self) -> float:
        """Return the mean score of all columns."""
        return float(np.mean([one.scores[:, -1] for one in self.by_order["forward"]]))

    def decide(self) -> tuple[str, int]:
        """Return the order and the place of the size to choose."""
        which, place = self.rule.decide(self.differences().mean(axis=1))
        return self.orders[which], place

    @property
    def words(self) -> str:
        """How it stands."""
        if not self.finished:
            return ""
        method, place = self.decide()
        gain = self.rule.smoothed(self.differences()[self.orders.index(method)].mean(axis=0)).mean(axis=0)[place]
        return f"{self.rule.sizes[place]} of {self.rule.sizes[-1]} columns: {gain:+.4f} to all columns"


def choose(
    data: Data,  # the rows to choose by; test rows are not among them
    space: Space,  # what may be chosen
    panel: Panel,  # who judges
    *,
    parsimony: float | None = None,  # how much score a smaller set may cost; None is 0.003
    n_features: int | None = None,  # the size that is asked for; None chooses it
    folds: object = None,  # the user's `cv`; None is five folds, drawn up to three times
    seed: int = 0,  # everything random follows from it
    budget: Budget | None = None,  # once `budget.spent()` gives a reason, what is known by then decides
    memory: Answers | None = None,  # its `about` must tell the data, the panel and the space from others
    workers: Serial | None = None,  # where folds are done, one or several at a time; the answer does not depend on it
    tell: Tell | None = None,  # is called with (done, of, text) after each fold
    nested: bool = True,  # whether to compute the honest score, too
) -> Chosen:
    """Return the columns for new rows."""
    labels = numbered(data.y, panel.classes)
    rows = rows_to_choose_by(labels, folds, seed)
    data, labels = (data, labels) if len(rows) == len(labels) else (data.part(rows), labels[rows])
    own, numbers = space.by_content(data.X)
    least, budget, workers = max(1, len(own.forced)), budget or Budget(), workers or Serial()
    if n_features is not None and not least <= n_features <= own.limit:
        raise ValueError(f"n_features_to_select must be from {least} to {own.limit}, got {n_features}")
    sizes = sizes_of(least, own.limit, len(own.units), n_features)
    rounds = [some for some in rounds_of(data, labels, folds, seed, real=panel.classes is None) if some]
    plan = Plan(data, own, panel, sizes, n_features, seed, budget)
    if not rounds and folds is not None and not (isinstance(folds, list) and not folds):
        raise ValueError("cv must leave two different targets in both parts of a fold, got no such fold")
    ring = Ring.of(plan, rounds[0], labels) if nested and rounds else None
    planned = [fold for some in rounds for fold in some]
    many = 1 + 2 * len(planned) + (ring.tasks if ring else 0)
    run = Run(plan, memory if panel.has_name else None, workers, many, tell)
    curves = Curves(SizeRule(sizes, own.limit, parsimony, n_features), planned, len(rounds[0]) if rounds else 1)
    workers.until(lambda: run.over)
    with workers:
        honest = _work(run, curves, rounds, ring, in_units=not panel.in_thousandths)
    ended = "settled" if run.count == many else budget.spent() or "interrupted"
    return _answer(curves, plan, numbers, honest, cast(Reason, ended))


def _work(
    run: Run, curves: Curves, rounds: list[list[Fold]], ring: Ring | None, *, in_units: bool
) -> NewRowsClaim | None:
    """Score the folds of each round, after the first one the choice itself; return that honest score."""
    every, honest = np.arange(len(run.plan.data.y)), None
    for (curves.on_all_rows,) in run.results([Task("order", Fold(every, every[:1]))]):
        pass
    for number, folds in enumerate(rounds):
        begun = number and sum(map(len, rounds[:number]))
        for found in run.results([Task("forward", fold) for fold in folds]):
            curves.by_order["forward"].append(Scored(*found))
            if in_units:
                curves.rule = curves.rule._replace(unit=abs(curves.score_of_all()) or 1.0)
            run.words = curves.words
        known = curves.by_order["forward"][begun:]
        for found in run.results([Task("elimination", *both) for both in zip(folds, known, strict=False)]):
            curves.by_order["elimination"].append(Scored(*found))
            run.words = curves.words
        if number == 0 and ring is not None and len(curves.by_order["elimination"]) == len(folds):
            honest = ring.score(run, curves.rule, list(zip(*(curves.by_order[name] for name in ORDERS), strict=True)))
    return honest


def _answer(curves: Curves, plan: Plan, numbers: tuple[int, ...], honest: NewRowsClaim | None, ended: Reason) -> Chosen:
    """Return the answer of the folds that are finished, and its path; the caller has other `numbers` of the units.

    Where none is finished nothing is scored: the answer is all columns, or the first of an order up to the limit.
    """
    rule, data, space, judges = curves.rule, plan.data, plan.space, plan.panel.names
    scored, sizes, votes = list[Scored](), rule.sizes, np.zeros(len(space.units))
    if curves.finished:
        method, place = curves.decide()
        scored = curves.by_order[method][: curves.finished]
        order = pooled([one.order for one in scored]) if method != "forward" else cast(np.ndarray, curves.on_all_rows)
        for one in scored:
            votes[one.order[: sizes[rule.size(rule.smoothed(one.difference))]]] += 1 / len(scored)
        rows, size = _rows(curves, scored), sizes[place]
    else:
        method, every = "all columns", space.everything
        order = np.array((*space.forced, *space.allowed)) if curves.on_all_rows is None else curves.on_all_rows
        size = space.limit if rule.asked is None else rule.asked
        sizes = tuple(sorted({size, len(every)}))
        rows = [PathRow(size=one, features=(), difference=None) for one in sizes]

    def named(units: Sequence[int]) -> tuple[str, ...]:
        return tuple(str(data.names[one]) for one in sorted(data.features_of(space.columns(units))))

    shares = {name: min(vote, 1.0) for unit, vote in enumerate(votes.tolist()) if vote for name in named([unit])}
    path = Path(
        rows=tuple(structs.replace(row, features=named(order[: row.size].tolist())) for row in rows),
        size=size,
        order=method.replace(" ", "_"),
        judges=judges if scored else (),
        folds=len(scored),
        folds_planned=len(curves.folds),
        tolerance=float(rule.tolerance if scored else SLACK),
        asked=rule.asked is not None,
        chosen_in_folds={str(name): shares[str(name)] for name in data.names if str(name) in shares},
        seed=plan.seed,
    )
    in_order = [numbers[unit] for unit in order.tolist()]
    return Chosen(tuple(sorted(in_order[:size])), tuple(in_order), path, honest, ended)


def _rows(curves: Curves, scored: list[Scored]) -> list[PathRow]:
    """Return what the folds say of each size; the columns follow."""
    differences = np.array([one.difference for one in scored])  # [folds, judges, sizes]
    curve, score = curves.rule.smoothed(differences.mean(axis=0)), np.mean([one.scores for one in scored], axis=0)
    tested, trained = zip(*((len(fold.test), len(fold.train)) for fold in curves.folds[: len(scored)]), strict=True)
    found = []
    for place, size in enumerate(curves.rule.sizes):
        row = PathRow(size=size, features=(), difference=None)
        if np.isfinite(curve[:, place]).all():
            row = PathRow(
                size=size,
                features=(),
                difference=float(curve[:, place].mean()),
                judges=tuple(curve[:, place].tolist()),
                score=finite(score[:, place].mean()),
                standard_error=finite(corrected_error(differences[:, :, place].mean(axis=1), tested, trained)),
            )
        found.append(row)
    return found
