"""The choice of columns beside its peers, on held-out rows of real tables.

A quarter of the rows of each split is held out; each method sees the other rows only. Three models judge what it
chooses on the held-out rows: 5 nearest neighbours, logistic regression and gradient boosting, by AUC (one against the
rest); for real targets nearest neighbours, ridge regression and boosting, by R². Every fit has a process and one core
of its own; seconds are those of the processor, without compiling.

    python benchmarks/choice.py --tables Sonar,Madelon --splits 0,1
    python benchmarks/choice.py --show
    python benchmarks/choice.py --tables report --splits 100,101,102,103,104     (once, when everything is frozen)

Each result is appended to --out at once. A second run with the same --out does only what is missing. `--junk` adds as
many columns again that say nothing, or nothing new, and counts how many of them are chosen.
"""

from __future__ import annotations

import json
import multiprocessing
import warnings
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from pathlib import Path
from time import process_time

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
from tables import REAL, REPORT_ONLY, REPORT_ONLY_REAL, SOURCES, WHEELS, Table, load
from threadpoolctl import threadpool_limits

from bestleaf import BestLeafSelector
from bestleaf.tables.peers import PEERS, Setting, mean_auc

Record = dict[str, object]
FORK = multiprocessing.get_context("fork")  # the children have what was compiled and loaded
TREES = 100
JUNK = ("noise", "copies", "products")

console = Console(width=170, highlight=False)


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
    return RFECV(forest, step=0.1, cv=setting.folds(y), scoring=setting.scoring).fit(X, y).support_


def important(X: np.ndarray, y: np.ndarray, setting: Setting) -> np.ndarray:
    """Take the columns that are more important than the mean in a forest."""
    forest = (RandomForestClassifier if setting.classes else RandomForestRegressor)(TREES, random_state=setting.seed)
    return SelectFromModel(forest).fit(X, y).get_support()


METHODS: dict[str, Callable[[np.ndarray, np.ndarray, Setting], object]] = {
    "all": lambda X, y, setting: np.ones(X.shape[1], bool),
    "bestleaf": ours,
    "rfecv": rfecv,
    "important": important,
    **{key: PEERS[key].support for key in ("boruta", "f-test", "forward")},
}


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


def done(table: Table, split: int, method: str, junk: str) -> Record:
    """Select on the training part of a split, and judge on the held-out rows."""
    kind = ShuffleSplit if table.real else StratifiedShuffleSplit
    kept, aside = next(kind(1, test_size=0.25, random_state=split).split(table.X, table.y))
    X, y = SimpleImputer(strategy="median", keep_empty_features=True).fit(table.X[kept]).transform(table.X), table.y
    columns = X.shape[1]
    X = with_junk(X, junk, split) if junk else X
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


def in_child(table: Table, key: tuple[int, str, str], out: multiprocessing.connection.Connection) -> None:
    warnings.simplefilter("ignore")
    try:
        with threadpool_limits(1):
            out.send(done(table, *key))
    except Exception as error:
        out.send({"failed": f"{type(error).__name__}: {error}"})


def within(limit: float, table: Table, key: tuple[int, str, str]) -> Record:
    """Return the record of one fit; it is stopped if it takes too long."""
    answer, childs_end = FORK.Pipe(duplex=False)
    process = FORK.Process(target=in_child, args=(table, key, childs_end))
    process.start()
    childs_end.close()
    try:
        return answer.recv() if answer.poll(limit) else {"failed": f"more than {limit:g} s"}
    except EOFError:  # it ended without an answer, for example because memory was full
        return {"failed": "the process ended"}
    finally:
        process.kill()
        process.join()


def show(records: list[Record]) -> None:
    """Print each method's difference to all columns, and what it costs, over the tables that all methods did."""
    methods = [name for name in METHODS if any(one["method"] == name for one in records)]
    cells: dict[tuple[str, str], dict[int, Record]] = {}
    for one in records:
        if "failed" not in one:
            cells.setdefault((one["table"] + one["junk"], one["method"]), {})[one["split"]] = one
        else:
            console.print(f"{one['method']} on {one['table']}, split {one['split']}: {one['failed']}", markup=False)
    names = [
        name for name in dict.fromkeys(table for table, _ in cells) if all((name, one) in cells for one in methods)
    ]
    gains = {}  # [tables, judges]
    for method in methods:
        rows = []
        for name in names:
            splits = set.intersection(*(set(cells[name, one]) for one in methods))
            rows.append(
                np.mean([_scores(cells[name, method][s]) - _scores(cells[name, "all"][s]) for s in splits], axis=0)
            )
        gains[method] = np.array(rows)
    ranks = np.mean([rankdata([-gains[one][t].mean() for one in methods]) for t in range(len(names))], axis=0)
    shown = Shown(title=f"Difference to all columns on {len(names)} tables: {', '.join(names)}")
    for head in (
        "method",
        "mean ± s.e.",
        "neighbours",
        "linear",
        "boosting",
        "worst table",
        "columns",
        "junk",
        "seconds",
        "rank",
    ):
        shown.add_column(head, justify="left" if head == "method" else "right")
    for method, rank in zip(methods, ranks, strict=True):
        mean = gains[method].mean(axis=1)
        each = [f"{one:+.4f}" for one in gains[method].mean(axis=0)]
        cost = {
            what: np.mean([np.mean([one[what] for one in cells[name, method].values()]) for name in names])
            for what in ("columns", "junk_chosen", "seconds")
        }
        error = mean.std(ddof=1) / len(mean) ** 0.5 if len(mean) > 1 else np.nan
        worst = int(np.argmin(mean))
        shown.add_row(
            *(method, f"{mean.mean():+.4f} ± {error:.4f}", *each, f"{mean[worst]:+.4f} {names[worst]}"),
            *(f"{cost['columns']:.1f}", f"{cost['junk_chosen']:.1f}", f"{cost['seconds']:.1f}", f"{rank:.2f}"),
        )
    console.print(shown)


def _scores(record: Record) -> np.ndarray:
    return np.array(list(record["scores"].values()))


def main(options: Namespace) -> None:
    records = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    known = {(one["table"], one["split"], one["method"], one["junk"]) for one in records}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    if not options.show:
        _warm_up()
    for name in () if options.show else options.tables:
        table = load(name, options.wheels)
        for split in options.splits:
            for method in options.methods:
                if (name, split, method, options.junk) in known:
                    continue
                found = within(options.limit, table, (split, method, options.junk))
                about = {"table": name, "split": split, "method": method, "junk": options.junk}
                records.append({**about, **found})
                with options.out.open("a") as file:
                    file.write(json.dumps(records[-1]) + "\n")
                told = found.get("failed") or f"{found['columns']} columns, {found['seconds']:.1f} s, {found['scores']}"
                console.print(f"{name}, split {split}, {method}: {told}", markup=False)
    show([one for one in records if one["junk"] == options.junk and one["method"] in {*options.methods, "all"}])


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
    names = {"development": [*SOURCES, *REAL], "report": [*REPORT_ONLY, *REPORT_ONLY_REAL]}
    listed = lambda text: names.get(text, text.split(","))  # noqa: E731
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=listed, default=names["development"], help="names, or: development, report")
    parser.add_argument("--methods", type=listed, default=["all", "bestleaf", "rfecv"], help=f"of {', '.join(METHODS)}")
    parser.add_argument("--splits", type=lambda text: [int(one) for one in text.split(",")], default=[0, 1, 2, 3, 4])
    parser.add_argument("--junk", choices=("", *JUNK), default="")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a fit")
    parser.add_argument("--out", type=Path, default=Path("out/choice.jsonl"), help="file of results")
    parser.add_argument("--wheels", type=Path, default=WHEELS, help="folder of the packages with the tables")
    parser.add_argument("--show", action="store_true", help="only show the results of --out")
    return parser.parse_args()


if __name__ == "__main__":
    main(parsed())
