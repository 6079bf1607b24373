"""A k-d tree of the rows that vote: with few features it finds the nearest ones without looking at all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestleaf.engine.records import Workplace
from bestleaf.features.kernels.tree import tree_sums

EXAMPLES_A_LEAF = 48  # about so many rows are in a leaf of the tree; fewer or more took longer
# What a query takes, in nanoseconds as measured. With a tree: so much for no feature, by so much more for each feature,
# and for each row that votes when the tree is built. Without a tree: for each row, and for each of its features.
A_DESCENT, MORE_A_FEATURE, A_ROW_OF_A_TREE = 330.0, 1.6, 250.0
A_ROW, A_DIFFERENCE = 0.25, 0.08
MOST_FEATURES = 8  # with more features a tree has to be searched in most parts


class Tree(NamedTuple):
    """Rows sorted into boxes; `kernels.tree.tree_sums` says what the arrays are."""

    points: np.ndarray
    members: np.ndarray
    boxes: np.ndarray
    firsts: np.ndarray

    @classmethod
    def of(cls, columns: np.ndarray) -> Tree:
        """Return the tree of some rows, given as [features, rows].

        Every box is halved along its longest side, and a box of equal rows by their numbers, until about 48 rows are
        left. If rows are missing to make all leaves equally large, the last row is repeated under numbers that are too
        large.
        """
        features, rows = columns.shape
        depth = max(0, int(np.ceil(np.log2(rows / EXAMPLES_A_LEAF))))
        many = -(-rows // 2**depth) * 2**depth
        members = np.arange(many)
        points = columns.take(np.minimum(members, rows - 1), axis=1)
        if features == 1:  # halving again and again would only sort
            members = np.argsort(points[0], kind="stable")
            points = points.take(members, axis=1)
        else:
            for level in range(depth):
                points, members = _halved(points, members, 2**level)
        low, high = (_by_node(points, depth, reduce) for reduce in (np.minimum, np.maximum))
        firsts = _by_node(members[None, :], depth, np.minimum)[0]
        return cls(points, members, np.ascontiguousarray(np.concatenate([low, high]).T), firsts)

    def sums(self, places: np.ndarray, queries: np.ndarray, place: Workplace) -> tuple[np.ndarray, int]:
        """Return the sums of `neighbour_sums` for the queries at some places, and how many leaves were searched."""
        record, many = place.record, int(len(self.members) * 2 // (len(self.firsts) + 1))
        depth = int(np.log2(len(self.firsts) + 1))
        found = np.empty((len(places), int(record["outputs"])), np.float32)
        scratch = (
            np.empty(depth + 2, np.int64),
            np.empty(depth + 2, np.float32),
            np.empty(many, np.float32),
            np.empty(int(record["neighbours"]), np.float32),
        )
        return found, tree_sums(places, queries, *self, scratch, record, found)


def _halved(points: np.ndarray, members: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of each node sorted into a lower and an upper half along its longest side."""
    boxes, numbers = points.reshape(len(points), nodes, -1), members.reshape(nodes, -1)
    sides = boxes.max(axis=2) - boxes.min(axis=2)
    along = np.arange(nodes)
    keys = np.where(sides.max(axis=0)[:, None] > 0, boxes[sides.argmax(axis=0), along], numbers)
    halves = np.argpartition(keys, keys.shape[1] // 2, axis=1)
    order = (along[:, None] * keys.shape[1] + halves).ravel()
    return points.take(order, axis=1), members[order]


def _by_node(values: np.ndarray, depth: int, reduce: np.ufunc) -> np.ndarray:
    """Return the smallest or largest values of all nodes, from the root on, of [kinds, rows] in the order of leaves."""
    levels = [reduce.reduce(values.reshape(len(values), 2**depth, -1), axis=2)]
    for _ in range(depth):
        levels.append(reduce(levels[-1][:, ::2], levels[-1][:, 1::2]))
    return np.concatenate(levels[::-1], axis=1)


def tree_is_faster(features: int, queries: int, examples: int) -> bool:
    """Return whether a tree finds the nearest of so many examples faster than a look at all of them."""
    if not 0 < features <= MOST_FEATURES:
        return False
    look_at_all = examples * (A_ROW + A_DIFFERENCE * features)
    return A_DESCENT * MORE_A_FEATURE**features + A_ROW_OF_A_TREE * examples / queries < look_at_all
