"""A search as plain numbers, and from them the search again."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from bestleaf._records import EXACT, INNER, NOISY
from bestleaf.certificate.refusal import same
from bestleaf.checks import shown
from bestleaf.search.options import checked_value
from bestleaf.storage import Saved
from bestleaf.storage.saved import checked_number
from bestleaf.storage.states import decoded, encoded
from bestleaf.storage.streams import set_stream, stream_state


def snapshot_of(search: Any) -> dict[str, Any]:
    """Return all that a search cannot compute again, between two slices."""
    graph = search.graph
    admitted = np.flatnonzero(graph.kinds == NOISY).tolist() if hasattr(search.problem, "exact") else []
    return {
        "states": [encoded(state) for state in graph.states],
        "admitted": admitted,
        "values": _pairs(search.values),
        "spare": _pairs(search.spare),
        "known": search.known.snapshot(),
        "growth": search.growth.snapshot(),
        "oracle": search.rollouts.snapshot() if hasattr(search.rollouts, "snapshot") else {},
        "glimpsed": [[encoded(state), *scores] for state, scores in search.glimpsed.items()],
        "batches": {"number": search.batches.number, "seed": search.batches.seed} if search.batches is not None else {},
        "stream": stream_state(search.rng),
        "stages": {str(place): stage.snapshot() for place, stage in enumerate(search.stages)},
        "steps_left": search.steps_left,
        "warmup_samples": search.warmup_samples,
        "first_value": search.first_value,
        "elapsed": search.elapsed,
        "notes": list(search.notes),
    }


def _pairs(values: dict[Any, float]) -> list[list[Any]]:
    return [[encoded(state), value] for state, value in values.items()]


def known_values(search: Any) -> list[list[Any]]:
    """Return all exact values that a search has computed, in terms of JSON."""
    return _pairs({**search.values, **search.spare})


def restore(search: Any, saved: Saved) -> None:
    """Put a search that has not begun where another one was."""
    _rebuild(search, saved.states("states"))
    _admit(search, saved.nodes("admitted", len(search.graph)))
    search.values = _checked_values(search, saved, "values")
    search.spare = _checked_values(search, saved, "spare")
    search.exact_evaluations = len(search.values)
    search.known.restore(saved.part("known"), search.values)
    _check_opened(search)
    search.growth.restore(saved.part("growth"), search.values)
    if hasattr(search.rollouts, "restore"):
        search.rollouts.restore(saved.part("oracle"))
    search.glimpsed = _checked_glimpses(search, saved.listed("glimpsed"))
    if search.batches is not None:
        batches = saved.part("batches")
        search.batches.number, search.batches.seed = batches.whole("number"), batches.whole("seed", 0, 2**128)
    set_stream(search.rng, saved.get("stream"))
    stages = saved.part("stages")
    for place, stage in enumerate(search.stages):
        stage.restore(stages.part(str(place)), search)
    search.steps_left = saved.whole("steps_left", 0, len(search.stages) + 1)
    search.warmup_samples = saved.whole("warmup_samples")
    search.budget.start(saved.number("elapsed", 0.0, 1e15))
    value = saved.get("first_value")
    search.first_value = None if value is None else saved.number("first_value", 0.0, 1.0)
    search.notes[:] = _checked_notes(saved.listed("notes"))
    search.forget_proposal()


def _rebuild(search: Any, states: list[Any]) -> None:
    """Let the problem build the graph again from the states of its nodes, in their order."""
    graph, begun = search.graph, len(search.graph)
    if states[:begun] != graph.states:
        raise ValueError("its graph does not begin as that of this problem does")
    if search.options.expansion is None:
        if len(states) != begun:
            raise ValueError(f"its graph must have the {begun:,} nodes of this problem, got {len(states):,}")
        return
    holds = getattr(search.problem, "holds", None)
    for state in states[begun:]:
        if state in graph.node_of:
            raise ValueError(f"the state {shown(state)} must be in the graph once")
        if holds is not None and not holds(state):
            raise ValueError(f"{shown(state)} is no state of this problem")
        graph.add(state)
    _check_reached(graph, trusted=holds is not None)
    for node in range(begun, len(states)):
        if search.rollouts is not None:
            search.rollouts.add(node, states[node])


def _check_reached(graph: Any, *, trusted: bool) -> None:
    """Refuse nodes that no move leads to; a problem that says itself what its states are is not asked for moves."""
    if (graph.nodes["parent_count"][1 : len(graph)] == 0).any():
        raise ValueError("every node but the root must be the child of another")
    if trusted or not graph.knows_parents:
        return
    children: dict[int, set[Any]] = {}
    for node in range(1, len(graph)):
        above = int(graph.linked("parent", node)[0])
        if above not in children:
            children[above] = set(graph.problem.children(graph.states[above]))
        if graph.states[node] not in children[above]:
            raise ValueError(f"{shown(graph.states[node])} must be a child of {shown(graph.states[above])}")


def _admit(search: Any, nodes: list[int]) -> None:
    """Note the terminal leaves that turned out to have no exact value."""
    kinds = search.graph.kinds
    if any(kinds[node] != EXACT for node in nodes):
        raise ValueError("only a terminal leaf can turn out to have no exact value")
    kinds[nodes] = NOISY


def _checked_values(search: Any, saved: Saved, name: str) -> dict[Any, float]:
    """Return exact values of terminal states; the best one is computed again."""
    values = saved.values(name)
    if not values:
        return values
    check_terminal(search.problem, values)
    best = max(values, key=values.__getitem__)
    again = checked_value((search.problem.exact if search.has_exact else search.problem.guide)(best), "exact", best)
    if not same(again, values[best]):
        raise ValueError(f"the exact value of {shown(best)} is {again:.6g}, not {values[best]:.6g}")
    return values


def check_terminal(problem: Any, states: Any) -> None:
    """Refuse states that are not terminal states of a problem."""
    holds = getattr(problem, "holds", None)
    for state in states:
        if (holds is not None and not holds(state)) or not problem.is_terminal(state):
            raise ValueError(f"{shown(state)} is no terminal state of this problem")


def _checked_glimpses(search: Any, rows: list[Any]) -> dict[Any, list[float]]:
    """Return the first parts of the values of terminal states."""
    most, found = getattr(search.problem, "parts", 0), {}
    for row in rows:
        if not isinstance(row, list) or not 2 <= len(row) <= most + 1:
            raise ValueError(f"glimpsed must list states with 1 to {most} scores")
        found[decoded(row[0])] = [checked_number("glimpsed", score, 0.0, 1.0) for score in row[1:]]
    check_terminal(search.problem, found)
    return found


def _check_opened(search: Any) -> None:
    """Refuse a choice that was made where there is nothing to choose."""
    graph = search.graph
    opened = search.known.track["opened"][: len(graph)]
    fixed = search.options.expansion is None
    if (opened > 1).any() or (not opened.all() if fixed else (opened[graph.kinds != INNER] > 0).any()):
        raise ValueError("a choice must have been opened at nodes with children, and only there")


def _checked_notes(notes: list[Any]) -> list[dict[str, Any]]:
    for note in notes:
        plain = isinstance(note, dict) and all(
            value is None or isinstance(value, str) or (type(value) in (int, float) and -inf < value < inf)
            for value in note.values()
        )
        if not plain:
            raise ValueError("notes must be objects of numbers and words")
    return notes
