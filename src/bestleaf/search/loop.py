"""The loop of the search: decide and act, in slices of about 50 ms; see `bestleaf.search.budget.run_in_slices`."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from bestleaf.checks import shown
from bestleaf.engine import records
from bestleaf.engine.kernels.loop import count_round
from bestleaf.engine.records import Decision
from bestleaf.search.budget import Budget
from bestleaf.search.evaluator import Evaluator
from bestleaf.search.growth import Growth
from bestleaf.search.stages import DONE, REOPEN, Stage
from bestleaf.search.state import SearchState


def search_slice(
    state: SearchState, evaluator: Evaluator, budget: Budget, growth: Growth, stages: Sequence[Stage]
) -> None:
    """Search for one slice; why the search is over, if it is, is in ``state.reason``.

    The graph is searched first. Once the answer is settled, the stages follow, one after the other. A stage may
    return `REOPEN`; then the graph is searched again, and all stages run again. A stage that is due works before the
    graph is searched on.
    """
    drawn, begun = state.samples, perf_counter()
    first = None if state.step else next((stage for stage in stages if stage.due(state)), None)
    stage = stages[state.step - 1] if state.step else first
    if stage is None and growth.pause.closing:
        outcome = growth.look_instead()
    elif stage is None:
        decision = evaluator.play()
        if decision.action != records.OPEN or not growth.stays_closed(decision.root):
            act(decision, state, evaluator, growth)
        outcome = DONE if decision.action == records.SOLVED else None
    else:
        outcome = stage.slice(state, evaluator)
    if outcome == REOPEN:
        state.step = 0
        for one in stages:
            one.reset()
    elif outcome == DONE and first is None and state.reason is None:
        state.step += 1
    budget.look()
    if state.step > len(stages):
        state.reason = "settled"
    evaluator.pace(state.samples - drawn, perf_counter() - begun)


def act(decision: Decision, state: SearchState, evaluator: Evaluator, growth: Growth) -> None:
    """Do what a kernel cannot do: evaluate, grow the graph, end the search, raise an error."""
    action = decision.action
    state.check_parts()
    if action == records.LIMITED or (action == records.EVALUATE and evaluator.left <= 0):
        state.reason = "max_samples"
    elif action == records.STUCK:
        state.reason = "exhausted"
    elif action == records.EVALUATE:
        evaluate(decision, state, evaluator)
    elif action == records.OPEN:
        growth.open(decision.root)
    elif action == records.GROW:
        growth.grow(decision.root)
    elif action == records.DEEPEN:
        growth.deepen(decision.root)
    elif action == records.BAD_RULE:
        raise ValueError(f"rule {state.settings.rule.name} must return children of its root (rival may be -1)")
    elif action == records.BAD_BOUND:
        leaf = shown(state.graph.states[decision.leaf])
        raise ValueError(f"bound {state.settings.bound.name} must return lower <= upper, but did not for {leaf}")
    if action != records.SAMPLE or evaluator.compiled is not None:
        state.decision = None


def evaluate(decision: Decision, state: SearchState, evaluator: Evaluator) -> None:
    """Compute the exact value of a leaf; with batches, also those of other leaves."""
    first, world = decision.leaf, state.known.world
    if evaluator.batch_size is not None:
        count_round(decision, world)
        others = [leaf for leaf in state.waiting_leaves().tolist() if leaf != first]
        evaluator.prefetch([state.graph.states[leaf] for leaf in (first, *others)[: evaluator.batch_size]])
        return
    leaf = state.graph.states[first]
    found = evaluator.ask(leaf)
    if found is None:
        return
    if found[0] is not None:
        count_round(decision, world)
    state.take_value(leaf, found[0])


def let_the_best_in(state: SearchState, budget: Budget, *, smallest: bool) -> None:
    """Let the state of highest value enter the graph, if the search ended before that.

    With `smallest`, the smallest state within epsilon of it enters, too.
    """
    if not state.values or not hasattr(state.problem, "path_to"):
        return
    values, path_to = state.values, state.problem.path_to
    best = max(values, key=values.__getitem__)
    if best not in state.graph.node_of and values[best] > state.best_value():
        state.join(path_to(best), budget)
    if smallest:
        close = [one for one, value in values.items() if value >= values[best] - state.settings.epsilon]
        state.join(path_to(min(close, key=lambda one: (len(path_to(one)), -values[one]))), budget)
