"""Many rows: whether the default settles on the true features.

Every selection runs in a process of its own, so that its peak memory is its own. Four columns decide the class, the
others are noise. A part of the field can be asked for: ``python benchmarks/rows.py 100000``.
"""

from __future__ import annotations

import resource
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import perf_counter, process_time

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from bestleaf import BestLeafSelector, NeighbourVotes

SIZES = {(5_000, 40): 2, (100_000, 40): 4, (1_000_000, 50): 2}  # rows and columns: how many tables of this size
LIMIT = 60  # seconds
TRUE = 4

console = Console(width=170)


def table_of(kind, rows, columns, seed):
    """Return X, y and the true features: a noisy sum of four columns, or scikit-learn's clusters."""
    rng = np.random.default_rng(seed)
    if kind == "clusters":
        X, y = make_classification(
            rows, columns, n_informative=TRUE, n_redundant=0, n_clusters_per_class=2, shuffle=False, random_state=seed
        )
        return X, y, set(range(TRUE))
    X = rng.standard_normal((rows, columns))
    true = rng.choice(columns, TRUE, replace=False)
    y = (X[:, true].sum(axis=1) + rng.standard_normal(rows) > 0).astype(int)
    return X, y, set(true.tolist())


def selection(kind, rows, columns, seed):
    """Return what the default selects from a table, and what it takes."""
    X, y, true = table_of(kind, rows, columns, seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    BestLeafSelector(NeighbourVotes(reference_rows=200), epsilon=0.2).fit(X[:2000, :5], X[:2000, 0] > 0)  # compiles
    started, processor = perf_counter(), process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = BestLeafSelector(max_time=LIMIT, n_jobs=2, random_state=seed).fit(X, y)
    seconds, processor = perf_counter() - started, process_time() - processor
    mine = set(np.flatnonzero(found.support_).tolist())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    certificate = found.certificate_
    return {
        "settled": "yes" if certificate.settled else certificate.reason,
        "features": f"{len(mine & true)} of {TRUE} true, {len(mine - true)} others",
        "value": f"{found.score_:.4f}",
        "s": f"{seconds:.1f}",
        "processor s": f"{processor:.1f}",
        "peak MB": f"{peak / 1024:,.0f}",
        "beyond the data MB": f"{(peak - X.nbytes / 1024) / 1024:,.0f}",
        "before fit MB": f"{before / 1024:,.0f}",
    }


def selections(sizes):
    """Print the selections of each size."""
    shown = Table(title=f"The default with max_time={LIMIT}, n_jobs=2", title_justify="left")
    for (rows, columns), tables in sizes.items():
        for number in range(tables):
            kind = ("sum", "clusters")[number % 2]
            with ProcessPoolExecutor(1, get_context("spawn")) as alone:
                found = alone.submit(selection, kind, rows, columns, number // 2).result()
            if not shown.columns:
                for name in ("rows", "columns", "classes by", "seed", *found):
                    shown.add_column(name, justify="right")
            shown.add_row(f"{rows:,}", str(columns), kind, str(number // 2), *found.values())
            console.print(f"{rows:,} x {columns} by {kind}, seed {number // 2}:", found, highlight=False)
    console.print(shown)


def main(wanted):
    sizes = {size: tables for size, tables in SIZES.items() if not wanted or str(size[0]) in wanted}
    selections(sizes)


if __name__ == "__main__":
    main(sys.argv[1:])
