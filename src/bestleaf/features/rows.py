"""Groups and weights of rows, checked; fingerprints of tables, of groups and of weights.

Rows of one group belong together, such as all visits of a patient. A row of weight 2 counts as two rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import ArrayLike

LARGEST_WEIGHT = 1e100  # the products of two sums of weights are finite


def group_numbers(groups: ArrayLike, rows: int) -> np.ndarray:
    """Return the number of the group of each row; groups are numbered in the order in which they first appear.

    So the numbers do not depend on how the groups are called.
    """
    given = np.asarray(groups)
    if given.shape != (rows,):
        raise ValueError(f"groups must have one value for each of the {rows} rows, got shape {given.shape}")
    labels = given.astype(str) if given.dtype.kind == "O" else given  # labels of several kinds cannot be sorted
    if given.dtype.kind == "O":
        missing = np.array([one is None or one != one for one in given.tolist()])
    else:
        missing = np.isnan(given) if given.dtype.kind == "f" else np.zeros(rows, bool)
    if missing.any():
        raise ValueError(f"groups must not have missing values, got {missing.sum():,} of them")
    _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers.ravel()].astype(np.int32)


def groups_digest(groups: ArrayLike, rows: int) -> str:
    """Return the SHA-256 of which rows belong together."""
    return sha256(group_numbers(groups, rows).astype(np.int64).tobytes()).hexdigest()


def checked_weights(weights: ArrayLike, rows: int) -> np.ndarray:
    """Return the weight of each row; refuse what is no weight."""
    try:
        found = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must be {rows} numbers of at least 0, got text or lists") from None
    if found.shape != (rows,) or not (np.isfinite(found) & (found >= 0)).all():
        got = f"shape {found.shape}" if found.shape != (rows,) else f"{found.min():g} to {found.max():g}"
        raise ValueError(f"sample_weight must be {rows} finite numbers of at least 0, got {got}")
    if found.max() > LARGEST_WEIGHT:  # sums of products of weights must stay finite
        raise ValueError(f"sample_weight must be at most {LARGEST_WEIGHT:g}, got {found.max():g}")
    return found


def weights_digest(weights: ArrayLike, rows: int) -> str:
    """Return the SHA-256 of the weights of the rows."""
    return sha256(checked_weights(weights, rows).tobytes()).hexdigest()


def check_voters(numbers: np.ndarray, n_neighbors: int) -> None:
    """Refuse groups that leave too few rows of other groups to vote."""
    if (left := len(numbers) - int(np.bincount(numbers).max())) < n_neighbors:
        raise ValueError(
            f"groups must leave every row at least {n_neighbors} rows of other groups, which vote on it, got {left} "
            "beside the largest group"
        )


def fingerprint(X: ArrayLike, y: ArrayLike) -> str:
    """Return the SHA-256 of the numbers of a table and its targets; data frames and arrays give the same."""
    data, target = np.asarray(X), np.asarray(y)
    digest = sha256(repr(data.shape).encode())
    for column in data.T:
        digest.update(_column_bytes(column))
    digest.update(_target_bytes(target))
    return digest.hexdigest()


def column_checksums(X: ArrayLike, y: ArrayLike, columns: Sequence[Sequence[int]] | None = None) -> list[int]:
    """Return a checksum of each feature and, last, of the target. They say which one differs, not that none does.

    `columns` has the columns of X that each feature became; None if every feature is one column.
    """
    data, found = np.asarray(X), list[int]()
    for some in ([column] for column in range(data.shape[1])) if columns is None else columns:
        found.append(zlib.crc32(b"".join(_column_bytes(data[:, column]) for column in some)))
    return [*found, zlib.crc32(_target_bytes(np.asarray(y)))]


def _column_bytes(column: np.ndarray) -> bytes:
    numbers = np.ascontiguousarray(column, np.float64)
    if np.isnan(numbers).any():  # there are many ways to write a missing value in bits
        numbers = np.where(np.isnan(numbers), np.nan, numbers)
    return numbers.tobytes()


def _target_bytes(target: np.ndarray) -> bytes:
    if target.dtype.kind in "biuf":
        return np.ascontiguousarray(target, np.float64).tobytes()
    return "\0".join(map(str, target.tolist())).encode()
