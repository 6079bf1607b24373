"""Problems with chance whose values are known: a walk on slippery ground, and a game of dice."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from bestleaf.checks import number, whole
from bestleaf.problems.protocols import State
from bestleaf.problems.synthetic import BernoulliProblem


class ChanceProblem(BernoulliProblem):
    """Base class of small problems of one player with chance; values are found by dynamic programming.

    A subclass has the methods `root`, `children`, `is_terminal`, `chance` and `payoff`. A sample of a terminal state is
    1 with the probability `payoff`. That of another state is 1 with the mean payoff of random moves. With `exact` the
    payoffs are known without samples.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self._values: dict[Hashable, float] = {}
        self._means: dict[Hashable, float] = {}
        if exact:
            self.exact = self.payoff

    def children(self, state: Any) -> Sequence[Any]:
        """Return the states one move, or one event of chance, below a state."""
        raise NotImplementedError

    def is_terminal(self, state: Any) -> bool:
        """Return whether all is over."""
        raise NotImplementedError

    def chance(self, state: Any) -> Sequence[float] | None:
        """Return the probabilities of the children; None where the player moves."""
        raise NotImplementedError

    def payoff(self, state: Any) -> float:
        """Return what a terminal state is worth."""
        raise NotImplementedError

    def value(self, state: State) -> float:
        """Return the value of a state under the best plan."""
        return self._found(state, self._values, plan=True)

    def mean(self, state: State) -> float:
        """Return the mean payoff from a state on if every move is made at random."""
        return self._found(state, self._means, plan=False)

    def _found(self, state: State, known: dict[Hashable, float], *, plan: bool) -> float:
        """Return the value of a state, and remember those of all states below it."""
        waiting = [state]
        while waiting:
            here = waiting[-1]
            children = [] if here in known or self.is_terminal(here) else list(self.children(here))
            if missing := [child for child in children if child not in known]:
                waiting += missing
                continue
            waiting.pop()
            if here not in known:
                known[here] = self._backed_up(here, [known[child] for child in children], plan=plan)
        return known[state]

    def _backed_up(self, state: State, below: list[float], *, plan: bool) -> float:
        """Return the value of a state from those of its children."""
        if not below:
            return self.payoff(state)
        chances = self.chance(state)
        if chances is None:
            return max(below) if plan else sum(below) / len(below)
        return sum(p * value for p, value in zip(chances, below, strict=True))


class SlipperyGrid(ChanceProblem):
    """A stochastic shortest path: get from one corner of a grid to the opposite one, soon.

    Every step goes where it should with probability 1 - `slip`, otherwise to one of the two sides. Who walks against
    the border stays where he is. A walk that arrives after t steps is worth 1 - t / `horizon`; one that does not arrive
    is worth 0. So the mean time of the best plan is `horizon` times (1 - value).

    A state is (row, column, steps so far), and after a move was chosen (row, column, steps so far, move).
    """

    MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))  # right, down, left, up

    def __init__(self, size: int = 3, *, horizon: int = 6, slip: float = 0.2, exact: bool = False) -> None:
        super().__init__(exact=exact)
        self.size, self.horizon = whole("size", size, 2), whole("horizon", horizon, 1)
        self.slip = number("slip", slip, "between 0 and 1", 0, 1)
        self.goal = (size - 1, size - 1)

    def root(self) -> tuple[int, ...]:
        """Return the corner to start at."""
        return (0, 0, 0)

    def is_terminal(self, state: tuple[int, ...]) -> bool:
        """Return whether the goal is reached or time is over."""
        return len(state) == 3 and (state[:2] == self.goal or state[2] == self.horizon)

    def children(self, state: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the four moves, or the three places where a move may end."""
        if len(state) == 3:
            return [(*state, move) for move in range(4)]
        row, column, steps, move = state
        ends = [self.MOVES[(move + turn) % 4] for turn in (0, 1, 3)]
        return [(*self._within(row + down, column + right), steps + 1) for down, right in ends]

    def _within(self, row: int, column: int) -> tuple[int, int]:
        """Return the nearest place on the grid."""
        return min(max(row, 0), self.size - 1), min(max(column, 0), self.size - 1)

    def chance(self, state: tuple[int, ...]) -> list[float] | None:
        """Return how likely the place that was aimed at and those to its sides are."""
        return [1.0 - self.slip, self.slip / 2, self.slip / 2] if len(state) == 4 else None

    def payoff(self, state: tuple[int, ...]) -> float:
        """Return how much time is left at the goal, as a share of all."""
        return 1.0 - state[2] / self.horizon if state[:2] == self.goal else 0.0

    def fingerprint(self) -> dict[str, Any]:
        """Return what distinguishes this grid from others."""
        return {"size": self.size, "horizon": self.horizon, "slip": self.slip, "exact": hasattr(self, "exact")}


class Pig(ChanceProblem):
    """The dice game Pig for one player: in each turn roll as often as you like; a one loses the points of the turn.

    The game is won when the points, with those of the turn, reach the `target`. If they do not, it is won after the
    last turn with probability points / `target`.

    A state is (turns left, points, points of this turn, whether the die rolls now).
    """

    def __init__(self, *, turns: int = 2, target: int = 20, faces: int = 6, exact: bool = False) -> None:
        super().__init__(exact=exact)
        self.turns, self.target, self.faces = (
            whole("turns", turns, 1),
            whole("target", target, 1),
            whole("faces", faces, 2),
        )

    def root(self) -> tuple[int, int, int, bool]:
        """Return the first turn, without points."""
        return (self.turns, 0, 0, False)

    def is_terminal(self, state: tuple[int, int, int, bool]) -> bool:
        """Return whether no turn is left or the points reach the target."""
        return state[0] == 0 or state[1] + state[2] >= self.target

    def children(self, state: tuple[int, int, int, bool]) -> list[tuple[int, int, int, bool]]:
        """Return the two moves, roll and stop, or what a roll leads to: first a one, then the other faces."""
        turns, points, here, rolls = state
        if not rolls:
            return [(turns, points, here, True), (turns - 1, points + here, 0, False)]
        most = self.target - points
        return [(turns - 1, points, 0, False)] + [
            (turns, points, min(here + face, most), False) for face in range(2, self.faces + 1)
        ]

    def chance(self, state: tuple[int, int, int, bool]) -> list[float] | None:
        """Return the probabilities of the faces; None where the player chooses."""
        return [1.0 / self.faces] * self.faces if state[3] else None

    def payoff(self, state: tuple[int, int, int, bool]) -> float:
        """Return the probability to win with the points at the end."""
        return min(1.0, (state[1] + state[2]) / self.target)

    def fingerprint(self) -> dict[str, Any]:
        """Return what distinguishes this game from others."""
        return {"turns": self.turns, "target": self.target, "faces": self.faces, "exact": hasattr(self, "exact")}
