"""How long one evaluation of a feature subset takes beside its distances alone, measured in one run.

Everything but the distances (neighbour selection, votes, AUC) should cost no more than the distances.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from bestleaf._kernels.neighbours import distances_only, neighbour_sums, share_of_votes
from bestleaf.datasets import make_linear, make_madelon_like
from bestleaf.oracles import KNNOracle

console = Console(width=120)


def fastest(times, function):
    """Return the seconds of the fastest of several calls."""
    best = np.inf
    for _ in range(times):
        started = perf_counter()
        function()
        best = min(best, perf_counter() - started)
    return best


def parts(oracle, subset, queries):
    """Return seconds of (distances, distances with neighbours and votes, AUC) for one evaluation."""
    features = np.array(subset)
    sums = np.empty((len(queries), 1), np.float32)
    found = np.empty(len(queries), np.int64)
    votes = oracle.sums(subset)[queries, 0].copy()
    truth = oracle.targets[0, queries].copy()
    arguments = (oracle.columns, features, oracle.targets, queries, False, oracle._scratch, sums, found)
    return (
        fastest(300, lambda: distances_only(oracle.columns, features, queries, oracle._scratch[0])),
        fastest(300, lambda: neighbour_sums(*arguments)),
        fastest(300, lambda: share_of_votes(votes, truth, 0, *oracle._histograms)),
    )


def main():
    table = Table(title="One evaluation of a subset on m = 50 examples", title_justify="left")
    for name in ("rows", "features", "|F|", "distances us", "with neighbours, votes us", "AUC us", "ratio", "GFlop/s"):
        table.add_column(name, justify="right")
    rng = np.random.default_rng(0)
    sets = {
        (2000, 500): make_madelon_like(seed=0, return_X_y=True),
        (300, 30): make_linear(300, 30, seed=0, return_X_y=True),
        (20_000, 50): make_linear(20_000, 50, seed=0, return_X_y=True),
    }
    for (rows, columns), data in sets.items():
        oracle = KNNOracle(*data)
        queries = rng.choice(rows, 50, replace=False)
        for size in (1, 3, 7, 14):
            subset = rng.choice(columns, size, replace=False)
            alone, whole, auc = parts(oracle, np.sort(subset), queries)
            flops = 3 * 50 * rows * size / alone / 1e9
            table.add_row(
                f"{rows:,}",
                str(columns),
                str(size),
                f"{1e6 * alone:.1f}",
                f"{1e6 * whole:.1f}",
                f"{1e6 * auc:.1f}",
                f"{(whole + auc) / alone:.2f}",
                f"{flops:.1f}",
            )
    console.print(table)


if __name__ == "__main__":
    main()
