"""Leaves told apart in pairs: the tests are right, the certificate shows it, and they need fewer samples."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from math import inf, lgamma, log, pi, sqrt

import numpy as np
import pytest

from bestleaf import Stopping, best_arm, best_leaf, verify
from bestleaf.certificate import Certificate
from bestleaf.certificate.pairs import BY_INTERVALS as BY_INTERVALS_AGAIN
from bestleaf.certificate.pairs import FOR_INTERVALS, TESTS, _cost
from bestleaf.engine.kernels.pairs import costs_of
from bestleaf.engine.stopping import BY_INTERVALS, STOPPINGS, named_stopping, surplus
from bestleaf.problems import PAPER_SCORES, ScoreLattice, TableProblem, paper_lattice, random_dag
from conftest import binomial_margin
from test_soundness import arm_regret, family, leaf_regret


def arms(*means):
    names = range(1, len(means) + 1)
    return TableProblem({0: list(names)}, dict(zip(names, means, strict=True)))


@Stopping
def cautious(mean, count, rival_mean, rival_count, epsilon, share, best_share):
    """The test `pairwise` with half of the share."""
    own, other = costs_of(mean, count, rival_mean, rival_count, epsilon)
    return own + other >= log(2 / share) + surplus(mean, count) + surplus(rival_mean, rival_count)


def random_pairs(many):
    rng = np.random.default_rng(0)
    for _ in range(many):
        count, rival_count = (float(int(10 ** rng.uniform(0, 4))) for _ in range(2))
        mean, rival_mean = rng.integers(count + 1) / count, rng.integers(rival_count + 1) / rival_count
        if rng.random() < 0.3:
            mean, rival_mean = rng.random(2)
        count, rival_count = (inf if rng.random() < 0.1 else number for number in (count, rival_count))
        epsilon = float(rng.choice([0.0, 0.001, 0.05, 0.3, rng.random()]))
        yield float(mean), count, float(rival_mean), rival_count, epsilon


def test_the_search_and_the_certificate_compute_the_same_cost():
    for pair in random_pairs(1500):
        assert sum(costs_of(*pair)) == pytest.approx(_cost(*pair), rel=1e-9, abs=1e-9)


def test_the_cost_is_the_least_over_all_values_of_the_pair():
    def divergence(mean, other):
        return mean * np.log(mean / other) + (1 - mean) * np.log((1 - mean) / (1 - other))

    values = np.linspace(0.001, 0.999, 999)
    for mean, rival_mean, epsilon in product((0.3, 0.7), (0.2, 0.6), (0.0, 0.1)):
        total = 20 * divergence(mean, values)[:, None] + 50 * divergence(rival_mean, values)[None, :]
        least = total[values[None, :] >= values[:, None] + epsilon].min()
        assert _cost(mean, 20, rival_mean, 50, epsilon) == pytest.approx(least, abs=0.02)


@pytest.mark.parametrize("name", TESTS)
def test_certificates_accept_what_the_search_tells_apart(name):
    assert TESTS.keys() == STOPPINGS.keys()
    assert BY_INTERVALS == BY_INTERVALS_AGAIN
    told = 0
    for mean, count, rival_mean, rival_count, epsilon in random_pairs(300):
        given = (mean, count, rival_mean, rival_count, epsilon, 0.01, 0.1)
        if STOPPINGS[name].function(*given):
            told += 1
            assert TESTS[name](*given)
    assert told > 50


def test_a_factor_of_the_mixture_is_at_most_one_on_average_for_any_samples_in_the_unit_interval():
    rng = np.random.default_rng(1)
    for _ in range(200):
        samples, weights = rng.random(5), rng.dirichlet(np.ones(5))
        value, q = weights @ samples, rng.random()
        factor = (q / value) ** samples * ((1 - q) / (1 - value)) ** (1 - samples)
        assert weights @ factor <= 1 + 1e-12


def test_the_mixture_of_krichevsky_and_trofimov_loses_at_most_a_factor_two_roots():
    for count in (1, 2, 3, 10, 100, 10_000):
        for hits in np.linspace(0, count, 201):
            mean, misses = hits / count, count - hits
            best = (hits * log(mean) if hits else 0) + (misses * log(1 - mean) if misses else 0)
            mixture = lgamma(hits + 0.5) + lgamma(misses + 0.5) - lgamma(count + 1) - log(pi)
            assert best - mixture <= log(2 * sqrt(count)) + 1e-9


def test_shares_add_up_to_delta():
    later = np.arange(1.0, 10_000)
    pairs_and_alone = later  # pairs with earlier leaves, and once more against exact values
    assert (pairs_and_alone / (later**2 * (later + 1))).sum() <= 1
    assert FOR_INTERVALS < 0.5


@pytest.mark.parametrize("stopping", [*STOPPINGS, cautious], ids=str)
@pytest.mark.parametrize("expansion", [None, 0.5])
def test_answers_are_wrong_no_more_often_than_delta_and_certificates_hold(stopping, expansion):
    wrong = runs = 0
    own = stopping if isinstance(stopping, Stopping) else None
    for seed in [seed for seed in range(24) if seed % 8 < 6]:  # one player
        problem = family(seed)
        for search, regret in ((best_arm, arm_regret), (best_leaf, leaf_regret)):
            result = search(problem, epsilon=0.1, delta=0.1, stopping=stopping, expansion=expansion, seed=seed)
            verdict = verify(result.certificate, stopping=own)
            assert verdict, verdict
            assert result.identified
            assert result.gap <= 0.1
            assert result.certificate.gap == pytest.approx(result.gap)
            assert result.settings["proof"] == ("rigorous" if own is None else "conditional")
            runs += 1
            if expansion is None:
                wrong += regret(problem, result) > 0.1
            elif search is best_leaf:  # the claim is about the leaves of the graph as grown
                best = max(problem.mean(leaf.state) for leaf in result.leaves if leaf.terminal)
                wrong += problem.mean(result.answer) < best - 0.1
    assert wrong <= binomial_margin(runs, 0.1)


def test_close_calls_are_wrong_no_more_often_than_delta():
    """Arms of means 0.5, 0.5 and 0.61 with epsilon 0.1: an answer other than the third is wrong."""
    runs, delta = 100, 0.2
    for stopping in STOPPINGS:
        search = [
            best_arm(arms(0.5, 0.5, 0.61), epsilon=0.1, delta=delta, stopping=stopping, seed=s) for s in range(runs)
        ]
        assert sum(one.answer != 3 for one in search) <= binomial_margin(runs, delta)


def permuted_lattice(seed):
    order = np.random.default_rng(seed).permutation(6)
    return ScoreLattice([PAPER_SCORES[place] for place in order], 3)


@pytest.mark.parametrize(
    ("problem", "epsilon"),
    [
        (lambda seed: arms(0.5, 0.45, 0.4, 0.35, 0.3), 0.1),
        (lambda seed: arms(0.8, 0.6, 0.5, 0.4, 0.2), 0.05),
        (permuted_lattice, 0.05),
    ],
    ids=["five arms", "five other arms", "lattice in random order"],
)
def test_pairs_need_fewer_samples_than_lucb(problem, epsilon):
    keywords = {"epsilon": epsilon, "delta": 0.1}
    lucb = sum(best_arm(problem(seed), rule="lucb", seed=seed, **keywords).samples for seed in range(15))
    pairs = sum(best_arm(problem(seed), stopping="pairwise", seed=seed, **keywords).samples for seed in range(15))
    assert lucb >= 1.3 * pairs


def test_a_search_that_a_budget_ends_says_what_is_proved_until_then():
    result = best_leaf(paper_lattice(), epsilon=0.01, delta=0.1, stopping="pairwise", seed=0, max_samples=3000)
    assert result.reason == "max_samples"
    assert 0.01 < result.gap < 0.3
    by_intervals = max(leaf.upper for leaf in result.leaves if leaf.state != result.answer) - result.lower
    assert result.gap < by_intervals
    assert verify(result.certificate)
    assert "Not settled" in result.certificate.claims[0]


def forged(result, **changes):
    content = deepcopy(result.certificate.content)
    for name, value in changes.items():
        content["search" if name in content["search"] else name] = (
            {**content["search"], name: value} if name in content["search"] else value
        )
    return Certificate(content)


def test_forged_pairs_are_refused():
    result = best_leaf(paper_lattice(), epsilon=0.05, delta=0.1, stopping="pairwise", seed=0)
    assert verify(result.certificate)
    leaves = deepcopy(result.certificate.content["leaves"])
    rival = max(
        (leaf for leaf in leaves if leaf["node"] != result.certificate.content["answer"]), key=lambda one: one["mean"]
    )
    rival["count"] = 10  # its samples no longer tell it apart; its own interval does not either
    rival["lower_evidence"] = rival["upper_evidence"] = None
    rival["lower"], rival["upper"] = 0.0, 1.0
    for words, certificate in (
        ("'gap' of the answer follows from the leaves", forged(result, leaves=leaves)),
        ("'gap' of the answer follows from the leaves", forged(result, gap=0.01)),
        ("is not", forged(result, epsilon=0.02)),
        ("must have the share of delta", forged(result, stopping="sound")),
        ("is not rigorous", forged(result, stopping="mine")),
        ("must have the share of delta", forged(result, delta=0.2)),
    ):
        verdict = verify(certificate)
        assert not verdict
        assert words in str(verdict)


def test_a_test_of_ones_own_is_a_condition_and_verify_applies_it_again():
    result = best_leaf(paper_lattice(), epsilon=0.1, delta=0.1, stopping=cautious, seed=0)
    assert result.settings["stopping"] == "cautious"
    assert "provided that stopping cautious holds" in result.certificate.claims[0]
    assert "is taken as written" in str(verify(result.certificate))
    assert "follows from the samples of pairs" in str(verify(result.certificate, stopping=cautious))
    assert "the stopping test given is stricter" in str(verify(result.certificate, stopping=Stopping(stricter)))
    renamed = Stopping(stricter)
    renamed.name = "cautious"
    assert not verify(result.certificate, stopping=renamed)


def stricter(mean, count, rival_mean, rival_count, epsilon, share, best_share):
    return False


def test_a_test_of_ones_own_does_not_get_the_name_of_ours():
    def sound(mean, count, rival_mean, rival_count, epsilon, share, best_share):
        return mean > rival_mean

    result = best_arm(arms(0.9, 0.1), epsilon=0.1, delta=0.1, stopping=Stopping(sound), seed=0)
    assert result.settings["stopping"] == "own_sound"
    assert result.settings["proof"] == "conditional"


class Coin(TableProblem):
    """One of the two moves leads to a coin."""

    def __init__(self):
        super().__init__({0: ["coin", "c"], "coin": ["a", "b"]}, {"a": 0.9, "b": 0.1, "c": 0.4})

    def chance(self, state):
        return (0.5, 0.5) if state == "coin" else None


def test_chance_and_cycles_need_intervals():
    keywords = {"epsilon": 0.1, "delta": 0.1, "seed": 0}
    with pytest.raises(ValueError, match="stopping pairwise compares leaves of one player, got a problem with chance"):
        best_arm(Coin(), stopping="pairwise", **keywords)
    assert best_arm(Coin(), rule="eb_tc", **keywords).answer == "coin"
    circle = TableProblem({0: [1, "a"], 1: [0, "b"]}, {"a": 0.9, "b": 0.1})
    with pytest.raises(ValueError, match="stopping 'kl' needs a graph without cycles; use stopping='sound'"):
        best_leaf(circle, stopping="kl", **keywords)
    for rule in ("eb_tc", "lucb_plus_plus", "track_and_stop"):
        assert best_leaf(circle, rule=rule, **keywords).answer == "a"


def test_what_cannot_be_used_is_one_sentence():
    @Stopping
    def failing(mean, count, rival_mean, rival_count, epsilon, share, best_share):
        if count > 3:
            raise ValueError("no")
        return False

    keywords = {"epsilon": 0.1, "delta": 0.1, "seed": 0}
    with pytest.raises(
        ValueError, match="stopping must be one of sound, paper, pairwise, kl, lucb_plus_plus or a best"
    ):
        best_arm(arms(0.9, 0.1), stopping="late", **keywords)
    with pytest.raises(ValueError, match=r"stopping failing raised an error \("):
        best_arm(arms(0.5, 0.5), stopping=failing, **keywords)
    with pytest.raises(ValueError, match="stopping kl compares leaves of one player, got a problem with an opponent"):
        best_arm(random_dag(np.random.default_rng(0), two_player=True), stopping="kl", **keywords)
    with pytest.raises(ValueError, match="rule eb_tc names leaves, but stopping 'paper' compares children"):
        best_arm(arms(0.9, 0.1), rule="EB-TC", stopping="paper", **keywords)
    with pytest.raises(TypeError, match="Stopping must be made from a function, got 3"):
        Stopping(3)
    assert named_stopping("LUCB++") is STOPPINGS["lucb_plus_plus"]
