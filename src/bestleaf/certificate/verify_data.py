"""The data of a feature selection: their fingerprint, and exact values computed again."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from bestleaf.certificate.extras import exact_values
from bestleaf.certificate.names import named_objective
from bestleaf.certificate.refusal import CLOSE, RefusedError, need


def fingerprint(X: Any, y: Any) -> str:
    """Return the SHA-256 of the numbers of a table and its targets, whatever container they come in."""
    data, target = np.asarray(X), np.asarray(y)
    digest = hashlib.sha256(repr(data.shape).encode())
    for column in data.T:
        digest.update(np.ascontiguousarray(column, np.float64).tobytes())
    if target.dtype.kind in "biuf":
        digest.update(np.ascontiguousarray(target, np.float64).tobytes())
    else:
        digest.update("\0".join(map(str, target.tolist())).encode())
    return digest.hexdigest()


def check_data(content: dict[str, Any], X: Any, y: Any, oracle: Any = None) -> str:
    """Compute the value of every exact leaf again; return what was checked in words."""
    data = content["data"]
    if data is None:
        raise RefusedError("the certificate is not about data, so there is nothing to compare the data with")
    if len(X) != data["rows"]:
        raise RefusedError(
            f"the certificate is about {data['rows']:,} rows, got {len(X):,} (with holdout, the search "
            "has seen the rows search_indices_ of the selector)"
        )
    if fingerprint(X, y) != data["fingerprint"]:
        raise RefusedError("these are not the data the certificate is about (their fingerprints differ)")
    _check_names(data["names"], X)
    oracle = _oracle(data, X, y, oracle)
    if oracle is None:
        return (
            "The data are the ones it is about; exact values were not computed again, because that takes the "
            "estimator: give verify an oracle, EstimatorOracle(X, y, estimator=..., ...)."
        )
    for name, many in oracle.counts(sampled=data["terminal"] == "noisy").items():
        need(many == data[name], f"the value is of {many!r} {name} on these data, not {data[name]!r}")
    if data["terminal"] == "noisy":
        return "The data are the ones it is about; values are sampled, so there are none to compute again."
    values = exact_values(content)
    for units, written in values.items():
        features = [feature for unit in units for feature in data["groups"][unit]]
        value = oracle.value(features)
        if abs(value - written) > CLOSE:
            raise RefusedError(f"the value of {sorted(units)} is {value:.6g} on these data, not {written:.6g}")
    return f"The data are the ones it is about; {len(values):,} exact values were computed again."


def _oracle(data: dict[str, Any], X: Any, y: Any, given: Any) -> Any:
    """Return what computes values again; None if it takes an estimator and none was given."""
    from bestleaf.oracles import KNNOracle

    objective = data["objective"]
    if objective.get("kind") != "estimator":
        return KNNOracle(np.asarray(X), np.asarray(y), **objective)
    if given is not None and named_objective(given.settings()) != objective:
        mine = named_objective(given.settings())
        other = next(name for name, value in objective.items() if mine.get(name) != value)
        raise RefusedError(f"the oracle has the {other} {mine.get(other)!r}, the certificate {objective[other]!r}")
    return given


def _check_names(names: list[str], X: Any) -> None:
    """Refuse a frame whose columns have other names; data without names have none to compare."""
    columns = [column for column in getattr(X, "columns", []) if isinstance(column, str)]
    unnamed = [f"x{number}" for number in range(len(names))]
    if columns and names not in (columns, unnamed):
        strange = next((name for name, column in zip(names, columns, strict=False) if name != column), names[-1])
        raise RefusedError(f"the feature called {strange!r} has another name in these data")
