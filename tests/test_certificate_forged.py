"""Forged certificates, each resealed with a right checksum, and the sentence that each is refused with."""

from __future__ import annotations

import json

import pytest

from bestleaf import Bound, Certificate, best_arm, best_leaf, verify
from bestleaf.certificate.record import checksum
from bestleaf.problems import paper_lattice, random_dag
from forging import changed, judged, renumbered, reworded, rewritten, sealed, twin
from genuine import CHECKED, UNCHECKED


def test_certain_is_only_what_has_exact_leaves_alone():
    """A leaf that waits for its value has no share of delta, and is not exact."""
    found = best_leaf(random_dag(3, exact_share=1.0), epsilon=0.1, delta=0.1, seed=0, max_samples=2).certificate
    assert any(not leaf["exact"] and leaf["share"] == 0 for leaf in found.leaves)
    assert found.claims[0].startswith("Not settled. Of the ")
    assert "compared. It is certain that none of these is better" in found.claims[0]
    content = twin(found.content)
    content["search"]["epsilon"] = 1.0
    assert judged(reworded(content))
    assert content["claims"][0]["text"].startswith("With probability")
    content["claims"][0]["text"] = content["claims"][0]["text"].replace(
        "With probability at least 1 - 0.1", "It is certain that"
    )
    assert "not the one that follows" in str(judged(content))


def test_intervals_of_an_unknown_bound_do_not_follow_from_anything(sampled):
    content = twin(sampled)
    content["search"] |= {"bound": "mine", "proof": "conditional", "epsilon": 0.0}
    for leaf in content["leaves"]:
        leaf |= dict.fromkeys(("lower", "upper"), 0.9 if leaf["node"] == content["answer"] else 0.5)
        leaf["lower_evidence"] = leaf["lower_evidence"] or leaf["upper_evidence"]
    verdict = judged(rewritten(content))
    assert "the intervals of 0 follow from their samples, those of 20 are taken as written" in str(verdict)
    assert "provided that bound mine holds" in str(verdict)
    content["search"]["proof"] = "rigorous"
    assert "is not rigorous" in str(judged(rewritten(content)))


def test_a_bound_of_ones_own_brings_its_check():
    found = best_arm(paper_lattice(), epsilon=0.2, delta=0.1, seed=0, bound=CHECKED).certificate
    assert "taken as written, because bound union_over_time" in str(verify(found))
    verdict = verify(found, bound=CHECKED)
    assert "the intervals of 20 follow from their samples." in str(verdict)
    assert "provided that bound union_over_time holds" in str(verdict)
    content = twin(found.content)
    leaf = max(content["leaves"], key=lambda one: one["upper"] - one["lower"])
    leaf["upper"] -= 0.05
    assert judged(rewritten(content))
    assert "does not follow from its samples" in str(judged(rewritten(content), bound=CHECKED))
    assert "the bound given is unnamed" in str(verify(found, bound=UNCHECKED))
    with pytest.raises(TypeError, match="check must be a function"):
        Bound(lambda mean, count, delta, row: (0.0, 1.0), check="yes")


def test_a_graph_that_grew_is_not_whole():
    settings = {"epsilon": 0.3, "delta": 0.1, "seed": 0, "expansion": 0.1, "max_samples": 5}
    content = changed(best_leaf(random_dag(4), **settings).certificate.content, ("search", "expansion"), None)
    assert any(not leaf["terminal"] for leaf in content["leaves"])
    content["graph"]["inner_orders"] = [0] * len(content["graph"]["labels"])
    renumbered(content)
    assert "not whole" in str(judged(rewritten(content)))


@pytest.mark.parametrize("bound", ["hoeffding", "betting"])
def test_evidence_agrees_with_the_mean_and_with_itself(bound):
    found = best_leaf(paper_lattice(), epsilon=0.2, delta=0.1, seed=0, bound=bound).certificate.content
    number = max(range(len(found["leaves"])), key=lambda one: found["leaves"][one]["count"])
    for mean in (0.0, 1.0):
        verdict = judged(changed(found, ("leaves", number, "mean"), mean))
        assert "contradicts itself or the mean" in str(verdict)
    content = twin(found)
    leaf = content["leaves"][number]
    leaf["upper_evidence"] = twin(leaf["lower_evidence"])
    leaf["upper_evidence"][0] = leaf["lower_evidence"][0] + (1 if leaf["lower_evidence"][0] < leaf["count"] else -1)
    leaf["upper_evidence"][1] = max(0.0, leaf["lower_evidence"][1] - 3)
    assert not judged(content)


class Unknown(random_dag(4).__class__):
    """A problem that is asked for exact values, and has none."""

    def exact(self, state):
        return None


def test_leaves_that_were_waited_for_in_vain_have_shares_by_their_place():
    known = random_dag(4)
    problem = Unknown(known.children_of, known.means, root=(0, 0))
    found = best_leaf(problem, epsilon=0.3, delta=0.1, seed=0).certificate
    assert verify(found), verify(found)
    content = twin(found.content)
    assert len({leaf["share"] for leaf in content["leaves"]}) == len(content["leaves"])
    last = max(content["leaves"], key=lambda leaf: leaf["order"])
    last["share"] = 0.1 / len(content["leaves"])
    assert "share of delta of its place" in str(judged(content))


def test_shares_of_a_tiny_delta_are_compared_as_closely():
    found = best_leaf(paper_lattice(), epsilon=0.3, delta=0.1, seed=0, bound="beta2").certificate.content
    content = twin(found)
    content["search"] |= {"delta": 1e-12, "bound": "mine", "proof": "conditional"}
    for leaf in content["leaves"]:
        leaf["share"] = 9e-10  # together 18,000 delta
    assert "share of delta of its place" in str(judged(reworded(content)))
    tiny = best_leaf(paper_lattice(), epsilon=0.4, delta=1e-12, seed=0, bound="betting").certificate
    assert verify(tiny)


def test_theory_proves_nothing_of_growth_exact_leaves_or_a_large_delta(sampled):
    settings = {"epsilon": 0.3, "delta": 0.1, "seed": 0, "bound": "theory"}
    for problem, keywords in ((paper_lattice(), {"expansion": 0.4}), (random_dag(3, exact_share=0.5), {})):
        content = twin(best_leaf(problem, **settings, **keywords).certificate.content)
        assert content["search"]["proof"] == "none"
        assert judged(content)
        content["search"]["proof"] = "rigorous"
        assert "bound theory proves nothing" in str(judged(reworded(content)))
    content = twin(best_leaf(random_dag(4), **settings).certificate.content)
    assert judged(content)
    content["search"]["delta"] = 0.9
    for leaf in content["leaves"]:
        leaf["share"] = 0.9 / len(content["leaves"])
    assert "bound theory needs delta" in str(judged(reworded(content)))


def test_a_file_has_every_part_once_and_a_checksum(sampled):
    text = sealed(sampled)
    assert verify(Certificate.from_json(text))
    for was, becomes, told in (
        ('"gap":', '"gap": 0.0, "gap":', "a part is written twice"),
        ('"upper":', '"upper": 0.0, "upper":', "a part is written twice"),
        ('"gap":', '"gap": NaN, "gap2":', "no number of JSON"),
        ('"format_version": 3', '"format_version": 2', "format version 2, of an older bestleaf"),
    ):
        with pytest.raises(ValueError, match=told):
            Certificate.from_json(text.replace(was, becomes, 1))
    for name in ("checkesum", None):
        content = sampled if name is None else {**sampled, name: checksum(sampled)}
        assert "no checksum" in str(verify(Certificate.from_json(json.dumps(content))))
    assert verify(Certificate(sampled)), "a certificate straight from a search needs none"


PARTS = [(), ("search",), ("cost",), ("graph",), ("leaves", 0), ("claims", 0), ("data",), ("data", "choice")]
PARTS += [("data", "objective"), ("report",), ("report", "history", 0)]


@pytest.mark.parametrize("place", PARTS, ids=str)
def test_unknown_parts_are_refused_wherever_they_are(selected, place):
    assert not judged(changed(selected, (*place, "remark"), "All is proved."))


def test_parts_of_another_kind_are_refused_with_a_sentence(sampled):
    for path, value, words in (
        (("graph", "minimizes"), "", "'minimizes' of the graph must be a list in which everything is a whole number"),
        (("graph", "children"), [[True]], "'children' of the graph must be a list"),
        (("search", "delta"), 1, "'delta' of the search must be a number between 0 and 1, got 1"),
        (("search", "stopping"), "budget", "FUSE, whose search a budget ends, proves nothing and has no certificate"),
        (("format",), "another", "'format' of the certificate must be 'bestleaf certificate', got 'another'"),
        (("claims", 0, "kind"), 3, "'kind' of the claim must be a text, got 3"),
        (("challenges", "magic"), {}, "there is an unknown part 'magic' in the challenges"),
        (("leaves",), [], "must list the leaves"),
        (("leaves", 0), "leaf", "the leaf must have named parts, got 'leaf'"),
    ):
        assert words in str(verify(Certificate(changed(sampled, path, value)))), path
