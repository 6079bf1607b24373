"""Chance nodes: beside exact dynamic programming, on many random graphs, and beside MDP-GapE.

MDP-GapE (Jonsson, Kaufmann, Menard, Domingues, Leurent and Valko, NeurIPS 2020) finds the best first action of a
Markov decision process from a generative model. It is written here from the paper: trajectories of length H, UGapE at
the root, the action of largest upper bound below, KL intervals for rewards and for transitions, in a tree. It learns
the transition probabilities; bestleaf is given them by `chance`. So a second version of it is given them, too.

Usage: PYTHONPATH=tests python benchmarks/chance.py [dp] [random] [gape] [GRAPHS]
"""

from __future__ import annotations

import sys
from math import ceil, e, log
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binom

from bestleaf import best_arm, best_leaf
from bestleaf.problems import BernoulliProblem, random_dag
from toys import Pig, SlipperyGrid, worth

console = Console(width=140)
EPSILON = DELTA = 0.1


def table_of(title, names, rows):
    table = Table(title=title, title_justify="left")
    for name in names:
        table.add_column(name, justify="left" if name in ("problem", "method") else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def value_of_plan(problem, plan):
    """Return what a plan is worth, by dynamic programming along it."""
    known = {}

    def value(state):
        if state not in known:
            if problem.is_terminal(state):
                known[state] = problem.payoff(state)
            elif (chances := problem.chance(state)) is None:
                known[state] = value(plan[state])
            else:
                known[state] = sum(p * value(child) for p, child in zip(chances, problem.children(state), strict=True))
        return known[state]

    return value(problem.root())


def beside_dynamic_programming(runs=20):
    """Plans for a stochastic shortest path and a dice game; values by exact dynamic programming."""
    rows = []
    problems = {
        "slippery grid 3 x 3, horizon 6": lambda exact: SlipperyGrid(3, horizon=6, exact=exact),
        "slippery grid 4 x 4, horizon 10": lambda exact: SlipperyGrid(4, horizon=10, exact=exact),
        "Pig, 2 turns, target 20": lambda exact: Pig(turns=2, target=20, exact=exact),
        "Pig, 3 turns, target 40": lambda exact: Pig(turns=3, target=40, exact=exact),
    }
    for name, make in problems.items():
        problem = make(True)
        right = problem.value(problem.root())
        found = best_leaf(problem, epsilon=0, delta=DELTA, seed=0)
        off = abs(found.lower - right) + abs(value_of_plan(problem, found.plan) - right)
        rows.append((name, "exact payoffs, epsilon 0", f"{right:.4f}", f"{off:.1e}", "0", f"{len(found.plan):,}"))
        problem, losses, samples, moves = make(False), [], [], []
        started = perf_counter()
        for seed in range(runs):
            found = best_leaf(problem, epsilon=EPSILON, delta=DELTA, seed=seed)
            assert found.settled
            losses.append(right - value_of_plan(problem, found.plan))
            samples.append(found.samples)
            moves.append(len(found.plan))
        seconds = (perf_counter() - started) / runs
        cells = (f"{right:.4f}", f"{max(losses):.4f}", f"{np.mean(samples):,.0f}", f"{np.mean(moves):,.0f}")
        rows.append((name, f"sampled, epsilon {EPSILON}, {runs} runs, {seconds:.2f} s each", *cells))
    names = ("problem", "method", "best value", "largest loss", "samples", "moves of the plan")
    table_of("Plans beside exact dynamic programming", names, rows)


def plan_worth(problem, plan, state):
    if problem.is_terminal(state):
        return problem.mean(state)
    chances = problem.chance(state) if hasattr(problem, "chance") else None
    if chances is None and plan is not None and getattr(problem, "maximizes", lambda state: True)(state):
        return plan_worth(problem, plan, plan[state])
    below = [plan_worth(problem, plan, child) for child in problem.children(state)]
    return min(below) if chances is None else sum(p * value for p, value in zip(chances, below, strict=True))


def on_random_graphs(graphs):
    """How often arms and plans are worse than the best by more than epsilon, with the binomial margin."""
    margin, rows = int(binom.ppf(1 - 1e-4, graphs, DELTA)), []
    for two_player in (False, True):
        for find in (best_arm, best_leaf):
            for expansion in (None, 0.5):
                wrong, samples = 0, []
                for seed in range(graphs):
                    problem = random_dag(
                        seed, layers=4, two_player=two_player, chance_share=0.5, grid=(None, 0.1)[seed % 2]
                    )
                    if not hasattr(problem, "chance"):  # nothing decided by chance: the next ones will do
                        problem = random_dag(10**6 + seed, layers=4, two_player=two_player, chance_share=1.0)
                    found = find(problem, epsilon=EPSILON, delta=DELTA, seed=seed, expansion=expansion)
                    assert found.settled
                    value, root = worth(problem, problem.root()), problem.root()
                    mine = worth(problem, found.answer) if found.plan is None else plan_worth(problem, found.plan, root)
                    wrong += abs(value - mine) > EPSILON
                    samples.append(found.samples)
                players = "two players" if two_player else "one player"
                how = "whole" if expansion is None else "grown"
                what = "best arm" if find is best_arm else "plan"
                cells = (f"{wrong}", f"{wrong / graphs:.4f}", f"{margin}", f"{np.mean(samples):,.0f}")
                rows.append((f"{players}, {how}", what, *cells))
    names = ("problem", "method", f"wrong of {graphs:,}", "share", "allowed", "samples")
    table_of(f"Random graphs with chance, epsilon {EPSILON}, delta {DELTA}", names, rows)


class RandomMDP:
    """A random decision process: every action leads to `branches` states, and some pay 0 or 1 with a drawn mean."""

    def __init__(self, seed, *, states=200, actions=5, branches=2, gamma=0.7, paying=0.5):
        rng = np.random.default_rng(seed)
        self.states, self.actions, self.branches, self.gamma = states, actions, branches, gamma
        self.following = np.array(
            [[rng.choice(states, branches, replace=False) for _ in range(actions)] for _ in range(states)]
        )
        self.chances = rng.dirichlet(np.ones(branches), (states, actions))
        self.rewards = rng.random((states, actions)) * (rng.random((states, actions)) < paying)

    def values(self, horizon):
        """Return [state, action] values of the first action with `horizon` steps to go."""
        value = np.zeros(self.states)
        for _ in range(horizon):
            worth = self.rewards + self.gamma * (self.chances * value[self.following]).sum(axis=2)
            value = worth.max(axis=1)
        return worth


class AsGraph(BernoulliProblem):
    """The same process as a graph with chance, rewards on the way included: the discount is a chance to end.

    After action a in state s with h steps gone, the walk ends with probability g^h / (g^h + ... + g^(H - 1)) and pays
    the reward of (s, a); otherwise it goes on. So the mean payoff is the discounted sum of the rewards, divided by the
    sum of all g^h. There is one leaf for each pair (s, a), however many ways lead to it.
    """

    def __init__(self, mdp, horizon):
        self.mdp, self.horizon = mdp, horizon
        powers = mdp.gamma ** np.arange(horizon)
        self.scale = float(powers.sum())
        self.ends = (powers / powers[::-1].cumsum()[::-1]).tolist()

    def root(self):
        return (0, 0)

    def is_terminal(self, state):
        return state[0] == "pay"

    def children(self, state):
        if len(state) == 2:
            return [(*state, action) for action in range(self.mdp.actions)]
        step, here, action = state
        following = [] if step + 1 == self.horizon else self.mdp.following[here, action].tolist()
        return [("pay", here, action), *((step + 1, other) for other in following)]

    def chance(self, state):
        if len(state) == 2:
            return None
        step, here, action = state
        if step + 1 == self.horizon:
            return [1.0]
        end = self.ends[step]
        return [end, *((1 - end) * self.mdp.chances[here, action]).tolist()]

    def mean(self, state):
        return float(self.mdp.rewards[state[1], state[2]]) if state[0] == "pay" else 0.5


def kl(p, q):
    return (p * log(p / q) if p > 0 else 0.0) + ((1 - p) * log((1 - p) / (1 - q)) if p < 1 else 0.0)


def kl_end(mean, level, upper):
    """Return the end of the KL interval around a mean."""
    near, far = mean, 1.0 if upper else 0.0
    if kl(mean, min(max(far, 1e-12), 1 - 1e-12)) <= level:
        return far
    for _ in range(30):
        middle = (near + far) / 2
        near, far = (middle, far) if kl(mean, middle) <= level else (near, middle)
    return far


def extreme_mean(values, shares, level):
    """Return the largest mean of two values over all probabilities within KL `level` of the observed shares."""
    (high, share), (low, _) = sorted(zip(values, shares, strict=True), reverse=True)
    return low + (high - low) * kl_end(share, level, True)


class Action:
    """What MDP-GapE knows of an action at a node of its tree; only for two next states."""

    def __init__(self, most):
        self.count, self.reward, self.lower, self.upper = 0, 0.0, 0.0, most
        self.below = {}  # next state -> [how often, node or None]


class MDPGapE:
    """MDP-GapE on a random process of two branches; with `known`, it is told the transition probabilities."""

    def __init__(self, mdp, horizon, epsilon, delta, rng, *, known):
        self.mdp, self.horizon, self.epsilon, self.rng, self.known = mdp, horizon, epsilon, rng, known
        self.base = log(3 * (mdp.branches * mdp.actions) ** horizon / delta)
        self.most = [sum(mdp.gamma**k for k in range(horizon - step)) for step in range(horizon + 1)]
        self.root, self.calls = self.node(0), 0

    def node(self, step):
        return [Action(self.most[step]) for _ in range(self.mdp.actions)]

    def pair(self):
        """Return the action of smallest possible regret, and the strongest other one."""
        arms = self.root
        regret = [max(b.upper for b in arms if b is not a) - a.lower for a in arms]
        best = int(np.argmin(regret))
        rival = max((a for a in range(len(arms)) if a != best), key=lambda a: arms[a].upper)
        return best, rival

    def run(self, most):
        while self.calls < most:
            best, rival = self.pair()
            if self.root[rival].upper - self.root[best].lower <= self.epsilon:
                return best
            wider = max((best, rival), key=lambda a: self.root[a].upper - self.root[a].lower)
            self.trajectory(wider)
        return None

    def trajectory(self, action):
        mdp, rng, path = self.mdp, self.rng, []
        node, here = self.root, 0
        for step in range(self.horizon):
            if step:
                top = max(a.upper for a in node)
                action = int(rng.choice([k for k, a in enumerate(node) if a.upper == top]))
            chosen = node[action]
            branch = int(rng.random() >= mdp.chances[here, action, 0])
            chosen.count += 1
            chosen.reward += rng.random() < mdp.rewards[here, action]
            self.calls += 1
            entry = chosen.below.setdefault(branch, [0, None])
            entry[0] += 1
            if entry[1] is None and step + 1 < self.horizon:
                entry[1] = self.node(step + 1)
            path.append((chosen, here, action, step))
            node, here = entry[1], mdp.following[here, action, branch]
        for chosen, here, action, step in reversed(path):
            self.back_up(chosen, self.mdp.chances[here, action], step)

    def back_up(self, chosen, chances, step):
        n, gamma = chosen.count, self.mdp.gamma
        rewards = (self.base + log(e * (1 + n))) / n
        ends = [kl_end(chosen.reward / n, rewards, upper) for upper in (False, True)]
        known = []
        for branch in (0, 1):
            node = chosen.below.get(branch, (0, None))[1]
            last = step + 1 == self.horizon
            known.append((0.0, 0.0) if last else (0.0, self.most[step + 1]) if node is None else bounds(node))
        if self.known:
            below, above = (sum(p * one[side] for p, one in zip(chances, known, strict=True)) for side in (0, 1))
        else:
            level = (self.base + log(e * (1 + n))) / n  # (B - 1) ln(e (1 + n / (B - 1))) with B = 2
            shares = [chosen.below.get(branch, (0,))[0] / n for branch in (0, 1)]
            above = extreme_mean([one[1] for one in known], shares, level)
            below = -extreme_mean([-one[0] for one in known], shares, level)
        chosen.lower, chosen.upper = ends[0] + gamma * below, ends[1] + gamma * above


def bounds(node):
    return max(a.lower for a in node), max(a.upper for a in node)


def beside_mdp_gape():
    """Count calls of the generative model until the first action is known to within epsilon."""
    for epsilon, runs, most in ((1.0, 10, 200_000), (0.5, 3, 100_000)):
        rows, gamma = [], 0.7
        horizon = ceil(log(epsilon * (1 - gamma) / 2) / log(gamma))
        methods = {"MDP-GapE": [], "MDP-GapE, transitions known": [], "bestleaf, best arm": [], "bestleaf, plan": []}
        for seed in range(runs):
            mdp = RandomMDP(seed)
            worth = mdp.values(horizon)[0]
            for name, found in methods.items():
                started = perf_counter()
                if name.startswith("MDP"):
                    search = MDPGapE(mdp, horizon, epsilon, DELTA, np.random.default_rng(seed), known="known" in name)
                    action, calls = search.run(most), search.calls
                else:
                    graph = AsGraph(mdp, horizon)
                    find = best_arm if "arm" in name else best_leaf
                    result = find(graph, epsilon=epsilon / graph.scale, delta=DELTA, seed=seed, max_samples=most)
                    calls = result.samples
                    action = result.answer[2] if result.settled else None
                loss = None if action is None else float(worth.max() - worth[action])
                found.append((calls, loss, perf_counter() - started))
        first = np.mean([calls for calls, *_ in methods["bestleaf, best arm"]])
        for name, found in methods.items():
            ended = [loss for _, loss, _ in found if loss is not None]
            calls = np.mean([calls for calls, *_ in found])
            at_least = "" if len(ended) == runs else "> "
            rows.append(
                (
                    f"epsilon {epsilon}, H {horizon}",
                    name,
                    f"{len(ended)} of {runs}",
                    f"{at_least}{calls:,.0f}",
                    f"{at_least}{calls / first:.2f}",
                    f"{max(ended):.3f}" if ended else "-",
                    f"{np.mean([seconds for *_, seconds in found]):.2f}",
                )
            )
        names = ("problem", "method", "ended", "calls", "ratio", "largest loss", "seconds")
        table_of(f"Random processes of 200 states, 5 actions, 2 branches, discount 0.7, delta {DELTA}", names, rows)


def main(arguments):
    graphs = next((int(one) for one in arguments if one.isdigit()), 1000)
    parts = {"dp": beside_dynamic_programming, "random": lambda: on_random_graphs(graphs), "gape": beside_mdp_gape}
    for name in [one for one in arguments if one in parts] or parts:
        parts[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
