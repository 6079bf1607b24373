"""Check the values of a certificate: against the cost, against each other and, with the data, by computing them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from bestleaf.certificate.claims import subset_in_words
from bestleaf.certificate.rows import groups_digest, weights_digest
from bestleaf.certificate.same_data import ByFeature, Judge, check_same_data
from bestleaf.certificate.schema import (
    CLOSE,
    VALUE,
    Content,
    Json,
    OtherDataError,
    RefusedError,
    named_objective,
    need,
    same,
)
from bestleaf.certificate.searched import STOP, label_of, label_of_all, searched, unit_of
from bestleaf.certificate.verify_all_subsets import audit_subsets
from bestleaf.certificate.verify_graph import Choice
from bestleaf.certificate.verify_path import check_path, check_training, training_values

if TYPE_CHECKING:
    from bestleaf.features.estimator import EstimatorOracle
    from bestleaf.features.neighbours import KNNOracle

AT_ONCE = 256  # values that are computed together


def check_values(content: Content) -> None:
    """Check the cost, the challenges and the report against the leaves and against each other."""
    cost, challenges, data = content["cost"], content["challenges"], content["data"]
    drawn = sum(leaf["count"] for leaf in content["leaves"] if not leaf["exact"])
    left = cost["samples"] - cost["warmup_samples"]
    need(drawn <= left, f"the leaves have {drawn:,} samples, more than the {left:,} that the search drew for them")
    if content.get("new_data") is not None:
        check_path(content)
    if challenges:
        exact = [leaf["label"] for leaf in content["leaves"] if leaf["exact"]]
        fine = searched(content).label in exact and content["search"]["task"] == "leaf"
        need(fine, "challenges need the exact value of a best leaf, got none")
        _check_local(content)
    computed = {repr(leaf["label"]) for leaf in content["leaves"] if leaf["exact"]}
    if data is not None:
        choice = Choice(data["choice"])
        for label in (label for one in challenges.values() for label, _ in one["subsets"]):
            choice.check(label)
            computed.add(repr(label))
    many, asked = len(computed), cost["exact_evaluations"]
    need(many <= asked, f"{many:,} exact values are written, but {asked:,} were computed")
    if content.get("report") is not None:
        _check_report(content)
    exact_values(content)


def _check_local(content: Content) -> None:
    """Check that all leaves one step away are listed."""
    challenge, data = content["challenges"]["local"], content["data"]
    labels = [label for label, _ in challenge["subsets"]]
    if "choice" not in challenge:
        need(data is None and bool(labels), "the claim 'local' must say which leaves there are one step away")
        return
    fine = data is None or challenge["choice"] == data["choice"]
    need(fine, "the claim 'local' must be about the features that the data give to choose from")
    choice, mine = Choice(challenge["choice"]), set(searched(content).label[:-1])
    for label in labels:
        choice.check(label)
    free, loose = len(choice.known - mine), len(mine - choice.forced)
    many = free if len(mine) < choice.limit else 0  # added,
    many += loose if len(mine) > 1 else 0  # dropped, but never to an empty subset,
    many += loose * free  # or exchanged
    others = {frozenset(label[:-1]) for label in labels}
    near = all(max(len(other - mine), len(mine - other)) == 1 for other in others)
    fine = near and len(others) == len(labels) == many
    need(fine, f"the claim 'local' must be about all {many:,} subsets one step away")


def exact_values(content: Content) -> dict[str, tuple[Json, float]]:
    """Return every exact value once, by label; refuse two different values of the same leaf.

    Those of the path are compared with them, but not returned.
    """
    found: dict[str, tuple[Json, float]] = {}
    for label, value in _written_values(content):
        _check_equal(content, label, found.setdefault(repr(label), (label, value))[1], value)
    for label, value in training_values(content):
        _check_equal(content, label, found.get(repr(label), (label, value))[1], value)
    return found


def _check_equal(content: Content, label: Json, one: float, other: float) -> None:
    if not same(one, other):
        raise RefusedError(f"{subset_in_words(label, content['data'])} has two values, {one!r} and {other!r}")


def _written_values(content: Content) -> Iterator[tuple[Json, float]]:
    """Yield labels with their exact values: leaves, challenges, best subsets by size, the answer less one unit.

    All features come last, if their value is written.
    """
    yield from ((leaf["label"], leaf["lower"]) for leaf in content["leaves"] if leaf["exact"])
    for challenge in content["challenges"].values():
        yield from challenge["subsets"]
    report, data, answer = content.get("report"), content["data"], content["graph"]["labels"][content["answer"]]
    if report is not None:
        units = unit_of(data)
        for _, value, names in report["by_size"]:
            yield label_of(names, units), value
        for dropped, value in report["without"].items():
            yield [unit for unit in answer if unit != int(dropped)], value
    if data is not None and data.get("all_features") is not None:
        yield label_of_all(data), data["all_features"]


def _check_report(content: Content) -> None:
    """Check what the report shows: the history, the best subset of each size, and the features of the answer."""
    cost, data, report = content["cost"], content["data"], content["report"]
    for row in report["history"]:
        within = row["seconds"] <= cost["seconds"] + CLOSE and row["samples"] <= cost["samples"]
        need(within, f"the history must lie within the cost, got {row}")
    for one, other in pairwise(report["history"]):
        forwards = one["seconds"] <= other["seconds"] and one["samples"] <= other["samples"]
        rises = one["score"] is None or (other["score"] is not None and one["score"] <= other["score"] + CLOSE)
        need(forwards and rises, f"time, samples and best value of the history must not go back, got {one}, {other}")
    strange = sorted(report["feature_scores"].keys() - set(data["names"]))
    need(not strange, f"a page shows only features of the data, got {strange[:1]}")
    units = {str(unit) for unit in content["graph"]["labels"][content["answer"]][:-1]}
    strange = sorted(report["without"].keys() - (units - set(map(str, data["choice"]["forced"]))))
    need(not strange, f"a page shows only units that can be dropped from the answer, got {strange[:1]}")
    _check_sizes(content)


def _check_sizes(content: Content) -> None:
    """Check that the best subset of each size may be chosen, and that no exact leaf of its size is better."""
    data, best = content["data"], dict[int, float]()
    known, choice = unit_of(data), Choice(data["choice"])
    for size, value, names in content["report"]["by_size"]:
        units = sorted({known.get(name, STOP) for name in names})
        columns = sum(len(data["groups"][unit]) for unit in units)
        fine = STOP not in units and type(size) is int and len(units) == size
        fine = fine and columns == len(names) == len(set(names))
        need(fine, f"{names!r:.80} must be all columns of {size!r:.20} different features")
        choice.check([*units, STOP])
        fine = VALUE.accepts(value) and size > max(best, default=0)
        need(fine, f"every size must have one best subset, in order, with a value in [0, 1], got {value!r:.40}")
        best[size] = value
    for leaf in content["leaves"]:
        if leaf["exact"] and leaf["lower"] > best.get(len(leaf["label"]) - 1, -1.0) + CLOSE:
            name = subset_in_words(leaf["label"], data)
            raise RefusedError(f"the leaf {name} is better than what is called the best subset of its size")


def check_data(
    content: Content,
    X: ArrayLike,
    y: ArrayLike,
    oracle: EstimatorOracle | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    audit: float = 0.0,
) -> str:
    """Compute every exact value again, and of all subsets a share; return what was checked, in words.

    The votes of nearest neighbours are computed by the code of the search. All other checks have code of their own.
    """
    numbers, columns = check_same_data(content, X, y)
    data, rows = content["data"], len(numbers)
    _check_rows(data, "groups", "row_groups", None if groups is None else groups_digest(groups, rows))
    _check_rows(data, "weights", "row_weights", None if sample_weight is None else weights_digest(sample_weight, rows))
    if data["objective"].get("kind") != "estimator":
        from bestleaf.features.neighbours import KNNOracle

        settings = {name: value for name, value in data["objective"].items() if name not in ("grouped", "weighted")}
        settings.setdefault("reference_rows", rows)  # without it every row votes
        judge: KNNOracle | EstimatorOracle = KNNOracle(
            numbers, np.asarray(y), **settings, groups=groups, sample_weight=sample_weight
        )
    elif oracle is None:
        return (
            "The data are the ones it is about; exact values were not computed again, because that takes the "
            "estimator: give verify an oracle, EstimatorOracle(X, y, estimator=..., ...)."
        )
    else:
        judge, mine = oracle, named_objective(oracle.settings())
        for name, right in data["objective"].items():
            need(mine.get(name) == right, f"the oracle has the {name} {mine.get(name)!r}, the certificate {right!r}")
    for name, many in judge.counts().items():
        need(many == data[name], f"the value is of {many!r} {name} on these data, not {data[name]!r}")
    values, scorer = exact_values(content), judge if columns is None else ByFeature(judge, columns)
    listed = list(values.values())
    for some in (listed[begin : begin + AT_ONCE] for begin in range(0, len(listed), AT_ONCE)):
        asked = [[feature for unit in units for feature in data["groups"][unit]] for (*units, _), _ in some]
        for ((*units, _), written), value in zip(some, scorer.values(asked), strict=True):
            if not same(value, written):
                names = subset_in_words(units, data)
                raise RefusedError(f"the value of {names} is {value:.6g} on these data, not {written:.6g}")
    path = check_training(content, scorer, values)
    _check_error(content, scorer)
    recounted = audit_subsets(content, judge, columns, audit)
    again = f"{len(values):,} exact values were computed again"
    return f"The data are the ones it is about; {again}.{recounted}{path}"


def _check_rows(data: Content, what: str, part: str, digest: str | None) -> None:
    """Check that the groups or weights of the rows, given by their fingerprint, are those of the certificate."""
    written, by_estimator = data.get(part), data["objective"].get("kind") == "estimator"
    if digest is None:
        fine = written is None or by_estimator  # the oracle of an estimator has them
        need(fine, f"the rows of the certificate have {what}: give verify the {what} of the rows, too")
        return
    need(written is not None, f"the rows of the certificate have no {what}, but {what} are given")
    if digest != written:
        raise OtherDataError(f"these are not the {what} of rows that the certificate is about")


def _check_error(content: Content, judge: Judge) -> None:
    """Check the standard error of the value of the answer, if it is written."""
    written = content["data"].get("standard_error")
    if written is not None:
        columns = [content["data"]["names"].index(name) for name in content["features"]]
        error = judge.standard_error(columns)
        need(same(error, written), f"the standard error of the value is {error:.6g} on these data, not {written:.6g}")


def check_how_made(content: Content) -> None:
    """Check that what is written about the table fits the data that the certificate is about."""
    table, data = content.get("table"), content["data"]
    if table is None:
        return
    about_rows = [table[name] for name in ("groups", "weights") if table[name] is not None]
    names, out = set(data["names"]), [*table["dropped"], *about_rows, *table["left_out"]]
    for name in out:
        need(name not in names, f"the column {name!r:.60} was left out, so it must not be among the features")
        need(name not in table["kept"], f"the column {name!r:.60} was kept, so it must not be left out")
    many = len(names) + 1
    need(len(table["checksums"]) == many, f"the table must have {many:,} checksums, got {len(table['checksums']):,}")
    for name, part in (("groups", "row_groups"), ("weights", "row_weights")):
        fine = (table[name] is None) == (part not in data)
        need(fine, f"the column of {name} must be written if and only if rows have {name}")
    by_estimator = data["objective"].get("kind") == "estimator"
    fine = table["estimator"] is None or (table["estimator"] != "neighbours") == by_estimator
    need(fine, f"the estimator {table['estimator']} does not go with the objective")
