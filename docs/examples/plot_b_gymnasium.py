"""
An environment of Gymnasium
===========================

Environments with a table of transitions are problems, too: ``pip install 'bestleaf[gymnasium]'``. A state of the search
is the time, the place and the reward collected so far; the value of an episode is its sum of rewards.
"""

from bestleaf import best_leaf
from bestleaf.problems.gymnasium import GymnasiumModel

lake = GymnasiumModel("FrozenLake-v1", is_slippery=False, horizon=8, discount=0.9)
result = best_leaf(lake, epsilon=0, delta=0.05, seed=0)
moves = ("left", "down", "right", "up")
print(*(moves[action] for action in lake.actions(result.answer)), f"for a return of {lake.collected(result.lower):.4f}")

# %%
# On slippery ice a step goes to the side in two of three cases. Now the answer is a plan: for every state that it may
# lead to, what to do there. Its value is the probability of reaching the goal within 20 steps.

ice = GymnasiumModel("FrozenLake-v1", horizon=20)
result = best_leaf(ice, epsilon=0, delta=0.05, seed=0)
print(f"a plan for {len(result.plan)} states reaches the goal with probability {result.lower:.4f}")
print("first step:", moves[ice.action(ice.root(), result.answer)])

# %%
# CliffWalking punishes a fall with -100. The way round takes 13 steps, each for -1.

cliff = GymnasiumModel("CliffWalking-v1", horizon=13)
result = best_leaf(cliff, epsilon=0, delta=0.05, seed=0)
moves = ("up", "right", "down", "left")
print(*(moves[action] for action in cliff.actions(result.answer)), "for a return of", cliff.collected(result.lower))
print(f"{result.nodes:,} nodes")
