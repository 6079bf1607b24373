"""The end of a budget: value, gap and size of the answer with growth that pauses, beside growth that goes on.

Growth pauses when what is left of the budget cannot settle what would enter (`bestleaf.search.growth`). Each
table is searched with several budgets and seeds, once as it is and once without pauses. Columns: how many of the
searches were settled; the mean best value evaluated and the mean value of the answer; its mean size; the mean gap among
all leaves and among the leaves looked at; the mean share of leaves looked at. The paper's lattice has no subsets, so
there the two values are the middle of the answer's interval.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification

from bestleaf import BestLeafSelector, SearchOptions, best_leaf, problems
from bestleaf.search.growth import Pause

Row = tuple[float, ...]  # settled, best value, value of the answer, size, gap, known gap, share of leaves looked at


def tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return small real tables and a synthetic one like Madelon: five informative features among sixty."""
    digits = load_digits(return_X_y=True)
    madelon = make_classification(n_samples=400, n_features=60, n_informative=5, n_redundant=10, random_state=1)
    return {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "digits": (digits[0][:600], digits[1][:600]),
        "like Madelon": madelon,
    }


@contextmanager
def pauses(allowed: bool) -> Iterator[None]:
    """Let growth pause or not."""
    before = Pause.before
    if not allowed:
        Pause.before = lambda self, **cost: False  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Pause.before = before  # type: ignore[method-assign]


def of_table(
    X: np.ndarray, y: np.ndarray, seed: int, max_samples: int | None = None, max_time: float | None = None
) -> Row:
    """Select features within a budget."""
    search = SearchOptions(guarantee="grown", max_samples=max_samples)
    selector = BestLeafSelector(choose="training", random_state=seed, max_time=max_time, search=search)
    found = selector.fit(X, y).certificate_
    claim = found.search
    gaps = max(0.0, claim.gap), max(0.0, claim.known_gap)
    share = claim.compared / len(claim.leaves)
    return float(found.settled), selector.evaluated_[0].score, selector.score_, len(selector.subset_), *gaps, share


def of_lattice(seed: int, **budget: float) -> Row:
    """Search the paper's lattice within a budget, from a graph that grows."""
    found = best_leaf(problems.paper_lattice(), epsilon=0.05, delta=0.1, expansion=0.6, seed=seed, **budget)
    value, gaps = (found.lower + found.upper) / 2, (max(0.0, found.gap), max(0.0, found.known_gap))
    return float(found.settled), value, value, len(found.answer), *gaps, found.compared / len(found.leaves)


def main() -> None:
    """Print one line for each table, budget and kind of growth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, nargs="*", default=[1000, 2000, 5000, 10_000])
    parser.add_argument("--seconds", type=float, nargs="*", default=[1.0, 3.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="Names of the tables.")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    searches = {name: lambda data=data, **more: of_table(*data, **more) for name, data in tables().items()}
    searches["paper's lattice"] = of_lattice
    budgets = [{"max_samples": one} for one in given.samples] + [{"max_time": one} for one in given.seconds]
    print(f"{'table':16}{'budget':>12}  {'growth':8}settled    best  answer  size     gap   known  looked at")
    for name, search in searches.items():
        if given.only and name not in given.only:
            continue
        for budget in budgets:
            for allowed in (False, True):
                with pauses(allowed):
                    rows = [search(seed=seed, **budget) for seed in range(given.seeds)]
                settled, best, value, size, gap, known, share = np.mean(rows, axis=0)
                limit = f"{budget['max_time']:g} s" if "max_time" in budget else f"{budget['max_samples']:,}"
                print(
                    f"{name:16}{limit:>12}  {'pauses' if allowed else 'goes on':8}{settled:7.0%}{best:8.4f}{value:8.4f}"
                    f"{size:6.1f}{gap:8.4f}{known:8.4f}{share:11.0%}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
