"""UCT and its relatives beside searches by intervals, on games in which many paths lead to the same position.

Usage: python benchmarks/games.py [RUNS]

Compared are UCT on the tree and on the graph (UCT1, UCT2, UCT3, UCD, update-all), LUCB-MCTS on the tree, LUCB-MCDS and
the default rule on the graph. Every run lists the features of the lattice in another order. Only searches by intervals
stop by themselves: when the first move is known to within EPSILON with probability 1 - DELTA.
"""

from __future__ import annotations

import sys
from math import sqrt
from statistics import fmean, stdev

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from bestleaf import best_arm, uct_search
from bestleaf.paper.theory import values
from bestleaf.problems import PAPER_SCORES, ScoreLattice, Unrolled, random_dag, transposition_trap

BUDGETS = (300, 1_000, 3_000, 10_000)
EPSILON, DELTA = 0.05, 0.1
ENOUGH = 1_000_000  # samples after which a search is ended even if it has not settled

GAMES = {  # by the number of the run
    "lattice of 20 leaves": lambda run: ScoreLattice(np.random.default_rng(run).permutation(PAPER_SCORES).tolist(), 3),
    "two-player games": lambda run: random_dag(run, layers=6, width=6, max_children=4, two_player=True),
    "transposition trap": lambda run: transposition_trap(),
}
AVERAGES = {  # variant and backup of UCT
    "UCT on the tree": ("uct1", "descent"),
    "UCT1": ("uct1", "descent"),
    "UCT2": ("uct2", "descent"),
    "UCT3": ("uct3", "descent"),
    "UCD (1, 1, 1)": ("ucd", "descent"),
    "UCT1, update-all": ("uct1", "all"),
}
INTERVALS = {"LUCB-MCTS on the tree": "lucb_mcts", "LUCB-MCDS": "lucb", "smallest gap": "smallest_gap"}  # the rule


def played(game, method, samples, run):
    """Return how much worse than the best the recommended move is, the samples taken, and the seconds."""
    problem, on_tree = GAMES[game](run), method.endswith("on the tree")
    graph = Unrolled(problem) if on_tree else problem
    if method in AVERAGES:
        variant, backup = AVERAGES[method]
        found = uct_search(graph, variant=variant, backup=backup, recommend="mean", max_samples=samples, seed=run)
    else:
        rule = INTERVALS[method]
        found = best_arm(graph, epsilon=EPSILON, delta=DELTA, rule=rule, max_samples=samples, seed=run)
    value = values(problem)
    answer = found.answer[-1] if on_tree else found.answer
    return value[problem.root()] - value[answer], found.samples, found.seconds


def wrong(rows):
    return f"{sum(regret > EPSILON for regret, _, _ in rows) / len(rows):.0%}"


def main(runs):
    table = Table(title=f"First move: share of {runs} runs wrong by more than {EPSILON:g}", title_justify="left")
    for name in ("game", "method"):
        table.add_column(name)
    for name in (
        *(f"after\n{budget:,}" for budget in BUDGETS),
        "µs a\nsample",
        "samples until\ncertified",
        "wrong\nthen",
    ):
        table.add_column(name, justify="right")
    with Parallel(n_jobs=-1, prefer="threads") as parallel:
        for game in GAMES:
            for method in (*AVERAGES, *INTERVALS):
                limits = BUDGETS if method in AVERAGES else (*BUDGETS, ENOUGH)
                found = {
                    most: parallel(delayed(played)(game, method, most, run) for run in range(runs)) for most in limits
                }
                last, certified = found[BUDGETS[-1]], ("", "")
                if method in INTERVALS:
                    samples = [row[1] for row in found[ENOUGH]]
                    error = stdev(samples) / sqrt(runs) if runs > 1 else 0.0
                    certified = f"{fmean(samples):,.0f} ± {error:,.0f}", wrong(found[ENOUGH])
                cost = 1e6 * sum(row[2] for row in last) / sum(row[1] for row in last)
                table.add_row(game, method, *(wrong(found[most]) for most in BUDGETS), f"{cost:.1f}", *certified)
            table.add_section()
    Console(width=140).print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
