"""Nim as a game player would try it: how many answers are wrong moves, growing and on the whole graph.

    python benchmarks/nim.py [--seeds 20] [--piles 3 4 5] [--max-samples N]

Three piles; a move takes one or two from a pile, and who takes the last one wins. The payoff is noisy: 1 with probability
0.9 after a win and 0.1 after a loss. A game that is not over is valued by random play. A move is right if it is worth
as much as the best one.
"""

from __future__ import annotations

import argparse
from collections import Counter
from functools import cache
from time import perf_counter
from typing import NamedTuple

from bestleaf import Result, best_arm

WON, LOST = 0.9, 0.1


class Position(NamedTuple):
    """The piles, and whether the player of the search moves."""

    piles: tuple[int, ...]
    mine: bool


class Nim:
    """The game, from the view of the player who moves first."""

    def __init__(self, piles: tuple[int, ...] = (3, 4, 5), most: int = 2) -> None:
        self.piles, self.most = piles, most

    def root(self) -> Position:
        return Position(self.piles, True)

    def children(self, state: Position) -> list[Position]:
        found = []
        for place, pile in enumerate(state.piles):
            for taken in range(1, min(pile, self.most) + 1):
                rest = [*state.piles[:place], pile - taken, *state.piles[place + 1 :]]
                found.append(Position(tuple(rest), not state.mine))
        return list(dict.fromkeys(found))

    def is_terminal(self, state: Position) -> bool:
        return not any(state.piles)

    def maximizes(self, state: Position) -> bool:
        return state.mine

    def sample(self, state: Position, rng) -> float:
        while not self.is_terminal(state):
            moves = self.children(state)
            state = moves[int(rng.integers(len(moves)))]
        return float(rng.random() < self.value(state))

    @cache  # noqa: B019
    def value(self, state: Position) -> float:
        """Return the value with best play; who has to move after the last one was taken has lost."""
        if self.is_terminal(state):
            return LOST if state.mine else WON
        best = max if state.mine else min
        return best(self.value(child) for child in self.children(state))


def row(name: str, game: Nim, results: list[Result], seconds: float) -> str:
    """Return one line of the table."""
    right = game.value(game.root())
    wrong = [result for result in results if game.value(result.answer) < right]
    settled = sum(result.reason == "settled" for result in wrong)
    reasons = ", ".join(f"{many} {reason}" for reason, many in Counter(one.reason for one in results).items())
    samples, nodes = (sorted(getattr(one, key) for one in results)[len(results) // 2] for key in ("samples", "nodes"))
    many = len(results)
    return (
        f"| {name} | {len(wrong)} of {many} | {settled} | {samples:,} | {nodes:,} | {seconds / many:.2f} s | {reasons} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--piles", type=int, nargs="+", default=[3, 4, 5])
    parser.add_argument("--max-samples", type=int, default=None)
    parser.add_argument("--growing-only", action="store_true")
    given = parser.parse_args()
    game = Nim(tuple(given.piles))
    best_arm(game, epsilon=0.5, delta=0.5, seed=0, max_samples=10, expansion=0.5)  # compiles
    print("| graph | wrong moves | of these settled | samples (median) | nodes (median) | a search | reasons |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for name, expansion in (("growing, expansion 0.5", 0.5), ("whole", None))[: 1 if given.growing_only else 2]:
        begun = perf_counter()
        results = [
            best_arm(game, epsilon=0.1, delta=0.1, expansion=expansion, seed=seed, max_samples=given.max_samples)
            for seed in range(given.seeds)
        ]
        print(row(name, game, results, perf_counter() - begun), flush=True)


if __name__ == "__main__":
    main()
