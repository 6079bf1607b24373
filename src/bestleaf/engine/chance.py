"""What a problem says about chance: the probabilities of the children of a state, checked."""

from __future__ import annotations

from math import fsum, inf
from numbers import Real
from typing import Any

from bestleaf.checks import shown
from bestleaf.problems import State

CLOSE = 1e-9  # by how much a sum of probabilities may differ from 1

Chances = dict[State, float]  # probability of each child


def chances_of(problem: Any, state: State) -> Chances | None:
    """Return the probability of each child of a state; None where somebody moves.

    A child that is listed twice has the sum of its probabilities. A child of probability 0 is left out: it never comes.
    """
    given = problem.chance(state)
    if given is None:
        return None
    call = f"chance({shown(state)})"
    try:
        listed = list(given)
    except TypeError:
        raise TypeError(f"{call} must return None or a list of probabilities, got {shown(given)}") from None
    children = list(problem.children(state))
    if len(listed) != len(children):
        raise ValueError(f"{call} must return a probability for each of {len(children)} children, got {len(listed)}")
    for one in listed:
        if not isinstance(one, Real) or not 0.0 <= float(one) < inf:
            raise ValueError(f"{call} must return probabilities of at least 0, got {shown(one)}")
    total = fsum(listed)
    if abs(total - 1.0) > CLOSE:
        raise ValueError(f"{call} must return probabilities that sum to 1, got the sum {total:.12g}")
    found: Chances = {}
    for child, one in zip(children, listed, strict=True):
        if one > 0:
            found[child] = found.get(child, 0.0) + float(one) / total
    return found
