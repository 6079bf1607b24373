"""
A graph of networkx
===================

A directed graph of networkx is a problem: ``pip install 'bestleaf[networkx]'``. Its leaves are the nodes that no edge
leaves. Here they are sampled, and each sample is 0 or 1.
"""

import networkx
import numpy as np

from bestleaf import best_leaf, verify
from bestleaf.problems.networkx import NetworkxGraph

rng = np.random.default_rng(0)
graph = networkx.DiGraph((one, two) for one in range(12) for two in range(one + 1, 30) if two - one < 9)
for node in graph:
    graph.nodes[node]["value"] = float(rng.random())
problem = NetworkxGraph(graph, kind="mean")
result = best_leaf(problem, epsilon=0.05, delta=0.05, seed=0)
print(result.summary())
print(verify(result.certificate))
