"""Certificates: accepted when they hold, refused with the reason when a number that a claim rests on was changed."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from bestleaf import BestLeafSelector, Certificate, NeighbourVotes, Search, best_leaf, verify
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import load_linear, make_linear
from bestleaf.problems import TableProblem, paper_lattice, random_dag, random_game_tree
from forging import changed, mutated, reworded
from genuine import Trap
from selecting import made_selector

TRAP = {"epsilon": 0.02, "delta": 0.1, "expansion": 0.05}


@pytest.fixture(scope="module")
def linear():
    return load_linear(return_X_y=True)


def selected(linear, **settings):
    votes = NeighbourVotes(scale=False)
    return made_selector(votes, choose="training", epsilon=0.005, **settings).fit(*linear)


@pytest.fixture(scope="module")
def selection(linear):
    return selected(linear, random_state=1).certificate_


@pytest.fixture(scope="module")
def challenged(linear):
    return selected(linear, guarantee="local", delta=0.1, random_state=3)


def test_a_two_player_game_has_no_certificate_of_its_best_leaf():
    leaf = best_leaf(random_game_tree(1, depth=2), epsilon=0.2, delta=0.1, seed=0)
    with pytest.raises(ValueError, match="a certificate of a two-player game is about the best arm"):
        _ = leaf.certificate


@pytest.mark.parametrize("real", [False, True])
def test_a_selection_is_checked_with_and_without_its_data(real):
    X, y = make_linear(80, 12, seed=0, return_X_y=True)
    y = X[:, 0] - X[:, 1] if real else y
    groups = [[0, 3], [1], [2], range(4, 12)]
    selector = BestLeafSelector(choose="training", epsilon=0.1, random_state=0, feature_groups=groups)
    found = selector.fit(X, y).certificate_
    assert verify(found)
    assert "exact values were computed again" in str(verify(found, X, y))
    other = X.copy()
    other[0, 0] += 1
    assert "not the data the certificate is about" in str(verify(found, other, y))


def test_local_claims_hold(challenged, linear):
    found = challenged.certificate_
    assert verify(found, *linear)
    assert [claim["kind"] for claim in found.content["claims"]] == ["grown", "local"]
    oracle = KNNOracle(*linear, scale=False)
    answer = set(challenged.subset_.tolist())
    for dropped in [None, *answer]:
        for added in [None, *set(range(30)) - answer]:
            near = (answer - {dropped}) | ({added} - {None})
            assert oracle.value(near) <= challenged.score_ + 0.005


SUBSETS = ("challenges", "local", "subsets")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (SUBSETS, lambda found: found[:-1]),
        (SUBSETS, lambda found: [*found[:-1], found[0]]),
        (SUBSETS, []),
        ((*SUBSETS, 0, 1), 0.9999),
        ((*SUBSETS, 0, 0), [0, -1]),
        ((*SUBSETS, 0, 0), ["nonsense"]),
        (("claims", 1, "text"), lambda text: text.replace("0.005", "0.001")),
        (("claims",), lambda claims: [{"kind": "grown", "text": "Everything is proved."}, *claims]),
        (("data", "choice", "allowed"), lambda allowed: [*allowed, 30]),
    ],
)
def test_forged_challenges_and_claims_added_by_hand_are_refused(challenged, path, value):
    forged = changed(challenged.certificate_.content, path, value)
    assert not verify(Certificate(forged))
    assert "claims" in path or not verify(Certificate(reworded(forged)))


def test_the_answer_does_not_stand_for_one_of_its_rivals(challenged):
    content = challenged.certificate_.content
    answer = content["graph"]["labels"][content["answer"]]
    forged = changed(content, SUBSETS, lambda found: [*found[:-1], [answer, content["lower"]]])
    assert "must be about all" in str(verify(Certificate(forged)))


def test_saved_and_read_again(selection, tmp_path):
    path = tmp_path / "found.json"
    selection.save(path)
    again = Certificate.load(path)
    assert verify(again)
    assert str(again) == str(selection)
    assert again.samples == selection.samples
    leaf = json.loads(path.read_text())["leaves"][0]
    assert {"lower", "upper", "order", "share"} <= set(leaf)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "bestleaf certificate"}', "my thesis"])
def test_what_is_no_certificate_is_said_to_be_none(text, tmp_path):
    (tmp_path / "file.json").write_text(text)
    with pytest.raises(ValueError, match="certificate"):
        Certificate.load(tmp_path / "file.json")


def test_no_change_survives(selection):
    """Single changes anywhere are found by the checksum of the saved file."""
    content, rng = json.loads(selection.to_json()), random.Random(0)
    for _ in range(50):
        other = mutated(content, rng)
        assert str(verify(Certificate(other))).startswith("Refused: ") or "checksum" not in other


def test_changes_that_help_a_claim_are_found_without_the_checksum(selection):
    """Whoever forges a certificate can also forge its checksum: what a claim rests on must be found out by itself."""
    content = selection.content
    exact = next(n for n, leaf in enumerate(content["leaves"]) if leaf["exact"])
    strongest = max(content["leaves"], key=lambda leaf: leaf["upper"])
    for path, value in (
        (("leaves", exact, "lower"), lambda value: value - 0.01),
        (("leaves", exact, "mean"), lambda value: value / 2),
        (("leaves",), lambda leaves: [leaf for leaf in leaves if leaf != strongest]),
        (("search", "epsilon"), lambda epsilon: epsilon / 2),
        (("search", "delta"), lambda delta: delta / 2),
        (("claims", 0, "epsilon"), lambda epsilon: epsilon / 2),
        (("claims", 0, "text"), lambda text: text.replace("0.05", "0.01")),
        (("gap",), lambda gap: gap / 2),
        (("lower",), lambda lower: lower + 0.001),
        (("answer",), lambda node: next(leaf["node"] for leaf in content["leaves"] if leaf["node"] != node)),
        (("features",), lambda names: names[:-1]),
        (("search", "stopping"), "paper"),
        (("search", "bound"), "hoeffding"),
        (("graph", "children", 0), lambda children: children[1:]),
        (("graph", "children", content["answer"]), [0]),
    ):
        assert str(verify(Certificate(changed(content, path, value)))).startswith("Refused: "), path


def test_labels_of_any_kind_survive_json():
    a, three = frozenset(["a"]), frozenset([np.int64(3)])
    odd = TableProblem({frozenset(): [a, three]}, {a: 1.0, three: 0.0}, root=frozenset())
    stream = np.random.Generator(np.random.RandomState(0)._bit_generator)  # any generator will do as a seed
    found = best_leaf(odd, epsilon=0.3, delta=0.1, seed=stream).certificate
    assert verify(Certificate.from_json(found.to_json()))


def test_best_leaf_gives_local_guarantees():
    settings = {**TRAP, "bound": "betting", "seed": 0}
    plain = best_leaf(Trap(), **settings)
    found = best_leaf(Trap(), guarantee="local", **settings)
    assert (plain.lower, found.lower) == (0.29, 1.0)
    assert [claim["kind"] for claim in found.certificate.content["claims"]] == ["grown", "local"]
    assert "one step away, as the problem lists them" in str(found.certificate)
    assert "anything more about states" in str(found.certificate)
    assert verify(found.certificate), verify(found.certificate)
    assert not verify(Certificate(changed(found.certificate.content, (*SUBSETS, 0, 1), lambda one: 1.0 - one)))


def test_guarantees_that_cannot_be_given_are_refused():
    class Game(Trap):
        def maximizes(self, state):
            return len(state) != 1

    settings = {"epsilon": 0.02, "delta": 0.1}
    for problem, keywords, words in (
        (paper_lattice(), {"guarantee": "local"}, "method exact"),
        (paper_lattice(), {"guarantee": "exhaustive", "expansion": 0.3}, "expansion must be None"),
        (paper_lattice(), {"guarantee": "certain"}, "got 'certain'"),
        (paper_lattice(), {"guarantee": "quantile"}, "must be one of grown, local, exhaustive or several"),
        (random_dag(0, exact_share=1.0), {"guarantee": "local"}, "neighbours"),
        (Game(), {"guarantee": "local", "expansion": 0.05}, "an opponent"),
    ):
        with pytest.raises(ValueError, match=words):
            best_leaf(problem, **settings, **keywords)
    whole = best_leaf(random_dag(0, exact_share=1.0), guarantee="exhaustive", **settings)
    assert "whole graph" in str(whole.certificate)


def test_a_search_with_guarantees_is_run_whole():
    with pytest.raises(RuntimeError, match="use run"):
        Search(Trap(), task="leaf", guarantee="local", **TRAP).ask()
