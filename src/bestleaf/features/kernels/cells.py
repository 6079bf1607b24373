"""RAVE sums by node, stored sparsely: most nodes are never sampled, and a rollout meets few of the units.

A cell is for one unit at one node. It holds a key (node x units + unit), the next cell of the node, the sum and the
number of values. The cells of a node are a linked list; a hash table finds the cell of a key. Kernels allocate the
memory, because only they know when a unit is met for the first time; `Rollouts` releases it.
"""

import numpy as np

from bestleaf.engine.compile import floats_at, helper, inlined, kernel, longs_at
from bestleaf.features.kernels.records import allocate_at, release_at

FIRST_ROOM = 1024
GOLDEN = np.uint64(11400714819323198485)  # 2^64 over the golden ratio: spreads keys over the table


@inlined
def place_of(key, oracle):
    """Return the place in the hash table where the search for a key begins."""
    return np.int64((np.uint64(key) * GOLDEN) >> np.uint64(64 - oracle.bits))


@inlined
def next_place(place, oracle):
    """Return the next place in the hash table."""
    return (place + 1) & ((1 << oracle.bits) - 1)


@helper
def make_room(oracle):
    """Move all cells to memory of twice the size; return False if there is no memory."""
    room = max(FIRST_ROOM, 2 * oracle.room)
    cells = allocate_at(oracle.allocate)(room, 32)
    index = allocate_at(oracle.allocate)(2 * room, 8)
    if cells == 0 or index == 0:
        release_at(oracle.release)(cells)
        release_at(oracle.release)(index)
        return False
    old, new = longs_at(oracle.cells, 4 * oracle.room), longs_at(cells, 4 * room)
    for place in range(4 * oracle.used):
        new[place] = old[place]
    release_at(oracle.release)(oracle.cells)
    release_at(oracle.release)(oracle.index)
    oracle.cells, oracle.index, oracle.room = cells, index, room
    oracle.bits = 1
    while (1 << oracle.bits) < 2 * room:
        oracle.bits += 1
    places = longs_at(index, 2 * room)
    for cell in range(1, oracle.used):
        place = place_of(new[4 * cell], oracle)
        while places[place] != 0:
            place = next_place(place, oracle)
        places[place] = cell
    return True


@helper
def add_to_cell(node, unit, total, number, oracle):
    """Add to the sum and the number of a unit at a node; do nothing if there is no memory for a new cell."""
    if oracle.used >= oracle.room:
        if not make_room(oracle):
            return
        oracle.used = max(oracle.used, 1)
    key = node * oracle.units + unit
    cells, places = longs_at(oracle.cells, 4 * oracle.room), longs_at(oracle.index, 2 * oracle.room)
    place = place_of(key, oracle)
    while places[place] != 0 and cells[4 * places[place]] != key:
        place = next_place(place, oracle)
    if places[place] == 0:
        heads, cell = longs_at(oracle.heads, node + 1), oracle.used
        cells[4 * cell], cells[4 * cell + 1] = key, heads[node]
        places[place] = heads[node] = cell
        oracle.used += 1
    sums = floats_at(oracle.cells, 4 * oracle.room)
    sums[4 * places[place] + 2] += total
    sums[4 * places[place] + 3] += number


@kernel
def add_cells(keys, sums, oracle):
    """Add [keys, 2] sums and numbers to the cells of these keys."""
    for place in range(len(keys)):
        node = keys[place] // oracle.units
        add_to_cell(node, keys[place] - node * oracle.units, sums[place, 0], sums[place, 1], oracle)


@kernel
def sum_cells(nodes, found, oracle):
    """Add the sums and numbers at some nodes to `found` [units, 2]."""
    heads, cells = longs_at(oracle.heads, 1 << 40), longs_at(oracle.cells, 4 * oracle.room)
    sums = floats_at(oracle.cells, 4 * oracle.room)
    for node in nodes:
        cell = heads[node]
        while cell != 0:
            unit = cells[4 * cell] - node * oracle.units
            found[unit, 0] += sums[4 * cell + 2]
            found[unit, 1] += sums[4 * cell + 3]
            cell = cells[4 * cell + 1]
