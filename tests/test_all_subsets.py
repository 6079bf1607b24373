"""Certificates about all subsets: what is forged in them is caught by the numbers, or by computing blocks again."""

from __future__ import annotations

import sys
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest

from bestleaf import BestLeafSelector, Certificate, SearchOptions, cli, verify
from bestleaf.certificate.all_subsets import summary_of
from bestleaf.certificate.claims import words_of
from bestleaf.certificate.numbering import Block, Numbering
from bestleaf.certificate.verify_graph import answer_of
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import make_linear
from selecting import configured

X, Y = make_linear(40, 13, seed=7, return_X_y=True)  # the best subset is the only one of its value
GROUPS = [[feature] for feature in range(13)]


@pytest.fixture(scope="module")
def genuine():
    selector = BestLeafSelector(
        choose="training", random_state=0, parsimony=0, search=SearchOptions(guarantee="exhaustive")
    )
    return selector.fit(X, Y).certificate_.content


@pytest.fixture
def forged(genuine):
    """A copy that may be changed."""
    return deepcopy(genuine)


def said_again(content):
    """Let the answer be the best leaf that is left, and all words follow from the numbers, as a forger would."""
    best = max(content["leaves"], key=lambda leaf: leaf["lower"])
    names = [content["data"]["names"][unit] for unit in best["label"][:-1]]
    content |= {"answer": best["node"], "features": names}
    content["data"]["standard_error"] = None
    content["report"] = None
    content |= answer_of(content)
    content |= words_of(content)
    return content


def without_leaf(content, leaf):
    """Leave out a leaf of the star, and number the others again."""
    node, graph = leaf["node"], content["graph"]
    content["leaves"].remove(leaf)
    for one in content["leaves"]:
        one["node"] -= one["node"] > node
    graph["labels"].pop(node)
    graph["children"] = [list(range(1, len(graph["labels"]))), *([] for _ in content["leaves"])]
    graph["inner_orders"].pop()
    content["cost"]["values_outside"] += 1
    return content


def refused(content, *data, audit=None):
    verdict = verify(Certificate(content), *data, audit=audit)
    assert not verdict
    return str(verdict)


def test_a_genuine_one_holds(genuine):
    found = Certificate(genuine)
    assert verify(found)
    assert "8,191 subsets that may be chosen were evaluated" in str(verify(found))
    assert "1 of 8 blocks" in str(verify(found, X, Y))
    assert "2 of 8 blocks" in str(verify(found, X, Y, audit=0.2))
    assert "All blocks (8,191 subsets) were computed again." in str(verify(found, X, Y, audit=1.0))
    assert "blocks" not in str(verify(found, X, Y, audit=0)).splitlines()[-1]
    assert verify(Certificate.from_json(found.to_json()), X, Y)
    for share, error in ((1.5, ValueError), (-0.1, ValueError), ("all", TypeError), (True, TypeError)):
        with pytest.raises(error, match="audit must be"):
            verify(found, X, Y, audit=share)
    with pytest.raises(ValueError, match="audit must be given with X and y"):
        verify(found, audit=0.5)


def test_the_best_left_out_is_noticed_without_the_data(forged):
    best = max(forged["leaves"], key=lambda leaf: leaf["lower"])
    said_again(without_leaf(forged, best))
    assert "the best subset of block" in refused(forged)
    assert "is not a leaf" in refused(forged)


def test_a_best_left_out_of_its_block_too_is_noticed_with_the_data(forged):
    best = max(forged["leaves"], key=lambda leaf: leaf["lower"])
    part, numbering = forged["all_subsets"], Numbering.of(forged["data"]["choice"])
    place = numbering.number(best["label"][:-1]) // part["block"]
    said_again(without_leaf(forged, best))
    rest = [
        leaf["lower"] for leaf in forged["leaves"] if numbering.number(leaf["label"][:-1]) // part["block"] == place
    ]
    part["tops"][place] = max(rest)
    assert verify(Certificate(forged))  # numbers alone cannot show it
    assert "highest value of block" in refused(forged, X, Y, audit=1.0)
    part["reached"][place] -= 1
    assert verify(Certificate(forged))
    assert f"the number at the floor of block {place}" in refused(forged, X, Y, audit=1.0)


def test_a_block_whose_hash_is_right_needs_its_best_among_the_leaves(forged):
    part, numbering = forged["all_subsets"], Numbering.of(forged["data"]["choice"])
    place = int(np.argmax([-1.0 if top is None else top for top in part["tops"]]))
    inside = [leaf for leaf in forged["leaves"] if numbering.number(leaf["label"][:-1]) // part["block"] == place]
    second = sorted(inside, key=lambda leaf: leaf["lower"])[-2]
    assert part["least"] < second["lower"] < part["tops"][place]  # the highest value of the block is still a leaf
    said_again(without_leaf(forged, second))
    assert verify(Certificate(forged))
    assert "so it must be a leaf of the certificate" in refused(forged, X, Y, audit=1.0)


def test_hiding_the_best_below_a_higher_limit_proves_less(forged):
    best = max(forged["leaves"], key=lambda leaf: leaf["lower"])
    forged["all_subsets"]["least"] = best["lower"]
    said_again(without_leaf(forged, best))
    assert verify(Certificate(forged))
    assert forged["gap"] == pytest.approx(best["lower"] - forged["lower"])
    assert "no other has a higher value" not in str(Certificate(forged))


def test_a_forged_value_is_noticed(forged):
    worst = min(forged["leaves"], key=lambda leaf: leaf["lower"])
    worst |= {"lower": 0.999, "upper": 0.999, "mean": 0.999}
    said_again(forged)
    assert "is better than its highest value" in refused(forged)
    part, numbering = forged["all_subsets"], Numbering.of(forged["data"]["choice"])
    place = numbering.number(worst["label"][:-1]) // part["block"]
    part["tops"][place] = 0.999
    assert verify(Certificate(forged))
    assert "on these data, not 0.999" in refused(forged, X, Y)  # all leaves are computed again


def test_a_forged_hash_is_noticed_with_the_data(forged):
    forged["all_subsets"]["hashes"][7] = "0" * 64
    assert verify(Certificate(forged))
    assert "the hash of block 7 is" in refused(forged, X, Y, audit=1.0)
    forged["all_subsets"]["hashes"][7] = "none"
    assert "64 hexadecimal digits" in refused(forged)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda part: part["counts"].__setitem__(3, 1023), "block 3 has 1,024 subsets, not 1,023"),
        (lambda part: part["counts"].pop(), "another count"),
        (lambda part: part["hashes"].append("0" * 64), "another count"),
        (lambda part: part.update(numbers=8000), "needs all 8,192 numbers of subsets, got 8,000"),
        (lambda part: part.update(numbers=9000), "there are 8,192 numbers of subsets, got 9,000"),
        (lambda part: part.update(block=100), "another count"),
        (lambda part: part["floors"].__setitem__(5, 1.0), "the floor of block 5 must be at most"),
        (lambda part: part["reached"].__setitem__(0, 0), "leaves at its floor or above"),
        (lambda part: part["reached"].__setitem__(0, 2000), "leaves at its floor or above"),
        (lambda part: part["tops"].__setitem__(2, None), "leaves at its floor or above"),
        (lambda part: part.pop("least"), "'least' is missing"),
    ],
)
def test_forged_numbers_of_blocks_are_noticed(forged, change, words):
    change(forged["all_subsets"])
    if "least" in forged["all_subsets"]:
        forged |= answer_of(forged)
        forged |= words_of(forged)
    assert words in refused(forged)


def test_a_forged_best_of_a_size_is_noticed_with_the_data(forged):
    oracle = KNNOracle(X, Y)
    size, value, names = forged["report"]["by_size"][-2]
    numbers = [forged["data"]["names"].index(name) for name in names]
    spare = next(unit for unit in range(13) if unit not in numbers)
    other = sorted([*numbers[1:], spare])  # another subset of 12 of 13 features, which is worse
    assert (size, len(other)) == (12, 12)
    assert oracle.value(other) < value
    gone = next(leaf for leaf in forged["leaves"] if leaf["label"] == [*numbers, -1])
    assert gone["lower"] < forged["all_subsets"]["least"]  # no claim rests on it
    forged["report"]["by_size"][-2] = [size, oracle.value(other), [forged["data"]["names"][unit] for unit in other]]
    without_leaf(forged, gone)
    forged |= answer_of(forged)
    assert verify(Certificate(forged))
    assert "has a subset of size 12 that is better than the best one written" in refused(forged, X, Y, audit=1.0)


def test_a_forged_claim_is_noticed(forged):
    forged["claims"][1]["text"] = forged["claims"][1]["text"].replace("8,191", "9,191")
    assert "is not the one that follows from the numbers" in refused(forged)


def test_claims_need_the_blocks_they_are_about(forged):
    del forged["all_subsets"]
    said_again(forged)
    assert "cannot be reached from [] in one step" in refused(forged)


def test_floors_leave_out_nothing_that_counts(genuine):
    part, oracle = genuine["all_subsets"], KNNOracle(X, Y)
    numbering = Numbering.of(genuine["data"]["choice"])
    assert max(part["floors"]) > 0.5
    place = int(np.argmax(part["floors"]))
    block = Block(numbering, place * part["block"], (place + 1) * part["block"], GROUPS)
    values = np.array([oracle.value(np.flatnonzero(row)) for row in block.columns(13)])
    found = summary_of(block.numbers - block.start, values, part["floors"][place])
    assert found.digest == part["hashes"][place]
    assert found.reached < found.count


def test_the_command_line_computes_blocks_again(genuine, tmp_path, monkeypatch, capsys):
    names = [f"x{feature}" for feature in range(13)]
    pd.DataFrame(X, columns=names).assign(y=Y).to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    more = ["--certificate", "c.json", *configured(choose="training")]
    assert run(monkeypatch, "select", "data.csv", "--target", "y", *more) == 0
    assert "All 8,191 subsets" in capsys.readouterr().out
    assert run(monkeypatch, "verify", "c.json", "--data", "data.csv", "--audit", "0.5") == 0
    assert "4 of 8 blocks" in capsys.readouterr().out
    assert run(monkeypatch, "verify", "c.json", "--audit", "0.5") == 2
    assert "--data must be given with --audit" in capsys.readouterr().err


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["bestleaf", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code
