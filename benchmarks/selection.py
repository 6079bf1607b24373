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
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from bestleaf import BestLeafSelector, NeighbourVotes, SearchOptions
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import load_madelon

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


def votes_score(X, y, new_X, new_y):
    """Return the AUC of the votes of 5 nearest neighbours on other rows."""
    return roc_auc_score(new_y, KNeighborsClassifier(5).fit(X, y).predict_proba(new_X)[:, 1])


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
        X, new_X, y, new_y = train_test_split(data.data, data.target, stratify=data.target, random_state=seed)
        for rows, targets, judged in ((data.data, data.target, False), (X, y, True)):
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
            found = selector.fit(rows, targets).certificate_
            score = votes_score(X[:, selector.support_], y, new_X[:, selector.support_], new_y)
            table.add_row(
                "bestleaf",
                str(seed),
                str(len(rows)),
                f"{selector.score_:.4f}",
                str(len(selector.subset_)),
                f"{len(set(selector.subset_) & set(data.relevant)) / len(selector.subset_):.2f}",
                f"{score:.4f}" if judged else "-",
                f"{found.cost.samples:,}",
                f"{found.cost.exact_evaluations:,}",
                f"{perf_counter() - started:.0f}",
            )
            console.print(*(list(column.cells)[-1] for column in table.columns))
        started = perf_counter()
        subset, value, evaluations = floating(KNNOracle(X, y, scale=False, n_jobs=2))
        score = votes_score(X[:, subset], y, new_X[:, subset], new_y)
        table.add_row(
            "floating selection",
            str(seed),
            str(len(X)),
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
