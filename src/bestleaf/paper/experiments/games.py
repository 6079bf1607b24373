"""Algorithms with averages and algorithms with intervals, on games in which many paths lead to the same position.

Compared are UCT on the tree and on the graph (UCT1, UCT2, UCT3, UCD, update-all), LUCB-MCTS on the tree, LUCB-MCDS and
the default rule on the graph. Every run lists the features of the lattice in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from rich.table import Table

from bestleaf.paper.experiments.rows import Row, Task, chosen, mean, reproducer, seed_of, with_error
from bestleaf.paper.theory import values
from bestleaf.problems import PAPER_SCORES, ScoreLattice, TableProblem, Unrolled, random_dag, transposition_trap
from bestleaf.rivals.uct import UCTResult, uct_search
from bestleaf.search import Result, best_arm

RUNS = 100
BUDGETS = (300, 1_000, 3_000, 10_000)
EPSILON, DELTA = 0.05, 0.1
ENOUGH = 1_000_000  # samples after which a search is ended even if it has not settled

GAMES: dict[str, Callable[[int], ScoreLattice | TableProblem]] = {  # by the number of the run
    "lattice of 20 leaves": lambda run: ScoreLattice(np.random.default_rng(run).permutation(PAPER_SCORES).tolist(), 3),
    "two-player games": lambda run: random_dag(run, layers=6, width=6, max_children=4, two_player=True),
    "transposition trap": lambda run: transposition_trap(),
}
AVERAGES = {  # variant and backup of UCT
    "UCT on the tree": ("uct1", "descent"),
    "UCT1": ("uct1", "descent"),
    "UCT2": ("uct2", "descent"),
    "UCT3": ("uct3", "descent"),
    "UCD (1, 1, 1)": ("ucd", "descent"),
    "UCT1, update-all": ("uct1", "all"),
}
INTERVALS = {"LUCB-MCTS on the tree": "lucb_mcts", "LUCB-MCDS": "lucb", "smallest gap": "smallest_gap"}  # the rule
METHODS = (*AVERAGES, *INTERVALS)  # only those with intervals also certify their answer


LINES = {f"{game} | {method}": (game, method) for game in GAMES for method in METHODS}


def case_name(game: str, method: str, samples: int | None) -> str:
    """Return the name of a case; if `samples` is None, the search ends when the answer is certified."""
    return f"{game} | {method} | {samples or 'certified'}"


def plan(runs: int, names: Sequence[str] = ()) -> list[Task]:
    """Return the runs of the lines asked for, with every budget."""
    cases = [
        case_name(game, method, budget)
        for game, method in (LINES[name] for name in chosen(names, LINES))
        for budget in (*BUDGETS, *([None] if method in INTERVALS else []))
    ]
    return [(case, run) for case in cases for run in range(runs)]


def run_row(seed: int, case: str, run: int) -> Row:
    """Return the row of one run."""
    game, method, budget = case.split(" | ")
    samples, on_tree = ENOUGH if budget == "certified" else int(budget), method.endswith("on the tree")
    problem = GAMES[game](run)
    graph = Unrolled(problem) if on_tree else problem
    number = int(seed_of(seed, (name for name, _ in plan(1)), case, run).generate_state(1)[0])
    found: UCTResult | Result
    if method in AVERAGES:
        variant, backup = AVERAGES[method]
        found = uct_search(graph, variant=variant, backup=backup, recommend="mean", max_samples=samples, seed=number)
    else:
        rule = INTERVALS[method]
        found = best_arm(graph, epsilon=EPSILON, delta=DELTA, rule=rule, max_samples=samples, seed=number)
    value = values(problem)
    answer = found.answer[-1] if on_tree else found.answer
    return {
        "case": case,
        "run": run,
        "regret": value[problem.root()] - value[answer],
        "samples": found.samples,
        "seconds": found.seconds,
        "reason": found.reason,
    }


reproduce = reproducer("games", plan, run_row)


def _wrong(rows: list[Row]) -> str:
    return f"{sum(row['regret'] > EPSILON for row in rows) / len(rows):.0%}" if rows else "-"


def table(rows: list[Row]) -> Table:
    """Return how often each method is wrong, by game and budget."""
    found = Table(
        "game", "method", title=f"First move: share of runs wrong by more than {EPSILON:g}", title_justify="left"
    )
    names = [*(f"wrong after\n{budget:,}" for budget in BUDGETS), f"regret after\n{BUDGETS[-1]:,}", "µs a sample"]
    for name in (*names, "samples until\ncertified ± s.e.", "wrong when\ncertified", "runs"):
        found.add_column(name, justify="right")
    for game in GAMES:
        for method in METHODS:
            *limited, settled = (
                [row for row in rows if row["case"] == case_name(game, method, budget)] for budget in (*BUDGETS, None)
            )
            if not any((*limited, settled)):
                continue
            last, open_ones = limited[-1], sum(row["reason"] != "identified" for row in settled)
            found.add_row(
                game,
                method,
                *map(_wrong, limited),
                f"{mean(last, 'regret'):.3f}" if last else "-",
                f"{1e6 * mean(last, 'seconds') / mean(last, 'samples'):.1f}" if last else "-",
                (with_error(settled) if settled else "-") + (f" ({open_ones} open)" if open_ones else ""),
                _wrong(settled),
                str(len(last)),
                end_section=method == METHODS[-1],
            )
    return found


NOTES = f"""\
After the samples of its column every method of the UCT family recommends the move of highest mean, the others the \
move that is most likely best. Those also stop by themselves, when the move is known to within {EPSILON:g} with \
probability {1 - DELTA:g} (bound betting). The tree keeps different ways to a position apart. Update-all credits every \
sample to all ancestors: sound for intervals, not for averages, as the trap shows: samples of bad positions reached \
through one move are held against the other for ever."""
