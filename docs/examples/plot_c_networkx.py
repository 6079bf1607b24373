"""
A graph of networkx
===================

A directed graph of networkx is a problem: ``pip install 'bestleaf[networkx]'``. Its leaves are the nodes that no edge
leaves. Here they are sampled, and each sample is 0 or 1.
"""

import networkx
import numpy as np

from bestleaf import best_leaf, verify
from bestleaf.problems.networkx import NetworkxGraph, WeightedPaths

rng = np.random.default_rng(0)
graph = networkx.DiGraph((one, two) for one in range(12) for two in range(one + 1, 30) if two - one < 9)
for node in graph:
    graph.nodes[node]["value"] = float(rng.random())
problem = NetworkxGraph(graph, kind="mean")
result = best_leaf(problem, epsilon=0.05, delta=0.05, seed=0)
print(result.summary())
print(verify(result.certificate))

# %%
# ``WeightedPaths`` searches the path with the largest sum of edge weights. networkx finds the same one.

for edge in graph.edges:
    graph.edges[edge]["weight"] = float(rng.integers(-3, 10))
paths = WeightedPaths(graph, 0)
result = best_leaf(paths, epsilon=0, delta=0.05, seed=0)
print(result.answer, "networkx:", networkx.dag_longest_path_length(graph))
