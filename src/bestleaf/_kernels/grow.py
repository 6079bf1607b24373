"""At which node the graph grows next (`BAIAdd`)."""

from bestleaf._compile import kernel, nodes_of, stack_of, track_of
from bestleaf._kernels.reach import walk_down


@kernel
def ripest(root, world):
    """Return the node below `root` with missing children and the largest index, or -1.

    I_s = T_s / (children in D_t + 1) / (1 + levels below `root`); ties go to the oldest node.
    """
    nodes, track, stack = nodes_of(world), track_of(world), stack_of(world)
    chosen, highest = -1, -1.0
    for place in range(walk_down(root, world)):
        node = stack[place]
        if nodes[node].missing == 0:
            continue
        depth = nodes[node].level - nodes[root].level + 1
        index = track[node].visits / (nodes[node].child_count + 1) / depth
        if index > highest or (index == highest and node < chosen):
            chosen, highest = node, index
    return chosen


@kernel
def list_below(node, world):
    """List `node` and everything below it at the start of the stack, for Python; return how many."""
    return walk_down(node, world)
