"""Samples to stop as the graph grows (the paper's supplement, section B.4), against theorem 2.

15 features at depth one, every value 0.5, epsilon = 0.05, delta = 0.1, expansion exponent b from 0 to 0.4.
"""

from __future__ import annotations

import numpy as np

from bestleaf.paper.experiments.rows import Experiment, Row, mean, mean_and_error, with_error
from bestleaf.paper.theory import tau_max, tau_max_root
from bestleaf.problems import ScoreLattice
from bestleaf.report.drawing import Curve, Picture, draw_curves, standalone
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


EXPERIMENT = Experiment(
    name="expansion",
    cases=CASES,
    runs=10,
    measured=measured,
    title="Samples until LUCB-exMCDS stops (15 arms of value 0.5, epsilon 0.05, delta 0.1)",
    columns={
        "rate": lambda point, mine: point[0],
        "b": lambda point, mine: f"{point[1]:.2f}",
        "samples ± s.e.": lambda point, mine: with_error(mine),
        "growths": lambda point, mine: f"{mean(mine, 'growths'):.0f}",
        "tau_max": lambda point, mine: f"{limits(point[1])[0]:,.0f}" if point[1] > 0 else "-",
        "root with 15 leaves": lambda point, mine: f"{limits(point[1])[1]:,.0f}",
        "theorem 2 (b > 0.25)": lambda point, mine: verdict(mine, point[1]),
    },
    left=("rate", "theorem 2 (b > 0.25)"),
)
reproduce = EXPERIMENT.reproduce


def figure(rows: list[Row]) -> Picture:
    """Return the figure as SVG: what was measured with two standard errors, and the theorem."""
    curves = []
    for bound, kind in zip(BOUNDS, ("", "second"), strict=True):
        samples = {b: [row["samples"] for row in rows if CASES[row["case"]] == (bound, b)] for b in EXPONENTS}
        found = {b: mean_and_error(some) for b, some in samples.items() if some}
        points = [(b, middle) for b, (middle, _) in found.items()]
        errors = [2 * error if np.isfinite(error) else 0.0 for _, error in found.values()]
        if points:
            curves.append(Curve(points, kind, f"measured, {bound}", dots=True, errors=errors))
    fine = np.linspace(0.02, max(EXPONENTS), 100).tolist()
    curves.append(Curve([(b, limits(b)[0]) for b in fine], "theory", "tau_max (theorem 2)"))
    curves.append(Curve([(b, limits(b)[1]) for b in fine], "root", f"root with {FEATURES} leaves"))
    labels = (
        "Samples until LUCB-exMCDS stops",
        "expansion exponent b",
        "samples until stop (shaded: agreement claimed)",
    )
    return standalone(draw_curves(*labels, curves, shaded=(CLAIMED_ABOVE, max(EXPONENTS)), height=400.0, log=True))
