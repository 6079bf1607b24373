"""How long it takes to value a feature subset, beside its distances alone and the machine's peak, measured in one run.

Every evaluation has queries and a subset of its own, so that no branch is learnt by heart.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from madelon_like import make_madelon_like
from rich.console import Console
from rich.table import Table

from bestleaf.engine.compile import kernel, longs_at, singles_at
from bestleaf.features import FeatureLattice
from bestleaf.features.kernels.neighbours import measure, neighbour_sums
from bestleaf.features.kernels.ranking import votes_in_order
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import make_linear

console = Console(width=150)
M = 50


@kernel
def plain_distances(size, queries, oracle):
    """Add the squared differences feature by feature: the pass the others are compared with."""
    chosen, distance = longs_at(oracle.chosen, size), singles_at(oracle.distance, oracle.padded)
    total = np.float32(0.0)
    for query in queries:
        for place in range(size):
            column = singles_at(oracle.columns + 4 * oracle.stride * chosen[place], oracle.padded)
            value = column[query]
            if place == 0:
                for example in range(len(distance)):
                    difference = column[example] - value
                    distance[example] = difference * difference
            else:
                for example in range(len(distance)):
                    difference = column[example] - value
                    distance[example] += difference * difference
        total += distance[query]
    return total


@kernel
def distances_only(size, queries, oracle):
    """Measure every query as the oracle does, and do nothing else."""
    distance = singles_at(oracle.distance, oracle.padded)
    total = np.float32(0.0)
    for place in range(len(queries)):
        measure(size, queries[place], oracle)
        total += distance[place]
    return total


@kernel
def multiply_adds(values, times):
    """Do nothing but multiply and add on numbers that stay in the first cache."""
    factor = np.float32(0.999)
    for _ in range(times):
        for place in range(len(values)):
            values[place] = ((values[place] * factor + factor) * factor + factor) * factor + factor
    return values[0]


def peak():
    """Return the single-precision GFlop/s that the same compiler reaches on one core on data in the first cache."""
    values, times = np.ones(1024, np.float32), 20_000
    multiply_adds(values, 1)
    best = np.inf
    for _ in range(5):
        started = perf_counter()
        multiply_adds(values, times)
        best = min(best, perf_counter() - started)
    return 6 * len(values) * times / best / 1e9


def fastest(functions, pieces, rounds=9):
    """Return the seconds a piece takes with each function, in the fastest of several rounds that take turns."""
    best = np.full(len(functions), np.inf)
    for function in functions:
        function(*pieces[0])
    for _ in range(rounds):
        for number, function in enumerate(functions):
            started = perf_counter()
            for piece in pieces:
                function(*piece)
            best[number] = min(best[number], perf_counter() - started)
    return best / len(pieces)


def parts(oracle, size, rng):
    """Return seconds of (plain distances, our distances, distances with neighbours and votes, AUC) an evaluation."""
    place = oracle.votes.workplace()
    subsets = [np.sort(rng.choice(oracle.n_features, size, replace=False)) for _ in range(200)]
    queries = [rng.choice(oracle.n_samples, M, replace=False) for _ in range(200)]
    sums = np.empty((M, 1), np.float32)
    truth = oracle.targets[0, queries[0]].copy()
    histograms, ones = np.zeros((2, oracle.n_neighbors + 1)), np.ones(M)

    def with_subset(function, *more):
        def run(subset, chosen):
            place.arrays["chosen"][:size] = subset
            function(size, chosen, place.record, *more)

        return run

    pieces = list(zip(subsets, queries, strict=True))
    neighbour_sums(size, queries[0], place.record, sums)
    votes = sums[:, 0].copy()
    functions = (
        with_subset(plain_distances),
        with_subset(distances_only),
        with_subset(neighbour_sums, sums),
        lambda *_: votes_in_order(truth, votes, ones, 0, *histograms),
    )
    return fastest(functions, pieces)


def evaluations(sets, rng):
    limit = peak()
    table = Table(
        title=f"One evaluation of a subset on m = {M} examples (peak {limit:.0f} GFlop/s)", title_justify="left"
    )
    names = ("rows", "features", "|F|", "plain distances us", "ours us", "with neighbours, votes us", "AUC us")
    for name in (*names, "ratio to plain", "to ours", "GFlop/s plain", "ours", "of peak"):
        table.add_column(name, justify="right")
    for (rows, columns), data in sets.items():
        oracle = KNNOracle(*data)
        for size in (1, 3, 7, 14):
            plain, ours, whole, auc = parts(oracle, size, rng)
            flops = 3 * M * rows * size / 1e9
            table.add_row(
                f"{rows:,}",
                f"{columns:,}",
                str(size),
                *(f"{1e6 * seconds:.1f}" for seconds in (plain, ours, whole, auc)),
                f"{(whole + auc) / plain:.2f}",
                f"{(whole + auc) / ours:.2f}",
                f"{flops / plain:.0f}",
                f"{flops / ours:.0f}",
                f"{flops / ours / limit:.0%}",
            )
    console.print(table)


def rollouts(lattice, state, count, seed=0):
    """Return seconds a rollout from a state."""
    drawn = lattice.compiled_oracle(np.random.default_rng(seed))
    drawn.add(0, state)
    drawn.warm_up(0, 10)
    started = perf_counter()
    drawn.warm_up(0, count)
    cold = (perf_counter() - started) / count
    started = perf_counter()
    drawn.warm_up(0, count)
    return cold, (perf_counter() - started) / count


def remembered():
    """Measure rollouts whose subsets have all been met before, and rollouts in general, on small data."""
    table = Table(title="Rollouts on 300 x 30 data, microseconds a sample", title_justify="left")
    for name in ("from", "largest size", "first 20,000", "next 20,000"):
        table.add_column(name, justify="right")
    oracle = KNNOracle(*make_linear(300, 30, seed=0, return_X_y=True))
    for limit in (2, 3, 4, 30):
        cold, warm = rollouts(FeatureLattice(oracle, max_features=limit), (1, 2), 20_000)
        table.add_row("{1, 2}", str(limit), f"{1e6 * cold:.2f}", f"{1e6 * warm:.2f}")
    console.print(table)


def exponent(sizes, times):
    """Return the slope of log time against log size."""
    return np.polyfit(np.log(sizes), np.log(times), 1)[0]


def growth():
    """Measure one rollout of a fresh subset against rows, features and size, with the exponent."""
    table = Table(title="Cost of a rollout whose subset is new (nothing remembered)", title_justify="left")
    for name in ("varied", "from", "to", "us at the first", "us at the last", "exponent"):
        table.add_column(name, justify="right")

    def cost(rows, columns, size):
        data = make_linear(rows, columns, seed=0, return_X_y=True)
        lattice = FeatureLattice(KNNOracle(*data, memory=0), max_features=size)
        count = max(50, int(2e8 / (M * rows * size)))
        return min(rollouts(lattice, tuple(range(size - 1)), count))  # the last feature is drawn, mostly a new one

    for name, values, settings in (
        ("rows n", (500, 2_000, 8_000, 32_000), lambda n: (n, 30, 4)),
        ("features d", (30, 300, 3_000), lambda d: (500, d, 4)),
        ("size |F|", (2, 4, 8, 16), lambda size: (2_000, 30, size)),
    ):
        times = [cost(*settings(value)) for value in values]
        ends = (f"{values[0]:,}", f"{values[-1]:,}", f"{1e6 * times[0]:.1f}", f"{1e6 * times[-1]:.1f}")
        table.add_row(name, *ends, f"{exponent(values, times):.2f}")
    console.print(table)


def main():
    rng = np.random.default_rng(0)
    sets = {
        (2000, 500): make_madelon_like(seed=0, return_X_y=True),
        (300, 30): make_linear(300, 30, seed=0, return_X_y=True),
        (20_000, 50): make_linear(20_000, 50, seed=0, return_X_y=True),
    }
    evaluations(sets, rng)
    remembered()
    growth()


if __name__ == "__main__":
    main()
