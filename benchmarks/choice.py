"""The choice of columns beside its peers, on held-out rows of real tables.

A quarter of the rows of each split is held out; each method sees the other rows only. Three models judge what it
chooses on the held-out rows: 5 nearest neighbours, logistic regression and gradient boosting, by AUC (one against the
rest); for real targets nearest neighbours, ridge regression and boosting, by R². Every fit has a process and one core
of its own; seconds are those of the processor, without compiling.

    python benchmarks/choice.py --tables Sonar,Madelon --splits 0,1
    python benchmarks/choice.py --tables development --junk noise --workers 16 --limit-total 560
    python benchmarks/choice.py --tables report --splits 103,104 --methods every     (once, when everything is frozen)
    python benchmarks/choice.py --summary --out out/choice.jsonl

Each result is appended to --out at once. A second run with the same --out does only what is missing. `--junk` adds as
many columns again that say nothing, or nothing new, and counts how many of them are chosen. Boruta and LightGBM take
part where they are installed. `tables.py` says how to bring the tables to a machine without a network.
"""

from __future__ import annotations

import json
import multiprocessing
import warnings
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic, process_time
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table as Shown
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import WHEELS, Table, listed, load
from threadpoolctl import threadpool_limits

from bestleaf import BestLeafSelector
from bestleaf.tables.peers import PEERS, Setting, mean_auc

Record = dict[str, object]
FORK = multiprocessing.get_context("fork")  # the children have what was compiled and loaded
TREES = 100
JUNK = ("noise", "copies", "products")

console = Console(width=210, highlight=False)


def ours(X: np.ndarray, y: np.ndarray, setting: Setting) -> tuple[np.ndarray, Record]:
    """Select as a user does without options; also return what is said about new rows."""
    targets = y.astype(str) if setting.classes else y  # so that many classes are not taken for numbers
    selector = BestLeafSelector(random_state=setting.seed).fit(X, targets)
    claim = selector.certificate_.new_rows
    said = {} if claim is None else {"score": claim.score, "error": claim.standard_error, "interval": claim.interval}
    return selector.support_, {"method_chosen": selector.certificate_.path.order, **said}


def rfecv(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Eliminate a tenth of the columns at a time by a forest; cross-validation says how many stay."""
    forest = (RandomForestClassifier if setting.classes else RandomForestRegressor)(TREES, random_state=setting.seed)
    return RFECV(forest, step=0.1, **setting.scored(y)).fit(X, y).support_


def important(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Take the columns that are more important than the mean in a forest."""
    forest = (RandomForestClassifier if setting.classes else RandomForestRegressor)(TREES, random_state=setting.seed)
    return SelectFromModel(forest).fit(X, y).get_support()


def by_boosting(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Take the columns that LightGBM splits by more often than the mean."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    model = (LGBMClassifier if setting.classes else LGBMRegressor)(n_jobs=1, random_state=setting.seed, verbose=-1)
    return SelectFromModel(model).fit(X, y).get_support()


METHODS: dict[str, Callable[[np.ndarray, np.ndarray, Setting], object]] = {
    "all": lambda X, y, setting: np.ones(X.shape[1], bool),
    "bestleaf": ours,
    "rfecv": rfecv,
    "important": important,
    "lightgbm": by_boosting,
    **{key: PEERS[key].support for key in ("boruta", "f-test", "forward")},
}
NEEDS = {"lightgbm": "lightgbm", "boruta": "boruta"}  # packages


def judges(real: bool) -> dict[str, BaseEstimator]:
    """Return the models that judge."""
    if real:
        linear: BaseEstimator = RidgeCV(np.logspace(-2, 3, 6))
        near, boosting = KNeighborsRegressor(5), HistGradientBoostingRegressor(random_state=0)
    else:
        linear = LogisticRegression(max_iter=1000)
        near, boosting = KNeighborsClassifier(5), HistGradientBoostingClassifier(random_state=0)
    return {
        "neighbours": make_pipeline(StandardScaler(), near),
        "linear": make_pipeline(StandardScaler(), linear),
        "boosting": boosting,
    }


def with_junk(X: np.ndarray, kind: str, seed: int) -> np.ndarray:
    """Return the columns with as many again: noise, copies that are half noise, or products of two columns."""
    rng = np.random.default_rng([seed, JUNK.index(kind)])
    noise = rng.normal(size=X.shape)
    if kind == "noise":
        more = noise
    elif kind == "copies":
        more = 0.5 * X + 0.5 * noise * X.std(axis=0)
    else:
        one, other = rng.integers(X.shape[1], size=(2, X.shape[1]))
        more = X[:, one] * X[:, other]
    return np.hstack([X, more])


def parts(table: Table, split: int, junk: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows to choose by, those held out, and all rows with their gaps filled."""
    kind = ShuffleSplit if table.real else StratifiedShuffleSplit
    kept, aside = next(kind(1, test_size=0.25, random_state=split).split(table.X, table.y))
    X = SimpleImputer(strategy="median", keep_empty_features=True).fit(table.X[kept]).transform(table.X)
    return kept, aside, with_junk(X, junk, split) if junk else X


def done(table: Table, split: int, method: str, junk: str) -> Record:
    """Select on the training part of a split, and judge on the held-out rows."""
    kept, aside, X = parts(table, split, junk)
    columns, y = table.X.shape[1], table.y
    setting = Setting("regression" if table.real else "classification", None, split)
    begun = process_time()
    found = METHODS[method](X[kept], y[kept], setting)
    support, more = found if isinstance(found, tuple) else (found, {})
    seconds, chosen = process_time() - begun, np.flatnonzero(support)
    scores = {}
    for name, model in judges(table.real).items() if len(chosen) else ():
        model.fit(X[np.ix_(kept, chosen)], y[kept])
        new = X[np.ix_(aside, chosen)]
        scores[name] = float(model.score(new, y[aside]) if table.real else mean_auc(model, new, y[aside]))
    scores = scores or dict.fromkeys(judges(table.real), 0.0 if table.real else 0.5)
    return {
        "scores": scores,
        "columns": len(chosen),
        "junk_chosen": int((chosen >= columns).sum()),
        "seconds": seconds,
        **more,
    }


class Key(NamedTuple):
    """One fit."""

    table: str
    split: int
    method: str
    junk: str


class Running(NamedTuple):
    """A fit that is under way in a process of its own."""

    key: Key
    process: multiprocessing.process.BaseProcess
    ends: float  # it is stopped then


def in_child(do: Callable[..., Record], table: Table, key: Key, out: Connection) -> None:
    warnings.simplefilter("ignore")
    try:
        with threadpool_limits(1):
            out.send(do(table, *key[1:]))
    except Exception as error:
        out.send({"failed": f"{type(error).__name__}: {error}"})


def work(keys: list[Key], options: Namespace, do: Callable[..., Record] = done) -> None:
    """Do all fits, some at a time; write each result at once. What is not done when time is over is left out."""
    tables = {name: load(name, options.wheels) for name in dict.fromkeys(key.table for key in keys)}
    # Those that take long first, so that none of them is alone at the end.
    keys = sorted(keys, key=lambda key: (key.split, -tables[key.table].X.size))
    ends, running, left = monotonic() + options.limit_total, dict[Connection, Running](), keys[::-1]
    while left or running:
        while left and len(running) < options.workers and monotonic() < ends:
            key = left.pop()
            answer, childs_end = FORK.Pipe(duplex=False)
            process = FORK.Process(target=in_child, args=(do, tables[key.table], key, childs_end))
            process.start()
            childs_end.close()
            running[answer] = Running(key, process, monotonic() + options.limit)
        for answer in wait(list(running), timeout=0.5):
            one = running.pop(answer)
            try:
                found = answer.recv()
            except EOFError:  # it ended without an answer, for example because memory was full
                found = {"failed": "the process ended"}
            one.process.join()
            append(one.key, found, options.out)
        for answer, one in list(running.items()):
            if monotonic() > min(one.ends, ends):
                one.process.kill()
                one.process.join()
                del running[answer]
                if one.ends <= ends:
                    append(one.key, {"failed": f"more than {options.limit:g} s"}, options.out)
        if monotonic() > ends:
            console.print(f"the time is over: {len(left) + len(running)} fits are not done")
            break


def append(key: Key, found: Record, out: Path) -> None:
    with out.open("a") as file:
        file.write(json.dumps({**key._asdict(), **found}) + "\n")
    told = found.get("failed") or f"{found['columns']} columns, {found['seconds']:.1f} s, {found.get('scores', '')}"
    console.print(f"{key.table}, split {key.split}, {key.method}: {told}", markup=False)


def recorded(out: Path) -> list[Record]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def show(records: list[Record]) -> None:
    """Print each method's difference to all columns, and what it costs, over the tables that all methods did.

    A method that failed on more than a fifth of the tables has a table of its own, over what it did.
    """
    cells: dict[tuple[str, str], dict[int, Record]] = {}
    failed: dict[str, dict[str, int]] = {}
    for one in records:
        if "failed" in one:
            count = failed.setdefault(one["method"], {})
            count[str(one["failed"])] = count.get(str(one["failed"]), 0) + 1
        else:
            cells.setdefault((one["table"], one["method"]), {})[one["split"]] = one
    for method, count in failed.items():
        for why, times in count.items():
            console.print(f"{method} failed {times} times: {why}", markup=False)
    there = {one: {table for table, method in cells if method == one} for one in METHODS}
    most = max(map(len, there.values()))
    common = [one for one in METHODS if len(there[one]) >= 0.8 * most]
    summed_up(cells, common)
    for one in METHODS:
        if there[one] and one not in common:
            summed_up(cells, [*(every for every in ("all", "bestleaf") if every in common), one])


def summed_up(cells: dict[tuple[str, str], dict[int, Record]], methods: list[str]) -> None:
    """Print one table, over the splits that all of some methods did."""
    splits = {
        name: sorted(set.intersection(*(set(cells.get((name, one), ())) for one in methods)))
        for name in dict.fromkeys(table for table, _ in cells)
    }
    names = [name for name, some in splits.items() if some]
    if not names:
        return
    gains = {}  # [tables, judges]
    for method in methods:
        each = [
            [_scores(cells[name, method][s]) - _scores(cells[name, "all"][s]) for s in splits[name]] for name in names
        ]
        gains[method] = np.array([np.mean(rows, axis=0) for rows in each])
    ranks = np.mean([rankdata([-gains[one][t].mean() for one in methods]) for t in range(len(names))], axis=0)
    many = sum(len(splits[name]) for name in names)
    shown = Shown(title=f"Difference to all columns on {len(names)} tables, {many} splits: {', '.join(names)}")
    heads = ("mean ± s.e.", "neighbours", "linear", "boosting", "worst table", "columns", "junk", "seconds", "rank")
    for head in ("method", *heads):
        shown.add_column(head, justify="left" if head == "method" else "right")
    for method, rank in zip(methods, ranks, strict=True):
        mean = gains[method].mean(axis=1)
        each = [
            f"{gain:+.4f} ± {_error(gains[method][:, place]):.4f}"
            for place, gain in enumerate(gains[method].mean(axis=0))
        ]
        cost = {
            what: np.mean([np.mean([cells[name, method][s][what] for s in splits[name]]) for name in names])
            for what in ("columns", "junk_chosen", "seconds")
        }
        worst = int(np.argmin(mean))
        junk = f"{cost['junk_chosen'] / max(cost['columns'], 1e-9):.1%}"
        shown.add_row(
            *(method, f"{mean.mean():+.4f} ± {_error(mean):.4f}", *each, f"{mean[worst]:+.4f} {names[worst]}"),
            *(f"{cost['columns']:.1f}", junk, f"{cost['seconds']:.1f}", f"{rank:.2f}"),
        )
    console.print(shown)


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else np.nan


def _scores(record: Record) -> np.ndarray:
    return np.array(list(record["scores"].values()))


def main(options: Namespace) -> None:
    if not options.summary:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        known = {(one["table"], one["split"], one["method"], one["junk"]) for one in recorded(options.out)}
        missing = [one for one in options.methods if one in NEEDS and find_spec(NEEDS[one]) is None]
        for one in missing:
            console.print(f"{one} is left out: the package {NEEDS[one]} is not installed")
        keys = [
            Key(name, split, method, options.junk)
            for name in options.tables
            for split in options.splits
            for method in options.methods
            if method not in missing
        ]
        _warm_up()
        work([key for key in keys if key not in known], options)
    for junk in ("", *JUNK):
        some = [one for one in recorded(options.out) if one["junk"] == junk and one["table"] in options.tables]
        if some and junk in (options.junk, *(JUNK if options.summary else ())):
            console.print(f"with columns of {junk}" if junk else "without junk")
            show([one for one in some if one["method"] in {*options.methods, "all"}])


def _warm_up() -> None:
    """Compile what the choice needs."""
    X = np.random.default_rng(0).normal(size=(60, 4))
    for y, task in (
        (np.arange(60) % 2, "classification"),
        (np.arange(60) % 3, "classification"),
        (X[:, 0], "regression"),
    ):
        ours(X, y, Setting(task, None, 0))


def parsed() -> Namespace:
    methods = lambda text: list(METHODS) if text == "every" else text.split(",")  # noqa: E731
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=listed, default=None, help="names, or: development, report, later")
    parser.add_argument("--methods", type=methods, default=None, help=f"every, or of {', '.join(METHODS)}")
    parser.add_argument("--splits", type=lambda text: [int(one) for one in text.split(",")], default=[0, 1, 2, 3, 4])
    parser.add_argument("--junk", choices=("", *JUNK), default="")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a fit")
    parser.add_argument("--limit-total", type=float, default=float("inf"), help="seconds for all of them")
    parser.add_argument("--workers", type=int, default=1, help="fits at a time")
    parser.add_argument("--out", type=Path, default=Path("out/choice.jsonl"), help="file of results")
    parser.add_argument("--wheels", type=Path, default=WHEELS, help="folder of the packages with the tables")
    parser.add_argument("--summary", action="store_true", help="only show the results of --out")
    options = parser.parse_args()
    options.tables = options.tables or listed("development,report" if options.summary else "development")
    options.methods = options.methods or (list(METHODS) if options.summary else ["all", "bestleaf", "rfecv"])
    return options


if __name__ == "__main__":
    main(parsed())
