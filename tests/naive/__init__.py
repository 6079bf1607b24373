"""The slow twins: plain dictionaries and lists, written from the formulas; the fast code must do the same."""

from naive.batches import NaiveBatches
from naive.chance import NaiveChance
from naive.cycles import NaiveCycles
from naive.lookahead import NaiveLookahead
from naive.search import NaiveLattice, NaiveSearch, NaiveSelection
from naive.uct import NaiveFuse, NaiveUCT
from naive.votes import naive_value

__all__ = [
    "NaiveBatches",
    "NaiveChance",
    "NaiveCycles",
    "NaiveFuse",
    "NaiveLattice",
    "NaiveLookahead",
    "NaiveSearch",
    "NaiveSelection",
    "NaiveUCT",
    "naive_value",
]
