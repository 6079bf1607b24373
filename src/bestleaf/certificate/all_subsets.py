"""All subsets in a certificate: the best are leaves, of the others there is a count and a hash for each block.

Subsets have numbers (see `numbering`), and consecutive numbers make a block. A block has a floor: the value that a
subset needed to be among the best listed when the block was begun. Subsets below the floor need not be computed to the
end, so the hash of a block is of those at or above the floor only: their places in the block and their values. It does
not depend on how, or how far, the others were computed. No floor is above `least`, so every subset above `least` was
computed, and all of these are leaves of the certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from bestleaf.certificate.numbering import Numbering
from bestleaf.certificate.schema import Content

LISTED = 1000  # best subsets that are leaves of the certificate


@dataclass(frozen=True)
class BlockSummary:
    """What is written about one block."""

    count: int  # subsets that may be chosen
    reached: int  # those of them at or above the floor
    floor: float
    top: float | None  # the highest of their values; None if none reached the floor
    digest: str  # SHA-256 of the places and values of those at or above the floor


def summary_of(places: np.ndarray, values: np.ndarray, floor: float) -> BlockSummary:
    """Return what is written about a block from the values of its subsets and their places in the block.

    Values below the floor may be any numbers below it.
    """
    reached = values >= floor
    digest = sha256(places[reached].astype("<i8").tobytes())
    digest.update(values[reached].astype("<f8").tobytes())
    top = float(values[reached].max()) if reached.any() else None
    return BlockSummary(len(values), int(reached.sum()), floor, top, digest.hexdigest())


def entry(numbers: int, block: int, least: float, summaries: Sequence[BlockSummary]) -> Content:
    """Return the part of a certificate about the first so many numbers, in blocks of `block` numbers."""
    return {
        "numbers": numbers,
        "block": block,
        "least": least,
        "counts": [one.count for one in summaries],
        "reached": [one.reached for one in summaries],
        "floors": [one.floor for one in summaries],
        "tops": [one.top for one in summaries],
        "hashes": [one.digest for one in summaries],
    }


def has_all(content: Content) -> bool:
    """Whether all subsets that may be chosen were evaluated, in blocks."""
    part = content.get("all_subsets")
    return part is not None and part["numbers"] == Numbering.of(content["data"]["choice"]).total


def has_some(content: Content) -> bool:
    """Whether subsets were evaluated in blocks, but not all of them."""
    return content.get("all_subsets") is not None and not has_all(content)


def many_evaluated(content: Content) -> int:
    """Return how many subsets were evaluated in blocks."""
    return int(sum(content["all_subsets"]["counts"]))
