"""Flat best-arm baselines: agreement with plain Python, and error rate against delta."""

from __future__ import annotations

import numpy as np
import pytest

from bestleaf import flat_best_leaf
from bestleaf.problems import TableProblem, paper_lattice, random_dag, random_game_tree
from bestleaf.rivals.flat import ALGORITHMS
from naive import NaiveFlat

MEANS = (0.3, 0.75, 0.5, 0.45)


def bandit(means):
    return TableProblem({"root": list(range(len(means)))}, dict(enumerate(means)), root="root")


class Plain:
    """The same problem without a compiled oracle."""

    def __init__(self, problem):
        for name in ("root", "children", "is_terminal", "sample"):
            setattr(self, name, getattr(problem, name))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_agrees_with_the_naive_twin(algorithm):
    for seed in range(10):
        twin = NaiveFlat(MEANS, algorithm, 0.2, 0.1, seed)
        answer = twin.run()
        found = flat_best_leaf(bandit(MEANS), algorithm=algorithm, epsilon=0.2, delta=0.1, seed=seed)
        slow = flat_best_leaf(Plain(bandit(MEANS)), algorithm=algorithm, epsilon=0.2, delta=0.1, seed=seed)
        assert found.answer == slow.answer == answer
        assert found.counts.tolist() == slow.counts.tolist()
        assert found.counts.tolist() == [len(samples) for samples in twin.samples]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_wrong_at_most_delta(algorithm):
    """At delta = 0.1 a count of wrong answers in 300 runs above 30 + 3 sqrt(27) = 45 would refute it."""
    wrong = 0
    for seed in range(300):
        means = np.random.default_rng(seed).random(5)
        means[np.argmax(means)] = min(1.0, means.max() + 0.1)
        found = flat_best_leaf(bandit(means.tolist()), algorithm=algorithm, epsilon=0.05, delta=0.1, seed=seed)
        assert found.identified
        wrong += means[found.answer] < means.max() - 0.05
    assert wrong <= 30 + 3 * np.sqrt(300 * 0.1 * 0.9)


def test_uniform_sampling_costs_more_than_lucb():
    settings = {"epsilon": 0.05, "delta": 0.1}
    samples = {
        name: sum(flat_best_leaf(paper_lattice(), algorithm=name, seed=seed, **settings).samples for seed in range(5))
        for name in ("uniform", "lucb", "kl_lucb")
    }
    assert samples["uniform"] > samples["lucb"] > samples["kl_lucb"]


def test_budget_and_bad_input():
    found = flat_best_leaf(paper_lattice(), epsilon=0.0, delta=0.1, max_samples=500, seed=0)
    assert (found.reason, found.samples) == ("max_samples", 500)
    for keywords, words in (
        ({"algorithm": "best"}, "algorithm must be one of"),
        ({"epsilon": 2}, "epsilon must be between 0 and 1"),
        ({"delta": 0}, "delta must be strictly"),
        ({"max_samples": 0}, "max_samples must be a whole number"),
    ):
        with pytest.raises(ValueError, match=words):
            flat_best_leaf(paper_lattice(), **{"epsilon": 0.1, "delta": 0.1, **keywords})
    with pytest.raises(ValueError, match="at least two leaves"):
        flat_best_leaf(bandit([0.5]), epsilon=0.1, delta=0.1)


def test_problems_that_are_not_a_bandit_are_refused():
    for problem, words in (
        (random_dag(0, exact_share=1.0), "exact leaves"),
        (random_game_tree(0), "an opponent"),
    ):
        with pytest.raises(ValueError, match=words):
            flat_best_leaf(problem, epsilon=0.1, delta=0.1)


def test_fewer_samples_than_leaves_answer_with_the_best_of_them():
    found = flat_best_leaf(bandit([0.0, 0.0, 1.0, 1.0]), epsilon=0.1, delta=0.1, max_samples=3, seed=0)
    assert (found.answer, found.samples) == (2, 3)
