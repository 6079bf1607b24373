"""The records that the kernels of UCT read and write: of each node, of each edge, and one of the descent."""

import numpy as np

from bestleaf.engine.compile import array_at, function_at, signature
from bestleaf.engine.records import record

# A node. UCT keeps its samples on edges. The edges that leave a node are a linked list, and so are those that enter it.
CROSSING = record(
    first_out="i",  # first and last edge that leaves the node, -1 for none
    last_out="i",
    first_in="i",  # first edge that enters the node (the latest one made), -1 for none
    arms="i",  # edges that leave it
    children="i",  # children that the problem gives it: the largest number of edges
    visits="i",  # descents that came through
    refresh_at="i",  # number of visits at which the priors of its edges are computed again
    weight="f",  # T: visits, plus `backup` for every sample below it whose descent did not visit it
    value="f",  # of a terminal node: its exact value, -1 while it is not known, -2 if it is sampled
    deep_count="f",  # sums over the edges that leave it: of n,
    deep_visits="f",  # of n at infinite depth,
    deep_total="f",  # of n times the mean at infinite depth,
    deep_square="f",  # of n times the second moment at infinite depth
    mark="i",  # number of the last sample that reached it
    following="i",  # next node of its level in a list of nodes to refresh
)

EDGE = record(
    tail="i",
    head="i",  # -1 while no node has been made for it
    child="i",  # which child of the tail it is, by the problem's counting
    next_out="i",
    next_in="i",
    count="f",  # n: samples
    total="f",  # their sum
    square="f",  # sum of their squares
    early_count="f",  # n', the same three until the head got an edge of its own
    early_total="f",
    early_square="f",
    prior="f",
    mark="i",
)

# The settings of a search by UCT, the last descent, and the addresses of arrays.
DESCENT = record(
    tuned="i",  # UCB1-tuned
    exploration="f",
    widening="f",  # b
    initial="i",  # rollouts at a node before it gets edges
    mean_depth="i",  # d1, -1 for infinite
    parent_depth="i",  # d2
    count_depth="i",  # d3
    deep="i",  # some depth is infinite
    backup="f",  # alpha: weight of a sample for ancestors that the descent did not visit
    trust="f",  # c: weight n / (c + n) for the mean of an edge, c / (c + n) for its prior; 0 for no priors
    node="i",  # node and edge at which Python has something to do
    edge="i",
    length="i",  # of the last descent
    midway="i",  # whether the descent has stopped for Python and will go on from there
    clock="i",  # number of the last sample
    samples="i",
    moment="i",  # kernel
    graph="i",  # -> [size] NODE
    crossings="i",  # -> [size] CROSSING
    edges="i",  # -> [used] EDGE
    path="i",  # -> [depth + 2] nodes of the last descent
    trail="i",  # -> [depth + 2] its edges
    bucket="i",  # -> [levels] first node of the level to refresh, -1 for none
    stack="i",  # -> [size] scratch
)

OF_EDGE = signature(np.float64, np.int64, np.int64, np.int64, DESCENT)

edge_kernel_at = function_at(OF_EDGE)
crossings_at = array_at(CROSSING)
links_at = array_at(EDGE)
