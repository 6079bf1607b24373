"""Graphs with cycles: wrong answers, and what a search costs: PYTHONPATH=tests python benchmarks/cycles.py [GRAPHS].

First come a grid where moves undo each other, a sliding puzzle, a game that may go on for ever, and what a sample costs
beside the same graph without the moves that lead back. Then GRAPHS random graphs (10,000 if not given) are searched, a
quarter of each kind: one and two players, the whole graph and a growing one.
"""

from __future__ import annotations

import sys
from collections import deque
from time import perf_counter

from rich.console import Console
from rich.table import Table
from scipy.stats import binom

from bestleaf import best_arm, best_leaf, verify
from bestleaf.problems import TableProblem
from toys import SlidingPuzzle, cat_and_mouse, navigation_grid, random_cyclic_graph, worth

console = Console(width=140)
EPSILON = DELTA = 0.1
SETTINGS = {"epsilon": EPSILON, "delta": DELTA}
MAP = ["S...#....A", ".##.#.##.#", ".#.......#", ".#.###.#..", "...#B..#.C"]
REWARDS = {"A": 0.85, "B": 0.4, "C": 0.7}
HOUSE = {"a": "bd", "b": "ace", "c": "bfh", "d": "ae", "e": "bdf", "f": "cei", "h": "c", "i": "f"}


def table_of(title, columns, rows):
    table = Table(title=title, title_justify="left")
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left")
    for row in rows:
        table.add_row(*map(str, row))
    console.print(table)


def regret(problem, result, end):
    """Return how much is lost by the answer in the graph as grown, with every leaf worth its mean."""
    graph, states = result.search.graph, result.states
    rows = zip(states, graph.children, strict=True)
    table = {state: [states[child] for child in below] for state, below in rows if below}
    opponent = [states[node] for node in graph.minimizes]
    grown = TableProblem(table, problem.means, opponent=opponent, endless=end)
    return abs(worth(grown, problem.root()) - worth(grown, result.answer))


def random_graphs(graphs):
    """Count the answers that are worse than the best by more than epsilon; every certificate is checked, too."""
    rows, many = [], graphs // 4
    most = int(binom.ppf(1 - 1e-4, many, DELTA))
    kinds = [(two_player, expansion) for two_player in (False, True) for expansion in (None, 0.5)]
    for kind, (two_player, expansion) in enumerate(kinds):
        begun, wrong, open_ones, refused, samples = perf_counter(), 0, 0, 0, 0
        for number in range(many):
            seed = 4 * number + kind
            problem = random_cyclic_graph(
                seed,
                two_player=two_player,
                endless=0.5,
                exact_share=0.3 * (number % 2),
                grid=0.1 if number % 3 == 0 else None,
            )
            search = best_arm if two_player or number % 4 == 0 else best_leaf
            result = search(problem, **SETTINGS, expansion=expansion, seed=seed, max_samples=1_000_000)
            wrong += regret(problem, result, 0.5 if two_player else None) > EPSILON
            open_ones += not result.settled
            refused += not verify(result.certificate)
            samples += result.samples
        players, how = "two players" if two_player else "one player", "whole" if expansion is None else "growing"
        numbers = (wrong, most, open_ones, refused, f"{samples / many:,.0f}", f"{perf_counter() - begun:.0f}")
        rows.append((f"{players}, {how}", f"{many:,}", *numbers))
    columns = ("random graphs", "graphs", "wrong", "delta and margin", "not identified", "refused", "samples", "s")
    table_of(f"Wrong answers at epsilon = delta = {DELTA}; the margin is passed with probability 1e-4", columns, rows)


def forwards(problem):
    """Return the same graph without the moves that lead back: only moves to states met later, breadth first."""
    met = {problem.root(): None}
    queue = deque(met)
    while queue:
        state = queue.popleft()
        for child in () if problem.is_terminal(state) else problem.children(state):
            if child not in met:
                met[child] = None
                queue.append(child)
    place = {state: number for number, state in enumerate(met)}
    table = {
        state: [child for child in problem.children(state) if place[child] > place[state]]
        for state in met
        if not problem.is_terminal(state)
    }
    while dead := [state for state, below in table.items() if not below]:
        for state in dead:
            del table[state]
        table = {state: [one for one in below if one not in dead] for state, below in table.items()}
    return TableProblem(table, {state: problem.mean(state) for state in met}, root=problem.root())


def examples():
    """Search a grid and a puzzle, whole and growing."""
    goals = {(1, 2, 3, 4, 5, 0): 0.9, (0, 4, 1, 5, 3, 2): 0.6, (1, 2, 3, 4, 0, 5): 0.5}
    puzzle, rows = SlidingPuzzle((1, 2, 0, 4, 5, 3), 3, goals), []
    grid, puzzled = navigation_grid(MAP, REWARDS), "sliding puzzle, 2 x 3"
    for name, problem, best in (("small grid", grid, max(REWARDS.values())), (puzzled, puzzle, max(goals.values()))):
        runs = {
            "best_leaf": lambda seed, problem=problem: best_leaf(problem, **SETTINGS, seed=seed),
            "best_leaf, growing": lambda seed, problem=problem: best_leaf(
                problem, **SETTINGS, expansion=0.7, seed=seed
            ),
        }
        for how, run in runs.items():
            found = [run(seed) for seed in range(20)]
            right = sum(best - problem.mean(one.answer) <= EPSILON for one in found)
            nodes = f"{sum(one.nodes for one in found) / 20:,.0f}"
            rows.append((name, how, f"{right} of 20", f"{sum(one.samples for one in found) / 20:,.0f}", nodes))
    table_of("Best leaf where moves undo each other", ("problem", "search", "right", "samples", "nodes"), rows)


def game():
    """Search a game from every start and compare with the table of wins, losses and draws."""
    rows = []
    for expansion in (None, 0.6):
        starts = [(mouse, cat) for mouse in "abcdef" for cat in "abcdef" if mouse != cat]
        right = values = 0
        for mouse, cat in starts:
            played = cat_and_mouse(HOUSE, {"h": 1.0, "i": 1.0}, mouse=mouse, cat=cat)
            result = best_arm(played, **SETTINGS, expansion=expansion, seed=0)
            value = endgame(played)
            lost = regret(played, result, 0.5) if expansion else abs(value[result.answer] - value[played.root()])
            right += lost <= EPSILON
            values += result.exact_evaluations
        graph = "whole" if expansion is None else "growing"
        rows.append((graph, f"{right} of {len(starts)}", f"{values / len(starts):.1f}"))
    table_of("A game that may go on for ever", ("cat and mouse", "right (growing: as grown)", "exact values"), rows)


def endgame(played):
    """Solve a game by counting the moves that are left, as endgame tables are made."""
    table, value = played.children_of, {}
    left, parents = {state: len(below) for state, below in table.items()}, {}
    for state, below in table.items():
        for child in below:
            parents.setdefault(child, []).append(state)
            if child not in table:
                value[child] = played.means[child]
    queue = deque(value)
    while queue:
        state = queue.popleft()
        for parent in parents.get(state, ()):
            left[parent] -= 1
            wins = 1.0 if played.maximizes(parent) else 0.0
            if parent not in value and (value[state] == wins or left[parent] == 0):
                value[parent] = value[state]
                queue.append(parent)
    return {**dict.fromkeys(table, 0.5), **value}


def costs(samples=100_000):
    """Compare the time a sample with that on the same graph without the moves that lead back."""
    rows = []
    wide = ["S" + "." * 18 + "A"] + ["." * 19 + "B"] + ["." * 20] * 17 + ["C" + "." * 18 + "D"]
    grids = {
        "small grid": navigation_grid(MAP, REWARDS),
        "grid of 400 cells": navigation_grid(wide, {**REWARDS, "D": 0.6}),
    }
    for name, problem in grids.items():
        taken = {}
        for how, one in (("without moves back", forwards(problem)), ("with cycles", problem)):
            best_leaf(one, epsilon=0, delta=1e-9, max_samples=100, seed=0)
            begun = perf_counter()
            found = best_leaf(one, epsilon=0, delta=1e-9, max_samples=samples, seed=0)
            taken[how] = (perf_counter() - begun) / found.samples
        first = taken["without moves back"]
        rows += [(name, how, f"{1e6 * cost:.2f}", f"{cost / first:.2f}") for how, cost in taken.items()]
    table_of("Cost of a sample", ("problem", "graph", "µs a sample", "ratio"), rows)


if __name__ == "__main__":
    examples()
    game()
    costs()
    random_graphs(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
