"""A first look: the main job on the paper's linear data, told in words; and compiling everything once."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from bestleaf.bounds import BOUNDS
from bestleaf.datasets import load_linear
from bestleaf.problems import TableProblem, paper_lattice
from bestleaf.rules import RULES
from bestleaf.search import Search, best_arm, best_leaf

STORY = """\
[bold]The paper's linear data[/]: 300 examples, 30 features. The label is 0.1 x - 0.8 y + 0.6 z >= 0; ten of the \
features are made of x, y and z, twenty are noise. Which subset lets nearest neighbours rank the examples best?
"""


def run(console: Console, seed: int) -> None:
    """Select features of the paper's linear data and show what is proved, what is not, and what it cost."""
    import pandas as pd

    from bestleaf.selector import BestLeafSelector

    data = load_linear()
    console.print(STORY, highlight=False, soft_wrap=True)
    with console.status("Compiling (only the first time)"):
        _fit_briefly(data.data, data.target)
    selector = BestLeafSelector(epsilon=0.005, delta=0.1, scale=False, random_state=seed, verbose=1)
    selector.fit(pd.DataFrame(data.data, columns=data.feature_names), data.target)
    console.print()
    console.print(_sizes(selector.evaluated_))
    console.print(
        f"The paper reports 440,240 samples for this data set, without proof; this run took "
        f"{selector.certificate_.samples:,}. Try another seed (bestleaf demo --seed 2), or run the paper's tables "
        "again (bestleaf reproduce --help).",
        highlight=False,
        soft_wrap=True,
    )


def _sizes(evaluated: Any) -> Table:
    found = Table(title="The best subset of each size among those evaluated", title_justify="left")
    for name in ("features", "value", "subset"):
        found.add_column(name, justify="left" if name == "subset" else "right")
    for size, best in evaluated.by_size().items():
        found.add_row(str(size), f"{best.score:.4f}", ", ".join(map(str, best.features)))
    return found


def _fit_briefly(X: Any, y: Any) -> None:
    """Fit a selector on a budget that is just enough to compile what it uses."""
    from bestleaf.selector import BestLeafSelector

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the budget ends it
        BestLeafSelector(max_samples=20 * X.shape[1] + 200, random_state=0).fit(X, y)


def _play_rivals(X: Any, y: Any) -> None:
    """Play every rival briefly, so that what it uses is compiled."""
    from bestleaf.features import FeatureLattice
    from bestleaf.flat import ALGORITHMS, flat_best_leaf
    from bestleaf.oracles import KNNOracle
    from bestleaf.uct import fuse_search, uct_search

    uct_search(paper_lattice(), variant="uct3", max_samples=20, seed=0)
    fuse_search(FeatureLattice(KNNOracle(X, y)), max_samples=200, seed=0)
    for algorithm in ALGORITHMS:
        flat_best_leaf(paper_lattice(), algorithm=algorithm, epsilon=0.5, delta=0.1, max_samples=50, seed=0)


def warm_up() -> float:
    """Compile every kernel and part; return the seconds it took."""
    started = perf_counter()
    exact = TableProblem({0: [1, 2], 1: [3], 2: [3, 4]}, {3: 0.2, 4: 0.9}, exact_states=[3, 4], opponent=[1])
    for rule in RULES:
        best_arm(paper_lattice(), epsilon=0.5, delta=0.1, rule=rule, seed=0)
    for bound in BOUNDS:
        best_leaf(paper_lattice(), epsilon=0.5, delta=0.1, bound=bound, expansion=0.5, seed=0)
    best_leaf(exact, epsilon=0.5, delta=0.1, seed=0)
    best_leaf(exact, epsilon=0.5, delta=0.1, seed=0, max_samples=1)
    asked = Search(paper_lattice(), epsilon=0.5, delta=0.1, seed=0)
    asked.oracle = None
    asked.run()
    X, y = load_linear(return_X_y=True)
    _fit_briefly(X, y)
    _fit_briefly(X, X[:, 0])
    _play_rivals(X, y)
    return perf_counter() - started
