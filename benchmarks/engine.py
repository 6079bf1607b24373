"""How fast the engine is, and what limits it. Every figure is printed beside the one it is compared with.

Run `make bench` on a quiet machine; timings of a busy one vary by a factor of two.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from bestleaf.engine.bounds import BOUNDS
from bestleaf.engine.rules import RULES
from bestleaf.problems import BernoulliProblem, Unrolled, paper_lattice
from bestleaf.search import Search, best_arm, best_leaf

console = Console(width=140)


class BinaryTree(BernoulliProblem):
    """All strings of bits up to a length; a leaf is worth more the more ones it has."""

    def __init__(self, depth):
        self.depth = depth

    def root(self):
        return (0, 0)

    def children(self, state):
        level, bits = state
        return [(level + 1, 2 * bits), (level + 1, 2 * bits + 1)]

    def is_terminal(self, state):
        return state[0] == self.depth

    def mean(self, state):
        return 0.2 + 0.6 * bin(state[1]).count("1") / self.depth


class Plain:
    """A problem as a user writes it: plain Python, no compiled oracle."""

    def __init__(self, problem):
        self.root, self.children = problem.root, problem.children
        self.is_terminal, self.sample = problem.is_terminal, problem.sample


def warm_up():
    """Compile all kernels, rules and bounds."""
    for rule in RULES:
        best_arm(paper_lattice(), rule=rule, epsilon=0.5, delta=0.1, seed=0)
    for bound in BOUNDS:
        best_leaf(paper_lattice(), bound=bound, expansion=0.5, epsilon=0.5, delta=0.1, seed=0)


def timed(search, **_):
    started = perf_counter()
    search.finish()
    return perf_counter() - started


def best_of(times, make):
    return min((timed(search), search.samples, search) for search in (make() for _ in range(times)))[:2]


def samples_per_second():
    table = Table(title="One core, compiled problem (the paper's lattice, epsilon 0, delta 0.1)", title_justify="left")
    for name in ("graph", "stopping", "bound", "ns a sample", "samples a second", "nodes refreshed a sample"):
        table.add_column(name, justify="right")
    seconds = {}
    for graph, problem in (("tree", Unrolled(paper_lattice())), ("DAG", paper_lattice())):
        for stopping, bound in (("paper", "beta1_published"), ("sound", "beta1_published"), ("sound", "hoeffding")):
            keywords = {"epsilon": 0, "delta": 0.1, "bound": bound, "stopping": stopping}
            runs = [Search(problem, **keywords, seed=seed) for seed in range(10)]
            spent = sum(timed(run) for run in runs)
            drawn = sum(run.samples for run in runs)
            refreshed = sum(int(run.state.known.world["refreshes"]) for run in runs) / drawn
            seconds[graph, stopping, bound] = spent / drawn
            cells = (graph, stopping, bound, f"{1e9 * spent / drawn:.0f}", f"{drawn / spent:,.0f}", f"{refreshed:.2f}")
            table.add_row(*cells)
    console.print(table)
    tree, dag = (seconds[graph, "paper", "beta1_published"] for graph in ("tree", "DAG"))
    published = 1e4 * (tree * (478_142 + 27_874) + dag * (92_446 + 17_495))
    console.print(
        f"The published table (10,000 runs of four rows, 6.2e9 samples) on 2 cores: {published / 120:.0f} minutes\n"
    )


def ask_and_tell():
    plain = Plain(paper_lattice())
    Search(plain, epsilon=0, delta=0.1, seed=0, max_samples=100).finish()
    spent, drawn = best_of(3, lambda: Search(plain, epsilon=0, delta=0.1, bound="theory", seed=0, max_samples=20_000))
    rng, leaf = np.random.default_rng(0), (3, 4, 5)
    started = perf_counter()
    for _ in range(drawn):
        plain.sample(leaf, rng)
    oracle = perf_counter() - started
    console.print(
        f"Python-defined problem: {1e6 * spent / drawn:.1f} us a sample, of which its own sample() "
        f"{1e6 * oracle / drawn:.1f} us; overhead {1e6 * (spent - oracle) / drawn:.1f} us (target: at most 4), "
        f"ratio {spent / oracle:.1f}\n"
    )


def cost_against_size():
    table = Table(title="Cost of one sample against the size of the graph (binary tree)", title_justify="left")
    for name in ("nodes", "ancestors a leaf", "stopping", "refreshed a sample", "ns a sample", "ns a refreshed node"):
        table.add_column(name, justify="right")
    for depth in (6, 9, 12, 16):
        for stopping in ("paper", "sound"):
            search = Search(
                BinaryTree(depth), epsilon=0, delta=0.1, bound="beta2", stopping=stopping, seed=0, max_samples=2**18
            )
            spent = timed(search)
            refreshed = int(search.state.known.world["refreshes"]) / search.samples
            table.add_row(
                f"{len(search.state.graph):,}",
                str(depth + 1),
                stopping,
                f"{refreshed:.2f}",
                f"{1e9 * spent / search.samples:.0f}",
                f"{1e9 * spent / search.samples / refreshed:.0f}",
            )
    console.print(table)


def first_search():
    code = (
        "from time import perf_counter as t; s = t(); import bestleaf; i = t() - s;"
        "from bestleaf import best_arm, problems;"
        "best_arm(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0); print(i, t() - s)"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cold", "warm", "warm again"):
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            shown = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
            )
            imported, total = map(float, shown.stdout.split())
            console.print(f"{name}: import bestleaf {imported:.2f} s, first search done after {total:.2f} s")


if __name__ == "__main__":
    warm_up()
    samples_per_second()
    ask_and_tell()
    cost_against_size()
    first_search()
