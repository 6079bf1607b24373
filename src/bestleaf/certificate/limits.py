"""Limits on subsets of units: what all units may cost together, and how many of a set may be chosen.

Every limit is a sum over the units of a subset that must not exceed a bound. So a subset of a subset within the limits
is within them, too. The search and `verify` both use this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from bestleaf.certificate.schema import Content

SLACK = 1e-9  # relative: 0.1 + 0.2 is no more than 0.3
MOST_WORK = 4 * 10**6  # sums that are added up to count subsets: some seconds


class Limits:
    """The limits on subsets, as sums that must not exceed bounds.

    Parameters
    ----------
    units : int
        How many units there are.
    costs, max_cost : list of float, float
        What each unit costs, and what a subset may cost; None without costs.
    at_most : list of (str, int, list of int)
        Sets of units: the name, how many units of the set a subset may have, and the units.
    """

    def __init__(
        self,
        units: int,
        costs: Sequence[float] | None = None,
        max_cost: float | None = None,
        at_most: Sequence[tuple[str, int, Sequence[int]]] = (),
    ) -> None:
        self.units, self.costs, self.max_cost, self.at_most = units, costs, max_cost, at_most
        sums = [] if costs is None else [(np.array(costs, np.float64), max_cost)]
        sums += [(np.isin(np.arange(units), some).astype(np.float64), most) for _, most, some in at_most]
        self.shares = np.array([share for share, _ in sums], np.float64).reshape(len(sums), units)
        self.bounds = np.array([bound for _, bound in sums], np.float64) * (1 + SLACK)

    @classmethod
    def written(cls, choice: Content) -> Limits:
        """Return the limits that a certificate has in its choice."""
        at_most = [(one["name"], one["most"], one["units"]) for one in choice.get("at_most", ())]
        named = [*choice["allowed"], *choice["forced"], *(unit for _, _, some in at_most for unit in some)]
        units = max(1 + max(named, default=-1), len(choice.get("costs", ())))
        return cls(units, choice.get("costs"), choice.get("max_cost"), at_most)

    def entry(self) -> Content:
        """Return the limits as parts of the choice of a certificate; without limits there are none."""
        found: Content = {}
        if self.costs is not None:
            found = {"costs": [float(one) for one in self.costs], "max_cost": float(self.max_cost or 0.0)}
        if self.at_most:
            found["at_most"] = [{"name": name, "most": most, "units": list(some)} for name, most, some in self.at_most]
        return found

    def __bool__(self) -> bool:
        return len(self.bounds) > 0

    def spent(self, subset: Iterable[int]) -> np.ndarray:
        """Return the sum of each limit for a subset."""
        return self.shares[:, list(subset)].sum(axis=1)

    def fits(self, subset: Iterable[int]) -> bool:
        """Whether a subset is within all limits."""
        return not len(self.bounds) or bool((self.spent(subset) <= self.bounds).all())

    def fitting(self, subset: Iterable[int], units: Sequence[int]) -> list[int]:
        """Return those of some units that can be added to a subset, one at a time."""
        if not len(self.bounds):
            return list(units)
        sums = self.spent(subset)[:, None] + self.shares[:, list(units)]
        within = np.all(sums <= self.bounds[:, None], axis=0).tolist()
        return [unit for unit, fine in zip(units, within, strict=True) if fine]

    def firsts(self, order: Sequence[int], taken: Sequence[int], sizes: Iterable[int]) -> dict[int, list[int]]:
        """Return the first units of an order that may be chosen together beside those taken, so many for each size.

        A unit is passed if it does not fit, or if too few of the units after it would still fit, by each limit alone.
        There is no entry for a size that is not reached.
        """
        if not len(self.bounds):
            return {size: list(order[:size]) for size in sizes if size <= len(order)}
        place = {unit: number for number, unit in enumerate(order)}
        cheapest = [sorted(order, key=share.__getitem__) for share in self.shares]

        def leaves_room(unit: int, sums: np.ndarray, left: int) -> bool:
            for share, units, total, bound in zip(self.shares, cheapest, sums, self.bounds, strict=True):
                later = islice((one for one in units if place[one] > place[unit]), left)
                if sum((share[one] for one in later), start=total) > bound:
                    return False
            return True

        found: dict[int, list[int]] = {}
        for size in sizes:
            spent, chosen = self.spent(taken), list[int]()
            for unit in order:
                sums = spent + self.shares[:, unit]
                if len(chosen) < size and leaves_room(unit, sums, size - len(chosen) - 1):
                    chosen.append(unit)
                    spent = sums
            if len(chosen) == size:
                found[size] = chosen
        return found

    def largest(self, forced: Sequence[int], allowed: Sequence[int]) -> int:
        """Return how many units a subset may have at most, by each limit alone; all of them if all fit together."""
        most = len(allowed)
        for share, bound in zip(self.shares, self.bounds, strict=True):
            sums = share[list(forced)].sum() + np.cumsum(np.sort(share[list(allowed)]))
            most = min(most, int((sums <= bound).sum()))
        return len(forced) + most

    def count(self, forced: Sequence[int], allowed: Sequence[int], limit: int, beyond: int) -> int:
        """Return how many subsets are within the limits and not empty; counting ends beyond a number.

        Subsets of the same size with the same sums are counted together. Where that takes too long, the answer is one
        more than `beyond`.
        """
        shares = [tuple(row) for row in self.shares.T.tolist()]
        counts = {(len(forced), tuple(self.spent(forced).tolist())): 1}
        total, work, bounds = 1, 0, self.bounds.tolist()
        for unit in allowed:
            grown: dict[tuple[int, tuple[float, ...]], int] = {}
            for (size, sums), many in counts.items():
                more = tuple(one + share for one, share in zip(sums, shares[unit], strict=True))
                if size < limit and all(one <= bound for one, bound in zip(more, bounds, strict=True)):
                    grown[size + 1, more] = many
            work += len(counts)
            for state, many in grown.items():
                counts[state] = counts.get(state, 0) + many
            total += sum(grown.values())
            if total > beyond:
                break
            if work > MOST_WORK:
                return beyond + 1
        return total - (not forced)
