"""The list of golden cases; what they call is in `golden.cases`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from golden.cases import (
    Case,
    arm,
    asked,
    asked_in_batches,
    boldest,
    case,
    commanded,
    fuse,
    leaf,
    own_rate,
    selected,
    uct,
    union_over_time,
)

WORKERS = ({"n_jobs": 2},)
DEFAULT: dict[str, Any] = {"choose": "new_data"}
ESTIMATED: dict[str, Any] = {"estimator": LogisticRegression(), "cv": 3}
TREE: dict[str, Any] = {"estimator": DecisionTreeClassifier(max_depth=2), "cv": 3}

CASES: dict[str, Case] = {
    # best arm and best leaf of whole graphs
    "arm": case(arm, "lattice"),
    "arm_of_tree": case(arm, "tree"),
    "arm_of_python_problem": case(arm, "climb"),
    "arm_with_shared_labels": case(arm, "spread"),
    "arm_exact": case(arm, "exact", epsilon=0.05),
    "arm_cut_short": case(arm, "dag", epsilon=0.001, max_samples=333),
    "leaf": case(leaf, "lattice"),
    "leaf_of_tree": case(leaf, "tree", epsilon=0.15),
    "leaf_of_dag": case(leaf, "dag"),
    "leaf_tied": case(leaf, "tied", epsilon=0.05),
    "leaf_exact": case(leaf, "exact", epsilon=0.05),
    "leaf_one_without_exact_value": case(leaf, "exact climb"),
    "leaf_with_shared_labels": case(leaf, "spread"),
    "leaf_cut_short": case(leaf, "dag", epsilon=0.001, max_samples=333),
    "leaf_exhaustive": case(leaf, "trap", guarantee="exhaustive"),
    **{
        f"arm_bound_{name}": case(arm, "dag", bound=name, max_samples=20_000)
        for name in ("theory", "beta1", "beta1_published", "beta2", "hoeffding")
    },
    "leaf_bound_hoeffding_of_spread_values": case(leaf, "spread", bound="hoeffding", max_samples=20_000),
    "arm_own_bound": case(arm, "dag", bound=union_over_time),
    "arm_own_rate": case(arm, "dag", bound=own_rate),
    "arm_own_rule": case(arm, "dag", rule=boldest),
    **{f"arm_rule_{rule}": case(arm, "lattice", rule=rule) for rule in ("lucb", "ugape", "lucb_mcts")},
    # the published test
    "arm_paper": case(arm, "lattice", stopping="paper", bound="beta2", epsilon=0.0),
    "arm_paper_ugape": case(arm, "dag", stopping="paper", bound="beta1", rule="ugape"),
    "leaf_paper": case(leaf, "lattice", stopping="paper", bound="beta2", epsilon=0.05),
    "leaf_paper_grown": case(leaf, "climb", stopping="paper", bound="beta1", expansion=0.5),
    "game_paper": case(arm, "game", stopping="paper", bound="beta2"),
    # graphs that grow
    "arm_grown": case(arm, "dag", expansion=0.4),
    "arm_grown_slowly": case(arm, "dag", expansion=0.0),
    "arm_grown_fast": case(arm, "dag", expansion=1.0, max_samples=300),
    "leaf_grown": case(leaf, "climb", expansion=0.4),
    "leaf_grown_exact": case(leaf, "exact climb", expansion=0.6),
    "leaf_grown_of_tree": case(leaf, "tree", expansion=0.5, epsilon=0.2),
    "leaf_grown_with_theory": case(leaf, "climb", expansion=0.5, bound="theory", epsilon=0.2),
    "leaf_local": case(leaf, "trap", guarantee="local", expansion=0.05, epsilon=0.02),
    # two players
    "game_arm": case(arm, "game"),
    "game_tree_arm": case(arm, "game tree"),
    "game_arm_python_problem": case(arm, "nim"),
    "game_arm_exact": case(arm, "exact nim"),
    "game_arm_some_exact": case(arm, "exact game"),
    "game_arm_grown": case(arm, "game tree", expansion=0.5, epsilon=0.2),
    # batches
    "batch_arm": case(arm, "climb", batch_size=8, also=(*WORKERS, {"n_jobs": 2, "backend": "loky"})),
    "batch_leaf": case(leaf, "climb", batch_size=8, also=WORKERS),
    "batch_leaf_compiled_problem": case(leaf, "lattice", batch_size=16, also=WORKERS),
    "batch_leaf_exact": case(leaf, "exact climb", batch_size=3, also=WORKERS),
    "batch_leaf_grown": case(leaf, "climb", batch_size=8, expansion=0.5, also=WORKERS),
    "batch_leaf_cut_short": case(leaf, "climb", batch_size=64, epsilon=0.001, max_samples=300),
    "batch_leaf_of_labels": case(leaf, "spread", batch_size=7, also=WORKERS),
    "batch_game": case(arm, "nim", batch_size=8, also=WORKERS),
    "batch_local": case(leaf, "trap", guarantee="local", expansion=0.05, epsilon=0.02, batch_size=4),
    # ask and tell
    "asked_arm": case(asked, "climb", task="arm"),
    "asked_leaf": case(asked, "climb", task="leaf", expansion=0.4),
    "asked_leaf_exact": case(asked, "exact climb", task="leaf"),
    "asked_game": case(asked, "nim", task="arm"),
    "asked_in_batches": case(asked_in_batches, "climb", sizes=(8,), task="leaf"),
    "asked_in_batches_of_many_sizes": case(asked_in_batches, "dag", sizes=(1, 5, 12), task="arm", expansion=0.6),
    # subsets of features as a problem
    "subsets_arm": case(arm, "triples", expansion=0.5),
    "subsets_whole": case(leaf, "pairs", epsilon=0.05),
    "subsets_random": case(leaf, "triples", expansion=0.5, proposal="random", max_samples=2000),
    "subsets_rave": case(leaf, "triples", expansion=0.5, proposal="rave", max_samples=2000),
    "subsets_lookahead": case(leaf, "subsets", expansion=0.5, proposal="lookahead"),
    "subsets_real": case(leaf, "real subsets", expansion=0.4),
    "subsets_in_batches": case(leaf, "triples", expansion=0.5, batch_size=8, also=WORKERS),
    "subsets_rave_in_batches": case(leaf, "triples", expansion=0.5, proposal="rave", batch_size=8, max_samples=1500),
    # the selector
    "select": case(selected, "classes", also=WORKERS),
    "select_grown": case(selected, "classes", guarantee="grown"),
    "select_wide": case(selected, "wide", epsilon=0.05),
    "select_real": case(selected, "real", guarantee="grown", epsilon=0.02),
    "select_classes": case(selected, "four classes", guarantee="grown", epsilon=0.02),
    "select_few_subsets": case(selected, "small"),
    "select_few_subsets_real": case(selected, "small real"),
    "select_frame": case(selected, "frame"),
    "select_grown_frame": case(selected, "frame", guarantee="grown", epsilon=0.05),
    "select_cut_short": case(selected, "classes", max_samples=400),
    "select_cut_in_warm_up": case(selected, "classes", max_samples=60),
    "select_largest": case(selected, "classes", guarantee="grown", parsimony=0, epsilon=0.03),
    "select_local": case(selected, "classes", guarantee="local", epsilon=0.03, max_features=4),
    "select_exhaustive": case(
        selected, "classes", guarantee="exhaustive", max_features=2, include=[4], exclude=[1, 3, 5, 9, 11]
    ),
    "select_forced_and_forbidden": case(
        selected, "classes", guarantee="grown", include=[2], exclude=[0, 5], max_features=4, epsilon=0.05
    ),
    "select_groups": case(
        selected,
        "classes",
        guarantee="grown",
        feature_groups=[[0, 1], [2], [3, 4, 5], *([one] for one in range(6, 14))],
        epsilon=0.05,
    ),
    "select_random": case(selected, "classes", proposal="random", epsilon=0.05, max_samples=1500, expansion=0.5),
    "select_rave": case(selected, "classes", proposal="rave", epsilon=0.05, max_samples=2000),
    "select_paper": case(selected, "classes", stopping="paper", bound="beta2", epsilon=0.05, max_samples=3000),
    "select_other_objective": case(
        selected,
        "classes",
        n_neighbors=3,
        ties="strict",
        scale=False,
        drop_zero=True,
        subsample=20,
        epsilon=0.05,
        max_samples=2000,
    ),
    "select_ties_by_row": case(selected, "classes", ties="row_order", epsilon=0.05, expansion=0.4),
    "select_of_very_many_rows": case(selected, "long", max_samples=100),
    # columns for new rows, as a user without options chooses them
    **{f"chosen_{table.replace(' ', '_')}": case(selected, table, **DEFAULT) for table in ("real", "many rows")},
    "chosen_classes": case(selected, "classes", **DEFAULT, also=WORKERS),
    "chosen_three_classes": case(selected, "three classes", **DEFAULT, metadata={"groups": np.arange(60) % 20}),
    "chosen_shop": case(selected, "shop", **DEFAULT, encode="auto"),
    "chosen_by_an_estimator": case(selected, "small", **DEFAULT, estimator=LogisticRegression(), scoring="roc_auc"),
    # the selector with an estimator
    "estimator": case(selected, "classes", **ESTIMATED, max_samples=250, also=WORKERS),
    "estimator_identified": case(selected, "small", **TREE, guarantee="grown", epsilon=0.15),
    "estimator_wide": case(selected, "wide", **TREE, max_samples=500),
    "estimator_few_subsets": case(selected, "small", **TREE),
    "estimator_real": case(selected, "real", estimator=LinearRegression(), cv=3, max_samples=300, scoring="r2"),
    "estimator_real_concordance": case(
        selected, "real", estimator=DecisionTreeRegressor(max_depth=2), cv=3, max_samples=300
    ),
    "estimator_one_split": case(
        selected,
        "small",
        estimator=DecisionTreeClassifier(max_depth=2),
        cv=[(range(40), range(40, 60))],
        guarantee="grown",
        max_samples=200,
    ),
    "estimator_five_folds": case(selected, "small", estimator=LogisticRegression(), guarantee="grown", max_samples=150),
    "estimator_with_metadata": case(
        selected,
        "small",
        estimator=DecisionTreeClassifier(max_depth=2),
        cv=GroupKFold(3),
        guarantee="grown",
        max_samples=200,
        metadata={"groups": np.arange(60) % 6, "sample_weight": 1.0 + np.arange(60) % 3},
    ),
    # the command line
    "command": case(commanded, "classes", "--epsilon", "0.05"),
    "command_estimator": case(commanded, "small", "--estimator", "linear", "--n-jobs", "1"),
    # rivals
    "fuse": case(fuse, "subsets"),
    "fuse_ucd": case(fuse, "subsets", variant="ucd", initial_rollouts=30),
    "alphafuse": case(fuse, "triples", backup=0.5, initial_rollouts=30),
    **{f"uct_{variant}": case(uct, "dag", variant=variant) for variant in ("uct1", "uct2", "uct3", "ucd")},
    "uct_depths": case(uct, "dag", variant=(2, 2, 1), bonus="ucb1_tuned", recommend="mean"),
    "uct_of_tree": case(uct, "tree"),
    "uct_compiled_problem": case(uct, "lattice", variant="ucd"),
    "uct_updates_all": case(uct, "hidden door", backup="all", max_samples=2000),
    "uct_updates_some": case(uct, "hidden door", backup=0.3, variant="uct2"),
    "uct_widening": case(uct, "climb", widening=0.4, initial_rollouts=3),
    "uct_exact": case(uct, "exact climb", variant="uct3"),
    "uct_game": case(uct, "nim"),
    "uct_game_ucd": case(uct, "game", variant="ucd"),
}
