"""Averages against intervals on games with many transpositions: which first move, after how many samples.

UCT on the tree and on the graph (UCT1, UCT2, UCT3, UCD, update-all), LUCB-MCTS on the tree, LUCB-MCDS and the default
rule on the graph. The features of the lattice are listed in another order in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bestleaf.experiments.rows import Row, RowFile, compute, mean_and_error, with_error
from bestleaf.problems import PAPER_SCORES, ScoreLattice, TableProblem, Unrolled, random_dag, transposition_trap
from bestleaf.search import best_arm
from bestleaf.uct import uct_search

RUNS = 100
BUDGETS = (300, 1_000, 3_000, 10_000)
EPSILON, DELTA = 0.05, 0.1
ENOUGH = 1_000_000  # samples after which a search that has not settled is given up


@dataclass(frozen=True)
class Game:
    """A kind of problem, and what its first moves are worth."""

    name: str
    make: Callable[[int], Any]  # of the number of the run
    values: Callable[[Any], dict[Any, float]]  # by child of the root


def lattice_values(lattice: Any) -> dict[Any, float]:
    """Return what each first feature is worth: its best leaf."""

    def value(state: Any) -> float:
        return lattice.mean(state) if lattice.is_terminal(state) else max(map(value, lattice.children(state)))

    return {child: value(child) for child in lattice.children(lattice.root())}


def table_values(game: TableProblem) -> dict[Any, float]:
    """Return what each first move is worth when both sides play well."""
    return {child: game.value(child) for child in game.children(game.root())}


def shuffled_lattice(run: int) -> ScoreLattice:
    """Return the paper's lattice with its features listed in a random order."""
    return ScoreLattice(np.random.default_rng(run).permutation(PAPER_SCORES).tolist(), 3)


def two_player(run: int) -> TableProblem:
    """Return a game of six moves whose positions are reached by several ways."""
    return random_dag(run, layers=6, width=6, max_children=4, two_player=True)


GAMES = {
    game.name: game
    for game in (
        Game("lattice of 20 leaves", shuffled_lattice, lattice_values),
        Game("two-player games", two_player, table_values),
        Game("transposition trap", lambda run: transposition_trap(), table_values),
    )
}


@dataclass(frozen=True)
class Method:
    """A search; `samples` None means until the answer is certified."""

    name: str
    tree: bool
    play: Callable[[Any, int | None, int], Any]
    certifies: bool = False

    @property
    def budgets(self) -> list[int | None]:
        """Return the budgets it is given, None for as many samples as it needs."""
        return [*BUDGETS, None] if self.certifies else [*BUDGETS]


def by_uct(**keywords: Any) -> Callable[[Any, int | None, int], Any]:
    """Return a search of the UCT family that recommends the move of highest mean."""
    return lambda problem, samples, seed: uct_search(
        problem, max_samples=samples, seed=seed, recommend="mean", **keywords
    )


def by_intervals(**keywords: Any) -> Callable[[Any, int | None, int], Any]:
    """Return a search that knows intervals."""
    return lambda problem, samples, seed: best_arm(
        problem, epsilon=EPSILON, delta=DELTA, max_samples=samples or ENOUGH, seed=seed, **keywords
    )


METHODS = {
    method.name: method
    for method in (
        Method("UCT on the tree", True, by_uct()),
        Method("UCT1", False, by_uct(variant="uct1")),
        Method("UCT2", False, by_uct(variant="uct2")),
        Method("UCT3", False, by_uct(variant="uct3")),
        Method("UCD (1, 1, 1)", False, by_uct(variant="ucd")),
        Method("UCT1, update-all", False, by_uct(backup="all")),
        Method("LUCB-MCTS on the tree", True, by_intervals(rule="lucb_mcts"), certifies=True),
        Method("LUCB-MCDS", False, by_intervals(rule="lucb"), certifies=True),
        Method("smallest gap", False, by_intervals(), certifies=True),
    )
}


def case_name(game: str, method: str, samples: int | None) -> str:
    """Return the name of a row."""
    return f"{game} | {method} | {samples or 'certified'}"


def plan(runs: int) -> list[tuple[str, int]]:
    """Return (case, run) of every row."""
    budgets = [(method.name, budget) for method in METHODS.values() for budget in method.budgets]
    return [(case_name(game, *budget), run) for game in GAMES for budget in budgets for run in range(runs)]


class Runner:
    """Runs single rows."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, case: str, run: int) -> Row:
        """Return the row of one run, which depends on nothing but seed, case and run."""
        game, method, budget = case.split(" | ")
        problem = GAMES[game].make(run)
        values = GAMES[game].values(problem)
        number = int(np.random.SeedSequence([self.seed, [c for c, _ in plan(1)].index(case), run]).generate_state(1)[0])
        way = METHODS[method]
        found = way.play(
            Unrolled(problem) if way.tree else problem, None if budget == "certified" else int(budget), number
        )
        answer = found.answer[-1] if way.tree else found.answer
        return {
            "case": case,
            "run": run,
            "regret": max(values.values()) - values[answer],
            "samples": found.samples,
            "seconds": found.elapsed,
            "reason": found.reason,
        }


def reproduce(runs: int, path: Path | None, *, seed: int, n_jobs: int, console: Console) -> list[Row]:
    """Compute (or take up again) all rows."""
    file = RowFile(path, "games", {"seed": seed})
    compute(file, plan(runs), Runner(seed), n_jobs=n_jobs, chunk=lambda case: 5, console=console)
    wanted = set(plan(runs))
    return [row for row in file.rows if (row["case"], row["run"]) in wanted]


def table(rows: list[Row]) -> Table:
    """Return how often each method is wrong, by game and budget."""
    found = Table(title=f"First move: share of runs wrong by more than {EPSILON:g}", title_justify="left")
    for name in ("game", "method"):
        found.add_column(name)
    for name in (*(f"wrong after\n{budget:,}" for budget in BUDGETS), f"regret after\n{BUDGETS[-1]:,}"):
        found.add_column(name, justify="right")
    for name in ("µs a sample", "samples until\ncertified ± s.e.", "wrong when\ncertified", "runs"):
        found.add_column(name, justify="right")
    by_case: dict[str, list[Row]] = {}
    for row in rows:
        by_case.setdefault(row["case"], []).append(row)
    for game in GAMES:
        for method in METHODS.values():
            if all(case_name(game, method.name, budget) in by_case for budget in method.budgets):
                found.add_row(game, method.name, *_cells(game, method, by_case))
        found.add_section()
    return found


def _wrong(rows: list[Row]) -> str:
    return f"{sum(row['regret'] > EPSILON for row in rows) / len(rows):.0%}"


def _cells(game: str, method: Method, by_case: dict[str, list[Row]]) -> list[str]:
    groups = [by_case[case_name(game, method.name, budget)] for budget in BUDGETS]
    last = groups[-1]
    cells = [_wrong(rows) for rows in groups]
    cells.append(f"{sum(row['regret'] for row in last) / len(last):.3f}")
    cells.append(f"{1e6 * sum(row['seconds'] for row in last) / sum(row['samples'] for row in last):.1f}")
    if not method.certifies:
        return [*cells, "-", "-", str(len(last))]
    settled = by_case[case_name(game, method.name, None)]
    open_ones = sum(row["reason"] != "identified" for row in settled)
    samples = with_error(*mean_and_error([row["samples"] for row in settled]))
    note = f" ({open_ones} open)" if open_ones else ""
    return [*cells, samples + note, _wrong(settled), str(len(last))]


NOTES = f"""\
After the samples of its column every method of the UCT family recommends the move of highest mean, the others the \
move that is most likely best. Those also stop by themselves, when the move is known to within {EPSILON:g} with \
probability {1 - DELTA:g} (bound betting). The tree keeps different ways to a position apart. Update-all credits every \
sample to all ancestors: sound for intervals, not for averages, as the trap shows: samples of bad positions reached \
through one move are held against the other for ever."""
