"""Kill searches at random moments, let the same call go on with its memory, and count how many end as if never stopped.

Six kinds: the choice with nested folds and with test rows, a search by votes of nearest neighbours, by an estimator, by
all subsets of an estimator, of a slow problem of one's own. A third of the runs is killed once, a third twice, a third
three times; every fifth then ends in two processes on one file. Prints how many ended as the unbroken run, and the time
of a replay beside the time of the unbroken run.

    python benchmarks/interruptions.py [TIMES [KIND ...]]
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from math import inf
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
from sklearn.naive_bayes import GaussianNB

from bestleaf import BestLeafSelector, NeighbourVotes, SearchOptions, best_leaf
from bestleaf.paper import load_linear

FORK = get_context("fork")
CHOICES: dict[str, dict[str, Any]] = {"nested folds": {}, "test rows": {"holdout": 0.3}}
SELECTIONS: dict[str, dict[str, Any]] = {
    "training": {
        "epsilon": 0.003,
        "search": SearchOptions(guarantee="local"),
        "estimator": NeighbourVotes(scale=False),
    },
    "estimator": {"epsilon": 0.02, "estimator": GaussianNB(), "search": SearchOptions(max_samples=400)},
    "all subsets": {
        "estimator": GaussianNB(),
        "search": SearchOptions(guarantee="exhaustive"),
        "max_features": 2,
    },
}


class Dice:
    """Sixteen leaves whose samples take a millisecond."""

    def root(self) -> tuple[int, ...]:
        return ()

    def children(self, state: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [(*state, move) for move in range(4)]

    def is_terminal(self, state: tuple[int, ...]) -> bool:
        return len(state) == 2

    def sample(self, state: tuple[int, ...], rng: np.random.Generator) -> float:
        sleep(0.001)
        return float(rng.random() < 0.2 + 0.08 * sum(state))


def of_a_selection(name: str, memory: Path | None) -> list[Any]:
    """Return all that a selection finds, but for its times."""
    X, y = load_linear(return_X_y=True)
    settings = {"choose": "training", "delta": 0.1, "random_state": 0, **SELECTIONS[name]}
    selector = BestLeafSelector(**settings, memory=memory).fit(X, y)
    cost, search = selector.certificate_.cost, selector.certificate_.search
    ends = [search.gap.hex(), search.lower.hex(), selector.certificate_.reason]
    numbers = [cost.samples, cost.exact_evaluations, *ends]
    return [numbers, repr(search.leaves), [list(one) for one in selector.evaluated_], selector.feature_scores_.tolist()]


def of_a_choice(name: str, memory: Path | None) -> list[Any]:
    """Return all that a choice finds, but for its times."""
    X, y = load_linear(return_X_y=True)
    found = BestLeafSelector(random_state=0, memory=memory, **CHOICES[name]).fit(X[:120, :10], y[:120]).certificate_
    return [found.features, repr(found.path), repr(found.new_rows), found.reason]


def of_a_problem(memory: Path | None) -> list[Any]:
    """Return all that a search of a slow problem finds, but for its times."""
    found = best_leaf(Dice(), epsilon=0.15, delta=0.1, seed=0, memory=memory)
    return [found.answer, found.samples, found.gap.hex(), repr(found.leaves)]


KINDS: dict[str, Callable[[Path | None], list[Any]]] = {
    **{name: (lambda memory, name=name: of_a_choice(name, memory)) for name in CHOICES},
    **{name: (lambda memory, name=name: of_a_selection(name, memory)) for name in SELECTIONS},
    "own problem": of_a_problem,
}


def digest(name: str, memory: Path | None) -> str:
    """Return the fingerprint of what a run finds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = json.dumps(KINDS[name](memory), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def killed(name: str, memory: Path, seconds: float) -> bool:
    """Start a run in a process of its own, kill it after so many seconds; return whether it was still running."""
    process = FORK.Process(target=digest, args=(name, memory))
    process.start()
    process.join(seconds)
    running = process.is_alive()
    process.kill()
    process.join()
    return running


def interrupted(name: str, times: int) -> None:
    """Kill and resume runs of one kind, and print what came of it."""
    rng = np.random.default_rng(0)
    expected = digest(name, None)  # compiles
    unbroken = inf
    for _ in range(3):  # the quickest one, so that most kills come while it runs
        begun = perf_counter()
        assert digest(name, None) == expected
        unbroken = min(unbroken, perf_counter() - begun)
    running = same = 0
    with tempfile.TemporaryDirectory() as folder:
        for place in range(times):
            memory = Path(folder) / f"{place}.db"
            for _ in range(1 + place % 3):
                running += killed(name, memory, float(rng.uniform(0, unbroken)))
            if place % 5 == 0:
                with FORK.Pool(2) as pool:
                    both = pool.starmap(digest, [(name, memory)] * 2)
                same += set(both) == {expected}
            else:
                same += digest(name, memory) == expected
        begun = perf_counter()
        digest(name, memory)
        replay = perf_counter() - begun
        size = os.path.getsize(memory)
    print(
        f"{name}: {same} of {times} identical, {running} kills while running; unbroken {unbroken:.2f} s, "
        f"replay {replay:.2f} s, file {size / 1000:.0f} kB",
        flush=True,
    )


if __name__ == "__main__":
    for kind in sys.argv[2:] or KINDS:
        interrupted(kind, int(sys.argv[1]) if len(sys.argv) > 1 else 50)
