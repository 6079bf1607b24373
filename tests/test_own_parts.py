"""Parts of one's own beside rules and bounds: random rules, rules of leaves, growth, answer functions."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from bestleaf import Rule, Search, best_arm, best_leaf, testing, verify
from bestleaf.engine.rules import children, count, is_leaf, level, mean, reaches, rounds, uniform, visits
from bestleaf.problems import TableProblem, paper_lattice, random_dag
from bestleaf.search.answer import ANSWERS, highest_mean


@Rule
def dice(root, graph, known):
    """Two random children."""
    below = children(graph, root)
    first = int(uniform(graph) * len(below))
    second = int(uniform(graph) * (len(below) - 1))
    return below[first], below[second if second < first else second + 1]


@partial(Rule, leaves=True)
def least_sampled(root, graph, known):
    """The leaf with the fewest samples; of equals, a random one."""
    chosen, lowest = -1, np.inf
    for node in range(len(graph.nodes)):
        if is_leaf(node, graph) and count(node, graph) + uniform(graph) < lowest:
            chosen, lowest = node, count(node, graph) + uniform(graph)
    return chosen, -1


KEYWORDS = {"epsilon": 0.15, "delta": 0.1}


@pytest.mark.parametrize("rule", [dice, least_sampled, "eb_tc"], ids=str)
def test_a_random_rule_follows_from_the_seed(rule):
    testing.check_rule(rule, seeds=(0,))
    first, again, other = (best_arm(paper_lattice(), rule=rule, seed=seed, **KEYWORDS) for seed in (1, 1, 2))
    assert first.leaves == again.leaves
    assert first.leaves != other.leaves


@pytest.mark.parametrize("rule", [dice, "eb_tc"], ids=str)
def test_looking_at_a_search_does_not_change_what_a_random_rule_does(rule):
    keywords = {"task": "arm", "rule": rule, "seed": 3, "epsilon": 0.3, "delta": 0.1}
    search = Search(paper_lattice(), **keywords)
    rng, samples = np.random.default_rng(0), []
    while (state := search.ask()) is not None:
        if len(samples) % 3 == 0:
            search.progress()
        samples.append((state, float(rng.random() < paper_lattice().mean(state))))
        search.tell(samples[-1][1])
    again = Search(paper_lattice(), **keywords)
    for state, value in samples:
        assert again.ask() == state
        again.tell(value)
    assert again.ask() is None


@pytest.mark.parametrize("keywords", [{"rule": dice}, {"stopping": "pairwise"}], ids=str)
def test_a_random_rule_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(keywords, tmp_path):
    whole = best_leaf(paper_lattice(), seed=4, expansion=0.6, **keywords, **KEYWORDS)
    file = tmp_path / "search.ckpt"
    for most in (150, 400, None):
        found = best_leaf(
            paper_lattice(), seed=4, expansion=0.6, checkpoint=file, max_samples=most, **keywords, **KEYWORDS
        )
    assert found.leaves == whole.leaves
    assert found.samples == whole.samples > 400


def test_random_numbers_of_a_rule_are_uniform():
    drawn = []
    for seed in range(300):
        search = Search(
            TableProblem({0: list(range(1, 9))}, dict.fromkeys(range(1, 9), 0.5)), seed=seed, rule=dice, **KEYWORDS
        )
        for _ in range(4):
            drawn.append(search.ask())
            search.tell(0.5)
    counts = np.bincount(drawn, minlength=9)[1:]
    assert ((counts - 150) ** 2 / 150).sum() < 30  # chi-square with 7 degrees of freedom: 1 in 10,000


def test_helpers_show_a_rule_what_is_known():
    @partial(Rule, leaves=True)
    def looks(root, graph, known):
        chosen, highest = -1, -np.inf
        for node in range(len(graph.nodes)):
            if is_leaf(node, graph):
                right = level(node, graph) == 1 and reaches(node, node, graph) and not reaches(node, 3 - node, graph)
                right = right and rounds(root, graph) == count(1, graph) + count(2, graph) and visits(root, graph) == 0
                index = mean(node, graph) - 0.01 * count(node, graph) if right else np.nan
                if index > highest:
                    chosen, highest = node, index
        return chosen, -1

    search = Search(TableProblem({0: [1, 2]}, {1: 0.5, 2: 0.5}), rule=looks, seed=0, epsilon=0.01, delta=0.1)
    told = {1: [], 2: []}
    for place in range(60):
        leaf = search.ask()
        if place % 10 != 9:  # one round in ten is the test's
            index = {one: (np.mean(values) if values else 0.5) - 0.01 * len(values) for one, values in told.items()}
            assert index[leaf] >= max(index.values()) - 1e-9
        told[leaf].append(0.7 if leaf == 1 else 0.6)
        search.tell(told[leaf][-1])


def test_a_rule_of_leaves_that_names_no_leaf_is_told_so():
    @partial(Rule, leaves=True)
    def root_itself(root, graph, known):
        return root, -1

    with pytest.raises(ValueError, match="rule root_itself must return leaves of the graph"):
        best_arm(paper_lattice(), rule=root_itself, seed=0, **KEYWORDS)


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
    testing.check_growth(growth=every_fifty)
    testing.check_growth(growth=UntilNodes(20))
    result = best_arm(paper_lattice(), growth=UntilNodes(20), seed=0, epsilon=0.05, delta=0.1)
    assert result.nodes == 20
    assert result.settings["growth"] == "until_nodes"
    assert result.certificate.content["search"]["growth"] == "until_nodes"
    assert verify(result.certificate)
    search = Search(paper_lattice(), task="arm", growth=every_fifty, seed=0, epsilon=0.01, delta=0.1)
    rng, seen = np.random.default_rng(0), {}
    while search.samples < 300:
        search.ask()
        seen.setdefault(search.state.growths, search.samples)
        search.tell(float(rng.random() < 0.5))
    assert seen == {0: 0, 1: 50, 2: 100, 3: 150, 4: 200}


def test_a_schedule_of_ones_own_is_part_of_what_a_checkpoint_is_of(tmp_path):
    file = tmp_path / "search.ckpt"
    keywords = {"seed": 0, "checkpoint": file, **KEYWORDS}
    best_arm(paper_lattice(), growth=every_fifty, max_samples=100, **keywords)
    with pytest.raises(ValueError, match='growth was "every_fifty", got "until_nodes"'):
        best_arm(paper_lattice(), growth=UntilNodes(9), **keywords)
    best_arm(paper_lattice(), growth=every_fifty, max_samples=200, **keywords)


@pytest.mark.parametrize("given", [3, "soon", 2.5, True])
def test_a_schedule_that_goes_back_is_told_so(given):
    def odd(step, node, state):
        return given if step else 0

    with pytest.raises(ValueError, match=r"growth odd must return a round from .* on, or None for never, got"):
        best_arm(paper_lattice(), growth=odd, seed=0, epsilon=0.01, delta=0.1, max_samples=2000)


def test_growth_must_be_a_function():
    with pytest.raises(TypeError, match="growth must be a function of rounds, node and state, got 'fast'"):
        best_arm(paper_lattice(), growth="fast", **KEYWORDS)


# Which node is the answer.


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("task", ["arm", "leaf"])
def test_our_answer_functions_pass(name, task):
    testing.check_answer(name, task=task)


def test_answers_are_named_and_may_be_a_node_alone():
    def last(state, decision):
        """The leaf that entered last."""
        return len(state.graph) - 1

    keywords = {"max_samples": 300, "seed": 0, **KEYWORDS}
    result = best_leaf(paper_lattice(), answer=last, **keywords)
    assert result.answer == result.leaves[-1].state
    assert verify(result.certificate)
    by_mean = best_leaf(paper_lattice(), answer="highest_mean", **keywords)
    assert by_mean.answer == max(by_mean.leaves, key=lambda leaf: leaf.mean or 0).state
    by_bound = best_leaf(paper_lattice(), answer="highest_lower_bound", **keywords)
    assert by_bound.answer == max(by_bound.leaves, key=lambda leaf: leaf.lower).state
    assert best_leaf(paper_lattice(), answer=highest_mean, **keywords).answer == by_mean.answer


def test_a_proved_answer_is_not_replaced_by_a_worse_one():
    result = best_leaf(paper_lattice(), answer=lambda state, decision: len(state.graph) - 1, seed=0, **KEYWORDS)
    assert result.identified
    assert result.gap <= KEYWORDS["epsilon"]
    assert verify(result.certificate)


def test_a_move_of_a_game_may_be_named_alone():
    game = random_dag(np.random.default_rng(3), two_player=True)
    for name in ("highest_lower_bound", "most_likely"):
        result = best_arm(game, answer=name, seed=0, max_samples=50, epsilon=0.05, delta=0.1)
        assert verify(result.certificate)


def test_wrong_answers_are_one_sentence():
    with pytest.raises(
        ValueError, match="answer must be one of most_likely, highest_lower_bound, highest_mean or a fun"
    ):
        best_leaf(paper_lattice(), answer="best", **KEYWORDS)
    with pytest.raises(TypeError, match=r"answer must be one of .* or a function of the state and the decision, got 3"):
        best_leaf(paper_lattice(), answer=3, **KEYWORDS)
    with pytest.raises(ValueError, match=r"answer must return a child of the root, got \(3, 4, 5\)"):
        best_arm(
            paper_lattice(), answer=lambda state, decision: state.graph.node_of[3, 4, 5], max_samples=9, **KEYWORDS
        )
    with pytest.raises(AssertionError, match="answer bold must return a gap that is proved, at least"):
        testing.check_answer(bold)


def bold(state, decision):
    return highest_mean(state, decision), -1.0
