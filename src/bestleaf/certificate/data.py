"""The data of a feature selection: their fingerprint, and exact values computed again."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from bestleaf.certificate.compare import CLOSE
from bestleaf.certificate.errors import RefusedError


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


def check_data(content: dict[str, Any], X: Any, y: Any) -> str:
    """Compute the value of every exact leaf again; return what was checked in words."""
    from bestleaf.oracles import KNNOracle

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
    oracle = KNNOracle(np.asarray(X), np.asarray(y), **data["objective"])
    exact = [leaf for leaf in content["leaves"] if leaf["exact"]]
    for leaf in exact:
        features = [feature for unit in leaf["label"][:-1] for feature in data["groups"][unit]]
        value = oracle.value(features)
        if abs(value - leaf["lower"]) > CLOSE:
            raise RefusedError(
                f"the value of leaf {leaf['label']} is {value:.6g} on these data, not {leaf['lower']:.6g}"
            )
    for challenge in content["challenges"].values():
        for label, written in challenge["subsets"]:
            value = oracle.value([feature for unit in label[:-1] for feature in data["groups"][unit]])
            if abs(value - written) > CLOSE:
                raise RefusedError(f"the value of {label} is {value:.6g} on these data, not {written:.6g}")
    return f"The data are the ones it is about; {len(exact):,} exact values were computed again."
