"""The loops: best arm at one root (BAI-exMCDS), best leaf root after root (BLI-MCDS).

One round: rules name (best, rival) -> stop? -> the representative leaf of the wider one -> sample ->
absorb: the leaf's interval, then every ancestor's, deepest first -> grow? The same rounds serve the
compiled loop, the loop over a Python-defined problem, and `Search.ask` / `Search.tell`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from bestleaf.bounds import Bound, Rate
from bestleaf.checks import shown
from bestleaf.executors import Executor, executor_for
from bestleaf.rules import Rule
from bestleaf.search.result import Progress, Result
from bestleaf.search.session import Search
from bestleaf.storage import Checkpoint

__all__ = ["Progress", "Result", "Search", "best_arm", "best_leaf"]

_KEYWORDS = """
    Parameters
    ----------
    problem : Problem
        What is searched; see `bestleaf.problems.Problem`.
    epsilon : float
        How much better than the answer another may be, between 0 and 1.
    delta : float
        Probability with which the answer may be wrong, between 0 and 1.
    rule : str, Rule or None, default=None
        What is sampled next: "smallest_gap", "lucb" (the paper's), "ugape", "lucb_mcts", "lucb_micro" or your own. None
        stands for "smallest_gap", and for "lucb" with the published stopping test.
    bound : str, Rate or Bound, default="betting"
        Confidence interval of a leaf. "betting", "bernstein", "bernoulli" and "hoeffding" hold at all times, also
        while the graph grows; "betting" needs the fewest samples where samples vary little, "bernoulli" where they are
        0 or 1. The paper's rates "theory", "beta1", "beta1_published" and "beta2" are for its tables. Or your own.
    stopping : {"sound", "paper"}, default="sound"
        When to stop; "paper" is the published test, which is wrong more often than delta on graphs with
        shared leaves and kept for reproducing tables.
    expansion : float or None, default=None
        Exponent b in [0, 1]: the graph has about t^b nodes more after t samples. None builds all of it at once.
    proposal : {"random", "rave", "lookahead"} or None, default=None
        Which child enters when the graph grows: a random one or, on the lattice of feature subsets, the one whose
        rollouts were best ("rave") or the best by exact value of those that stand out ("lookahead", the default there).
    max_samples, max_time : default=None
        Budgets: oracle calls (exact ones included) and seconds (building the graph counts, compiling does not). The
        result then says how much is left open. A whole graph (``expansion=None``) that takes more than half of the
        time to build is an error.
    max_memory : int, default=None
        Bytes that the graph may take; a search that would take more ends, and a whole graph that would is an error.
    seed : int, Generator or None, default=None
        Everything random follows from it.
    callback : callable, default=None
        Called with a `Progress` about twenty times a second; the search ends when it returns True.
    batch_size : int, default=None
        Samples asked for at once, each from a stream of its own, for problems whose samples take time. The answer
        depends on it. None draws them one by one, by kernels where the problem has compiled samples.
    n_jobs : int, default=None
        Workers of joblib that draw the samples of a batch (the problem must be picklable for processes); the answer
        does not depend on it. ``joblib.parallel_config`` chooses other backends, Dask among them.
    checkpoint : path or Checkpoint, default=None
        A file that the search is saved to every few seconds and at its end; if it is there already, the search goes on
        from it and ends as if it had never been broken off. Then epsilon and the budgets may differ (time and samples
        count from the first beginning), everything else must be the same; seed=None stands for the seed of the file.

    Returns
    -------
    Result
"""


_OF_LEAVES = """    guarantee : {"grown", "local", "quantile", "exhaustive"} or several, default="grown"
        What the promise is about beside the leaves of the graph as grown: all leaves one step away from the answer,
        which are then evaluated ("local": the problem gives ``neighbours(state)`` and ``path_to(state)``, as the
        lattice of feature subsets does); all but a share `alpha` of random leaves ("quantile": reached by uniform
        moves, or by the problem's ``random_leaf(rng)``); the whole graph ("exhaustive", with ``expansion=None``).
        "local" and "quantile" compare exact values: a leaf found to be better by more than epsilon joins the graph and
        the search goes on.
    alpha : float, default=0.01
        Share of random leaves that the guarantee "quantile" leaves open.
"""


def best_arm(
    problem: Any,
    *,
    epsilon: float,
    delta: float,
    rule: str | Rule | None = None,
    bound: str | Rate | Bound = "betting",
    stopping: str = "sound",
    expansion: float | None = None,
    proposal: str | None = None,
    max_samples: int | None = None,
    max_time: float | None = None,
    max_memory: int | None = None,
    seed: Any = None,
    callback: Callable[[Progress], Any] | None = None,
    batch_size: int | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
) -> Result:
    """Return the child of the root whose best leaf is within epsilon of the best, with probability 1 - delta."""
    keywords = {name: value for name, value in locals().items() if name not in ("problem", "n_jobs")}
    return Search(problem, task="arm", **keywords, executor=_executor(batch_size, n_jobs)).run()


def best_leaf(
    problem: Any,
    *,
    epsilon: float,
    delta: float,
    rule: str | Rule | None = None,
    bound: str | Rate | Bound = "betting",
    stopping: str = "sound",
    expansion: float | None = None,
    proposal: str | None = None,
    max_samples: int | None = None,
    max_time: float | None = None,
    max_memory: int | None = None,
    guarantee: str | Iterable[str] = "grown",
    alpha: float = 0.01,
    seed: Any = None,
    callback: Callable[[Progress], Any] | None = None,
    batch_size: int | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
) -> Result:
    """Return the leaf whose value is within epsilon of the best in the graph, with probability 1 - delta.

    In a two-player graph it is the leaf at the end of the principal variation, the best play of both sides as far as it
    is known. There `epsilon` is for each move: no single move on the way gives away more than epsilon to whoever makes
    it, so after m moves the value of the leaf may differ from that of the game by up to m times epsilon.
    """
    keywords = {name: value for name, value in locals().items() if name not in ("problem", "n_jobs")}
    return Search(problem, task="leaf", **keywords, executor=_executor(batch_size, n_jobs)).run()


def _executor(batch_size: int | None, n_jobs: int | None) -> Executor | None:
    """Return who draws the samples of a batch; processes, unless joblib is configured otherwise."""
    if batch_size is None:
        if n_jobs is not None:
            raise ValueError(
                f"n_jobs needs batch_size, the number of samples asked for at once, got n_jobs={shown(n_jobs)}"
            )
        return None
    return executor_for(n_jobs, "processes")


best_arm.__doc__ = f"{best_arm.__doc__}\n{_KEYWORDS}"
best_leaf.__doc__ = f"{best_leaf.__doc__}\n{_KEYWORDS.replace('    callback :', _OF_LEAVES + '    callback :')}"
