"""Best arm (BAI-exMCDS) and best leaf (BLI-MCDS) of a graph, with a confidence interval on every node.

In one round the rule names two children of a node, the best and its rival. If the stopping test does not settle the
choice, a leaf below the child with the wider interval is sampled. Then its interval and those of all its ancestors are
updated, and the graph may grow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from inspect import Parameter, signature
from typing import Any

from bestleaf.checks import check_keywords
from bestleaf.problems import Problem
from bestleaf.search.ask_tell import Search
from bestleaf.search.result import Progress, Result
from bestleaf.search.settings import Settings

__all__ = ["Progress", "Result", "Search", "Settings", "best_arm", "best_leaf"]

_KEYWORDS = """
    Parameters
    ----------
    problem : Problem
        What is searched; see `bestleaf.problems.Problem`.
    epsilon : float
        How much better than the answer another one may be, between 0 and 1.
    delta : float
        Probability with which the answer may be wrong, between 0 and 1.
    rule : str, callable or None, default=None
        What is sampled next: "smallest_gap", "lucb" (the paper's), "ugape", "lucb_mcts", or your own
        function ``(root, graph, known)`` that returns two children of the root, best and rival. None stands for
        "smallest_gap", or for "lucb" with a stopping test other than "sound".
    bound : str, Rate or Bound, default="betting"
        Confidence interval of a leaf. "betting" and "hoeffding" hold at all times, also while the graph grows;
        "betting" needs fewer samples. The paper's rates "theory", "beta1", "beta1_published" and "beta2" are for its
        tables. Or your own.
    stopping : {"sound", "paper"} or callable, default="sound"
        When to stop. Only "sound" is certified. "paper" is the published test, kept to reproduce its tables; on graphs
        with shared leaves it is wrong more often than delta. Or your own function
        ``(best, rival, root, graph, known, epsilon)`` that says whether the choice between two children is settled.
    expansion : float or None, default=None
        Exponent b in [0, 1]: after t samples the graph has grown by about t^b nodes. None builds it all at once. With
        b > 0, unfinished states that an answer rests on are finished before it is settled: with an opponent all of
        them, with one player those that are compared last.
    growth : callable, default=None
        When the graph grows, instead of `expansion`: a function ``(rounds, node, state)`` that returns the first round
        from `rounds` on at which a child enters below `node`, or None for never.
    proposal : {"random", "prior", "rave", "lookahead"}, callable or None, default=None
        Which child enters when the graph grows. "random": any child. "prior", the default for a problem with
        ``prior(state)``: the child of highest prior. On the lattice of feature subsets also "rave":
        the child whose rollouts were best; and "lookahead", the default there: the child of highest exact value among
        the promising ones. Or your own function ``(children, node, state)`` that returns one of the missing children.
    max_samples, max_time : default=None
        The budget: samples (exact values included) and seconds (building the graph counts, compiling does not). When it
        is spent, the result says how large the gap still is. A whole graph (``expansion=None``) that takes more than
        half of the time to build is an error.
    max_memory : int, default=None
        Bytes that the graph may take. A search that needs more ends; a whole graph that needs more is an error.
    seed : int, Generator or None, default=None
        Everything random follows from it.
    answer : callable, default=None
        Which node is the answer before one is proved; None for the one that is most likely best. A function
        ``(state, decision)`` that returns the number of a node, or (node, gap). Once an answer is proved, a node whose
        gap is larger than epsilon does not replace it.
    callback : callable, default=None
        Called with a `Progress` about twenty times a second; the search ends when it returns True.
    batch_size : int, default=None
        Samples drawn at once, each from its own random stream, for problems whose samples take long. The answer depends
        on it. None draws samples one by one, in kernels where the problem has compiled samples.
    n_jobs : int, default=None
        Workers of joblib that draw the samples of a batch (the problem must be picklable for processes); the answer
        does not depend on it. ``joblib.parallel_config`` chooses other backends, Dask among them.
    memory : path-like, default=None
        A file in which answers of the problem are kept: exact values, and samples drawn in Python. The same call after
        a kill finds them there, goes on where it was and ends as if it had never been stopped; with seed=None it has
        the seed of the first time. Samples drawn in kernels are cheap and are drawn again. Another call on the same
        problem starts with every value that is known. Several processes may use the file at a time.

    Returns
    -------
    Result
"""


_OF_LEAVES = """    guarantee : {"grown", "local", "exhaustive"} or several, default="grown"
        Which leaves the guarantee is about. "grown": the leaves of the graph as grown. "local": also all leaves one
        step away from the answer (the problem needs ``neighbours(state)`` and ``path_to(state)``); it compares exact
        values. If such a leaf is better than the answer by more than epsilon, it enters the graph and the search goes
        on. "exhaustive": the whole graph, with ``expansion=None``.
"""


def best_arm(problem: Problem, **keywords: Any) -> Result:
    """Return the child of the root whose best leaf is within epsilon of the best, with probability 1 - delta.

    With an opponent or chance it is the child whose value is within epsilon of the best.
    """
    check_keywords("best_arm", keywords, signature(best_arm).parameters, ("epsilon", "delta"))
    return Search(problem, task="arm", **keywords).run()


def best_leaf(problem: Problem, **keywords: Any) -> Result:
    """Return the leaf whose value is within epsilon of the best in the graph, with probability 1 - delta.

    It is for one player; against an opponent `best_arm` finds the best move. With chance the answer is a plan
    (`Result.plan`), also against an opponent: a move for every state where the player moves and to which the plan may
    lead. No other plan is better on average by more than epsilon, with probability 1 - delta.
    """
    check_keywords("best_leaf", keywords, signature(best_leaf).parameters, ("epsilon", "delta"))
    return Search(problem, task="leaf", **keywords).run()


def _complete(function: Callable[..., Result], doc: str, without: tuple[str, ...]) -> None:
    """Add every keyword of a search to the signature and to the docstring of a function."""
    problem, *others = signature(Search).parameters.values()
    settings = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=Parameter.empty if one.default is MISSING else one.default)
        for one in fields(Settings)
        if one.name not in without
    ]
    others = [one for one in others if one.name not in ("inside", "settings")]
    function.__signature__ = signature(function).replace(parameters=[problem, *settings, *others])  # type: ignore[attr-defined]
    function.__doc__ = f"{function.__doc__}\n{doc}"


_complete(best_arm, _KEYWORDS, ("task", "guarantee"))
_complete(best_leaf, _KEYWORDS.replace("    callback :", _OF_LEAVES + "    callback :"), ("task",))
