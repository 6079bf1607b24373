"""Toy problems with known values: graphs whose moves lead in circles, a sliding puzzle, games with chance, and Nim."""

from __future__ import annotations

import numpy as np

from bestleaf.problems import BernoulliProblem, TableProblem


def worth(problem, state):
    """Return the value of a state of a `TableProblem`: of play that is cut off after as many moves as there are states.

    Then it is worth what `endless` says, one number. Whoever can reach something better has reached it by then.
    """
    below, end = [state], problem.endless(state) if hasattr(problem, "endless") else 0.0
    for one in below:  # grows in this loop
        below += dict.fromkeys(problem.children_of.get(one, ())).keys() - set(below)
    now = {one: end if one in problem.children_of else problem.mean(one) for one in below}
    for _ in below:
        before = now
        now = before | {one: backed_up(problem, one, before) for one in below if one in problem.children_of}
        if now == before:
            break
    return now[state]


def backed_up(problem, state, known):
    """Return the value of a state from the known ones of its children."""
    values = [known[child] for child in problem.children(state)]
    if hasattr(problem, "chance") and (chances := problem.chance(state)) is not None:
        return sum(p * value for p, value in zip(chances, values, strict=True))
    return max(values) if not hasattr(problem, "maximizes") or problem.maximizes(state) else min(values)


def random_cyclic_graph(
    seed, *, inner=8, leaves=5, max_children=3, two_player=False, exact_share=0.0, grid=None, endless=None
):
    """Return a random graph in which any state may be a child of any other, or of itself.

    From some states no terminal state may be reached; from the root, 0, one is. With `grid` there are ties.
    """
    rng = np.random.default_rng(seed)
    size = inner + leaves
    table = {
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
    return TableProblem(table, means, opponent=opponent, exact_states=exact, endless=endless if two_player else None)


def navigation_grid(rows, rewards):
    """Return a grid to walk in by single steps: "S" is the start, "#" a wall, a letter in `rewards` ends the walk."""
    cells = {(row, column): mark for row, line in enumerate(rows) for column, mark in enumerate(line) if mark != "#"}
    steps = ((-1, 0), (1, 0), (0, -1), (0, 1))
    table = {
        (row, column): [(row + down, column + right) for down, right in steps if (row + down, column + right) in cells]
        for (row, column), mark in cells.items()
        if mark not in rewards
    }
    means = {cell: rewards.get(mark, sum(rewards.values()) / len(rewards)) for cell, mark in cells.items()}
    return TableProblem(table, means, root=next(cell for cell, mark in cells.items() if mark == "S"))


def cat_and_mouse(doors, holes, *, mouse, cat, endless=0.5):
    """Return a game that may go on for ever: a mouse looks for a hole, a cat for the mouse; the mouse moves first.

    A state is (room of the mouse, room of the cat, who moves). A hole has the probability of a reward, and the cat
    cannot enter it; a mouse that is caught is worth 0.
    """
    table, values, found = {}, {}, [(mouse, cat, "mouse")]
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
    ends, cats = [state for state in found if state not in table], [state for state in table if state[2] == "cat"]
    return TableProblem(table, values, root=found[0], opponent=cats, exact_states=ends, endless=endless)


class SlidingPuzzle(BernoulliProblem):
    """A sliding puzzle: a move swaps the gap (0) with a tile next to it, and the next move may undo it.

    Play ends at the `goals`, which have the probabilities of a reward. While the graph grows, the mean of another state
    is the share of tiles that stand as in the best goal.
    """

    def __init__(self, start, columns, goals):
        self.start, self.columns, self.goals = tuple(start), columns, dict(goals)
        self.best = max(self.goals, key=self.goals.__getitem__)

    def root(self):
        return self.start

    def children(self, state):
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

    def is_terminal(self, state):
        return state in self.goals

    def mean(self, state):
        right = sum(one == other for one, other in zip(state, self.best, strict=True))
        return self.goals.get(state, right / len(state))


def average(values):
    """Return the mean of some numbers."""
    return sum(values) / len(values)


class ChanceProblem(BernoulliProblem):
    """Base class of small problems of one player with chance; values are found by dynamic programming.

    A sample of a terminal state is 1 with the probability `payoff`, that of another state with the mean payoff of
    random moves. With `exact` the payoffs are known without samples.
    """

    def __init__(self, *, exact=False):
        self.known = {}
        if exact:
            self.exact = self.payoff

    def value(self, state):
        """Return the value of a state under the best plan."""
        return self.backed_up(state, max)

    def mean(self, state):
        """Return the mean payoff from a state on if every move is made at random."""
        return self.backed_up(state, average)

    def backed_up(self, state, moves):
        """Return the value of a state if `moves` is what the player makes of the values of the children."""
        if (state, moves) not in self.known:
            below = [] if self.is_terminal(state) else [self.backed_up(child, moves) for child in self.children(state)]
            chances = self.chance(state) if below else None
            if chances is not None:
                found = sum(p * value for p, value in zip(chances, below, strict=True))
            else:
                found = moves(below) if below else self.payoff(state)
            self.known[state, moves] = found
        return self.known[state, moves]


class SlipperyGrid(ChanceProblem):
    """A stochastic shortest path: get from one corner of a grid to the opposite one, soon.

    Every step goes where it should with probability 1 - `slip`, otherwise to one of the two sides. A walk that arrives
    after t steps is worth 1 - t / `horizon`; one that does not arrive is worth 0. A state is (row, column, steps so
    far), and after a move was chosen (row, column, steps so far, move).
    """

    MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))  # right, down, left, up

    def __init__(self, size=3, *, horizon=6, slip=0.2, exact=False):
        super().__init__(exact=exact)
        self.size, self.horizon, self.slip, self.goal = size, horizon, slip, (size - 1, size - 1)

    def root(self):
        return (0, 0, 0)

    def is_terminal(self, state):
        return len(state) == 3 and (state[:2] == self.goal or state[2] == self.horizon)

    def children(self, state):
        if len(state) == 3:
            return [(*state, move) for move in range(4)]
        row, column, steps, move = state
        ends = [self.MOVES[(move + turn) % 4] for turn in (0, 1, 3)]
        last = self.size - 1  # who walks against the border stays there
        return [(min(max(row + down, 0), last), min(max(column + right, 0), last), steps + 1) for down, right in ends]

    def chance(self, state):
        return [1.0 - self.slip, self.slip / 2, self.slip / 2] if len(state) == 4 else None

    def payoff(self, state):
        return 1.0 - state[2] / self.horizon if state[:2] == self.goal else 0.0


class Pig(ChanceProblem):
    """The dice game Pig for one player: in each turn roll as often as you like; a one loses the points of the turn.

    The game is won at the `target`, and after the last turn with probability points / `target`. A state is (turns left,
    points, points of this turn, whether the die rolls now).
    """

    def __init__(self, *, turns=2, target=20, faces=6, exact=False):
        super().__init__(exact=exact)
        self.turns, self.target, self.faces = turns, target, faces

    def root(self):
        return (self.turns, 0, 0, False)

    def is_terminal(self, state):
        return state[0] == 0 or state[1] + state[2] >= self.target

    def children(self, state):
        turns, points, here, rolls = state
        if not rolls:
            return [(turns, points, here, True), (turns - 1, points + here, 0, False)]
        most, faces = self.target - points, range(2, self.faces + 1)
        return [(turns - 1, points, 0, False), *((turns, points, min(here + face, most), False) for face in faces)]

    def chance(self, state):
        return [1.0 / self.faces] * self.faces if state[3] else None

    def payoff(self, state):
        return min(1.0, (state[1] + state[2]) / self.target)

    def fingerprint(self):
        return {"turns": self.turns, "target": self.target, "faces": self.faces, "exact": hasattr(self, "exact")}


class Dice:
    """A die with two faces whose probabilities a test sets."""

    def __init__(self, chances):
        self.chances = chances

    def root(self):
        return "root"

    def children(self, state):
        return {"root": ["roll", "stay"], "roll": ["one", "two"]}[state]

    def is_terminal(self, state):
        return state not in ("root", "roll")

    def chance(self, state):
        return self.chances if state == "roll" else None

    def sample(self, state, rng):
        return float(rng.random() < {"one": 0.2, "two": 0.9}.get(state, 0.5))


class Nim:
    """Piles of stones: a move takes up to `most` from one of them, and who takes the last stone has won.

    A state is (piles, whether the player of the search moves). With `ordered` piles of the same sizes are the same
    state, whatever their order. The payoff is noisy: 1 with probability 0.9 after a win and 0.1 after a loss. A game
    that is not over is valued by random play.
    """

    WON, LOST = 0.9, 0.1

    def __init__(self, piles=(3, 4, 5), most=2, *, ordered=False):
        self.piles, self.most, self.ordered = piles, most, ordered
        self.known = {}

    def root(self):
        return self.piles, True

    def children(self, state):
        piles, mine = state
        found = []
        for place, pile in enumerate(piles):
            for taken in range(1, min(pile, self.most) + 1):
                rest = (*piles[:place], pile - taken, *piles[place + 1 :])
                found.append((tuple(sorted(rest)) if self.ordered else rest, not mine))
        return list(dict.fromkeys(found))

    def is_terminal(self, state):
        return not any(state[0])

    def maximizes(self, state):
        return state[1]

    def sample(self, state, rng):
        while not self.is_terminal(state):
            moves = self.children(state)
            state = moves[int(rng.integers(len(moves)))]
        return float(rng.random() < self.value(state))

    def value(self, state):
        """Return the value with best play; who has to move when nothing is left has lost."""
        if self.is_terminal(state):
            return self.LOST if state[1] else self.WON
        if state not in self.known:
            values = [self.value(child) for child in self.children(state)]
            self.known[state] = max(values) if self.maximizes(state) else min(values)
        return self.known[state]
