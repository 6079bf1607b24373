"""A first look: one search in words, and the economy of the sound rule on the paper's lattice."""

from __future__ import annotations

from time import perf_counter

from rich.console import Console
from rich.table import Table

from bestleaf.problems import TableProblem, Unrolled, paper_lattice
from bestleaf.search import Search, best_arm, best_leaf


def run(console: Console, seed: int) -> None:
    """Show a best-leaf search in words, then samples by stopping rule, bound and graph."""
    lattice = paper_lattice()
    with console.status("Compiling (only the first time)"):
        best_leaf(lattice, epsilon=0.5, delta=0.1, seed=0)
    console.print("[bold]The best 3 of 6 features[/] (20 subsets, each sampled as a coin with its own bias)\n")
    found = best_leaf(lattice, epsilon=0.03, delta=0.05, seed=seed)
    console.print(found.summary(), highlight=False)
    console.print(f"True value of the answer: {lattice.mean(found.answer):.4f}\n", highlight=False)
    console.print(_economy(seed))


def _economy(seed: int, runs: int = 10) -> Table:
    table = Table(title=f"Samples to find the best first feature, mean of {runs} runs (epsilon 0, delta 0.1)")
    for name in ("graph", "bound", "stopping", "samples"):
        table.add_column(name, justify="right" if name == "samples" else "left")
    lattice = paper_lattice()
    for graph, problem in (("tree", Unrolled(lattice)), ("DAG", lattice)):
        for bound, stopping in (("theory", "paper"), ("theory", "sound"), ("hoeffding", "sound")):
            search = Search(problem, epsilon=0.0, delta=0.1, bound=bound, stopping=stopping, seed=0)
            total = 0
            for number in range(runs):
                one = search.again(seed + number)
                one.finish()
                if one.reason == "interrupted":
                    raise KeyboardInterrupt
                total += one.samples
            table.add_row(graph, bound, stopping, f"{total / runs:,.0f}")
    return table


def warm_up() -> float:
    """Compile every kernel and part; return the seconds it took."""
    started = perf_counter()
    exact = TableProblem({0: [1, 2], 1: [3], 2: [3, 4]}, {3: 0.2, 4: 0.9}, exact_states=[3, 4], opponent=[1])
    for rule in ("lucb", "ugape", "lucb_mcts", "lucb_micro"):
        best_arm(paper_lattice(), epsilon=0.5, delta=0.1, rule=rule, seed=0)
    for bound in ("theory", "beta1", "beta1_published", "beta2", "hoeffding"):
        best_leaf(paper_lattice(), epsilon=0.5, delta=0.1, bound=bound, expansion=0.5, seed=0)
    best_leaf(exact, epsilon=0.5, delta=0.1, seed=0)
    best_leaf(exact, epsilon=0.5, delta=0.1, seed=0, max_samples=1)
    asked = Search(paper_lattice(), epsilon=0.5, delta=0.1, seed=0)
    asked.oracle = None
    asked.run()
    return perf_counter() - started
