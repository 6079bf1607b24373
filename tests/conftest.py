"""Shared pieces of the tests."""

from __future__ import annotations

from scipy.stats import binom


def binomial_margin(runs: int, delta: float, confidence: float = 1e-4) -> int:
    """Return the number of errors that `runs` runs of error probability `delta` exceed with `confidence` at most."""
    return int(binom.ppf(1 - confidence, runs, delta))
