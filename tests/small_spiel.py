"""A stand-in for the library pyspiel with one small game, so that the adapter is tested where OpenSpiel is missing.

Two players take turns to take one or two stones from a heap; who takes the last one wins. With ``coin`` a toss of a
coin decides at the start whether one more stone lies there.
"""

from __future__ import annotations

import random
from types import SimpleNamespace

STONES = 5


class SpielError(RuntimeError):
    """As in the library."""


class Game:
    def __init__(self, name, **kind):
        usual = {
            "dynamics": "SEQUENTIAL",
            "information": "PERFECT_INFORMATION",
            "chance_mode": "DETERMINISTIC",
            "utility": "ZERO_SUM",
            "players": 2,
            "ends": (-1.0, 1.0),
        }
        self.name, self.kind = name, {**usual, **kind}

    def __str__(self):
        return f"{self.name}()"

    def get_type(self):
        names = ("dynamics", "information", "chance_mode", "utility")
        return SimpleNamespace(short_name=self.name, **{one: SimpleNamespace(name=self.kind[one]) for one in names})

    def num_players(self):
        return self.kind["players"]

    def min_utility(self):
        return self.kind["ends"][0]

    def max_utility(self):
        return self.kind["ends"][1]

    def new_initial_state(self):
        return State(self, ())


class State:
    def __init__(self, game, actions):
        self.game, self.actions = game, tuple(actions)

    @property
    def tossed(self):
        return self.game.kind["chance_mode"] == "DETERMINISTIC" or len(self.actions) > 0

    @property
    def left(self):
        coin = self.actions[:1] if self.game.kind["chance_mode"] != "DETERMINISTIC" else ()
        return STONES + sum(coin) - sum(self.actions[len(coin) :])

    def __str__(self):
        return "?" if not self.tossed else "o" * self.left

    def get_game(self):
        return self.game

    def clone(self):
        return State(self.game, self.actions)

    def child(self, action):
        return State(self.game, (*self.actions, action))

    def apply_action(self, action):
        self.actions = (*self.actions, action)

    def history(self):
        return list(self.actions)

    def serialize(self):
        return " ".join(map(str, self.actions))

    def move_number(self):
        return len(self.actions)

    def is_chance_node(self):
        return not self.tossed

    def is_terminal(self):
        return self.tossed and self.left == 0

    def current_player(self):
        if not self.tossed:
            return -1
        first = 0 if self.game.kind["chance_mode"] == "DETERMINISTIC" else 1
        return -4 if self.is_terminal() else (len(self.actions) - first) % self.game.num_players()

    def legal_actions(self):
        return [] if self.is_terminal() else [0, 1] if not self.tossed else [one for one in (1, 2) if one <= self.left]

    def chance_outcomes(self):
        return [(0, 0.25), (1, 0.75)]

    def action_to_string(self, player, action):
        return f"player {player} takes {action}"

    def returns(self):
        if not self.is_terminal():
            return [0.0] * self.game.num_players()
        first = 0 if self.game.kind["chance_mode"] == "DETERMINISTIC" else 1
        last = (len(self.actions) - first - 1) % self.game.num_players()
        return [1.0 if player == last else -1.0 for player in range(self.game.num_players())]

    def player_return(self, player):
        return self.returns()[player]


def load_game(name):
    kinds = {
        "heap": {},
        "coin": {"chance_mode": "EXPLICIT_STOCHASTIC"},
        "drawn": {"chance_mode": "SAMPLED_STOCHASTIC"},
        "at_once": {"dynamics": "SIMULTANEOUS"},
        "hidden": {"information": "IMPERFECT_INFORMATION"},
        "three": {"players": 3},
        "general": {"utility": "GENERAL_SUM"},
        "alone": {"players": 1, "utility": "GENERAL_SUM"},
        "together": {"utility": "IDENTICAL"},
        "endless": {"ends": (float("-inf"), 1.0)},
    }
    if name not in kinds:
        raise SpielError(name)
    return Game(name, **kinds[name])


def make_uniform_random_bot(player, seed):
    return random.Random(seed)


def evaluate_bots(state, bots, seed):
    chance = random.Random(seed)
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(chance.choices([0, 1], [0.25, 0.75])[0])
        else:
            state.apply_action(bots[state.current_player()].choice(state.legal_actions()))
    return state.returns()
