"""The path of a selection that left-out rows decided: what is refused, what is computed again, what is said of it."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from bestleaf import Certificate, verify
from bestleaf.report import report_html
from forging import changed, judged, mutated, reworded, strengthened, twin
from paths import certificate


@pytest.fixture
def decided():
    """Return a certificate whose answer is not the best subset here, and its data."""
    return certificate(2, epsilon=0.001)


def worded(content, place, value):
    """Return a copy of the content in which one part is another, and the words follow."""
    return reworded(changed(content, place, value))


CHANGES = [
    (("new_data", "remark"), "proved", "unknown part 'remark' in the left-out rows"),
    (("new_data", "parsimony"), -1, "'parsimony' of the left-out rows must be a number from 0"),
    (("new_data", "folds"), 0, "'folds' of the left-out rows must be a whole number of at least 1"),
    (("new_data", "rows"), 81, "at most 80 rows can be left out, got 81"),
    (("new_data", "size"), 9, "the size chosen must be one of the path, got 9"),
    (("new_data", "size"), 3, "so it must have the features of the answer"),
    (("new_data", "family"), "luck", "must be one of search, inclusion,"),
    (("new_data", "family"), "search", "row 2 is of family 'F-test', not 'search'"),
    (("new_data", "families"), {"luck": 0.9}, "families must be among search"),
    (("new_data", "families"), {"search": 0.9}, "the family chosen must be one of those tried, got 'F-test'"),
    (("new_data", "decided"), 2, "left-out rows must have decided for another size, got 2"),
    (("new_data", "guessing"), 0.1, "guessing has the score 0.5 by this measure, not 0.1"),
    (("new_data", "path"), [], "the path must have a row"),
    (("new_data", "path", 0, "size"), 2, "must have all columns of 2 different features"),
    (("new_data", "path", 0, "features"), ["age"], "must have features of the data, got ['age']"),
    (("new_data", "path", 0, "left_out"), 1.5, "the left-out score of row 1 of the path must be a number from 0 to 1"),
    (("new_data", "path", 0, "left_out"), None, "has 'standard_error' but no 'left_out'"),
    (("new_data", "path", 0, "standard_error"), -0.1, "'standard_error' of the row of the path must be a number from"),
    (("new_data", "path", 0, "difference"), 0.3, "row 1 of the path must differ from all features by"),
    (("new_data", "path", 0, "training"), 0.9999, "has two values"),
    (("new_data", "path", -1, "family"), "search", "the last row of the path, and no other"),
    (("new_data", "best", "features"), ["x6", "age"], "the best leaf must have features of the data, got ['age']"),
    (("new_data", "best", "features"), ["x3", "x0"], "is not a leaf of the graph"),
    (("new_data", "best", "value"), 0.99, "the value 0.99 of the best leaf does not follow from the graph"),
    (("new_data", "best", "gap"), -0.5, "the gap of the best leaf follows from the leaves as"),
]


@pytest.mark.parametrize(("place", "value", "told"), CHANGES, ids=lambda one: str(one)[:50])
def test_a_path_that_does_not_fit_is_refused(decided, place, value, told):
    verdict = verify(Certificate(worded(decided[0].content, place, value)))
    assert not verdict
    assert told in str(verdict)


def test_rows_of_a_path_are_in_order_and_end_with_all_features(decided):
    content = decided[0].content
    path = content["new_data"]["path"]
    shorter = [*path[:-2], {**path[-2], "family": "all features", "difference": None, "difference_error": None}]
    for rows, told in (
        ([path[1], path[0], *path[2:]], "the sizes of the path must rise, got 2, 1"),
        (shorter, "must have all features that may be chosen, 1 are missing"),
    ):
        assert told in str(verify(Certificate(worded(content, ("new_data", "path"), rows))))


def test_a_graph_without_data_has_no_path(sampled, decided):
    forged = {**sampled, "new_data": decided[0].content["new_data"]}
    assert "must have no 'new_data'" in str(verify(Certificate(forged)))


@pytest.mark.slow
def test_a_forged_path_strengthens_no_claim(decided):
    """Whatever is changed in the section, what holds claims no more than before."""
    genuine, rng, held = decided[0].content, random.Random(0), 0
    odd = [None, "text", [], {}, 1e300, -1, 0.0, 0.5, 1.0, True, 2, 7, "search", "all features", ["x0"]]
    for _ in range(150):
        forged = reworded(mutated(genuine, rng, "new_data", odd))
        if judged(forged):
            held += 1
            assert not strengthened(genuine, forged)
            assert forged["claims"][0]["epsilon"] >= genuine["claims"][0]["epsilon"]
            assert report_html(Certificate(forged)).startswith("<!DOCTYPE html>")
            assert Certificate(forged)._repr_html_()
        else:
            with suppress(ValueError):  # one sentence, never a traceback
                report_html(Certificate(forged))
    assert 0 < held < 75


def test_without_the_best_leaf_the_search_is_not_called_settled(decided):
    content = twin(decided[0].content)
    del content["new_data"]["best"]
    content["reason"] = "max_time"
    found = Certificate(reworded(content))
    assert verify(found)
    assert not found.settled
    assert found.claims[0].startswith("Not settled. All 127 leaves of the whole graph")


def test_words_keep_apart_what_is_proved_here_and_what_is_estimated(decided):
    found = decided[0]
    assert found.settled
    assert found.gap > found.epsilon >= found.search_gap
    first, second, whole = found.claims
    assert first == (
        "It is certain that no leaf of the whole graph (127 leaves; 7 features) is better by more than 0.0196 on these "
        "rows. The answer was chosen all the same, by its score on left-out rows."
    )
    assert second == (
        "It is certain that no leaf is better by more than 0.001 than the answer by these rows alone, which is "
        "x0, x1, x2, x3 (value 0.8737)."
    )
    assert whole.endswith("no other subset is better by more than 0.0196.")
    assert found.content["claims"][0]["epsilon"] >= found.gap
    line, optimism = found.new_data_in_words()
    assert line.startswith("Chosen by left-out rows: 2 features of the family F-test (features in the order of the")
    assert "Left-out score 0.8671 ± 0.0532 (one standard error; 15 left-out parts, 80 rows)." in line
    assert "Difference to all features +0.0731, from -0.0274 to +0.1737 (± 2 standard errors)." in line
    assert line.endswith("These are estimates, not proofs.")
    assert optimism == "Optimism -0.0129: the value on these rows, 0.8542, minus the left-out score, 0.8671."
    assert found.optimism == pytest.approx(0.8542 - 0.8671, abs=1e-4)
    assert "Left-out score by size: 1: 0.6877, 2: 0.8671 (chosen), " in found.summary()
    assert found.not_claimed[-1].startswith("anything about new data. The score on left-out rows is an estimate.")
    assert "scores on left-out rows and the choice by them, which are estimates" in str(verify(found))


def test_an_answer_that_is_also_best_here_is_claimed_as_ever():
    found = certificate()[0]
    assert found.claims[0].endswith(f"is better by more than {found.epsilon:g}.")
    assert found.gap <= found.epsilon
    assert "chosen all the same" not in str(found)


def test_a_local_claim_is_about_the_answer_by_these_rows():
    found, X, y = certificate(4, guarantee="local", epsilon=0.05, expansion=0.5)
    assert verify(found, X, y)
    assert "improves the answer by these rows alone by more than 0.05" in str(found)


def test_all_features_and_parsimony_in_words(decided):
    everything = certificate(7, epsilon=0.001)[0]
    assert "than all features, once the scores of neighbouring sizes are averaged." in str(everything)
    rows = twin(everything.path)
    for row in rows[:-1]:
        shift = max(0.0, row["difference"]) + 0.01
        row["left_out"], row["difference"] = row["left_out"] - shift, row["difference"] - shift
    text = str(Certificate(worded(everything.content, ("new_data", "path"), rows)))
    assert "No subset did better on rows left out than all features. Left-out score 0.7940 ± " in text
    assert "Difference to all" not in text
    sparing = Certificate(worded(decided[0].content, ("new_data", "parsimony"), 1.0))
    assert "A smaller subset was allowed to cost 1 standard error of the paired difference." in str(sparing)


def test_a_size_that_was_asked_for_is_not_called_chosen(decided):
    asked = Certificate(worded(decided[0].content, ("new_data", "decided"), 3))
    assert verify(asked, *decided[1:])
    assert asked.new_data_in_words()[0].startswith("Asked for: 2 features of the family F-test")
    assert "Left-out rows decided for 3 features. Left-out score 0.8671" in asked.new_data_in_words()[0]
    assert asked.claims[0].endswith("on these rows. The answer has the size that was asked for.")
    everything = Certificate(worded(certificate(7, epsilon=0.001)[0].content, ("new_data", "decided"), 3))
    assert "Asked for: all features." in str(everything)
    assert "No subset did better" not in str(everything)


def test_noise_is_not_called_good():
    noise = certificate(7, seed=4, shuffled=True)[0]
    told = "The left-out score cannot be told from guessing (0.5): do not take these features for good."
    assert told in str(noise)
    row = noise.path[-1]
    assert row["left_out"] - 2 * row["standard_error"] <= 0.5
    for more, there in ((-1e-6, True), (1e-6, False)):
        score = 0.5 + 2 * row["standard_error"] + more
        other = Certificate(worded(noise.content, ("new_data", "path", -1, "left_out"), score))
        assert (told in str(other)) == there


def test_unknown_numbers_are_left_out_of_the_words(decided):
    content = twin(decided[0].content)
    for row in content["new_data"]["path"]:
        row |= dict.fromkeys(("left_out", "standard_error", "difference", "difference_error", "training"))
    found = Certificate(reworded(content))
    assert verify(found)
    assert "It was not scored on left-out rows." in str(found)
    assert "Optimism" not in str(found)
    assert found.optimism is None
    assert "No size was scored on left-out rows." in str(found)
    content["new_data"]["path"][1] |= {"left_out": 0.8, "difference": None}
    found = Certificate(reworded(content))
    assert verify(found)
    assert "Left-out score 0.8000 (15 left-out parts, 80 rows). These are estimates" in str(found)
