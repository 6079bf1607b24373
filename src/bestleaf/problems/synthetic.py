"""Synthetic problems with known values: those of the paper, tables, random graphs and games."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from math import exp
from typing import Any, NamedTuple

import numpy as np

from bestleaf.checks import shown
from bestleaf.memory import encoded
from bestleaf.problems.protocols import Problem, State


class Bernoulli(NamedTuple):
    """What kernels sample from: a sample of node i is 1 with probability means[i], otherwise 0."""

    means: np.ndarray


class BernoulliTable:
    """The mean of every node of one search."""

    def __init__(self, mean: Callable[[State], float]) -> None:
        self.mean = mean
        self.means = np.zeros(64)

    def add(self, node: int, state: State) -> None:
        """Note the mean of a new node."""
        if node >= len(self.means):
            self.means = np.resize(self.means, 2 * node)
        mean = self.mean(state)
        if not 0.0 <= mean <= 1.0:
            raise ValueError(f"mean({shown(state)}) must return a number in [0, 1], got {shown(mean)}")
        self.means[node] = mean

    @property
    def record(self) -> Bernoulli:
        """What the kernels sample from."""
        return Bernoulli(self.means)


class BernoulliProblem:
    """Base class of problems whose samples are 0 or 1 with a known mean; kernels draw them.

    A subclass has the methods `root`, `children`, `is_terminal` and `mean`.
    """

    def mean(self, state: Any) -> float:
        """Return the probability of a one."""
        raise NotImplementedError

    def sample(self, state: Any, rng: np.random.Generator) -> float:
        """Return 1.0 with probability ``mean(state)``, otherwise 0.0."""
        return 1.0 if rng.random() < self.mean(state) else 0.0

    def compiled_oracle(self, rng: np.random.Generator) -> BernoulliTable | None:
        """Return what kernels sample from, or None if a subclass has its own `sample`."""
        return BernoulliTable(self.mean) if type(self).sample is BernoulliProblem.sample else None


class ScoreLattice(BernoulliProblem):
    """The paper's synthetic feature selection: choose `depth` features; the mean is sigmoid(sum of their scores).

    A state is the sorted tuple of the features chosen so far.
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

    def fingerprint(self) -> dict[str, object]:
        """Return what distinguishes this lattice from others."""
        return {"scores": self.scores, "depth": self.depth}


PAPER_SCORES = (-0.3, 0.0, 0.03, 0.3, 0.4, 0.5)


def paper_lattice() -> ScoreLattice:
    """Return the lattice of the paper's table: 6 features, leaves of size 3, 20 leaves, 42 nodes."""
    return ScoreLattice(PAPER_SCORES, 3)


class Unrolled:
    """Any problem as a tree: a state is a path, the tuple of the states on the way from the root.

    The label of a path is the state at its end. So two paths to one state are known to have the same value. A problem
    with cycles has paths without end, so it is refused.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        if hasattr(problem, "maximizes"):
            self.maximizes = lambda path: problem.maximizes(path[-1])
        if hasattr(problem, "chance"):
            self.chance = lambda path: problem.chance(path[-1])
        if hasattr(problem, "exact"):
            self.exact = lambda path: problem.exact(path[-1])
        if hasattr(problem, "mean"):
            self.mean = lambda path: problem.mean(path[-1])
        if isinstance(problem, BernoulliProblem):
            self.compiled_oracle = lambda rng: problem.compiled_oracle(rng) and BernoulliTable(self.mean)

    def root(self) -> tuple:
        """Return the path that consists of the root."""
        return (self.problem.root(),)

    def children(self, path: tuple) -> list[tuple]:
        """Return the paths one move longer."""
        children = list(self.problem.children(path[-1]))
        if not set(children).isdisjoint(path):
            raise ValueError(f"Unrolled needs a problem without cycles, but {shown(path[-1])} leads back to itself")
        return [(*path, child) for child in children]

    def is_terminal(self, path: tuple) -> bool:
        """Return whether the state at the end is terminal."""
        return self.problem.is_terminal(path[-1])

    def sample(self, path: tuple, rng: np.random.Generator) -> float:
        """Return one sample of the state at the end."""
        return self.problem.sample(path[-1], rng)

    def label(self, path: tuple) -> State:
        """Return the label of the state at the end, which is the state itself unless the problem has labels."""
        return self.problem.label(path[-1]) if hasattr(self.problem, "label") else path[-1]

    def fingerprint(self) -> dict[str, object]:
        """Return what distinguishes the unrolled problem from others."""
        own = getattr(self.problem, "fingerprint", lambda: repr(list(self.problem.children(self.problem.root()))))
        return {"unrolled": type(self.problem).__name__, "of": own()}


class TableProblem(BernoulliProblem):
    """A graph given as tables: `children_of[state]` lists the children, `means[state]` is the mean of a state.

    States without an entry in `children_of` are terminal. `opponent` lists the states where the opponent moves,
    `exact_states` the terminal states whose value is known exactly. In the states of `chance` nobody moves:
    `chance[state]` lists the probabilities of the children. `endless` is what play that never ends is worth: a number,
    or a lower and an upper one; see `Endless`.
    """

    def __init__(
        self,
        children_of: Mapping[Any, Sequence[State]],
        means: Mapping[Any, float],
        *,
        root: State = 0,
        opponent: Iterable[State] = (),
        exact_states: Iterable[State] = (),
        chance: Mapping[Any, Sequence[float]] | None = None,
        endless: float | tuple[float, float] | None = None,
    ) -> None:
        self.children_of = children_of
        self.means = means
        self._root = root
        self._opponent = frozenset(opponent)
        self._exact = frozenset(exact_states)
        self._end = endless
        if endless is not None:
            self.endless = lambda state: endless
        self._chance = dict(chance or {})
        if self._chance:
            self.chance = self._chance.get
        if self._opponent or endless is not None:
            self.maximizes = lambda state: state not in self._opponent
        if self._exact:
            self.exact = lambda state: self.means[state] if state in self._exact else None

    def root(self) -> State:
        """Return the root."""
        return self._root

    def children(self, state: State) -> Sequence[State]:
        """Return the children in the table."""
        return self.children_of[state]

    def is_terminal(self, state: State) -> bool:
        """Return whether the table lists no children of the state."""
        return state not in self.children_of

    def mean(self, state: State) -> float:
        """Return the mean in the table (0.5 for a state without one)."""
        return self.means.get(state, 0.5)

    def fingerprint(self) -> str:
        """Return what distinguishes this graph from others: the SHA-256 of the tables."""
        children = tuple((state, tuple(below)) for state, below in self.children_of.items())
        content: tuple = (self._root, children, tuple(self.means.items()), self._opponent, self._exact)
        if self._chance:
            content += (tuple((state, tuple(chances)) for state, chances in self._chance.items()),)
        if self._end is not None:
            content += (self._end,)
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
    chance_share: float = 0.0,
) -> TableProblem:
    """Return a random layered graph with shared nodes and known values.

    Parameters
    ----------
    layers, width, max_children
        Layers below the root, nodes per layer, most children per node. Nodes of the last layer are terminal.
    two_player
        Let the opponent move on every second layer.
    exact_share
        Share of the terminal states whose value is exact.
    grid
        Round the means to multiples of this number, so that there are ties.
    chance_share
        Share of the states between the root and the terminal states where chance decides.
    """
    rng = np.random.default_rng(seed)
    children_of: dict[State, Sequence[State]] = {}
    current, opponent = [(0, 0)], []
    for layer in range(1, layers + 1):
        used: dict[tuple[int, int], None] = {}
        for node in current:
            picks = rng.choice(width, size=rng.integers(1, min(max_children, width) + 1), replace=False)
            below = [(layer, int(place)) for place in picks]
            children_of[node] = below
            used.update(dict.fromkeys(below))
            if two_player and layer % 2 == 0:
                opponent.append(node)
        current = list(used)
    values = {state: rng.random() for state in (*children_of, *current)}
    means = {state: min(1.0, float(round(value / grid) * grid if grid else value)) for state, value in values.items()}
    exact = [state for state in current if rng.random() < exact_share]
    chance = {
        state: rng.dirichlet(np.ones(len(below))).tolist()
        for state, below in children_of.items()
        if chance_share and state != (0, 0) and rng.random() < chance_share
    }
    opponent = [state for state in opponent if state not in chance]
    return TableProblem(children_of, means, root=(0, 0), opponent=opponent, exact_states=exact, chance=chance)


def random_game_tree(seed: int | np.random.Generator, *, depth: int = 3, branching: int = 3) -> TableProblem:
    """Return a two-player tree with uniform random leaf values; states are tuples of moves."""
    rng = np.random.default_rng(seed)
    children_of: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    layer: list[tuple[int, ...]] = [()]
    for _ in range(depth):
        children_of.update({state: [(*state, move) for move in range(branching)] for state in layer})
        layer = [child for state in layer for child in children_of[state]]
    means = {state: float(rng.random()) for state in [*children_of, *layer]}
    opponent = [state for state in children_of if len(state) % 2 == 1]
    return TableProblem(dict(children_of), means, root=(), opponent=opponent)


def transposition_trap(shared: int = 60) -> TableProblem:
    """Return a graph in which crediting samples to all ancestors hides the best move.

    Both moves of the root lead to the same `shared` bad states (mean 0.1). "right" also leads to a fair state (0.6),
    "left" through a door to a good one (0.9). Take a search that averages over everything below a move and finds the
    fair state first. It goes on below "right" and samples the bad states there. Each of these samples also counts
    against "left". So "left" looks well explored and bad, and is not tried again.
    """
    bad = [f"bad {place}" for place in range(shared)]
    children_of: dict[State, Sequence[State]] = {
        "root": ["left", "right"],
        "left": ["door", *bad],
        "door": ["good", "pit"],
        "right": ["fair", *bad],
    }
    means = {"left": 0.1, "right": 0.1, "door": 0.1, "good": 0.9, "pit": 0.0, "fair": 0.6, **dict.fromkeys(bad, 0.1)}
    return TableProblem(children_of, means, root="root")
