"""
Your own game
=============

Any object with four methods can be searched. Here a child collects sweets on the way down a grid; an opponent moves
the child every second step.
"""

from bestleaf import best_arm


class Sweets:
    """A state is (step, column); columns to the right hold more sweets on average."""

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


result = best_arm(Sweets(), epsilon=0.05, delta=0.05, bound="betting", seed=0)
print(result.summary())
