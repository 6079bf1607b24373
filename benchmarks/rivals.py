"""What an iteration costs: the rivals beside best leaf identification, on the same oracle, in one run.

Usage: python benchmarks/rivals.py [FOLDER_OF_MADELON]
"""

from __future__ import annotations

import sys
import warnings
from time import perf_counter

from madelon_like import make_madelon_like
from rich.console import Console
from rich.table import Table

from bestleaf import BestLeafSelector, KNNOracle, NeighbourVotes, SearchOptions, best_arm, fuse_search, uct_search
from bestleaf.features import FeatureLattice
from bestleaf.paper import load_linear, load_madelon
from bestleaf.paper.uct import VARIANTS
from bestleaf.problems import Unrolled, paper_lattice

console = Console(width=140)


def table_of(title, rows):
    """Print rows (name, samples, seconds) with the ratio of the time a sample to that of the first."""
    table = Table(title=title, title_justify="left")
    for name in ("method", "samples", "µs a sample", "ratio", "note"):
        table.add_column(name, justify="left" if name in ("method", "note") else "right")
    first = rows[0][2] / rows[0][1]
    for name, samples, seconds, note in rows:
        cost = seconds / samples
        table.add_row(name, f"{samples:,}", f"{1e6 * cost:.2f}", f"{cost / first:.2f}", note)
    console.print(table)


def on_the_lattice(samples=200_000):
    """Bernoulli leaves cost next to nothing, so this is the cost of the search itself."""
    rows = []
    dag, tree = paper_lattice(), Unrolled(paper_lattice())
    runs = [("LUCB-MCDS", lambda n: best_arm(dag, epsilon=0, delta=1e-9, max_samples=n, seed=0))]
    runs += [("LUCB-MCTS", lambda n: best_arm(tree, epsilon=0, delta=1e-9, rule="lucb_mcts", max_samples=n, seed=0))]
    runs += [("UCT on the tree", lambda n: uct_search(tree, max_samples=n, seed=0))]
    runs += [
        (name, lambda n, variant=name: uct_search(dag, variant=variant, max_samples=n, seed=0)) for name in VARIANTS
    ]
    runs += [("UCT1, update-all", lambda n: uct_search(dag, backup="all", max_samples=n, seed=0))]
    for name, run in runs:
        run(100)
        started = perf_counter()
        found = run(samples)
        rows.append((name, found.samples, perf_counter() - started, ""))
    table_of("Cost of the search itself: lattice of 20 leaves, Bernoulli samples", rows)


def on_features(title, X, y, samples):
    """Feature selection in the published setting."""
    rows = []
    searches = {
        "BLI-MCDS (beta2, RAVE)": {"bound": "beta2", "proposal": "rave", "expansion": 0.3, "stopping": "paper"},
        "BLI-MCDS (betting, lookahead)": {},
    }
    rivals = {
        "fuse": {},
        "fuse-ucd": {"variant": "ucd"},
        "alphafuse": {"backup": 0.5},
    }

    def selected(most, **settings):
        votes, common = NeighbourVotes(scale=False), {"epsilon": 0.0, "delta": 0.1, "random_state": 0}
        search = SearchOptions(max_samples=most, **settings)
        selector = BestLeafSelector(votes, choose="training", **common, search=search).fit(X, y)
        return selector.score_, selector.subset_, selector.certificate_.cost

    def recommended(most, **settings):
        found = fuse_search(FeatureLattice(KNNOracle(X, y, scale=False)), max_samples=most, seed=0, **settings)
        return found.value, found.answer, found

    for name, settings in (searches | rivals).items():
        search = selected if name in searches else recommended
        search(300, **settings)
        started = perf_counter()
        value, subset, found = search(samples, **settings)
        seconds = perf_counter() - started
        note = f"V {value:.4f}, {len(subset)} features, {found.exact_evaluations:,} exact"
        rows.append((name, found.samples, seconds, note))
    table_of(title, rows)


def main(folder):
    on_the_lattice()
    on_features("Linear data, 300 x 30", *load_linear(return_X_y=True), 200_000)
    if folder:
        on_features("Madelon, 2000 x 500", *load_madelon(folder, return_X_y=True), 100_000)
    else:
        on_features("Madelon-like, 1000 x 200", *make_madelon_like(1000, 200, seed=0, return_X_y=True), 50_000)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # budgets end the searches
    main(sys.argv[1] if len(sys.argv) > 1 else None)
