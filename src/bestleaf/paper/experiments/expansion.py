"""Samples to stop as the graph grows (the paper's supplement, section B.4), against theorem 2.

15 features at depth one, every value 0.5, epsilon = 0.05, delta = 0.1, expansion exponent b from 0 to 0.4.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from bestleaf.paper.experiments.table import Line, PaperTable, with_error
from bestleaf.paper.runs import Row
from bestleaf.paper.theory import tau_max, tau_max_root
from bestleaf.problems import ScoreLattice
from bestleaf.report.drawing import Curve, Picture, draw_curves, standalone
from bestleaf.search import best_arm

EPSILON, DELTA, FEATURES = 0.05, 0.1, 15
EXPONENTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
BOUNDS = ("beta1_published", "theory")
CLAIMED_ABOVE = 0.25  # the paper claims agreement with theorem 2 for larger exponents

COMMON = {"epsilon": EPSILON, "delta": DELTA, "stopping": "paper"}
LINES = {
    f"{bound} b={b:.2f}": Line("15 arms", {"bound": bound, "expansion": b, **COMMON})
    for bound in BOUNDS
    for b in EXPONENTS
}


def measured(problem: ScoreLattice, *, seed: int, **settings: object) -> Row:
    """Return what one run of a point measures."""
    found = best_arm(problem, seed=seed, **settings)
    cost = {"samples": found.samples, "seconds": found.seconds, "growths": found.growths}
    return {**cost, "gap": found.gap, "reason": found.reason}


def limits(b: float) -> tuple[float, float]:
    """Return tau_max of theorem 2 (nan for b = 0), and the root that also counts the 15 leaves at the start."""
    return tau_max(b, DELTA, EPSILON) if b > 0 else np.nan, tau_max_root(b, DELTA, EPSILON, FEATURES)


def verdict(runs: pd.DataFrame, b: float) -> str:
    """Say whether the samples stay below theorem 2 where the paper claims that they do, by two standard errors."""
    if b <= CLAIMED_ABOVE:
        return "not claimed"
    ratio, doubt = runs["samples"].mean() / limits(b)[0], 2 * runs["samples"].sem() / limits(b)[0]
    if not abs(ratio - 1) > doubt:  # nan for one run
        return "too few runs to tell"
    return f"{'below' if ratio < 1 else 'ABOVE'} ({ratio:.2f} of tau_max)"


EXPERIMENT = PaperTable(
    name="expansion",
    lines=LINES,
    runs=10,
    problems=lambda files: {"15 arms": ScoreLattice([0.0] * FEATURES, FEATURES)},
    measured=measured,
    title="Samples until LUCB-exMCDS stops (15 arms of value 0.5, epsilon 0.05, delta 0.1)",
    columns={
        "rate": lambda line, runs: line.settings["bound"],
        "b": lambda line, runs: f"{line.settings['expansion']:.2f}",
        "samples ± s.e.": lambda line, runs: with_error(runs),
        "growths": lambda line, runs: f"{runs['growths'].mean():.0f}",
        "tau_max": lambda line, runs: f"{limits(b)[0]:,.0f}" if (b := line.settings["expansion"]) else "-",
        "root with 15 leaves": lambda line, runs: f"{limits(line.settings['expansion'])[1]:,.0f}",
        "theorem 2 (b > 0.25)": lambda line, runs: verdict(runs, line.settings["expansion"]),
    },
    left=("rate", "theorem 2 (b > 0.25)"),
)


def figure(runs: pd.DataFrame) -> Picture:
    """Return the figure as SVG: what was measured with two standard errors, and the theorem."""
    curves, samples = [], runs.groupby("setting")["samples"]
    middle, error = samples.mean(), 2 * samples.sem().fillna(0.0)
    for bound, kind in zip(BOUNDS, ("", "second"), strict=True):
        mine = [name for name, line in LINES.items() if line.settings["bound"] == bound and name in middle]
        points = [(LINES[name].settings["expansion"], float(middle[name])) for name in mine]
        if points:
            errors = [float(error[name]) for name in mine]
            curves.append(Curve(points, kind, f"measured, {bound}", dots=True, errors=errors))
    fine = np.linspace(0.02, max(EXPONENTS), 100).tolist()
    curves.append(Curve([(b, limits(b)[0]) for b in fine], "theory", "tau_max (theorem 2)"))
    curves.append(Curve([(b, limits(b)[1]) for b in fine], "root", f"root with {FEATURES} leaves"))
    below = "samples until stop (shaded: agreement claimed)"
    labels = ("Samples until LUCB-exMCDS stops", "expansion exponent b", below)
    return standalone(draw_curves(*labels, curves, (CLAIMED_ABOVE, max(EXPONENTS))))
