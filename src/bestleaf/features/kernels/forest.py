"""Extremely randomised trees on codes: columns of whole numbers from 0 to 255, such as the numbers of quantiles.

A tree tries a few columns at each node, each with one random cut between its smallest and its largest code there, and
takes the cut that explains most (Geurts, Ernst and Wehenkel, 2006). Targets are whole numbers, so sums are exact: 0 and
1 for two classes, a fine grid for real targets, numbers of classes for more of them. Each tree has a random stream of
its own, so it does not matter how many are grown at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestleaf.engine.compile import helper, inlined, kernel


class GrowingRows(NamedTuple):
    """Rows to grow trees on, and rows to predict."""

    codes: np.ndarray  # uint8 [columns, rows]
    used: np.ndarray  # int64: the columns that trees may use
    targets: np.ndarray  # int64 [rows]
    new: np.ndarray  # uint8 [columns, rows to predict]


class TreeShape(NamedTuple):
    """What trees look like."""

    classes: int  # 1 for real targets and for two classes: then leaves predict the mean
    tried: int  # columns tried at a node
    leaf: int  # fewest rows of a leaf
    depth: int
    chance: float = 0.0  # importance is what a cut explains beyond so many variances of the targets of its node


class Scratch(NamedTuple):
    """Memory that a forest works with."""

    row: np.ndarray  # int64 [rows]: the rows, those of a node side by side
    target: np.ndarray  # int64 [rows]: their targets
    code: np.ndarray  # uint8 [rows]: their codes in one column
    new_row: np.ndarray  # int64 [rows to predict]
    stack: np.ndarray  # int64 [2 depth + 2, 5]: nodes to do; first and last row, first and last new row, depth
    total: np.ndarray  # float64 [classes]
    field: np.ndarray  # int64 [classes]: where the field of a class begins; see `pack`
    word: np.ndarray  # int64 [words x rows]: a 1 in the field of the row's class
    inside: np.ndarray  # int64 [words]: their sums
    shuffled: np.ndarray  # int64 [columns used]
    state: np.ndarray  # uint64 [1]: of the random stream

    @classmethod
    def of(cls, rows: int, new_rows: int, classes: int, depth: int) -> Scratch:
        """Return memory for some rows; that for the columns used is still empty."""
        words = 0 if classes == 1 else -(-classes // (63 // rows.bit_length()))
        return cls(
            row=np.empty(rows, np.int64),
            target=np.empty(rows, np.int64),
            code=np.empty(rows, np.uint8),
            new_row=np.empty(new_rows, np.int64),
            stack=np.empty((2 * depth + 2, 5), np.int64),
            total=np.empty(classes),
            field=np.empty(classes, np.int64),
            word=np.empty(words * rows, np.int64),
            inside=np.empty(words, np.int64),
            shuffled=np.empty(0, np.int64),
            state=np.empty(1, np.uint64),
        )


@inlined
def drawn(state, many):
    """Return a random number from 0 to many - 1 (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return np.int64(((mixed >> np.uint64(32)) * np.uint64(many)) >> np.uint64(32))


@inlined
def gather(column, row, code):
    """Copy the codes of some rows; return the smallest and the largest."""
    for place in range(len(row)):
        code[place] = column[row[place]]
    low, high = code[0], code[0]
    for place in range(len(code)):
        low, high = min(low, code[place]), max(high, code[place])
    return np.int64(low), np.int64(high)


@inlined
def on_the_left(code, target, cut):
    """Return how many codes are at most `cut`, and the sum of their targets."""
    many, total, last = np.int64(0), np.int64(0), np.uint8(cut)
    for place in range(len(code)):
        inside = np.int64(code[place] <= last)
        many += inside
        total += inside * target[place]
    return many, total


@inlined
def explained(code, target, cut, leaf, total):
    """Return by how much a cut reduces the sum of squares of targets; 0 if it is not allowed."""
    rows = len(code)
    many, left = on_the_left(code, target, cut)
    if many < leaf or rows - many < leaf:
        return 0.0
    left, right = np.float64(left), total - left
    return left * left / many + right * right / (rows - many) - total * total / rows


@inlined
def pack(target, total, scratch):
    """Give each class of a node a field of a word that can count its rows; return (bits of a field, number of words).

    Then the rows of all classes are counted by adding up a few words for each row.
    """
    rows, bits, words, used = len(target), 1, 0, 64
    while rows >> bits > 0:
        bits += 1
    field = scratch.field
    for one in range(len(total)):
        if total[one] > 0:
            if used + bits > 63:
                words, used = words + 1, 0
            field[one] = 64 * (words - 1) + used
            used += bits
    for word in range(words):
        line = scratch.word[word * rows : (word + 1) * rows]
        for place in range(rows):
            at = field[target[place]] - 64 * word
            line[place] = np.int64(1) << at if 0 <= at < 64 else np.int64(0)
    return bits, words


@inlined
def explained_of_classes(code, cut, leaf, total, fields, scratch):
    """Return by how much a cut reduces the sum of squares of indicators of classes; 0 if it is not allowed."""
    rows, (bits, words), last = len(code), fields, np.uint8(cut)
    for number in range(words):
        line, among = scratch.word[number * rows : (number + 1) * rows], np.int64(0)
        for place in range(rows):
            among += line[place] if code[place] <= last else np.int64(0)
        scratch.inside[number] = among
    many, inside, outside, before = 0, 0.0, 0.0, 0.0
    number, used, among, field = 0, 0, scratch.inside[0], (np.int64(1) << bits) - 1
    for one in range(len(total)):
        if total[one] > 0:
            if used + bits > 63:
                number, used = number + 1, 0
                among = scratch.inside[number]
            here = among & field
            among >>= bits
            used += bits
            many += here
            left = np.float64(here)
            right = total[one] - left
            inside += left * left
            outside += right * right
            before += total[one] * total[one]
    if many < leaf or rows - many < leaf:
        return 0.0
    return inside / many + outside / (rows - many) - before / rows


@inlined
def weigh(target, total):
    """Write the sum of targets, or the rows of each class; return whether all targets are the same."""
    total[:] = 0.0
    same = True
    if len(total) == 1:
        among = np.int64(0)
        for place in range(len(target)):
            among += target[place]
            same &= target[place] == target[0]
        total[0] = among
    else:
        for place in range(len(target)):
            total[target[place]] += 1.0
            same &= target[place] == target[0]
    return same


@helper
def best_cut(table, shape, scratch, first, last):
    """Return (place of the column among those used, cut, gain) of the best of the cuts tried; -1 if none is good."""
    row, target, code = scratch.row[first:last], scratch.target[first:last], scratch.code[: last - first]
    shuffled, used = scratch.shuffled, len(table.used)
    best, best_at, most, tried, looked = -1, 0, 1e-9, 0, 0
    total = scratch.total
    fields = pack(target, total, scratch) if len(total) > 1 else (0, 0)
    while looked < used and tried < shape.tried:
        other = looked + drawn(scratch.state, used - looked)
        place = shuffled[other]
        shuffled[other], shuffled[looked] = shuffled[looked], place
        looked += 1
        low, high = gather(table.codes[table.used[place]], row, code)
        if low == high:
            continue  # a column that is constant here does not count as tried
        tried += 1
        cut = low + drawn(scratch.state, high - low)
        if len(total) == 1:
            gain = explained(code, target, cut, shape.leaf, total[0])
        else:
            gain = explained_of_classes(code, cut, shape.leaf, total, fields, scratch)
        if gain > most:
            best, best_at, most = place, cut, gain
    return best, best_at, most


@inlined
def variance(target, total):
    """Return the variance of the targets of a node, that of class indicators for classes."""
    rows = len(target)
    if len(total) > 1:
        found = 1.0
        for one in range(len(total)):
            found -= (total[one] / rows) ** 2
        return found
    found, mean = 0.0, total[0] / rows
    for place in range(rows):
        found += (target[place] - mean) ** 2
    return found / rows


@inlined
def divide(column, cut, row, first, last):
    """Move the rows with codes of at most `cut` to the front; return where the others begin."""
    while first < last:
        if column[row[first]] <= cut:
            first += 1
        else:
            last -= 1
            row[first], row[last] = row[last], row[first]
    return first


@helper
def grow_tree(table, shape, scratch, importance, out):
    """Grow one tree; add to the importance of the columns used, and to the predictions."""
    row, stack, total = scratch.row, scratch.stack, scratch.total
    for place in range(len(row)):
        row[place] = place
    for place in range(len(scratch.new_row)):
        scratch.new_row[place] = place
    for place in range(len(scratch.shuffled)):
        scratch.shuffled[place] = place
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = 0, len(row), 0, len(scratch.new_row), 0
    top = 1
    while top > 0:
        top -= 1
        first, last, new_first, new_last, depth = (
            stack[top, 0],
            stack[top, 1],
            stack[top, 2],
            stack[top, 3],
            stack[top, 4],
        )
        for place in range(first, last):
            scratch.target[place] = table.targets[row[place]]
        same = weigh(scratch.target[first:last], total)
        best = -1
        if not same and last - first >= 2 * shape.leaf and depth < shape.depth:
            best, cut, gain = best_cut(table, shape, scratch, first, last)
        if best < 0:
            for one in range(len(total)):
                for place in range(new_first, new_last):
                    out[scratch.new_row[place], one] += total[one] / (last - first)
            continue
        if shape.chance > 0.0:
            gain = max(gain - shape.chance * variance(scratch.target[first:last], total), 0.0)
        importance[best] += gain
        column = table.used[best]
        middle = divide(table.codes[column], cut, row, first, last)
        new_middle = divide(table.new[column], cut, scratch.new_row, new_first, new_last)
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = first, middle, new_first, new_middle
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2], stack[top + 1, 3] = middle, last, new_middle, new_last
        stack[top, 4] = stack[top + 1, 4] = depth + 1
        top += 2


@kernel
def grow(table, shape, scratch, seed, trees, importance, out):
    """Grow the trees from `trees[0]` to before `trees[1]`, adding up importances and predictions."""
    for tree in range(trees[0], trees[1]):
        scratch.state[0] = np.uint64(seed)
        drawn(scratch.state, 2)
        scratch.state[0] ^= np.uint64(tree) * np.uint64(0x94D049BB133111EB)
        grow_tree(table, shape, scratch, importance, out)


@kernel
def nearest_means(distance, targets, near, which, out):
    """Write the mean target of the rows at the smallest distances; of equal ones the first.

    `near` and `which` are scratch memory for the distances and the numbers of the nearest.
    """
    many = len(near)
    for row in range(len(distance)):
        found = 0
        for other in range(len(targets)):
            far = distance[row, other]
            if found < many:
                place = found
                found += 1
            elif far < near[many - 1]:
                place = many - 1
            else:
                continue
            while place > 0 and near[place - 1] > far:
                near[place], which[place] = near[place - 1], which[place - 1]
                place -= 1
            near[place], which[place] = far, other
        for output in range(targets.shape[1]):
            total = 0.0
            for place in range(many):
                total += targets[which[place], output]
            out[row, output] = total / many
