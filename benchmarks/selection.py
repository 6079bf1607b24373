"""The selector beside sequential floating selection, on the same split: value, features, held-out AUC, time.

Usage: python benchmarks/selection.py [SEEDS] [FOLDER_OF_MADELON]; without a folder on generated data of the same kind.
"""

from __future__ import annotations

import sys
import warnings
from time import perf_counter

from madelon_like import make_madelon_like
from rich.console import Console
from rich.table import Table

from bestleaf import BestLeafSelector, NeighbourVotes, SearchOptions
from bestleaf.features.neighbours import KNNOracle
from bestleaf.new_data import split_of, votes_score
from bestleaf.paper import load_madelon
from bestleaf.selection.validation import validate

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


def main(seeds, folder):
    data = make_madelon_like(500, 60, seed=0) if folder is None else load_madelon(folder)
    name = "Like Madelon, 500 x 60" if folder is None else "Madelon"
    table = Table(title=f"{name}, epsilon 0.005, delta 0.1, at most 250,000 samples", title_justify="left")
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
    votes = NeighbourVotes(scale=False)
    for seed in range(seeds):
        kept, aside = split_of(0.25, data.data, data.target, None, seed)
        for share in (None, 0.25):
            started = perf_counter()
            selector = BestLeafSelector(
                choose="training",
                estimator=votes,
                epsilon=0.005,
                delta=0.1,
                random_state=seed,
                n_jobs=-1,
                search=SearchOptions(max_samples=250_000),
            )
            judged = None if share is None else validate(selector, data.data, data.target, holdout=share)
            selector = selector.fit(data.data, data.target) if judged is None else judged.selector
            found = selector.certificate_
            table.add_row(
                "bestleaf",
                str(seed),
                str(found.content["data"]["rows"]),
                f"{selector.score_:.4f}",
                str(len(selector.subset_)),
                f"{len(set(selector.subset_) & set(data.relevant)) / len(selector.subset_):.2f}",
                "-" if judged is None else f"{judged.score:.4f}",
                f"{found.samples:,}",
                f"{found.exact_evaluations:,}",
                f"{perf_counter() - started:.0f}",
            )
            console.print(*(list(column.cells)[-1] for column in table.columns))
        started = perf_counter()
        X, y = data.data[kept], data.target[kept]
        subset, value, evaluations = floating(KNNOracle(X, y, scale=False, n_jobs=2))
        score = votes_score(votes, X[:, subset], y, data.data[aside][:, subset], data.target[aside])
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
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2, sys.argv[2] if len(sys.argv) > 2 else None)
