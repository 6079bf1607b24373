"""The record that the kernels of features read and write: numbers, and addresses of arrays."""

import numpy as np

from bestleaf.engine.compile import function_at, signature
from bestleaf.engine.records import record

# What rollouts valued by nearest neighbours need; `KNNOracle` and `NeighbourRollouts` fill it. An example is a row of
# the data that votes. An arrow stands for the address of an array of this shape.
NEIGHBOURS = record(
    examples="i",  # rows that vote, at the first places
    padded="i",  # examples and padding, a multiple of the lanes
    rows="i",  # all rows with a target: examples and queries
    stride="i",  # places of a column, at least as many as `padded`
    lanes="i",
    outputs="i",
    neighbours="i",  # k
    drop_zero="i",  # leave out examples at distance 0
    real="i",  # targets are real, not classes
    grouped="i",  # rows of the group of a query do not vote
    columns="i",  # -> [features, stride] single precision
    targets="i",  # -> [outputs, rows] single precision
    groups="i",  # -> [stride] number of the group of each row, 32 bits
    distance="i",  # -> [padded] scratch, single precision
    minima="i",  # -> [lanes] scratch, 32 bits
    nearest="i",  # -> [k] scratch, 32 bits
    who="i",  # -> [k] scratch
    sums="i",  # -> [outputs] scratch, single precision
    chosen="i",  # -> [features] scratch
    sum_nearest="i",  # kernels
    pairs_in_order="i",  # only of real targets
    # the rest is for rollouts only
    draw="i",  # the kernel
    next_double="i",  # function and state of the random stream
    stream="i",
    subsample="i",  # m
    first_query="i",  # place of the first row that may be drawn,
    queries="i",  # and how many rows may be drawn: those from there on
    by_weight="i",  # the subsample is drawn in proportion to the weights of rows
    cumulative="i",  # -> [queries] share of the weight up to each of them
    ties="i",  # how ties count
    limit="i",  # largest size
    forced="i",  # units in every subset
    units="i",
    words="i",  # of a bit set
    choices="i",  # number of units that a rollout may add
    memory="i",  # number of subsets whose votes are kept
    small="i",  # votes are bytes, not single precision
    subsets="i",  # -> [nodes, words] bit set of the units of each node
    sizes="i",  # -> [nodes] how many units
    rave="i",  # -> [units, 2] sum and number of values of all rollouts with each unit
    heads="i",  # -> [nodes] 1 + the row of each node that was sampled, 0 for none
    chunks="i",  # -> [chunks] addresses of [ROWS, 1 + 3 x units]: sums by node; see `row_of` in `rollout.py`
    room="i",  # rows there is memory for
    used="i",  # rows in use
    keys="i",  # -> [units] random words; a subset's key is their exclusive or
    starts="i",  # -> [units + 1] where the features of each unit begin in `members`
    members="i",  # -> [features]
    allowed="i",  # -> [choices] units a rollout may add
    chances="i",  # -> [units + 1] chance to go on at each size
    owners="i",  # -> [memory] key of the subset whose votes are in each row of `votes`
    votes="i",  # -> [memory, outputs x queries] sums of neighbours' targets, UNKNOWN where not computed
    order="i",  # -> [queries] their places; the subsample is moved to the front while it is in use
    picks="i",  # -> [m] scratch, as are the next ones
    score="i",  # -> [m] single precision
    truth="i",  # -> [m] single precision
    kept="i",  # rollouts of highest value that are kept,
    lowest="i",  # and the place of the lowest among them
    kept_values="i",  # -> [kept]
    kept_subsets="i",  # -> [kept, words]
    drawn="i",  # rollouts
    current="i",  # -> [words]
    ones="i",  # -> [m]
    below="i",  # -> [k + 1]
    level="i",  # -> [k + 1]
)

# How pairs with equal scores count.
HALF, STRICT, ROW_ORDER = 0, 1, 2
TIES = {"half": HALF, "strict": STRICT, "row_order": ROW_ORDER}  # as users say it
UNKNOWN = -1  # of votes, which are never negative

DRAW = signature(np.float64, np.int64, NEIGHBOURS)
QUERY = signature(np.int64, np.int64, np.int64, NEIGHBOURS)
PAIRS = signature((np.float64, np.int64), [np.float32], [np.float32], np.int64)

draw_at = function_at(DRAW)
query_kernel_at = function_at(QUERY)
pairs_at = function_at(PAIRS)
uniform_at = function_at(signature(np.float64, np.int64))
