"""Shared pieces of the tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from scipy.stats import binom

from bestleaf import BestLeafSelector, best_leaf
from bestleaf.problems import paper_lattice
from genuine import table


def binomial_margin(runs: int, delta: float, confidence: float = 1e-4) -> int:
    """Return the number of errors that `runs` runs of error probability `delta` exceed with `confidence` at most."""
    return int(binom.ppf(1 - confidence, runs, delta))


@pytest.fixture(autouse=True)
def listens_to_ctrl_c() -> Iterator[None]:
    """Let tests and the processes they start listen to Ctrl-C, even where the tests were started to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def sampled() -> dict[str, Any]:
    """Return the content of a certificate whose leaves are sampled; whoever changes it makes a copy first."""
    return best_leaf(paper_lattice(), epsilon=0.1, delta=0.1, seed=0, bound="hoeffding").certificate.content


@pytest.fixture(scope="session")
def selected() -> dict[str, Any]:
    """Return the content of the certificate of a feature selection; whoever changes it makes a copy first."""
    X, y = table(0)
    selector = BestLeafSelector(epsilon=0.05, guarantee="grown", expansion=0.5, random_state=0)
    return selector.fit(X, y).certificate_.content
