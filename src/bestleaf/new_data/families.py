"""Families of candidates: each gives a subset of every size, found on some rows by a rule of its own.

The same rules run on the training part of each fold and on all rows. So the score of a family and a size on left-out
rows says how well that rule does at that size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import f_classif, f_regression

from bestleaf.new_data.part import DISTANCES_AT_A_LOOK, Candidates, Part, Subset

TREES = 100
WORK = 1.5e10  # distances on one feature that random subsets may take: some seconds
ELIMINATION_WORK = 1e9  # the same for an elimination, which seldom wins
FEWEST_SUBSETS, MOST_SUBSETS = 200, 1000  # random subsets
MEMBERSHIPS = 3_000_000  # random subsets times units: with very many units there are fewer subsets
BEST = 0.1  # fraction of the random subsets that "inclusion" calls the best
RIDGE = 0.01  # strength of the ridge regression, for each random subset
WIDEST = 600  # units that the search by single steps may add; of more, the first ones by the other families
LOOKED_AT = 24  # units that are compared on more rows, of those looked at
LONGEST = 30  # size at which the search by single steps ends
PATIENCE = 8  # sizes without a better value after which it ends earlier
MOST_RETURNS = 400  # looks whether a unit can be dropped again


def neighbour_families(part: Part) -> Iterator[tuple[str, Candidates]]:
    """Yield the families for votes of nearest neighbours, with their names."""
    choosable, free = part.choosable, np.array(part.choosable.free)
    members, values = random_subsets(part)
    ranks = {
        "inclusion": inclusion(members, values),
        "surrogate": surrogate(members, values),
        "importance": forest_importance(part),
        "single values": single_values(part),
        "F-test": f_test(part),
    }
    orders = {name: np.argsort(-score, kind="stable") for name, score in ranks.items()}
    places = np.mean([np.log1p(np.argsort(order)) for order in orders.values()], axis=0)
    orders["consensus"] = np.argsort(places, kind="stable")
    for name, order in orders.items():
        yield name, choosable.cut(free[order].tolist())
    steps = len(free) ** 3 / 4 * len(part.queries()) * len(part.y) * part.outputs
    if steps <= ELIMINATION_WORK:
        yield "elimination", choosable.cut(elimination(part))
    first = free[orders["consensus"][:WIDEST]]
    yield "search", single_steps(part, sorted(first.tolist()))


def random_subsets(part: Part) -> tuple[np.ndarray, np.ndarray]:
    """Return [subsets, free units] random members, sizes uniform on a logarithmic scale, and the values."""
    free, queries = part.choosable.free, part.queries()
    most = max(1, min(len(free), part.choosable.limit - len(part.choosable.forced)))
    mean_size = most / np.log(most + 1)
    cost = len(queries) * len(part.y) * mean_size * part.outputs
    many = int(np.clip(min(WORK / cost, MEMBERSHIPS / len(free)), FEWEST_SUBSETS, MOST_SUBSETS))
    rng = np.random.default_rng(part.seed)
    members, subsets = np.zeros((many, len(free)), bool), []
    sizes = np.clip(np.exp(rng.uniform(0.0, np.log(most + 1), many)).astype(int), 1, most)
    for number, size in enumerate(sizes):
        chosen = rng.choice(len(free), size, replace=False)
        members[number, chosen] = True
        subsets.append((*part.choosable.forced, *(free[one] for one in chosen)))
    return members, np.array(part.values(subsets, queries))


def inclusion(members: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return how much more often each unit is in the best subsets than in all."""
    best = np.argsort(-values, kind="stable")[: max(5, int(BEST * len(values)))]
    return members[best].mean(axis=0) - members.mean(axis=0)


def surrogate(members: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the coefficients of a ridge regression of the value on membership, the effect of size removed."""
    size = np.log(members.sum(axis=1))
    curve = np.stack([np.ones_like(size), size, size**2], axis=1)

    def without_size(target: np.ndarray) -> np.ndarray:
        return target - curve @ np.linalg.lstsq(curve, target, rcond=None)[0]

    rest, design = without_size(values), without_size(members - members.mean(axis=0))
    penalty = 5.0 + RIDGE * len(values)
    if design.shape[1] <= len(values):
        return np.linalg.solve(design.T @ design + penalty * np.eye(design.shape[1]), design.T @ rest)
    return design.T @ np.linalg.solve(design @ design.T + penalty * np.eye(len(values)), rest)


def forest_importance(part: Part) -> np.ndarray:
    """Return the importance of each free unit in a random forest; that of a group is the sum of its columns."""
    part.check()
    kind = RandomForestRegressor if part.task == "regression" else RandomForestClassifier
    keywords = {"max_features": "sqrt", "random_state": part.seed % 2**32, "n_jobs": part.threads}
    found = kind(TREES, **keywords).fit(part.standardised_free(), part.y).feature_importances_
    return _by_unit(part, found, np.sum)


def single_values(part: Part) -> np.ndarray:
    """Return the value of each free unit alone, with the forced ones."""
    forced = part.choosable.forced
    return np.array(part.values([(*forced, unit) for unit in part.choosable.free], part.queries()))


def f_test(part: Part) -> np.ndarray:
    """Return the F statistic of each free unit; that of a group is the largest of its columns."""
    test, columns = f_regression if part.task == "regression" else f_classif, part.standardised_free()
    changing = np.ptp(columns, axis=0) > 0
    found = np.full(columns.shape[1], -1.0)
    if changing.any():  # of a constant column the tests would warn
        with np.errstate(all="ignore"):
            found[changing] = np.nan_to_num(test(columns[:, changing], part.y)[0], posinf=np.finfo(np.float64).max)
    return _by_unit(part, found, np.max)


def _by_unit(part: Part, by_column: np.ndarray, summed: Callable[[np.ndarray], float]) -> np.ndarray:
    """Return one number for each free unit, from those of its columns."""
    ends = np.cumsum([len(part.choosable.groups[unit]) for unit in part.choosable.free])
    return np.array([summed(piece) for piece in np.split(by_column, ends[:-1])])


def elimination(part: Part) -> list[int]:
    """Return an order of the free units: the last one is dropped first, because the others do best without it."""
    forced, left, queries, dropped = part.choosable.forced, list(part.choosable.free), part.queries(), list[int]()
    while len(left) > 1:
        values = part.values([(*forced, *left[:place], *left[place + 1 :]) for place in range(len(left))], queries)
        dropped.append(left.pop(int(np.argmax(values))))
    return [*left, *reversed(dropped)]


def single_steps(part: Part, units: list[int]) -> Candidates:
    """Return the best subset of each size that adding and dropping these units one by one finds.

    Each step adds the unit that gives the highest value. Then units are dropped again as long as that gives the best
    subset of its size so far. With many rows, a few of them say which units are compared on more.
    """
    return _Steps(part, units).run()


class _Steps:
    """The state of `single_steps`."""

    def __init__(self, part: Part, units: list[int]) -> None:
        self.part, self.units = part, units
        self.queries, self.look = part.queries(), part.queries(DISTANCES_AT_A_LOOK)
        self.values: dict[Subset, float] = {}
        self.best: dict[int, Subset] = {}  # of each size
        self.returns = 0

    def run(self) -> Candidates:
        choosable, rising = self.part.choosable, 0
        current, highest = choosable.forced, -1.0
        longest = min(LONGEST, choosable.limit, len(choosable.forced) + len(self.units))
        while len(current) < longest and rising < PATIENCE and (larger := self._larger(current)):
            current = self._dropped(self._kept(self._added(larger)))
            value = self._value(current)
            rising = 0 if value > highest else rising + 1
            highest = max(highest, value)
        return {size: self.best[size] for size in choosable.sizes if size in self.best}

    def _value(self, subset: Subset) -> float:
        if subset not in self.values:
            self._evaluate([subset])
        return self.values[subset]

    def _evaluate(self, subsets: Iterable[Subset]) -> None:
        """Compute the values of subsets, as far as they are not known."""
        missing = [subset for subset in subsets if subset not in self.values]
        self.values.update(zip(missing, self.part.values(missing, self.queries), strict=True))

    def _best(self, subsets: list[Subset]) -> Subset:
        """Return the subset of highest value; of equals the first."""
        self._evaluate(subsets)
        return max(subsets, key=self.values.__getitem__)

    def _larger(self, subset: Subset) -> list[Subset]:
        """Return the subsets with one unit more."""
        chosen = set(subset)
        return [tuple(sorted((*subset, unit))) for unit in self.units if unit not in chosen]

    def _added(self, larger: list[Subset]) -> Subset:
        """Return the best of the subsets with one unit more."""
        if len(self.look) < len(self.queries) and len(larger) > LOOKED_AT:
            rough = np.array(self.part.values(larger, self.look))
            larger = [larger[place] for place in np.argsort(-rough, kind="stable")[:LOOKED_AT]]
        return self._best(larger)

    def _kept(self, subset: Subset) -> Subset:
        """Note a subset; return the best of its size."""
        best = self.best.setdefault(len(subset), subset)
        if self._value(subset) > self._value(best):
            self.best[len(subset)] = subset
        return self.best[len(subset)]

    def _dropped(self, subset: Subset) -> Subset:
        """Return the subset after dropping units, as long as that gives a better subset of the smaller size."""
        while len(subset) > 2 + len(self.part.choosable.forced) and self.returns < MOST_RETURNS:
            self.returns += 1
            forced = self.part.choosable.forced
            smaller = [tuple(one for one in subset if one != unit) for unit in subset if unit not in forced]
            found = self._best(smaller)
            if self._value(found) <= self._value(self.best[len(found)]):
                break
            subset = self._kept(found)
        return subset
