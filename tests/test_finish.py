"""A growing graph is settled only where what the answer rests on is finished."""

from __future__ import annotations

import numpy as np
import pytest

from bestleaf import Search, best_arm, best_leaf, verify
from bestleaf.problems import TableProblem, random_dag
from toys import Nim, worth

SETTINGS = {"epsilon": 0.1, "delta": 0.1, "expansion": 0.5}


@pytest.mark.parametrize("ordered", [False, True])
def test_settled_moves_of_nim_are_right(ordered):
    """Without the rule 8 to 14 of 20 answers are wrong moves: random play says little about Nim."""
    game = Nim(ordered=ordered)
    for seed in range(10):
        result = best_arm(game, seed=seed, **SETTINGS)
        assert result.reason == "settled"
        assert game.value(result.answer) == game.value(game.root())
        assert verify(result.certificate)


def test_a_large_game_ends_by_its_budget_and_is_not_settled():
    search = Search(Nim((7, 8, 9)), task="arm", seed=0, max_samples=5_000, **SETTINGS)
    assert search.run().reason == "max_samples"
    assert search.state.unfinished == sum(not leaf.terminal for leaf in search.result().leaves) > 0


@pytest.mark.parametrize("chance_share", [0.0, 0.4])
def test_random_games_are_settled_for_the_whole_game(chance_share):
    wrong = 0
    for seed in range(60):
        game = random_dag(seed, layers=5, width=4, two_player=True, chance_share=chance_share)
        result = best_arm(game, seed=seed, **SETTINGS)
        assert result.reason == "settled"
        wrong += worth(game, game.root()) - worth(game, result.answer) > SETTINGS["epsilon"]
    assert wrong <= 6


def hidden_gem(**more):
    """One player: below `a` one of eight leaves is the best of all, but random play finds it in one of eight games."""
    gems = {f"a{number}": 0.95 if number == 5 else 0.02 for number in range(8)}
    return TableProblem({0: ["a", "b"], "a": list(gems)}, {"a": 0.14, "b": 0.5, **gems}, **more)


@pytest.mark.parametrize(("find", "answer"), [(best_arm, "a"), (best_leaf, "a5")])
def test_with_one_player_the_rival_is_finished_first(find, answer):
    for seed in range(5):
        result = find(hidden_gem(), seed=seed, **{**SETTINGS, "expansion": 0.05})
        assert (result.answer, result.reason) == (answer, "settled")


def test_a_move_beside_a_plan_is_finished_first():
    gems = {f"a{number}": 0.95 if number == 5 else 0.02 for number in range(8)}
    table = {0: ["a", "c"], "a": list(gems), "c": ["d", "e"]}
    problem = TableProblem(table, {"a": 0.14, "c": 0.5, "d": 0.4, "e": 0.6, **gems}, chance={"c": [0.5, 0.5]})
    for seed in range(5):
        result = best_leaf(problem, seed=seed, **{**SETTINGS, "expansion": 0.05})
        assert (result.plan, result.reason) == ({0: "a", "a": "a5"}, "settled")


def test_a_problem_may_settle_unfinished_states_as_the_paper_does():
    problem = hidden_gem()
    problem.settles_unfinished = True
    result = best_arm(problem, seed=0, **{**SETTINGS, "expansion": 0.05})
    assert (result.answer, result.reason) == ("b", "settled")


def test_the_published_test_and_a_graph_that_never_grows_settle_unfinished_states():
    assert best_arm(hidden_gem(), seed=0, stopping="paper", **{**SETTINGS, "expansion": 0.05}).answer == "b"
    assert best_arm(hidden_gem(), seed=0, **{**SETTINGS, "expansion": 0}).answer == "b"


def test_a_search_that_is_asked_finishes_too():
    game, rng = Nim((2, 3), ordered=True), np.random.default_rng(0)
    search = Search(game, task="arm", seed=0, **SETTINGS)
    while (leaf := search.ask()) is not None:
        search.tell(game.sample(leaf, rng))
    assert search.result().reason == "settled"
    assert game.value(search.result().answer) == game.WON
