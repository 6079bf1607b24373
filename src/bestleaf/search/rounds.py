"""One round of a search: propose what to do, do what a kernel cannot, take in what came of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from bestleaf._guard import check_parts
from bestleaf._kernels.loop import run, step
from bestleaf._records import (
    BAD_BOUND,
    BAD_RULE,
    DEEPEN,
    EVALUATE,
    GROW,
    LIMITED,
    OPEN,
    SAMPLE,
    SOLVED,
    Proposal,
)
from bestleaf.checks import shown
from bestleaf.search.evaluations import Evaluations
from bestleaf.search.options import checked_value

NOTHING = Proposal(SAMPLE, 0, -1, -1, -1, 0.0)
WARM_UP_SHARE = 0.1  # of max_time that may go into one warm-up


class Rounds(Evaluations):
    """The steps of a round, whoever draws the samples: the compiled loop, a Python loop, ask and tell, batches."""

    oracle: Any  # compiled, or None
    rng: np.random.Generator
    rounds: int  # of the next slice
    _warming: tuple[int, float] | None

    @property
    def samples(self) -> int:
        """Noisy samples drawn so far, those of warm-ups included."""
        return int(self.known.world["samples"]) + self.warmup_samples

    @property
    def batch_size(self) -> int:
        """How many samples are asked for at once."""
        return self.options.batch_size or 1

    def limited_world(self) -> Any:
        """Return the record of the kernels with the samples still allowed written in."""
        self.known.world["limit"] = self.budget.samples_left(self.exact_evaluations + self.warmup_samples)
        return self.known.world

    def _propose(self) -> Proposal:
        """Return what to do next, without doing it."""
        if self._proposal is None:
            world = self.known.world
            if self.oracle is not None:
                self._proposal = Proposal(*run(world, self.oracle.record, self.rng, 0))
            else:
                self._proposal = Proposal(*step(NOTHING, 0.0, 0.0, world))
        return self._proposal

    def _absorb(self, proposal: Proposal, first: float, second: float = 0.0) -> None:
        """Take in the samples of a proposal."""
        self._proposal = Proposal(*step(proposal, first, second, self.known.world))
        self.check_parts()

    def check_parts(self) -> None:
        """Raise one sentence if the user's rule or bound has raised an error in a kernel."""
        check_parts(self.options.rule, self.options.bound)

    def _draw(self, leaf: int) -> float:
        state = self.graph.states[leaf]
        return checked_value(self.problem.sample(state, self.rng), "sample", state)

    def _left(self) -> int:
        """Return how many oracle calls the budget still allows."""
        return self.budget.samples_left(self.samples + self.exact_evaluations)

    def _handle(self, proposal: Proposal) -> None:
        """Do in Python what a kernel cannot: stop, grow, ask for an exact value, complain."""
        action = proposal.action
        self.check_parts()
        if action == SOLVED:
            self.reason = "identified"
        elif action == LIMITED or (action == EVALUATE and self._left() <= 0):
            self.reason = "max_samples"
        elif action == EVALUATE:
            self._evaluate(proposal)
        elif action == OPEN and self._warm_up(proposal.root):
            pass  # the same proposal comes back in the next slice
        elif action in (OPEN, GROW, DEEPEN):
            change = {OPEN: self.growth.open, GROW: self.growth.grow, DEEPEN: self.growth.deepen}[action]
            self._introduce(change(proposal.root))
        elif action == BAD_RULE:
            raise ValueError(f"rule {self.options.rule.name} must return children of its root (rival may be -1)")
        elif action == BAD_BOUND:
            state = self.graph.states[proposal.first]
            raise ValueError(
                f"bound {self.options.bound.name} must return lower <= upper, but did not for {shown(state)}"
            )
        if action != SAMPLE or self.oracle is not None:
            self._proposal = None

    def _warm_up(self, node: int) -> bool:
        """Draw some of the rollouts that the choice at `node` opens with; False when no more are needed or allowed."""
        limit, elapsed = self.budget.max_time, self.budget.elapsed
        if self._warming is None or self._warming[0] != node:
            self._warming = (node, elapsed)
        if limit is not None and elapsed - self._warming[1] > WARM_UP_SHARE * limit:
            return False
        drawn = self.growth.proposals.warm_up(node, min(max(self.rounds, self.batch_size), self._left()))
        if self._left() <= 0:
            self.budget.cut()
        self.warmup_samples += drawn
        return drawn > 0

    def _open_root(self) -> None:
        """Open the first choice with what is known, if the search was stopped before it could."""
        if not self.known.track["opened"][0]:
            self._introduce(self.growth.open(0))
            self._proposal = None
