"""Samples until the answer is known: rules and stopping tests that tell leaves apart in pairs, beside `lucb`.

Flat arms whose samples are 0 or 1, and the paper's lattice with its features listed in random orders; all in one run.
A ratio is the samples of `lucb` divided by those of the row. An answer is wrong if another one is better by more than
epsilon.

Usage: python benchmarks/top_two.py [RUNS]
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from bestleaf import best_arm, best_leaf
from bestleaf.problems import PAPER_SCORES, ScoreLattice, TableProblem

console = Console(width=150)
DELTA = 0.1
LISTINGS = 10  # random orders of the features of the lattice
WAYS = (  # rule, stopping
    ("lucb", "sound"),
    ("smallest_gap", "sound"),
    ("eb_tc", "sound"),
    ("lucb_plus_plus", "lucb_plus_plus"),
    ("eb_tc", "kl"),
    ("eb_tc", "pairwise"),
    ("track_and_stop", "pairwise"),
)


def arms(*means):
    names = range(1, len(means) + 1)
    return TableProblem({0: list(names)}, dict(zip(names, means, strict=True)))


def lattices():
    rng = np.random.default_rng(2019)
    return [ScoreLattice([PAPER_SCORES[place] for place in rng.permutation(6)], 3) for _ in range(LISTINGS)]


def cases():
    """Return problems, the search and epsilon of each case, by name."""
    return {
        "5 arms, 0.5 to 0.3, ε = 0.1": ([arms(0.5, 0.45, 0.4, 0.35, 0.3)], best_arm, 0.1),
        "5 arms, 0.8 to 0.2, ε = 0.05": ([arms(0.8, 0.6, 0.5, 0.4, 0.2)], best_arm, 0.05),
        "10 arms, 0.6 and 0.4, ε = 0.05": ([arms(0.6, *[0.4] * 9)], best_arm, 0.05),
        "lattice, arm, ε = 0.05": (lattices(), best_arm, 0.05),
        "lattice, arm, ε = 0": (lattices(), best_arm, 0.0),
        "lattice, leaf, ε = 0.05": (lattices(), best_leaf, 0.05),
    }


def value(problem, state):
    """Return the mean of the best leaf below a state."""
    if problem.is_terminal(state):
        return problem.mean(state)
    return max(value(problem, child) for child in problem.children(state))


def regret(problem, result):
    """Return how much worse the answer is than the best one."""
    return value(problem, problem.root()) - value(problem, result.answer)


def measured(problems, search, epsilon, rule, stopping, runs):
    """Return the samples of all runs, how many answers were wrong, and microseconds a sample."""
    samples, wrong, begun = [], 0, perf_counter()
    for seed in range(runs):
        problem = problems[seed % len(problems)]
        found = search(problem, epsilon=epsilon, delta=DELTA, rule=rule, stopping=stopping, seed=seed)
        samples.append(found.samples)
        wrong += regret(problem, found) > epsilon
    return np.array(samples), wrong, 1e6 * (perf_counter() - begun) / sum(samples)


def main(runs):
    for rule, stopping in WAYS:  # compiles
        best_arm(arms(0.9, 0.1), epsilon=0.1, delta=DELTA, rule=rule, stopping=stopping, seed=0)
    for name, (problems, search, epsilon) in cases().items():
        table = Table(title=f"{name}, δ = {DELTA:g}, {runs} runs", title_justify="left")
        for column in ("rule", "stopping", "samples", "95 % of runs at most", "ratio to lucb", "wrong", "µs a sample"):
            table.add_column(column, justify="left" if column in ("rule", "stopping") else "right")
        first = None
        for rule, stopping in WAYS:
            samples, wrong, pace = measured(problems, search, epsilon, rule, stopping, runs)
            first = samples.mean() if first is None else first
            table.add_row(
                rule,
                stopping,
                f"{samples.mean():,.0f} ± {samples.std() / runs**0.5:,.0f}",
                f"{np.quantile(samples, 0.95):,.0f}",
                f"{first / samples.mean():.2f}",
                str(wrong),
                f"{pace:.0f}",
            )
        console.print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
