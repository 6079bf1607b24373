"""Kill a selection at 100 random moments, let the same command go on, and count how many end bit for bit the same.

Prints how many of the files were complete, how many were refused, and how many resumed runs ended as the unbroken one.
`python benchmarks/interruptions.py [TIMES]`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import numpy as np

from bestleaf import BestLeafSelector, Checkpoint
from bestleaf.datasets import load_linear
from bestleaf.storage.file import read_file

SETTINGS = {"epsilon": 0.003, "delta": 0.1, "scale": False, "guarantee": ["local", "quantile"], "random_state": 0}


def digest(checkpoint: Checkpoint | None) -> str:
    """Return the fingerprint of all that a selection finds, but for its times."""
    X, y = load_linear(return_X_y=True)
    selector = BestLeafSelector(**SETTINGS, checkpoint=checkpoint).fit(X, y)
    content = dict(selector.certificate_.content)
    content["cost"] = {name: value for name, value in content["cost"].items() if name != "seconds"}
    content["report"] = {name: value for name, value in content["report"].items() if name != "history"}
    text = json.dumps([content, selector.evaluated_, selector.feature_scores_.tolist()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def killed(path: Path, seconds: float) -> bool:
    """Start a selection in a process of its own, kill it after so many seconds; return whether it was still running."""
    process = get_context("fork").Process(target=digest, args=(Checkpoint(path, every=0),))
    process.start()
    process.join(seconds)
    running = process.is_alive()
    process.kill()
    process.join()
    return running


def main(times: int) -> None:
    rng = np.random.default_rng(0)
    expected = digest(None)  # compiles
    begun = perf_counter()
    digest(None)
    longest = perf_counter() - begun
    counts = dict.fromkeys(("killed while running", "without a file yet", "refused", "identical"), 0)
    with tempfile.TemporaryDirectory() as folder:
        for place in range(times):
            path = Path(folder) / f"{place}.blf"
            for _ in range(1 + place % 3):  # some are killed again after they have gone on
                counts["killed while running"] += killed(path, float(rng.uniform(0, longest)))
                if path.exists():
                    read_file(path)  # a file that is not complete would raise
            counts["without a file yet"] += not path.exists()
            try:
                counts["identical"] += digest(Checkpoint(path)) == expected
            except ValueError as error:
                counts["refused"] += 1
                print(error)
        left = sorted(file.name for file in Path(folder).iterdir() if file.suffix != ".blf")
    print(f"{times} selections, each killed one to three times: {counts}; stray files: {left or 'none'}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
