"""Games of OpenSpiel as problems: ``OpenSpielGame("connect_four")``.

The library is an extra: ``pip install 'bestleaf[openspiel]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from bestleaf.checks import function_or_none, library, shown
from bestleaf.problems.protocols import State

if TYPE_CHECKING:
    import pyspiel

MOST_POSITIONS = 50_000  # positions that are kept; others are played again from the start when they are needed
SEEDS = 2**31  # seeds of OpenSpiel's random players
MEMORYLESS = (  # what can happen next follows from the text of a position, its player and its number of moves
    *("amazons", "breakthrough", "catch", "cliff_walking", "clobber", "connect_four", "dots_and_boxes", "gomoku"),
    *("havannah", "hex", "mancala", "mnk", "nim", "othello", "pentago", "pig", "tic_tac_toe", "ultimate_tic_tac_toe"),
    "y",
)


def board(position: pyspiel.State) -> tuple[int, int, str]:
    """Return the number of moves made, the player who moves and the text of a position."""
    return position.move_number(), position.current_player(), str(position)


def history(position: pyspiel.State) -> tuple[int, ...]:
    """Return all actions that led to a position."""
    return tuple(position.history())


KEYS: dict[str, Callable[[pyspiel.State], Hashable]] = {"board": board, "history": history}


class OpenSpielGame:
    """A game of OpenSpiel with perfect information and one or two players.

    A value is the return of the player who moves first (player 0, if chance does), moved from [min_utility,
    max_utility] of the game to [0, 1]. The value of a position where the game is over is exact. A sample of any other
    position is a game between random players, which OpenSpiel plays in C++.

    Parameters
    ----------
    game : str, pyspiel.Game or pyspiel.State
        Name of a game, such as ``"connect_four"`` or ``"hex(board_size=3)"``, a game, or a position of one. The search
        starts at this position, or where the game starts.
    key : {"board", "history"} or callable, default=None
        Which positions are one state. "history": those after the same actions, so the graph is a tree; this is right
        for every game. "board": those with the same text, player and number of moves; this is wrong where rules look
        back, such as repetition in chess. None is "board" for the games in `MEMORYLESS`, otherwise "history". A
        function gets a position (pyspiel.State) and returns something hashable.
    prior : callable, default=None
        ``prior(position)`` returns pairs of action and probability, as the evaluators of OpenSpiel's own search do.
        When the graph grows, the child of highest probability enters first.

    Examples
    --------
    >>> game = OpenSpielGame("tic_tac_toe")  # doctest: +SKIP
    >>> result = best_arm(game, epsilon=0.1, delta=0.1, expansion=0.5, seed=0)  # doctest: +SKIP
    >>> game.moves(result.answer)  # doctest: +SKIP
    ['x(1,1)']
    """

    def __init__(
        self,
        game: str | pyspiel.Game | pyspiel.State,
        *,
        key: str | Callable[[pyspiel.State], Hashable] | None = None,
        prior: Callable[[pyspiel.State], Iterable[tuple[int, float]]] | None = None,
    ) -> None:
        self._start = _start(game)
        self.game: pyspiel.Game = self._start.get_game()
        kind, self._low, self._high = self.game.get_type(), *_checked_returns(self.game)
        self.player = max(0, self._start.current_player())
        self._key = _checked_key(key, kind.short_name)
        self._root = self._key(self._start)
        self._histories: dict[State, tuple[int, ...]] = {self._root: ()}  # actions by which a state was met first
        self._positions: dict[State, pyspiel.State] = {}
        if self.game.num_players() == 2 and kind.utility.name != "IDENTICAL":
            self.maximizes = self._maximizes
        if kind.chance_mode.name != "DETERMINISTIC":
            self.chance = self._chance
        self._opinion: Callable[[pyspiel.State], Iterable[tuple[int, float]]] | None = function_or_none("prior", prior)
        if prior is not None:
            self.prior = self._prior

    def root(self) -> State:
        """Return the state where the search starts."""
        return self._root

    def children(self, state: State) -> list[State]:
        """Return the states that the legal actions lead to."""
        return list(self._moves(state))

    def is_terminal(self, state: State) -> bool:
        """Return whether the game is over."""
        return self._position(state).is_terminal()

    def exact(self, state: State) -> float:
        """Return the value of a state where the game is over."""
        return self._scaled(self._position(state).player_return(self.player))

    def sample(self, state: State, rng: np.random.Generator) -> float:
        """Return the value of the end of a game that random players play on from a state."""
        import pyspiel

        position = self._position(state)
        if position.is_terminal():
            return self._scaled(position.player_return(self.player))
        players = range(self.game.num_players())
        bots = [pyspiel.make_uniform_random_bot(player, int(rng.random() * SEEDS)) for player in players]
        returns = pyspiel.evaluate_bots(position.clone(), bots, int(rng.random() * SEEDS))
        return self._scaled(returns[self.player])

    def fingerprint(self) -> dict[str, str | int]:
        """Return what distinguishes this game from others: its name and parameters, start, player and key."""
        key = getattr(self._key, "__qualname__", type(self._key).__name__)
        return {"game": str(self.game), "start": self._start.serialize(), "player": self.player, "key": key}

    def position(self, state: State) -> pyspiel.State:
        """Return a copy of the position that a state stands for."""
        return self._position(state).clone()

    def actions(self, state: State) -> list[int]:
        """Return actions that lead from the start to a state: those by which it was met first."""
        if state not in self._histories:
            raise ValueError(f"{shown(state)} must be a state that children() has listed in this search")
        return list(self._histories[state])

    def moves(self, state: State) -> list[str]:
        """Return the same actions in the words of the game."""
        position, found = self._start.clone(), list[str]()
        for action in self.actions(state):
            found.append(position.action_to_string(position.current_player(), action))
            position.apply_action(action)
        return found

    def utility(self, value: float) -> float:
        """Return the return of the game that a value in [0, 1] stands for."""
        return self._low + value * (self._high - self._low)

    def _maximizes(self, state: State) -> bool:
        return self._position(state).current_player() == self.player

    def _chance(self, state: State) -> list[float] | None:
        """Return the probabilities of the children, in their order; None where a player moves."""
        return list(self._moves(state).values()) if self._position(state).is_chance_node() else None

    def _prior(self, state: State) -> list[float] | None:
        """Return the prior of the children, in their order; None where chance moves."""
        position = self._position(state)
        if self._opinion is None or position.is_chance_node():
            return None
        given = dict(self._opinion(position.clone()))
        return list(self._moves(state, [(one, given.get(one, 0.0)) for one in position.legal_actions()]).values())

    def _moves(self, state: State, weighted: Sequence[tuple[int, float]] | None = None) -> dict[State, float]:
        """Return the children with the weights of their actions, where chance moves its probabilities.

        Children that several actions lead to are one.
        """
        position, found = self._position(state), dict[State, float]()
        if weighted is None and position.is_chance_node():
            weighted = position.chance_outcomes()
        for action, weight in weighted or [(action, 1.0) for action in position.legal_actions()]:
            after = position.child(action)
            child = self._key(after)
            found[child] = found.get(child, 0.0) + weight
            self._meet(child, after, (*self._histories[state], action))
        return found

    def _meet(self, child: State, after: pyspiel.State, history: tuple[int, ...]) -> None:
        """Remember how a state was reached; refuse a key that does not tell two positions apart."""
        first = self._histories.setdefault(child, history)
        if first is history:
            if len(self._positions) >= MOST_POSITIONS:
                self._positions.clear()
            self._positions[child] = after
        elif first != history and _what_can_happen(other := self._position(child)) != _what_can_happen(after):
            what = "key must tell apart positions with different players, moves or ends"
            one, two = shown(other.history()), shown(after.history())
            raise ValueError(f"{what}, got the same after {one} and {two}; use key='history'")

    def _position(self, state: State) -> pyspiel.State:
        """Return the position of a state; it must not be changed."""
        found = self._positions.get(state)
        if found is None:
            found = self._start.clone()
            for action in self.actions(state):
                found.apply_action(action)
            self._positions[state] = found
        return found

    def _scaled(self, utility: float) -> float:
        return (utility - self._low) / (self._high - self._low)

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_positions": {}}  # workers play positions again


def _what_can_happen(position: pyspiel.State) -> tuple[int, list]:
    """Return who moves in a position and all moves, or the returns where the game is over."""
    if position.is_terminal():
        moves = position.returns()
    else:
        moves = position.chance_outcomes() if position.is_chance_node() else position.legal_actions()
    return position.current_player(), moves


def _start(game: str | pyspiel.Game | pyspiel.State) -> pyspiel.State:
    """Return the position where the search starts."""
    pyspiel = library("pyspiel", "openspiel", "OpenSpielGame")
    if isinstance(game, pyspiel.State):
        return game.clone()
    if isinstance(game, pyspiel.Game):
        return game.new_initial_state()
    if not isinstance(game, str):
        raise TypeError(f"game must be the name of a game of OpenSpiel, a game or a position, got {shown(game)}")
    try:
        loaded = pyspiel.load_game(game)
    except pyspiel.SpielError:
        raise ValueError(f"game must be the name of a game that OpenSpiel can load, got {shown(game)}") from None
    return loaded.new_initial_state()


def _checked_returns(game: pyspiel.Game) -> tuple[float, float]:
    """Return the smallest and the largest return of a game; refuse games that are no search in a graph."""
    kind, players, low, high = game.get_type(), game.num_players(), game.min_utility(), game.max_utility()
    finite = isfinite(low) and isfinite(high) and low < high
    wanted = (  # what a game must have, and what this one has instead
        (kind.dynamics.name == "SEQUENTIAL", "players who move one after the other", "simultaneous moves"),
        (kind.information.name == "PERFECT_INFORMATION", "perfect information", "players who do not see everything"),
        (players in (1, 2), "one or two players", f"{players}"),
        (players == 1 or kind.utility.name != "GENERAL_SUM", "a sum of zero, or the same for both", "neither"),
        (kind.chance_mode.name != "SAMPLED_STOCHASTIC", "known probabilities of chance", "chance that is only drawn"),
        (finite, "returns between two finite numbers", f"{low:g} and {high:g}"),
    )
    for fine, words, got in wanted:
        if not fine:
            raise ValueError(f"game must have {words}, got {kind.short_name} with {got}")
    return float(low), float(high)


def _checked_key(key: object, name: str) -> Callable[[pyspiel.State], Hashable]:
    if key is None:
        key = "board" if name in MEMORYLESS else "history"
    if isinstance(key, str) and key in KEYS:
        return KEYS[key]
    if not callable(key):
        raise ValueError(f"key must be one of {', '.join(KEYS)}, a function or None, got {shown(key)}")
    return key
