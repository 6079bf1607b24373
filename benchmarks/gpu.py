"""Votes of nearest neighbours on a GPU, beside the processor, scikit-learn and scipy (needs a GPU and CuPy).

    python benchmarks/gpu.py                                  # some minutes
    python benchmarks/gpu.py --parts rows subsets             # some parts only
    python benchmarks/gpu.py --parts madelon --madelon FOLDER # the default selection on madelon_train.data, .labels

A pair is one distance between two rows. Each feature of a pair takes two instructions (a difference, a fused
multiply-add) and each pair one comparison; the share of peak counts these against what the GPU can issue.
"""

from __future__ import annotations

import warnings
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from bestleaf import BestLeafSelector, KNNOracle, NeighbourVotes
from bestleaf.features.gpu.device import cuda

NEIGHBOURS = 5
LANES = 128  # single-precision instructions that a processor of the GPU issues in a clock
QUERIES = 500  # rows of the other methods' time on many rows, which is scaled to all
console = Console(width=150)


def seconds(work: Callable[[], object], least: float = 0.5) -> float:
    """Return the shortest time of some runs, after one that compiles; a GPU needs some work to reach its full clock."""
    work()
    found: list[float] = []
    while sum(found) < least:
        begun = perf_counter()
        work()
        found.append(perf_counter() - begun)
    return min(found)


def peak() -> float:
    """Return how many instructions in single precision the GPU can issue in a second."""
    about = cuda().cuda.runtime.getDeviceProperties(0)
    return about["multiProcessorCount"] * LANES * about["clockRate"] * 1e3


def data(rows: int, features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return random numbers and two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)).astype(np.float32)
    return X, (X[:, 0] + rng.normal(size=rows) > 0).astype(int)


def one_subset(rows: int, sizes: tuple[int, ...]) -> None:
    """Time the votes of all rows on one subset."""
    X, y = data(rows, max(sizes))
    oracle = {one: KNNOracle(X, y, device=one, reference_rows=rows, memory=1, n_jobs=2) for one in ("cuda", "cpu")}
    shown = Table("features", "GPU", "pairs/s", "share of peak", "bestleaf, 2 threads", "sklearn", "cKDTree", "ratio")
    every, some = np.arange(rows), np.arange(min(QUERIES, rows))
    for size in sizes:
        subset, columns = np.arange(size), np.ascontiguousarray(X[:, :size])
        ours = seconds(lambda subset=subset: oracle["cuda"].votes._computed(subset, every))
        scale = rows / len(some)
        theirs = [scale * seconds(lambda subset=subset: oracle["cpu"].votes._computed(subset, some), 0.1)]
        model = NearestNeighbors(n_neighbors=NEIGHBOURS + 1, n_jobs=2).fit(columns)
        tree = cKDTree(columns)
        theirs.append(scale * seconds(lambda model=model, columns=columns: model.kneighbors(columns[some]), 0.1))
        theirs.append(
            scale
            * seconds(lambda tree=tree, columns=columns: tree.query(columns[some], NEIGHBOURS + 1, workers=2), 0.1)
        )
        pairs = rows**2 / ours
        cells = [f"{ours * 1e3:.1f} ms", f"{pairs / 1e9:,.0f} billion", f"{pairs * (2 * size + 1) / peak():.0%}"]
        shown.add_row(
            f"{size}", *cells, *(f"{one:.2f} s" for one in theirs), f"{min(theirs) / ours:,.0f} times the fastest"
        )
    console.print(f"[bold]One subset, {rows:,} rows (leave-one-out); other methods on {len(some)} rows, scaled")
    console.print(shown)


def many_subsets(rows: int, features: int, sizes: tuple[int, ...], many: int) -> None:
    """Time exact values of many subsets."""
    X, y = data(rows, features)
    oracle = {one: KNNOracle(X, y, device=one, memory=1) for one in ("cuda", "cpu")}
    rng, shown = np.random.default_rng(1), Table("features", "GPU", "values/s", "pairs/s", "one core", "ratio")
    for size in sizes:
        subsets = rng.random((many, features)).argsort(axis=1)[:, :size]
        few = subsets[: max(4, int(2e8 / rows**2))]
        ours = seconds(lambda subsets=subsets: oracle["cuda"].values(subsets)) / many
        theirs = seconds(lambda few=few: oracle["cpu"].values(few), 0.1) / len(few)
        cells = [f"{ours * 1e6:.2f} us", f"{1 / ours:,.0f}", f"{rows**2 / ours / 1e9:,.0f} billion"]
        shown.add_row(f"{size}", *cells, f"{theirs * 1e6:,.0f} us", f"{theirs / ours:,.0f}")
    console.print(
        f"[bold]{many:,} subsets of {features} features at once, {rows:,} rows, with the way to the GPU and back"
    )
    console.print(shown)


def selection(folder: Path) -> None:
    """Time the whole default selection of Madelon on both devices; they must agree."""
    X, y = np.loadtxt(folder / "madelon_train.data"), np.loadtxt(folder / "madelon_train.labels")
    supports = []
    for device, jobs in (("cuda", None), ("cuda", -1), ("cpu", -1)):
        for again in (False, True) if device == "cuda" and jobs is None else (True,):
            begun = perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = BestLeafSelector(NeighbourVotes(device=device), n_jobs=jobs, random_state=0).fit(X, y)
            took = perf_counter() - begun
            if again:
                settled = "settled" if found.certificate_.settled else "not settled"
                console.print(
                    f"Madelon, {device}, n_jobs={jobs}: {took:.1f} s, {settled}, {found.support_.sum()} features"
                )
                supports.append(found.support_.tolist())
    console.print("the same features" if all(one == supports[0] for one in supports) else "OTHER FEATURES")


PARTS: dict[str, Callable[[Namespace], object]] = {
    "rows": lambda options: one_subset(100_000, (1, 3, 5, 10)),
    "million": lambda options: one_subset(1_000_000, (1, 3, 5, 10)),
    "subsets": lambda options: (many_subsets(2000, 500, (3, 8), 30_000), many_subsets(300, 30, (5, 15), 300_000)),
    "madelon": lambda options: options.madelon and selection(options.madelon),
}

if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--madelon", type=Path, help="folder with madelon_train.data and madelon_train.labels")
    chosen = parser.parse_args()
    for part in chosen.parts:
        PARTS[part](chosen)
