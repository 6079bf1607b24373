"""Synthetic problems whose moves lead in circles: random graphs, a grid to walk in, a game, a sliding puzzle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bestleaf.problems.protocols import State
from bestleaf.problems.synthetic import BernoulliProblem, TableProblem


def random_cyclic_graph(
    seed: int | np.random.Generator,
    *,
    inner: int = 8,
    leaves: int = 5,
    max_children: int = 3,
    two_player: bool = False,
    exact_share: float = 0.0,
    grid: float | None = None,
    endless: float | tuple[float, float] | None = None,
) -> TableProblem:
    """Return a random graph in which any state may be a child of any other, or of itself.

    Parameters
    ----------
    inner, leaves, max_children
        States with children, terminal states, most children of a state. States that the root, 0, does not reach stay
        out. From some states no terminal state may be reached; from the root one is.
    two_player
        Let the opponent move in about half of the states.
    exact_share
        Share of the terminal states whose value is exact.
    grid
        Round the means to multiples of this number, so that there are ties.
    endless
        What play that never ends is worth, with an opponent.
    """
    rng = np.random.default_rng(seed)
    size = inner + leaves
    table: dict[Any, list[int]] = {
        state: rng.choice(size, size=int(rng.integers(1, max_children + 1)), replace=False).tolist()
        for state in range(inner)
    }
    way = rng.permutation(np.arange(1, inner))[: int(rng.integers(0, inner))].tolist()  # from the root to a leaf
    for state, child in zip([0, *way], [*way, int(rng.integers(inner, size))], strict=True):
        table[state] = [*(one for one in table[state] if one != child), child][-max_children:]
    opponent = [state for state in range(inner) if two_player and rng.random() < 0.5]
    draws = rng.random(size)
    means = {state: min(1.0, float(round(draw / grid) * grid if grid else draw)) for state, draw in enumerate(draws)}
    exact = [state for state in range(inner, size) if rng.random() < exact_share]
    return TableProblem(
        dict(table), means, opponent=opponent, exact_states=exact, endless=endless if two_player else None
    )


def navigation_grid(rows: Sequence[str], rewards: Mapping[str, float]) -> TableProblem:
    """Return a grid to walk in, one step up, down, left or right; the states are (row, column).

    Parameters
    ----------
    rows
        The grid as a map: "S" is the start, "#" a wall, and a letter in `rewards` ends the walk.
    rewards
        The probability of a reward for each such letter.
    """
    cells = {(row, column): mark for row, line in enumerate(rows) for column, mark in enumerate(line) if mark != "#"}
    start = next((cell for cell, mark in cells.items() if mark == "S"), None)
    if start is None:
        raise ValueError("rows must have a start 'S', got a map without one")
    steps = ((-1, 0), (1, 0), (0, -1), (0, 1))
    table: dict[Any, Sequence[State]] = {
        (row, column): [(row + down, column + right) for down, right in steps if (row + down, column + right) in cells]
        for (row, column), mark in cells.items()
        if mark not in rewards
    }
    return TableProblem(
        table,
        {cell: rewards.get(mark, sum(rewards.values()) / len(rewards)) for cell, mark in cells.items()},
        root=start,
    )


def cat_and_mouse(
    doors: Mapping[str, Sequence[str]],
    holes: Mapping[str, float],
    *,
    mouse: str,
    cat: str,
    endless: float | tuple[float, float] | None = 0.5,
) -> TableProblem:
    """Return a game of two players that may go on for ever: a mouse looks for a hole, a cat for the mouse.

    They move in turn, the mouse first; whoever moves goes through a door. A state is (room of the mouse, room of the
    cat, who moves). Play ends in a hole, with a reward of its probability, or with the mouse caught, which is worth 0.

    Parameters
    ----------
    doors
        For each room the rooms next to it.
    holes
        The probability of a reward for each room that the mouse gets away from. The cat cannot enter it.
    mouse, cat
        The rooms where they start.
    endless
        What play that never ends is worth.
    """
    table: dict[Any, Sequence[State]] = {}
    values: dict[Any, float] = {}
    found = [(mouse, cat, "mouse")]
    for state in found:  # grows in this loop
        mouse, cat, moves = state
        values[state] = 0.0 if mouse == cat else holes.get(mouse, 0.5)
        if mouse == cat or mouse in holes:
            continue
        if moves == "mouse":
            below = [(room, cat, "cat") for room in doors[mouse]]
        else:
            below = [(mouse, room, "mouse") for room in doors[cat] if room not in holes] or [(mouse, cat, "mouse")]
        table[state] = below
        found += [one for one in below if one not in values and one not in found]
    ends = [state for state in found if state not in table]
    cats = [state for state in table if state[2] == "cat"]
    return TableProblem(table, values, root=found[0], opponent=cats, exact_states=ends, endless=endless)


class SlidingPuzzle(BernoulliProblem):
    """A sliding puzzle: a move swaps the gap (0) with a tile next to it, and the next move may undo it.

    A state is the tuple of tiles, row by row. Play ends at the `goals`; the mean of a goal is the probability of a
    reward. While the graph grows, the mean of another state is the share of tiles that stand as in the best goal.
    """

    def __init__(self, start: Sequence[int], columns: int, goals: Mapping[tuple[int, ...], float]) -> None:
        self.start, self.columns, self.goals = tuple(start), columns, dict(goals)
        if sorted(self.start) != list(range(len(self.start))) or len(self.start) % columns:
            raise ValueError(f"start must list the tiles 0 to n - 1 in full rows of {columns}, got {self.start}")
        self._best = max(self.goals, key=self.goals.__getitem__)

    def root(self) -> tuple[int, ...]:
        """Return the first position."""
        return self.start

    def children(self, state: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the positions one move away."""
        gap = state.index(0)
        column = gap % self.columns
        beside = [gap - self.columns, gap + self.columns] + [gap - 1] * (column > 0)
        beside += [gap + 1] * (column < self.columns - 1)
        found = []
        for place in (one for one in beside if 0 <= one < len(state)):
            tiles = list(state)
            tiles[gap], tiles[place] = tiles[place], 0
            found.append(tuple(tiles))
        return found

    def is_terminal(self, state: tuple[int, ...]) -> bool:
        """Return whether the position is a goal."""
        return state in self.goals

    def mean(self, state: tuple[int, ...]) -> float:
        """Return the probability of a reward."""
        right = sum(one == other for one, other in zip(state, self._best, strict=True))
        return self.goals.get(state, right / len(state))
