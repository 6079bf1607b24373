"""What a user may ask of the UCT family, checked before anything runs."""

from __future__ import annotations

from math import inf
from typing import Any

from bestleaf._kernels.descent import DEEP
from bestleaf.checks import number, one_of, shown, whole

VARIANTS: dict[str, tuple[float, float, float]] = {
    "uct1": (0, 0, 0),
    "uct2": (1, 0, 0),
    "uct3": (inf, 0, 0),
    "ucd": (1, 1, 1),
}
BONUSES = ("ucb1", "ucb1_tuned")
BACKUPS = {"descent": 0.0, "all": 1.0}
RECOMMENDATIONS = ("visits", "mean")
DEEPEST = 8  # levels a mean is put together from at every choice; deeper means are kept up to date ("inf") instead


def depths(variant: Any) -> list[int]:
    """Return (d1, d2, d3) of a variant, by its name or given as three depths."""
    if isinstance(variant, str):
        given: tuple[Any, ...] = VARIANTS[one_of("variant", variant, VARIANTS)]
    else:
        try:
            given = tuple(variant)
        except TypeError:
            given = (variant,)
        if len(given) != 3:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)} or three depths, got {shown(variant)}")
    found = [DEEP if depth == inf else whole("a depth of variant", depth, 0) for depth in given]
    if max(found) > DEEPEST:
        raise ValueError(f"a depth of variant must be at most {DEEPEST}, or infinite, got {max(found)}")
    order = [inf if depth == DEEP else depth for depth in found]
    if order[1] < order[2]:
        raise ValueError(
            f"variant must have d2 of at least d3 (a child met often by other ways would lose its bonus), got {given}"
        )
    return found


def descent_settings(
    *,
    variant: Any,
    bonus: str,
    exploration: float,
    widening: float,
    backup: Any,
    initial_rollouts: int,
    trust: float = 0.0,
) -> dict[str, Any]:
    """Return the fields of the kernels' `DESCENT` record."""
    mean_depth, parent_depth, count_depth = depths(variant)
    share = BACKUPS[one_of("backup", backup, BACKUPS)] if isinstance(backup, str) else backup
    return {
        "mean_depth": mean_depth,
        "parent_depth": parent_depth,
        "count_depth": count_depth,
        "deep": DEEP in (mean_depth, parent_depth, count_depth),
        "tuned": one_of("bonus", bonus, BONUSES) == "ucb1_tuned",
        "exploration": number("exploration", exploration, "at least 0", 0.0, 1e9),
        "widening": number("widening", widening, "between 0 and 1", 0.0, 1.0),
        "share": number("backup", share, "between 0 and 1, 'descent' or 'all'", 0.0, 1.0),
        "initial": whole("initial_rollouts", initial_rollouts, 1),
        "trust": number("trust", trust, "at least 0", 0.0, 1e9),
    }


def budgets(max_samples: Any, max_time: Any) -> dict[str, Any]:
    """Return the budgets, of which there must be one: nothing else ends these searches."""
    if max_samples is not None:
        max_samples = whole("max_samples", max_samples, 1)
    if max_time is not None:
        max_time = number("max_time", max_time, "a positive number of seconds", 0.0, inf, open_ends=True)
    if max_samples is None and max_time is None:
        raise ValueError("max_samples or max_time must be given, because nothing else ends the search, got neither")
    return {"max_samples": max_samples, "max_time": max_time}
