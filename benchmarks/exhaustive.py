"""How many subsets a second are valued: together, one by one, and by scikit-learn; and how long all of them take.

Every rate is measured on the same subsets in the same run, in seconds of the processor, so that other work on the
machine does not count; that of a device in seconds of the clock.

    python benchmarks/exhaustive.py
    python benchmarks/exhaustive.py --whole --threads 2
    python benchmarks/exhaustive.py --device cuda --whole --madelon FOLDER

With --whole, all subsets are evaluated from the first to the last: those of 20 columns x 150 rows and of 15 columns x
2,000 rows, those of up to 5 of the 30 features of the paper's linear data, and all pairs of the 500 features of
Madelon; on a device all 2^30 subsets of the linear data, too, which takes minutes, and those of up to 3 features of
Madelon. FOLDER holds madelon_train.data and madelon_train.labels.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from bestleaf.features import FeatureLattice
from bestleaf.features.all_subsets import Exhaustion, Numbering
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import load_linear
from bestleaf.search.budget import Budget, run_in_slices

AT_LEAST = 2.0  # seconds that a rate is measured
console = Console(width=150)


class Case(NamedTuple):
    """Some consecutive subsets of a table."""

    name: str
    X: np.ndarray
    y: np.ndarray
    most: int  # features of a subset
    subsets: int  # that are measured

    def columns(self) -> np.ndarray:
        """Return which columns each subset has, from the middle of all."""
        many = self.X.shape[1]
        numbering = Numbering(range(many), (), self.most)
        start = numbering.total // 2
        numbers = np.arange(start, min(start + self.subsets, numbering.total))
        return numbering.columns(numbering.members(numbers), [[feature] for feature in range(many)])


def cases(folder: Path | None) -> Iterator[Case]:
    """Yield the tables with the subsets that are measured."""
    X, y = load_linear(return_X_y=True)
    yield Case("linear, up to 3 of 30", X, y, 3, 2_000)
    yield Case("linear, up to 8 of 30", X, y, 8, 20_000)
    yield Case("linear, all of 2^30", X, y, 30, 20_000)
    if folder is not None:
        yield Case("Madelon, pairs of 500", *madelon(folder), 2, 1_000)


def madelon(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the 2,000 rows of Madelon."""
    return np.loadtxt(folder / "madelon_train.data"), np.loadtxt(folder / "madelon_train.labels")


def oracles(case: Case, options: Namespace) -> Iterator[tuple[str, KNNOracle]]:
    """Yield the oracles to compare, by name."""
    threads = f"together, {options.threads} thread{'s' * (options.threads > 1)}"
    yield threads, KNNOracle(case.X, case.y, n_jobs=options.threads, device="cpu")
    if options.device is not None:
        yield f"together, {options.device}", KNNOracle(case.X, case.y, device=options.device)


def rate(many: int, work: Callable[[int], object], clock: Callable[[], float] = process_time) -> float:
    """Return how many of `many` things are done in a second; `work` does so many of them."""
    some = min(many, 4)
    work(some)  # compiles
    while True:
        begun = clock()
        work(some)
        seconds = clock() - begun
        if seconds > AT_LEAST or some == many:
            return some / seconds
        some = min(many, max(2 * some, int(1.2 * some * AT_LEAST / max(seconds, 1e-6))))


def by_scikit_learn(case: Case, columns: np.ndarray) -> float:
    """Return the value of a subset as one would compute it without bestleaf."""
    scaled = (case.X - case.X.mean(axis=0)) / case.X.std(axis=0)
    nearest = NearestNeighbors(n_neighbors=5).fit(scaled[:, columns]).kneighbors(return_distance=False)
    positive = case.y == case.y.max()
    return roc_auc_score(positive, positive[nearest].sum(axis=1))


def rates(case: Case, options: Namespace) -> None:
    """Print the rates of one case, each by one thread."""
    columns, alone = case.columns(), KNNOracle(case.X, case.y, memory=0)  # so that no votes are kept
    rows = [np.flatnonzero(row) for row in columns]
    with threadpool_limits(1):
        slow = rate(len(rows), lambda many: [by_scikit_learn(case, rows[place]) for place in range(many)])
    loop = rate(len(rows), lambda many: [alone.value(row) for row in rows[:many]])
    table = Table(title=f"{case.name} features, {len(case.X):,} rows ({np.mean([len(row) for row in rows]):.1f} each)")
    for heading in ("", "subsets a second", "x loop", "x scikit-learn"):
        table.add_column(heading, justify="right" if heading else "left")
    table.add_row("scikit-learn, one by one", f"{slow:,.0f}", f"{slow / loop:.2f}", "1")
    table.add_row("loop over oracle.value", f"{loop:,.0f}", "1", f"{loop / slow:,.0f}")
    for name, oracle in oracles(case, Namespace(threads=1, device=options.device)):
        values = oracle.table_values(columns)
        clock = process_time if type(oracle) is KNNOracle else perf_counter
        found = rate(len(rows), lambda many, oracle=oracle: oracle.table_values(columns[:many]), clock)
        table.add_row(name, f"{found:,.0f}", f"{found / loop:.1f}", f"{found / slow:,.0f}")
        right = np.array([alone.value(row) for row in rows[:200]])
        assert (values[: len(right)] == right).all(), "values must be the same to the last digit"
    console.print(table)


def whole(case: Case, found_by: Iterable[tuple[str, KNNOracle]]) -> None:
    """Evaluate all subsets of a case; print how long that takes, and the best."""
    for name, oracle in found_by:
        lattice = FeatureLattice(oracle, max_features=case.most)
        oracle.table_values(np.eye(oracle.n_features, dtype=bool)[:5])  # compiles
        found, begun, used = Exhaustion(lattice, Budget()), perf_counter(), process_time()
        run_in_slices(found)
        seconds, used = perf_counter() - begun, process_time() - used
        units = list(found.numbering.units(int(found.best[0])))
        best = f"best {found.best_values[0]:.4f} with {units}, the thousandth {found.least:.4f}"
        took = f"{seconds:.1f} s ({used:.1f} s of the processor, {found.evaluated / seconds:,.0f} subsets a second)"
        console.print(f"{case.name}, {name}: all {found.evaluated:,} subsets in {took}; {best}")


def made(rows: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table in which three columns decide the class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=rows) > 0).astype(int)


def main() -> None:
    """Print all rates, and with --whole how long all subsets take."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", help="also measure this device, such as cuda")
    parser.add_argument("--whole", action="store_true", help="also evaluate all subsets")
    parser.add_argument("--madelon", type=Path, help="folder with the training part of Madelon")
    options = parser.parse_args()
    for case in cases(options.madelon):
        rates(case, options)
    if not options.whole:
        return
    small = [Case(f"{columns} x {rows}", *made(rows, columns), columns, 0) for columns, rows in ((20, 150), (15, 2000))]
    small.append(Case("linear, up to 5 of 30", *load_linear(return_X_y=True), 5, 0))
    large = [Case("linear, all of 2^30", *load_linear(return_X_y=True), 30, 0)]
    if options.madelon is not None:
        small.append(Case("Madelon, pairs of 500", *madelon(options.madelon), 2, 0))
        large.insert(0, Case("Madelon, up to 3 of 500", *madelon(options.madelon), 3, 0))
    for case in small:
        whole(case, oracles(case, options))
    for case in large if options.device is not None else []:
        whole(case, list(oracles(case, options))[1:])


if __name__ == "__main__":
    main()
