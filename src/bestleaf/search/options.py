"""What a user may ask of a search, checked before anything runs."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from bestleaf.bounds import BOUNDS, RIGOROUS, Bound, Rate, named_bound
from bestleaf.checks import number, shown, whole
from bestleaf.growth import PROPOSALS
from bestleaf.rules import Rule, named_rule, smallest_gap
from bestleaf.search.guarantees import checked_guarantees

DEFAULT_RULES = {"sound": "smallest_gap", "paper": "lucb"}  # by stopping test


@dataclass(frozen=True)
class Options:
    """Validated keywords of `best_arm` and `best_leaf`."""

    task: str
    epsilon: float
    delta: float
    rule: Rule
    bound: Rate | Bound
    stopping: str
    expansion: float | None
    proposal: str | None
    max_samples: int | None
    max_time: float | None
    max_memory: int | None
    guarantee: frozenset[str]
    alpha: float
    batch_size: int | None

    @classmethod
    def checked(
        cls,
        *,
        task: str,
        epsilon: Any,
        delta: Any,
        rule: Any,
        bound: Any,
        stopping: Any,
        expansion: Any,
        proposal: Any,
        max_samples: Any,
        max_time: Any,
        max_memory: Any,
        guarantee: Any,
        alpha: Any,
        batch_size: Any,
    ) -> Options:
        """Return the options, or raise one clear sentence."""
        if task not in ("arm", "leaf"):
            raise ValueError(f"task must be 'arm' or 'leaf', got {shown(task)}")
        if stopping not in tuple(DEFAULT_RULES):
            raise ValueError(f"stopping must be 'sound' or 'paper', got {shown(stopping)}")
        if expansion is not None:
            expansion = number("expansion", expansion, "between 0 and 1, or None for the whole graph", 0, 1)
        if proposal is not None and proposal not in PROPOSALS:
            raise ValueError(f"proposal must be one of {', '.join(PROPOSALS)} or None, got {shown(proposal)}")
        if max_samples is not None:
            max_samples = whole("max_samples", max_samples, 1, " or None")
        if max_time is not None:
            max_time = number("max_time", max_time, "a positive number of seconds or None", 0, np.inf, open_ends=True)
        guarantees = checked_guarantees(guarantee)
        if task == "arm" and guarantees - {"grown"}:
            raise ValueError(f"guarantee {min(guarantees - {'grown'})} is about a best leaf, got task 'arm'")
        if "exhaustive" in guarantees and expansion is not None:
            raise ValueError(f"guarantee exhaustive needs the whole graph, so expansion must be None, got {expansion}")
        return cls(
            task,
            number("epsilon", epsilon, "between 0 and 1", 0, 1),
            number("delta", delta, "strictly between 0 and 1", 0, 1, open_ends=True),
            named_rule(rule if rule is not None else DEFAULT_RULES[stopping]),
            named_bound(bound),
            stopping,
            expansion,
            proposal,
            max_samples,
            max_time,
            None if max_memory is None else whole("max_memory", max_memory, 1, " or None"),
            guarantees,
            number("alpha", alpha, "strictly between 0 and 1", 0, 1, open_ends=True),
            None if batch_size is None else whole("batch_size", batch_size, 1, " or None"),
        )

    def proof(self, exact: bool) -> str:
        """Return what the answer rests on: "rigorous", "conditional" on the user's own bound, or "none".

        The rate `theory` needs the noisy leaves known in advance: no growth, and no `exact` that may say None.
        """
        fixed_theory = self.bound is BOUNDS["theory"] and self.expansion is None and not exact
        if self.stopping != "sound":
            return "none"
        if self.bound in RIGOROUS or fixed_theory:
            return "rigorous"
        return "none" if self.bound in BOUNDS.values() else "conditional"

    @property
    def settings(self) -> dict[str, Any]:
        """The same as fields of the kernels' `WORLD` record."""
        rated = isinstance(self.bound, Rate)
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "to_leaf": self.task == "leaf",
            "sound": self.stopping == "sound",
            "by_rule": self.rule is not smallest_gap,
            "both": self.rule.both,
            "rated": rated,
            "intersect": self.rule.intersect or not rated,
            "growing": bool(self.expansion),
        }


def checked_value(value: Any, method: str, state: Any) -> float:
    """Return what a user's oracle gave as a float in [0, 1], or say what is wrong."""
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


def checked_problem(problem: Any) -> None:
    """Raise one sentence unless `problem` has the four methods of a `Problem`."""
    lacking = [
        name for name in ("root", "children", "is_terminal", "sample") if not callable(getattr(problem, name, None))
    ]
    if isinstance(problem, type):
        raise TypeError(f"problem must be an object, got the class {problem.__name__}; call it first")
    for name in ("label", "maximizes", "exact"):
        if not callable(getattr(problem, name, print)):
            raise TypeError(f"{name} of a problem must be a method, got {shown(getattr(problem, name))}")
    if lacking:
        raise TypeError(
            "problem must have the methods root, children, is_terminal and sample; "
            f"{type(problem).__name__} lacks {', '.join(lacking)}"
        )


def stream(seed: Any) -> tuple[np.random.Generator, int | None]:
    """Return the random stream of a seed, and a number that repeats it (None for a stream handed in)."""
    if isinstance(seed, np.random.Generator):
        return seed, None
    if seed is None:
        seed = secrets.randbits(63)
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
        return np.random.default_rng(int(seed)), int(seed)
    if isinstance(seed, np.random.SeedSequence):
        return np.random.default_rng(seed), None
    raise ValueError(f"seed must be a whole number of at least 0, a numpy Generator or None, got {shown(seed)}")
