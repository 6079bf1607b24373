"""Games played to their end by the best moves of both sides: samples with `Search.move`, and with new searches.

python benchmarks/moves.py [GAMES]
"""

from __future__ import annotations

import sys

from bestleaf import Search
from bestleaf.problems import TableProblem, random_dag

SETTINGS = {"task": "arm", "epsilon": 0.1, "delta": 0.1}


def played(game, *, keep, **settings):
    """Return the samples of all searches of a game."""
    search, samples = Search(game, **settings), 0
    opponent = [state for state in game.children_of if not game.maximizes(state)]
    while True:
        result = search.run()
        samples, state = samples + result.samples, result.answer
        if game.is_terminal(state):
            return samples
        begun = TableProblem(game.children_of, game.means, root=state, opponent=opponent)
        search = search.move(state) if keep else Search(begun, **settings)


def main(games=60):
    for expansion in (None, 0.5):
        kept = anew = 0
        for seed in range(games):
            game = random_dag(seed, layers=6, width=6, two_player=True)
            settings = {**SETTINGS, "expansion": expansion, "seed": seed}
            kept += played(game, keep=True, **settings)
            anew += played(game, keep=False, **settings)
        print(f"expansion {expansion}: {kept / games:,.0f} samples a game, {anew / games:,.0f} with new searches")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
