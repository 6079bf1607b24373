"""3,000 simulations of OpenSpiel's own search in C++ beside 3,000 samples of ours, and where our time goes."""

from __future__ import annotations

import sys
from time import process_time

import numpy as np
import pyspiel
from rich.console import Console
from rich.table import Table

from bestleaf import best_arm
from bestleaf.problems.openspiel import OpenSpielGame

console = Console(width=140)
SAMPLES = 3_000
GAMES = ("tic_tac_toe", "connect_four", "hex(board_size=5)", "breakthrough(rows=6,columns=6)")


class Timed(OpenSpielGame):
    """The same game, with the seconds that its methods take."""

    seconds = 0.0


def timed(name):
    def method(self, *given):
        begun = process_time()
        found = getattr(OpenSpielGame, name)(self, *given)
        self.seconds += process_time() - begun
        return found

    return method


for one in ("children", "is_terminal", "sample", "exact", "_maximizes"):
    setattr(Timed, one, timed(one))


def ours(name, seed, made=OpenSpielGame):
    """Return the game and the seconds of processor time of one search."""
    game, begun = made(name), process_time()
    best_arm(game, epsilon=0.01, delta=0.05, expansion=0.5, max_samples=SAMPLES, seed=seed)
    return game, process_time() - begun


def theirs(name, seed):
    """Return the seconds of processor time of one search of OpenSpiel."""
    game = pyspiel.load_game(name)
    evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
    bot, begun = pyspiel.MCTSBot(game, evaluator, 2.0, SAMPLES, 1000, False, seed, False), process_time()
    bot.step(game.new_initial_state())
    return process_time() - begun


def main(runs):
    ours("tic_tac_toe", 0)  # compiles
    table = Table(title=f"{SAMPLES:,} samples, processor time, median of {runs} runs", title_justify="left")
    for column in (
        "game",
        "OpenSpiel MCTS, s",
        "bestleaf, s",
        "ratio",
        "us a sample",
        "in the adapter",
        "in the engine",
    ):
        table.add_column(column, justify="left" if column == "game" else "right")
    for name in GAMES:
        other = np.median([theirs(name, seed) for seed in range(runs)])
        own = np.median([ours(name, seed)[1] for seed in range(runs)])
        watched = [ours(name, seed, Timed) for seed in range(runs)]
        share = np.median([game.seconds / seconds for game, seconds in watched])
        each = 1e6 * own / SAMPLES
        parts = (f"{each:.0f}", f"{share * each:.0f}", f"{(1 - share) * each:.0f}")
        table.add_row(name, f"{other:.3f}", f"{own:.3f}", f"{own / other:.1f}", *parts)
    console.print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
