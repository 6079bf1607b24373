"""The guarantee "local" where a value is the mean of several scores: the leaves one step away race.

A score is at most 1. So after some folds the highest value that a leaf can still reach is known exactly. A leaf that
cannot be better than the centre of the race by more than epsilon gets no further scores: that takes no probability, and
most leaves need only some of the folds. The folds on which the centre does worst come first, because there a leaf loses
most of what it can reach.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from bestleaf.checkpoint import Saved
from bestleaf.checkpoint.codec import checked_number, decoded, encoded
from bestleaf.engine.records import EXACT
from bestleaf.problems import State
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.stages.base import DONE, REOPEN, Stage, check_terminal
from bestleaf.search.state import SearchState

SINGLE, ALL = "single", "all"  # leaves that race: one unit added or dropped; also one unit exchanged
AT_ONCE = 2  # batches of scores that are computed in one slice


class LocalRace(Stage):
    """Race the leaves one step away from the answer or, if it is given, from another leaf: the *centre*.

    First the leaves with one unit more or less race, then those with one unit exchanged. So if time is over between the
    two, something is proved. If a leaf is better than the answer by more than epsilon, it enters the graph, and the
    race begins anew around the new answer. Around a centre that was given, the race shows how much better the best leaf
    is.

    It runs before the graph is searched, as soon as the answer has an exact value. For an estimator that takes long it
    is the claim that can be afforded.

    Parameters
    ----------
    problem : Problem
        What is searched; its values are means of ``problem.parts`` scores.
    answer : callable
        Returns the node that is the answer now.
    centre : state, default=None
        The leaf that the race is about; None is the answer.
    wider : float, default=None
        Seconds that the search may go on when the race is over; None for no limit of its own.
    """

    name = "local"

    def __init__(
        self, problem: Any, answer: Callable[[], int], centre: State | None = None, wider: float | None = None
    ) -> None:
        self.problem, self.answer, self.given, self.wider = problem, answer, centre, wider
        self.proof: dict[str, Any] | None = None
        self.centre: State | None = None  # of the race that is run now, or was run last
        self._forget()

    def _forget(self) -> None:
        """Prepare a race around another centre."""
        self.proof = None
        self._over = False  # all leaves have raced
        self._folds: list[int] = []  # in the order in which they are scored
        self._own: list[float] = []  # scores of the centre in this order
        self._scores: dict[State, list[float]] = {}  # of each leaf that races, in this order
        self._field: list[State] = []  # leaves that race
        self._among = SINGLE

    def due(self, state: SearchState) -> bool:
        """Return whether to race before the graph is searched on."""
        centre = self._current(state)
        return centre is not None and (centre != self.centre or not self._over)

    def _current(self, state: SearchState) -> State | None:
        """Return the centre now; None while the answer has no exact value."""
        if self.given is not None:
            return self.given
        if not state.known.track["opened"][0]:
            return None
        node = self.answer()
        exact = state.graph.kinds[node] == EXACT and state.known.known["count"][node] > 0
        return state.graph.states[node] if exact else None

    def stands_for(self, state: SearchState, node: int) -> int | None:
        """Return the node of the answer that was raced for; None if `node` is better by more than epsilon."""
        mine = None if self.proof is None or self.given is not None else state.graph.node_of.get(self.centre)
        if mine is None:
            return None
        lower = state.known.known["lower"]
        return mine if lower[node] <= lower[mine] + state.settings.epsilon else None

    def is_about(self, state: SearchState, node: int) -> bool:
        """Return whether the race was run around this answer, or around a leaf that was given."""
        return self.given is not None or state.graph.states[node] == self.centre

    def slice(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Compute some scores; prove, or go on from a better leaf."""
        centre = self._current(state)
        if centre is None:
            return DONE
        if centre != self.centre:
            self._forget()
            self.centre = centre
        if self._over:
            return DONE
        if not self._folds and not self._begin(state, evaluator):
            return DONE  # the budget is spent
        leaves = self._next(state, AT_ONCE * (evaluator.batch_size or 1))
        if not leaves:
            return self._prove(state, evaluator)
        scores = evaluator.scores_of([(leaf, self._folds[len(self._scores[leaf])]) for leaf in leaves])
        for leaf, score in zip(leaves, scores, strict=False):
            self._scores[leaf].append(score)
            self._complete(leaf, state)
        better = self._better(state)
        if better is not None:
            state.join(self.problem.path_to(better), evaluator.budget)
            return REOPEN
        return None

    def _begin(self, state: SearchState, evaluator: Evaluator) -> bool:
        """Score the centre, and list the leaves that race first; False if the budget is spent."""
        own = evaluator.scores_of([(self.centre, fold) for fold in range(evaluator.folds)])
        if len(own) < evaluator.folds:
            return False
        if self.centre not in state.values:
            state.take_value(self.centre, float(np.mean(own)))
        self._folds = sorted(range(evaluator.folds), key=own.__getitem__)
        self._own = [own[fold] for fold in self._folds]
        self._enter(SINGLE)
        return True

    def _enter(self, among: str) -> None:
        """Let leaves into the race."""
        assert isinstance(self.centre, tuple)
        self._among, near = among, dict.fromkeys(self.problem.neighbours(self.centre))
        size = len(self.centre)
        self._field = [leaf for leaf in near if among == ALL or len(leaf) != size]
        for leaf in self._field:
            self._scores.setdefault(leaf, [])

    def _limit(self, state: SearchState) -> float:
        """Return the value that a leaf must be able to exceed to stay in the race."""
        limit = state.values[self.centre] + state.settings.epsilon
        if self.given is None:
            return limit
        return max([limit, *(state.values[leaf] for leaf in self._field if leaf in state.values)])

    def _highest(self, leaf: State) -> float:
        """Return the highest value that a leaf can still reach."""
        return highest_mean(self._scores[leaf], len(self._folds))

    def _next(self, state: SearchState, many: int) -> list[State]:
        """Return the leaves to score next: first those without a score, then those that do best beside the centre."""
        limit = self._limit(state)
        open_leaves = [one for one in self._field if one not in state.values and self._highest(one) > limit]
        open_leaves.sort(key=self._lead, reverse=True)  # stable
        return open_leaves[:many]

    def _lead(self, leaf: State) -> float:
        """Return by how much a leaf is better than the centre on the folds that are scored."""
        scores = self._scores[leaf]
        return sum(scores) - sum(self._own[: len(scores)]) if scores else np.inf

    def _complete(self, leaf: State, state: SearchState) -> None:
        """Store the value of a leaf that all folds are scored for."""
        scores = self._scores[leaf]
        if len(scores) == len(self._folds):
            in_order = [score for _, score in sorted(zip(self._folds, scores, strict=True))]
            state.take_value(leaf, float(np.mean(in_order)))

    def _better(self, state: SearchState) -> State | None:
        """Return the best leaf if it is better than the answer by more than epsilon."""
        known = [leaf for leaf in self._field if leaf in state.values]
        best = max(known, key=state.values.__getitem__, default=None)
        return best if self.given is None and best is not None and state.values[best] > self._limit(state) else None

    def _prove(self, state: SearchState, evaluator: Evaluator) -> str | None:
        """Write down what the race has shown; then let the other leaves race, or end."""
        self._go_on(state)
        if not self._over:
            return None
        if self.wider is not None:
            evaluator.budget.end_in(self.wider)
        return DONE

    def _go_on(self, state: SearchState) -> None:
        """Write down what the race has shown; let the other leaves in, if they have not raced yet."""
        self._write(state)
        if self._among == SINGLE:
            self._enter(ALL)
        else:
            self._over = True

    def _write(self, state: SearchState, ruled_out: Collection[State] | None = None) -> None:
        """Write down what the race has shown; `ruled_out` are the leaves without a value, if it was written before."""
        if ruled_out is None:
            ruled_out = {leaf for leaf in self._field if leaf not in state.values}
        exact = [leaf for leaf in self._field if leaf not in ruled_out]
        pruned = [leaf for leaf in self._field if leaf in ruled_out]
        self.proof = {
            "choice": self.problem.choice(),
            "steps": self._among,
            "folds": list(self._folds),
            "subsets": [[leaf, state.values[leaf]] for leaf in exact],
            "pruned": [[leaf, self._highest(leaf), len(self._scores[leaf])] for leaf in pruned],
        }
        if self.given is not None:
            self.proof["centre"] = self.centre

    def snapshot(self) -> dict[str, Any]:
        """Return the centre, all scores and who was ruled out; what is proved follows from them."""
        if not self._folds:
            return {"centre": None}
        return {
            "centre": encoded(self.centre),
            "folds": list(self._folds),
            "own": list(self._own),
            "scores": [[encoded(leaf), *scores] for leaf, scores in self._scores.items() if scores],
            "ended": 2 if self._over else int(self._among == ALL),
            "ruled_out": [encoded(leaf) for leaf, *_ in self.proof["pruned"]] if self.proof else [],
        }

    def restore(self, saved: Saved, state: SearchState) -> None:
        """Restore a snapshot; the race goes on where it stood."""
        self._forget()
        if saved.get("centre") is None:
            return
        self.centre, folds = decoded(saved.get("centre")), state.problem.parts
        check_terminal(state.problem, [self.centre])
        self._folds = [int(checked_number("folds", fold, 0, folds - 1)) for fold in saved.listed("folds")]
        self._own = [checked_number("own", score, 0.0, 1.0) for score in saved.listed("own")]
        if sorted(self._folds) != list(range(folds)) or len(self._own) != folds or self.centre not in state.values:
            raise ValueError(f"a race must have an order of {folds} folds, and the scores of its centre")
        self._enter(SINGLE)
        near = set(self.problem.neighbours(self.centre))
        for row in saved.listed("scores"):
            leaf = decoded(row[0]) if isinstance(row, list) and 1 < len(row) <= folds + 1 else None
            if leaf not in near:
                raise ValueError(f"scores must list leaves one step away, with 1 to {folds} scores each")
            self._scores[leaf] = [checked_number("scores", score, 0.0, 1.0) for score in row[1:]]
        for _ in range(saved.whole("ended", 0, 2)):
            if self._next(state, 1):
                raise ValueError("ended must count races without a leaf that is still to be scored")
            self._go_on(state)
        if self._over:  # the search has given values to some of those that were ruled out
            ruled_out = {decoded(one) for one in saved.listed("ruled_out")}
            if any(leaf not in near or self._highest(leaf) > self._limit(state) for leaf in ruled_out):
                raise ValueError("ruled_out must list leaves one step away that cannot be better")
            if any(leaf not in ruled_out and leaf not in state.values for leaf in self._field):
                raise ValueError("ruled_out must list all leaves without a value")
            self._write(state, ruled_out)


def highest_mean(scores: Sequence[float], folds: int) -> float:
    """Return the highest mean over all folds that some scores allow; the others are at most 1."""
    return float((sum(scores) + folds - len(scores)) / folds)
