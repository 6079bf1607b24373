"""A search as plain data, and how it is restored from them. Data from a file are checked, not trusted."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isclose
from typing import Any, NamedTuple

import numpy as np

from bestleaf.checkpoint import Saved
from bestleaf.checkpoint.codec import checked_number, decoded, encoded, set_stream, stream_state
from bestleaf.checks import shown
from bestleaf.engine.graph import GrowingGraph
from bestleaf.engine.records import EXACT, INNER, NOISY
from bestleaf.problems import State
from bestleaf.search.budget import Budget
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.growth.schedule import Growth
from bestleaf.search.settings import checked_value
from bestleaf.search.stages import Stage, check_terminal
from bestleaf.search.state import SearchState

Snapshot = dict[str, Any]
CLOSE = 1e-9  # values that differ by less are taken to be equal


class Running(NamedTuple):
    """The objects that a search consists of while it runs."""

    state: SearchState
    evaluator: Evaluator
    budget: Budget
    growth: Growth
    stages: Sequence[Stage]


def snapshot_of(search: Running) -> Snapshot:
    """Return all that a search cannot compute again."""
    state, evaluator, budget, growth, stages = search
    admitted = np.flatnonzero(state.graph.kinds == NOISY).tolist() if state.has_exact else []
    return {
        "states": [encoded(one) for one in state.graph.states],
        "admitted": admitted,
        "values": pairs(state.values),
        "spare": pairs(state.spare),
        "known": state.known.snapshot(),
        "growth": growth.snapshot(),
        "oracle": state.rollouts.snapshot() if hasattr(state.rollouts, "snapshot") else {},
        "glimpsed": [[encoded(one), *scores] for one, scores in state.fold_scores.items()],
        "batches": {} if evaluator.seed is None else {"number": state.requests, "seed": evaluator.seed},
        "stream": stream_state(state.rng),
        "stages": {str(place): stage.snapshot() for place, stage in enumerate(stages)},
        "step": state.step if state.step <= len(stages) else 0,
        "warmup_samples": state.warmup_samples,
        "seconds": budget.seconds,
        "notes": list(state.notes),
    }


def pairs(values: dict[State, float]) -> list[list[Any]]:
    """Return states and their values as JSON."""
    return [[encoded(state), value] for state, value in values.items()]


def restore(search: Running, saved: Saved) -> None:
    """Restore a snapshot in a search that has not begun."""
    state, evaluator, budget, growth, stages = search
    _rebuild(state, saved.states("states"))
    _admit(state, saved.nodes("admitted", len(state.graph)))
    state.values = _checked_values(state, saved, "values")
    state.spare = _checked_values(state, saved, "spare")
    state.known.restore(saved.part("known"), state.values)
    _check_opened(state)
    growth.restore(saved.part("growth"))
    if hasattr(state.rollouts, "restore"):
        state.rollouts.restore(saved.part("oracle"))
    state.fold_scores = _checked_scores(state, saved.listed("glimpsed"))
    if evaluator.seed is not None:
        batches = saved.part("batches")
        state.requests, evaluator.seed = batches.whole("number"), batches.whole("seed", 0, 2**128)
    set_stream(state.rng, saved.get("stream"))
    kept = saved.part("stages")
    for place, stage in enumerate(stages):
        stage.restore(kept.part(str(place)), state)
    state.step = saved.whole("step", 0, len(stages))
    state.warmup_samples = saved.whole("warmup_samples")
    budget.start(saved.number("seconds", 0.0, 1e15))
    state.notes[:] = _checked_notes(saved.listed("notes"))
    if state.graph.owed():  # the search was interrupted while children of a chance node entered
        state.add([], budget)
    state.decision = None


def _rebuild(state: SearchState, states: list[State]) -> None:
    """Let the problem build the graph again from the states of its nodes, in the saved order."""
    graph, begun = state.graph, len(state.graph)
    if states[:begun] != graph.states:
        raise ValueError("its graph begins with other states than that of this problem")
    if state.settings.fixed:
        if len(states) != begun:
            raise ValueError(f"its graph must have the {begun:,} nodes of this problem, got {len(states):,}")
        return
    holds = getattr(state.problem, "holds", None)
    for one in states[begun:]:
        if one in graph.node_of:
            raise ValueError(f"the state {shown(one)} must be in the graph only once")
        if holds is not None and not holds(one):
            raise ValueError(f"{shown(one)} is not a state of this problem")
        graph.add(one)
    _check_reached(graph, trusted=holds is not None)
    for node in range(begun, len(states)):
        if state.rollouts is not None:
            state.rollouts.add(node, states[node])


def _check_reached(graph: GrowingGraph, *, trusted: bool) -> None:
    """Refuse nodes that no move leads to; `trusted`: the problem has already said that all are states of it."""
    if (graph.nodes["parent_count"][1 : len(graph)] == 0).any():
        raise ValueError("every node but the root must be the child of another")
    if trusted or not graph.knows_parents:
        return
    children: dict[int, set[State]] = {}
    for node in range(1, len(graph)):
        above = int(graph.linked("parent", node)[0])
        if above not in children:
            children[above] = set(graph.problem.children(graph.states[above]))
        if graph.states[node] not in children[above]:
            raise ValueError(f"{shown(graph.states[node])} must be a child of {shown(graph.states[above])}")


def _admit(state: SearchState, nodes: list[int]) -> None:
    """Mark the terminal leaves that turned out to have no exact value."""
    kinds = state.graph.kinds
    if any(kinds[node] != EXACT for node in nodes):
        raise ValueError("only a terminal leaf can turn out to have no exact value")
    kinds[nodes] = NOISY


def _checked_values(state: SearchState, saved: Saved, name: str) -> dict[State, float]:
    """Return the saved values of terminal states; the best one is computed again to check it."""
    values = saved.values(name)
    if not values:
        return values
    check_terminal(state.problem, values)
    best = max(values, key=values.__getitem__)
    again = checked_value(state.problem.exact(best), "exact", best)
    if not isclose(again, values[best], rel_tol=0.0, abs_tol=CLOSE):
        raise ValueError(f"the exact value of {shown(best)} is {again:.6g}, not {values[best]:.6g}")
    return values


def _checked_scores(state: SearchState, rows: list[Any]) -> dict[State, list[float]]:
    """Return the scores of the first folds of terminal states."""
    most, found = getattr(state.problem, "parts", 0), {}
    for row in rows:
        if not isinstance(row, list) or not 2 <= len(row) <= most + 1:
            raise ValueError(f"glimpsed must list states with 1 to {most} scores")
        found[decoded(row[0])] = [checked_number("glimpsed", score, 0.0, 1.0) for score in row[1:]]
    check_terminal(state.problem, found)
    return found


def _check_opened(state: SearchState) -> None:
    """Refuse choices that were opened at nodes without children."""
    graph = state.graph
    opened = state.known.track["opened"][: len(graph)]
    fixed = state.settings.fixed
    if (opened > 1).any() or (not opened.all() if fixed else (opened[graph.kinds != INNER] > 0).any()):
        raise ValueError("choices must be open only at nodes with children, and in a whole graph at all nodes")


def _checked_notes(notes: list[Any]) -> list[dict[str, Any]]:
    for note in notes:
        plain = isinstance(note, dict) and all(
            value is None or isinstance(value, str) or (type(value) in (int, float) and -inf < value < inf)
            for value in note.values()
        )
        if not plain:
            raise ValueError("notes must be objects of numbers and words")
    return notes
