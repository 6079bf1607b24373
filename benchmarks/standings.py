"""What `new_data.py` found, as one table, and whether it shows what it must show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binom
from tables import GENES

from bestleaf.features.scoring import corrected_error
from bestleaf.tables.peers import PEERS

Record = dict[str, Any]  # one line of the file of results
HELD_OUT, KEPT = 1, 3  # a quarter of the rows is held out
TITLES = {
    "all": "all features",
    "bestleaf-parsimony": "bestleaf, parsimony 1",
    "bestleaf-training": "bestleaf, by training rows",
    "floating-relevant": "floating selection, relevant known",
    "relevant": "all relevant, known",
    **{key: peer.title for key, peer in PEERS.items()},
}


class Cell(NamedTuple):
    """A method on a table: means over the splits, and the AUC of each split."""

    aucs: dict[int, float]
    features: float
    seconds: float

    @property
    def auc(self) -> float:
        return float(np.mean(list(self.aucs.values())))

    @property
    def error(self) -> float:
        """Standard error of the mean over splits of the same rows."""
        many = len(self.aucs)
        return corrected_error(list(self.aucs.values()), [HELD_OUT] * many, [KEPT] * many)


class Paired(NamedTuple):
    """How much better one method is than another on the tables that both have done; its standard error over tables."""

    difference: float
    error: float
    by_table: dict[str, float]

    def __str__(self) -> str:
        return f"{self.difference:+.4f}{_plus_minus(self.error, 4)} (tables: {len(self.by_table)})"


class Line(NamedTuple):
    """Something that the benchmark must show; `met` is None if it was not run."""

    text: str
    met: bool | None
    figure: str


class Standings:
    """Results of all methods on all tables; a method that failed on a split of a table has no result there."""

    def __init__(self, records: list[Record]) -> None:
        self.tables: dict[str, str] = {}
        self.failures: dict[tuple[str, str], list[str]] = {}
        self.cells: dict[tuple[str, str], Cell] = {}
        self.noise: list[Record] = []
        self.stand_ins = {one["method"] for one in records if "unknown" in one}  # of methods this version lacks
        done: dict[tuple[str, str], list[Record]] = {}
        for one in sorted(records, key=lambda one: (one["rows"] * one["columns"], one["table"], one["split"])):
            key = one["table"], one["method"]
            if one["table"].startswith("noise "):
                self.noise.append(one)
                continue
            self.tables[one["table"]] = f"{one['table']}\n{one['rows']} x {one['columns']}"
            if "failed" in one:
                self.failures.setdefault(key, []).append(one["failed"])
            else:
                done.setdefault(key, []).append(one)
        for key, ones in done.items():
            if key not in self.failures:
                aucs = {one["split"]: one["auc"] for one in ones}
                features, seconds = (float(np.mean([one[name] for one in ones])) for name in ("features", "seconds"))
                self.cells[key] = Cell(aucs, features, seconds)

    def of(self, method: str) -> dict[str, Cell]:
        """Return the results of a method, by table."""
        return {table: self.cells[table, method] for table in self.tables if (table, method) in self.cells}

    def paired(self, method: str, other: str) -> Paired | None:
        """Return how much better a method is than another one, on the splits and tables that both have done."""
        by_table, theirs = {}, self.of(other)
        for table, cell in self.of(method).items():
            if table in theirs and (both := cell.aucs.keys() & theirs[table].aucs.keys()):
                by_table[table] = float(np.mean([cell.aucs[one] - theirs[table].aucs[one] for one in both]))
        if not by_table or method in self.stand_ins:
            return None
        found = np.array(list(by_table.values()))
        error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
        return Paired(float(found.mean()), float(error), by_table)

    def ratio(self, method: str, other: str, what: str) -> tuple[float, float] | None:
        """Return the mean features or seconds of two methods on the tables that both have done."""
        ours, theirs = self.of(method), self.of(other)
        both = [table for table in ours if table in theirs]
        if not both or method in self.stand_ins:
            return None
        first, second = (float(np.mean([getattr(one[table], what) for table in both])) for one in (ours, theirs))
        return first, second


def show(records: list[Record], methods: list[str], console: Console) -> None:
    """Print the table of all results, what failed, and the lines of what must be shown."""
    found = Standings(records)
    shown = [method for method in methods if any(method == one["method"] for one in records)]
    table = Table(title="Held-out AUC ± standard error; features, seconds of the processor", show_lines=True)
    for name in ("table", *(TITLES.get(method, method) for method in shown)):
        table.add_column(name, justify="left" if name == "table" else "right", max_width=14)
    for name, title in found.tables.items():
        table.add_row(title, *(_in_cell(found, name, method) for method in shown))
    means = {method: list(found.of(method).values()) for method in shown}
    table.add_row("mean over\ntables done", *(_mean(cells) for cells in means.values()))
    pairs = [found.paired("bestleaf", method) for method in shown]
    differences = ("" if one is None else f"{one.difference:+.4f}\n{_plus_minus(one.error, 4)}" for one in pairs)
    table.add_row("bestleaf\nminus it", *differences)
    console.print(table)
    for (name, method), reasons in found.failures.items():
        again = f" ({len(reasons)} splits)" if len(reasons) > 1 else ""
        console.print(f"- {TITLES.get(method, method)} on {name}: {reasons[0]}{again}", markup=False)
    for method, names in {one["method"]: one["unknown"] for one in records if "unknown" in one}.items():
        lacks = f"this version has no keyword {', '.join(names)}, so it is the default"
        console.print(f"- {TITLES.get(method, method)}: {lacks}", markup=False)
    console.print("\nMust show")
    estimator = records[0]["estimator"] if records else "neighbours"
    for line in lines_with_neighbours(found) if estimator == "neighbours" else lines_with_estimator(found):
        verdict = {True: "met", False: "NOT MET", None: "not run"}[line.met]
        console.print(f"{verdict:>8}  {line.text}: {line.figure}", markup=False, soft_wrap=True)
    for sentence in sorted({text for one in found.noise for text in one.get("says", ())})[:5]:
        console.print(f"          said of pure noise: {sentence}", markup=False, soft_wrap=True)


def _in_cell(found: Standings, table: str, method: str) -> str:
    cell = found.cells.get((table, method))
    if cell is None:
        return "-" if (table, method) in found.failures else ""
    return f"{cell.auc:.4f}{_plus_minus(cell.error, 3)}\n{cell.features:.1f}, {cell.seconds:.1f} s"


def _plus_minus(error: float, digits: int) -> str:
    """Return a standard error in words; nothing where it is not known."""
    return "" if np.isnan(error) else f" ±{error:.{digits}f}"


def _mean(cells: list[Cell]) -> str:
    if not cells:
        return ""
    auc, features, seconds = (
        np.mean([getattr(cell, name) for cell in cells]) for name in ("auc", "features", "seconds")
    )
    return f"{auc:.4f} of {len(cells)}\n{features:.1f}, {seconds:.1f} s"


def lines_with_neighbours(found: Standings) -> Iterable[Line]:
    """Return what must be shown with nearest neighbours."""
    yield _ended(found)
    for method in ("all", *PEERS):
        yield _at_least(f"mean AUC at least that of {TITLES[method]}", found.paired("bestleaf", method))
    yield _less("fewer features than RFECV", found.ratio("bestleaf", "rfecv", "features"), strictly=True)
    yield _less("at most the time of RFECV (seconds)", found.ratio("bestleaf", "rfecv", "seconds"))
    if pair := found.paired("bestleaf", "all"):
        worst = min(pair.by_table, key=pair.by_table.__getitem__)
        figure = f"worst is {worst}, {pair.by_table[worst]:+.4f}"
        yield Line("on no table worse than all features by more than 0.01", pair.by_table[worst] >= -0.01, figure)
    for table in ("Madelon", "WaveformEW", "Arrhythmia", *GENES):
        for other in ("all", "forward"):
            yield _above_on(found, table, other)
    yield _near_on_madelon(found)
    half = found.ratio("bestleaf-parsimony", "rfecv", "features")
    yield _less("parsimony 1: at most half of RFECV's features", half, 0.5)
    yield _at_least("parsimony 1: within 0.01 of all features", found.paired("bestleaf-parsimony", "all"), -0.01)
    yield _at_least("parsimony 1: 0.01 above forward selection", found.paired("bestleaf-parsimony", "forward"), 0.01)
    yield _noise(found.noise)


def lines_with_estimator(found: Standings) -> Iterable[Line]:
    """Return what must be shown with another estimator."""
    yield _ended(found)
    for other in ("rfecv", "forward"):
        yield _at_least(f"mean AUC at least that of {TITLES[other]}", found.paired("bestleaf", other))
        yield _less(f"at most the time of {TITLES[other]} (seconds)", found.ratio("bestleaf", other, "seconds"))


def _ended(found: Standings) -> Line:
    """Return whether bestleaf was never stopped; the other lines are about tables where it was not."""
    text, failed = "bestleaf has a result on every table", [one for one, by in found.failures if by == "bestleaf"]
    if not failed and not found.of("bestleaf"):
        return Line(text, None, "")
    return Line(text, not failed, f"not on {', '.join(failed)}" if failed else f"on {len(found.of('bestleaf'))}")


def _at_least(text: str, pair: Paired | None, least: float = 0.0) -> Line:
    return Line(text, None, "") if pair is None else Line(text, pair.difference >= least, str(pair))


def _less(text: str, means: tuple[float, float] | None, factor: float = 1.0, *, strictly: bool = False) -> Line:
    if means is None:
        return Line(text, None, "")
    ours, theirs = means
    met = ours < theirs if strictly else ours <= factor * theirs
    return Line(text, met, f"{ours:.1f} and {theirs:.1f}")


def _above_on(found: Standings, table: str, other: str) -> Line:
    """Return whether a table is won; where both rank every row rightly, nothing is left to win."""
    text = f"on {table} above {TITLES[other]}"
    ours, theirs = found.of("bestleaf").get(table), found.of(other).get(table)
    if ours is None or theirs is None:
        return Line(text, None, "-" if (table, other) in found.failures else "")
    perfect = " (both perfect)" if ours.auc == theirs.auc == 1.0 else ""
    return Line(text, ours.auc > theirs.auc or bool(perfect), f"{ours.auc:.4f} and {theirs.auc:.4f}{perfect}")


def _near_on_madelon(found: Standings) -> Line:
    text = "on Madelon within 0.003 of floating selection that knows the relevant features"
    pair = found.paired("bestleaf", "floating-relevant")
    return Line(text, None, "") if pair is None else Line(text, pair.difference >= -0.003, f"{pair.difference:+.4f}")


def _noise(records: list[Record]) -> Line:
    """Return whether the left-out score of pure noise is 0.5 within its interval of 95%.

    More tables outside of it than a binomial count of 5% gives in 99 of 100 runs are too many.
    """
    text = "pure noise: the left-out score is 0.5 within its interval of 95%"
    told = [one for one in records if one.get("standard_error") is not None]
    if not told:
        return Line(text, None, "")
    far = sum(abs(one["left_out"] - 0.5) > 1.96 * one["standard_error"] for one in told)
    mean, most = float(np.mean([one["left_out"] for one in told])), int(binom.ppf(0.99, len(told), 0.05))
    figure = f"outside on {far} of {len(told)} tables (at most {most}), mean left-out score {mean:.4f}"
    return Line(text, far <= most, figure)
