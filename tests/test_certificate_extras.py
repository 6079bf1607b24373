"""The parts of a certificate that no claim rests on: checked as far as they can be, and never a traceback."""

from __future__ import annotations

import json
import random
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from bestleaf import BestLeafSelector, Certificate, Verdict, best_arm, best_leaf, validate, verify
from bestleaf.paper import load_linear
from bestleaf.problems import paper_lattice, random_dag
from bestleaf.report import report_html
from forging import changed, mutated, twin
from selecting import made_selector

X = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 8)), columns=[f"c{number}" for number in range(8)])
Y = (X.c0 + X.c3 > 0).astype(int)


def selected(**settings):
    return validate(made_selector(choose="training", random_state=0, **settings), X, Y, holdout=0.25)


@pytest.fixture(scope="module")
def whole():
    return selected(feature_groups=[[0, 1], *([number] for number in range(2, 8))]).selector


@pytest.fixture(scope="module")
def linear():
    selector = BestLeafSelector(choose="training", epsilon=0.005, random_state=0)
    return selector.fit(*load_linear(return_X_y=True)).certificate_


def test_the_verdict_says_what_cannot_be_told(whole, linear):
    text = str(verify(whole.certificate_))
    line = next(line for line in text.splitlines() if line.startswith("Taken as written"))
    for part in ("seed", "held-out rows were looked at only after the search", "exact values (give the data"):
        assert part in line
    assert "held-out" not in str(verify(linear))
    assert "exact values (give" not in str(verify(linear, *load_linear(return_X_y=True)))


CHANGES = [
    (("unseen", "score"), float("nan"), "'score' of the held-out rows must be a number"),
    (("report", "history", -1, "seconds"), 1e6, "within the cost"),
    (("report", "history", -1, "gap"), None, "'gap' of the history must be"),
    (("report", "by_size", 0, 0), 2, "must be all columns of 2 different features"),
    (("report", "by_size", 0, 1), 0.999, "has two values"),
    (("report", "by_size", 0, 1), 0.1, "better than what is called the best"),
    (("report", "by_size", 0, 2), ["age"], "different features"),
    (("report", "feature_scores"), {"age": 0.5}, "only features of the data, got ['age']"),
    (("report", "feature_scores"), {"c3": 2.0}, "'feature_scores' of the report must be named parts in which every"),
    (("report", "without"), {"6": 0.5}, "only units that can be dropped from the answer, got ['6']"),
    (("report", "without", "2"), 0.123, "has two values"),
    (("data", "names", 1), "c0", "different texts"),
    (("data", "groups", 1), [1], "exactly one group"),
    (("data", "rows"), 1, "at least 2"),
    (("data", "fingerprint"), "abc", "64 hexadecimal digits"),
    (("data", "objective", "n_neighbors"), 90, "n_neighbors must be a whole number"),
    (("data", "classes"), 1, "number of classes"),
    (("data", "queries"), 30, "cannot be of 30 of them"),
    (("data", "objective", "ties"), "best", "'ties' of the objective of neighbours must be one of"),
    (("data", "choice", "limit"), 10**9, "largest number of units"),
    (("cost", "samples"), -1, "'samples' of the cost must be a whole number of at least 0, got -1"),
    (("cost", "seconds"), float("nan"), "'seconds' of the cost must be a number"),
    (("cost", "exact_evaluations"), 3, "but 3 were computed"),
    (("reason",), "certain", "'reason' of the certificate must be one of"),
    (("search", "seed"), "lucky", "'seed' of the search must be a whole number, or null"),
    (("leaves", 0, "count"), "many", "'count' of the leaf [0, -1] must be a whole number"),
    (("leaves", 0, "upper_evidence"), 0.5, "'upper_evidence' of the leaf [0, -1] must be a list"),
    (("claims",), [], "claim something"),
    (("not_claimed", 0), 7, "'not_claimed' of the certificate must be a list in which everything is a text"),
    (("graph", "labels", 1), [99], "units of the data"),
    (("graph", "labels", 0), [6, -1], "same label"),
    (("graph", "minimizes"), [99999], "opponent's nodes must be different nodes that exist"),
]


@pytest.mark.parametrize(("path", "value", "words"), CHANGES, ids=lambda one: str(one)[:40])
def test_what_no_claim_rests_on_is_checked_too(whole, path, value, words):
    forged = Certificate(changed(whole.certificate_.content, path, value))
    verdict = verify(forged)
    assert not verdict
    assert words in str(verdict)
    with pytest.raises(ValueError, match="certificate must be complete and well formed"):
        report_html(forged)


def test_samples_were_paid_for_and_history_goes_forwards(linear):
    unpaid = changed(linear.content, ("cost", "samples"), linear.content["cost"]["warmup_samples"])
    assert "more than the 0 that the search drew" in str(verify(Certificate(unpaid)))
    turned = changed(linear.content, ("report", "history"), lambda history: [history[-1], *history])
    assert "must not go back" in str(verify(Certificate(turned)))


def test_the_answer_cannot_borrow_the_value_of_another_subset(linear):
    """A node is called by other features than its leaf, whose value would then be theirs."""
    content = twin(linear.content)
    labels = content["graph"]["labels"]
    label = next([unit, -1] for unit in range(30) if [unit, -1] not in labels)
    content["graph"]["labels"][content["answer"]] = label
    content["features"] = [f"x{label[0]}"]
    assert "cannot be reached" in str(verify(Certificate(content), *load_linear(return_X_y=True)))
    content["graph"]["children"] = [
        [] if node else [leaf["node"] for leaf in content["leaves"]] for node in range(len(labels))
    ]
    assert "in one step" in str(verify(Certificate(content)))


def test_a_search_without_data_has_no_page_of_a_selection():
    found = best_leaf(paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate.content
    assert "must have no 'features'" in str(verify(Certificate({**found, "features": []})))
    for name in ("report", "unseen"):
        assert "Refused" in str(verify(Certificate({**found, name: {}})))


def test_sizes_and_names_are_checked_with_the_data():
    validation = selected(max_features=2, epsilon=0.02, guarantee="grown")
    content, rows, target = twin(validation.selector.certificate_.content), X.iloc[validation.rows], Y[validation.rows]
    assert verify(Certificate(content), rows, target)
    assert verify(Certificate(content), rows.to_numpy(), target)
    assert "the certificate is about 67 rows, got 90" in str(verify(Certificate(content), X, Y))
    assert "has another name" in str(verify(Certificate(content), rows.rename(columns={"c5": "age"}), target))
    leaves = {tuple(leaf["label"][:-1]) for leaf in content["leaves"] if leaf["exact"]}
    place = next(n for n, (_, _, names) in enumerate(content["report"]["by_size"]) if names != ["c0", "c3"])
    free = next(n for n in range(8) if (n,) not in leaves)
    content["report"]["by_size"][place][1:] = [1.0, [f"c{free}"]]
    assert verify(Certificate(content))
    assert "on these data" in str(verify(Certificate(content), rows, target))


def test_numbers_of_numpy_can_be_saved():
    found = selected(max_features=np.int64(2), epsilon=np.float32(0.02), guarantee=["local"])
    assert verify(Certificate.from_json(found.selector.certificate_.to_json()))


def fuzz(certificate, many, seed):
    """Return how many of the mutations held; each must give a verdict, and a page or one sentence."""
    rng, held = random.Random(seed), 0
    content = json.loads(certificate.to_json())
    del content["checksum"]
    for _ in range(many):
        other = Certificate(mutated(content, rng))
        verdict = verify(other)
        assert isinstance(verdict, Verdict)
        if verdict:
            held += 1
            assert report_html(other).startswith("<!DOCTYPE html>")
        else:
            with suppress(ValueError):  # a page does not prove anything, so some that are refused can be shown
                report_html(other)
    return held


def test_no_mutation_gives_a_traceback(whole, linear):
    found = best_arm(random_dag(3, exact_share=0.5), epsilon=0.2, delta=0.1, seed=0, expansion=0.4).certificate
    for seed, certificate in enumerate((whole.certificate_, linear, found)):
        assert fuzz(certificate, 40, seed) < 20
