"""Features for new rows: the selector beside its peers, on held-out rows of real tables.

Each table is split five times; a quarter of the rows is held out. Each method sees the other rows only. The judge is
the AUC on the held-out rows of 5 nearest neighbours on standardised features (mean one-against-rest AUC for more
classes), or of the estimator of --estimator, which all methods then use. Every fit has a process and one core of its
own; seconds are those of the processor, so that other work on the machine does not count. The time of compiling does
not count either.

    python benchmarks/new_data.py --jobs 16 --data lung_small.csv
    python benchmarks/new_data.py --tables Sonar,Madelon --methods all,bestleaf,forward
    python benchmarks/new_data.py --show
    python benchmarks/new_data.py --save FOLDER    (elsewhere, without network: --data FOLDER)

Each result is appended to --out at once. A second run with the same --out does only what is missing.
RFECV drops one feature at a time up to 100 features, and 5% of all features at a time with more. A fit that takes
longer than --limit is stopped, and shown as "-".
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import sys
import warnings
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
from methods import METHODS, ORACLES, warm_up
from rich.console import Console
from sklearn.impute import SimpleImputer
from standings import Record, show
from tables import SOURCES, WHEELS, Table, csv_files, load, load_file, shuffled
from threadpoolctl import threadpool_limits

from bestleaf import NeighbourVotes
from bestleaf.new_data import split_of, votes_score
from bestleaf.tables.peers import PEERS, Setting, installed_peers, mean_auc
from bestleaf.tables.select import named_estimator

SPLITS = 5
HELD_OUT = 0.25
VOTES = NeighbourVotes(task="classification")
ESTIMATORS = {"neighbours": None, "logistic": "linear", "boosting": "boosting"}
NOISE = ("Sonar", "HeartEW", "SpectEW", "Ionosphere")  # tables whose labels are shuffled
SHUFFLES = 20
FORK = multiprocessing.get_context("fork")  # the children have what was compiled and loaded

console = Console(width=280, highlight=False)


class Job(NamedTuple):
    """One fit to do."""

    table: Table
    split: int
    method: str
    estimator: str

    @property
    def key(self) -> tuple[str, int, str, str]:
        return self.table.name, self.split, self.method, self.estimator

    def run(self) -> Record:
        """Select on the training part of the split, and judge on the held-out rows."""
        X, y = self.table.X, self.table.y
        kept, aside = split_of(HELD_OUT, X, y, VOTES, self.split)
        if np.isnan(X).any():
            X = SimpleImputer(strategy="median", keep_empty_features=True).fit(X[kept]).transform(X)
        name = ESTIMATORS[self.estimator]
        estimator = None if name is None else named_estimator(name, "classification")
        setting = Setting("classification", estimator, self.split)
        started, clock = process_time(), perf_counter()
        support, more = METHODS[self.method](X[kept], y[kept], setting)
        times = {"seconds": process_time() - started, "waited": perf_counter() - clock}
        columns = np.flatnonzero(support)
        auc = judged(X[np.ix_(kept, columns)], y[kept], X[np.ix_(aside, columns)], y[aside], setting)
        return {"auc": auc, "features": len(columns), **times, "which": columns.tolist(), **more}


def judged(X: np.ndarray, y: np.ndarray, new_X: np.ndarray, new_y: np.ndarray, setting: Setting) -> float:
    """Return the AUC on held-out rows; 0.5 if no feature was selected."""
    if X.shape[1] == 0:
        return 0.5
    if setting.estimator is None:
        return votes_score(VOTES, X, y, new_X, new_y)
    return mean_auc(setting.model.fit(X, y), new_X, new_y)


def in_child(job: Job, answer: Connection) -> None:
    """Run a job in a process of its own, and send its record."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threadpool_limits(1)
    warnings.simplefilter("ignore")  # of searches ended by a budget, and of linear models that did not converge
    try:
        answer.send(job.run())
    except Exception as error:
        answer.send({"failed": f"{type(error).__name__}: {error}"})


class Running(NamedTuple):
    """A job in its process, and when it has to be done."""

    job: Job
    process: BaseProcess
    end: float

    def record(self, answer: Connection, limit: float) -> Record:
        """Return the record of a job that is done or has taken too long, and end its process."""
        found: Record = {"failed": f"more than {limit:g} s", "limit": limit}
        if answer.poll():
            try:
                found = answer.recv()
            except EOFError:  # it ended without an answer, for example because memory was full
                self.process.join()
                found = {"failed": f"the process ended with {self.process.exitcode}"}
        self.process.kill()
        self.process.join()
        answer.close()
        return found


def results(jobs: list[Job], workers: int, limit: float) -> Iterator[tuple[Job, Record]]:
    """Run jobs in processes; yield each record when it is there. A job that takes too long is stopped."""
    waiting = list(reversed(jobs))
    running: dict[Connection, Running] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.pop()
                answer, childs_end = FORK.Pipe(duplex=False)
                process = FORK.Process(target=in_child, args=(job, childs_end))
                process.start()
                childs_end.close()  # so that the end of the process is seen here
                running[answer] = Running(job, process, perf_counter() + limit)
            wait(list(running), max(0.0, min(one.end for one in running.values()) - perf_counter()))
            for answer in [one for one in running if one.poll() or running[one].end <= perf_counter()]:
                done = running.pop(answer)
                yield done.job, done.record(answer, limit)
    finally:
        for one in running.values():
            one.process.kill()


def asked_for(options: Namespace) -> list[Job]:
    """Return the fits that the options ask for, the largest tables first."""
    names = options.tables or list(dict.fromkeys([*SOURCES, *options.files, "noise"]))
    jobs = []
    for table in sorted((table_of(name, options) for name in names if name != "noise"), key=lambda one: -one.X.size):
        console.print(table.title, *(f"({note})" for note in table.notes))
        with_oracle = table.name == "Madelon" and options.estimator == "neighbours"
        methods = [method for method in options.methods if method not in ORACLES or with_oracle]
        splits = range(options.first_split, options.first_split + options.splits)
        jobs += [Job(table, split, one, options.estimator) for split in splits for one in methods]
    if "noise" in names and "bestleaf" in options.methods and options.estimator == "neighbours":
        bases = [table_of(name, options) for name in NOISE]
        noise = [shuffled(bases[number % len(bases)], number) for number in range(SHUFFLES)]
        jobs += [Job(table, 0, "bestleaf", options.estimator) for table in noise]
    return jobs


def table_of(name: str, options: Namespace) -> Table:
    """Return a table: from a file of --data if one has its name, else from its package."""
    return load_file(options.files[name]) if name in options.files else load(name, options.wheels)


def save(options: Namespace) -> None:
    """Write the tables as CSV files, to be taken by --data on a machine without network."""
    options.save.mkdir(parents=True, exist_ok=True)
    for name in options.tables or SOURCES:
        if name != "noise":
            table = table_of(name, options)
            np.savetxt(options.save / f"{name}.csv", np.column_stack([table.X, table.y]), "%.17g", ",")


def read_records(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def key_of(record: Record) -> tuple[str, int, str, str]:
    return record["table"], record["split"], record["method"], record["estimator"]


def settled(record: Record, limit: float) -> bool:
    """Return whether a fit need not be done again: it is done as asked for, or it would be stopped again."""
    return ("auc" in record and "unknown" not in record) or record.get("limit", 0) >= limit


def main(options: Namespace) -> None:
    jobs = [] if options.show else asked_for(options)
    records = {key_of(one): one for one in read_records(options.out)}
    done = {key for key, one in records.items() if settled(one, options.limit)}
    jobs = [job for job in jobs if job.key not in done]
    if jobs:
        threadpool_limits(1)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warm_up()
    for number, (job, found) in enumerate(results(jobs, options.jobs, options.limit), 1):
        name, split, method, estimator = job.key
        rows, columns = job.table.X.shape
        about = {"table": name, "rows": rows, "columns": columns, "split": split, "method": method}
        record = {**about, "estimator": estimator, **found}
        with options.out.open("a") as file:
            file.write(json.dumps(record) + "\n")
        records[job.key] = record
        told = found.get("failed") or f"{found['auc']:.4f}, {found['features']} features, {found['seconds']:.1f} s"
        console.print(f"{number} of {len(jobs)}: {name}, split {split}, {method}: {told}", markup=False)
    show([one for one in records.values() if one["estimator"] == options.estimator], list(METHODS), console)


def parsed() -> Namespace:
    names = lambda text: text.split(",")  # noqa: E731
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=names, help=f"of {', '.join(SOURCES)}, noise and the files of --data")
    parser.add_argument("--methods", type=names, help=f"of {', '.join(METHODS)}; all that are installed without it")
    parser.add_argument("--estimator", choices=ESTIMATORS, default="neighbours", help="the judge")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--first-split", type=int, default=0, help="number of the first split, for other splits")
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a fit")
    parser.add_argument("--out", type=Path, default=Path("out/new_data.jsonl"), help="file of results")
    parser.add_argument("--wheels", type=Path, default=WHEELS, help="folder of the packages with the tables")
    parser.add_argument("--data", type=Path, nargs="+", default=[], help="CSV files, class last, no header; folders")
    parser.add_argument("--show", action="store_true", help="only show the results of --out")
    parser.add_argument("--save", type=Path, help="only write the tables to this folder, for --data elsewhere")
    options = parser.parse_args()
    options.files = csv_files(options.data)
    if options.methods is None:
        options.methods = [one for one in METHODS if one not in PEERS or one in installed_peers()]
    if unknown := set(options.methods) - set(METHODS):
        parser.error(f"--methods must be of {', '.join(METHODS)}, got {', '.join(sorted(unknown))}")
    if unknown := set(options.tables or ()) - {*SOURCES, *options.files, "noise"}:
        parser.error(f"--tables must be of {', '.join(SOURCES)}, noise and --data, got {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes end, too
    chosen = parsed()
    main(chosen) if chosen.save is None else save(chosen)
