"""Check a certificate with its data: whether they are the same, and whether its numbers follow from them.

No kernel is used: votes of nearest neighbours are counted and pairs of rows compared by plain numpy. What would take
more than some seconds is checked in part, drawn at random; nobody knows beforehand which part.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bestleaf.columns import EncodedRows, TableEncoder
from bestleaf.features.all_subsets import Numbering
from bestleaf.features.estimator import EstimatorOracle
from bestleaf.features.neighbours import KNNOracle
from bestleaf.features.rows import column_checksums, fingerprint, groups_digest, weights_digest
from bestleaf.proof.record import STOP, Certificate, Data, Label, Neighbours
from bestleaf.proof.text import counted, in_line
from bestleaf.proof.verify import OtherDataError, RefusedError
from bestleaf.proof.words import subset_in_words
from bestleaf.selection.data import Data as Rows
from bestleaf.selection.recheck_new_rows import check_new_rows
from bestleaf.selection.searched import objective_of

WORK = 4e9  # numbers that are added or compared: about ten seconds
AT_ONCE = 2**20  # distances that are held at a time
CLOSE = 1e-9
NOT_THEM = "these are not the data the certificate is about"


def recheck(
    certificate: Certificate,
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    oracle: EstimatorOracle | None = None,
    audit: float = 0.0,
) -> list[str]:
    """Return what was found with the data, in words; raise `OtherDataError` or `RefusedError` if it does not hold.

    `oracle` computes the values of an estimator again. `audit` is the share of all subsets that are computed again, if
    they were all evaluated and are too many for all of them.
    """
    data = certificate.data
    if data is None:
        raise RefusedError("the certificate is not about data, so there is nothing to compare the data with")
    rows, lines = same_data(certificate, X, y)
    many = len(rows.y)
    _check_rows(data, "groups", data.row_groups, None if groups is None else groups_digest(groups, many))
    digest = None if sample_weight is None else weights_digest(sample_weight, many)
    _check_rows(data, "weights", data.row_weights, digest)
    groups, weights = (None if one is None else np.asarray(one) for one in (groups, sample_weight))
    rows = rows._replace(groups=groups, weights=weights)
    if certificate.search is not None:
        lines += _check_search(certificate, rows, oracle, audit)
    if certificate.new_rows is not None:
        lines += check_new_rows(certificate, rows)
    return lines


# ---- the same data?


def same_data(certificate: Certificate, X: ArrayLike, y: ArrayLike) -> tuple[Rows, list[str]]:
    """Return the data as numbers, and what was compared; refuse other data."""
    data, claim = certificate.data, certificate.new_rows
    assert data is not None
    rows = (getattr(X, "shape", None) or np.shape(X))[0]
    many = data.rows + (claim.rows if claim is not None and claim.how == "test rows" else 0)
    if certificate.reason != "settled" and many != data.rows:
        many = max(many, rows)  # if time was over, not all rows kept aside are test rows
    if rows != many:
        raise OtherDataError(f"the certificate is about {many:,} rows, got {rows:,}")
    theirs = [name for name in getattr(X, "columns", []) if isinstance(name, str)]
    unnamed = list(data.names) == [f"x{number}" for number in range(len(data.names))]
    wrong = _difference_of_names(list(data.names), theirs) if theirs and not unnamed else ""
    if data.encoding is not None:
        if wrong:
            _refuse(wrong)
        encoded = _encoded(data, X)
        found = Rows(encoded.numbers(), np.asarray(y), np.array(data.names, object), encoded=encoded)
    else:
        found = Rows(np.asarray(X), np.asarray(y), np.array(data.names, object))
    if fingerprint(found.X, y) != data.fingerprint:
        why = wrong or _difference_of_values(certificate, found)
        _refuse(f"their fingerprints differ{'; ' if why else ''}{why}")
    if wrong:
        _refuse(wrong)
    names = "" if theirs or unnamed else " The names of the columns were not checked, because an array has none."
    return found, [f"The data are the ones it is about.{names}"]


def _refuse(why: str) -> None:
    raise OtherDataError(f"{NOT_THEM} ({why})")


def _difference_of_names(named: list[str], theirs: list[str]) -> str:
    """Return which column is missing, new or elsewhere; empty if the names are the same."""
    if named == theirs:
        return ""
    if lost := [name for name in named if name not in theirs]:
        if len(named) == len(theirs):
            return f"the feature called {in_line(lost[0], 60)!r} has another name"
        return f"the column {in_line(lost[0], 60)!r} is not among them"
    added = [name for name in theirs if name not in named]
    return f"the column {in_line(added[0], 60)!r} is new" if added else "the columns are in another order"


def _difference_of_values(certificate: Certificate, rows: Rows) -> str:
    """Return which columns have other values, if the certificate has their checksums."""
    if certificate.table is None:
        return ""
    columns = [rows.columns_of([feature]) for feature in range(len(rows.names))]
    names = [*map(str, rows.names), certificate.table.target]
    pairs = zip(names, certificate.table.checksums, column_checksums(rows.X, rows.y, columns), strict=False)
    differ = [name for name, one, other in pairs if one != other]
    more = f" and {len(differ) - 1:,} more" if len(differ) > 1 else ""
    return f"other values in {in_line(differ[0], 60)!r}{more}" if differ else ""


def _encoded(data: Data, X: ArrayLike) -> EncodedRows:
    """Return a table encoded as the certificate says."""
    assert data.encoding is not None
    settings = data.encoding
    if settings.own is not None:
        told = f"X became numbers by {in_line(settings.own, 60)}, which cannot be repeated"
        raise ValueError(f"X and y must be left out, got some, but {told}; verify(certificate) checks the rest")
    encoder = TableEncoder(settings.impute, settings.dates)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # cells that are no numbers were told of in the fit
            found = EncodedRows.of(encoder, X)
    except (TypeError, ValueError) as error:
        raise OtherDataError(f"{NOT_THEM} (they cannot be encoded: {error})") from None
    levels = {name: tuple(some) for name, some in encoder.levels_.items()}
    if differ := [name for name in {**levels, **settings.levels} if levels.get(name) != settings.levels.get(name)]:
        _refuse(f"the levels of {in_line(differ[0], 60)!r} differ")
    if tuple(sorted(encoder.left_out_)) != settings.left_out:
        _refuse("other columns are left out")
    return found


def _check_rows(data: Data, what: str, written: str | None, digest: str | None) -> None:
    """Check that the groups or weights of the rows are those of the certificate."""
    if (written is None) != (digest is None):
        has, give = (f"have {what}", f": give verify the {what}, too") if digest is None else (f"have no {what}", "")
        raise RefusedError(f"the rows of the certificate {has}{give}")
    if digest != written:
        raise OtherDataError(f"these are not the {what} of rows that the certificate is about")


# ---- exact values of the search


def _check_search(certificate: Certificate, rows: Rows, oracle: EstimatorOracle | None, audit: float) -> list[str]:
    """Compute the exact values again."""
    data = certificate.data
    assert data is not None
    if isinstance(data.objective, Neighbours):
        judge: PlainVotes | PlainFits = PlainVotes.of(data, rows)
    elif oracle is None:
        needed = "that takes the estimator: give verify an oracle, EstimatorOracle(X, y, estimator=..., ...)"
        return [f"Not checked: exact values. They were not computed again, because {needed}."]
    else:
        judge = PlainFits.of(data, oracle)
    of_units = [rows.columns_of(unit) for unit in data.units]
    left, values = WORK, list(_exact_values(certificate).values())
    order = [0, *(1 + np.random.default_rng().permutation(len(values) - 1))] if values else []
    checked = 0
    for label, written in (values[place] for place in order):
        if checked and left < judge.cost:
            break
        value = judge.value([column for unit in label if unit != STOP for column in of_units[unit]])
        if abs(value - written) > CLOSE:
            name = subset_in_words(label, data)
            raise RefusedError(f"the value of {name} is {value:.6g} on these data, not {written:.6g}")
        checked, left = checked + 1, left - judge.cost
    many = counted(len(values), "exact value")
    again = f"{many} were" if checked == len(values) else f"{checked:,} of {many}, drawn at random, were"
    return [f"{again} computed again.", *_audit(certificate, judge, of_units, audit)]


def _exact_values(certificate: Certificate) -> dict[str, tuple[Label, float]]:
    """Return every exact value once, by what is chosen, the answer first; refuse two values of the same subset."""
    found: dict[str, tuple[Label, float]] = {}
    for label, value in _written_values(certificate):
        before = found.setdefault(repr(sorted(unit for unit in label if unit != STOP)), (label, value))[1]
        if abs(before - value) > CLOSE:
            assert certificate.data is not None
            raise RefusedError(f"{subset_in_words(label, certificate.data)} has two values, {before!r} and {value!r}")
    return found


def _written_values(certificate: Certificate) -> Iterator[tuple[Label, float]]:
    """Yield labels with their exact values, as they are written anywhere."""
    search, data, told = certificate.search, certificate.data, certificate.told
    assert search is not None
    assert data is not None
    leaves = sorted(search.leaves, key=lambda leaf: leaf.node != search.answer)
    yield from ((search.label_of(leaf), leaf.lower) for leaf in leaves if leaf.exact)
    if certificate.local is not None:
        yield from ((one.label, one.value) for one in certificate.local.compared)
    if told is None:
        return
    unit_of = {data.names[feature]: unit for unit, features in enumerate(data.units) for feature in features}
    for _, value, names in told.by_size:
        yield sorted({unit_of[name] for name in names}), value
    answer = search.label_of(next(leaf for leaf in leaves if leaf.node == search.answer))
    for dropped, value in told.without.items():
        yield [unit for unit in answer if unit != int(dropped)], value
    if told.all_features is not None:
        yield data.choice.units(), told.all_features


def _audit(
    certificate: Certificate, judge: PlainVotes | PlainFits, of_units: list[list[int]], share: float
) -> list[str]:
    """Compute subsets drawn at random again: all, if they are few; refuse one that should be a leaf or the best."""
    claim, data, search, told = certificate.all_subsets, certificate.data, certificate.search, certificate.told
    if claim is None or share == 0:
        return []
    assert data is not None
    assert search is not None
    many, affordable = claim.evaluated, max(1, int(WORK / judge.cost))
    size = many if many <= affordable else min(ceil(share * many), affordable)
    drawn = np.sort(np.random.default_rng().choice(many, size, replace=False))
    numbering, leaves = Numbering.of(data.choice), {tuple(search.label_of(leaf)[:-1]) for leaf in search.leaves}
    best = {} if told is None else {size: value for size, value, _ in told.by_size}
    for units in numbering.units(drawn):
        value = judge.value([column for unit in units for column in of_units[unit]])
        name = subset_in_words([*units, STOP], data)
        if value > claim.least + CLOSE and units not in leaves:
            raise RefusedError(f"{name} has the value {value:.6g}, so it must be a leaf of the certificate")
        if value > best.get(len(units), 1.0) + CLOSE:
            raise RefusedError(f"{name} is better than the best subset of its size that is written")
    whole = len(drawn) == many
    of = f"All {many:,} subsets" if whole else f"{len(drawn):,} of {many:,} subsets, drawn at random,"
    return [f"{of} that were evaluated were computed again."]


class PlainFits:
    """The cross-validated score of an estimator, fitted for every split."""

    def __init__(self, oracle: EstimatorOracle) -> None:
        self.oracle = oracle
        self.cost = 1e7 * oracle.parts  # what a fit of an estimator counts

    @classmethod
    def of(cls, data: Data, oracle: EstimatorOracle) -> PlainFits:
        """Return the values of an oracle, after a check that it is that of the certificate."""
        mine, written = objective_of(oracle), data.objective
        for name in mine.__struct_fields__:
            if getattr(mine, name) != getattr(written, name, None):
                got = f"{getattr(mine, name)!r:.60}, the certificate {getattr(written, name, None)!r:.60}"
                raise RefusedError(f"the oracle has the {name} {got}")
        return cls(oracle)

    def value(self, columns: Sequence[int]) -> float:
        """Return the mean score over the splits."""
        return self.oracle.value(columns)


class PlainVotes:
    """The votes of nearest neighbours, and how well they rank rows, in plain numpy.

    Only the numbers of the data in single precision, and which rows vote, are those of the oracle: distances are
    summed column by column, and of equally near rows those at earlier places vote.
    """

    def __init__(self, oracle: KNNOracle) -> None:
        self.oracle, many = oracle, len(oracle.queries)
        self.cost = float(many * oracle.roles.references * 20)

    @classmethod
    def of(cls, data: Data, rows: Rows) -> PlainVotes:
        """Return the votes that a certificate is about."""
        written = data.objective
        assert isinstance(written, Neighbours)
        names = ("task", "n_neighbors", "subsample", "ties", "scale", "drop_zero", "query_rows")
        settings: dict[str, Any] = {name: getattr(written, name) for name in names}
        settings["reference_rows"] = written.reference_rows or len(rows.y)  # without it every row votes
        oracle = KNNOracle(rows.X, rows.y, **settings, groups=rows.groups, sample_weight=rows.weights, device="cpu")
        for name, many in oracle.counts().items():
            if many != getattr(written, name):
                raise RefusedError(f"the value is of {many} {name} on these data, not {getattr(written, name)}")
        return cls(oracle)

    def value(self, columns: Sequence[int]) -> float:
        """Return how well the votes rank the rows: the mean over the outputs of the share of pairs in order."""
        oracle = self.oracle
        weights = np.ones(len(oracle.queries)) if oracle.row_weights is None else oracle.row_weights[oracle.queries]
        sums, found = self._sums(np.sort(columns)), []
        for target, score in zip(oracle.targets[:, oracle.queries], sums.T, strict=True):
            if (target != target[0]).any():
                found.append(_in_order(target, score, weights, oracle.ties))
        return sum(found) / len(found)

    def _sums(self, columns: np.ndarray) -> np.ndarray:
        """Return [queries, outputs]: the sums of the targets of the nearest, or their mean for real targets."""
        oracle, step = self.oracle, max(1, AT_ONCE // self.oracle.roles.references)
        parts = [oracle.queries[start : start + step] for start in range(0, len(oracle.queries), step)]
        return np.concatenate([self._sums_of(columns, part) for part in parts])

    def _sums_of(self, columns: np.ndarray, queries: np.ndarray) -> np.ndarray:
        oracle, many = self.oracle, self.oracle.roles.references
        distance = np.zeros((len(queries), many), np.float32)
        for values in oracle.columns[columns]:
            apart = values[:many] - values[queries, None]
            distance += apart * apart
        if oracle.drop_zero:
            distance[distance == 0] = np.inf
        if oracle.groups is not None:
            distance[oracle.groups[:many] == oracle.groups[queries, None]] = np.inf
        own = queries < many
        distance[np.flatnonzero(own), queries[own]] = np.inf
        last = np.partition(distance, oracle.n_neighbors - 1, axis=1)[:, oracle.n_neighbors - 1, None]
        near, equal = distance < last, (distance == last) & np.isfinite(distance)
        room = oracle.n_neighbors - near.sum(axis=1, keepdims=True)
        near |= equal & (np.cumsum(equal, axis=1) <= room)
        sums = near @ oracle.targets[:, :many].T.astype(np.float64)
        if oracle.classes is None:
            sums = sums / np.maximum(near.sum(axis=1, keepdims=True), 1)
        return sums.astype(np.float32)


def _in_order(target: np.ndarray, score: np.ndarray, weights: np.ndarray, ties: str) -> float:
    """Return the share of pairs with different targets whose scores are in the order of the targets."""
    tie = 0.5 if ties == "half" else 0.0
    if ties == "row_order":  # of equal scores, that of the later row is larger
        score = np.argsort(np.argsort(score, kind="stable"), kind="stable")
    high = target == target.max()
    if (target[~high] == target.min()).all():  # two classes
        order = np.argsort(score[~high], kind="stable")
        others, sums = score[~high][order], np.concatenate([[0.0], np.cumsum(weights[~high][order])])
        below, upto = (sums[np.searchsorted(others, score[high], side)] for side in ("left", "right"))
        good = (weights[high] * (below + tie * (upto - below))).sum()
        return float(good / (weights[high].sum() * sums[-1]))
    good = pairs = 0.0
    for start in range(0, len(target), step := max(1, AT_ONCE // len(target))):
        rows = slice(start, start + step)
        both = weights[rows, None] * weights * (target[rows, None] < target)
        right = (score[rows, None] < score) + tie * (score[rows, None] == score)
        good, pairs = good + (both * right).sum(), pairs + both.sum()
    return float(good / pairs)
