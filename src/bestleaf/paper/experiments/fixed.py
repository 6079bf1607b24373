"""Fixed DAG against fixed tree (the paper's supplement, section B.3): samples to the best arm of 6 features.

Scores (-0.3, 0, 0.03, 0.3, 0.4, 0.5), leaves are the subsets of size 3, epsilon = 0, delta = 0.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import median

import numpy as np

from bestleaf.paper.experiments.rows import Experiment, Row, agreement, mean, with_error
from bestleaf.paper.theory import tau_ub, theorem_1
from bestleaf.problems import Problem, Unrolled, paper_lattice
from bestleaf.search import best_arm

DELTA = 0.1
GRAPHS: dict[str, Problem] = {"DAG": paper_lattice(), "tree": Unrolled(paper_lattice())}


@dataclass(frozen=True)
class Case:
    """One line of the table; `published` is None for a line that the paper does not have."""

    method: str  # "tree" or "DAG"
    bound: str
    stopping: str = "paper"
    published: int | None = None  # mean number of samples
    tolerance: float = 0.02  # relative difference that counts as agreement

    def verdict(self, rows: list[Row]) -> str:
        """Say whether the mean number of samples agrees with the published one."""
        if self.published is None:
            return ""
        return agreement([row["samples"] for row in rows], self.published, fewest=30, tolerance=self.tolerance)


# The samples of the last published line have a heavy tail, so its mean is uncertain: hence the larger tolerance.
CASES = {
    f"{case.method} {case.bound} {case.stopping}": case
    for case in (
        Case("tree", "beta1_published", published=478_142),
        Case("DAG", "beta1_published", published=92_446),
        Case("tree", "beta2", published=27_874),
        Case("DAG", "beta2", published=17_495, tolerance=0.15),
        Case("tree", "beta1"),
        Case("DAG", "beta1"),
        Case("tree", "theory"),
        Case("DAG", "theory"),
        Case("DAG", "theory", "sound"),
        Case("DAG", "hoeffding", "sound"),
    )
}


def measured(case: Case, seed: np.random.SeedSequence) -> Row:
    """Return what one run of a line measures."""
    graph, bound, stopping = GRAPHS[case.method], case.bound, case.stopping
    found = best_arm(graph, epsilon=0.0, delta=DELTA, bound=bound, stopping=stopping, seed=seed)
    return {
        "samples": found.samples,
        "updates": found.node_updates,
        "refreshes": found.node_refreshes,
        "arm": int(found.answer[-1][0] if case.method == "tree" else found.answer[0]),
    }


@cache
def bounds(method: str) -> tuple[int, int]:
    """Return the first term of theorem 1 for a graph, and the sum of both."""
    return int(tau_ub(GRAPHS[method], DELTA)), int(theorem_1(GRAPHS[method], DELTA))


def fractions(rows: list[Row]) -> list[float]:
    """Return how often each of the three best arms was recommended."""
    return [sum(row["arm"] == arm for row in rows) / len(rows) for arm in (3, 4, 5)]


EXPERIMENT = Experiment(
    name="fixed",
    cases=CASES,
    runs=10_000,
    extra_runs=1_000,
    measured=measured,
    title="Best arm on 6 features, leaves of size 3 (epsilon 0, delta 0.1)",
    columns={
        "rate": lambda case, mine: case.bound,
        "method": lambda case, mine: case.method,
        "stopping": lambda case, mine: case.stopping,
        "tau_ub": lambda case, mine: f"{bounds(case.method)[0]:,}",
        "theorem 1\nboth terms": lambda case, mine: f"{bounds(case.method)[1]:,}",
        "published": lambda case, mine: f"{case.published:,}" if case.published else "-",
        "ours ± s.e.": lambda case, mine: with_error(mine),
        "median": lambda case, mine: f"{median(row['samples'] for row in mine):,.0f}",
        "verdict": Case.verdict,
        "runs": lambda case, mine: f"{len(mine):,}",
        "nodes/sample\nall ancestors": lambda case, mine: f"{mean(mine, 'updates') / mean(mine, 'samples'):.2f}",
        "nodes/sample\nrefreshed": lambda case, mine: f"{mean(mine, 'refreshes') / mean(mine, 'samples'):.2f}",
        "arms f4 f5 f6": lambda case, mine: " ".join(f"{one:.2f}" for one in fractions(mine)),
        "wrong": lambda case, mine: f"{1 - sum(fractions(mine)):.2%}",
    },
    left=("rate", "method", "stopping", "verdict"),
    notes="""\
tau_ub is 8 H ln(n / delta), the first term of theorem 1; for the tree the paper prints 498,521 where its formula gives
the number above. The paper calls the other terms negligible here; the second one is about half of the first.
beta1_published, (ln n)/delta + ln(ln N + 1), is what the published program computes; beta1 and theory are the rates
as written in the paper. Published: 4 node updates a sample in the tree, 8 in the DAG; arms f4, f5, f6 a third each
in the tree, always f6 in the DAG. The last two rows are the sound stopping rule, which the paper does not have.
Rows the paper does not have use at most 1,000 runs.""",
)
reproduce = EXPERIMENT.reproduce
