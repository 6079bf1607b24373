"""What the selector maximises: the votes of nearest neighbours, or the score of any estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection._split import GroupsConsumerMixin

from bestleaf.checks import shown
from bestleaf.executors import Executor, executor_for, workers_there
from bestleaf.features import FeatureLattice, SampledLattice
from bestleaf.oracles import KNNOracle
from bestleaf.oracles.estimator import EstimatorOracle
from bestleaf.selector.inputs import task_of
from bestleaf.selector.memory import room_for_votes

METADATA = ("sample_weight", "groups")
BATCH_OF_FITS = 32  # samples asked for at once where each one fits an estimator
BATCH_OF_QUERIES = 16  # where each one takes a walk through very many examples

Oracle = KNNOracle | EstimatorOracle


def checked_metadata(selector: Any, given: dict[str, Any], rows: int) -> dict[str, np.ndarray]:
    """Return what was given to `fit` beside the data, or say in one sentence why it cannot be used."""
    found = {name: np.asarray(value) for name, value in given.items() if value is not None}
    if strange := sorted(set(found) - set(METADATA)):
        raise TypeError(f"fit takes X, y, {' and '.join(METADATA)}, got {shown(strange[0])}")
    for name, value in found.items():
        if value.shape != (rows,):
            raise ValueError(f"{name} must have one value for each of the {rows} rows, got shape {value.shape}")
        if selector.estimator is None and (name != "groups" or selector.holdout is None):
            raise ValueError(f"{name} cannot be used by the votes of nearest neighbours; give an estimator that can")
    _check_holdout(selector.holdout, selector.cv, "groups" in found)
    return found


def _check_holdout(holdout: Any, cv: Any, grouped: bool) -> None:
    """Refuse splits that do not go with examples kept aside, or that would part groups."""
    if holdout is None:
        return
    if isinstance(cv, list | tuple):
        raise ValueError("cv must be a number or a splitter with holdout, got a list of rows of all the data")
    if grouped and not isinstance(holdout, float | GroupsConsumerMixin):
        raise ValueError(
            f"holdout must be a share or a splitter by groups, because groups are given, got {shown(holdout)}"
        )


def oracle_of(selector: Any, X: np.ndarray, y: np.ndarray, metadata: dict[str, np.ndarray], seed: int) -> Oracle:
    """Return what a subset is worth."""
    if selector.estimator is not None:
        return EstimatorOracle(
            X,
            y,
            estimator=selector.estimator,
            scoring=selector.scoring,
            cv=selector.cv,
            score_range=selector.score_range,
            fresh_splits=selector.terminal == "noisy",
            random_state=seed,
            **metadata,
        )
    for name in ("scoring", "cv", "score_range"):
        if getattr(selector, name) is not None:
            raise ValueError(
                f"{name} needs an estimator to score, got {shown(getattr(selector, name))} and estimator=None"
            )
    return KNNOracle(
        X,
        y,
        task=task_of(y, selector.task),
        n_neighbors=selector.n_neighbors,
        subsample=selector.subsample,
        ties=selector.ties,
        scale=selector.scale,
        drop_zero=selector.drop_zero,
        n_jobs=workers_there(selector.n_jobs),
        **room_for_votes(selector.max_memory, X, y),
    )


def lattice_of(selector: Any, oracle: Oracle) -> type[FeatureLattice] | type[SampledLattice]:
    """Return the kind of lattice: with exact values, or with sampled ones if asked for or if exact ones are dear."""
    dear = isinstance(oracle, KNNOracle) and len(oracle.queries) < oracle.n_samples
    noisy = selector.terminal == "noisy" or (selector.terminal == "auto" and dear)
    if noisy and selector.algorithm != "bli":
        return FeatureLattice
    return SampledLattice if noisy else FeatureLattice


def batch_size_of(selector: Any, lattice: Any) -> int | None:
    """Return how many samples are asked for at once; None leaves all of it to the kernels."""
    if selector.batch_size is not None:
        return int(selector.batch_size)
    if selector.estimator is not None:
        return BATCH_OF_FITS
    return BATCH_OF_QUERIES if lattice.noisy and lattice.oracle.value_cost < lattice.oracle.n_samples**2 else None


def executor_of(selector: Any) -> Executor:
    """Return who draws the samples of a batch: threads for the neighbour kernels, processes for estimators."""
    return executor_for(selector.n_jobs, "threads" if selector.estimator is None else "processes")
