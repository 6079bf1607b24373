"""Genuine certificates of every kind, small enough to be made by the hundred."""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB

from bestleaf import Bound, Certificate, EstimatorOracle, Rate, best_arm, best_leaf
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.problems import Unrolled, paper_lattice, random_dag, random_game_tree
from golden.graphs import Trap
from selecting import made_selector
from toys import random_cyclic_graph

BOUNDS = ("theory", "beta1", "beta1_published", "beta2", "hoeffding", "betting")
RULES = ("smallest_gap", "lucb", "ugape", "lucb_mcts")


class Genuine(NamedTuple):
    """A certificate with what `verify` may be given beside it."""

    name: str
    certificate: Certificate
    data: tuple = ()
    keywords: dict = {}  # noqa: RUF012  never changed


class Flipped:
    """A game in which the opponent moves first, where the first player did; with exact leaves if asked for."""

    def __init__(self, game, exact=False):
        self.root, self.children, self.is_terminal = game.root, game.children, game.is_terminal
        self.sample, self.first_moves = game.sample, game.maximizes
        if exact:
            self.exact = game.mean

    def maximizes(self, state):
        return not self.first_moves(state)


def union_over_time(mean, count, delta, row):
    """Hoeffding at every count, each with its part of the leaf's share of delta."""
    half = sqrt(log(2 * count * (count + 1) / delta) / (2 * count))
    return mean - half, mean + half


def follows_by_union(side, value, delta, evidence):
    low, high = union_over_time(evidence[1] / evidence[0], evidence[0], delta, evidence)
    return value <= low + 1e-9 if side == "lower" else value >= high - 1e-9


CHECKED = Bound(union_over_time, check=follows_by_union)
UNCHECKED = Bound(lambda mean, count, delta, row: (mean - 1 / sqrt(count), mean + 1 / sqrt(count)))


@Rate
def own_rate(count, delta, leaves):
    """Return a level that grows with the count."""
    return log(leaves * count / delta)


def of_graphs(seed):
    """Yield certificates of best arms and best leaves of random graphs: every bound and rule, grown or not."""
    rng = np.random.default_rng(seed)
    for number, bound in enumerate((*BOUNDS, CHECKED, UNCHECKED, own_rate)):
        for expansion in (None, 0.4):
            find = (best_arm, best_leaf)[int(rng.integers(2))]
            share = float(rng.choice([0.0, 0.0, 0.5, 1.0]))
            problem = random_dag(int(rng.integers(10**6)), exact_share=share, grid=rng.choice([None, 0.1]))
            if rng.random() < 0.2:
                problem = paper_lattice()
            elif rng.random() < 0.3:
                problem = Unrolled(problem)
            settings = {
                "epsilon": float(rng.choice([0.1, 0.2, 0.3])),
                "delta": float(rng.choice([0.02, 0.05, 0.1])),
                "rule": str(rng.choice(RULES)),
                "stopping": str(rng.choice(["sound", "sound", "sound", "paper"])),
                "max_samples": int(rng.choice([20, 500, 20_000])),
                "seed": int(rng.integers(10**6)),
            }
            found = find(problem, bound=bound, expansion=expansion, **settings)
            name = f"{find.__name__} {found.certificate.search.bound} {expansion} {number}"
            yield Genuine(name, found.certificate, (), {"bound": bound} if bound is CHECKED else {})


def of_games(seed):
    """Yield certificates of games: either player first, whole or grown, sampled or exact."""
    rng = np.random.default_rng(seed)
    for expansion in (None, 0.4):
        for bound in ("hoeffding", "betting"):
            settings = {"epsilon": 0.3, "delta": 0.1, "bound": bound, "expansion": expansion, "max_samples": 5000}
            game = random_game_tree(int(rng.integers(10**6)), depth=2)
            shared = random_dag(int(rng.integers(10**6)), two_player=True)
            for problem in (game, shared, Flipped(game), Flipped(shared), Flipped(game, exact=True)):
                found = best_arm(problem, seed=int(rng.integers(10**6)), **settings)
                yield Genuine(f"game {type(problem).__name__} {expansion} {bound}", found.certificate)


def of_chance(seed):
    """Yield certificates of graphs with chance: arms and plans, with and without an opponent, settled or cut short."""
    rng = np.random.default_rng(seed)
    for find in (best_arm, best_leaf):
        for expansion in (None, 0.4):
            for two_player in (False, True):
                share = float(rng.choice([0.0, 0.5, 1.0]))
                problem = random_dag(
                    int(rng.integers(10**6)), layers=4, two_player=two_player, exact_share=share, chance_share=0.6
                )
                if two_player and find is best_leaf and not hasattr(problem, "chance"):
                    continue
                settings = {"epsilon": 0.2, "delta": 0.1, "expansion": expansion, "seed": int(rng.integers(10**6))}
                found = find(problem, max_samples=int(rng.choice([20, 500, 20_000])), **settings)
                yield Genuine(f"chance {find.__name__} {expansion} {two_player}", found.certificate)


def of_cycles(seed):
    """Yield certificates of graphs with cycles: one player and two, whole or grown, play without end of any worth."""
    settings = {"epsilon": 0.2, "delta": 0.1, "seed": seed, "max_samples": 5000}
    for expansion in (None, 0.4):
        for worth in (None, 0.5, (0.2, 0.7)):
            game = random_cyclic_graph(seed, two_player=True, exact_share=0.3, endless=worth)
            yield Genuine(f"game on a cycle {worth}", best_arm(game, expansion=expansion, **settings).certificate)
        problem = random_cyclic_graph(seed)
        for find in (best_arm, best_leaf):
            name = f"{find.__name__} on a cycle {expansion}"
            yield Genuine(name, find(problem, expansion=expansion, **settings).certificate)


def table(seed=0, columns=6, rows=60):
    """Return a table in which two columns tell the class, and much of it is noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, (X[:, 0] + X[:, columns // 2] + rng.normal(size=rows) > 0).astype(int)


SEARCHES = {
    "exhaustive": {"guarantee": "exhaustive"},
    "counted": {"guarantee": "exhaustive"},
    "exhaustive, limited": {"guarantee": "exhaustive", "max_features": 2, "exclude": [1], "include": [4]},
    "grown": {"guarantee": "grown", "epsilon": 0.05, "expansion": 0.5},
    "grown by rave": {"guarantee": "grown", "epsilon": 0.1, "max_samples": 4000, "proposal": "rave"},
    "local": {"guarantee": "local", "epsilon": 0.05, "max_features": 2, "exclude": [5], "expansion": 0.5},
    "hoeffding": {"guarantee": "grown", "epsilon": 0.1, "max_samples": 3000, "expansion": 0.5, "bound": "hoeffding"},
    "cut short": {"guarantee": "grown", "epsilon": 0.001, "max_samples": 60, "expansion": 0.5, "proposal": "random"},
    "groups": {"feature_groups": [[0, 1], [2], [3, 4], [5]], "epsilon": 0.05},
}


def of_selections(seed):
    """Yield certificates of searches for columns with their data."""
    for name, settings in SEARCHES.items():
        X, y = table(seed, 13 if name == "counted" else 6)
        found = made_selector(choose="training", random_state=seed, **settings).fit(X, y)
        yield Genuine(f"search {name}", found.certificate_, (X, y))


def of_estimators(seed):
    """Yield certificates about the score of an estimator."""
    X, y = table(seed, 4)
    settings = {"cv": 3, "epsilon": 0.25, "max_features": 2, "max_samples": 150, "random_state": seed}
    oracle = EstimatorOracle(X, y, estimator=GaussianNB(), cv=3, random_state=seed)
    for guarantee in ("grown", "local"):
        found = made_selector(GaussianNB(), choose="training", guarantee=guarantee, **settings).fit(X, y)
        yield Genuine(f"estimator {guarantee}", found.certificate_, (X, y), {"oracle": oracle})


def of_choices(seed):
    """Yield certificates of choices by cross-validation: scored in their folds, on test rows, without a proof."""
    X, y = table(seed, 6, 200)
    several, real = np.digitize(X[:, 0] + X[:, 3], [-0.8, 0.8]), X[:, 0] - X[:, 3] + 0.5 * np.sin(9 * X[:, 1])
    groups = np.arange(200) // 4
    choices = {
        "nested folds": (LogisticRegression(), y, {}, {}),
        "test rows": (LogisticRegression(), y, {"holdout": 0.4}, {}),
        "test rows of judges": ([LogisticRegression(), GaussianNB()], y, {"holdout": 0.4}, {}),
        "test rows, accuracy": (LogisticRegression(), y, {"holdout": 0.4, "scoring": "accuracy"}, {}),
        "test rows of classes": (LogisticRegression(), several, {"holdout": 0.4}, {}),
        "test rows, real": (Ridge(), real, {"holdout": 0.4}, {}),
        "groups": (LogisticRegression(), y, {"holdout": 0.4}, {"groups": groups}),
        "a size asked for": (LogisticRegression(), y, {"holdout": 0.4, "n_features_to_select": 2}, {}),
    }
    for name, (estimator, target, settings, metadata) in choices.items():
        found = made_selector(estimator, random_state=seed, cv=4, **settings).fit(X, target, **metadata)
        yield Genuine(f"choice {name}", found.certificate_, (X, target), metadata)


def of_guarantees(seed):
    """Yield certificates of best leaves with guarantees beyond the graph."""
    settings = {"epsilon": 0.02, "delta": 0.1, "expansion": 0.05, "bound": "betting", "seed": seed}
    found = best_leaf(Trap(), guarantee="local", **settings)
    yield Genuine("trap local", found.certificate)
    lattice = FeatureLattice(KNNOracle(*table(seed)), max_features=2)
    found = best_leaf(lattice, guarantee="local", **{**settings, "expansion": 0.5, "epsilon": 0.1})
    yield Genuine("lattice local", found.certificate)


def shop(*noise: str) -> pd.DataFrame:
    """Return a table of customers: who bought follows from age and city; columns of noise have the names given."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 80, 120), "city": rng.choice(["Oslo", "Rome", "Bonn"], 120)})
    for name in noise:
        frame[name] = rng.normal(size=120)
    frame["bought"] = np.where((frame.age > 50) ^ (frame.city == "Rome"), "yes", "no")
    return frame
