"""How well each column alone ranks the target: a column that does so almost perfectly may be a leak.

A leak is a column that is not known before the target is, such as a number that was computed from it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from bestleaf.columns.look import numbers
from bestleaf.features.ranking import auc

ALMOST = 0.995  # AUC, or rank correlation, from which on a column may be a leak
FEWEST_ROWS = 30  # on fewer rows a column may rank the target well by chance
MOST_ROWS = 20_000  # rows that are looked at
MOST_CELLS = 5 * 10**6
MOST_CLASSES = 50
A_GROUP = 5  # rows of a group that a column of numbers is divided into, and that a category must have on average
MOST_GROUPS = 200
PERFECT, FEWEST_OF_TWO = 0.9999, 100  # two columns together may be a leak from this score, and so many rows, on
PAIRED, PAIRED_ROWS = 25, 600  # columns that are looked at in pairs, those that rank the target best; rows of these
WIDE = 2_000  # with more columns, pairs and sums are not looked at
MOST_SUMMED, SUMMED_ROWS, EXACT = 300, 2_000, 1e-6  # columns and rows of sums; how small the rest is, in deviations
MOST_TERMS = 6
COPY, COPY_ROWS, MOST_COMPARED = 0.999, 500, 2 * 10**8  # correlation of near copies; rows, and numbers compared
MOST_NAMED = 3  # classes
PURE = 0.9  # share of rows in the most frequent class of their group, which a leak must have


def leaks(features: pd.DataFrame, y: pd.Series, task: str) -> dict[str, float]:
    """Return the columns that rank the target almost perfectly, with the AUC or the rank correlation.

    The AUC of several classes is the mean of each class against the rest. Of a large table, some random rows are
    looked at. Copies of rows are no proof of a leak: where only they make a column rank the target, it does not count.
    """
    most = max(1000, min(MOST_ROWS, MOST_CELLS // max(1, features.shape[1])))
    known = _some(np.flatnonzero(y.notna().to_numpy()), most)
    if len(known) < FEWEST_ROWS:
        return {}
    features, y = features.iloc[known], y.iloc[known]
    found = _found(features, y, task)
    if found:
        first = ~pd.concat([features, y], axis=1).astype(str).duplicated().to_numpy()
        if FEWEST_ROWS <= first.sum() < len(first):
            once = _found(features[first], y[first], task)
            found = {name: score for name, score in found.items() if name in once}
    return found


def _found(features: pd.DataFrame, y: pd.Series, task: str) -> dict[str, float]:
    """Return the columns that rank the target almost perfectly on these rows."""
    if task == "regression":
        scores = _by_rank_correlation(features, y.to_numpy(np.float64))
    else:
        classes, labels = pd.factorize(y)
        if not 2 <= len(labels) <= MOST_CLASSES:
            return {}
        scores = _by_auc(features, classes, len(labels))
    return {name: score for name, score in scores if score >= ALMOST}


def _some(rows: np.ndarray, most: int) -> np.ndarray:
    return rows if len(rows) <= most else np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


def leaks_by_gaps(features: pd.DataFrame, y: pd.Series, task: str) -> dict[str, str]:
    """Return columns that are missing for all rows of some classes and for no other row, with these classes in words.

    There must be at least five rows with a value, and five without one.
    """
    known = y.notna().to_numpy()
    classes, labels = pd.factorize(y[known])
    if task == "regression" or known.sum() < FEWEST_ROWS or not 2 <= len(labels) <= MOST_CLASSES:
        return {}
    rows, found = np.bincount(classes), dict[str, str]()
    gaps = features.isna().to_numpy()[known]
    many = gaps.sum(axis=0)
    for place in np.flatnonzero(np.minimum(many, len(gaps) - many) >= A_GROUP).tolist():
        missing = np.bincount(classes, gaps[:, place], minlength=len(labels))
        without = missing == rows
        if (without | (missing == 0)).all():
            more = ", …" if without.sum() > MOST_NAMED else ""
            found[str(features.columns[place])] = " or ".join(map(str, labels[without][:MOST_NAMED])) + more
    return found


@np.errstate(all="ignore")
def leaks_of_two(features: pd.DataFrame, y: pd.Series, task: str) -> dict[str, str]:
    """Return columns that rank the target perfectly together with another one, and how, as in "paid - owed"."""
    kept = y.notna().to_numpy()
    classes = y if task == "regression" else pd.Series(pd.factorize(y)[0], y.index)
    if features.shape[1] > WIDE or kept.sum() < FEWEST_OF_TWO or (task == "classification" and y.nunique() != 2):
        return {}
    rows = _some(np.flatnonzero(kept), PAIRED_ROWS)
    names, columns = _plain_numbers(features.iloc[rows])
    target = rankdata(classes.iloc[rows].to_numpy(np.float64))
    alone = _scores(rankdata(columns, axis=1), target, task)
    best = np.sort(np.argsort(-alone, kind="stable")[:PAIRED])
    ones, others = np.triu_indices(len(best), 1)
    a, b = columns[best[ones]], columns[best[others]]
    found: dict[str, str] = {}
    for sign, both in (("-", a - b), ("+", a + b), ("/", a / b), ("*", a * b)):
        fine = np.isfinite(both).all(axis=1)
        for place, score in zip(np.flatnonzero(fine), _scores(rankdata(both[fine], axis=1), target, task), strict=True):
            one, other = best[ones[place]], best[others[place]]
            if score >= PERFECT and max(alone[one], alone[other]) < ALMOST:
                found.setdefault(names[one], f"{names[one]} {sign} {names[other]}")
    return found


def _plain_numbers(features: pd.DataFrame) -> tuple[list[str], np.ndarray]:
    """Return the columns of numbers [columns, rows] that change and have no missing values, with their names."""
    found = [(name, one) for names, columns in numbers(features) for name, one in zip(names, columns, strict=True)]
    found = [(name, one) for name, one in found if np.ptp(one) > 0 and np.isfinite(one.std())]
    return [name for name, _ in found], np.array([one for _, one in found]).reshape(len(found), len(features))


def _scores(ranks: np.ndarray, target: np.ndarray, task: str) -> np.ndarray:
    """Return how well ranks [columns, rows] rank the target: the AUC of two classes, or the rank correlation."""
    if task == "classification":
        return _monotone_auc((target > target.min()).astype(int), ranks)
    return np.array([_correlation(one, target) for one in ranks])


@np.errstate(all="ignore")
def sums_of_others(features: pd.DataFrame) -> dict[str, str]:
    """Return the columns of numbers that are exactly a sum of others, and of which, as in "food + rent"."""
    if features.shape[1] > WIDE:
        return {}
    names, columns = _plain_numbers(features.iloc[_some(np.arange(len(features)), SUMMED_ROWS)])
    if not 2 < len(names) <= min(MOST_SUMMED, columns.shape[1] - FEWEST_ROWS):
        return {}
    means, widths = columns.mean(axis=1, keepdims=True), columns.std(axis=1, keepdims=True)
    scaled, found = ((columns - means) / widths).T, dict[str, str]()
    free = np.abs(np.diag(np.linalg.qr(scaled, mode="r"))) > EXACT * np.sqrt(len(scaled))
    for place in np.flatnonzero(~free).tolist():
        before = np.flatnonzero(free[:place])
        weights = np.linalg.lstsq(scaled[:, before], scaled[:, place], rcond=None)[0]
        parts = np.append(weights / widths[before, 0], -1 / widths[place, 0])  # together they are constant
        taken = np.append(np.abs(weights) > EXACT, True)
        among, parts = np.append(before, place)[taken], parts[taken]
        lone = [number for number, part in enumerate(parts) if (parts * part > 0).sum() == 1]
        total = lone[-1] if lone else len(parts) - 1
        weights = np.delete(-parts / parts[total], total)
        if 2 <= len(weights) <= MOST_TERMS:
            terms = zip(weights, np.delete(among, total), strict=True)
            found[names[among[total]]] = _sum_in_words([(weight, names[one]) for weight, one in terms])
    return found


def near_copies(features: pd.DataFrame) -> dict[str, tuple[str, float]]:
    """Return the columns of numbers that are nearly the same as one before them, with that and the rank correlation.

    A scaled or rounded column is such a copy, and one in the same order. All pairs are compared on a few random rows,
    then the best pair of each column on many; a common outlier does not make two columns alike.
    """
    if not 1 < features.shape[1] <= WIDE or len(features) < FEWEST_ROWS:
        return {}
    few = _some(np.arange(len(features)), min(COPY_ROWS, max(100, MOST_COMPARED // features.shape[1] ** 2)))
    many, found = features.iloc[_some(np.arange(len(features)), MOST_ROWS)], dict[str, tuple[str, float]]()
    blocks = list(numbers(features.iloc[few]))
    names = [name for some, _ in blocks for name in some]
    if len(names) < 2:
        return found
    alike = np.tril(np.maximum(*_both_correlations(np.vstack([columns for _, columns in blocks]))), -1)
    for place in np.flatnonzero(alike.max(axis=1) > COPY).tolist():
        name, other = names[place], names[int(np.argmax(alike[place]))]
        plain, ranks = _both_correlations(many[[name, other]].to_numpy(np.float64, na_value=np.nan).T)
        if max(plain[0, 1], ranks[0, 1]) > COPY and ranks[0, 1] > PURE:
            found[name] = other, float(ranks[0, 1])
    return found


@np.errstate(all="ignore")
def _both_correlations(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes of the correlations of columns [columns, rows] and of their ranks, on rows that both have."""
    fine = np.isfinite(columns)
    together = fine.astype(float) @ fine.T
    enough = together >= max(FEWEST_ROWS, columns.shape[1] / 2)

    def correlations(values: np.ndarray) -> np.ndarray:
        values = np.where(fine, values, np.nan)
        values = np.nan_to_num(
            (values - np.nanmean(values, axis=1, keepdims=True)) / np.nanstd(values, axis=1)[:, None]
        )
        sums = values @ fine.T  # of one column, on the rows that the other has
        widths = (values**2) @ fine.T - sums**2 / together
        products = (values @ values.T - sums * sums.T / together) ** 2 / (widths * widths.T)
        return np.sqrt(np.where(enough & (np.minimum(widths, widths.T) > EXACT), products, 0.0))

    return correlations(columns), correlations(rankdata(np.where(fine, columns, np.inf), axis=1))


def _sum_in_words(terms: list[tuple[float, str]]) -> str:
    """Return a sum, as in "a + b - 2 c"."""
    each = [
        f"{'-' if weight < 0 else '+'} {f'{abs(weight):.4g} ' if abs(abs(weight) - 1) > 1e-4 else ''}{name}"
        for weight, name in terms
    ]
    return " ".join(each).removeprefix("+ ")


def _by_auc(features: pd.DataFrame, classes: np.ndarray, many: int) -> Iterator[tuple[str, float]]:
    """Yield the AUC of each column that divides the classes well."""
    for names, columns in numbers(features):
        ranks = rankdata(
            np.where(np.isnan(columns), np.inf, columns), axis=1
        )  # missing values are a group of their own
        bins = ((ranks - 1) * min(MOST_GROUPS, len(classes) // A_GROUP) / len(classes)).astype(np.int64)
        in_order = _monotone_auc(classes, ranks) if many == 2 else np.zeros(len(names))
        pure = _are_pure(bins, classes, many)
        for name, groups, one, fine in zip(names, bins, in_order.tolist(), pure.tolist(), strict=True):
            yield name, max(one, _grouped_auc(groups, classes, many) if fine else 0.0)
    for name, groups in _categories(features):
        if _are_pure(groups[None, :], classes, many)[0]:
            yield name, _grouped_auc(groups, classes, many)


def _are_pure(groups: np.ndarray, classes: np.ndarray, many: int) -> np.ndarray:
    """Return whether the groups [columns, rows] of each column have almost all of their rows in one class."""
    columns, most = len(groups), int(groups.max()) + 1
    cells = (np.arange(columns)[:, None] * most + groups) * many + classes
    table = np.bincount(cells.ravel(), minlength=columns * most * many).reshape(columns, most, many)
    return np.asarray(table.max(axis=2).sum(axis=1) >= PURE * groups.shape[1])


def _monotone_auc(classes: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return how well large values of each column, or small ones, tell the second class from the first, all at once."""
    second = classes == 1
    many = int(second.sum())
    found = (ranks[:, second].sum(axis=1) - many * (many + 1) / 2) / (many * (len(classes) - many))
    return np.maximum(found, 1 - found)


def _grouped_auc(groups: np.ndarray, classes: np.ndarray, many: int) -> float:
    """Return the mean AUC of each class, where rows are ranked by how frequent it is in the rest of their group."""
    table = np.bincount(groups * many + classes, minlength=(groups.max() + 1) * many).reshape(-1, many)
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
    for place, one in enumerate(features.dtypes):
        if one.kind not in "OSUT" or isinstance(one, pd.PeriodDtype):
            continue
        name, column = features.columns[place], features.iloc[:, place].to_numpy(object)
        try:
            codes, values = pd.factorize(column)
        except TypeError:  # lists and dictionaries
            continue
        if 1 < len(values) <= len(features) / A_GROUP:
            yield name, codes + 1  # missing values are a category of their own
