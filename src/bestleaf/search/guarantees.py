"""What a best leaf may be promised beyond the leaves of the graph as grown, and who checks it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from math import ceil, log
from typing import Any

import numpy as np

from bestleaf.checks import shown
from bestleaf.search.stages import evaluated
from bestleaf.storage import Saved
from bestleaf.storage.states import decoded, encoded
from bestleaf.storage.streams import set_stream, stream_state

GUARANTEES = ("grown", "local", "quantile", "exhaustive")
MOST_RANDOM = 1_000_000  # leaves that one attempt of "quantile" draws

Answer = Callable[[Any], tuple[Any, float] | None]  # of a search: the state it would answer with, and its exact value


def checked_guarantees(given: Any, known: Iterable[str] = GUARANTEES) -> frozenset[str]:
    """Return the guarantees asked for, or say in one sentence why not."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Iterable):
        raise TypeError(f"guarantee must be one of {', '.join(known)} or several, got {shown(given)}")
    names = list(names)
    if strange := [name for name in names if name not in known]:
        raise ValueError(f"guarantee must be of {', '.join(known)}, got {shown(strange[0])}")
    return frozenset(names)


class _Challenge:
    """Evaluate leaves that may beat the answer by more than epsilon; one that does joins the graph and reopens it."""

    name: str

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.proof: dict[str, Any] | None = None
        self._about: Any = None  # the answer that is challenged
        self._all: list[Any] | None = None
        self._waiting: list[Any] = []

    def reset(self) -> None:
        """Challenge the answer anew."""
        self.proof, self._all = None, None

    def challengers(self, state: Any) -> list[Any]:
        """Return the terminal leaves to evaluate."""
        raise NotImplementedError

    def path_to(self, state: Any) -> list[Any]:
        """Return the states from below the root to a challenger."""
        return self.problem.path_to(state)

    def written(self) -> dict[str, Any]:
        """Return what the certificate says beside the values."""
        return {}

    def slice(self, search: Any) -> bool:
        """Evaluate for one slice."""
        found = search.answer(search)
        if found is None:
            warnings.warn(
                f"guarantee {self.name} compares exact values, and the answer has none: nothing is claimed of it",
                RuntimeWarning,
                stacklevel=2,
            )
            return True
        if self._all is None:
            self._about = found[0]
            self._all = self.challengers(self._about)
            self._waiting = [one for one in self._all if one not in search.values]
        done = evaluated(self._waiting, search)
        if valueless := [one for one in self._all if one in search.valueless]:
            what = f"guarantee {self.name} compares exact values, and {shown(valueless[0])} has none"
            warnings.warn(f"{what}: nothing is claimed of it", RuntimeWarning, stacklevel=2)
            self.reset()
            return True
        if not done or any(one not in search.values for one in self._all):
            return search.reason is not None
        found = search.answer(search)
        if found is None or found[0] != self._about:  # a value just asked for has changed the answer
            search.reopen()  # whatever was proved of the old answer has to be proved anew
            return True
        state, value = found
        best = max(self._all, key=search.values.__getitem__, default=state)
        if self._all and search.values[best] > value + search.options.epsilon:
            search.join(self.path_to(best))
            search.reopen()
            return True
        self._prove(search)
        return True

    def _prove(self, search: Any) -> None:
        values = [[one, search.values[one]] for one in self._all or []]
        self.proof = {**self.written(), "subsets": values}

    def snapshot(self) -> dict[str, Any]:
        """Return whom the answer is compared with, and how far that has come."""
        if self._all is None:
            return {"all": None}
        return {
            "all": [encoded(one) for one in self._all],
            "waiting": [encoded(one) for one in self._waiting],
            "about": encoded(self._about),
            "proved": self.proof is not None,
        }

    def restore(self, saved: Saved, search: Any) -> None:
        """Take in a snapshot."""
        self.reset()
        if saved.get("all") is None:
            return
        self._all = search.terminal_states(saved, "all")
        self._waiting = search.terminal_states(saved, "waiting")
        self._about = decoded(saved.get("about"))
        missing = {one for one in self._all if one not in search.values}
        if not missing <= set(self._waiting) or self._about not in search.values:
            raise ValueError("the challengers that wait must be those without a value")
        if saved.get("proved"):
            if missing:
                raise ValueError("an answer must have been compared with all challengers to stand")
            self._prove(search)


class LocalOptimum(_Challenge):
    """Check that no leaf one step away is better than the answer by more than epsilon."""

    name = "local"

    def challengers(self, state: Any) -> list[Any]:
        """Return the leaves one step away, as the problem lists them."""
        return list(dict.fromkeys(self.problem.neighbours(state)))

    def written(self) -> dict[str, Any]:
        """Return what there is to choose from, where the problem can say it."""
        return {"choice": self.problem.choice()} if hasattr(self.problem, "choice") else {}


class Quantile(_Challenge):
    """Check that at most a share alpha of random leaves is better than the answer by more than epsilon.

    ln(1 / delta') / alpha leaves are drawn as a rollout from the root would; the j-th attempt spends delta / 2^j.
    """

    name = "quantile"

    def __init__(self, problem: Any, alpha: float, delta: float, rng: np.random.Generator) -> None:
        super().__init__(problem)
        self.alpha, self.delta, self.rng = alpha, delta, rng
        self.attempt = 0
        self._paths: dict[Any, list[Any]] = {}

    def challengers(self, state: Any) -> list[Any]:
        """Return fresh random leaves."""
        self.attempt += 1
        many = ceil(log(2**self.attempt / self.delta) / self.alpha)
        return [self._random_leaf() for _ in range(many)]

    def _random_leaf(self) -> Any:
        """Return the leaf that a rollout from the root reaches: the problem's own, or by uniform moves."""
        if hasattr(self.problem, "random_leaf"):
            return self.problem.random_leaf(self.rng)
        path = [self.problem.root()]
        while not self.problem.is_terminal(path[-1]):
            children = list(self.problem.children(path[-1]))
            path.append(children[int(self.rng.integers(len(children)))])
        self._paths[path[-1]] = path[1:]
        return path[-1]

    def path_to(self, state: Any) -> list[Any]:
        """Return the way the rollout took."""
        return self._paths[state] if state in self._paths else super().path_to(state)

    def written(self) -> dict[str, Any]:
        """Return the share and the attempt."""
        own = hasattr(self.problem, "random_leaf")
        return {"alpha": self.alpha, "attempt": self.attempt, "drawn": "rollouts" if own else "uniform moves"}

    def snapshot(self) -> dict[str, Any]:
        """Return the attempt, the stream and the ways to the leaves drawn, too."""
        paths = [[encoded(step) for step in path] for path in self._paths.values()]
        return {**super().snapshot(), "attempt": self.attempt, "stream": stream_state(self.rng), "paths": paths}

    def restore(self, saved: Saved, search: Any) -> None:
        """Take in a snapshot; every way must go from child to child."""
        self.attempt = saved.whole("attempt", 0, 1000)
        set_stream(self.rng, saved.get("stream"))
        self._paths = {}
        for path in saved.states("paths"):
            above = self.problem.root()
            for step in path:
                if step not in self.problem.children(above):
                    raise ValueError(f"a way must go from child to child, got {shown(step)} below {shown(above)}")
                above = step
            self._paths[above] = list(path)
        super().restore(saved, search)


def challenges(
    problem: Any, wanted: frozenset[str], alpha: float, delta: float, rng: np.random.Generator
) -> list[LocalOptimum | Quantile]:
    """Return the stages that challenge the answer, as far as they are asked for."""
    found: list[LocalOptimum | Quantile] = []
    if not hasattr(problem, "exact"):
        raise ValueError("guarantees local and quantile compare exact values, so the problem needs a method exact")
    if hasattr(problem, "maximizes"):
        raise ValueError("guarantees local and quantile are about one player's leaves, got a problem with an opponent")
    least = log(2 / delta) / MOST_RANDOM
    if alpha < least:
        raise ValueError(f"alpha must be at least {least:.2g} (that takes {MOST_RANDOM:,} random leaves), got {alpha}")
    if "local" in wanted:
        if not (hasattr(problem, "neighbours") and hasattr(problem, "path_to")):
            raise ValueError("guarantee local needs a problem with the methods neighbours and path_to")
        found.append(LocalOptimum(problem))
    if "quantile" in wanted:
        found.append(Quantile(problem, alpha, delta, rng))
    return found
