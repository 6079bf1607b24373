"""The sparse RAVE sums that kernels keep of each node, seen from Python."""

from __future__ import annotations

from ctypes import c_void_p, cast, pythonapi
from weakref import finalize

import numpy as np

from bestleaf._kernels.cells import add_cells, list_cells, sum_cells
from bestleaf._records import Workplace

A_CELL = 48  # bytes, with its two places in the hash table


class SparseSums:
    """Sum and number of the values of rollouts by node and unit, for as many as were met."""

    def __init__(self, place: Workplace) -> None:
        self.record = place.record
        self.units = int(place.record["units"])
        addresses = {"allocate": pythonapi.PyMem_RawCalloc, "release": pythonapi.PyMem_RawFree}
        place.set(**{name: cast(function, c_void_p).value for name, function in addresses.items()})
        finalize(self, _release, place)

    @property
    def memory(self) -> int:
        """Bytes of all cells, those not in use yet included."""
        return A_CELL * int(self.record["room"])

    def of(self, nodes: np.ndarray) -> np.ndarray:
        """Return [units, 2], sum and number at these nodes together."""
        found = np.zeros((self.units, 2))
        if self.record["used"]:
            sum_cells(np.ascontiguousarray(nodes, np.int64), found, self.record)
        return found

    def listed(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys (node x units + unit) of all cells, in order, and their [cells, 2] sums and numbers."""
        many = max(0, int(self.record["used"]) - 1)
        keys, sums = np.zeros(many, np.int64), np.zeros((many, 2))
        if many:
            list_cells(keys, sums, self.record)
        order = np.argsort(keys)
        return keys[order], sums[order]

    def add(self, keys: np.ndarray, sums: np.ndarray) -> None:
        """Add what was listed."""
        add_cells(np.ascontiguousarray(keys), np.ascontiguousarray(sums), self.record)


def _release(place: Workplace) -> None:
    """Give the memory of the cells back."""
    free = pythonapi.PyMem_RawFree
    for name in ("cells", "index"):
        free(c_void_p(int(place.record[name])))
        place.record[name] = 0
