"""After a move a search goes on with what it knows below the new root."""

from __future__ import annotations

import numpy as np
import pytest

from bestleaf import Search, best_arm, problems, verify
from bestleaf.engine.intervals import places
from conftest import binomial_margin
from toys import Nim, navigation_grid, worth

SETTINGS = {"task": "arm", "epsilon": 0.15, "delta": 0.1}


def played(problem, seed, *, keep, **settings):
    """Play the best moves to the end; return the moves that were too poor, and the samples."""
    search, state, poor, samples = Search(problem, seed=seed, **settings), problem.root(), 0, 0
    while True:
        result = search.run()
        assert result.reason == "settled"
        assert verify(result.certificate), verify(result.certificate).reason
        samples += result.samples
        best = worth(problem, state)
        poor += abs(worth(problem, result.answer) - best) > settings["epsilon"]
        state = result.answer
        if problem.is_terminal(state):
            return poor, samples
        begun = problems.TableProblem(
            problem.children_of,
            problem.means,
            root=state,
            opponent=[one for one in problem.children_of if not problem.maximizes(one)],
        )
        search = search.move(state) if keep else Search(begun, seed=seed, **settings)


@pytest.mark.parametrize("expansion", [None, 0.5])
@pytest.mark.parametrize("bound", ["betting", "hoeffding"])
def test_games_are_played_to_their_end_with_fewer_samples_and_few_poor_moves(expansion, bound):
    poor, kept, anew, runs = 0, 0, 0, 12
    for seed in range(runs):
        game = problems.random_dag(seed, layers=5, width=5, two_player=True)
        found = played(game, seed, keep=True, expansion=expansion, bound=bound, **SETTINGS)
        poor += found[0] > 0  # one delta for the whole game
        kept += found[1]
        anew += played(game, seed, keep=False, expansion=expansion, bound=bound, **SETTINGS)[1]
    assert poor <= binomial_margin(runs, SETTINGS["delta"])
    assert kept < 0.8 * anew


@pytest.mark.parametrize("expansion", [None, 0.5])
def test_what_is_known_below_the_new_root_is_kept(expansion):
    game = problems.random_dag(3, layers=5, width=5, two_player=True)
    search = Search(game, seed=0, expansion=expansion, **SETTINGS)
    result = search.run()
    before = {leaf.state: leaf for leaf in result.leaves}
    after = search.move(result.answer)
    now = {leaf.state: leaf for leaf in after.result().leaves}
    assert after.result().samples == 0
    assert sum(leaf.count for leaf in now.values()) > 0
    for state in now.keys() & before.keys():
        told = before[state].count, before[state].lower, before[state].upper
        assert (now[state].count, now[state].lower, now[state].upper) in (told, (0, 0.0, 1.0))
        assert now[state].share >= before[state].share or now[state].count == 0
    shares = after.state.known.track["share"][: len(after.state.graph)]
    kinds = after.state.graph.kinds
    assert shares[kinds > 0].sum() <= SETTINGS["delta"] + 1e-9


def test_the_shares_of_a_whole_game_sum_to_at_most_delta():
    game, taken = problems.random_dag(5, layers=6, width=6, two_player=True), {}
    search = Search(game, seed=1, expansion=0.5, **SETTINGS)
    while True:
        result = search.run()
        graph, known = search.state.graph, search.state.known
        for node in np.flatnonzero(graph.kinds > 0).tolist():
            share = float(known.track["share"][node])
            taken.setdefault(graph.states[node], set()).add(share)
        if game.is_terminal(result.answer):
            break
        search = search.move(result.answer)
    every = [share for shares in taken.values() for share in shares]
    assert sum(every) <= SETTINGS["delta"] + 1e-9


def test_exact_values_are_not_computed_again():
    nim = Nim((2, 3))

    class Counted(Nim):
        def exact(self, state):
            asked.append(state)
            return 1.0 if self.value(state) else 0.0

    asked, game = [], Counted((2, 3))
    search = Search(game, seed=0, **SETTINGS)
    first = search.run()
    known = len(asked)
    assert first.exact_evaluations == known > 0
    after = search.move(first.answer)
    result = after.run()
    assert len(set(asked)) == len(asked)
    assert result.exact_evaluations == len(asked) - known
    assert verify(result.certificate)
    assert nim.value(result.answer) == nim.value(first.answer)


def test_one_player_batches_chance_and_cycles_go_on_too():
    lattice = problems.paper_lattice()
    search = Search(lattice, task="leaf", epsilon=0.1, delta=0.1, seed=0, expansion=0.5, batch_size=8)
    search.run()
    result = search.move((4,)).run()
    assert {4, 5} <= set(result.answer)
    assert verify(result.certificate)
    dice = problems.random_dag(4, layers=5, width=4, chance_share=0.4)
    search = Search(dice, task="leaf", epsilon=0.2, delta=0.1, seed=0)
    plan = search.run().plan
    state = plan[dice.root()]
    result = search.move(state).run()
    assert verify(result.certificate)
    grid = navigation_grid(["S..A", "B..C"], {"A": 0.9, "B": 0.2, "C": 0.5})
    search = Search(grid, epsilon=0.1, delta=0.1, seed=0)
    first = search.run().answer
    assert verify(search.move(first).run().certificate)


def test_a_state_that_was_never_met_begins_anew_and_an_end_is_refused():
    search = Search(Nim((3, 4, 5)), seed=0, expansion=0.3, **SETTINGS, max_samples=50)
    search.run()
    far = search.state.problem.root()
    game = search.state.problem
    for _ in range(4):
        far = next(iter(game.children(far)))
    assert search.move(far).run().samples <= 50
    whole = Search(problems.random_dag(1), seed=0, epsilon=0.1, delta=0.1)
    with pytest.raises(ValueError, match="state must be one below the root, got 'nowhere'"):
        whole.move("nowhere")
    with pytest.raises(ValueError, match="is terminal, so there is nothing to choose"):
        whole.move(next(leaf.state for leaf in whole.result().leaves))


def test_places_keep_their_order_and_unfinished_leaves_come_before_later_ones():
    found = places(np.array([True, False, True, False]), np.array([7, 3, 5, 2]))
    assert sorted(found) == [1, 2, 3, 4]
    assert found[0] < found[2]
    assert max(found[0], found[2]) < found[3]


def test_a_moved_search_finds_what_a_new_one_finds():
    game = problems.random_dag(4, layers=4, width=4, two_player=True, exact_share=1.0)
    search = Search(game, seed=0, epsilon=0.05, delta=0.1, task="arm")
    answer = search.run().answer
    below = problems.TableProblem(
        game.children_of,
        game.means,
        root=answer,
        opponent=[one for one in game.children_of if not game.maximizes(one)],
        exact_states=[one for one in game.means if one not in game.children_of],
    )
    moved, anew = search.move(answer).run(), best_arm(below, epsilon=0.05, delta=0.1, seed=0)
    assert abs(worth(game, moved.answer) - worth(game, anew.answer)) <= 0.05  # nothing is left to chance
    assert moved.exact_evaluations < anew.exact_evaluations


def test_a_move_to_what_is_no_state_is_refused():
    search = Search(problems.paper_lattice(), seed=0, epsilon=0.3, delta=0.1)
    for state in ("zz", None, [1], {}):
        with pytest.raises(ValueError, match="state must be one below the root, got"):
            search.move(state)
