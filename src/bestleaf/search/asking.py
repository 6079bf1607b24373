"""A search opened up: what to sample next is asked for, what came of it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bestleaf._records import LIMITED, SAMPLE
from bestleaf.checks import whole
from bestleaf.search.batch import Request
from bestleaf.search.in_batches import InBatches
from bestleaf.search.keeper import Keeper
from bestleaf.search.options import checked_value
from bestleaf.search.stages import Stage


class Asking(InBatches):
    """`ask` and `tell` one sample at a time, `ask_batch` and `tell_batch` many; the same rounds as in `run`."""

    stages: list[Stage]
    first_value: float | None
    keeper: Keeper
    resume: Callable[[], bool]
    _asked: int | None
    _requests: list[Request]
    _check_time: Callable[[], None]

    def ask(self) -> Any:
        """Return the state to sample next, or None when the search is over."""
        if self.stages:
            raise RuntimeError("ask() searches the graph as grown only; use run() for a guarantee beyond it")
        self.resume()
        self.budget.start()
        self._check_time()
        while self.reason is None:
            proposal = self._propose()
            if proposal.action == SAMPLE and self._left() > 0:
                self._asked = proposal.first if self.first_value is None else proposal.second
                break
            self._handle(proposal._replace(action=LIMITED) if proposal.action == SAMPLE else proposal)
        self.budget.look()
        if self.reason is not None:
            self.keeper.over(self)
        return self.graph.states[self._asked] if self.reason is None and self._asked is not None else None

    def tell(self, value: float) -> None:
        """Give one sample of the state last asked for."""
        proposal, leaf = self._proposal, self._asked
        if proposal is None or leaf is None or self.reason is not None:
            raise RuntimeError("tell() must follow an ask() that returned a state")
        value = checked_value(value, "sample", self.graph.states[leaf])
        self.budget.look()
        self._asked = None
        if self.first_value is None and proposal.second >= 0 and self._left() > 1:
            self.first_value = value
        elif self.first_value is None:
            self._absorb(proposal._replace(second=-1), value)
        else:
            self._absorb(proposal, self.first_value, value)
            self.first_value = None
        self.keeper.slice_over(self)

    def ask_batch(self, size: int) -> list[Request]:
        """Return samples to draw next, all at once, in any order and by anybody; none when the search is over.

        The most useful comes first. Give the values to `tell_batch` in the order of the requests.
        """
        if self.stages:
            raise RuntimeError("ask_batch() searches the graph as grown only; use run() for a guarantee beyond it")
        if self.batches is None:
            raise RuntimeError("ask_batch() needs a search with batch_size")
        size = whole("size", size, 1)
        self.resume()
        self.budget.start()
        self._requests = []
        while self.reason is None and not self._requests:
            self.budget.look()
            self._check_time()
            proposal = self._propose()
            if proposal.action == SAMPLE and self.reason is None:
                self._requests = self._useful(proposal, size)
            if not self._requests and self.reason is None:
                self._handle(proposal._replace(action=LIMITED) if proposal.action == SAMPLE else proposal)
        self.budget.look()
        if self.reason is not None:
            self.keeper.over(self)
        return list(self._requests)

    def tell_batch(self, values: Sequence[float]) -> None:
        """Give the samples that were asked for, in the order of the requests."""
        if not self._requests:
            raise RuntimeError("tell_batch() must follow an ask_batch() that returned requests")
        if len(values) != len(self._requests):
            raise ValueError(f"values must be one for each of {len(self._requests)} requests, got {len(values)}")
        self.budget.look()
        self._tell_all(self._propose(), self._requests, list(values))
        self._requests = []
        self.keeper.slice_over(self)
