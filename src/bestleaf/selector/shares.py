"""How the time of a fit is shared out among its searches."""

from __future__ import annotations

from math import inf

from bestleaf.search.budget import Budget

STARTING = 10.0  # seconds of a search for which it pays to start processes


class Shares:
    """The time that each of several searches gets: an equal share, less if those before took longer than theirs.

    Parameters
    ----------
    budget : Budget
        Of all of them; its clock runs.
    others : int
        Searches beside the first one.
    workers : int
        How many of the others may run at a time.
    """

    def __init__(self, budget: Budget, others: int, workers: int) -> None:
        self.budget = budget
        self.others = others
        limit = inf if budget.max_time is None else budget.max_time
        self.workers = workers if limit / (1 + others) >= STARTING else 1  # the first one may be over at once
        self.equal = limit / (1 + self._rounds(others))

    def _rounds(self, searches: int) -> int:
        """Return how many searches follow one another if some run side by side."""
        return -(-searches // self.workers)

    @property
    def first(self) -> float | None:
        """Seconds of the first search, from the beginning of the fit on."""
        return None if self.equal == inf else self.equal

    def next(self, searches: int) -> float | None:
        """Return the seconds of each of the searches that are still to be run, None without a limit."""
        if self.equal == inf:
            return None
        return min(self.equal, self.budget.look() / self._rounds(searches))

    @property
    def over(self) -> bool:
        """Whether all of the time is over."""
        return self.budget.look() <= 0
