"""Many searches with several settings and seeds: a table with one row a run, and what follows from it."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from math import nan
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track
from scipy.stats import beta

from bestleaf.checks import shown, whole
from bestleaf.memory import Answers, Memory, described, opened
from bestleaf.paper.theory import lower_bound, values
from bestleaf.problems import BernoulliProblem, State, Unrolled
from bestleaf.search import best_arm

Settings = Mapping[str, Any]  # keywords of a search
Row = dict[str, Any]  # what one run measures, in values that JSON can hold
Run = tuple[str, str, int]  # a problem, a setting and a seed
MOST_STATES, MOST_LEAVES = 20_000, 200  # of graphs whose values are computed, and whose lower bound
CONFIDENCE = 0.95


class Truth(NamedTuple):
    """What is known of the answers of a problem: the values of the moves at the root, and the best of them."""

    best: float
    arms: dict[State, float]


def searched(problem: Any, *, seed: int, search: Callable[..., Any] = best_arm, **settings: Any) -> Row:
    """Return what one search measures; `search` is `best_arm`, `best_leaf`, `uct_search` or a function like them."""
    found = search(problem, seed=seed, **settings)
    cost = {"samples": found.samples, "seconds": found.seconds}
    return {"answer": found.answer, **cost, "gap": getattr(found, "gap", nan), "reason": found.reason}


def experiment(
    problems: Mapping[str, Any],
    settings: Mapping[str, Settings],
    seeds: int | Iterable[int] = 10,
    *,
    run: Callable[..., Row] = searched,
    n_jobs: int | None = None,
    memory: str | PathLike[str] | Memory | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Search every problem with all settings and seeds; return a table with one row a run.

    The columns are problem, setting, seed, and what `run` measures: answer, samples, seconds, gap and reason. Two more
    follow where the means of the leaves are known (`problem.mean`) and states are few. `correct` says whether the
    answer is within epsilon of the best one. `limit` is the fewest samples with which any algorithm can err so seldom
    (`paper.theory.lower_bound`), for fixed graphs of one player with at most 200 leaves that give 0 or 1.
    After Ctrl-C the table has the runs that were finished by then, and ``table.attrs["interrupted"]`` is True.

    Parameters
    ----------
    problems, settings : dict
        Problems, and keywords of the search, by the names that the table calls them.
    seeds : int or iterable of int, default=10
        The seeds; a number stands for so many of them, from 0.
    run : callable, default=searched
        What is done for one row: a function ``run(problem, seed=seed, **settings)`` that returns a dictionary. The
        default calls `best_arm`, or what stands under ``"search"`` in the settings.
    n_jobs : int, default=None
        Runs at a time, in processes, as in joblib.
    memory : path-like, default=None
        A file that keeps the rows. The same call goes on from there after a kill. A function in the settings counts by
        its name; a problem by its name in `problems` and its ``fingerprint()``, or its first moves if it has none.
    progress : bool, default=None
        Whether a bar shows how many runs are done; None shows it in a terminal.

    Examples
    --------
    >>> from bestleaf.problems import paper_lattice
    >>> settings = {rate: {"epsilon": 0.1, "delta": 0.1, "bound": rate} for rate in ("theory", "hoeffding")}
    >>> runs = experiment({"lattice": paper_lattice()}, settings, 5)
    >>> list(summary(runs).columns)
    ['problem', 'setting', 'runs', 'samples', 's.e.', 'times limit', 'seconds', 'wrong', 'at most', 'delta']
    """
    for name, given in {"problems": problems, "settings": settings}.items():
        if not isinstance(given, Mapping):
            raise TypeError(f"{name} must be a dictionary of {name} by name, got {shown(given)}")
    for name, one in dict[str, Any](settings).items():
        if not isinstance(one, Mapping) or "seed" in one:
            rule = "settings must be dictionaries of keywords without a seed"
            raise TypeError(f"{rule}, got {shown(one)} for {shown(name)}")
    if not isinstance(seeds, Iterable):
        seeds = range(whole("seeds", seeds, 1))
    numbers = list(dict.fromkeys(seeds))
    tasks = [(problem, setting, seed) for problem in problems for setting in settings for seed in numbers]
    console, rows, questions, interrupted = Console(), dict[Run, Row](), dict[Run, bytes](), False
    kept = opened(memory)
    with kept or nullcontext():
        if kept is not None:
            about = {name: Answers(kept, described(problem)) for name, problem in problems.items()}
            asked = {name: json.dumps(one, sort_keys=True, default=_name) for name, one in settings.items()}
            for task in tasks:
                about_run = (task[0], run.__qualname__, asked[task[1]], task[2])
                questions[task] = about[task[0]].question("run", None, *about_run)
                if (known := kept.get(questions[task])) is not None:
                    rows[task] = json.loads(known)
        missing = [task for task in tasks if task not in rows]
        truths = {name: truth_of(problems[name]) for name in dict.fromkeys(name for name, _, _ in missing)}
        calls = (
            delayed(_row)(run, problems[name], truths[name], settings[setting], seed) for name, setting, seed in missing
        )
        silent = not console.is_terminal if progress is None else not progress
        found = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="4*n_jobs")(calls)
        ended = track(found, "runs", len(missing), console=console, disable=silent)
        before, threading.excepthook = threading.excepthook, _without_given_up
        try:
            for task, row in zip(missing, ended, strict=True):
                if row.get("reason") == "interrupted":
                    raise KeyboardInterrupt
                rows[task] = row
                if kept is not None:
                    kept.put(questions[task], json.dumps(row, default=np.generic.item).encode())
        except KeyboardInterrupt:
            interrupted = True
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib warns that runs are given up
                found.close()
        finally:
            threading.excepthook = before
    limits = {(name, setting): _limit(problems[name], settings[setting]) for name, setting in {one[:2] for one in rows}}
    table = pd.DataFrame(
        {"problem": task[0], "setting": task[1], "seed": task[2], **rows[task]}
        | {"delta": settings[task[1]].get("delta", nan), "limit": limits[task[:2]]}
        for task in tasks
        if task in rows
    )
    table.attrs["interrupted"] = interrupted
    return table


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each problem and setting of an experiment: mean samples, and the errors beside delta.

    "at most" is the upper end of the error probability with 95 % confidence (Clopper and Pearson), so that it can be
    compared with delta. "times limit" is the mean number of samples over `paper.theory.lower_bound`.
    """
    if table.empty:
        raise ValueError("table must have a row of an experiment at least, got none")
    lines = []
    for (problem, setting), mine in table.groupby(["problem", "setting"], sort=False):
        right = mine["correct"] if "correct" in mine and mine["correct"].notna().all() else None
        runs, wrong = len(mine), nan if right is None else int((~right.astype(bool)).sum())
        line = {"problem": problem, "setting": setting, "runs": runs}
        line |= {"samples": mine["samples"].mean(), "s.e.": mine["samples"].sem()}
        line |= {"times limit": mine["samples"].mean() / mine["limit"].iloc[0], "seconds": mine["seconds"].mean()}
        line |= {"wrong": wrong, "at most": most_errors(runs, wrong), "delta": mine["delta"].iloc[0]}
        lines.append(line)
    return pd.DataFrame(lines)


def most_errors(runs: int, wrong: float) -> float:
    """Return the largest error probability, with 95 % confidence, after so many wrong answers."""
    return 1.0 if wrong == runs else float(beta.ppf(CONFIDENCE, wrong + 1, runs - wrong))


def truth_of(problem: Any) -> Truth | None:
    """Return what is known of the answers of a problem whose leaf means are known; None of others."""
    if not hasattr(problem, "mean") or hasattr(problem, "chance"):
        return None
    try:
        value = values(problem, MOST_STATES)
    except ValueError:  # too large, or with a cycle
        return None
    return Truth(value[problem.root()], {arm: value[arm] for arm in problem.children(problem.root())})


def _without_given_up(error: threading.ExceptHookArgs) -> None:
    """Print the error of a thread, unless it is joblib's, and about a run that Ctrl-C has just given up."""
    if not (error.exc_type is KeyError and error.thread is not None and "ExecutorManager" in error.thread.name):
        threading.__excepthook__(error)


def _row(run: Callable[..., Row], problem: Any, truth: Truth | None, settings: Settings, seed: int) -> Row:
    """Return the row of one run, in a process."""
    found = run(problem, seed=seed, **settings)
    if not isinstance(found, Mapping):
        raise TypeError(f"run must return a dictionary, got {shown(found)}")
    row = dict(found)
    if truth is not None and "answer" in row:
        answer = row["answer"]
        worth = truth.arms[answer] if answer in truth.arms else problem.mean(answer) if answer is not None else nan
        row["correct"] = abs(worth - truth.best) <= settings.get("epsilon", 0.0) + 1e-12
    return row | ({"answer": repr(row["answer"])} if "answer" in row else {})


def _limit(problem: Any, settings: Settings) -> float:
    """Return the lower bound of the samples of a search; nan where none is known."""
    bernoulli = isinstance(problem.problem if isinstance(problem, Unrolled) else problem, BernoulliProblem)
    if not bernoulli or "delta" not in settings or settings.get("expansion") is not None:
        return nan
    task = "leaf" if getattr(settings.get("search"), "__name__", "") == "best_leaf" else "arm"
    try:
        return lower_bound(problem, settings["delta"], settings.get("epsilon", 0.0), task=task, most=MOST_LEAVES)
    except ValueError:  # a game, too large, or a delta of more than a half
        return nan


def _name(part: object) -> object:
    return part.item() if isinstance(part, np.generic) else getattr(part, "__qualname__", repr(part))
