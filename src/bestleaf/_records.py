"""What crosses into the kernels: one record a node, one record of the world, and what comes back.

What belongs to a node lies together in memory. All a kernel gets is a single record of the `WORLD`, which
holds the addresses of the arrays: arrays that cross a call cost time both to call and to compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


def _record(**fields: str) -> np.dtype:
    """Return a record type; "i" is a whole number, "f" a floating-point number."""
    return np.dtype([(name, {"i": np.int64, "f": np.float64}[kind]) for name, kind in fields.items()])


def enlarged(array: np.ndarray, size: int, fill: Any = 0) -> np.ndarray:
    """Return `array`, or a copy at least `size` and at least twice as long, filled with `fill` at the end."""
    if size <= len(array):
        return array
    longer = np.full((max(size, 2 * len(array)), *array.shape[1:]), fill, array.dtype)
    longer[: len(array)] = array
    return longer


class Workplace:
    """A record for the kernels, and the arrays behind its addresses."""

    def __init__(self, kind: np.dtype) -> None:
        self.record = np.zeros(1, kind)[0]
        self.arrays: dict[str, np.ndarray] = {}

    def set(self, **numbers: Any) -> None:
        """Write numbers into the record."""
        for name, number in numbers.items():
            self.record[name] = number

    def point(self, **arrays: np.ndarray) -> None:
        """Write addresses of arrays into the record and keep the arrays."""
        for name, array in arrays.items():
            assert array.flags.c_contiguous
            self.arrays[name] = array
            self.record[name] = array.ctypes.data


NODE = _record(
    child_start="i",  # where the block of children begins in the edges
    child_count="i",
    parent_start="i",
    parent_count="i",
    level="i",  # longest path from the root
    label="i",  # equal labels stand for the same state
    twin="i",  # another node with the same label; all of them form a ring
    kind="i",  # INNER, TEMPORARY, NOISY or EXACT
    missing="i",  # children in D that are not in D_t
    minimizes="i",  # 1 where the opponent moves
    adversarial="i",  # of the root: 1 when there is an opponent at all
)

# What is known of a node; of an inner node it is a function of its children alone.
INTERVAL = _record(
    lower="f",  # L
    upper="f",  # U
    child="i",  # representative child (of a leaf: itself)
    leaf="i",  # representative leaf (of a leaf: itself)
    count="i",  # N, samples of a leaf
    total="f",  # sum of the samples of a leaf
    lot="i",  # drawn once for every node: of equals the one with the larger lot goes first
)

# Where the search has looked, and marks of the kernels on the node.
TRACK = _record(
    share="f",  # a leaf's part of delta
    visits="i",  # T_s, descents through the node
    rounds="i",  # t_s, rounds spent on the choice at the node
    grow_at="i",  # the value of t_s at which the graph grows next under the node
    opened="i",  # 1 once the search has been asked to choose here
    deepened="i",  # times the graph has grown under the node because there was nothing to compare
    waiting="i",  # 1 while the node waits for a refresh
    following="i",  # the next node that waits on the same level
    seen="i",  # number of the last walk that met the node
    ancestors="i",  # 1 + number of ancestors, 0 for unknown
    cone="i",  # row of `inside` that belongs to the node, -1 for none
)

# What is remembered of the nodes below one.
CONE = _record(
    node="i",  # whose cone it is, -1 for nobody's
    rival="i",  # the strongest leaf outside, -1 for none
    upper="f",  # its upper bound when it was looked for; NaN if it never was
)

# What the user asked for, what has been counted, where the parts and the arrays lie.
WORLD = _record(
    epsilon="f",
    delta="f",
    to_leaf="i",  # best leaf, not best arm
    sound="i",  # the sound stopping test
    by_rule="i",  # the rule names the pair to sample, not the stopping test
    both="i",  # sample best and rival in every round
    rated="i",  # the bound is a rate
    intersect="i",  # intervals never widen and stay in [0, 1]
    growing="i",
    stochastic="i",  # leaves that share delta
    samples="i",
    updates="i",  # nodes a sample bears on, summed
    refreshes="i",  # nodes really recomputed
    limit="i",  # samples allowed
    walk="i",  # number of the last walk
    next_cone="i",  # row to use next
    rows_of_cones="i",
    best="i",  # of the last contest: the best child,
    first="i",  # the leaf to sample, the wider of the two,
    second="i",  # the other leaf, -1 for none,
    gap="f",  # and how much better than `best` another child may be
    rule="i",
    rate="i",
    interval="i",
    observe="i",
    contest="i",  # separate kernels
    mark_descent="i",
    narrow="i",
    backup="i",
    count_ancestors="i",
    find_cone="i",
    strongest_outside="i",
    nodes="i",  # -> [size] NODE
    edges="i",  # -> [pool] nodes; children and parents of a node are contiguous blocks
    known="i",  # -> [size] INTERVAL
    track="i",  # -> [size] TRACK
    rows="i",  # -> [size, width] numbers that belong to the bound in use
    evidence="i",  # -> [size, 2, 2 + width] count, total and row of a leaf when its lower and its upper bound were set
    bucket="i",  # -> [levels] first node waiting for a refresh, -1 for none
    stack="i",  # -> [size + 64] scratch
    cones="i",  # -> [rows_of_cones] CONE
    inside="i",  # -> [rows_of_cones, words] bit sets: labels of the leaves below a node, then the nodes below it
    size="i",  # nodes
    pool="i",  # edges
    width="i",
    words="i",  # of a cone
    first_node="i",  # the bit of node 0 in a cone
    labelled="i",  # two nodes may have the same label
)


class Graph(NamedTuple):
    """The current graph D_t as rules see it."""

    nodes: np.ndarray  # [size] NODE
    edges: np.ndarray  # [pool] nodes


class Proposal(NamedTuple):
    """What the search wants next."""

    action: int  # SAMPLE, SOLVED, ...
    root: int  # node of attention
    best: int  # its best child
    first: int  # leaf to sample
    second: int  # leaf to sample too, or -1
    gap: float


class Bernoulli(NamedTuple):
    """Oracle of a synthetic problem: node i gives 1 with probability means[i], otherwise 0."""

    means: np.ndarray


# Oracle of the feature lattice: rollouts valued by nearest neighbours. A unit is a feature or a group of features that
# enter together. The record holds numbers and addresses of arrays; see `KNNOracle` and `NeighbourRollouts`.
NEIGHBOURS = _record(
    examples="i",
    padded="i",  # examples and padding, a multiple of the lanes
    lanes="i",
    outputs="i",
    neighbours="i",  # k
    drop_zero="i",  # leave out examples at distance 0
    real="i",  # targets are real, not classes
    weighed="i",  # there are weights
    columns="i",  # -> [features, padded] single precision
    targets="i",  # -> [outputs, examples] single precision
    weights="i",  # -> [outputs, padded] targets of classes as 32-bit whole numbers; see `sum_nearest`
    distance="i",  # -> [padded] scratch, single precision
    minima="i",  # -> [lanes] scratch, 32 bits
    tally="i",  # -> [lanes] scratch, 32 bits
    nearest="i",  # -> [k] scratch, 32 bits
    who="i",  # -> [k] scratch
    sums="i",  # -> [outputs] scratch, single precision
    chosen="i",  # -> [features] scratch
    sum_nearest="i",  # kernels
    pairs_in_order="i",  # only of real targets
    # of rollouts only
    draw="i",  # the kernel
    next_double="i",  # function and state of the random stream
    stream="i",
    subsample="i",  # m
    ties="i",  # how ties count
    limit="i",  # largest size
    forced="i",  # units in every subset
    units="i",
    words="i",  # of a bit set
    choices="i",  # units a rollout may add
    memory="i",  # rows of votes
    small="i",  # votes are bytes, not single precision
    subsets="i",  # -> [nodes, words] bit set of the units of each node
    sizes="i",  # -> [nodes] how many units; below 0 if none may be added
    rave="i",  # -> [units, 2] sum and number of values of all rollouts with each unit
    heads="i",  # -> [nodes] first cell of the node, 0 for none; see `_kernels/cells.py`
    cells="i",  # -> [room, 4] the same sums of the rollouts from one node, in cells that kernels allocate themselves
    index="i",  # -> [2 x room] hash table of the cells
    bits="i",  # of a place in it
    room="i",
    used="i",  # cells in use, the first of which is never used
    allocate="i",  # functions for memory
    release="i",
    keys="i",  # -> [units] random words; a subset's key is their exclusive or
    starts="i",  # -> [units + 1] where the features of each unit begin in `members`
    members="i",  # -> [features]
    allowed="i",  # -> [choices] units a rollout may add
    chances="i",  # -> [units + 1] chance to go on at each size
    owners="i",  # -> [memory] key of the subset whose votes the row holds
    votes="i",  # -> [memory, outputs x examples] sums of neighbours' targets, UNKNOWN where not computed
    order="i",  # -> [examples] in order, but for the subsample at the front while one is drawn
    picks="i",  # -> [m] scratch from here on
    score="i",  # -> [m] single precision
    truth="i",  # -> [m] single precision
    kept="i",  # rollouts of highest value that are kept,
    lowest="i",  # and the place of the lowest among them
    kept_values="i",  # -> [kept]
    kept_subsets="i",  # -> [kept, words]
    by_size="i",  # -> [units + 1, 2] sum and number of values of rollouts that ended with so many units
    current="i",  # -> [words]
    below="i",  # -> [k + 1]
    level="i",  # -> [k + 1]
)


# The UCT family keeps what it knows on edges. Edges that leave a node, and those that enter it, are linked lists.
CROSSING = _record(
    first_out="i",  # first and last edge that leaves the node, -1 for none
    last_out="i",
    first_in="i",  # last edge made that enters it, -1 for none
    arms="i",  # edges that leave it
    children="i",  # children in D: as many edges as there may ever be
    visits="i",  # descents that came through
    refresh_at="i",  # the value of `visits` at which the priors of its edges are due
    weight="f",  # T: visits, and alpha for every sample below that took another way
    value="f",  # of a terminal node: its exact value, -1 while it is not known, -2 if it is sampled
    deep_count="f",  # over the edges that leave it: sum of n,
    deep_visits="f",  # of n at infinite depth,
    deep_total="f",  # of n times the mean at infinite depth,
    deep_square="f",  # of n times the second moment at infinite depth
    mark="i",  # number of the last sample that came by
    following="i",  # the next node of the same level that waits
)

EDGE = _record(
    tail="i",
    head="i",  # -1 while no node has been made for it
    child="i",  # which child of the tail it is, by the problem's counting
    next_out="i",
    next_in="i",
    count="f",  # n
    total="f",
    square="f",
    early_count="f",  # n', total and squares until the head got an edge of its own
    early_total="f",
    early_square="f",
    prior="f",
    mark="i",
)

# What the user asked of UCT, where the arrays lie.
DESCENT = _record(
    tuned="i",  # UCB1-tuned
    exploration="f",
    widening="f",  # b
    initial="i",  # rollouts at a node before it gets edges
    mean_depth="i",  # d1, -1 for infinite
    parent_depth="i",  # d2
    count_depth="i",  # d3
    deep="i",  # some depth is infinite
    share="f",  # alpha: weight of a sample for ancestors it did not come through
    trust="f",  # c: an edge's mean counts n / (c + n), its prior the rest; 0 for no priors
    node="i",  # what a decision is about
    edge="i",
    length="i",  # of the last descent
    midway="i",  # it has stopped for a decision and goes on from where it is
    clock="i",  # number of the last sample
    samples="i",
    edge_mean="i",  # kernels
    edge_count="i",
    graph="i",  # -> [size] NODE
    crossings="i",  # -> [size] CROSSING
    edges="i",  # -> [used] EDGE
    path="i",  # -> [depth + 2] nodes of the last descent
    trail="i",  # -> [depth + 2] its edges
    bucket="i",  # -> [levels] first node that waits, -1 for none
    stack="i",  # -> [size] scratch
)

# How pairs with equal scores count.
HALF, STRICT, ROW_ORDER = 0, 1, 2
UNKNOWN = -1  # of votes, which are never negative
UNLIMITED = 2**63 - 1  # of `limit`, and of `grow_at` where nothing grows any more
# Kinds of node.
INNER, TEMPORARY, NOISY, EXACT = 0, 1, 2, 3
# What a kernel hands back to Python.
SAMPLE, SOLVED, OPEN, GROW, DEEPEN, EVALUATE, LIMITED, BAD_RULE, BAD_BOUND, REFRESH = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
