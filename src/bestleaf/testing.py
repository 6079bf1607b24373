"""Checks for what you have written yourself: a problem, a bound, the ingredients of a search.

Each check tries it on small cases. If something is wrong, the check raises an `AssertionError` with one sentence.
Call the checks in your own tests::

    from bestleaf.testing import check_problem

    def test_my_game():
        check_problem(MyGame())
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from itertools import product
from math import sqrt
from typing import Any

import numpy as np

from bestleaf.checks import number, shown, whole
from bestleaf.engine.bounds import Bound, Rate, named_bound
from bestleaf.engine.components import chances_of, checked_endless
from bestleaf.engine.kernels.backup import count_escapes
from bestleaf.engine.rules import Rule
from bestleaf.problems import Problem, TableProblem, paper_lattice
from bestleaf.proof.verify import verify
from bestleaf.search import Search, best_arm, best_leaf
from bestleaf.search.answer import Answer
from bestleaf.search.growth import priors_of
from bestleaf.search.settings import checked_problem, name_of

LONGEST = 10_000  # moves after which a random walk is taken to be endless
DEVIATIONS = 4.0  # a frequency or a mean that is off by more standard errors is taken to be wrong

__all__ = ["check_bound", "check_ingredients", "check_problem"]


def _require(condition: object, sentence: str) -> None:
    """Raise an error unless the condition holds. Not an `assert`: python -O would skip it."""
    if not condition:
        raise AssertionError(sentence)


def _asked(work: Callable[[], Any]) -> Any:
    """Return what a function returns; let the sentence of its error be what is wrong."""
    try:
        return work()
    except (TypeError, ValueError) as error:
        raise AssertionError(str(error)) from None


def check_problem(problem: Problem, *, walks: int = 50, samples: int = 400, seed: int = 0) -> None:
    """Check that a problem obeys the rules of a `Problem`, along random walks from its root.

    A problem with a `sample` that takes terminal states only is one for whole graphs; then its whole graph is searched.

    Parameters
    ----------
    problem : Problem
        What is to be searched.
    walks : int, default=50
        Random walks from the root to a terminal state.
    samples : int, default=400
        Samples of a terminal state that are compared with its exact value.
    seed : int, default=0
        Everything random follows from it.
    """
    checked_problem(problem)
    whole("walks", walks, 1)
    whole("samples", samples, 1)
    rng = np.random.default_rng(seed)
    root = problem.root()
    _require(root == problem.root(), f"root() must always return the same state, got {shown(root)} and another one")
    _require(not problem.is_terminal(root), f"the root must have children, got the terminal state {shown(root)}")
    met: dict[Hashable, list[Hashable]] = {}
    terminal: dict[Hashable, None] = {}
    for _ in range(walks):
        state, passed = root, set()
        for _ in range(LONGEST):
            passed.add(state)
            if problem.is_terminal(state):
                terminal[state] = None
                break
            children = met.get(state)
            if children is None:
                children = met[state] = _checked_children(problem, state)
            state = children[int(rng.integers(len(children)))]
        else:  # in circles a random walk may go for long
            circles = len(passed) < LONGEST
            _require(circles, f"every walk must end in a terminal state, got one of {LONGEST:,} moves without end")
    _require(terminal, f"a random walk must come to a terminal state, got {walks} walks in circles")
    _check_parents(problem, met)
    _check_endless(problem, met)
    for state in list(terminal)[:10]:
        _check_values(problem, state, samples, rng)
    starts_by_chance = hasattr(problem, "chance") and problem.chance(root) is not None
    find = best_leaf if starts_by_chance else best_arm  # where chance decides first, there is no arm to choose
    growth = 0.5 if _samples_anywhere(problem, root) else None
    result = find(problem, epsilon=0.1, delta=0.1, expansion=growth, seed=seed, max_samples=2_000, max_memory=2**30)
    verdict = verify(result.certificate)
    _require(verdict, f"the certificate of a short search must pass verify, got: {verdict}")


def _samples_anywhere(problem: Problem, state: Hashable) -> bool:
    """Return whether states that are not terminal can be sampled."""
    try:
        problem.sample(state, np.random.default_rng(0))
    except Exception:  # whatever the user's method raises
        return False
    return True


def _checked_children(problem: Problem, state: Hashable) -> list[Hashable]:
    children = list(problem.children(state))
    _require(children, f"a state that is not terminal must have children, got none at {shown(state)}")
    for child in children:
        try:
            hash(child)
        except TypeError:
            raise AssertionError(f"states must be hashable (tuples, not lists), got {shown(child)}") from None
    if _checked_chance(problem, state):
        return children
    _require(len(set(children)) == len(children), f"children({shown(state)}) must list every child once")
    again = list(problem.children(state))
    _require(children == again, f"children({shown(state)}) must return the same states in the same order every time")
    if hasattr(problem, "count_children"):
        counted = problem.count_children(state)
        _require(
            counted == len(children),
            f"count_children({shown(state)}) must be the number of children, {len(children)}, got {counted}",
        )
    if hasattr(problem, "prior"):
        _asked(lambda: priors_of(problem, state))
    if hasattr(problem, "maximizes"):
        moves = problem.maximizes(state)
        _require(isinstance(moves, bool), f"maximizes({shown(state)}) must return True or False, got {shown(moves)}")
    return children


def _checked_chance(problem: Problem, state: Hashable) -> bool:
    """Return whether chance decides at a state; its probabilities must be right, and the same every time."""
    if not hasattr(problem, "chance"):
        return False
    first, again = _asked(lambda: (chances_of(problem, state), chances_of(problem, state)))
    _require(first == again, f"chance({shown(state)}) must return the same probabilities every time")
    return first is not None


def _check_parents(problem: Problem, met: dict[Hashable, list[Hashable]]) -> None:
    if not hasattr(problem, "parents"):
        return
    for state, children in met.items():
        for child in children[:20]:
            _require(
                state in set(problem.parents(child)),
                f"parents({shown(child)}) must hold {shown(state)}, whose child it is",
            )


def _check_endless(problem: Any, met: Iterable[Hashable]) -> None:
    for state in met if hasattr(problem, "endless") else ():
        value = problem.endless(state)
        _asked(partial(checked_endless, value, state))
        _require(value == problem.endless(state), f"endless({shown(state)}) must return the same value every time")


def _check_values(problem: Any, state: Hashable, samples: int, rng: np.random.Generator) -> None:
    first = problem.sample(state, np.random.default_rng(1))
    again = problem.sample(state, np.random.default_rng(1))
    _require(
        first == again,
        f"sample({shown(state)}, rng) must take everything random from rng: the same stream gave two values",
    )
    drawn = [float(problem.sample(state, rng)) for _ in range(samples)]
    _require(
        min(drawn) >= 0.0 and max(drawn) <= 1.0,
        f"sample({shown(state)}, rng) must lie in [0, 1], got {min(drawn):g} to {max(drawn):g}",
    )
    exact = problem.exact(state) if hasattr(problem, "exact") else None
    if exact is None:
        return
    _require(0.0 <= exact <= 1.0, f"exact({shown(state)}) must be a number in [0, 1] or None, got {shown(exact)}")
    _require(exact == problem.exact(state), f"exact({shown(state)}) must return the same value every time")
    mean, error = float(np.mean(drawn)), max(float(np.std(drawn)), 1.0 / samples) / sqrt(samples)
    _require(
        abs(mean - exact) <= DEVIATIONS * error + 1e-9,  # for rounding errors
        f"exact({shown(state)}) must be the mean of its samples, got {exact:.4g}, but their mean is {mean:.4g}",
    )


def _small_problems() -> list[TableProblem]:
    """Return small graphs with one clear best leaf; each is there twice, with its children in both orders."""
    means = {"a": 0.9, "b": 0.5, "c": 0.4, "d": 0.1}
    shared: dict[str, list[str]] = {"root": ["x", "y", "z"], "x": ["a", "b"], "y": ["b", "c"], "z": ["c", "d"]}
    deeper: dict[str, list[str]] = {"root": ["x", "y"], "x": ["u", "d"], "y": ["b", "c"], "u": ["a", "c"]}
    backwards = [{state: children[::-1] for state, children in edges.items()} for edges in (shared, deeper)]
    return [TableProblem(edges, means, root="root") for edges in (shared, deeper, *backwards)]


def check_ingredients(
    *,
    rule: str | Rule | Callable | None = None,
    stopping: str | Callable = "sound",
    answer: Answer | None = None,
    growth: Callable[[int, int, Any], int | None] | None = None,
    proposal: str | Callable | None = None,
    delta: float = 0.1,
    runs: int = 200,
    seed: int = 0,
) -> None:
    """Check ingredients of a search, those that are given: searches with them end, are right, and can be repeated.

    With a stopping test of your own, searches must find a leaf within epsilon of the best, but for a fraction delta of
    the runs. As they are random, a few more errors are allowed: those that a right test exceeds with a probability of
    about 1 in 30,000 (four standard errors of the binomial distribution).

    Parameters
    ----------
    rule, stopping, answer, growth, proposal
        As in `best_leaf`.
    delta : float, default=0.1
        Probability with which the answer may be wrong.
    runs : int, default=200
        Searches of each of the small problems by which a stopping test is checked.
    seed : int, default=0
        Everything random follows from it.
    """
    whole("runs", runs, 1)
    given: dict[str, Any] = {"rule": rule, "growth": growth, "proposal": proposal, "answer": answer}
    given["stopping"] = None if stopping == "sound" else stopping
    named = [f"{name} {name_of(part)}" for name, part in given.items() if part is not None]
    how = f"a search with {', '.join(named) or 'the usual ingredients'}"
    rules: dict[str, Any] = {"rule": rule, "stopping": stopping, "delta": delta, "max_samples": 200_000}
    if stopping != "sound":
        _check_errors(how, runs, seed, rules)
    for problem in _small_problems():
        result = best_arm(problem, epsilon=0.2, seed=seed, **rules)
        _require(result.settled, f"{how} must end by itself, got {result.samples:,} samples")
        right = result.answer == "x" or stopping != "sound"
        _require(right, f"{how} must be right: the best child is 'x', got {result.answer!r}")
    _check_grown(how, seed, {**rules, "growth": growth, "proposal": proposal, "answer": answer})
    for task, most in product(("arm", "leaf"), (1, 30, 500)):
        search = Search(
            paper_lattice(), task=task, epsilon=0.2, seed=seed, answer=answer, **{**rules, "max_samples": most}
        )
        _require(verify(search.run().certificate), f"the certificate of {how} must pass verify")


def _check_errors(how: str, runs: int, seed: int, keywords: dict[str, Any]) -> None:
    """Check that searches of flat problems end, and are wrong no more often than delta allows."""
    epsilon, delta = 0.1, keywords["delta"]
    margin = delta + DEVIATIONS * sqrt(delta * (1.0 - delta) / runs)
    # Flat problems where the rival is better than epsilon allows by little: a test that stops too early errs.
    for means in ((0.5, 0.62), (0.1, 0.21, 0.1), (0.8, 0.92, 0.85, 0.7), (0.3, 0.3, 0.3, 0.45, 0.3)):
        arms = range(1, len(means) + 1)
        problem = TableProblem({0: list(arms)}, dict(zip(arms, means, strict=True)))
        wrong, leaves = 0, f"leaves of means {', '.join(map(str, means))}"
        for run in range(runs):
            stream = np.random.SeedSequence([seed, run])
            result = best_arm(problem, epsilon=epsilon, seed=stream, **keywords)
            _require(result.settled, f"{how} must end by itself, got {result.samples:,} samples for {leaves}")
            wrong += means[result.answer - 1] < max(means) - epsilon
        _require(
            wrong <= margin * runs,
            f"{how} must be wrong with probability {delta:g} at most: for {leaves} it was wrong in {wrong} of {runs} "
            f"runs, and {margin * runs:.0f} are allowed",
        )


def _check_grown(how: str, seed: int, keywords: dict[str, Any]) -> None:
    """Check searches of the paper's lattice that grows: the same seed gives the same search."""
    keywords |= {"epsilon": 0.1, "expansion": 0.6, "max_samples": 5_000, "seed": seed}
    first, again = (best_leaf(paper_lattice(), **keywords) for _ in range(2))
    _require(first.growths > 0, f"the graph must grow in {how}, got {first.nodes} nodes and no growth")
    one, other = ((found.answer, found.certificate.search) for found in (first, again))
    _require(one == other, f"{how} must take everything random from its seed: the same seed gave two searches")
    _require(verify(first.certificate), f"the certificate of {how} must pass verify")


def check_bound(
    bound: str | Rate | Bound,
    *,
    delta: float = 0.1,
    runs: int = 1000,
    samples: int = 20_000,
    means: Sequence[float] = (0.02, 0.3, 0.5, 0.9, 1.0),
    seed: int = 0,
) -> None:
    """Check that the intervals of a bound hold at all times at once with probability 1 - delta.

    In each of `runs` runs a leaf gets samples of 0 or 1. A run fails if the mean is outside of the interval after one
    of the first samples, or later at times that grow by a seventh. So an interval that holds at each time by itself,
    but not at all times at once, is told. The fraction of runs that fail may exceed delta by four standard errors of
    the binomial distribution.

    Parameters
    ----------
    bound : str, Rate or Bound
        Confidence interval of a leaf.
    delta : float, default=0.1
        Probability with which an interval may ever be wrong.
    runs, samples : int
        Runs for each mean, and samples in a run.
    means : sequence of float
        Means of the samples.
    seed : int, default=0
        Everything random follows from it.
    """
    whole("runs", runs, 1)
    whole("samples", samples, 1)
    number("delta", delta, "strictly between 0 and 1", 0, 1, open_ends=True)
    bound, rng = named_bound(bound), np.random.default_rng(seed)
    margin = delta + DEVIATIONS * sqrt(delta * (1.0 - delta) / runs)
    times = list(range(1, min(samples, 20) + 1))
    while times[-1] < samples:
        times.append(min(samples, times[-1] * 8 // 7))
    search = Search(TableProblem({0: [1]}, {}), task="arm", epsilon=0.1, delta=delta, bound=bound, seed=seed)
    world = search.state.known.world
    world["stochastic"] = 1
    for mean in means:
        failed = count_escapes(runs, float(mean), np.array(times), world, rng)
        search.state.check_parts()
        _require(failed >= 0, f"bound {bound.name} must return lower <= upper, but did not after {-failed} samples")
        _require(
            failed <= margin * runs,
            f"bound {bound.name} must hold with probability {1 - delta:g}: at mean {mean:g} it failed in {failed} of "
            f"{runs} runs, and {margin * runs:.0f} are allowed",
        )
