"""Chance nodes: means of intervals, plans, what is claimed of them, and dynamic programming beside them."""

from __future__ import annotations

import numpy as np
import pytest

from bestleaf import Search, best_arm, best_leaf, uct_search, verify
from bestleaf.problems import TableProblem, random_dag
from bestleaf.proof import check
from conftest import binomial_margin, content_of, refused
from toys import Dice, Pig, SlipperyGrid

EPSILON, DELTA = 0.1, 0.1
TASKS = {"arm": best_arm, "leaf": best_leaf}
COIN = TableProblem(
    {0: ["toss", "keep"], "toss": [1, 2], "keep": [3]}, {1: 0.9, 2: 0.3, 3: 0.5}, chance={"toss": [0.5, 0.5]}
)


def family(seed: int) -> TableProblem:
    """Return the seed-th random graph with chance; one and two players, ties and exact leaves take turns."""
    rng = np.random.default_rng(seed)
    more = ({}, {"grid": 0.25}, {"exact_share": 0.5}, {"layers": 5, "width": 3})[seed // 2 % 4]
    settings = {"layers": 4, "width": 4, "chance_share": 0.5, **more}
    while True:
        problem = random_dag(rng, two_player=seed % 2 == 1, **settings)
        if hasattr(problem, "chance"):
            return problem


def values_in(result, problem, plan=None):
    """Return the true values of all nodes of the graph as grown; with a plan, if the player follows it."""
    graph, states, values = result.search.graph, result.states, {}
    children, chances = list(graph.children), {one.node: one.probabilities for one in graph.chance}
    for state, child in (plan or {}).items():
        children[states.index(state)] = [states.index(child)]

    def value(node):
        if node not in values:
            below = [value(child) for child in children[node]]
            if not below:
                values[node] = problem.mean(states[node])
            elif node in chances:
                values[node] = sum(p * one for p, one in zip(chances[node], below, strict=True))
            else:
                values[node] = min(below) if node in graph.minimizes else max(below)
        return values[node]

    return {state: value(node) for node, state in enumerate(states)}


def regret(result, problem) -> float:
    """Return how much better than the answer another arm or plan is, in the graph as grown."""
    values, root = values_in(result, problem), problem.root()
    if result.plan is not None:
        return values[root] - values_in(result, problem, result.plan)[root]
    return abs(values[root] - values[result.answer])


@pytest.mark.slow
@pytest.mark.parametrize("expansion", [None, 0.5])
@pytest.mark.parametrize("task", TASKS)
def test_answers_are_wrong_no_more_often_than_delta(task, expansion):
    """Where the intervals of all leaves hold, the answer must be right; so few of the runs are wrong."""
    wrong, runs = 0, 80
    for seed in range(runs):
        problem = family(seed)
        result = TASKS[task](problem, epsilon=EPSILON, delta=DELTA, expansion=expansion, seed=seed)
        assert result.settled
        assert result.gap <= EPSILON
        hold = all(leaf.lower <= problem.mean(leaf.state) <= leaf.upper for leaf in result.leaves)
        off = regret(result, problem)
        assert not hold or off <= max(0.0, result.gap) + 1e-9
        if hold and task == "leaf":
            value = values_in(result, problem, result.plan)[problem.root()]
            assert result.lower - 1e-9 <= value <= result.upper + 1e-9
        wrong += off > EPSILON
        assert verify(result.certificate)
    assert wrong <= binomial_margin(runs, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["lucb", "ugape", "lucb_mcts"])
def test_searches_end_under_every_rule(rule):
    for seed in range(10):
        for find in TASKS.values():
            result = find(family(seed), epsilon=0.2, delta=DELTA, rule=rule, seed=seed, max_samples=200_000)
            assert result.settled
            assert regret(result, family(seed)) <= 0.2


# Dynamic programming.


def plan_value(problem, plan):
    """Return what a plan is worth, by dynamic programming along it."""
    known = {}

    def value(state):
        if state not in known:
            if problem.is_terminal(state):
                known[state] = problem.payoff(state)
            elif (chances := problem.chance(state)) is None:
                known[state] = value(plan[state])
            else:
                known[state] = sum(p * value(child) for p, child in zip(chances, problem.children(state), strict=True))
        return known[state]

    return value(problem.root())


GAMES = {"grid": (SlipperyGrid, {"size": 3, "horizon": 6}), "dice": (Pig, {"turns": 2, "target": 12})}


@pytest.mark.parametrize("name", GAMES)
def test_exact_payoffs_give_the_plan_of_dynamic_programming(name):
    game, settings = GAMES[name]
    problem = game(**settings, exact=True)
    result = best_leaf(problem, epsilon=0, delta=0.1, seed=0)
    right = problem.value(problem.root())
    assert result.settled
    assert result.samples == 0
    assert result.lower == pytest.approx(right, abs=1e-12)
    assert result.upper == pytest.approx(right, abs=1e-12)
    assert plan_value(problem, result.plan) == pytest.approx(right, abs=1e-12)
    assert "no plan of the whole graph" in result.summary()
    arm = best_arm(problem, epsilon=0, delta=0.1, seed=0)
    assert problem.value(arm.answer) == pytest.approx(right, abs=1e-12)
    assert verify(result.certificate)


@pytest.mark.slow
@pytest.mark.parametrize("expansion", [None, 0.7])
@pytest.mark.parametrize("name", GAMES)
def test_sampled_payoffs_give_a_plan_within_epsilon(name, expansion):
    game, settings = GAMES[name]
    problem = game(**settings)
    result = best_leaf(problem, epsilon=0.1, delta=0.05, expansion=expansion, seed=1)
    assert result.settled
    assert problem.value(problem.root()) - plan_value(problem, result.plan) <= 0.1
    assert sum(result.outcomes.values()) == pytest.approx(1.0)
    ends = {leaf: problem.payoff(leaf) for leaf in result.outcomes}
    assert sum(p * ends[leaf] for leaf, p in result.outcomes.items()) == pytest.approx(plan_value(problem, result.plan))
    assert verify(result.certificate)


def test_chance_may_move_first_where_a_plan_is_searched():
    problem = TableProblem(
        {0: ["left", "right"], "left": [1, 2], "right": [3, 4]},
        {1: 0.2, 2: 0.9, 3: 0.6, 4: 0.1},
        chance={0: [0.3, 0.7]},
    )
    result = best_leaf(problem, epsilon=0.1, delta=0.1, seed=0)
    assert result.plan == {"left": 2, "right": 3}
    assert result.answer == 0
    assert result.outcomes == {2: pytest.approx(0.3), 3: pytest.approx(0.7)}
    assert result.summary().startswith("Best plan: 2 moves, mean value between")
    assert verify(result.certificate)
    with pytest.raises(ValueError, match="best_arm needs a root where somebody moves, but chance decides at 0"):
        best_arm(problem, epsilon=0.1, delta=0.1)


# What may be given.


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ([0.5], r"chance\('roll'\) must return a probability for each of 2 children, got 1"),
        ([1.5, -0.5], r"chance\('roll'\) must return probabilities of at least 0, got -0.5"),
        ([0.5, float("nan")], "must return probabilities of at least 0, got nan"),
        (["a", 0.5], "must return probabilities of at least 0, got 'a'"),
        ([0.5, 0.4], r"must return probabilities that sum to 1, got the sum 0.9"),
        (0.5, r"chance\('roll'\) must return None or a list of probabilities, got 0.5"),
    ],
)
def test_wrong_probabilities_are_refused(chances, words):
    for expansion in (None, 0.5):
        with pytest.raises((TypeError, ValueError), match=words):
            best_leaf(Dice(chances), epsilon=0.1, delta=0.1, expansion=expansion)


def test_settings_that_do_not_go_with_chance_are_refused():
    for settings, words in (
        ({"stopping": "paper"}, "stopping must be 'sound' where best_leaf returns a plan, got 'paper'"),
        ({"epsilon": 0}, "epsilon must be positive in a graph with chance"),
        ({"guarantee": "local"}, "compares exact values"),
    ):
        with pytest.raises(ValueError, match=words):
            best_leaf(COIN, **{"epsilon": 0.1, "delta": 0.1, **settings})
    with pytest.raises(ValueError, match="one player's leaves, got a problem with chance"):
        best_leaf(Pig(exact=True), epsilon=0.1, delta=0.1, guarantee="local", expansion=0.5)
    with pytest.raises(ValueError, match="answer must be the default one where best_leaf returns a plan"):
        Search(COIN, task="leaf", epsilon=0.1, delta=0.1, answer=lambda state, decision: (1, 0.0))
    with pytest.raises(ValueError, match="problem must have no chance nodes, because UCT would choose there"):
        uct_search(COIN, max_samples=100)
    with pytest.raises(ValueError, match="outcomes are those of a plan of one player"):
        _ = best_arm(COIN, epsilon=0.1, delta=0.1, seed=0).outcomes


def test_a_problem_whose_chance_never_decides_is_searched_as_without_it():
    plain = random_dag(4)
    never = random_dag(4)
    never.chance = lambda state: None
    one, other = (best_leaf(problem, epsilon=0.1, delta=0.1, seed=0) for problem in (plain, never))
    assert (one.answer, one.samples, other.plan) == (other.answer, other.samples, None)


# Certificates.


@pytest.fixture(scope="module")
def written():
    """Return the certificates of a plan and of an arm, each of a graph with two chance nodes."""
    problem = TableProblem(
        {0: ["a", "b"], "a": [1, 2], "b": [3, "c"], "c": [1, 4]},
        {1: 0.9, 2: 0.2, 3: 0.7, 4: 0.1},
        chance={"a": [0.4, 0.6], "b": [0.5, 0.5]},
    )
    return {name: find(problem, epsilon=0.1, delta=0.1, seed=0).certificate for name, find in TASKS.items()}


def forged(certificate, change):
    content = content_of(certificate)
    change(content["search"])
    return refused(content)


PROBABILITIES = [
    (lambda graph: graph["chance"][0].update(probabilities=[0.5, 0.6]), "that sum to 1"),
    (lambda graph: graph["chance"][0]["probabilities"].pop(), "probabilities of its children"),
    (lambda graph: graph["chance"][0].update(node=99), "chance node 99"),
    (lambda graph: graph.update(two_player=True, minimizes=[graph["chance"][0]["node"]]), "must have no player"),
]


@pytest.mark.parametrize("task", TASKS)
def test_forged_probabilities_are_refused(written, task):
    assert forged(written[task], lambda search: None) == ""
    for change, words in PROBABILITIES:
        assert words in forged(written[task], lambda search, change=change: change(search["graph"]))
    assert "probabilities of the chance nodes" in check.check(content_of(written[task])).taken_as_written


def other_first_move(search):
    node, child = search["plan"][0]
    search["plan"][0][1] = next(one for one in search["graph"]["children"][node] if one != child)


@pytest.mark.parametrize(
    "change",
    [
        lambda search: search["plan"].append([5, 5]),
        lambda search: search["plan"].pop(),
        other_first_move,
        lambda search: search.pop("plan"),
        lambda search: search["plan"][0].append(1),
        lambda search: search.update(answer=0),
        lambda search: search.update(gap=search["gap"] / 2),
    ],
)
def test_forged_plans_are_refused(written, change):
    assert forged(written["leaf"], change)


def test_an_arm_has_no_plan(written):
    plan = content_of(written["leaf"])["search"]["plan"]
    assert "if and only if" in forged(written["arm"], lambda search: search.update(plan=plan))


def test_words_of_plans_and_arms(written):
    plan, arm = written["leaf"], written["arm"]
    assert str(plan).startswith("Best plan: 2 moves, the first to b, mean value between")
    sure, better = "With probability at least 1 - 0.1", "is better on average by more than 0.1."
    assert plan.claims == (f"{sure} no plan of the whole graph (4 leaves) {better}",)
    assert "no arm of the whole graph (4 leaves) is better on average by more than 0.1." in arm.claims[0]
    cut = best_leaf(family(0), epsilon=0.01, delta=0.1, seed=0, max_samples=50)
    assert "Not settled. Another plan of the whole graph" in cut.summary()
    game = best_leaf(family(1), epsilon=0.2, delta=0.1, seed=0)
    assert "is better on average, whatever the opponent does, by more than 0.2" in game.summary()


@pytest.mark.parametrize("stopping", ["sound", "paper"])
def test_means_of_rates_that_reach_beyond_the_ends_follow_from_what_is_cut(stopping):
    for seed in range(12):
        settings = {"epsilon": 0.1, "delta": 0.1, "seed": seed, "max_samples": 300, "bound": "beta2"}
        tasks = TASKS.values() if stopping == "sound" else [best_arm]
        for find in tasks:
            if family(seed).chance(family(seed).root()) is None or find is best_leaf:
                assert verify(find(family(seed), stopping=stopping, **settings).certificate)


# Budgets, batches, samples drawn by the caller, interruptions.


@pytest.mark.slow
@pytest.mark.parametrize("expansion", [None, 0.5])
def test_a_plan_may_be_asked_for_at_any_time(expansion):
    for seed in range(12):
        problem = family(seed)
        for budget in (1, 30, 300):
            result = best_leaf(problem, epsilon=0.01, delta=0.1, seed=seed, max_samples=budget, expansion=expansion)
            assert verify(result.certificate), verify(result.certificate)
            assert regret(result, problem) <= result.gap + 1e-9
            assert result.answer == result.plan.get(problem.root(), problem.root())
            arm = best_arm(problem, epsilon=0.01, delta=0.1, seed=seed, max_samples=budget, expansion=expansion)
            assert verify(arm.certificate)


def test_ask_and_tell_and_batches_find_plans():
    problem, rng = Dice([0.5, 0.5]), np.random.default_rng(0)
    search = Search(problem, task="leaf", epsilon=0.2, delta=0.1, seed=0)
    while (state := search.ask()) is not None:
        search.tell(problem.sample(state, rng))
    assert search.result().settled
    for expansion in (None, 0.5):
        for find in TASKS.values():
            result = find(family(3), epsilon=0.2, delta=0.1, seed=0, batch_size=8, expansion=expansion)
            assert result.settled
            assert regret(result, family(3)) <= 0.2


class Interrupted(Dice):
    """Ctrl-C is pressed while the second child of the roll enters the graph."""

    pressed = False
    entered: str | None = None

    def is_terminal(self, state):
        if state in ("one", "two") and self.entered not in (None, state) and not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt
        self.entered = state if state in ("one", "two") else self.entered
        return super().is_terminal(state)


def test_children_that_did_not_enter_may_be_worth_anything():
    problem = Interrupted([0.5, 0.5])
    settings = {"epsilon": 0.05, "delta": 0.1, "expansion": 0.9, "seed": 0}
    result = best_leaf(problem, **settings)
    assert result.reason == "interrupted"
    assert [one.probabilities for one in result.search.graph.chance] == [(0.5,)]
    assert result.upper - result.lower >= 0.5
    assert verify(result.certificate)
    result = best_leaf(problem, **settings)
    assert result.settled
    assert [one.probabilities for one in result.search.graph.chance] == [(0.5, 0.5)]
    assert result.plan == {"root": "roll"}
