"""The selector beside sequential floating selection on Madelon, on the same split: value, features, held-out AUC, time.

Usage: python benchmarks/selection.py FOLDER_OF_MADELON [SEEDS]
"""

from __future__ import annotations

import sys
import warnings
from time import perf_counter

from rich.console import Console
from rich.table import Table

from bestleaf import BestLeafSelector
from bestleaf.datasets import load_madelon
from bestleaf.oracles import KNNOracle
from bestleaf.selector.honest import splits, unseen_score

console = Console(width=150)


def floating(oracle, most=20):
    """Return the best subset of sequential floating forward selection by exact values, up to a size."""
    values, best = {}, {0: (0.0, ())}

    def value(subset):
        key = tuple(sorted(subset))
        if key not in values:
            values[key] = oracle.value(key)
        return values[key]

    subset = ()
    while len(subset) < most:
        subset = max(((*subset, f) for f in range(oracle.n_features) if f not in subset), key=value)
        best[len(subset)] = max(best.get(len(subset), (0.0, ())), (value(subset), subset))
        while len(subset) > 2:
            smaller = max((tuple(g for g in subset if g != f) for f in subset), key=value)
            if value(smaller) <= best[len(smaller)][0]:
                break
            subset = smaller
            best[len(subset)] = (value(subset), subset)
    found, chosen = max(best.values())
    return sorted(chosen), found, len(values)


def main(folder, seeds):
    data = load_madelon(folder)
    table = Table(title="Madelon, epsilon 0.005, delta 0.1, at most 250,000 samples", title_justify="left")
    for name in (
        "method",
        "seed",
        "examples",
        "V",
        "features",
        "relevant",
        "held-out AUC",
        "samples",
        "exact",
        "seconds",
    ):
        table.add_column(name, justify="left" if name == "method" else "right")
    measure = {"task": "classification", "n_neighbors": 5, "scale": False}
    for seed in range(seeds):
        kept, aside = next(splits(0.25, data.data, data.target, "classification", seed))
        for share in (None, 0.25):
            started = perf_counter()
            selector = BestLeafSelector(
                epsilon=0.005, delta=0.1, scale=False, holdout=share, max_samples=250_000, random_state=seed, n_jobs=-1
            )
            selector.fit(data.data, data.target)
            found = selector.certificate_
            table.add_row(
                "bestleaf",
                str(seed),
                str(found.content["data"]["rows"]),
                f"{selector.score_:.4f}",
                str(len(selector.subset_)),
                f"{len(set(selector.subset_) & set(data.relevant)) / len(selector.subset_):.2f}",
                "-" if share is None else f"{selector.holdout_score_:.4f}",
                f"{found.samples:,}",
                f"{found.exact_evaluations:,}",
                f"{perf_counter() - started:.0f}",
            )
            console.print(*(list(column.cells)[-1] for column in table.columns))
        started = perf_counter()
        X, y = data.data[kept], data.target[kept]
        subset, value, evaluations = floating(KNNOracle(X, y, scale=False, n_jobs=2))
        score = unseen_score(X[:, subset], y, data.data[aside][:, subset], data.target[aside], **measure)
        table.add_row(
            "floating selection",
            str(seed),
            str(len(kept)),
            f"{value:.4f}",
            str(len(subset)),
            f"{len(set(subset) & set(data.relevant)) / len(subset):.2f}",
            f"{score:.4f}",
            "0",
            f"{evaluations:,}",
            f"{perf_counter() - started:.0f}",
        )
        console.print(*(list(column.cells)[-1] for column in table.columns))
    console.print(table)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # budgets end the searches
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
