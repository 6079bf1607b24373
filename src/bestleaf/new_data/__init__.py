"""Rows that a search has not seen: which rows they are, scores on them, and the choice of features by them."""

from bestleaf.new_data.path import Path, PathRow
from bestleaf.new_data.splits import Split, score_of_votes, split_of, votes_for, votes_score

__all__ = ["Path", "PathRow", "Split", "score_of_votes", "split_of", "votes_for", "votes_score"]
