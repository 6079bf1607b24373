"""Nim as a game player would try it: how many answers are wrong moves, on growing and on whole graphs.

Usage: PYTHONPATH=tests python benchmarks/nim.py [SEEDS] [--piles 3 4 5] [--max-samples N] [--growing]

A move takes one or two stones from a pile, and the payoff is noisy; see `Nim` in tests/toys.py. The answer is wrong if
another move is worth more. First all orders of the piles are states of their own, then equal piles are one state.
"""

from __future__ import annotations

import argparse
from collections import Counter
from statistics import median
from time import perf_counter

from rich.console import Console
from rich.table import Table

from bestleaf import best_arm
from toys import Nim

SETTINGS = {"epsilon": 0.1, "delta": 0.1}
COLUMNS = ("graph", "wrong", "of these settled", "samples", "nodes", "a search", "ends")


def row(name, game, seeds, **settings):
    """Return what searches with different seeds found."""
    begun = perf_counter()
    results = [best_arm(game, seed=seed, **SETTINGS, **settings) for seed in range(seeds)]
    seconds = (perf_counter() - begun) / len(results)
    wrong = [one for one in results if game.value(one.answer) < game.value(game.root())]
    ends = Counter(one.reason for one in results)
    return (
        name,
        f"{len(wrong)} of {len(results)}",
        str(sum(one.reason == "settled" for one in wrong)),
        f"{median(one.samples for one in results):,.0f}",
        f"{median(one.nodes for one in results):,.0f}",
        f"{seconds:.3f} s",
        ", ".join(f"{reason} {many}" for reason, many in ends.items()),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seeds", type=int, nargs="?", default=20)
    parser.add_argument("--piles", type=int, nargs="+", default=[3, 4, 5])
    parser.add_argument("--max-samples", type=int, default=None)
    parser.add_argument("--growing", action="store_true", help="no whole graphs")
    given = parser.parse_args()
    table = Table(title=f"Nim {tuple(given.piles)}, epsilon = delta = 0.1; medians", title_justify="left")
    for place, name in enumerate(COLUMNS):
        table.add_column(name, justify="right" if 0 < place < len(COLUMNS) - 1 else "left")
    for ordered in (False, True):
        game = Nim(tuple(given.piles), ordered=ordered)
        for expansion in (0.5,) if given.growing else (0.5, None):
            kind = "whole" if expansion is None else f"growing, expansion {expansion}"
            settings = {"expansion": expansion, "max_samples": given.max_samples}
            best_arm(game, seed=0, **SETTINGS, **{**settings, "max_samples": 10})  # compiles the kernels
            table.add_row(*row(f"{kind}{', equal piles are one' * ordered}", game, given.seeds, **settings))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
