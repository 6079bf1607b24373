"""What is searched: the `Problem` protocol and its optional methods.

A problem describes a directed graph with one root; moves may lead back to a state. A state is anything hashable. Two
paths to the same state lead to one node. Leaves are sampled: terminal states and, while the graph grows, states whose
children have not entered the graph yet.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

State = Hashable


@runtime_checkable
class Problem(Protocol):
    """What a search needs to know; any object with these four methods will do.

    More methods are used where a problem has them: those of `Exact`, `TwoPlayer`, `Endless`, `Chance`,
    `Neighbourhood` and `Batched`; ``label(state)`` (states with equal labels have the same value, as two paths to one
    position have); ``parents(state)`` with ``count_children(state)`` (children of a wide node are then listed only when
    needed); ``fingerprint()`` (anything that JSON can hold; it distinguishes answers about different problems); and
    that of `Prior`. With the attribute ``settles_unfinished = True`` an answer of a growing graph may rest on states
    whose children have not entered, as on the lattice of feature subsets.
    """

    def root(self) -> State:
        """Return the state where the search starts."""

    def children(self, state: Any) -> Iterable[State]:
        """Return all states one move below `state`."""

    def is_terminal(self, state: Any) -> bool:
        """Return whether `state` has no children."""

    def sample(self, state: Any, rng: np.random.Generator) -> float:
        """Return one sample of `state` in [0, 1]; if it is not terminal, of a random terminal state below it."""


@runtime_checkable
class Exact(Protocol):
    """The values of terminal states can be computed."""

    def exact(self, state: Any) -> float | None:
        """Return the exact value of a terminal state, or None if it can only be sampled."""


@runtime_checkable
class TwoPlayer(Protocol):
    """An opponent moves in some states."""

    def maximizes(self, state: Any) -> bool:
        """Return False where the opponent moves."""


@runtime_checkable
class Endless(Protocol):
    """It is known what play that never ends is worth; only for problems with an opponent whose moves lead in circles.

    Without this method, play that for ever stays among states that reach each other is worth 0 if only the first player
    could leave them, and 1 if only the opponent could: whoever could leave should. If both could, or nobody, its value
    is taken to be unknown, and the bounds hold whatever it is. One player can always leave; staying is worth 0.
    """

    def endless(self, state: State) -> float | tuple[float, float]:
        """Return what endless play through `state` is worth: a number in [0, 1], or a lower and an upper one.

        If states that reach each other have different values, endless play among them is worth an unknown number
        between the lowest and the highest.
        """


@runtime_checkable
class Chance(Protocol):
    """In some states nobody moves: chance decides which child comes next, as the roll of a die does."""

    def chance(self, state: Any) -> Sequence[float] | None:
        """Return the probability of each child, in the order of `children`; None where somebody moves.

        The value of a chance state is the mean of the values of its children, weighted with these probabilities. They
        must sum to 1. If a child is listed twice, its probabilities add up. A graph with chance must have no cycles.
        """


@runtime_checkable
class Neighbourhood(Protocol):
    """Terminal states have neighbours; those of a subset, for example, differ from it by one feature."""

    def neighbours(self, state: State) -> Iterable[State]:
        """Return the terminal states next to a terminal state."""

    def path_to(self, state: State) -> Sequence[State]:
        """Return the states on one path to a terminal state: without the root, the terminal state last."""


@runtime_checkable
class Batched(Protocol):
    """With `batch_size`, samples and values are computed in the problem's own way, sharing what they have in common."""

    def batches(self, evaluator: Any) -> Any:
        """Return what draws batches, or None; the evaluator of the search has a budget, workers and a memory.

        It has the methods ``samples(requests)`` and ``values(states)``, which return fewer numbers if time is over,
        ``values_at_once(batch_size)``, ``rough(state)``, estimates of the values of some states, and the number
        ``memory``, its bytes; see `bestleaf.features.fold_scores`.
        """


@runtime_checkable
class Prior(Protocol):
    """The problem has an opinion of its moves before any sample is drawn, by a rule of thumb or a network."""

    def prior(self, state: Any) -> Sequence[float] | None:
        """Return a weight of at least 0 for each child, in the order of `children`; a larger one enters sooner.

        None is no opinion, and all children are alike.
        Only growth uses it (``proposal="prior"``). What is proved about the graph as grown holds with any prior; with a
        poor one, poorer leaves are in that graph.
        """
