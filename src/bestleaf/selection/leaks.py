"""How well each column alone ranks the target: a column that does so almost perfectly may be a leak.

A leak is a column that is not known before the target is, such as a number that was computed from it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from bestleaf.features.ranking import auc
from bestleaf.selection.columns import numbers, texts

ALMOST = 0.995  # AUC, or rank correlation, from which on a column may be a leak
FEWEST_ROWS = 30  # on fewer rows a column may rank the target well by chance
MOST_ROWS = 20_000  # rows that are looked at
MOST_CELLS = 5 * 10**6
MOST_CLASSES = 50
A_GROUP = 5  # rows of a group that a column of numbers is divided into, and that a category must have on average
MOST_GROUPS = 200
PURE = 0.9  # share of rows in the most frequent class of their group, which a leak must have


def leaks(features: pd.DataFrame, y: pd.Series, task: str) -> dict[str, float]:
    """Return the columns that rank the target almost perfectly, with the AUC or the rank correlation.

    The AUC of several classes is the mean of each class against the rest. Of a large table, some random rows are
    looked at.
    """
    known = np.flatnonzero(y.notna().to_numpy())
    most = max(1000, min(MOST_ROWS, MOST_CELLS // max(1, features.shape[1])))
    if len(known) > most:
        known = np.sort(np.random.default_rng(0).choice(known, most, replace=False))
    if len(known) < FEWEST_ROWS:
        return {}
    features, y = features.iloc[known], y.iloc[known]
    if task == "regression":
        scores = _by_rank_correlation(features, y.to_numpy(np.float64))
    else:
        classes, labels = pd.factorize(y)
        if not 2 <= len(labels) <= MOST_CLASSES:
            return {}
        scores = _by_auc(features, classes, len(labels))
    return {name: score for name, score in scores if score >= ALMOST}


def _by_auc(features: pd.DataFrame, classes: np.ndarray, many: int) -> Iterator[tuple[str, float]]:
    """Yield the AUC of each column that divides the classes well."""
    for names, columns in numbers(features):
        ranks = rankdata(
            np.where(np.isnan(columns), np.inf, columns), axis=1
        )  # missing values are a group of their own
        bins = ((ranks - 1) * min(MOST_GROUPS, len(classes) // A_GROUP) / len(classes)).astype(np.int64)
        in_order = _monotone_auc(classes, ranks) if many == 2 else np.zeros(len(names))
        for name, groups, one in zip(names, bins, in_order, strict=True):
            yield name, max(float(one), _grouped_auc(groups, classes, many))
    for name, groups in _categories(features):
        yield name, _grouped_auc(groups, classes, many)


def _monotone_auc(classes: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return how well large values of each column, or small ones, tell the second class from the first, all at once."""
    second = classes == 1
    many = int(second.sum())
    found = (ranks[:, second].sum(axis=1) - many * (many + 1) / 2) / (many * (len(classes) - many))
    return np.maximum(found, 1 - found)


def _grouped_auc(groups: np.ndarray, classes: np.ndarray, many: int) -> float:
    """Return the mean AUC of each class, where rows are ranked by how frequent it is in the rest of their group."""
    table = np.bincount(groups * many + classes, minlength=(groups.max() + 1) * many).reshape(-1, many)
    if table.max(axis=1).sum() < PURE * len(groups):
        return 0.0
    rows = table.sum(axis=1, keepdims=True)
    others = np.maximum(rows - 1, 1)  # the row itself does not count
    inside, outside = (table - 1) / others, table / others
    aucs = []
    for one in range(many) if many > 2 else [0]:
        scores = np.where(classes == one, inside[groups, one], outside[groups, one])
        aucs.append(auc(classes == one, scores))
    return float(np.mean(aucs))


def _by_rank_correlation(features: pd.DataFrame, y: np.ndarray) -> Iterator[tuple[str, float]]:
    """Yield the rank correlation of each column with the target; of a category, that of its mean rank elsewhere."""
    target = rankdata(y)
    for names, columns in numbers(features):
        missing = np.isnan(columns)
        ranks = rankdata(np.where(missing, np.inf, columns), axis=1)
        ranks[missing] = len(y) / 2  # says nothing either way
        yield from ((name, _correlation(one, target)) for name, one in zip(names, ranks, strict=True))
    for name, groups in _categories(features):
        rows, sums = np.bincount(groups), np.bincount(groups, target)
        others = np.maximum(rows[groups] - 1, 1)
        mean = np.where(rows[groups] > 1, (sums[groups] - target) / others, target.mean())
        yield name, _correlation(mean, target)


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Return the size of the correlation; 0 if one of both is constant."""
    one, other = one - one.mean(), other - other.mean()
    sizes = (one @ one) * (other @ other)
    return float(abs(one @ other) / np.sqrt(sizes)) if sizes > 0 else 0.0


def _categories(features: pd.DataFrame) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the columns of text that have rows enough of each category, as numbers of categories."""
    for name, codes, values in texts(features):
        if 1 < len(values) <= len(features) / A_GROUP:
            yield name, codes + 1  # missing values are a category of their own
