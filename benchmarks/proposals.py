"""Which proposals give the best answers: random children, RAVE, lookahead; the same samples, beside each other."""

from __future__ import annotations

import sys
import warnings
from time import perf_counter

import numpy as np
from madelon_like import make_madelon_like
from rich.console import Console
from rich.table import Table

from bestleaf import BestLeafSelector, NeighbourVotes, SearchOptions
from bestleaf.paper import load_linear, make_linear

console = Console(width=150)


def data_sets():
    """Yield (name, X, y, relevant features, epsilon, samples)."""
    yield "the paper's linear data", *load_linear(return_X_y=True), range(10), 0.005, 20_000
    yield "linear, 400 x 60", *make_linear(400, 60, seed=1, return_X_y=True), range(10), 0.01, 20_000
    for rows, features in ((500, 60), (1000, 200)):
        found = make_madelon_like(rows, features, seed=0)
        yield f"Madelon-like, {rows} x {features}", found.data, found.target, found.relevant, 0.02, 40_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 40))
    yield "exclusive or, 400 x 40", X, (X[:, 5] > 0) ^ (X[:, 17] > 0), (5, 17), 0.02, 20_000


def main(runs):
    table = Table(title=f"Answers by proposal, mean of {runs} runs", title_justify="left")
    for name in (
        "data",
        "proposal",
        "best evaluated",
        "V",
        "features",
        "relevant",
        "samples",
        "exact",
        "settled",
        "seconds",
    ):
        table.add_column(name, justify="left" if name in ("data", "proposal") else "right")
    for name, X, y, relevant, epsilon, samples in data_sets():
        for proposal in ("random", "rave", "lookahead"):
            rows = []
            for seed in range(runs):
                started = perf_counter()
                search = SearchOptions(guarantee="grown", max_samples=samples, proposal=proposal)
                found = BestLeafSelector(
                    choose="training",
                    estimator=NeighbourVotes(scale=False),
                    epsilon=epsilon,
                    delta=0.1,
                    search=search,
                    random_state=seed,
                ).fit(X, y)
                share = len(set(found.subset_) & set(relevant)) / len(found.subset_)
                proof = found.certificate_
                cost = (proof.cost.samples, proof.cost.exact_evaluations, proof.settled, perf_counter() - started)
                rows.append((found.evaluated_[0].score, found.score_, len(found.subset_), share, *cost))
            best, value, size, share, drawn, exact, settled, seconds = np.mean(rows, axis=0)
            cells = (f"{best:.4f}", f"{value:.4f}", f"{size:.1f}", f"{share:.2f}", f"{drawn:,.0f}", f"{exact:,.0f}")
            table.add_row(name, proposal, *cells, f"{settled:.0%}", f"{seconds:.1f}")
        table.add_section()
    console.print(table)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # budgets end the searches
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
