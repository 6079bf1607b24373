"""The settings of a search: every keyword of `best_arm` and `best_leaf`, checked before the search begins."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from bestleaf.checks import number, one_of, shown, whole
from bestleaf.engine.bounds import BOUNDS, RIGOROUS, Bound, Rate, named_bound
from bestleaf.engine.parts import STOPPINGS, Stopping, named_stopping
from bestleaf.engine.records import UNLIMITED
from bestleaf.engine.rules import Rule, named_rule, smallest_gap
from bestleaf.problems import State
from bestleaf.proof.text import part_name

GUARANTEES = ("grown", "local", "exhaustive")
PROPOSALS = ("random", "prior", "rave", "lookahead")

FAR = 2**45  # rounds; no search has as many. Up to here t and t + 1 have different powers in floating point

Seed = int | np.integer | np.random.Generator | np.random.SeedSequence | None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of one search. Names of a rule, a bound or guarantees become what they stand for."""

    task: str = "arm"
    epsilon: float
    delta: float
    rule: Rule = None  # type: ignore[assignment]  # a name, a function or None becomes a Rule
    bound: Rate | Bound = "betting"  # type: ignore[assignment]  # a name becomes a Rate or a Bound
    stopping: str | Stopping = "sound"  # a function becomes a Stopping
    expansion: float | None = None
    growth: Callable[[int, int, Any], int | None] | None = None  # when the graph grows, if not by `expansion`
    proposal: str | type | Callable | None = None  # a name, the user's own function, or a class of ours
    max_samples: int | None = None
    max_time: float | None = None
    max_memory: int | None = None
    guarantee: frozenset[str] = "grown"  # type: ignore[assignment]  # one name or several become a set
    batch_size: int | None = None

    def __post_init__(self) -> None:
        one_of("task", self.task, ("arm", "leaf"))
        stopping = named_stopping(self.stopping)
        usual = smallest_gap if stopping == "sound" else "lucb"
        guarantees = checked_guarantees(self.guarantee)
        checked = {
            "epsilon": number("epsilon", self.epsilon, "between 0 and 1", 0, 1),
            "delta": number("delta", self.delta, "strictly between 0 and 1", 0, 1, open_ends=True),
            "stopping": stopping,
            "rule": named_rule(usual if self.rule is None else self.rule),  # type: ignore[redundant-expr]
            "bound": named_bound(self.bound),
            "guarantee": guarantees,
        }
        if self.growth is not None and not callable(self.growth):
            raise TypeError(f"growth must be a function of rounds, node and state, got {shown(self.growth)}")
        if self.growth is not None and self.expansion is None:
            checked["expansion"] = 1.0  # at most one child enters in a round
        if self.expansion is not None:
            words = "between 0 and 1, or None for the whole graph"
            checked["expansion"] = number("expansion", self.expansion, words, 0, 1)
        if self.max_time is not None:
            words = "a positive number of seconds or None"
            checked["max_time"] = number("max_time", self.max_time, words, 0, np.inf, open_ends=True)
        for name in ("max_samples", "max_memory", "batch_size"):
            if getattr(self, name) is not None:
                checked[name] = whole(name, getattr(self, name), 1, " or None")
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if not (self.proposal is None or self.proposal in PROPOSALS or callable(self.proposal)):
            names = ", ".join(PROPOSALS)
            raise ValueError(f"proposal must be one of {names}, a function or None, got {shown(self.proposal)}")
        if isinstance(self.proposal, type) and not hasattr(self.proposal, "whole_opening"):
            raise TypeError(f"proposal must be a function, not a class, got {shown(self.proposal)}")
        if self.task == "arm" and guarantees - {"grown"}:
            raise ValueError(f"guarantee {min(guarantees - {'grown'})} is about a best leaf, got task 'arm'")
        if "exhaustive" in guarantees and self.expansion is not None:
            needed = "guarantee exhaustive needs the whole graph, so expansion must be None"
            raise ValueError(f"{needed}, got {self.expansion}")

    @property
    def fixed(self) -> bool:
        """Whether the whole graph is built at once and never grows."""
        return self.expansion is None

    @property
    def finishes(self) -> bool:
        """Whether an answer is settled only where what it rests on is finished; only the sound test asks for it."""
        return bool(self.expansion) and self.stopping == "sound" and self.epsilon < 1

    def proof(self, exact: bool) -> str:
        """Return which kind of proof the answer has: "rigorous", "conditional" on a user's own bound, or "none".

        Only the sound stopping test proves anything, and only if the bound holds. What is proved is about the
        candidates examined, and unfinished ones among them are valued by random play below them. So rule, growth and
        proposals cannot make the proof wrong, but growth and proposals decide what it is about.

        The rate `theory` is rigorous only if all leaves without an exact value are known in advance. So the graph must
        not grow, and the problem must have no exact values, because `exact` may return None.
        """
        fixed_theory = self.bound is BOUNDS["theory"] and self.fixed and not exact
        if self.stopping != "sound":
            return "none"
        if self.bound in RIGOROUS or fixed_theory:
            return "rigorous"
        return "none" if self.bound in BOUNDS.values() else "conditional"

    @property
    def own_test(self) -> Stopping | None:
        """The stopping test of the user's own, if there is one."""
        return self.stopping if isinstance(self.stopping, Stopping) else None

    @property
    def stopping_name(self) -> str:
        """What certificates call the stopping test."""
        if isinstance(self.stopping, str):
            return self.stopping
        return part_name(self.stopping.name, STOPPINGS, ours=False)

    def for_kernels(self) -> dict[str, float | bool]:
        """Return the settings as fields of the kernels' `WORLD` record."""
        rated = isinstance(self.bound, Rate)
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "to_leaf": self.task == "leaf",
            "sound": self.stopping == "sound",
            "by_rule": self.rule is not smallest_gap,
            "rated": rated,
            "intersect": not rated,
            "growing": bool(self.expansion),
        }


def next_due(step: int, exponent: float) -> int:
    """Return the first round t from `step` on at which the graph grows: floor((t + 1)^b) > floor(t^b) (`BAIExpand`).

    With an exponent b of 0 the graph never grows.
    """
    if exponent == 0:
        return UNLIMITED
    target = int(step**exponent) + 1
    low, high = step, step + 1
    while int((high + 1) ** exponent) < target:
        low, high = high, 2 * high
        if high > FAR:
            return UNLIMITED
    while low < high:  # the first t with floor((t + 1)^b) >= target
        middle = (low + high) // 2
        if int((middle + 1) ** exponent) < target:
            low = middle + 1
        else:
            high = middle
    return low


def name_of(part: object) -> str:
    """Return what a function, or an object that can be called, is called in messages and certificates."""
    return part if isinstance(part, str) else str(getattr(part, "name", getattr(part, "__name__", type(part).__name__)))


def checked_guarantees(given: object, known: Iterable[str] = GUARANTEES) -> frozenset[str]:
    """Return one guarantee or several as a set of names."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Iterable):
        raise TypeError(f"guarantee must be one of {', '.join(known)} or several, got {shown(given)}")
    names = list(names)
    if strange := [name for name in names if name not in known]:
        raise ValueError(f"guarantee must be one of {', '.join(known)} or several, got {shown(strange[0])}")
    return frozenset(names)


def checked_value(value: object, method: str, state: State) -> float:
    """Return what a user's method has returned as a float in [0, 1]."""
    if type(value) is float and 0.0 <= value <= 1.0:
        return value
    if isinstance(value, np.bool_ | np.ndarray) and value.size == 1:
        value = value.item()
    if not isinstance(value, Real):
        raise TypeError(f"{method}({shown(state)}) must return a number in [0, 1], got {shown(value)}")
    value = float(value)
    if not (isfinite(value) and 0.0 <= value <= 1.0):
        raise ValueError(f"{method}({shown(state)}) must return a number in [0, 1], got {shown(value)}")
    return value


def checked_problem(problem: object) -> None:
    """Refuse an object that lacks one of the four methods of a `Problem`."""
    needed = ("root", "children", "is_terminal", "sample")
    lacking = [name for name in needed if not callable(getattr(problem, name, None))]
    if isinstance(problem, type):
        raise TypeError(f"problem must be an object, got the class {problem.__name__}; call it first")
    for name in ("label", "maximizes", "exact", "chance", "endless", "prior"):
        if not callable(getattr(problem, name, print)):
            raise TypeError(f"{name} of a problem must be a method, got {shown(getattr(problem, name))}")
    if hasattr(problem, "endless") and not hasattr(problem, "maximizes"):
        raise TypeError("endless is for a problem with an opponent (maximizes): one player can always leave a cycle")
    if lacking:
        methods = "the methods root, children, is_terminal and sample"
        raise TypeError(f"problem must have {methods}; {type(problem).__name__} lacks {', '.join(lacking)}")


def stream(seed: Seed) -> tuple[np.random.Generator, int | None]:
    """Return the random stream of a seed, and the seed as a number (None if a stream was given)."""
    if isinstance(seed, np.random.Generator):
        return seed, None
    if seed is None:
        seed = secrets.randbits(63)
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
        return np.random.default_rng(int(seed)), int(seed)
    if isinstance(seed, np.random.SeedSequence):
        return np.random.default_rng(seed), None
    raise ValueError(f"seed must be a whole number of at least 0, a numpy Generator or None, got {shown(seed)}")
