"""What is searched: the `Problem` protocol, and synthetic problems with known values.

A problem is a single-rooted directed acyclic graph given by its rules. A state is anything hashable;
two ways to the same state are one node. Terminal states and, while the graph grows, states without
children in the current graph are leaves: `sample` gives noisy values of them in [0, 1].
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from hashlib import sha256
from math import exp
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bestleaf._records import Bernoulli
from bestleaf.checks import shown
from bestleaf.storage.states import encoded

State = Hashable


@runtime_checkable
class Problem(Protocol):
    """What a search needs to know; any object with these four methods will do.

    More are used when present: ``label(state)`` (states with equal labels are the same thing
    reached by different paths, as in a tree), ``maximizes(state)`` (False where the opponent moves) and
    ``exact(state)`` (the true value of a terminal state, or None where it can only be sampled). A problem with very
    many children may give ``parents(state)`` and ``count_children(state)``; its children are then listed only when
    needed. ``fingerprint()``, anything that JSON can hold, tells a checkpoint of this problem from one of another.
    """

    def root(self) -> State:
        """Return the state where the search starts."""

    def children(self, state: State) -> Iterable[State]:
        """Return all states one move below `state`."""

    def is_terminal(self, state: State) -> bool:
        """Return whether `state` ends the game."""

    def sample(self, state: State, rng: np.random.Generator) -> float:
        """Return one noisy value of `state` in [0, 1] (of a state not terminal: of a random way on from it)."""


class BernoulliProblem:
    """Base of problems whose samples are 0 or 1 with a known mean: sampling runs compiled.

    Subclasses give `root`, `children`, `is_terminal` and `mean`.
    """

    def mean(self, state: Any) -> float:
        """Return the probability of a one."""
        raise NotImplementedError

    def sample(self, state: Any, rng: np.random.Generator) -> float:
        """Return 1.0 with probability ``mean(state)``, otherwise 0.0."""
        return 1.0 if rng.random() < self.mean(state) else 0.0

    def compiled_oracle(self, rng: np.random.Generator) -> BernoulliTable | None:
        """Return the compiled form of `sample`, or None when a subclass samples in its own way."""
        return BernoulliTable(self) if type(self).sample is BernoulliProblem.sample else None


class BernoulliTable:
    """The means of the nodes of one search, by node number."""

    def __init__(self, problem: BernoulliProblem) -> None:
        self.problem = problem
        self.means = np.zeros(64)

    def add(self, node: int, state: Any) -> None:
        """Note the mean of a new node."""
        if node >= len(self.means):
            self.means = np.resize(self.means, 2 * node)
        mean = self.problem.mean(state)
        if not 0.0 <= mean <= 1.0:
            raise ValueError(f"mean({shown(state)}) must return a number in [0, 1], got {shown(mean)}")
        self.means[node] = mean

    @property
    def record(self) -> Bernoulli:
        """What the kernel draws from."""
        return Bernoulli(self.means)


class ScoreLattice(BernoulliProblem):
    """The paper's synthetic feature selection: subsets of `depth` features, mean sigmoid(sum of scores).

    A state is the sorted tuple of the features chosen so far; the leaves are the subsets of size `depth`.
    """

    def __init__(self, scores: Sequence[float], depth: int) -> None:
        self.scores = tuple(float(score) for score in scores)
        self.depth = depth
        if not 1 <= depth <= len(self.scores):
            raise ValueError(f"depth must be between 1 and the number of scores ({len(self.scores)}), got {depth}")

    def root(self) -> tuple[int, ...]:
        """Return the empty subset."""
        return ()

    def children(self, state: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the subsets with one feature more."""
        chosen = set(state)
        return [tuple(sorted((*state, f))) for f in range(len(self.scores)) if f not in chosen]

    def is_terminal(self, state: tuple[int, ...]) -> bool:
        """Return whether the subset is full."""
        return len(state) == self.depth

    def mean(self, state: tuple[int, ...]) -> float:
        """Return sigmoid of the sum of the scores."""
        return 1.0 / (1.0 + exp(-sum(self.scores[f] for f in state)))

    def fingerprint(self) -> dict[str, Any]:
        """Return what tells this lattice from others."""
        return {"scores": self.scores, "depth": self.depth}


PAPER_SCORES = (-0.3, 0.0, 0.03, 0.3, 0.4, 0.5)


def paper_lattice() -> ScoreLattice:
    """Return the lattice of the paper's table: 6 features, leaves of size 3, 20 leaves, 42 nodes."""
    return ScoreLattice(PAPER_SCORES, 3)


class Unrolled:
    """Any problem with its paths kept apart: a state is the tuple of states from the root (a tree).

    The label of a path is the state at its end, so that two paths to one state are known to be worth the same.
    """

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        for optional in ("maximizes", "exact", "mean"):
            if hasattr(problem, optional):
                setattr(self, optional, self._at_the_end(optional))
        if isinstance(problem, BernoulliProblem):
            self.compiled_oracle = lambda rng: problem.compiled_oracle(rng) and BernoulliTable(self)  # type: ignore[arg-type]

    def _at_the_end(self, name: str) -> Any:
        method = getattr(self.problem, name)
        return lambda path: method(path[-1])

    def root(self) -> tuple:
        """Return the path that has not moved yet."""
        return (self.problem.root(),)

    def children(self, path: tuple) -> list[tuple]:
        """Return the paths one move longer."""
        return [(*path, child) for child in self.problem.children(path[-1])]

    def is_terminal(self, path: tuple) -> bool:
        """Return whether the path has ended."""
        return self.problem.is_terminal(path[-1])

    def sample(self, path: tuple, rng: np.random.Generator) -> float:
        """Return one noisy value of the state at the end."""
        return self.problem.sample(path[-1], rng)

    def label(self, path: tuple) -> Hashable:
        """Return the state at the end."""
        return self.problem.label(path[-1]) if hasattr(self.problem, "label") else path[-1]

    def fingerprint(self) -> dict[str, Any]:
        """Return what tells the problem underneath from others."""
        own = getattr(self.problem, "fingerprint", lambda: repr(list(self.problem.children(self.problem.root()))))
        return {"unrolled": type(self.problem).__name__, "of": own()}


class TableProblem(BernoulliProblem):
    """A graph written out: `children_of[state]` lists the children, `means[state]` the value of each state.

    States without an entry in `children_of` are terminal. `opponent` lists the states where the other
    player moves, `exact_states` the terminal states whose value is known exactly.
    """

    def __init__(
        self,
        children_of: dict[Any, Sequence],
        means: dict[Any, float],
        *,
        root: Any = 0,
        opponent: Iterable = (),
        exact_states: Iterable = (),
    ) -> None:
        self.children_of = children_of
        self.means = means
        self._root = root
        self._opponent = frozenset(opponent)
        self._exact = frozenset(exact_states)
        if self._opponent:
            self.maximizes = lambda state: state not in self._opponent
        if self._exact:
            self.exact = lambda state: self.means[state] if state in self._exact else None

    def root(self) -> Any:
        """Return the root."""
        return self._root

    def children(self, state: Any) -> Sequence:
        """Return the children written down."""
        return self.children_of[state]

    def is_terminal(self, state: Any) -> bool:
        """Return whether no children are written down."""
        return state not in self.children_of

    def mean(self, state: Any) -> float:
        """Return the mean written down (0.5 for a state without one)."""
        return self.means.get(state, 0.5)

    def value(self, state: Any) -> float:
        """Return V(state): the mean of a terminal state, otherwise the best of its children for whoever moves."""
        if self.is_terminal(state):
            return self.mean(state)
        values = [self.value(child) for child in self.children(state)]
        return min(values) if state in self._opponent else max(values)

    def fingerprint(self) -> str:
        """Return what tells this graph from others: the SHA-256 of all that is written down."""
        children = tuple((state, tuple(below)) for state, below in self.children_of.items())
        content = (self._root, children, tuple(self.means.items()), self._opponent, self._exact)
        return sha256(json.dumps(encoded(content)).encode()).hexdigest()


def random_dag(
    seed: int | np.random.Generator,
    *,
    layers: int = 3,
    width: int = 4,
    max_children: int = 3,
    two_player: bool = False,
    exact_share: float = 0.0,
    grid: float | None = None,
) -> TableProblem:
    """Return a random layered graph with shared nodes and known values.

    Parameters
    ----------
    layers, width, max_children
        Layers below the root, nodes a layer, children a node at most. Nodes of the last layer are terminal.
    two_player
        Let the opponent move on every second layer.
    exact_share
        Share of the terminal states whose value is exact.
    grid
        Round the means to multiples of this, which makes ties.
    """
    rng = np.random.default_rng(seed)
    children_of: dict[Any, Sequence] = {}
    current = [(0, 0)]
    opponent, means = [], {}
    for layer in range(1, layers + 1):
        below = [(layer, place) for place in range(width)]
        used: dict[tuple[int, int], None] = {}
        for node in current:
            picks = rng.choice(width, size=rng.integers(1, min(max_children, width) + 1), replace=False)
            children_of[node] = [below[place] for place in picks]
            used.update(dict.fromkeys(children_of[node]))
            if two_player and layer % 2 == 0:
                opponent.append(node)
        current = list(used)
    states = [*children_of, *current]
    for state in states:
        value = rng.random()
        means[state] = float(round(value / grid) * grid if grid else value)
        means[state] = min(1.0, means[state])
    exact = [state for state in current if rng.random() < exact_share]
    return TableProblem(children_of, means, root=(0, 0), opponent=opponent, exact_states=exact)


def random_game_tree(seed: int | np.random.Generator, *, depth: int = 3, branching: int = 3) -> TableProblem:
    """Return a two-player tree with uniform random leaf values; states are tuples of moves."""
    rng = np.random.default_rng(seed)
    children_of: dict[Any, Sequence] = {}
    layer: list[tuple[int, ...]] = [()]
    for _ in range(depth):
        children_of.update({state: [(*state, move) for move in range(branching)] for state in layer})
        layer = [child for state in layer for child in children_of[state]]
    means = {state: float(rng.random()) for state in [*children_of, *layer]}
    opponent = [state for state in children_of if len(state) % 2 == 1]
    return TableProblem(children_of, means, root=(), opponent=opponent)


def transposition_trap(shared: int = 60) -> TableProblem:
    """Return a graph in which crediting samples to all ancestors hides the best move.

    Both moves of the root, "left" and "right", lead to the same `shared` bad states (mean 0.1); "right" also to a fair
    one (0.6), "left" through a door to a good one (0.9). Whoever averages over everything below a move and has found
    the fair state first goes on visiting the bad ones from there; every such visit is also held against "left", which
    looks well explored and bad, and is not tried again.
    """
    bad = [f"bad {place}" for place in range(shared)]
    children_of: dict[Any, Sequence] = {
        "root": ["left", "right"],
        "left": ["door", *bad],
        "door": ["good", "pit"],
        "right": ["fair", *bad],
    }
    means = {"left": 0.1, "right": 0.1, "door": 0.1, "good": 0.9, "pit": 0.0, "fair": 0.6, **dict.fromkeys(bad, 0.1)}
    return TableProblem(children_of, means, root="root")
