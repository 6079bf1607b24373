"""Samples to stop as the graph grows (the paper's supplement, section B.4), against theorem 2.

15 features at depth one, every value 0.5, epsilon = 0.05, delta = 0.1, expansion exponent b from 0 to 0.4.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bestleaf.paper.experiments.rows import Columns, Experiment, Row, mean, mean_and_error, with_error
from bestleaf.paper.theory import tau_max, tau_max_root
from bestleaf.problems import ScoreLattice
from bestleaf.search import best_arm

EPSILON, DELTA, FEATURES = 0.05, 0.1, 15
EXPONENTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
BOUNDS = ("beta1_published", "theory")
CLAIMED_ABOVE = 0.25  # the paper claims agreement with theorem 2 for larger exponents

Point = tuple[str, float]  # bound and exponent
CASES: dict[str, Point] = {f"{bound} b={b:.2f}": (bound, b) for bound in BOUNDS for b in EXPONENTS}


def measured(point: Point, seed: np.random.SeedSequence) -> Row:
    """Return what one run of a point measures."""
    (bound, b), lattice = point, ScoreLattice([0.0] * FEATURES, FEATURES)
    found = best_arm(lattice, epsilon=EPSILON, delta=DELTA, bound=bound, stopping="paper", expansion=b, seed=seed)
    return {"samples": found.samples, "growths": found.growths}


def limits(b: float) -> tuple[float, float]:
    """Return tau_max of theorem 2 (nan for b = 0), and the root that also counts the 15 leaves at the start."""
    return tau_max(b, DELTA, EPSILON) if b > 0 else np.nan, tau_max_root(b, DELTA, EPSILON, FEATURES)


def verdict(rows: list[Row], b: float) -> str:
    """Say whether the samples stay below theorem 2 where the paper claims that they do, by two standard errors."""
    if b <= CLAIMED_ABOVE:
        return "not claimed"
    middle, error = mean_and_error([row["samples"] for row in rows])
    ratio, doubt = middle / limits(b)[0], 2 * error / limits(b)[0]
    if abs(ratio - 1) <= doubt:
        return "too few runs to tell"
    return f"{'below' if ratio < 1 else 'ABOVE'} ({ratio:.2f} of tau_max)"


COLUMNS: Columns[Point] = {
    "rate": lambda point, mine: point[0],
    "b": lambda point, mine: f"{point[1]:.2f}",
    "samples ± s.e.": lambda point, mine: with_error(mine),
    "growths": lambda point, mine: f"{mean(mine, 'growths'):.0f}",
    "tau_max": lambda point, mine: f"{limits(point[1])[0]:,.0f}" if point[1] > 0 else "-",
    "root with 15 leaves": lambda point, mine: f"{limits(point[1])[1]:,.0f}",
    "theorem 2 (b > 0.25)": lambda point, mine: verdict(mine, point[1]),
}
EXPERIMENT = Experiment(
    name="expansion",
    cases=CASES,
    runs=10,
    measured=measured,
    title="Samples until LUCB-exMCDS stops (15 arms of value 0.5, epsilon 0.05, delta 0.1)",
    columns=COLUMNS,
    left=("rate", "theorem 2 (b > 0.25)"),
)
reproduce = EXPERIMENT.reproduce


def plot(rows: list[Row], path: Path) -> None:
    """Draw the figure to a PNG or SVG file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for bound, marker in zip(BOUNDS, "os", strict=True):
        samples = {b: [row["samples"] for row in rows if CASES[row["case"]] == (bound, b)] for b in EXPONENTS}
        points = [(b, *mean_and_error(found)) for b, found in samples.items() if found]
        if points:
            x, middle, error = np.array(points).T
            spread = 2 * np.where(np.isfinite(error), error, 0.0)
            axes.errorbar(x, middle, spread, fmt=f"{marker}-", capsize=3, label=f"measured, {bound}")
    fine = np.linspace(0.02, max(EXPONENTS), 100)
    by_theorem, root = np.array([limits(b) for b in fine]).T
    axes.plot(fine, by_theorem, "--", color="black", label=r"$\tau_{\max}$ (theorem 2)")
    axes.plot(fine, root, ":", color="grey", label=r"root with $|L_0| = 15$")
    axes.axvspan(CLAIMED_ABOVE, max(EXPONENTS), color="0.93", zorder=0, label="agreement claimed")
    axes.set(yscale="log", xlabel="expansion exponent b", ylabel="samples until stop")
    axes.set_title("Samples until LUCB-exMCDS stops", loc="left")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
