"""After a move: a search goes on from a state below its root, with all that it knows below that state.

All searches of one game share one delta. A leaf keeps the share of delta that it got when it entered, and the shares of
later leaves go on where those before the move ended, so all shares of the game sum to at most delta. With probability
1 - delta every interval of the game holds at all times, and so does every certificate of it, whichever moves were made
and why. A certificate is written as if the search had begun at the new root: its leaves have the places 1, 2, ... in
the order of creation, which stand for larger shares than those that the intervals were computed with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bestleaf.engine.records import EXACT, INNER, NOISY
from bestleaf.problems import State
from bestleaf.search.budget import Budget
from bestleaf.search.state import SearchState


class Begun:
    """A problem that begins at another state."""

    def __init__(self, problem: Any, state: State) -> None:
        self.problem: Any = problem.problem if isinstance(problem, Begun) else problem
        self._state = state

    def root(self) -> State:
        """Return the state where play is now."""
        return self._state

    def __getattr__(self, name: str) -> Any:
        if name == "problem" or name.startswith("__"):  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.problem, name)


def carry_over(old: SearchState, new: SearchState, budget: Budget) -> None:
    """Let all that an earlier search knows below the root of a new one enter it."""
    there, here = old.graph, new.graph
    below = [there.node_of[here.states[0]]] if here.states[0] in there.node_of else []
    met = set(below)
    for node in below:  # grows meanwhile; every state comes after one of its parents
        fresh = [child for child in there.linked("child", node).tolist() if child not in met]
        met.update(fresh)
        below += fresh
    if not new.settings.fixed:
        new.join([there.states[node] for node in below], budget)
    theirs = np.array([node for node in below if there.states[node] in here.node_of], np.int64)
    mine = np.array([here.node_of[there.states[node]] for node in theirs.tolist()], np.int64)
    for node in mine[(here.kinds[mine] == EXACT) & (there.kinds[theirs] == NOISY)].tolist():
        new.known.admit(node)
    for name in ("visits", "rounds", "deepened", "opened"):
        track = new.known.track[name]
        track[mine] = np.maximum(track[mine], old.known.track[name][theirs])
    leaves = (here.kinds[mine] != INNER) & (here.kinds[mine] == there.kinds[theirs])
    new.known.take_over(old.known, mine[leaves], theirs[leaves])
    states = {here.states[node] for node in mine[leaves].tolist()}
    new.values = {state: value for state, value in old.values.items() if state in states}
    new.valueless = old.valueless & states
    new.carried, new.decision = len(new.values), None
