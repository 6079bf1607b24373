"""Feature selection (the paper's section 4): value, number of features and samples on the linear data and Madelon.

epsilon = 0.005, delta = 0.1, b = 0.3. The published settings count ties by the order of the rows, drop rows at distance
0 and do not scale. FUSE gets the published number of samples of the BLI-MCDS line it is compared with.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle, NeighbourVotes
from bestleaf.features.rows import fingerprint
from bestleaf.paper.datasets import load_linear, load_madelon
from bestleaf.paper.experiments.table import Column, Line, PaperTable, with_error
from bestleaf.paper.fuse import fuse_search
from bestleaf.paper.published import PublishedProposals
from bestleaf.paper.runs import Row
from bestleaf.selection.selector import BestLeafSelector, SearchOptions

EPSILON = 0.005

Settings = dict[str, Any]  # keywords of the selector, or of `fuse_search`
VOTES: Settings = {"ties": "row_order", "drop_zero": True}  # as in the published program
PUBLISHED: Settings = {"stopping": "paper", "proposal": "rave", **VOTES}
RELEASED: Settings = {**PUBLISHED, "proposal": PublishedProposals}  # choices open as in the published program
OURS: Settings = {"stopping": "sound", "expansion": 0.6}  # the selector's defaults
RIVALS: dict[str, Settings] = {"fuse": {}, "fuse-ucd": {"variant": "ucd"}, "alphafuse": {"backup": 0.5}}
BETA1, BETA2, MADELON = 5_032_404, 440_240, 2_496_391  # published samples


Published = tuple[float, float, int]  # V, features, samples


def line(data: str, method: str, settings: Settings, published: Published | None = None) -> Line:
    """Return a line. A mean agrees within half a unit of the last digit that the paper prints."""
    if published is None:
        return Line(data, {"method": method, **settings})
    means = dict(zip(("value", "features", "samples"), published, strict=True))
    compared = {"value": 0.00005, "features": 0.005} | ({} if method in RIVALS else {"samples": 0.5})
    within = {name: rounding / means[name] for name, rounding in compared.items()}
    return Line(data, {"method": method, **settings}, means, within)


def bli(data: str, bound: str, settings: Settings = PUBLISHED, published: Published | None = None) -> Line:
    """Return a line of best leaf identification with some bound."""
    program = ", program" if settings is RELEASED else ""
    return line(data, f"BLI {bound}{program}", {"bound": bound, **settings}, published)


def rival(data: str, method: str, samples: int, published: Published | None = None) -> Line:
    """Return a line of a rival with so many samples: the published number, so that it is not compared."""
    return line(data, method, {**RIVALS[method], "max_samples": samples}, published)


LINES = {
    "linear beta1_published paper": bli("linear", "beta1_published", published=(0.9943, 3.0, BETA1)),
    "linear beta1 paper": bli("linear", "beta1"),
    "linear beta2 paper": bli("linear", "beta2", published=(0.9943, 3.0, BETA2)),
    "linear beta2 sound": bli("linear", "beta2", {"stopping": "sound", "parsimony": 0.0, "proposal": "rave"}),
    "linear betting sound": bli("linear", "betting", OURS),
    "linear fuse, samples of beta1": rival("linear", "fuse", BETA1, (0.9873, 2.33, BETA1)),
    "linear fuse": rival("linear", "fuse", BETA2, (0.9872, 2.4, BETA2)),
    "linear fuse-ucd": rival("linear", "fuse-ucd", BETA2),
    "linear alphafuse": rival("linear", "alphafuse", BETA2),
    "madelon beta2 paper": bli("madelon", "beta2", published=(0.9459, 7.2, MADELON)),
    "madelon fuse": rival("madelon", "fuse", MADELON, (0.9473, 6.33, MADELON)),
    "madelon fuse-ucd": rival("madelon", "fuse-ucd", MADELON),
    "madelon alphafuse": rival("madelon", "alphafuse", MADELON),
    # Without a limit it would take long.
    "madelon betting sound": bli("madelon", "betting", {**OURS, "max_samples": 250_000}),
    "linear beta1_published, program's openings": bli("linear", "beta1_published", RELEASED, (0.9943, 3.0, BETA1)),
    "linear beta2, program's openings": bli("linear", "beta2", RELEASED, (0.9943, 3.0, BETA2)),
}


class SearchedData(NamedTuple):
    """The data that are searched, and the features that matter for the label."""

    X: np.ndarray
    y: np.ndarray
    relevant: tuple[int, ...]

    def fingerprint(self) -> str:
        """Return a hash of the data."""
        return fingerprint(self.X, self.y)


def read(files: Mapping[str, Path]) -> dict[str, SearchedData]:
    """Return the data sets: always the linear one, and Madelon if its path is given."""
    if strange := sorted(set(files) - {"madelon"}):
        raise ValueError(f"--data must be madelon=PATH, got a data set called {strange[0]!r}")
    X, y = load_linear(return_X_y=True)
    found = {"linear": SearchedData(X, y, tuple(range(10)))}
    if "madelon" in files:
        bunch = load_madelon(files["madelon"])
        found["madelon"] = SearchedData(bunch.data, bunch.target, bunch.relevant)
    return found


def measured(data: SearchedData, *, seed: int, method: str, **settings: Any) -> Row:
    """Return what one run of a line measures."""
    begun = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `reason` already tells which searches a budget ended
        row = (_recommended if method in RIVALS else _selected)(data, settings, seed)
    precision = len(set(row["subset"]) & set(data.relevant)) / len(row["subset"])
    return {**row, "features": len(row["subset"]), "precision": precision, "seconds": perf_counter() - begun}


def _selected(there: SearchedData, settings: Settings, seed: int) -> Row:
    """Select features by best leaf identification."""
    given = {"epsilon": EPSILON, "delta": 0.1, "expansion": 0.3, **settings}
    votes = NeighbourVotes(scale=False, **{name: given.pop(name) for name in VOTES if name in given})
    options = SearchOptions(**{name: given.pop(name) for name in signature(SearchOptions).parameters if name in given})
    selector = BestLeafSelector(votes, choose="training", random_state=seed % 2**32, search=options, **given)
    selector.fit(there.X, there.y)
    found = selector.certificate_
    cost = {"samples": found.cost.samples, "exact": found.cost.exact_evaluations, "reason": found.reason}
    subset = [int(feature) for feature in selector.subset_]
    return {"subset": subset, "value": selector.score_, "best": selector.evaluated_[0].score, **cost}


def _recommended(there: SearchedData, settings: Settings, seed: int) -> Row:
    """Select features by FUSE or one of its relatives."""
    lattice = FeatureLattice(KNNOracle(there.X, there.y, scale=False, **VOTES))
    found = fuse_search(lattice, seed=seed, **settings)
    cost = {"samples": found.samples, "exact": found.exact_evaluations, "reason": found.reason}
    return {"subset": list(found.answer), "value": found.value, "best": max(found.values.values()), **cost}


def published(name: str, form: str) -> Column:
    """Return the column of a published figure."""
    return lambda line, runs: format(line.published[name], form) if line.published else "-"


def ours(name: str, form: str) -> Column:
    """Return the column of a mean."""
    return lambda line, runs: format(runs[name].mean(), form)


def within_epsilon(line: Line, runs: pd.DataFrame) -> str:
    """Return how many answers are within epsilon of the best subset that was evaluated."""
    return f"{(runs['value'] >= runs['best'] - EPSILON).sum()} of {len(runs)}"


def number_of_runs(line: Line, runs: pd.DataFrame) -> str:
    """Return the number of runs, and whether a budget ended some of them."""
    settled = line.settings["method"] in RIVALS or (runs["reason"] == "settled").all()
    return str(len(runs)) + ("" if settled else " (not all settled)")


EXPERIMENT = PaperTable(
    name="selection",
    lines=LINES,
    runs=15,
    problems=read,
    measured=measured,
    title="Feature selection (epsilon 0.005, delta 0.1, b 0.3)",
    columns={
        "data": lambda line, runs: line.problem,
        "method": lambda line, runs: line.settings["method"],
        "stopping": lambda line, runs: line.settings.get("stopping", "budget"),
        "ties": lambda line, runs: line.settings.get(
            "ties", "row_order" if "fuse" in line.settings["method"] else "half"
        ),
        "V\npublished": published("value", ".4f"),
        "V\nours": ours("value", ".4f"),
        "features\npublished": published("features", ".2f"),
        "features\nours": ours("features", ".2f"),
        "samples\npublished": published("samples", ","),
        "samples\nours ± s.e.": lambda line, runs: with_error(runs),
        "verdict": lambda line, runs: "\n".join(
            f"{name} {said}" for name, said in line.verdicts(runs, fewest=10).items()
        ),
        "exact\nvalues": ours("exact", ".0f"),
        "within\nepsilon": within_epsilon,
        "relevant": ours("precision", ".2f"),
        "s a run": ours("seconds", ".1f"),
        "runs": number_of_runs,
    },
    left=("data", "method", "stopping", "ties", "verdict"),
    notes="""\
V ("value") is what the search maximises on its own data; "within epsilon" counts the runs whose answer is within
0.005 of the best subset evaluated in that run. "relevant" is the share of the answer's features that are made of x, y,
z (linear) or depend on the label (Madelon). beta1_published, (ln n)/delta + ln(ln N + 1), is what the published program
computes, beta1 the rate as written. "program": pairs of the seven features that a choice opens with also get their
terminal states and a third feature, as in the published program. beta2 with stopping "sound" answers with the best
subset evaluated. "betting" is the selector as it is by default (b = 0.6, small subsets preferred), and rigorous; beta1,
beta2 and stopping "paper" are not. FUSE and its relatives get the published number of samples and prove nothing.""",
)
