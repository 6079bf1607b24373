"""Feature selection (the paper's section 4): value, number of features and samples on the linear data and Madelon.

epsilon = 0.005, delta = 0.1, b = 0.3. The published settings count ties by the order of the rows, drop rows at distance
0 and do not scale. FUSE gets the published number of samples of the BLI-MCDS line it is compared with.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from bestleaf.certificate.same_data import fingerprint
from bestleaf.checks import shown
from bestleaf.paper.datasets import load_linear, load_madelon, make_linear
from bestleaf.paper.experiments.rows import (
    Column,
    Columns,
    Row,
    RowFile,
    Task,
    agreement,
    chosen,
    mean,
    seed_of,
    table_of,
    with_error,
)
from bestleaf.paper.published import PublishedProposals

RUNS = 15
FEW = 10  # runs below which a standard error says little
HELD_OUT = 500  # rows of Madelon kept from the search in the lines that measure a held-out score
EPSILON = 0.005

Settings = dict[str, Any]  # keywords of the selector
COMMON: Settings = {"epsilon": EPSILON, "delta": 0.1, "expansion": 0.3, "scale": False}
PUBLISHED: Settings = {"stopping": "paper", "ties": "row_order", "drop_zero": True, "proposal": "rave"}
RELEASED: Settings = {**PUBLISHED, "proposal": PublishedProposals}  # choices open as in the published program
SOUND: Settings = {"stopping": "sound", "parsimony": 0, "proposal": "rave"}
OURS: Settings = {"stopping": "sound", "expansion": 0.6}  # the selector's defaults
LIMITED: Settings = {**OURS, "max_samples": 250_000}  # without a limit Madelon would take long
BETA1, BETA2, MADELON = 5_032_404, 440_240, 2_496_391  # published samples
BETA1_LINE, BETA2_LINE = (0.9943, 3.0, BETA1), (0.9943, 3.0, BETA2)  # published V, features, samples


@dataclass(frozen=True)
class Case:
    """One line of the table: a data set, and a method with its settings."""

    data: str
    method: str
    settings: Settings
    published: tuple[float, float, int] | None = None  # V, features, samples
    time_of: str | None = None  # the case whose mean time is the limit of this one

    def verdicts(self, rows: list[Row]) -> dict[str, str]:
        """Say whether V, the number of features and the samples agree with the published ones."""
        if self.published is None:
            return {}
        value, features, samples = self.published
        measured = {  # values, published mean, half a unit of the last digit that the paper prints
            "V": ([row["value"] for row in rows], value, 0.00005),
            "features": ([len(row["subset"]) for row in rows], features, 0.005),
        }
        if "algorithm" not in self.settings:  # a rival gets the published number of samples
            measured["samples"] = ([row["samples"] for row in rows], samples, 0.5)
        return {
            name: agreement(found, there, fewest=FEW, tolerance=rounding / there)
            for name, (found, there, rounding) in measured.items()
        }


def bli(
    data: str,
    bound: str,
    settings: Settings = PUBLISHED,
    *,
    published: tuple[float, float, int] | None = None,
    time_of: str | None = None,
) -> Case:
    """Return a line of best leaf identification with some bound."""
    program = ", program" if settings is RELEASED else ""
    return Case(data, f"BLI {bound}{program}", {"bound": bound, **settings}, published, time_of)


def rival(data: str, algorithm: str, samples: int, published: tuple[float, float, int] | None = None) -> Case:
    """Return a line of a rival with so many samples."""
    settings = {"algorithm": algorithm, "max_samples": samples, "ties": "row_order", "drop_zero": True}
    return Case(data, algorithm, settings, published)


CASES = {
    "linear beta1_published paper": bli("linear", "beta1_published", published=BETA1_LINE),
    "linear beta1 paper": bli("linear", "beta1"),
    "linear beta2 paper": bli("linear", "beta2", published=BETA2_LINE),
    "linear beta2 sound": bli("linear", "beta2", SOUND),
    "linear betting sound": bli("linear", "betting", OURS),
    "linear fuse, samples of beta1": rival("linear", "fuse", BETA1, (0.9873, 2.33, BETA1)),
    "linear fuse": rival("linear", "fuse", BETA2, (0.9872, 2.4, BETA2)),
    "linear fuse-ucd": rival("linear", "fuse-ucd", BETA2),
    "linear alphafuse": rival("linear", "alphafuse", BETA2),
    "madelon beta2 paper": bli("madelon", "beta2", published=(0.9459, 7.2, MADELON)),
    "madelon fuse": rival("madelon", "fuse", MADELON, (0.9473, 6.33, MADELON)),
    "madelon fuse-ucd": rival("madelon", "fuse-ucd", MADELON),
    "madelon alphafuse": rival("madelon", "alphafuse", MADELON),
    "madelon betting, time of fuse": bli("madelon", "betting", OURS, time_of="madelon fuse"),
    "madelon betting sound": bli("madelon", "betting", LIMITED),
    "madelon less 500 rows, betting sound": bli("madelon less 500 rows", "betting", LIMITED),
    "linear beta1_published, program's openings": bli("linear", "beta1_published", RELEASED, published=BETA1_LINE),
    "linear beta2, program's openings": bli("linear", "beta2", RELEASED, published=BETA2_LINE),
}
LINES = tuple(CASES)


class Data(NamedTuple):
    """The data that are searched, the features that matter for the label, and the held-out rows."""

    X: np.ndarray
    y: np.ndarray
    relevant: tuple[int, ...]
    held_out: tuple[np.ndarray, np.ndarray] | None

    def held_out_score(self, subset: list[int]) -> float | None:
        """Return the AUC of 5 nearest neighbours on the held-out rows."""
        from bestleaf.features.neighbours import NeighbourVotes
        from bestleaf.new_data import votes_score

        if self.held_out is None:
            return None
        X, y = self.held_out
        return votes_score(NeighbourVotes(scale=False), self.X[:, subset], self.y, X[:, subset], y).score


def read(sources: dict[str, Path]) -> dict[str, Data]:
    """Return the data sets: always the linear one, and Madelon if its path is given."""
    if strange := sorted(set(sources) - {"madelon"}):
        raise ValueError(f"--data must be madelon=PATH, got a data set called {strange[0]!r}")
    X, y = load_linear(return_X_y=True)
    made_of_xyz, held_out = tuple(range(10)), make_linear(5000, 30, seed=2019, return_X_y=True)
    found = {"linear": Data(X, y, made_of_xyz, held_out)}
    if "madelon" in sources:
        X, y, relevant = (load_madelon(sources["madelon"])[name] for name in ("data", "target", "relevant"))
        order = np.random.default_rng(2019).permutation(len(X))
        kept, aside = order[HELD_OUT:], order[:HELD_OUT]
        found["madelon"] = Data(X, y, relevant, None)
        found["madelon less 500 rows"] = Data(X[kept], y[kept], relevant, (X[aside], y[aside]))
    return found


def run_row(data: dict[str, Data], seed: int, name: str, run: int, **settings: Any) -> Row:
    """Return the row of one run; `settings` are further keywords of the selector."""
    from bestleaf.rivals.fuse_selector import selector_from

    case = CASES[name]
    there, number = data[case.data], int(seed_of(seed, CASES, name, run).generate_state(1)[0])
    started = perf_counter()
    selector = selector_from(choose="training", random_state=number, **{**COMMON, **case.settings, **settings})
    found = selector.fit(there.X, there.y).certificate_
    if found.reason == "interrupted":
        raise KeyboardInterrupt
    subset = [int(feature) for feature in selector.subset_]
    return {
        "case": name,
        "run": run,
        "subset": subset,
        "value": selector.score_,
        "best": selector.evaluated_[0].score,
        "samples": found.samples,
        "exact": found.exact_evaluations,
        "reason": found.reason,
        "precision": len(set(subset) & set(there.relevant)) / len(subset),
        "held_out": there.held_out_score(subset),
        "seconds": perf_counter() - started,
    }


def plan(runs: int, names: Sequence[str], available: Container[str]) -> list[Task]:
    """Return the runs of the lines asked for, by default of all whose data set is there; `time_of` comes first."""
    lines = chosen(names, LINES)
    if names:
        for line in lines:
            if CASES[line].data not in available:
                raise ValueError(f"the row {shown(line)} needs --data madelon=PATH")
    lines += [before for line in lines if (before := CASES[line].time_of) and before not in lines]
    lines = [line for line in lines if CASES[line].data in available]
    return [(line, run) for line in lines for run in range(runs)]


def reproduce(
    runs: int,
    path: Path | None,
    names: Sequence[str] = (),
    *,
    seed: int,
    n_jobs: int,
    console: Console,
    sources: dict[str, Path] | None = None,
    settings: Settings | None = None,
) -> list[Row]:
    """Return the rows of the lines asked for; compute those that the file does not have yet.

    `settings` are further keywords of the selector. A line whose time is that of another one brings that one along.
    """
    data, more = read(sources or {}), settings or {}
    tasks = plan(runs, names, data)
    prints = {name: fingerprint(one.X, one.y)[:16] for name, one in data.items()}
    file, rows = RowFile(path, "selection", {"seed": seed, "data": prints, **more}), list[Row]()

    def run_one(name: str, run: int) -> Row:
        paid = [row for row in rows if row["case"] == CASES[name].time_of]
        limit = {"max_time": mean(paid, "seconds")} if paid else {}
        return run_row(data, seed, name, run, **limit, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `reason` already tells which searches a budget ended
        for later in (False, True):  # a case with `time_of` needs the rows of that case first
            now = [task for task in tasks if bool(CASES[task[0]].time_of) == later]
            rows = file.complete(now, run_one, n_jobs=n_jobs, console=console)
    return rows


def table(rows: list[Row]) -> Table:
    """Return the paper's table, with lines and columns that the paper does not have."""

    def published(place: int, form: str) -> Column[Case]:
        return lambda case, mine: "-" if case.published is None else format(case.published[place], form)

    def ours(name: str, form: str) -> Column[Case]:
        return lambda case, mine: "-" if mine[0][name] is None else format(mean(mine, name), form)

    def number_of_runs(case: Case, mine: list[Row]) -> str:
        settled = "algorithm" in case.settings or all(row["reason"] == "identified" for row in mine)
        return str(len(mine)) + ("" if settled else " (not all settled)")

    columns: Columns[Case] = {
        "data": lambda case, mine: case.data,
        "method": lambda case, mine: case.method,
        "stopping": lambda case, mine: case.settings.get("stopping", "budget"),
        "ties": lambda case, mine: case.settings.get("ties", "half"),
        "V\npublished": published(0, ".4f"),
        "V\nours": ours("value", ".4f"),
        "features\npublished": published(1, ".2f"),
        "features\nours": lambda case, mine: f"{sum(len(row['subset']) for row in mine) / len(mine):.2f}",
        "samples\npublished": published(2, ","),
        "samples\nours ± s.e.": lambda case, mine: with_error(mine),
        "exact\nvalues": ours("exact", ".0f"),
        "within\nepsilon": lambda case, mine: f"{sum(r['value'] >= r['best'] - EPSILON for r in mine)} of {len(mine)}",
        "relevant": ours("precision", ".2f"),
        "held-out\nAUC": ours("held_out", ".4f"),
        "s a run": ours("seconds", ".1f"),
        "runs": number_of_runs,
    }
    title = "Feature selection (epsilon 0.005, delta 0.1, b 0.3)"
    return table_of(title, columns, CASES, rows, left=("data", "method", "stopping", "ties"))


def verdicts(rows: list[Row]) -> Table:
    """Return which figures of the published lines agree with ours."""
    measures = ("V", "features", "samples")
    found = Table("case", *measures, title="Beside the paper", title_justify="left")
    for name, case in CASES.items():
        mine = [row for row in rows if row["case"] == name]
        if mine and case.published is not None:
            said = case.verdicts(mine)
            found.add_row(name, *(said.get(measure, "given") for measure in measures))
    return found


def answers(rows: list[Row]) -> Table:
    """Return how often each subset was the answer."""
    found = Table("case", "subset (features from 0)", title="Answers", title_justify="left")
    for name in ("V", "runs"):
        found.add_column(name, justify="right")
    counts = Counter((list(CASES).index(row["case"]), tuple(row["subset"]), row["value"]) for row in rows)
    for (case, subset, value), times in sorted(counts.items(), key=lambda item: (item[0][0], -item[1])):
        found.add_row(list(CASES)[case], " ".join(map(str, subset)), f"{value:.4f}", str(times))
    return found


NOTES = """\
V is the value the search maximises on its own data; "within epsilon" counts the runs whose answer is within 0.005 of \
the best subset evaluated in that run. "relevant" is the share of the answer's features that are made of x, y, z \
(linear) or depend on the label (Madelon). The held-out AUC is that of 5 nearest neighbours on examples the search has \
not seen. beta1_published, (ln n)/delta + ln(ln N + 1), is what the published program computes, beta1 the rate as \
written. "program": pairs of the seven features that a choice opens with also get their terminal states and a third \
feature, as in the published program. beta2 with stopping "sound" answers with the best subset evaluated. "betting" \
is the selector as it is by default (b = 0.6, small subsets preferred), and rigorous; beta1, beta2 and stopping \
"paper" are not. FUSE and its relatives get the published number of samples and prove nothing."""
