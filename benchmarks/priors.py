"""What a prior is worth: random children, a good, a noisy and a bad prior on the same games with the same samples."""

from __future__ import annotations

import sys
from math import exp

import numpy as np
from rich.console import Console
from rich.table import Table

from bestleaf import best_arm, verify
from bestleaf.problems import TableProblem, random_game_tree

console = Console(width=120)
BUDGETS = (4_000, 16_000, 64_000)
EPSILON = 0.05
PRIORS = {"random children": None, "good prior": (1.0, 0.0), "noisy prior": (1.0, 0.3), "bad prior": (-1.0, 0.0)}


class Opinion(TableProblem):
    """A two-player tree whose true values are known; the prior is made from them.

    `sign` -1 turns the prior round, and `noise` is the standard deviation of what is added to the values.
    """

    def __init__(self, seed, sign, noise, depth=4, branching=6):
        tree = random_game_tree(seed, depth=depth, branching=branching)
        opponent = [state for state in tree.children_of if len(state) % 2 == 1]
        self.true, means = {}, dict(tree.means)
        for state in sorted(means, key=len, reverse=True):
            if tree.is_terminal(state):
                self.true[state] = means[state]
                continue
            below = [self.true[child] for child in tree.children(state)]
            self.true[state] = max(below) if tree.maximizes(state) else min(below)
            means[state] = float(np.mean([means[child] for child in tree.children(state)]))  # of random play
        super().__init__(tree.children_of, means, root=(), opponent=opponent)
        rng = np.random.default_rng([seed, 1])
        self.opinion = {state: sign * value + noise * rng.normal() for state, value in self.true.items()}

    def prior(self, state):
        side = 1.0 if self.maximizes(state) else -1.0
        return [exp(4.0 * side * self.opinion[child]) for child in self.children(state)]


def main(trees):
    title = f"{trees} games, 4 moves deep, 6 moves wide; best_arm, expansion 0.7, epsilon {EPSILON}, delta 0.1"
    table = Table(title=title, title_justify="left")
    table.add_column("growth by")
    for budget in BUDGETS:
        table.add_column(f"right after {budget:,}", justify="right")
        table.add_column("lost", justify="right")
    table.add_column("certificates verified", justify="right")
    for name, prior in PRIORS.items():
        cells, verified = [], 0
        for budget in BUDGETS:
            lost = []
            for seed in range(trees):
                game = Opinion(seed, *(prior or (1.0, 0.0)))
                settings = {"epsilon": EPSILON, "delta": 0.1, "expansion": 0.7, "seed": seed, "max_samples": budget}
                found = best_arm(game, **settings, proposal="prior" if prior else "random")
                lost.append(game.true[()] - game.true[found.answer])
                verified += bool(verify(found.certificate))
            cells += [f"{np.mean(np.array(lost) <= EPSILON):.0%}", f"{np.mean(lost):.3f}"]
        table.add_row(name, *cells, f"{verified} of {trees * len(BUDGETS)}")
    console.print(table)
    console.print("right: the value of the answer is within epsilon of the best; lost: its mean distance from the best")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
