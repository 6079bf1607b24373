"""Games of OpenSpiel as problems: with a stand-in for the library, and with the library where it is installed."""

from __future__ import annotations

import pickle
import sys
from importlib.util import find_spec

import pytest

import small_spiel
from bestleaf import best_arm, best_leaf, verify
from bestleaf.problems import openspiel
from bestleaf.problems.openspiel import MEMORYLESS, OpenSpielGame
from bestleaf.testing import check_problem

installed = pytest.mark.skipif(
    find_spec("pyspiel") is None, reason="needs OpenSpiel (pip install 'bestleaf[openspiel]')"
)


@pytest.fixture
def small(monkeypatch):
    """The stand-in instead of the library."""
    monkeypatch.setitem(sys.modules, "pyspiel", small_spiel)


def value_of(problem, state=None):
    """Return the value of a state by going through the whole game."""
    state = problem.root() if state is None else state
    if problem.is_terminal(state):
        return problem.exact(state)
    values = [value_of(problem, child) for child in problem.children(state)]
    chances = problem.chance(state) if hasattr(problem, "chance") else None
    if chances is not None:
        return sum(chance * value for chance, value in zip(chances, values, strict=True))
    best = min if hasattr(problem, "maximizes") and not problem.maximizes(state) else max
    return best(values)


def states_of(problem):
    found, waiting = set(), [problem.root()]
    while waiting:
        state = waiting.pop()
        if state not in found:
            found.add(state)
            waiting += [] if problem.is_terminal(state) else problem.children(state)
    return found


def test_a_missing_library_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(ImportError, match=r"^OpenSpielGame needs pyspiel \(pip install 'bestleaf\[openspiel\]'\)$"):
        OpenSpielGame("tic_tac_toe")


@pytest.mark.parametrize("key", ["board", "history", lambda position: (position.move_number() % 2, str(position))])
def test_a_small_game_is_solved_whatever_the_key(small, key):
    game = OpenSpielGame("heap", key=key)
    check_problem(game, walks=20, samples=50)
    result = best_arm(game, epsilon=0.1, delta=0.1, seed=0)
    assert game.moves(result.answer) == ["player 0 takes 2"]  # leaves a multiple of three
    assert (result.lower, result.upper) == (1.0, 1.0)
    assert game.utility(result.lower) == 1.0
    assert verify(result.certificate)
    assert game.actions(result.answer) == [2]
    assert str(game.position(result.answer)) == "ooo"


def test_positions_are_shared_by_board_and_not_by_history(small):
    shared, tree = OpenSpielGame("heap", key="board"), OpenSpielGame("heap", key="history")
    assert len(states_of(shared)) < len(states_of(tree)) == 20
    assert value_of(shared) == value_of(tree) == 1.0
    assert OpenSpielGame("heap").fingerprint()["key"] == "history"  # this game is not known to forget its past


def test_the_return_is_that_of_the_player_who_moves_first(small):
    later = small_spiel.load_game("heap").new_initial_state().child(1)
    assert OpenSpielGame(later).player == 1
    assert value_of(OpenSpielGame(later)) == 1.0
    assert OpenSpielGame(later, key="history").root() == (1,)


def test_one_player_and_players_who_share_have_no_opponent(small):
    assert not hasattr(OpenSpielGame("alone"), "maximizes")
    assert not hasattr(OpenSpielGame("together"), "maximizes")
    assert hasattr(OpenSpielGame("heap"), "maximizes")


@pytest.mark.parametrize("key", [str, lambda position: position.move_number()])
def test_a_key_that_mixes_positions_is_refused(small, key):
    game = OpenSpielGame("heap", key=key)
    with pytest.raises(ValueError, match=r"^key must tell apart positions .*; use key='history'$"):
        best_arm(game, epsilon=0, delta=0.1, seed=0)


def test_positions_that_are_not_kept_are_played_again(small, monkeypatch):
    monkeypatch.setattr(openspiel, "MOST_POSITIONS", 2)
    game = OpenSpielGame("heap", key="board")
    assert value_of(game) == 1.0
    assert all(game.position(state).move_number() == state[0] for state in states_of(game))
    with pytest.raises(ValueError, match="must be a state that children"):
        game.is_terminal((9, 9, "o"))


def test_a_game_goes_to_another_process(small):
    game = OpenSpielGame("heap", key="board")
    states = states_of(game)
    other = pickle.loads(pickle.dumps(game))
    assert not other._positions
    assert [other.is_terminal(state) for state in states] == [game.is_terminal(state) for state in states]
    assert value_of(other) == value_of(game)


def test_an_evaluator_says_which_moves_enter_first(small):
    game = OpenSpielGame("heap", prior=lambda position: [(2, 0.9), (1, 0.1)])
    assert game.prior(game.root()) == [0.1, 0.9]
    assert (2, 2) in game.children(game.children(game.root())[1])
    assert game.prior((2, 2)) == [0.1]  # one stone is left, so only one can be taken
    result = best_arm(game, epsilon=0.1, delta=0.1, expansion=0.5, seed=0)
    assert result.search.proposal == "prior"
    assert not hasattr(OpenSpielGame("heap"), "prior")


REFUSED = {
    "at_once": "players who move one after the other, got at_once with simultaneous moves",
    "hidden": "perfect information, got hidden with players who do not see everything",
    "three": "one or two players, got three with 3",
    "general": "a sum of zero, or the same for both, got general with neither",
    "drawn": "known probabilities of chance, got drawn with chance that is only drawn",
    "endless": "returns between two finite numbers, got endless",
    "unheard_of": "the name of a game that OpenSpiel can load, got 'unheard_of'",
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_games_are_refused_in_one_sentence(small, name):
    with pytest.raises(ValueError, match=REFUSED[name]) as refused:
        OpenSpielGame(name)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"key": "text"}, "key must be one of board, history, a function or None, got 'text'"),
        ({"prior": 3}, "prior must be a function or None, got 3"),
    ],
)
def test_bad_arguments(small, given, words):
    with pytest.raises((TypeError, ValueError), match=words):
        OpenSpielGame("heap", **given)
    with pytest.raises(TypeError, match="game must be the name of a game of OpenSpiel, a game or a position, got 3"):
        OpenSpielGame(3)


def test_chance_is_averaged(small):
    game = OpenSpielGame("coin", key="board")
    assert game.chance(game.root()) == [0.25, 0.75]
    assert game.chance(game.children(game.root())[0]) is None
    assert value_of(game) == 0.25  # five stones are won, six are lost
    assert best_leaf(game, epsilon=0, delta=0.1, seed=0).lower == 0.25


@installed
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "name", ["tic_tac_toe", "nim(pile_sizes=2;3)", "hex(board_size=2)", "clobber(rows=2,columns=3)", "y(board_size=3)"]
)
def test_the_text_of_a_position_says_all_in_small_games(name):
    """Positions with one key: the same moves, the same ends, and the same keys after every move."""
    game, after = OpenSpielGame(name, key="board"), {}
    assert name.split("(")[0] in MEMORYLESS
    waiting, met = [game.position(game.root())], 0
    while waiting and met < 20_000:
        position, met = waiting.pop(), met + 1
        found = (
            position.returns()
            if position.is_terminal()
            else {action: openspiel.board(position.child(action)) for action in position.legal_actions()}
        )
        if (key := openspiel.board(position)) not in after:
            after[key] = found
            waiting += [] if position.is_terminal() else [position.child(one) for one in position.legal_actions()]
        assert after[key] == found


@installed
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tic_tac_toe_is_a_draw_and_a_search_finds_a_forced_win():
    import pyspiel

    game = OpenSpielGame("tic_tac_toe")
    result = best_arm(game, epsilon=0, delta=0.1, seed=0)
    assert result.lower == 0.5
    position = pyspiel.load_game("tic_tac_toe").new_initial_state()
    for action in (0, 1, 3, 4):  # two in a row for both, the first player moves
        position.apply_action(action)
    game = OpenSpielGame(position)
    result = best_arm(game, epsilon=0, delta=0.1, seed=0)
    assert (game.moves(result.answer), result.lower) == (["x(2,0)"], 1.0)
    assert pickle.loads(pickle.dumps(game)).actions(result.answer) == [6]


@installed
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("name", "key"), [("connect_four", "board"), ("chess", "history")])
def test_real_games_grow_and_are_sampled(name, key):
    game = OpenSpielGame(name)
    assert game.fingerprint()["key"] == key
    result = best_arm(game, epsilon=0.05, delta=0.1, expansion=0.5, max_samples=60, seed=0)
    again = best_arm(OpenSpielGame(name), epsilon=0.05, delta=0.1, expansion=0.5, max_samples=60, seed=0)
    assert (result.answer, result.nodes) == (again.answer, again.nodes)
    assert len(game.moves(result.answer)) == 1
