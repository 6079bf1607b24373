"""The words of claims, names and verdicts: made from the numbers, in one line, with every limit."""

from __future__ import annotations

import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from bestleaf import BestLeafSelector, Certificate, SearchOptions, best_arm, best_leaf, bounds, verify
from bestleaf.certificate.claims import all_shown, shown
from bestleaf.certificate.schema import part_name
from bestleaf.problems import TableProblem, paper_lattice, random_game_tree
from forging import changed, judged, reworded, rewritten, twin
from genuine import UNCHECKED, Flipped, table
from selecting import made_selector


def test_a_part_without_a_name_or_with_one_of_ours_gets_another():
    assert part_name("<lambda>", bounds.BOUNDS, ours=False) == "unnamed"
    assert part_name("hoeffding", bounds.BOUNDS, ours=False) == "own_hoeffding"
    assert part_name("hoeffding", bounds.BOUNDS, ours=True) == "hoeffding"
    found = best_arm(paper_lattice(), epsilon=0.3, delta=0.1, seed=0, bound=UNCHECKED).certificate
    assert found.bound == "unnamed"
    assert verify(found)


@pytest.mark.parametrize("name", ["rule", "bound"])
def test_free_text_does_not_become_part_of_a_verified_sentence(sampled, name):
    content = twin(sampled)
    content["search"] |= {"proof": "conditional", name: "mine holds, and all is proved beyond doubt; which"}
    assert f"'{name}' of the search must be a name of letters" in str(judged(reworded(content)))
    for odd in ("größe", "a" * 61, "", "hoeffding\u200b", "a b"):
        content["search"][name] = odd
        assert not judged(reworded(content))


def test_the_objective_is_no_free_text_either():
    settings = {"epsilon": 0.2, "max_features": 1, "cv": 3, "random_state": 0}
    found = BestLeafSelector(GaussianNB(), choose="training", **settings).fit(*table(0, 4)).certificate_
    for name in ("name", "scoring"):
        evil = "AUC. It is certain that nothing is better than the"
        forged = changed(found.content, ("data", "objective", name), evil)
        assert f"'{name}' of the objective of an estimator must be a name" in str(judged(forged))


def test_names_show_what_cannot_be_seen(selected):
    assert shown("a\u200bb\n\u202ec \u00a0d") == r"a\u200bb\n\u202ec \xa0d"
    assert shown(r"a\u200b") == r"a\\u200b"
    assert shown("größe 2, 温度") == "größe 2, 温度"
    assert len(set(all_shown(("age", "age ", "age\u200b", "аge", "age\ufe0f", "a  ge", "a ge")))) == 7  # noqa: RUF001
    long = all_shown(("a" * 500, "a" * 501, "b" * 60 + "1" * 100))
    assert len(set(long)) == 3
    assert max(map(len, long)) < 150
    content = twin(selected)
    content.pop("report")
    column = content["data"]["names"].index(content["features"][0])
    content["data"]["names"][column] = "x5\u200b\nThe certificate holds."
    verdict = judged(rewritten(content))
    assert verdict
    summary = Certificate(content).summary()
    assert "\u200b" not in summary
    assert r"x5\u200b\nThe certificate holds." in summary.splitlines()[0]
    assert all_shown(("dose", "dоse"))[1] == r"d\u043ese"  # noqa: RUF001


def test_a_genuine_table_with_strange_names_verifies():
    X, y = table(0, 3)
    frame = pd.DataFrame(X, columns=["dose ", "dose", "a\nb\u200b\u202e"])
    found = BestLeafSelector(choose="training", random_state=0, epsilon=0.1).fit(frame, y).certificate_
    assert verify(found, frame, y)
    assert len(found.summary().splitlines()) == len(twin(found.content)["claims"]) + len(found.not_claimed) + 4


def test_line_breaks_of_labels_are_not_lines_of_a_verdict(sampled):
    content = twin(sampled)
    evil = "a\nThe certificate holds.\nIt is certain that all is well."
    content["graph"]["labels"][content["answer"]] = evil
    next(leaf for leaf in content["leaves"] if leaf["node"] == content["answer"])["label"] = evil
    assert judged(reworded(content))
    assert len(Certificate(content).summary().splitlines()[0]) > 60
    content["leaves"][0] |= {"label": evil, "upper": 0.1, "lower": 0.1}
    verdict = judged(content)
    assert not verdict
    assert len(str(verdict).splitlines()) == 1
    assert len(str(verdict)) < 320


def test_the_opponent_may_move_first():
    found = best_arm(Flipped(random_game_tree(9, depth=2)), epsilon=0.2, delta=0.1, seed=9, expansion=0.4)
    assert found.certificate.gap == pytest.approx(found.gap)
    content = twin(found.certificate.content)
    assert "better for the opponent, who moves first," in content["claims"][0]["text"]
    content["graph"]["minimizes"].remove(0)
    assert not judged(content)


def test_a_grown_game_says_so_and_exact_leaves_are_certain():
    ends = {"won": 1.0, "drawn": 0.5}
    last_move = TableProblem({"root": list(ends)}, ends, root="root", opponent=["root"], exact_states=list(ends))
    found = best_leaf(random_game_tree(0, depth=2), epsilon=0.3, delta=0.1, seed=0, expansion=0.4)
    assert "gives away more than 0.3 (among the 9 candidates examined; the graph grew)" in str(found)
    assert "It is certain that no move" in str(best_leaf(last_move, epsilon=0.1, delta=0.1, seed=0))
    arm = best_arm(last_move, epsilon=0.1, delta=0.1, seed=0).certificate
    assert verify(arm)
    told = "It is certain that no arm of the whole graph (2 leaves) is better for the opponent"
    assert arm.claims[0].startswith(told)


def test_words_are_made_from_the_limits():
    X, y = table(0)
    settings = {"epsilon": 0.02, "guarantee": "local", "random_state": 0, "search": SearchOptions(expansion=0.5)}
    limited = made_selector(choose="training", max_features=2, exclude=[1, 2], **settings).fit(X, y).certificate_
    local = next(claim["text"] for claim in limited.content["claims"] if claim["kind"] == "local")
    assert "No single feature of the 4 allowed added, dropped or exchanged" in local
    if len(limited.features) == 2:
        assert "within the limit of 2 features" in local
    assert "at most 2 of 4 allowed of 6 features; excluded: x1, x2)" in limited.claims[0]
    forced = made_selector(choose="training", include=[3], **settings).fit(X, y).certificate_
    assert "with x3 always in" in next(one["text"] for one in forced.content["claims"] if one["kind"] == "local")
    settings |= {"exclude": [1], "guarantee": "exhaustive", "search": None}
    whole = made_selector(choose="training", **settings).fit(X, y).certificate_
    assert "All 31 subsets that may be chosen were evaluated (5 allowed of 6 features; excluded: x1)" in str(whole)
    assert verify(whole, X, y)
