"""Ingredients of one's own, each a plain function: rule, stopping test, growth, proposal, answer."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from bestleaf import Rule, Search, best_arm, best_leaf, testing, verify
from bestleaf.engine.records import INNER
from bestleaf.engine.rules import children, strongest_rival
from bestleaf.problems import TableProblem, paper_lattice, random_dag

pytestmark = pytest.mark.slow

KEYWORDS = {"epsilon": 0.15, "delta": 0.1}


# A plain function as a rule, and as a stopping test.


def boldest(root, graph, known):
    """The child with the highest upper bound; of equals, the one with the larger tie-break."""
    best = children(graph, root)[0]
    for child in children(graph, root):
        above = known[child].upper > known[best].upper
        if above or (known[child].upper == known[best].upper and known[child].tie_break > known[best].tie_break):
            best = child
    return best, strongest_rival(best, root, graph, known)


def far_apart(best, rival, root, graph, known, epsilon):
    """The published test with half of epsilon."""
    return known[rival].upper - known[best].lower < epsilon / 2


def hasty(best, rival, root, graph, known, epsilon):
    """Stop as soon as both have samples."""
    return known[best].upper < 1 and known[rival].upper < 1


def failing(best, rival, root, graph, known, epsilon):
    return known[10**9].upper < epsilon


def test_a_plain_function_is_a_rule():
    keywords = {"seed": 0, **KEYWORDS}
    result = best_arm(paper_lattice(), rule=boldest, **keywords)
    assert result.leaves == best_arm(paper_lattice(), rule=Rule(boldest), **keywords).leaves
    assert result.search.rule == "boldest"
    assert result.search.proof == "rigorous"
    testing.check_ingredients(rule=boldest)


@pytest.mark.parametrize("find", [best_arm, best_leaf])
def test_a_stopping_test_of_ones_own_decides_and_is_not_certified(find):
    problem = TableProblem({0: [1, 2, 3]}, {1: 0.2, 2: 0.8, 3: 0.5})
    paper, own = (find(problem, seed=0, stopping=one, **KEYWORDS) for one in ("paper", far_apart))
    assert own.settled
    assert own.samples > paper.samples
    assert own.answer == 2
    assert (own.search.stopping, own.search.proof) == ("far_apart", "none")
    assert "has no proof" in own.summary()
    assert verify(own.certificate)
    claim = msgspec.structs.replace(own.search, proof="rigorous")
    assert not verify(msgspec.structs.replace(own.certificate, search=claim))


def test_a_stopping_test_with_the_name_of_ours_is_not_taken_for_it():
    def sound(best, rival, root, graph, known, epsilon):
        return known[best].upper < 1.0

    result = best_arm(paper_lattice(), stopping=sound, seed=0, **KEYWORDS)
    assert (result.search.stopping, result.search.proof) == ("own_sound", "none")
    assert verify(result.certificate)


def test_a_wrong_stopping_test_is_told_so():
    with pytest.raises(AssertionError, match=r"stopping hasty must be wrong with probability 0.1 at most"):
        testing.check_ingredients(stopping=hasty, runs=60)
    testing.check_ingredients(stopping=far_apart, runs=20)
    with pytest.raises(ValueError, match="stopping failing raised an error"):
        best_arm(paper_lattice(), stopping=failing, seed=0, **KEYWORDS)
    with pytest.raises(ValueError, match="stopping must be one of sound, paper or a function of two"):
        best_arm(paper_lattice(), stopping="kl", **KEYWORDS)


# Growth: when a child enters.


def every_fifty(step, node, state):
    """Grow after every 50 rounds at a node, four times at most."""
    due = -(-max(step, 1) // 50) * 50
    return due if due <= 200 else None


class UntilNodes:
    """Grow in every round until the graph has so many nodes."""

    name = "until_nodes"

    def __init__(self, most):
        self.most = most

    def __call__(self, step, node, state):
        return step if len(state.graph) < self.most else None


def test_the_graph_grows_when_the_schedule_says_so():
    testing.check_ingredients(growth=every_fifty)
    testing.check_ingredients(growth=UntilNodes(20))
    keywords = {"growth": UntilNodes(20), "seed": 0, "epsilon": 0.05, "delta": 0.1}
    assert best_arm(paper_lattice(), **keywords, stopping="paper").nodes == 20
    result = best_arm(paper_lattice(), **keywords)
    assert result.nodes > 20  # what the answer rests on enters besides
    assert result.search.growth == "until_nodes"
    assert verify(result.certificate)
    search = Search(paper_lattice(), task="arm", growth=every_fifty, seed=0, epsilon=0.01, delta=0.1)
    rng, seen = np.random.default_rng(0), {}
    while search.samples < 300:
        search.ask()
        seen.setdefault(search.state.growths, search.samples)
        search.tell(float(rng.random() < 0.5))
    assert seen == {0: 0, 1: 50, 2: 100, 3: 150, 4: 200}


@pytest.mark.parametrize("given", [3, "soon", 2.5, True])
def test_a_schedule_that_goes_back_is_told_so(given):
    def odd(step, node, state):
        return given if step else 0

    with pytest.raises(ValueError, match=r"growth odd must return a round from .* on, or None for never, got"):
        best_arm(paper_lattice(), growth=odd, seed=0, epsilon=0.01, delta=0.1, max_samples=2000)


# Which node is the answer.


def surest(state, decision):
    """The leaf or arm of highest lower bound."""
    nodes = (
        np.flatnonzero(state.graph.kinds != INNER) if state.settings.task == "leaf" else state.graph.linked("child", 0)
    )
    return int(nodes[state.known.known["lower"][nodes].argmax()])


def test_the_answer_function_of_ours_and_one_of_ones_own_pass():
    testing.check_ingredients()
    testing.check_ingredients(answer=surest)


def test_answers_are_named_and_may_be_a_node_alone():
    def last(state, decision):
        """The leaf that entered last."""
        return len(state.graph) - 1

    keywords = {"max_samples": 300, "seed": 0, **KEYWORDS}
    result = best_leaf(paper_lattice(), answer=last, **keywords)
    assert result.answer == result.leaves[-1].state
    assert verify(result.certificate)
    certain = best_leaf(paper_lattice(), answer=surest, **keywords)
    assert certain.answer == max(certain.leaves, key=lambda leaf: leaf.lower).state


def test_wrong_answers_are_one_sentence():
    for given in ("best", 3):
        with pytest.raises(TypeError, match="answer must be a function of the state and the decision or None, got"):
            best_leaf(paper_lattice(), answer=given, **KEYWORDS)
    with pytest.raises(ValueError, match=r"answer must return a child of the root, got \(3, 4, 5\)"):
        best_arm(
            paper_lattice(), answer=lambda state, decision: state.graph.node_of[3, 4, 5], max_samples=9, **KEYWORDS
        )
    bold = best_leaf(paper_lattice(), answer=lambda state, decision: (surest(state, decision), -1.0), **KEYWORDS)
    assert bold.gap > -1.0, "a gap that is not proved is not believed"
    assert verify(bold.certificate)


def test_growth_must_be_a_function():
    with pytest.raises(TypeError, match="growth must be a function of rounds, node and state, got 'fast'"):
        best_arm(paper_lattice(), growth="fast", **KEYWORDS)


def test_exact_leaves_end_a_search_whatever_the_test_says():
    def never(best, rival, root, graph, known, epsilon):
        return False

    problem = random_dag(3, exact_share=1.0)
    assert best_leaf(problem, stopping=never, seed=0, **KEYWORDS).settled
