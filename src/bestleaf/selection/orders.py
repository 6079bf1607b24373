"""Orders of units, best first, found on the training rows of a part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bestleaf.selection.folds import Part

Check = Callable[[], None]  # raises an error if time is over


def elimination(part: Part, check: Check) -> np.ndarray:
    """Return the units in the order in which forests drop the least important fifth, the last one left first."""
    raise NotImplementedError


def forward(part: Part, check: Check) -> np.ndarray:
    """Return the units in the order in which they explain most of what is left by least squares."""
    raise NotImplementedError


def pooled(orders: Sequence[np.ndarray]) -> np.ndarray:
    """Return one order from several: by the mean of log(1 + place)."""
    raise NotImplementedError
