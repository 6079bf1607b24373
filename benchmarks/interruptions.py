"""Kill a selection at 100 random moments, let the same command go on, and count how many end bit for bit the same.

Prints how many of the files were complete, how many were refused, and how many resumed runs ended as the unbroken one.
`python benchmarks/interruptions.py [TIMES]`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import warnings
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.naive_bayes import GaussianNB

from bestleaf import BestLeafSelector, Checkpoint, NeighbourVotes, SearchOptions
from bestleaf.checkpoint.file import read_file
from bestleaf.paper import load_linear

SETTINGS: dict[str, dict[str, Any]] = {
    "nearest neighbours": {
        "epsilon": 0.003,
        "search": SearchOptions(guarantee="local"),
        "estimator": NeighbourVotes(scale=False),
    },
    "an estimator, in batches": {"epsilon": 0.02, "estimator": GaussianNB(), "search": SearchOptions(max_samples=1500)},
}


def digest(name: str, checkpoint: Checkpoint | None) -> str:
    """Return the fingerprint of all that a selection finds, but for its times."""
    X, y = load_linear(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = BestLeafSelector(
            choose="training", delta=0.1, random_state=0, **SETTINGS[name], checkpoint=checkpoint
        ).fit(X, y)
    content = dict(selector.certificate_.content)
    content["cost"] = {name: value for name, value in content["cost"].items() if name != "seconds"}
    content["report"] = {name: value for name, value in content["report"].items() if name != "history"}
    text = json.dumps([content, selector.evaluated_, selector.feature_scores_.tolist()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def killed(name: str, path: Path, seconds: float) -> bool:
    """Start a selection in a process of its own, kill it after so many seconds; return whether it was still running."""
    process = get_context("fork").Process(target=digest, args=(name, Checkpoint(path, every=0)))
    process.start()
    process.join(seconds)
    running = process.is_alive()
    process.kill()
    process.join()
    return running


def main(times: int) -> None:
    for name in SETTINGS:
        interrupted(name, times)


def interrupted(name: str, times: int) -> None:
    """Kill and resume selections of one kind, and print what came of it."""
    rng = np.random.default_rng(0)
    expected = digest(name, None)  # compiles
    begun = perf_counter()
    digest(name, None)
    longest = perf_counter() - begun
    counts = dict.fromkeys(("killed while running", "without a file yet", "refused", "identical"), 0)
    with tempfile.TemporaryDirectory() as folder:
        for place in range(times):
            path = Path(folder) / f"{place}.blf"
            for _ in range(1 + place % 3):  # some are killed again after they have gone on
                counts["killed while running"] += killed(name, path, float(rng.uniform(0, longest)))
                if path.exists():
                    read_file(path)  # a file that is not complete would raise
            counts["without a file yet"] += not path.exists()
            try:
                counts["identical"] += digest(name, Checkpoint(path)) == expected
            except ValueError as error:
                counts["refused"] += 1
                print(error)
        left = sorted(file.name for file in Path(folder).iterdir() if file.suffix != ".blf")
    print(f"{name}: {times} selections, each killed one to three times: {counts}; stray files: {left or 'none'}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
