"""Stages: what a search may still do once the answer is settled, with the same graph, samples and budget.

One proves the guarantee "local"; the others, for subsets, evaluate more leaves and look for a smaller answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np

from bestleaf.checks import shown
from bestleaf.engine.records import BAD_BOUND, EVALUATE, EXACT, LIMITED, NOISY, OPEN, SAMPLE, SOLVED
from bestleaf.problems import State
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.state import SearchState

DONE = "done"  # the stage has nothing left to do
REOPEN = "reopen"  # the graph or the answer has changed: search again, then run all stages again


class Stage:
    """Base class of stages: work in slices of about 50 ms, once the answer is settled."""

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Work for one slice; return `DONE`, `REOPEN`, or None to be called again."""
        raise NotImplementedError

    def due(self, state: SearchState) -> bool:
        """Return whether the stage is to work now, before the graph is searched on."""
        return False

    def reset(self) -> None:
        """Forget what was done, because the search goes on."""


def evaluate_waiting(waiting: list[State], state: SearchState, evaluator: Evaluator) -> bool:
    """Evaluate waiting states, the last first, for one slice; True if none is left or the budget is spent."""
    until = perf_counter() + evaluator.budget.slice
    while waiting and perf_counter() < until:
        if waiting[-1] not in state.values:
            evaluator.prefetch(waiting[: -evaluator.at_once - 1 : -1])
        if evaluator.look_up(waiting.pop()) is None:
            return True
    return not waiting


class LocalOptimum(Stage):
    """Evaluate all leaves one step away. If one is better than the answer by more than epsilon, it enters the graph.

    Then the search goes on. Where a value is the mean of several scores, as with an estimator, values take long, and
    this is the claim that can be afforded. So there the stage works before the graph is searched, as soon as the
    answer has an exact value.

    Parameters
    ----------
    problem : Problem
        What is searched.
    answer : callable
        Returns the node that is the answer now.
    enough : bool, default=False
        Whether the search ends with such an early proof.
    """

    name = "local"

    def __init__(self, problem: Any, answer: Callable[[], int], *, enough: bool = False) -> None:
        if not hasattr(problem, "exact"):
            raise ValueError("guarantee local compares exact values, so the problem needs a method exact")
        for method, who in (("maximizes", "an opponent"), ("chance", "chance")):
            if hasattr(problem, method):
                raise ValueError(f"guarantee local is about one player's leaves, got a problem with {who}")
        if not (hasattr(problem, "neighbours") and hasattr(problem, "path_to")):
            raise ValueError("guarantee local needs a problem with the methods neighbours and path_to")
        self.problem, self.answer, self.enough = problem, answer, enough
        self.early = getattr(problem, "parts", 0) > 0
        self.proof: dict[str, Any] | None = None
        self._about: State = None  # the answer that is compared
        self._all: list[State] | None = None  # what it is compared with
        self._waiting: list[State] = []  # those of them without a value

    def reset(self) -> None:
        """Begin the comparison anew."""
        self.proof, self._all = None, None

    def due(self, state: SearchState) -> bool:
        """Return whether to work before the graph is searched on."""
        if not self.early or not state.known.track["opened"][0]:
            return False
        found = self._answer(state)
        return found is not None and not (self.proof is not None and found[0] == self._about)

    def stands_for(self, state: SearchState, node: int) -> int | None:
        """Return the node of the answer that was proved early; None if `node` is better by more than epsilon."""
        mine = state.graph.node_of.get(self._about) if self.early and self.proof is not None else None
        lower = state.known.known["lower"]
        return mine if mine is not None and lower[node] <= lower[mine] + state.settings.epsilon else None

    def proves(self, answer: State) -> bool:
        """Return whether the guarantee is proved for this answer."""
        return self.proof is not None and (not self.early or self._about == answer)

    def _answer(self, state: SearchState) -> tuple[State, float] | None:
        """Return the answer now and its exact value; None if it has none."""
        node = self.answer()
        known = state.known.known[node]
        if state.graph.kinds[node] != EXACT or known["count"] == 0:
            return None
        return state.graph.states[node], float(known["lower"])

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Evaluate for one slice."""
        found = self._answer(state)
        if found is None:
            return self._give_up("the answer")
        if self._all is None or (self.early and found[0] != self._about):
            self.reset()
            self._about = found[0]
            self._all = list(dict.fromkeys(self.problem.neighbours(self._about)))
            self._waiting = [one for one in self._all if one not in state.values]
        done = evaluate_waiting(self._waiting, state, evaluator)
        if valueless := [one for one in self._all if one in state.valueless]:
            self.reset()
            return self._give_up(shown(valueless[0]))
        if not done or any(one not in state.values for one in self._all):
            return None if state.reason is None else DONE
        found = self._answer(state)
        if found is None or found[0] != self._about:  # a new value has changed the answer
            return REOPEN  # what was proved of the old answer has to be proved again
        best = max(self._all, key=state.values.__getitem__, default=self._about)
        if self._all and state.values[best] > found[1] + state.settings.epsilon:
            state.join(self.problem.path_to(best), evaluator.budget)
            return REOPEN
        self._prove(state)
        if self.early and self.enough:
            state.reason = state.reason or "exhausted"
        return DONE

    def _give_up(self, what: str) -> str:
        words = f"guarantee local compares exact values, and {what} has none, so it is not claimed"
        warnings.warn(words, RuntimeWarning, stacklevel=2)
        return DONE

    def _prove(self, state: SearchState) -> None:
        choice = {"choice": self.problem.choice()} if hasattr(self.problem, "choice") else {}
        self.proof = {**choice, "subsets": [[one, state.values[one]] for one in self._all or []]}


class EveryLeaf(Stage):
    """Evaluate every leaf that has an exact value, even if the answer is settled without it."""

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Evaluate for one slice."""
        waiting = [state.graph.states[leaf] for leaf in state.waiting_leaves()[::-1]]
        return DONE if evaluate_waiting(waiting, state, evaluator) else None


class Subsets(Protocol):
    """What `SubsetsOfAnswers` needs of a problem whose terminal states are subsets."""

    def subsets_of(self, state: Any, largest: int) -> Iterable[State]:
        """Return terminal states: all subsets or, of more than `largest` units, those without one or two of them."""

    def path_to(self, state: Any) -> Sequence[State]:
        """Return the states on the way to a terminal state, without the root."""


class SubsetsOfAnswers(Stage):
    """Evaluate the subsets of the best answers so far; those close to the best value enter the graph.

    Features that the search has added on its way may be of no use in the end. If a subset is better than the best
    answer, the search goes on from there. If very many subsets are within epsilon of the best, only some of them enter:
    those of highest value and the smallest ones.
    """

    ANSWERS = 3  # whose subsets are evaluated
    CLOSE = 32  # how many subsets of highest value enter, and how many of the smallest
    LARGEST = 8  # up to this size all subsets of an answer are evaluated; of a larger one, those without one or two

    def __init__(self, lattice: Subsets) -> None:
        self.lattice = lattice
        self.reset()

    def reset(self) -> None:
        """Forget which subsets wait."""
        self._waiting: list[State] | None = None

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Evaluate for one slice."""
        if self._waiting is None:
            self._waiting = self._candidates(state)
        if not evaluate_waiting(self._waiting, state, evaluator):
            return None
        best = state.best_value()
        fresh = [one for one in self._close(state, best) if one not in state.graph.node_of]
        state.join([step for one in fresh for step in self.lattice.path_to(one)], evaluator.budget)
        if fresh and max(state.values[one] for one in fresh) > best:
            return REOPEN  # leaves that are only sampled have to be compared with the best one, too
        return DONE

    def _close(self, state: SearchState, best: float) -> list[State]:
        """Return the states within epsilon of the best that may enter, in the order in which they were evaluated."""
        values = state.values
        close: list[Any] = [one for one, value in values.items() if value >= best - state.settings.epsilon]
        if len(close) <= 2 * self.CLOSE:
            return close
        highest = sorted(close, key=lambda one: (-values[one], len(one)))[: self.CLOSE]
        smallest = sorted(close, key=lambda one: (len(one), -values[one]))[: self.CLOSE]
        chosen = {*highest, *smallest}
        return [one for one in close if one in chosen]

    def _candidates(self, state: SearchState) -> list[State]:
        """Return the subsets of the best answers that have no value yet, the largest last."""
        present = [one for one in state.values if one in state.graph.node_of]
        best = sorted(present, key=lambda one: -state.values[one])[: self.ANSWERS]
        found: dict[Any, None] = dict.fromkeys(
            subset for one in best for subset in self.lattice.subsets_of(one, self.LARGEST)
        )
        return sorted((one for one in found if one not in state.values), key=len)


AIMED = 256  # samples after which another leaf may be tried


class Aim(NamedTuple):
    """The leaf that is tried, what no upper bound may be above, and the number of samples until which it is tried."""

    leaf: int
    target: float
    until: int


class SmallerAnswer(Stage):
    """Try to prove that a smaller leaf is within epsilon of the best; `tolerance` is how much it may be worse itself.

    First, all terminal leaves smaller than the best one are evaluated. Then other leaves are sampled until their upper
    bounds prove it for the smallest leaf whose value allows it. That takes at most as many samples as the search has
    taken. A leaf for which it cannot be proved is left out.
    """

    def __init__(self, size: Callable[[Any], int], tolerance: float | None = None) -> None:
        self.size, self.tolerance = size, tolerance
        self.reset()

    def reset(self) -> None:
        """Allow as many samples again as the search has taken, and try all leaves again."""
        self._allowed: int | None = None
        self._failed: set[int] = set()
        self._aim: Aim | None = None

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Evaluate or sample for one slice."""
        if self._allowed is None:
            self._allowed = 2 * state.samples
        if self._aim is not None:  # kept for some samples, not for a slice: the result must not depend on the clock
            return self._narrow(state, evaluator, self._aim)
        leaves = np.flatnonzero(state.graph.kinds == (EXACT if state.has_exact else NOISY))
        counts, values = state.known.known["count"][leaves], state.known.known["lower"][leaves]
        done = counts > 0
        if not done.any():
            return DONE
        best = leaves[done][np.argmax(values[done])]
        sizes = np.array([self.size(state.graph.states[leaf]) for leaf in leaves])
        waiting = leaves[~done & (sizes < self.size(state.graph.states[best]))]
        if len(waiting) and state.has_exact:
            return None if evaluator.evaluate(int(waiting[0])) else DONE
        tolerance = state.settings.epsilon if self.tolerance is None else self.tolerance
        within = done & (values >= values[done].max() - tolerance)
        within &= ~np.isin(leaves, list(self._failed))
        order = np.lexsort((-values[within], sizes[within]))
        candidates = leaves[within][order]
        if not len(candidates) or candidates[0] == best:
            return DONE
        leaf, until = int(candidates[0]), min(self._allowed, state.samples + AIMED)
        self._aim = Aim(leaf, float(state.known.known["lower"][leaf]) + state.settings.epsilon, until)
        return self._narrow(state, evaluator, self._aim)

    def _narrow(self, state: SearchState, evaluator: Evaluator, aim: Aim) -> str | None:
        """Sample the leaves whose upper bounds are too high for a leaf to be the answer, as long as it is tried."""
        if aim.until <= state.samples:
            self._aim = None
            return DONE if self._allowed is not None and self._allowed <= state.samples else None
        stands = evaluator.press(aim.target, min(evaluator.rounds, aim.until - state.samples))
        state.check_parts()
        state.decision = None
        if stands == SAMPLE:
            return None
        self._aim = None
        if stands == EVALUATE:
            return None if evaluator.evaluate(int(state.known.known["leaf"][0])) else DONE
        if stands == OPEN:
            self._failed.add(aim.leaf)
        if stands == LIMITED:
            state.reason = "max_samples"
        if stands == BAD_BOUND:
            raise ValueError(f"bound {state.settings.bound.name} must return lower <= upper")
        return DONE if stands in (SOLVED, LIMITED) else None
