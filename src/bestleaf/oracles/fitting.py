"""How estimators are fitted so that the same fit gives the same score: random states, threads, names."""

from __future__ import annotations

import re
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries of this process that have threads of their own."""
    return ThreadpoolController()


class _OneThread:
    """A context in which these libraries use one thread; several threads may be in it, the last one restores."""

    def __init__(self) -> None:
        self.lock, self.inside, self.limits = Lock(), 0, None

    def __enter__(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.limits = _libraries().limit(limits=1)
            self.inside += 1

    def __exit__(self, *_: Any) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and self.limits is not None:
                self.limits.restore_original_limits()


ONE_THREAD = _OneThread()


def fix_random_states(estimator: Any, seed: int) -> None:
    """Give every random state that is None a number that follows from the seed; those of the user stay."""
    rng = np.random.RandomState(seed % 2**32)
    for name, value in sorted(estimator.get_params(deep=True).items()):
        if value is None and (name == "random_state" or name.endswith("__random_state")):
            estimator.set_params(**{name: int(rng.randint(np.iinfo(np.int32).max))})


def described(thing: Any) -> str:
    """Return how something was made, in one line and without addresses in memory, which are others in every process."""
    text = thing.__repr__(N_CHAR_MAX=10**6) if isinstance(thing, BaseEstimator) else repr(thing)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(text.split()))
