"""Stages: what a search may still do once the answer is identified, with the same graph, samples and budget."""

from bestleaf.search.stages.base import DONE, REOPEN, Stage
from bestleaf.search.stages.local import LocalOptimum
from bestleaf.search.stages.smaller import SmallerAnswer
from bestleaf.search.stages.subsets import EveryLeaf, SubsetsOfAnswers

__all__ = ["DONE", "REOPEN", "EveryLeaf", "LocalOptimum", "SmallerAnswer", "Stage", "SubsetsOfAnswers"]
