"""Samples to stop as the graph grows (the paper's supplement, section B.4), against theorem 2.

15 features at depth one, every value 0.5, epsilon = 0.05, delta = 0.1, expansion exponent b from 0 to 0.4.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bestleaf.experiments.rows import Row, RowFile, compute, mean_and_error, with_error
from bestleaf.problems import ScoreLattice
from bestleaf.search import Search
from bestleaf.theory import tau_max, tau_max_root

EPSILON, DELTA, FEATURES, RUNS = 0.05, 0.1, 15, 10
EXPONENTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
BOUNDS = ("beta1_published", "theory")
CLAIMED_ABOVE = 0.25  # the paper claims agreement with theorem 2 for larger exponents


def case_name(bound: str, exponent: float) -> str:
    """Return what the rows of one point are called."""
    return f"{bound} b={exponent:.2f}"


CASES = {case_name(bound, exponent): (bound, exponent) for bound in BOUNDS for exponent in EXPONENTS}


def run_row(seed: int, case: str, run: int) -> Row:
    """Return the row of one run, which depends on nothing but seed, case and run."""
    bound, exponent = CASES[case]
    stream = np.random.SeedSequence([seed, list(CASES).index(case), run])
    lattice = ScoreLattice([0.0] * FEATURES, FEATURES)
    search = Search(
        lattice, epsilon=EPSILON, delta=DELTA, bound=bound, stopping="paper", expansion=exponent, seed=stream
    )
    search.finish()
    return {"case": case, "run": run, "samples": search.samples, "growths": search.growth.growths}


def reproduce(runs: int, path: Path | None, *, seed: int, n_jobs: int, console: Console) -> list[Row]:
    """Compute (or take up again) all rows."""
    file = RowFile(path, "expansion", {"seed": seed})
    tasks = [(case, run) for case in reversed(CASES) for run in range(runs)]  # the longest first
    compute(file, tasks, lambda case, run: run_row(seed, case, run), n_jobs=n_jobs, chunk=lambda _: 1, console=console)
    return [row for row in file.rows if (row["case"], row["run"]) in set(tasks)]


def limits(exponent: float) -> tuple[float | None, float]:
    """Return (tau_max by theorem 2, the root with the 15 initial leaves counted)."""
    by_theorem = tau_max(exponent, DELTA, EPSILON) if exponent > 0 else None
    return by_theorem, tau_max_root(exponent, DELTA, EPSILON, FEATURES)


def verdict(mean: float, exponent: float) -> str:
    """Say whether the samples stay below theorem 2 where the paper claims they do."""
    bound = limits(exponent)[0]
    if exponent <= CLAIMED_ABOVE or bound is None:
        return "not claimed"
    ratio = mean / bound
    return f"{'below' if mean <= bound else 'ABOVE'} ({ratio:.2f} of tau_max)"


def table(rows: list[Row]) -> Table:
    """Return samples to stop for each rate and exponent beside the theorem."""
    found = Table(title="Samples until LUCB-exMCDS stops (15 arms of value 0.5, epsilon 0.05, delta 0.1)")
    for name in ("rate", "b", "samples ± s.e.", "growths", "tau_max", "root with 15 leaves", "theorem 2 (b > 0.25)"):
        found.add_column(name, justify="left" if name in ("rate", "theorem 2 (b > 0.25)") else "right")
    for case, (bound, exponent) in CASES.items():
        mine = [row for row in rows if row["case"] == case]
        if not mine:
            continue
        mean, error = mean_and_error([row["samples"] for row in mine])
        by_theorem, root = limits(exponent)
        found.add_row(
            bound,
            f"{exponent:.2f}",
            with_error(mean, error),
            f"{mean_and_error([row['growths'] for row in mine])[0]:.0f}",
            "-" if by_theorem is None else f"{by_theorem:,.0f}",
            f"{root:,.0f}",
            verdict(mean, exponent),
        )
    return found


def plot(rows: list[Row], path: Path) -> None:
    """Draw the figure to a PNG or SVG file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for bound, marker in zip(BOUNDS, "os", strict=True):
        points = []
        for exponent in EXPONENTS:
            samples = [row["samples"] for row in rows if row["case"] == case_name(bound, exponent)]
            if samples:
                points.append((exponent, *mean_and_error(samples)))
        if points:
            x, mean, error = np.array(points).T
            axes.errorbar(
                x,
                mean,
                2 * np.where(np.isfinite(error), error, 0.0),
                fmt=f"{marker}-",
                capsize=3,
                label=f"measured, {bound}",
            )
    fine = np.linspace(0.02, max(EXPONENTS), 100)
    axes.plot(fine, [tau_max(b, DELTA, EPSILON) for b in fine], "--", color="black", label=r"$\tau_{\max}$ (theorem 2)")
    axes.plot(fine, [limits(b)[1] for b in fine], ":", color="grey", label=r"root with $|L_0| = 15$")
    axes.axvspan(CLAIMED_ABOVE, max(EXPONENTS), color="0.93", zorder=0, label="agreement claimed")
    axes.set(yscale="log", xlabel="expansion exponent b", ylabel="samples until stop")
    axes.set_title("Samples until LUCB-exMCDS stops", loc="left")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
