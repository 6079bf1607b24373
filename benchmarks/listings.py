"""Whether the order of listing decides how many samples are needed, or how often a budget ends in a wrong answer.

The paper's lattice, best arm, with its features listed as in the paper, reversed and in random orders; the rules side
by side in one run.

Usage: python benchmarks/listings.py [RUNS]
"""

from __future__ import annotations

import sys

import numpy as np
from rich.console import Console
from rich.table import Table

from bestleaf import best_arm
from bestleaf.problems import PAPER_SCORES, ScoreLattice

console = Console(width=140)
LISTINGS, BEST = 20, 0.3  # random listings; scores of the features of the best subset, at least


def listings():
    rng = np.random.default_rng(2019)
    return [range(6), range(5, -1, -1), *(rng.permutation(6) for _ in range(LISTINGS))]


def lattice(order):
    return ScoreLattice([PAPER_SCORES[place] for place in order], 3)


def samples(order, runs, **keywords):
    found = [best_arm(lattice(order), epsilon=0, delta=0.1, seed=seed, **keywords).samples for seed in range(runs)]
    return float(np.mean(found)), float(np.std(found) / runs**0.5)


def wrong(order, runs, budget, **keywords):
    problem = lattice(order)
    found = [best_arm(problem, epsilon=0, delta=0.1, max_samples=budget, seed=seed, **keywords) for seed in range(runs)]
    return sum(problem.scores[one.answer[0]] < BEST for one in found) / runs


def main(runs):
    table = Table(title=f"Samples until known, ε = 0, δ = 0.1, {runs} runs a listing", title_justify="left")
    for name in (
        "bound",
        "rule",
        "paper's listing",
        "reversed",
        "20 random: mean",
        "best",
        "mean / best",
        "wrong at 300",
    ):
        table.add_column(name, justify="left" if name in ("bound", "rule") else "right")
    for bound in ("hoeffding", "betting"):
        for rule in ("smallest_gap", "lucb", "ugape", "lucb_mcts"):
            found = [samples(order, runs, bound=bound, rule=rule) for order in listings()]
            means = [mean for mean, _ in found[2:]]
            errors = [wrong(order, runs, 300, bound=bound, rule=rule) for order in listings()]
            table.add_row(
                bound,
                rule,
                *(f"{mean:,.0f} ± {error:,.0f}" for mean, error in found[:2]),
                f"{np.mean(means):,.0f} ± {np.std(means) / len(means) ** 0.5:,.0f}",
                f"{min(means):,.0f}",
                f"{np.mean(means) / min(means):.2f}",
                f"{np.mean(errors):.0%} ({min(errors):.0%} to {max(errors):.0%})",
            )
    console.print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
