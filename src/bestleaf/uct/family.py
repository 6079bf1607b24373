"""UCT on any problem: trees, transpositions, UCD, update-descent and update-all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bestleaf.checks import one_of, shown
from bestleaf.search.options import checked_problem, stream
from bestleaf.search.result import Progress
from bestleaf.uct.children import AnyChildren
from bestleaf.uct.loop import Loop
from bestleaf.uct.settings import RECOMMENDATIONS, budgets, descent_settings


class Arm(NamedTuple):
    """A child of the root."""

    state: Any
    visits: float
    mean: float


@dataclass(frozen=True)
class UCTResult:
    """What a search of the UCT family recommends; it proves nothing.

    Attributes
    ----------
    answer : state
        The recommended child of the root; None if the budget ended before any was tried.
    path : tuple of states
        The recommended way, from the child of the root down.
    value : float
        Mean of the answer's samples, as the variant counts it.
    arms : tuple of Arm
        The children of the root that were tried.
    samples, exact_evaluations, nodes, edges : int
        Descents, exact values asked for, size of the graph.
    reason : str
        ``"max_samples"``, ``"max_time"``, ``"interrupted"`` or ``"callback"``.
    elapsed : float
        Seconds.
    """

    answer: Any
    path: tuple[Any, ...]
    value: float
    arms: tuple[Arm, ...] = field(repr=False)
    samples: int
    exact_evaluations: int
    nodes: int
    edges: int
    reason: str
    elapsed: float
    seed: int | None

    def __str__(self) -> str:
        if not self.path:
            return f"Nothing recommended: {self.samples:,} samples ({self.reason}) did not get below the root."
        return (
            f"Recommended: {self.answer!r}, mean {self.value:.4f} after {self.samples:,} samples ({self.reason}). "
            "UCT gives no guarantee."
        )


def uct_search(
    problem: Any,
    *,
    variant: Any = "uct1",
    bonus: str = "ucb1",
    exploration: float = 2.0,
    widening: float = 1.0,
    backup: Any = "descent",
    initial_rollouts: int = 1,
    recommend: str = "visits",
    max_samples: int | None = None,
    max_time: float | None = None,
    seed: Any = None,
    callback: Callable[[Progress], Any] | None = None,
) -> UCTResult:
    """Search a problem by UCT and recommend a child of the root, without a guarantee.

    Different ways to a state share its node; `bestleaf.problems.Unrolled` keeps them apart (plain UCT on the tree).

    Parameters
    ----------
    problem : Problem
        What is searched; see `bestleaf.problems.Problem`. States that are not terminal are sampled too.
    variant : {"uct1", "uct2", "uct3", "ucd"} or three depths, default="uct1"
        How deep below an edge mean, parent's count and count are put together (d1, d2, d3 of UCD): "uct1" is
        (0, 0, 0), the edge's own; "uct2" (1, 0, 0), "uct3" (inf, 0, 0), "ucd" (1, 1, 1).
    bonus : {"ucb1", "ucb1_tuned"}, default="ucb1"
        sqrt(c ln p / n), or with the variance of the samples.
    exploration : float, default=2.0
        c.
    widening : float, default=1.0
        b: a node has at most t^b edges after t descents; 1 is one more at every descent until it has all.
    backup : {"descent", "all"} or float, default="descent"
        Weight of a sample for ancestors it did not come through: 0, 1 or in between. Above 0 averages may mislead for
        ever; see the documentation.
    initial_rollouts : int, default=1
        Samples of a node before descents go on below it.
    recommend : {"visits", "mean"}, default="visits"
        Which child is best.
    max_samples, max_time : default=None
        Budgets, of which one must be given.
    seed : int, Generator or None, default=None
        Everything random follows from it.
    callback : callable, default=None
        Called with a `Progress` about twenty times a second; the search ends when it returns True.

    Returns
    -------
    UCTResult

    Examples
    --------
    >>> from bestleaf import problems, uct_search
    >>> found = uct_search(problems.paper_lattice(), variant="ucd", max_samples=5000, seed=0)
    >>> len(found.path)
    3
    """
    checked_problem(problem)
    settings = descent_settings(
        variant=variant,
        bonus=bonus,
        exploration=exploration,
        widening=widening,
        backup=backup,
        initial_rollouts=initial_rollouts,
    )
    one_of("recommend", recommend, RECOMMENDATIONS)
    limits = budgets(max_samples, max_time)
    if problem.is_terminal(problem.root()):
        raise ValueError(f"the root {shown(problem.root())} is terminal, so there is nothing to choose")
    if not list(problem.children(problem.root())):
        raise ValueError(f"the root {shown(problem.root())} has no children, so there is nothing to choose")
    rng, number = stream(seed)
    oracle = problem.compiled_oracle(rng) if hasattr(problem, "compiled_oracle") else None
    loop = Loop(problem, settings, rng=rng, oracle=oracle, recommend=recommend, callback=callback, **limits)
    loop.children = AnyChildren(loop.statistics, rng)
    loop.run()
    statistics, states = loop.statistics, loop.graph.states
    way = statistics.recommended(recommend)
    arms = tuple(
        Arm(states[statistics.edges["head"][edge]], float(statistics.edges["count"][edge]), statistics.mean(edge))
        for edge in statistics.leaving(0)
    )
    chosen = states[way[1]] if len(way) > 1 else None
    return UCTResult(
        answer=chosen,
        path=tuple(states[node] for node in way[1:]),
        value=next((arm.mean for arm in arms if arm.state == chosen), 0.0),
        arms=arms,
        samples=loop.samples,
        exact_evaluations=len(loop.values),
        nodes=len(loop.graph),
        edges=statistics.used,
        reason=loop.reason or "max_samples",
        elapsed=loop.elapsed,
        seed=number,
    )
