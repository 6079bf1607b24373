"""The methods that `new_data.py` compares: bestleaf, its peers, and on Madelon what nobody can know."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial

import numpy as np
from selection import floating
from tables import MADELON_RELEVANT

from bestleaf import BestLeafSelector
from bestleaf.features.neighbours import KNNOracle
from bestleaf.tables.peers import PEERS, Setting

Found = tuple[np.ndarray, dict[str, object]]  # which features, and further results of the method
Method = Callable[[np.ndarray, np.ndarray, Setting], Found]


def all_features(X: np.ndarray, y: np.ndarray, setting: Setting) -> Found:
    return np.ones(X.shape[1], bool), {}


def ours(X: np.ndarray, y: np.ndarray, setting: Setting, **keywords: object) -> Found:
    """Select with bestleaf. Keywords that this version does not have are left out, and named in the record."""
    known = inspect.signature(BestLeafSelector).parameters
    unknown = {"unknown": sorted(keywords.keys() - known.keys())} if keywords.keys() - known.keys() else {}
    keywords = {name: value for name, value in keywords.items() if name in known}
    if setting.estimator is not None:
        two = len(np.unique(y)) == 2
        keywords |= {"estimator": setting.model, "scoring": "roc_auc" if two else "roc_auc_ovr"}
    else:
        y = y.astype(str)  # so that many classes are not taken for numbers
    selector = BestLeafSelector(random_state=setting.seed, n_jobs=1, **keywords).fit(X, y)
    return selector.support_, {**chosen_by(selector), **unknown}


def chosen_by(selector: BestLeafSelector) -> dict[str, object]:
    """Return what the selector says about new rows: the family chosen, its left-out score, and its sentences."""
    certificate = selector.certificate_
    choice = certificate.content.get("new_data")
    if choice is None:
        return {}
    numbers = {"family": choice["family"], **choice["judged"]}
    return {**numbers, "says": certificate.new_data_in_words()}


def peer(key: str, X: np.ndarray, y: np.ndarray, setting: Setting) -> Found:
    return PEERS[key].support(X, y, setting), {}


def relevant_features(X: np.ndarray, y: np.ndarray, setting: Setting) -> Found:
    """Select all features of Madelon that are not noise, which nobody can know."""
    return np.isin(np.arange(1, X.shape[1] + 1), MADELON_RELEVANT), {}


def floating_among_relevant(X: np.ndarray, y: np.ndarray, setting: Setting) -> Found:
    """Select by floating selection among the features of Madelon that are not noise, by the value of our search."""
    relevant = np.array(MADELON_RELEVANT) - 1
    subset, _, _ = floating(KNNOracle(X[:, relevant], y))
    return np.isin(np.arange(X.shape[1]), relevant[subset]), {}


OURS: dict[str, Method] = {
    "bestleaf": ours,
    "bestleaf-parsimony": partial(ours, parsimony=1.0),
    "bestleaf-training": partial(ours, choose="training"),
}
ORACLES: dict[str, Method] = {"floating-relevant": floating_among_relevant, "relevant": relevant_features}
METHODS: dict[str, Method] = {
    "all": all_features,
    **OURS,
    **{key: partial(peer, key) for key in PEERS},
    **ORACLES,
}


def warm_up() -> None:
    """Compile what the searches need."""
    X = np.random.default_rng(0).normal(size=(90, 16))  # too many subsets to evaluate all of them
    for classes in (2, 3):
        ours(X, np.arange(90) % classes, Setting("classification"), max_samples=3000)
