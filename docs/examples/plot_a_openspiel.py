"""
A game of OpenSpiel
===================

Any game of OpenSpiel with perfect information and one or two players can be searched:
``pip install 'bestleaf[openspiel]'``. Tic-tac-toe is small enough to be searched as a whole. It has 5,478 positions,
because a position that several orders of moves lead to is one node.
"""

import pyspiel

from bestleaf import best_arm
from bestleaf.problems.openspiel import OpenSpielGame

game = OpenSpielGame("tic_tac_toe")
result = best_arm(game, epsilon=0, delta=0.05, seed=0)
print(
    f"{result.nodes:,} positions, {result.exact_evaluations:,} of them evaluated; the return is",
    game.utility(result.lower),
)

# %%
# A search can start at any position. Here the first player can force a win.

position = pyspiel.load_game("tic_tac_toe").new_initial_state()
for action in (4, 1, 0, 8):
    position.apply_action(action)
print(position)
game = OpenSpielGame(position)
result = best_arm(game, epsilon=0, delta=0.05, seed=0)
print("play", *game.moves(result.answer), "for a return of at least", game.utility(result.lower))

# %%
# A larger game grows with the search. Positions that are not finished are sampled by random players. The interval of a
# move is then about the candidates examined.

game = OpenSpielGame("connect_four")
result = best_arm(game, epsilon=0.1, delta=0.05, expansion=0.5, max_samples=3_000, seed=0)
print("open with", *game.moves(result.answer))
print(result.summary())
