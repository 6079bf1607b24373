"""Stages: what a search may still do once the answer is identified, with the same graph, samples and budget."""

from bestleaf.search.stages.base import DONE, REOPEN, Stage
from bestleaf.search.stages.local import Challenge
from bestleaf.search.stages.quantile import challenges
from bestleaf.search.stages.race import LocalRace
from bestleaf.search.stages.smaller import SmallerAnswer
from bestleaf.search.stages.subsets import EveryLeaf, SubsetsOfAnswers

__all__ = [
    "DONE",
    "REOPEN",
    "Challenge",
    "EveryLeaf",
    "LocalRace",
    "SmallerAnswer",
    "Stage",
    "SubsetsOfAnswers",
    "challenges",
]
