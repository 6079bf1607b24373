"""Samples to certify an answer, by interval family, on linear, Madelon-like and synthetic problems."""

from __future__ import annotations

import warnings
from time import perf_counter

import numpy as np
from madelon_like import make_madelon_like
from rich.console import Console
from rich.table import Table

from bestleaf import BestLeafSelector, NeighbourVotes, SearchOptions, best_leaf
from bestleaf.engine.bounds import BOUNDS, RIGOROUS
from bestleaf.paper import load_linear
from bestleaf.problems import paper_lattice

console = Console(width=150)
LIMIT, SECONDS, RUNS = 1_000_000, 20.0, 5


def select(X, y, epsilon, bound, seed):
    """Return (samples, settled) of one selection."""
    settings = {"epsilon": epsilon, "delta": 0.1, "max_samples": LIMIT, "max_time": SECONDS}
    found = (
        BestLeafSelector(
            NeighbourVotes(scale=False),
            choose="training",
            **settings,
            random_state=seed,
            search=SearchOptions(guarantee="grown", bound=bound),
        )
        .fit(X, y)
        .certificate_
    )
    return found.cost.samples, found.settled


def search(bound, seed):
    """Return (samples, settled) of one search of the lattice."""
    found = best_leaf(paper_lattice(), epsilon=0.03, delta=0.05, bound=bound, seed=seed, max_samples=LIMIT)
    return found.samples, found.settled


def main():
    linear = load_linear(return_X_y=True)
    madelon = make_madelon_like(500, 60, seed=0, return_X_y=True)
    problems = {
        "linear, eps 0.005": lambda bound, seed: select(*linear, 0.005, bound, seed),
        "Madelon-like 500 x 60, eps 0.02": lambda bound, seed: select(*madelon, 0.02, bound, seed),
        "20-leaf lattice, eps 0.03": search,
    }
    title = f"Samples to certify, mean of {RUNS} runs (at most {LIMIT:,} and {SECONDS:g} s)"
    table = Table(title=title, title_justify="left")
    for name in ("bound", "proof", *problems, "seconds"):
        table.add_column(name, justify="left" if name in ("bound", "proof") else "right")
    for name, bound in BOUNDS.items():
        started = perf_counter()
        cells = []
        for run in problems.values():
            found = [run(name, seed) for seed in range(RUNS)]
            settled = sum(one for _, one in found)
            mean = np.mean([samples for samples, _ in found])
            cells.append(f"{mean:,.0f}" if settled == RUNS else f"over {mean:,.0f} ({settled} of {RUNS})")
        table.add_row(name, "yes" if bound in RIGOROUS else "no", *cells, f"{perf_counter() - started:.0f}")
    console.print(table)
    console.print(
        'The rate theory has a proof on the lattice, whose leaves are known in advance. The default is "betting".'
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # budgets end some searches
    main()
