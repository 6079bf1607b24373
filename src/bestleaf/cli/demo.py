"""bestleaf demo selects features of the paper's linear data; bestleaf warm compiles everything once."""

from __future__ import annotations

import warnings
from time import perf_counter

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from bestleaf.engine.bounds import BOUNDS
from bestleaf.engine.rules import RULES
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle, NeighbourVotes
from bestleaf.paper import fuse_search, load_linear, uct_search
from bestleaf.problems import TableProblem, paper_lattice
from bestleaf.search import Search, best_arm, best_leaf
from bestleaf.selector import BestLeafSelector, SearchOptions

STORY = """\
[bold]The paper's linear data[/]: 300 examples, 30 features. The label is 0.1 x - 0.8 y + 0.6 z >= 0; ten of the \
features are made of x, y and z, twenty are noise. Which subset lets nearest neighbours rank the examples best?
"""


def show(random_state: int) -> None:
    """Select features of the paper's linear data and show what is proved, what is not, and what it cost."""
    console, data = Console(), load_linear()
    console.print(STORY, highlight=False, soft_wrap=True)
    with console.status("Compiling (only the first time)"):
        _fit_briefly(data.data, data.target)
    votes = NeighbourVotes(scale=False)
    selector = BestLeafSelector(
        votes, choose="training", epsilon=0.005, delta=0.1, random_state=random_state, verbose=1
    )
    selector.fit(pd.DataFrame(data.data, columns=data.feature_names), data.target)
    sizes = Table(title="The best subset of each size among those evaluated", title_justify="left")
    for name in ("features", "value", "subset"):
        sizes.add_column(name, justify="left" if name == "subset" else "right")
    for size, best in selector.evaluated_.by_size().items():
        sizes.add_row(str(size), f"{best.score:.4f}", ", ".join(map(str, best.features)))
    console.print()
    console.print(sizes)
    print(
        "The paper reports 440,240 samples for this data set, without proof; this run took "
        f"{selector.certificate_.samples:,}. Try another seed (bestleaf demo --random-state 2), or run the paper's "
        "tables again (bestleaf reproduce --help)."
    )


def _fit_briefly(X: np.ndarray, y: np.ndarray) -> None:
    """Fit a selector with a budget that is just enough to compile all that it uses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the budget ends it
        BestLeafSelector(
            choose="training", random_state=0, search=SearchOptions(max_samples=20 * X.shape[1] + 200)
        ).fit(X, y)


def warm_up() -> float:
    """Compile all kernels, rules and bounds; return the seconds it took."""
    started = perf_counter()
    for rule in RULES:
        best_arm(paper_lattice(), rule=rule, epsilon=0.5, delta=0.1, seed=0)
    for bound in BOUNDS:
        best_leaf(paper_lattice(), bound=bound, expansion=0.5, epsilon=0.5, delta=0.1, seed=0)
    exact = TableProblem({0: [1, 2], 1: [3], 2: [3, 4]}, {3: 0.2, 4: 0.9}, exact_states=[3, 4], opponent=[1])
    best_leaf(exact, epsilon=0.5, delta=0.1, seed=0)
    best_leaf(exact, max_samples=1, epsilon=0.5, delta=0.1, seed=0)
    lattice, rng = paper_lattice(), np.random.default_rng(0)
    asked = Search(lattice, epsilon=0.5, delta=0.1, seed=0)
    while (state := asked.ask()) is not None:
        asked.tell(lattice.sample(state, rng))
    X, y = load_linear(return_X_y=True)
    _fit_briefly(X, y)
    _fit_briefly(X, X[:, 0])
    uct_search(paper_lattice(), variant="uct3", max_samples=20, seed=0)
    fuse_search(FeatureLattice(KNNOracle(X, y)), max_samples=200, seed=0)
    return perf_counter() - started
