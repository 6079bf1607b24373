"""
Your own game
=============

Any object with the four methods of a problem can be searched. In this game two players move a token down a grid in
turn. The further to the right it ends, the more often it wins a sweet. The first player wants the sweet, the opponent
does not. ``maximizes`` says who moves.
"""

from bestleaf import best_arm
from bestleaf.testing import check_problem


class Sweets:
    """A state is (step, column); the first player moves at even steps."""

    def root(self):
        return (0, 2)

    def children(self, state):
        step, column = state
        return [(step + 1, column + move) for move in (-1, 0, 1) if 0 <= column + move <= 4]

    def is_terminal(self, state):
        return state[0] == 4

    def maximizes(self, state):
        return state[0] % 2 == 0

    def sample(self, state, rng):
        return float(rng.random() < 0.1 + 0.2 * state[1])


check_problem(Sweets())  # raises one sentence if the problem breaks a rule
result = best_arm(Sweets(), epsilon=0.05, delta=0.05, bound="betting", seed=0)
print(result.summary())
