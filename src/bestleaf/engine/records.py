"""The records that the kernels of the search work on, and what they return.

The numbers of a node lie together in memory. A kernel gets one argument, the `WORLD` record, which holds the addresses
of all arrays. That is for speed: kernels call each other by address, several times per sample. Such a call takes 4 to
9 ns with the record and 130 to 190 ns with ten arrays as arguments, measured with a kernel that changes two numbers of
a node. A call from Python takes 16 to 23 us with the record and 27 to 30 us with the arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestleaf.checks import UNLIMITED as UNLIMITED  # also for `grow_at`, where nothing grows any more


def record(**fields: str) -> np.dtype:
    """Return a numpy record type; "i" is a whole number, "s" one of 32 bits, "f" a floating-point number."""
    return np.dtype([(name, {"i": np.int64, "f": np.float64, "s": np.int32}[kind]) for name, kind in fields.items()])


def enlarged(array: np.ndarray, size: int, fill: int = 0) -> np.ndarray:
    """Return `array` if it has `size` entries, otherwise a copy at least twice as long; new entries are `fill`."""
    if size <= len(array):
        return array
    longer = np.zeros((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)  # takes memory once it is written to
    longer[: len(array)] = array
    if fill:
        longer[len(array) :] = fill
    return longer


class Workplace:
    """A record for the kernels, and the arrays behind its addresses."""

    def __init__(self, kind: np.dtype) -> None:
        self.record = np.zeros(1, kind)[0]
        self.arrays: dict[str, np.ndarray] = {}

    def set(self, **numbers: float | None) -> None:
        """Write numbers into the record."""
        for name, number in numbers.items():
            self.record[name] = number

    def point(self, **arrays: np.ndarray) -> None:
        """Write the addresses of arrays into the record, and keep the arrays alive."""
        for name, array in arrays.items():
            assert array.flags.c_contiguous
            self.arrays[name] = array
            self.record[name] = array.ctypes.data


NODE = record(
    child_start="s",  # where the block of children begins in the edges
    child_count="s",
    parent_start="s",
    parent_count="s",
    level="s",  # longest path from the root; a component (see `components`) counts as one node
    component="s",  # 1 + the oldest node of the component that the node is in, 0 for none
    ring="s",  # the next node of the component
    label="s",  # nodes with equal labels have the same value
    twin="s",  # the next node with the same label, in a ring of all of them
    kind="s",  # INNER, TEMPORARY, NOISY or EXACT
    missing="s",  # number of children in D that are not in D_t
    minimizes="s",  # 1 where the opponent moves
    chance="s",  # 1 where chance decides
    adversarial="s",  # only of the root: 1 if there is an opponent or chance, so that moves are compared, not leaves
)

# What is known of a node; for an inner node it follows from its children alone.
INTERVAL = record(
    lower="f",  # L
    upper="f",  # U
    child="s",  # representative child (of a leaf: itself)
    leaf="s",  # representative leaf (of a leaf: itself)
    count="i",  # N, samples of a leaf
    total="f",  # sum of the samples of a leaf
    tie_break="i",  # a random number of the node; the larger one wins a tie
)

# How often the search was at a node, and what kernels note about the node.
TRACK = record(
    share="f",  # a leaf's share of delta
    visits="i",  # T_s, how often the search went through the node
    rounds="i",  # t_s, rounds spent on the choice at the node
    grow_at="i",  # the value of t_s at which the graph grows next under the node
    opened="s",  # 1 once the search has been asked to choose here
    deepened="s",  # how often the graph has grown under the node because there was no rival
    waiting="s",  # 1 while the node waits for a refresh
    following="s",  # the next node that waits on the same level
    seen="i",  # number of the last walk that came to the node
    ancestors="s",  # 1 + number of ancestors, 0 for unknown
    slot="s",  # where the numbers of a leaf are in `rows` and `evidence`, from 1 on; 0 as long as it has no samples
    place="s",  # number of a leaf's label among the labels of all leaves
    reached="s",  # record of `reachable` that belongs to the node, -1 for none
)

# The reachable set of a node: the labels of the leaves below it. Its bits lie in `inside`, without empty words around.
REACHABLE = record(
    node="i",  # whose set it is
    start="i",  # where its words begin in `inside`
    first="i",  # the number of its first word
    words="i",
    size="i",  # how many labels are in it
    rival="i",  # the strongest leaf outside, -1 for none
    upper="f",  # the upper bound of the rival when it was found; NaN if none was looked for
)

# What is worked out for a node while its component is computed. The last four are of one player, at the oldest node.
COMPONENT = record(
    value="f",  # in the game that is being solved: that of the lower or that of the upper bounds
    rank="i",  # how many moves before its exit play came to this node, 0 for never
    left="i",  # children whose value is not known yet
    lower="f",
    upper="f",
    pick="i",  # representative child
    leaf="i",  # representative leaf, -1 for unknown
    size="i",  # nodes of the component
    first="i",  # where in `exits` the component's begin, and after them its nodes that are looked at from outside
    gates="i",  # where these nodes begin
    last="i",  # where they end
    stale="i",  # the next component whose other nodes are not up to date
)

# An edge that leaves a component.
EXIT = record(
    payoff="f",  # the bound of its child
    node="i",  # its parent; with one player its child
)

# The settings, the counters, the outcome of the last contest, and the addresses of the parts and of the arrays.
WORLD = record(
    epsilon="f",
    delta="f",
    to_leaf="i",  # best leaf, not best arm
    sound="i",  # a sound stopping test, not the published one
    by_rule="i",  # the rule names the two children to tell apart
    rated="i",  # the bound is a rate
    intersect="i",  # intervals never widen and stay in [0, 1]
    growing="i",
    chance="i",  # chance decides at some nodes
    opponent="i",  # somebody else may move at some nodes
    plans="i",  # the answer is a plan: best leaf, with chance
    stochastic="i",  # number of leaves that share delta
    samples="i",
    slots="i",  # leaves with numbers in `rows` and `evidence`
    updates="i",  # the leaf and its ancestors, summed over the samples
    refreshes="i",  # nodes that were computed again
    limit="i",  # samples allowed
    walk="i",  # number of the last walk
    sets="i",  # reachable sets that are remembered
    most_sets="i",
    taken="i",  # words of `inside` that these sets take
    at="i",  # for plans: the node of the last contest
    best="i",  # of the last contest: the best child,
    first="i",  # the leaf to sample, the wider of the two,
    second="i",  # the other leaf, -1 for none,
    gap="f",  # and how much better than `best` another child may be
    rule="i",  # addresses of the parts that a user may replace
    stopping="i",  # 0 unless it is a user's own
    rate="i",
    interval="i",
    observe="i",
    contest="i",  # addresses of separate kernels
    mark_descent="i",
    narrow="i",
    backup="i",
    count_ancestors="i",
    rank="i",  # 0 where the stopping test does not ask for rivals
    find_reachable="i",
    strongest_outside="i",
    renew="i",  # this one and the next only with chance
    plan_choice="i",
    refresh_component="i",  # 0 as long as there are no components
    stale="i",  # 1 + the first component whose nodes are not up to date, 0 for none
    listed="i",  # entries of `exits` in use; only with one player
    unfinished="i",  # 0 unless an answer is settled only where what it rests on is finished
    nodes="i",  # addresses of arrays; this one has the shape [size] and holds NODE records
    edges="i",  # -> [pool] nodes; children and parents of a node are contiguous blocks
    known="i",  # -> [size] INTERVAL
    track="i",  # -> [size] TRACK
    rows="i",  # -> [size + 1, width] by slot: numbers that belong to the bound in use
    evidence="i",  # -> [size + 1, 2, 2 + width] by slot: count, total and row when lower and upper were set
    bucket="i",  # -> [levels] first node waiting for a refresh, -1 for none
    stack="i",  # -> [size + 64] scratch
    reachable="i",  # -> [most_sets] REACHABLE
    inside="i",  # -> [most_words] bit sets: places of leaves; if nodes share labels, then the leaves themselves
    ranking="i",  # -> [2 * half] the strongest leaf of each place, and before them that of each pair; -1 for none
    weights="i",  # -> [pool] probabilities of the edges from chance nodes to their children; only with chance
    gains="i",  # -> [size] how much one more sample may narrow the interval of an inner node; only with chance
    losses="i",  # -> [size] how much better than the plan another may be from each node on; only for plans
    reliefs="i",  # -> [size] how much one more sample may reduce the loss of an inner node; only for plans
    ends="i",  # -> [size, 2] what play that never leaves a component is worth, at the oldest node; NaN: see `cycles`
    components="i",  # -> [size] COMPONENT, scratch
    exits="i",  # -> [pool] EXIT, scratch with two players
    size="i",  # nodes
    pool="i",  # edges
    width="i",  # numbers of the bound for each leaf
    words="i",  # 64-bit words of a reachable set without gaps
    most_words="i",  # of all sets, with `words` more to build one in
    places="i",  # labels of leaves
    half="i",  # the place where the ranking begins, a power of 2
    first_node="i",  # the bit of node 0 in a reachable set
    labelled="i",  # some nodes have the same label
)


class Graph(NamedTuple):
    """The current graph D_t as rules see it."""

    nodes: np.ndarray  # [size] NODE
    edges: np.ndarray  # [pool] nodes


class Decision(NamedTuple):
    """What the search does next."""

    action: int  # SAMPLE, SOLVED, ...
    root: int  # node at which to choose
    best: int  # its best child
    leaf: int  # the leaf to sample or to evaluate
    gap: float


# Kinds of node.
INNER, TEMPORARY, NOISY, EXACT = 0, 1, 2, 3
# What a kernel tells Python to do.
SAMPLE, SOLVED, OPEN, GROW, DEEPEN, EVALUATE, LIMITED, BAD_RULE, BAD_BOUND = 0, 1, 2, 3, 4, 5, 6, 7, 8
STUCK = 10  # no sample can narrow the gap: it depends on what play without end is worth
