"""How many subsets a second are valued: in blocks, one by one, and by scikit-learn; and how long all of them take.

Every rate is measured on the same subsets in the same run, in seconds of the processor, so that other work on the
machine does not count; that of a device in seconds of the clock. "with a floor" is the rate once the best are known:
subsets that cannot reach 0.99 (of Madelon 0.85) are given up. A GPU is measured, too, if `NeighbourVotes` takes a
device.

    python benchmarks/exhaustive.py
    python benchmarks/exhaustive.py --whole --threads 2
    python benchmarks/exhaustive.py --device cuda --whole --madelon FOLDER

With --whole, all subsets are evaluated from the first to the last: those of up to 5 of the 30 features of the paper's
linear data, and all pairs of the 500 features of Madelon; on a device all 2^30 subsets of the linear data, too, which
takes minutes, and those of up to 3 features of Madelon. FOLDER holds madelon_train.data and madelon_train.labels.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from bestleaf.certificate.numbering import Block, Numbering
from bestleaf.features import FeatureLattice
from bestleaf.features.exhaust import Exhaustion, FastNumbering, numbering_of
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import load_linear
from bestleaf.search.budget import Budget

AT_LEAST = 2.0  # seconds that a rate is measured
console = Console(width=150)


class Case(NamedTuple):
    """Some consecutive subsets of a table."""

    name: str
    X: np.ndarray
    y: np.ndarray
    most: int  # features of a subset
    subsets: int  # that are measured
    floor: float = 0.99

    def block(self) -> Block:
        """Return the subsets, from the middle of all."""
        numbering = FastNumbering(range(self.X.shape[1]), (), self.most)
        start = numbering.total // 2
        groups = [[feature] for feature in range(self.X.shape[1])]
        return Block(numbering, start, min(start + self.subsets, numbering.total), groups)


def cases(folder: Path | None) -> Iterator[Case]:
    """Yield the tables with the subsets that are measured."""
    X, y = load_linear(return_X_y=True)
    yield Case("linear, up to 3 of 30", X, y, 3, 2_000)
    yield Case("linear, up to 8 of 30", X, y, 8, 20_000)
    yield Case("linear, all of 2^30", X, y, 30, 20_000)
    if folder is not None:
        yield Case("Madelon, pairs of 500", *madelon(folder), 2, 1_000, 0.85)


def madelon(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the 2,000 rows of Madelon."""
    return np.loadtxt(folder / "madelon_train.data"), np.loadtxt(folder / "madelon_train.labels")


def oracles(case: Case, options: Namespace) -> Iterator[tuple[str, KNNOracle]]:
    """Yield the oracles to compare, by name."""
    threads = f"blocks, {options.threads} thread{'s' * (options.threads > 1)}"
    yield threads, KNNOracle(case.X, case.y, n_jobs=options.threads, device="cpu")
    if options.device is not None:
        yield f"blocks, {options.device}", KNNOracle(case.X, case.y, device=options.device)


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


def valued(oracle: KNNOracle, block: Block, floors: np.ndarray | None, many: int) -> np.ndarray:
    """Return the values of the first subsets of a block."""
    first = Block(block.numbering, block.start, block.start + many, block.groups)
    return oracle.block_values(first, None if floors is None else floors[:many])


def rates(case: Case, options: Namespace) -> None:
    """Print the rates of one case, each by one thread."""
    block, alone = case.block(), KNNOracle(case.X, case.y, memory=0)  # so that no votes are kept
    rows = [np.flatnonzero(row) for row in block.columns(case.X.shape[1])]
    with threadpool_limits(1):
        slow = rate(len(rows), lambda many: [by_scikit_learn(case, rows[place]) for place in range(many)])
    loop = rate(len(rows), lambda many: [alone.value(row) for row in rows[:many]])
    table = Table(title=f"{case.name} features, {len(case.X):,} rows ({np.mean([len(row) for row in rows]):.1f} each)")
    for heading in ("", "subsets a second", "x loop", "x scikit-learn"):
        table.add_column(heading, justify="right" if heading else "left")
    table.add_row("scikit-learn, one by one", f"{slow:,.0f}", f"{slow / loop:.2f}", "1")
    table.add_row("loop over oracle.value", f"{loop:,.0f}", "1", f"{loop / slow:,.0f}")
    for name, oracle in oracles(case, Namespace(threads=1, device=options.device)):
        values = oracle.block_values(block)
        clock = process_time if type(oracle) is KNNOracle else perf_counter
        floors = np.full(len(rows), case.floor)
        full = rate(len(rows), partial(valued, oracle, block, None), clock)
        cut = rate(len(rows), partial(valued, oracle, block, floors), clock)
        for what, found in ((name, full), (f"{name}, with a floor", cut)):
            table.add_row(what, f"{found:,.0f}", f"{found / loop:.1f}", f"{found / slow:,.0f}")
        right = np.array([alone.value(row) for row in rows[:200]])
        assert (values[: len(right)] == right).all(), "values must be the same to the last digit"
    console.print(table)


class Nowhere:
    """Saves nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def save(self, reason: str | None, *, now: bool = False) -> None:
        """Save nothing."""


def whole(case: Case, found_by: Iterable[tuple[str, KNNOracle]]) -> None:
    """Evaluate all subsets of a case; print how long that takes, and the best."""
    for name, oracle in found_by:
        lattice = FeatureLattice(oracle, max_features=case.most)
        total = numbering_of(lattice).total
        oracle.block_values(Block(Numbering(range(3), (), 2), 1, 5, lattice.groups))  # compiles
        found, begun, used = Exhaustion.of(lattice, Budget()), perf_counter(), process_time()
        found.run(lambda now: None, Nowhere())
        seconds, used = perf_counter() - begun, process_time() - used
        best = f"best {found.best_value:.4f} with {list(found.best[:-1])}, the thousandth {found.standing.floor:.4f}"
        took = f"{seconds:.1f} s ({used:.1f} s of the processor, {total / seconds:,.0f} subsets a second)"
        console.print(f"{case.name}, {name}: all {total - 1:,} subsets in {took}; {best}")


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
    small = [Case("linear, up to 5 of 30", *load_linear(return_X_y=True), 5, 0)]
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
