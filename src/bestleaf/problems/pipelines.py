"""Pipelines of scikit-learn as a problem: for every step one of several options, and a score for the whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from bestleaf.checks import function_or_none, number, shown

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator
    from sklearn.pipeline import Pipeline

SKIPPED = "passthrough"
ROUNDING = 1e-9  # a perfect score may be 1.0000000000000002
SEEDS = 2**31

State: TypeAlias = tuple[str | None, ...]  # the option of every step; None where it is not chosen yet
Option: TypeAlias = "BaseEstimator | str | None"
Rule: TypeAlias = Callable[[dict[str, str]], bool]


class Answered(Protocol):
    """A result of a search."""

    @property
    def answer(self) -> object:
        """The recommended state."""


class PipelineChoices:
    """Which option to take for every step of a pipeline; a leaf is a whole pipeline.

    A state names the options that are chosen so far. The value of a pipeline is its cross-validated score, moved from
    `score_range` to [0, 1]. It is exact; a sample is the score of a random fold. Each fold of each pipeline is fitted
    once. With `resample` the value is the expected score of a random split: then every sample is a new fit, and no
    value is exact. A state with open steps is sampled by a random pipeline below it.

    Parameters
    ----------
    steps : dict
        For each step, in the order of the pipeline, its options: a list of estimators, or a dict with their names.
        "passthrough" or None leaves the step out. Options of a list are named by their text, such as
        ``"StandardScaler()"``; equal ones are one option. Give estimators a `random_state`, if they have one.
    X, y : array-like
        Data that pipelines are fitted to and scored on.
    cv : int, cross-validation generator or iterable, default=5
        As in ``sklearn.model_selection.cross_val_score``.
    scoring : str or callable, default=None
        As in ``cross_val_score``.
    score_range : tuple of two floats, default=(0, 1)
        The lowest and the highest possible score; a score outside is an error.
    exclude : callable, default=None
        ``exclude(chosen)`` gets the options of a whole pipeline, ``{step: option}``, and returns whether it is left out
        of the search. A choice that only leads to such pipelines is not offered.
    any_order : bool, default=False
        With True any step can be chosen next. Then a state with the same options is one node, in whatever order they
        were chosen, and the answer of `best_arm` is the option that matters most. With False steps are chosen in the
        order of the pipeline, so the graph is a tree.
    resample : float, default=None
        Share of the rows that a random split leaves out; None for the folds of `cv`.
    error_score : "raise" or float, default="raise"
        The score of a pipeline that cannot be fitted.
    memory : str or joblib.Memory, default=None
        As in ``sklearn.pipeline.Pipeline``: pipelines with the same first steps then share their fits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from bestleaf import best_leaf
    >>> from bestleaf.problems.pipelines import PipelineChoices
    >>> steps = {"scale": [None, MinMaxScaler()], "model": [KNeighborsClassifier(9), KNeighborsClassifier(1)]}
    >>> choices = PipelineChoices(steps, *load_iris(return_X_y=True))
    >>> result = best_leaf(choices, epsilon=0, delta=0.05, seed=0)
    >>> result.answer
    ('passthrough', 'KNeighborsClassifier(n_neighbors=9)')
    >>> choices.best_pipeline(result).steps[0]
    ('scale', 'passthrough')
    """

    def __init__(
        self,
        steps: Mapping[str, Sequence[Option] | Mapping[str, Option]],
        X: object,
        y: object,
        *,
        cv: object = 5,
        scoring: str | Callable[..., float] | None = None,
        score_range: tuple[float, float] = (0.0, 1.0),
        exclude: Rule | None = None,
        any_order: bool = False,
        resample: float | None = None,
        error_score: str | float = "raise",
        memory: object = None,
    ) -> None:
        from sklearn.base import is_classifier
        from sklearn.model_selection import check_cv
        from sklearn.utils import indexable

        self.options = _checked_steps(steps)
        self.X, self.y = indexable(X, y)
        self.scoring, self.memory, self.any_order = scoring, memory, any_order
        self.low, self.high = _checked_range(score_range)
        self.error_score = error_score
        if error_score != "raise":
            words = f"'raise' or between {self.low:g} and {self.high:g}"
            number("error_score", error_score, words, self.low, self.high)
        self._exclude: Rule | None = function_or_none("exclude", exclude)
        self._allowed: dict[State, bool] = {}
        self._scores: dict[tuple[State, int], float] = {}
        if not self._allows(self.root()):
            raise ValueError("exclude must leave at least one pipeline, got a rule that leaves none")
        classifies = is_classifier(self.pipeline(self.complete(self.root(), np.random.default_rng(0))))
        self.resample = resample
        if resample is not None:
            number("resample", resample, "strictly between 0 and 1, or None", 0, 1, open_ends=True)
            self._strata = self.y if classifies else None
            return
        self._splits = list(check_cv(cv, self.y, classifier=classifies).split(self.X, self.y))
        self.parts = len(self._splits)
        self.exact, self.part, self.drawn_part = self._exact, self._part, self._drawn_part

    def root(self) -> State:
        """Return the state where nothing is chosen."""
        return (None,) * len(self.options)

    def children(self, state: State) -> list[State]:
        """Return the states with one more step chosen."""
        open_steps = [place for place, option in enumerate(state) if option is None]
        places = open_steps if self.any_order else open_steps[:1]
        return [child for place in places for child in self._filled(state, place) if self._allows(child)]

    def is_terminal(self, state: State) -> bool:
        """Return whether all steps are chosen."""
        return None not in state

    def sample(self, state: State, rng: np.random.Generator) -> float:
        """Return the score of a random fold or split; of a random pipeline, if steps are open."""
        from sklearn.model_selection import train_test_split

        state = self.complete(state, rng)
        if self.resample is None:
            return self._part(state, self._drawn_part(rng))
        seed, rows = int(rng.random() * SEEDS), range(len(self.y))
        split = train_test_split(rows, test_size=self.resample, stratify=self._strata, random_state=seed)
        return self._score(state, split)

    def complete(self, state: State, rng: np.random.Generator) -> State:
        """Return a random whole pipeline below a state."""
        while None in state:
            below = [child for child in self._filled(state, state.index(None)) if self._allows(child)]
            state = below[int(rng.random() * len(below))]
        return state

    def pipeline(self, state: object) -> Pipeline:
        """Return the pipeline of a state whose steps are all chosen; it is not fitted."""
        from sklearn.base import clone
        from sklearn.pipeline import Pipeline

        if not isinstance(state, tuple) or len(state) != len(self.options) or None in state:
            raise ValueError(f"a pipeline needs an option for every step, got {shown(state)}; search longer for a leaf")
        chosen = [(step, options[name]) for (step, options), name in zip(self.options.items(), state, strict=True)]
        made = [(step, option if option == SKIPPED else clone(option)) for step, option in chosen]
        return Pipeline(made, memory=self.memory)

    def best_pipeline(self, result: Answered, *, refit: bool = False) -> Pipeline:
        """Return the pipeline that a search of the best leaf found; with `refit` it is fitted to all rows."""
        found = self.pipeline(result.answer)
        return found.fit(self.X, self.y) if refit else found

    def score(self, value: float) -> float:
        """Return the score that a value in [0, 1] stands for."""
        return self.low + value * (self.high - self.low)

    def fingerprint(self) -> dict[str, object]:
        """Return what distinguishes this problem from others: options, a hash of the data and of the splits."""
        from joblib import hash as hashed

        data = hashed((self.X, self.y, None if self.resample is not None else self._splits))
        options = {step: list(named) for step, named in self.options.items()}
        how = {"scoring": str(self.scoring), "score_range": [self.low, self.high], "resample": self.resample}
        return {"options": options, "data": data, "any_order": self.any_order, **how}

    def _exact(self, state: State) -> float:
        """Return the mean score of all folds."""
        return float(np.mean([self._part(state, fold) for fold in range(self.parts)]))

    def _part(self, state: State, number: int) -> float:
        """Return the score of one fold."""
        if (state, number) not in self._scores:
            self._scores[state, number] = self._score(state, self._splits[number])
        return self._scores[state, number]

    def _drawn_part(self, rng: np.random.Generator) -> int:
        """Return the fold that a sample with this stream is the score of."""
        return int(rng.random() * self.parts)

    def _score(self, state: State, split: Sequence[object]) -> float:
        """Return the score of a pipeline on one split, moved to [0, 1]."""
        from sklearn.model_selection import cross_val_score

        pipeline, settings = self.pipeline(state), {"scoring": self.scoring, "error_score": "raise"}
        try:
            score = cross_val_score(pipeline, self.X, self.y, cv=[split], **settings).item()
        except Exception as error:
            if self.error_score == "raise":
                what = " ".join(str(error).split())[:100]
                words = f"every pipeline must be fitted (or give exclude or error_score), got {shown(state)}: {what}"
                raise ValueError(words) from error
            score = float(self.error_score)
        slack = ROUNDING * (self.high - self.low)
        if not (isfinite(score) and self.low - slack <= score <= self.high + slack):
            raise ValueError(f"score_range must hold every score, got {score:g} for {shown(state)}")
        return min(1.0, max(0.0, (score - self.low) / (self.high - self.low)))

    def _filled(self, state: State, place: int) -> list[State]:
        """Return the states in which one open step is chosen."""
        return [(*state[:place], name, *state[place + 1 :]) for name in list(self.options.values())[place]]

    def _allows(self, state: State) -> bool:
        """Return whether the rule leaves a pipeline below a state."""
        if self._exclude is None:
            return True
        found = self._allowed.get(state)
        if found is None:
            if None in state:
                found = any(self._allows(child) for child in self._filled(state, state.index(None)))
            else:
                found = not self._exclude(dict(zip(self.options, map(str, state), strict=True)))
            self._allowed[state] = found
        return found


def _checked_steps(steps: object) -> dict[str, dict[str, Option]]:
    """Return the options of every step by name."""
    if not isinstance(steps, Mapping) or not steps:
        raise TypeError(f"steps must be a dict of options for every step, got {shown(steps)}")
    found: dict[str, dict[str, Option]] = {}
    for step, options in steps.items():
        if isinstance(options, str) or not isinstance(options, Sequence | Mapping) or not options:
            raise TypeError(f"steps must hold a list or a dict of options for {shown(step)}, got {shown(options)}")
        if isinstance(options, Mapping):
            named = {str(name): option for name, option in options.items()}
        else:
            named = {SKIPPED if option is None else " ".join(str(option).split()): option for option in options}
        for name, option in named.items():
            if option is not None and option != SKIPPED and not hasattr(option, "fit"):
                raise TypeError(f"an option must be an estimator, 'passthrough' or None, got {shown(option)}")
            named[name] = SKIPPED if option is None else option
        found[str(step)] = named
    if SKIPPED in found[str(list(steps)[-1])].values():
        raise ValueError(f"the last step must be an estimator in every pipeline, got {SKIPPED} among its options")
    return found


def _checked_range(given: object) -> tuple[float, float]:
    ends = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else []
    if len(ends) != 2 or not all(isinstance(end, Real) and isfinite(end) for end in ends) or ends[0] >= ends[1]:
        raise ValueError(f"score_range must be the lowest and the highest possible score, got {shown(given)}")
    return float(ends[0]), float(ends[1])
