"""Certificates: accepted when they hold, refused with the reason when a number that a claim rests on was changed."""

from __future__ import annotations

import copy
import json
import random

import numpy as np
import pytest

from bestleaf import (
    BestLeafSelector,
    Certificate,
    NeighbourVotes,
    Search,
    SearchOptions,
    best_arm,
    best_leaf,
    verify,
)
from bestleaf.engine.bounds import BOUNDS
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import load_linear, make_linear
from bestleaf.problems import paper_lattice, random_dag, random_game_tree
from forging import reworded, without_nodes
from genuine import Trap
from selecting import made_selector

RIGOROUS = ("hoeffding", "betting")


@pytest.fixture(scope="module")
def linear():
    return load_linear(return_X_y=True)


@pytest.fixture(scope="module")
def selection(linear):
    selector = BestLeafSelector(
        choose="training", estimator=NeighbourVotes(scale=False), epsilon=0.005, random_state=1
    ).fit(*linear)
    return selector.certificate_


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("expansion", [None, 0.4])
@pytest.mark.parametrize("find", [best_arm, best_leaf])
def test_every_certificate_holds(bound, expansion, find):
    problems = [paper_lattice(), random_dag(3, exact_share=0.5), random_dag(4, grid=0.1)]
    for seed, problem in enumerate(problems):
        delta = 0.1 if bound == "theory" else 0.3
        result = find(problem, epsilon=0.15, delta=delta, bound=bound, expansion=expansion, seed=seed)
        verdict = verify(result.certificate)
        assert verdict, str(verdict)
        assert verify(Certificate.from_json(result.certificate.to_json()))


def test_games_and_budgets_have_certificates_too():
    arm = best_arm(random_game_tree(1, depth=2), epsilon=0.2, delta=0.1, seed=0)
    assert verify(arm.certificate)
    leaf = best_leaf(random_game_tree(1, depth=2), epsilon=0.2, delta=0.1, seed=0)
    with pytest.raises(ValueError, match="a certificate of a two-player game is about the best arm"):
        _ = leaf.certificate
    cut = best_leaf(paper_lattice(), epsilon=0.0, delta=0.1, seed=0, max_samples=50).certificate
    assert verify(cut)
    assert "Not settled" in cut.claims[0]


@pytest.mark.parametrize("bound", RIGOROUS)
def test_a_selection_is_checked_with_and_without_its_data(bound, linear):
    X, y = linear
    found = (
        BestLeafSelector(
            choose="training", epsilon=0.1, search=SearchOptions(bound=bound), random_state=0, max_features=2
        )
        .fit(X, y)
        .certificate_
    )
    assert verify(found)
    verdict = verify(found, X, y)
    assert verdict
    assert "exact values were computed again" in str(verdict)
    other = X.copy()
    other[0, 0] += 1
    assert "not the data the certificate is about" in str(verify(found, other, y))


def test_real_targets_and_groups_are_checked_with_their_data():
    X, _ = make_linear(80, 12, seed=0, return_X_y=True)
    y = X[:, 0] - X[:, 1]
    groups = [[0, 3], [1], [2], range(4, 12)]
    found = (
        BestLeafSelector(choose="training", epsilon=0.1, random_state=0, feature_groups=groups).fit(X, y).certificate_
    )
    assert verify(found, X, y)


@pytest.fixture(scope="module")
def challenged(linear):
    settings = {
        "epsilon": 0.005,
        "delta": 0.1,
        "guarantee": "local",
        "estimator": NeighbourVotes(scale=False),
    }
    return made_selector(choose="training", **settings, random_state=3).fit(*linear)


def test_local_claims_hold(challenged, linear):
    found = challenged.certificate_
    assert verify(found, *linear)
    kinds = [claim["kind"] for claim in found.content["claims"]]
    assert kinds == ["grown", "local"]
    oracle = KNNOracle(*linear, scale=False)
    answer = set(challenged.subset_.tolist())
    for dropped in [None, *answer]:
        for added in [None, *set(range(30)) - answer]:
            near = (answer - {dropped}) | ({added} - {None})
            assert oracle.value(near) <= challenged.score_ + 0.005


def test_forged_challenges_are_refused(challenged):
    content = challenged.certificate_.content
    subsets = ("challenges", "local", "subsets")
    for path, value in (
        (subsets, lambda found: found[:-1]),
        ((*subsets, 0, 1), lambda value: 0.9999),
        (("claims", 1, "text"), lambda text: text.replace("0.005", "0.001")),
    ):
        assert not verify(Certificate(changed(content, path, value))), path
    answer = content["graph"]["labels"][content["answer"]]
    for other in (lambda found: [*found[:-1], found[0]], lambda found: [*found[:-1], [answer, content["lower"]]]):
        forged = changed(content, ("challenges", "local", "subsets"), other)
        assert "must be about all" in str(verify(Certificate(forged)))
    for path, value in (
        (("challenges", "local", "subsets", 0, 0), lambda label: [0, -1]),
        (("data", "choice", "allowed"), lambda allowed: [*allowed, 30]),
    ):
        assert not verify(Certificate(changed(content, path, value))), path


def test_a_trap_is_left_when_a_step_away_is_better():
    """y is the exclusive or of two features: alone they are worth nothing, so growing one at a time goes astray."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 14))
    y = ((X[:, 3] > 0) ^ (X[:, 8] > 0)).astype(int)
    settings = {"epsilon": 0.02, "max_features": 2, "random_state": 0, "proposal": "rave"}
    local = made_selector(choose="training", **settings, guarantee=["grown", "local"]).fit(X, y)
    assert verify(local.certificate_, X, y)
    assert "one step away were evaluated" in str(local.certificate_)
    assert local.score_ >= made_selector(choose="training", **settings, guarantee="grown").fit(X, y).score_ - 0.02


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


def places(content, path=()):
    """Yield the path of every number in a certificate that a claim rests on."""
    if isinstance(content, dict):
        for name, value in content.items():
            if name not in ("cost", "format_version", "seed", "rows", "subsample", "expansion"):
                yield from places(value, (*path, name))
    elif isinstance(content, list):
        for number, value in enumerate(content):
            yield from places(value, (*path, number))
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield path


def changed(content, path, value):
    other = copy.deepcopy(content)
    place = other
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value(place[path[-1]])
    return other


def test_no_change_of_a_number_survives(selection):
    """400 single changes of numbers, found by the checksum of the saved file."""
    content = json.loads(selection.to_json())
    numbers = list(places({name: value for name, value in content.items() if name != "checksum"}))
    for path in random.Random(0).sample(numbers, 400):
        other = changed(content, path, lambda number: number + 1 if isinstance(number, int) else 0.9 * number + 0.049)
        verdict = verify(Certificate(other))
        assert not verdict, path
        assert str(verdict).startswith("Refused: ")


def test_changes_that_help_a_claim_are_found_without_the_checksum(selection):
    """Whoever forges a certificate can also forge its checksum: what a claim rests on must be found out by itself."""
    content = copy.deepcopy(selection.content)
    answer = content["answer"]
    rng = random.Random(1)
    noisy = [n for n, leaf in enumerate(content["leaves"]) if leaf["upper_evidence"] is not None]
    forgeries = []
    for number in rng.sample(noisy, 30):
        leaf, width = ("leaves", number), len(content["leaves"][number]["upper_evidence"])
        forgeries += [
            ((*leaf, "upper"), lambda upper: upper - 0.01),
            ((*leaf, "lower"), lambda lower: lower + 0.2),
            ((*leaf, "share"), lambda share: 1.01 * share),
            ((*leaf, "order"), lambda order: order + 1),
            ((*leaf, "upper_evidence", 0), lambda count: 2 * count),
            ((*leaf, "upper_evidence", 1), lambda total: 0.9 * total),
            ((*leaf, "upper_evidence", rng.randrange(5, width - 8)), lambda weight: weight + 5),
        ]
    for number in rng.sample([n for n, leaf in enumerate(content["leaves"]) if leaf["exact"]], 15):
        forgeries += [
            (("leaves", number, "lower"), lambda value: value - 0.01),
            (("leaves", number, "mean"), lambda v: v / 2),
        ]
    forgeries += [
        (("search", "epsilon"), lambda epsilon: epsilon / 2),
        (("search", "delta"), lambda delta: delta / 2),
        (("claims", 0, "epsilon"), lambda epsilon: epsilon / 2),
        (("claims", 0, "text"), lambda text: text.replace("0.05", "0.01")),
        (("gap",), lambda gap: gap / 2),
        (("lower",), lambda lower: lower + 0.001),
        (("answer",), lambda node: next(leaf["node"] for leaf in content["leaves"] if leaf["node"] != node)),
        (("features",), lambda names: names[:-1]),
        (("search", "stopping"), lambda _: "paper"),
        (("search", "bound"), lambda _: "hoeffding"),
        (("graph", "children", 0), lambda children: children[1:]),
        (("graph", "children", answer), lambda _: [0]),
    ]
    assert len(forgeries) > 200
    for path, value in forgeries:
        verdict = verify(Certificate(changed(content, path, value)))
        assert not verdict, path
        assert str(verdict).startswith("Refused: ")


def test_a_leaf_left_out_is_missed(selection):
    content = copy.deepcopy(selection.content)
    strongest = max(content["leaves"], key=lambda leaf: leaf["upper"])
    content["leaves"].remove(strongest)
    assert "the leaves must be exactly the nodes without children" in str(verify(Certificate(content)))


def test_an_open_claim_cannot_be_sold_as_settled():
    cut = best_leaf(paper_lattice(), epsilon=0.05, delta=0.1, seed=0, max_samples=50).certificate
    content = copy.deepcopy(cut.content)
    content["claims"][0]["kind"] = "grown"
    assert "claim 1 is not the one that follows from the numbers, which is 'Not settled. " in str(
        verify(Certificate(content))
    )


def test_labels_of_any_kind_survive_json():
    class Odd:
        def root(self):
            return frozenset()

        def children(self, state):
            return [state | {"a"}, state | {np.int64(3)}]

        def is_terminal(self, state):
            return len(state) == 1

        def sample(self, state, rng):
            return float("a" in state)

    found = best_leaf(Odd(), epsilon=0.3, delta=0.1, seed=0).certificate
    assert verify(Certificate.from_json(found.to_json()))


def test_best_leaf_gives_local_guarantees():
    settings = {"epsilon": 0.02, "delta": 0.1, "expansion": 0.05, "bound": "betting", "seed": 0}
    plain = best_leaf(Trap(), **settings)
    found = best_leaf(Trap(), guarantee="local", **settings)
    assert (plain.lower, found.lower) == (0.29, 1.0)
    assert [claim["kind"] for claim in found.certificate.content["claims"]] == ["grown", "local"]
    assert "one step away, as the problem lists them" in str(found.certificate)
    assert verify(found.certificate), verify(found.certificate)
    content = found.certificate.content
    assert not verify(Certificate(changed(content, ("challenges", "local", "subsets", 0, 1), lambda one: 1.0 - one)))


def test_guarantees_on_the_lattice_are_those_of_the_selector(linear):
    lattice = FeatureLattice(KNNOracle(*linear, scale=False), max_features=2)
    settings = {"epsilon": 0.01, "delta": 0.1, "bound": "betting", "seed": 0}
    found = best_leaf(lattice, expansion=0.5, guarantee="local", **settings)
    assert verify(found.certificate)
    assert len(found.certificate.content["challenges"]["local"]["choice"]["allowed"]) == 30
    forged = changed(
        found.certificate.content, ("challenges", "local", "choice", "allowed"), lambda allowed: allowed[1:]
    )
    assert not verify(Certificate(forged))


def test_guarantees_that_cannot_be_given_are_refused():
    settings = {"epsilon": 0.02, "delta": 0.1}
    for problem, keywords, words in (
        (paper_lattice(), {"guarantee": "local"}, "method exact"),
        (paper_lattice(), {"guarantee": "exhaustive", "expansion": 0.3}, "expansion must be None"),
        (paper_lattice(), {"guarantee": "certain"}, "got 'certain'"),
        (paper_lattice(), {"guarantee": "quantile"}, "must be one of grown, local, exhaustive or several"),
        (random_dag(0, exact_share=1.0), {"guarantee": "local"}, "neighbours"),
    ):
        with pytest.raises(ValueError, match=words):
            best_leaf(problem, **settings, **keywords)
    whole = best_leaf(random_dag(0, exact_share=1.0), guarantee="exhaustive", **settings)
    assert "whole graph" in str(whole.certificate)


def test_claims_about_nothing_and_claims_added_by_hand_are_refused(challenged, linear):
    content = challenged.certificate_.content
    empty = reworded({**content, "challenges": {"local": {"subsets": []}}})
    twice = {**content, "claims": [{"kind": "grown", "text": "Everything is proved."}, *content["claims"]]}
    nonsense = changed(content, ("challenges", "local", "subsets", 0, 0), lambda label: ["nonsense"])
    unknown = {**content, "challenges": {**content["challenges"], "magic": {"subsets": []}}}
    for forged in (empty, twice, nonsense, unknown):
        assert not verify(Certificate(forged))


def test_a_few_subsets_are_not_all(linear):
    X, y = linear
    settings = {"guarantee": "exhaustive", "epsilon": 0.0, "random_state": 0}
    found = BestLeafSelector(choose="training", **settings).fit(X[:, :6], y).certificate_.content
    few = [leaf["node"] for leaf in found["leaves"] if leaf["node"] == found["answer"] or len(leaf["label"]) <= 3]
    labels = [found["graph"]["labels"][node] for node in few]
    gone = {
        node for node, label in enumerate(found["graph"]["labels"]) if not any(set(label) <= set(one) for one in labels)
    }
    forged = without_nodes(copy.deepcopy(found), gone)
    forged["cost"]["exact_evaluations"] = len(few)
    assert "All " in str(Certificate(reworded(forged)))
    verdict = verify(Certificate(forged), X[:, :6], y)
    assert not verdict
    assert "all 63 subsets" in str(verdict)


def test_guarantees_need_one_player():
    class Game(Trap):
        def maximizes(self, state):
            return len(state) != 1

    settings = {"epsilon": 0.02, "delta": 0.1, "expansion": 0.05, "guarantee": "local"}
    with pytest.raises(ValueError, match="an opponent"):
        best_leaf(Game(), **settings)
    with pytest.raises(TypeError, match=r"best_leaf got an argument that it no longer has, 'alpha'; use guarantee"):
        best_leaf(Trap(), **settings, alpha=0.1)
    with pytest.raises(RuntimeError, match="use run"):
        Search(Trap(), task="leaf", **settings).ask()
    again = Search(Trap(), task="leaf", **{**settings, "expansion": None}, seed=0)
    assert again.again(1).run().challenges["local"]
    assert again.result().challenges == {}
    found = best_leaf(Trap(), **settings, seed=0).certificate
    assert "anything more about states" in str(found)


def test_any_generator_will_do_as_a_seed():
    stream = np.random.Generator(np.random.RandomState(0)._bit_generator)
    assert best_arm(paper_lattice(), epsilon=0.2, delta=0.1, seed=stream).identified
