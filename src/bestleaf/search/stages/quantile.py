"""The guarantee "quantile": at most a fraction alpha of random leaves is better than the answer."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log
from typing import Any

import numpy as np

from bestleaf.checkpoint import Saved
from bestleaf.checkpoint.codec import encoded, set_stream, stream_state
from bestleaf.checks import shown
from bestleaf.problems import State
from bestleaf.search.settings import Settings
from bestleaf.search.stages.local import Challenge, LocalOptimum
from bestleaf.search.stages.race import LocalRace
from bestleaf.search.state import SearchState

MOST_MOVES = 1_000_000  # of a random walk; in circles it may never end
MOST_RANDOM = 1_000_000  # leaves that one attempt of "quantile" draws


class Quantile(Challenge):
    """Check that at most a fraction alpha of random leaves is better than the answer by more than epsilon.

    Attempt j draws ln(2^j / delta) / alpha random leaves, as rollouts from the root do. So it may fail with probability
    delta / 2^j.
    """

    name = "quantile"

    def __init__(
        self, problem: Any, answer: Callable[[], int], alpha: float, delta: float, rng: np.random.Generator
    ) -> None:
        super().__init__(problem, answer)
        self.alpha, self.delta, self.rng = alpha, delta, rng
        self.attempt = 0
        self._paths: dict[State, list[State]] = {}

    def challengers(self, state: State) -> list[State]:
        """Return new random leaves."""
        self.attempt += 1
        many = ceil(log(2**self.attempt / self.delta) / self.alpha)
        return [self._random_leaf() for _ in range(many)]

    def _random_leaf(self) -> State:
        """Return a random leaf: the problem's own, or the end of uniform random moves."""
        if hasattr(self.problem, "random_leaf"):
            return self.problem.random_leaf(self.rng)
        state, path = self.problem.root(), list[State]()
        for _ in range(MOST_MOVES):
            if self.problem.is_terminal(state):
                self._paths[state] = [*path, state][1:]
                return state
            if state in path:  # back again: what lies in between is no part of the way
                del path[path.index(state) :]
            path.append(state)
            children = list(self.problem.children(state))
            state = children[int(self.rng.integers(len(children)))]
        raise ValueError(
            f"uniform moves must come to a terminal state, got {MOST_MOVES:,} moves without one; give random_leaf(rng)"
        )

    def path_to(self, state: State) -> list[State]:
        """Return the moves that led to a random leaf."""
        return self._paths[state] if state in self._paths else super().path_to(state)

    def written(self) -> dict[str, Any]:
        """Return alpha, the attempt, and how leaves were drawn."""
        own = hasattr(self.problem, "random_leaf")
        return {"alpha": self.alpha, "attempt": self.attempt, "drawn": "rollouts" if own else "uniform moves"}

    def snapshot(self) -> dict[str, Any]:
        """Also return the attempt, the stream and the paths to the random leaves."""
        paths = [[encoded(step) for step in path] for path in self._paths.values()]
        return {**super().snapshot(), "attempt": self.attempt, "stream": stream_state(self.rng), "paths": paths}

    def restore(self, saved: Saved, state: SearchState) -> None:
        """Restore a snapshot; every path must go from child to child."""
        self.attempt = saved.whole("attempt", 0, 1000)
        set_stream(self.rng, saved.get("stream"))
        self._paths = {}
        for path in saved.states("paths"):
            above = self.problem.root()
            for step in path:
                if step not in self.problem.children(above):
                    raise ValueError(f"a path must go from child to child, got {shown(step)} below {shown(above)}")
                above = step
            self._paths[above] = list(path)
        super().restore(saved, state)


def challenges(
    problem: Any,
    settings: Settings,
    answer: Callable[[], int],
    rng: np.random.Generator,
    centre: State | None = None,
    wider: float | None = None,
) -> list[Challenge | LocalRace]:
    """Return the stages that check the guarantees of the settings; for `centre` and `wider` see `LocalRace`."""
    found: list[Challenge | LocalRace] = []
    if not hasattr(problem, "exact"):
        raise ValueError("guarantees local and quantile compare exact values, so the problem needs a method exact")
    if hasattr(problem, "maximizes"):
        raise ValueError("guarantees local and quantile are about one player's leaves, got a problem with an opponent")
    if hasattr(problem, "chance"):
        raise ValueError("guarantees local and quantile are about one player's leaves, got a problem with chance")
    least = log(2 / settings.delta) / MOST_RANDOM
    if settings.alpha < least:
        raise ValueError(
            f"alpha must be at least {least:.2g} (that takes {MOST_RANDOM:,} random leaves), got {settings.alpha}"
        )
    if "local" in settings.guarantee:
        if not (hasattr(problem, "neighbours") and hasattr(problem, "path_to")):
            raise ValueError("guarantee local needs a problem with the methods neighbours and path_to")
        races = getattr(problem, "parts", 0) > 0 and hasattr(problem, "choice")
        found.append(LocalRace(problem, answer, centre, wider) if races else LocalOptimum(problem, answer))
    if "quantile" in settings.guarantee:
        found.append(Quantile(problem, answer, settings.alpha, settings.delta, rng))
    return found
