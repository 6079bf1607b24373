"""Cost a sample and cost a value of two revisions, side by side in one run: python benchmarks/revisions.py [OLD] [NEW].

OLD and NEW are revisions of this repository, or folders that hold a `src/bestleaf`. OLD is the last commit and NEW the
working tree if they are not given. Every workload runs in a process of its own, the two revisions in turn, and the best
time of each counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]

WORKLOADS = """
import json, sys
from time import perf_counter
import numpy as np
from bestleaf import KNNOracle, Search, best_leaf, problems
from bestleaf.features import FeatureLattice
from bestleaf.problems import BernoulliProblem

class BinaryTree(BernoulliProblem):
    def root(self): return (0, 0)
    def children(self, state): return [(state[0] + 1, 2 * state[1]), (state[0] + 1, 2 * state[1] + 1)]
    def is_terminal(self, state): return state[0] == 12
    def mean(self, state): return 0.2 + 0.6 * bin(state[1]).count("1") / 12

class Plain:
    def __init__(self, one):
        self.root, self.children, self.is_terminal, self.sample = one.root, one.children, one.is_terminal, one.sample

def search(problem, **more):
    made = Search(problem, **{"task": "arm", "epsilon": 0, "delta": 0.1, "seed": 0, "max_samples": 200_000, **more})
    begun = perf_counter(); made.finish()
    return (perf_counter() - begun) / made.samples

rng = np.random.default_rng(0)
X, y = rng.normal(size=(1000, 40)), rng.integers(0, 2, 1000)

def value():
    oracle = KNNOracle(X, y)
    subsets = [sorted(rng.choice(40, 5, replace=False).tolist()) for _ in range(20)]
    oracle.value([0, 1]); begun = perf_counter()
    for subset in subsets: oracle.value(subset)
    return (perf_counter() - begun) / len(subsets)

def rollout():
    lattice = FeatureLattice(KNNOracle(X, y))
    return search(lattice, task="leaf", expansion=0.5, proposal="rave", max_samples=30_000)

lattice = problems.paper_lattice()
work = {
    "DAG, betting": lambda: search(lattice, task="leaf"),
    "DAG, hoeffding": lambda: search(lattice, bound="hoeffding"),
    "tree, published test": lambda: search(problems.Unrolled(lattice), bound="beta1_published", stopping="paper"),
    "binary tree of depth 12": lambda: search(BinaryTree(), bound="beta2"),
    "growing DAG": lambda: search(lattice, task="leaf", expansion=0.6),
    "Python problem": lambda: search(Plain(lattice), max_samples=20_000),
    "batches of 32": lambda: search(Plain(lattice), max_samples=20_000, batch_size=32),
    "exact value, 1,000 rows": value,
    "rollout with growth": rollout,
}
best_leaf(lattice, epsilon=0.5, delta=0.1, seed=0)
print(json.dumps({name: min(one() for _ in range(3)) for name, one in work.items()}))
"""


def unpacked(revision: str, folder: Path) -> Path:
    """Return the folder with the sources of a revision, or the folder given."""
    if (Path(revision) / "src" / "bestleaf").is_dir():
        return Path(revision) / "src"
    packed = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def main(old: str, new: str, rounds: int) -> None:
    console = Console(width=120)
    with tempfile.TemporaryDirectory() as folder:
        sources = {"old": unpacked(old, Path(folder, "old")), "new": unpacked(new, Path(folder, "new"))}
        best: dict[str, dict[str, float]] = {"old": {}, "new": {}}
        for _ in range(rounds):
            for name, source in sources.items():
                environment = {
                    **os.environ,
                    "PYTHONPATH": str(source),
                    "NUMBA_CACHE_DIR": str(Path(folder, f"c{name}")),
                }
                command = [sys.executable, "-c", WORKLOADS]
                shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
                for work, seconds in json.loads(shown).items():
                    best[name][work] = min(seconds, best[name].get(work, seconds))
    table = Table("workload", "old, us", "new, us", "new / old", title=f"{old} against {new}, best of {rounds} rounds")
    for work, seconds in best["old"].items():
        now = best["new"][work]
        table.add_row(work, f"{1e6 * seconds:.3f}", f"{1e6 * now:.3f}", f"{now / seconds:.2f}")
    console.print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", nargs="?", default="HEAD")
    parser.add_argument("new", nargs="?", default=str(ROOT))
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    main(given.old, given.new, given.rounds)
