"""Shared pieces of the tests."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from scipy.stats import binom

from bestleaf import BestLeafSelector, Certificate, SearchOptions, best_leaf
from bestleaf.problems import paper_lattice
from bestleaf.proof.check import check
from genuine import table


def content_of(certificate: Certificate) -> dict[str, Any]:
    """Return the JSON of a certificate without its checksum."""
    return {name: value for name, value in json.loads(certificate.to_json()).items() if name != "checksum"}


def refused(content: dict[str, Any]) -> str:
    """Return why the checker refuses the JSON of a certificate; an empty text if it holds."""
    return check(content).reason


def binomial_margin(runs: int, delta: float, confidence: float = 1e-4) -> int:
    """Return the number of errors that `runs` runs of error probability `delta` exceed with `confidence` at most."""
    return int(binom.ppf(1 - confidence, runs, delta))


KEEPS_TIME = (
    "search.budget.clock",
    "search.evaluator.perf_counter",
    "search.executors.perf_counter",
    "search.loop.perf_counter",
    "search.stages.perf_counter",
    "paper.uct.clock",
)


class Clock:
    """Simulated seconds. They pass when a test calls `advance`, and `tick` more of them with every look at the clock.

    The problem under test calls `advance` where it would take long. Compiled samples cannot call it; there, ticks let
    the time pass.
    """

    def __init__(self) -> None:
        self.now, self.tick = 1000.0, 0.0
        self._lock = threading.Lock()  # workers in threads move the same clock

    def __call__(self) -> float:
        return self.advance(self.tick)

    def advance(self, seconds: float) -> float:
        """Let some seconds pass; return the time then."""
        with self._lock:
            self.now += seconds
            return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the simulated clock that all searches of this process read from now on."""
    found = Clock()
    for name in KEEPS_TIME:
        monkeypatch.setattr(f"bestleaf.{name}", found)
    return found


def calls_of(work: Callable[[], Any]) -> tuple[Any, int]:
    """Return what `work` returns, and how many functions were called on the way: its cost, on any machine."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        found = work()
    finally:
        sys.setprofile(before)
    return found, count


@pytest.fixture(autouse=True)
def listens_to_ctrl_c() -> Iterator[None]:
    """Let tests and the processes they start listen to Ctrl-C, even where the tests were started to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def sampled() -> dict[str, Any]:
    """Return the JSON of a certificate whose leaves are sampled; whoever changes it makes a copy first."""
    return content_of(best_leaf(paper_lattice(), epsilon=0.1, delta=0.1, seed=0, bound="hoeffding").certificate)


@pytest.fixture(scope="session")
def selected() -> dict[str, Any]:
    """Return the JSON of the certificate of a feature selection; whoever changes it makes a copy first."""
    X, y = table(0)
    selector = BestLeafSelector(
        choose="training", epsilon=0.05, random_state=0, search=SearchOptions(guarantee="grown", expansion=0.5)
    )
    return content_of(selector.fit(X, y).certificate_)
