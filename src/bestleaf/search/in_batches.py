"""The part of a search that asks for many samples at once; whoever draws them, they are taken in in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bestleaf._kernels.loop import press, stands_at, take
from bestleaf._records import BAD_BOUND, LIMITED, SAMPLE, Proposal
from bestleaf.executors import Executor
from bestleaf.search.batch import Batches, Request, useful_leaves
from bestleaf.search.options import checked_value
from bestleaf.search.rounds import Rounds


class InBatches(Rounds):
    """What a search does in batches: its slices, rollouts and the last narrowing when it has a `batch_size`."""

    seed: int | None

    def _batches(self, executor: Executor | None) -> Batches | None:
        """Return how samples are drawn in batches, None if they are drawn one by one."""
        size = self.options.batch_size
        if size is None:
            if executor is not None:
                raise ValueError(f"executor needs batch_size, the number of samples asked for at once, got {size}")
            return None
        seed, budget = int(self.rng.integers(2**63)) if self.seed is None else self.seed, self.budget
        return Batches(self.problem, size, executor, seed, over=lambda: budget.hurried is not None)

    def _rollouts(self) -> Any:
        """Return what keeps the values of rollouts by node: the compiled oracle, or what takes its place in batches."""
        if self.batches is None or not hasattr(self.problem, "plain_rollouts"):
            return self.oracle
        found = self.problem.plain_rollouts()
        found.draw = self._draw_rollouts
        return found

    def _play_batch(self, batches: Batches) -> Proposal:
        """Draw one batch of samples; return the proposal that needs a decision then."""
        proposal = self._propose()
        if proposal.action == SAMPLE:
            requests = self._useful(proposal, batches.size)
            if not requests:
                return proposal._replace(action=LIMITED)
            values = batches.samples(requests)
            if values is None:
                self.end_midway()
            else:
                self._tell_all(proposal, requests, values)
        return self._propose()

    def _useful(self, proposal: Proposal, size: int) -> list[Request]:
        """Return the samples to draw next, as far as the budget allows."""
        assert self.batches is not None
        many = min(size, self._left())
        if many < size:
            self.budget.cut()
        leaves = useful_leaves(proposal, self.graph, self.known, many) if many > 0 else []
        return [self.batches.request(leaf, self.graph.states[leaf]) for leaf in leaves]

    def _tell_all(self, proposal: Proposal, requests: list[Request], values: list[Any]) -> None:
        """Take in the samples of a batch, in the order they were asked for."""
        checked = [
            checked_value(value, "sample", self.graph.states[one.leaf])
            for one, value in zip(requests, values, strict=True)
        ]
        for one, value in zip(requests, checked, strict=True):
            self._absorb(proposal._replace(first=one.leaf, second=-1), value)
            self._credit(one, value)
            if self._proposal is not None and self._proposal.action == BAD_BOUND:
                break

    def _credit(self, request: Request, value: float) -> None:
        if self.rollouts is not None:
            self.rollouts.credit(request.leaf, request.state, value)

    def _draw_rollouts(self, node: int, many: int) -> int:
        """Draw rollouts from a node that bear on no interval; return how many."""
        assert self.batches is not None
        requests = [self.batches.request(node, self.graph.states[node]) for _ in range(many)]
        values = self.batches.samples(requests)
        if values is None:
            self.end_midway()
            return 0
        for one, value in zip(requests, values, strict=True):
            self._credit(one, checked_value(value, "sample", self.graph.states[node]))
        return many

    def press(self, target: float, rounds: int) -> int:
        """Sample leaves of largest upper bound for one slice; return whether one is above `target` (see the kernel)."""
        if self.oracle is not None:
            return int(press(target, self.limited_world(), self.oracle.record, self.rng, rounds))
        stands = int(stands_at(target, self.limited_world()))
        if stands != SAMPLE:
            return stands
        top = self._propose()._replace(first=int(self.known.known["leaf"][0]))
        for one in self._pressed(top):
            if not take(one[0], one[1], self.known.world):
                return BAD_BOUND
        self._proposal = None
        return SAMPLE

    def _pressed(self, top: Proposal) -> Iterator[tuple[int, float]]:
        """Yield (leaf, sample) of the leaves of largest upper bound."""
        if self.batches is None:
            yield top.first, self._draw(top.first)
            return
        requests = self._useful(top, self.batches.size)
        values = self.batches.samples(requests)
        if values is None:
            self.end_midway()
            return
        for one, value in zip(requests, values, strict=True):
            value = checked_value(value, "sample", self.graph.states[one.leaf])
            self._credit(one, value)
            yield one.leaf, value
