"""Shared pieces of the tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from scipy.stats import binom


def binomial_margin(runs: int, delta: float, confidence: float = 1e-4) -> int:
    """Return the number of errors that `runs` runs of error probability `delta` exceed with `confidence` at most."""
    return int(binom.ppf(1 - confidence, runs, delta))


@pytest.fixture(autouse=True)
def listens_to_ctrl_c() -> Iterator[None]:
    """Let tests and the processes they start listen to Ctrl-C, even where the tests were started to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
