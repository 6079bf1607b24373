"""How the cost of a sample grows with the graph: microseconds by size, and the exponent of the growth.

python benchmarks/scaling.py [--before SRC] [FAMILY ...]

With `--before` every search is run twice in turn, the second time with the package in the folder SRC, for example the
`src` of an older checkout. Each row is a process of its own, so its memory is that of one search, its problem and its
result. The last number is the same where answer, gap, samples and updates are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from math import log
from time import process_time

import numpy as np

SAMPLES, SECONDS = 20_000, 60.0


def layers(depth, width, children, two_player=False):
    """Return a layered graph: every node has so many random children in the next layer."""
    from bestleaf.problems import TableProblem

    rng = np.random.default_rng(depth)
    table, below = {0: range(1, 1 + width)}, np.arange(1, 1 + width)
    for _ in range(depth - 1):
        above, below = below, below + width
        table |= {node: rng.choice(below, children, replace=False).tolist() for node in above.tolist()}
    means = dict(zip(below.tolist(), rng.random(width).tolist(), strict=True))
    opponent = [node for node in table if two_player and node > 0 and (node - 1) // width % 2 == 0]
    return TableProblem(table, means, opponent=opponent)


def lattice(many, size):
    from bestleaf.problems import ScoreLattice

    return ScoreLattice(np.linspace(-0.5, 0.5, many).tolist(), size)


def circles(states):
    """Return states in one large component, each with three random children; one in ten has a leaf, too."""
    from bestleaf.problems import TableProblem

    rng = np.random.default_rng(states)
    table = {state: [(state + 1) % states, *rng.integers(0, states, 2).tolist()] for state in range(states)}
    leaves = [-1 - leaf for leaf in range(states // 10)]
    for leaf in leaves:
        table[-10 * (leaf + 1)].append(leaf)
    return TableProblem(table, dict(zip(leaves, rng.random(len(leaves)).tolist(), strict=True)))


def star(leaves):
    """Return a root with 1,000 children, each with as many leaves."""
    from bestleaf.problems import TableProblem

    each = leaves // 1000
    table = {0: range(1, 1001)} | {
        1 + place: range(1001 + place * each, 1001 + (place + 1) * each) for place in range(1000)
    }
    means = np.random.default_rng(0).random(leaves).tolist()
    return TableProblem(table, dict(zip(range(1001, 1001 + leaves), means, strict=True)))


FAMILIES = {  # name -> task, problem, sizes
    "deep, one player (levels of 100)": ("leaf", lambda size: layers(size, 100, 3), (10, 20, 30, 40, 60)),
    "deep and wide, one player (levels of 300)": ("leaf", lambda size: layers(size, 300, 3), (15, 30, 60)),
    "wide, two players (30 levels of)": ("arm", lambda size: layers(30, size, 3, True), (100, 300, 1000)),
    "subset lattice, C(2n, n)": ("arm", lambda size: lattice(2 * size, size), (5, 6, 7)),
    "subset lattice, best leaf, C(2n, n)": ("leaf", lambda size: lattice(2 * size, size), (5, 6, 7)),
    "cycles, one player (states)": ("leaf", circles, (100, 1000, 10_000)),
    "leaves": ("leaf", star, (10_000, 100_000, 1_000_000)),
}


def measure(name, size):
    """Print what one search takes: nodes, seconds to set up, microseconds a sample, megabytes."""
    import resource

    from bestleaf.search import Search

    task, make, _ = FAMILIES[name]
    how = {"task": task, "epsilon": 0.001, "delta": 0.01, "bound": "hoeffding", "seed": 1}
    Search(make(FAMILIES[name][2][0]), **how, max_samples=1000).finish()  # compiles
    begun = process_time()
    search = Search(make(size), **how, max_samples=SAMPLES, max_time=SECONDS)
    ready = process_time()
    search.finish()
    each = 1e6 * (process_time() - ready) / max(1, search.samples)
    answer = search.result()
    found = (answer.samples, str(answer.answer), answer.gap, answer.node_updates)
    row = {
        "nodes": answer.nodes,
        "ready": ready - begun,
        "each": each,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "samples": answer.samples,
        "digest": hash(found) % 9973,  # equal answers have equal digests
    }
    print(json.dumps(row))


def measured(name, size, source):
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    if source:
        environment["PYTHONPATH"] = source
    command = [sys.executable, __file__, "--measure", name, str(size)]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def compare(name, before):
    """Print one line for each size and source, then how the cost grows."""
    found = {"now": [], "before": []}
    for size in FAMILIES[name][2]:
        for when, source in (("now", ""), ("before", before)):
            if when == "now" or before:
                row = measured(name, size, source)
                found[when].append(row)
                line = f"{row['nodes']:>9,} nodes {row['ready']:6.2f} s to begin {row['each']:10.1f} us a sample"
                extent = f"{row['memory']:6.0f} MB {row['samples']:>6,} samples"
                print(f"{name} {size:>9,} {when:>6} {line} {extent} {row['digest']}", flush=True)
    for when, rows in found.items():
        if rows:
            growth = log(rows[-1]["each"] / rows[0]["each"]) / log(rows[-1]["nodes"] / rows[0]["nodes"])
            print(f"{name}, {when}: the cost of a sample grows as the number of nodes to the {growth:.2f}")


def main(arguments):
    before = arguments[arguments.index("--before") + 1] if "--before" in arguments else None
    for name in [name for name in FAMILIES if name in arguments] or FAMILIES:
        compare(name, before)


if __name__ == "__main__":
    if "--measure" in sys.argv:
        measure(sys.argv[-2], int(sys.argv[-1]))
    else:
        main(sys.argv[1:])
