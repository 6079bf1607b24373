"""What a search over subsets found, for the attributes and the certificate of a selector; and how it is watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from sklearn.base import BaseEstimator

from bestleaf.certificate import Certificate
from bestleaf.certificate.build import Structure, certificate_of
from bestleaf.certificate.chosen import answer_with, enter_values
from bestleaf.certificate.claims import first_of, shown
from bestleaf.certificate.rows import groups_digest, weights_digest
from bestleaf.certificate.schema import Content, named_objective
from bestleaf.engine.intervals import Leaf
from bestleaf.features import STOP, FeatureLattice, Subset
from bestleaf.features.all_subsets import Exhaustion
from bestleaf.features.estimator import described
from bestleaf.new_data.choosing import CHEAP_A_SECOND, Chosen, fresh_scores, in_certificate
from bestleaf.search import Progress, Search
from bestleaf.search.progress import LiveLine, ProgressLine
from bestleaf.search.result import settings_told
from bestleaf.search.settings import Settings
from bestleaf.selection.data import Data

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for the class of later versions; there are no callbacks."""


CHEAP = 1e9  # distances that may be computed for the report alone: about a second
HURRIED = ("max_time", "interrupted", "exhausted")  # reasons after which the report takes less time
FIT = 1e7  # what is affordable then with an estimator: closed forms, but no fits
SHOWN = ("seconds", "samples", "gap", "score", "leaves", "looked_at")  # what a report gets of it
HISTORY_RATIO = 1.01  # each entry is later than the last one by this factor: a long search has a few hundred
PRINTED = 10  # subsets that are printed

Note = dict[str, Any]  # an entry of `history_`


class EvaluatedSubset(NamedTuple):
    """A subset of features with its exact value."""

    features: tuple[str | int, ...]  # names, or numbers if the data have no names
    score: float
    size: int  # how many features, a group counting as one


class EvaluatedSubsets(tuple[EvaluatedSubset, ...]):
    """Every subset evaluated exactly, best first, printed as its ten best.

    ``pandas.DataFrame(selector.evaluated_)`` is a table of all of them.
    """

    def __str__(self) -> str:
        lines = [f"{one.score:.4f}  {first_of([shown(str(name)) for name in one.features])}" for one in self[:PRINTED]]
        more = [f"and {len(self) - PRINTED:,} more"] if len(self) > PRINTED else []
        return "\n".join([*lines, *more]) or "no subset was evaluated"

    __repr__ = __str__

    def by_size(self) -> dict[int, EvaluatedSubset]:
        """Return the best subset of each size, smallest size first; a group counts as one."""
        found: dict[int, EvaluatedSubset] = {}
        for subset in self:
            found.setdefault(subset.size, subset)
        return dict(sorted(found.items()))


@dataclass(frozen=True)
class Selection:
    """What a search over the subsets of a lattice found, by any algorithm."""

    data: Data  # says which features the columns of the lattice are
    lattice: FeatureLattice
    answer: Leaf
    reason: str
    settings: Content
    cost: Content
    leaves: tuple[Leaf, ...]
    structure: Structure
    challenges: Content
    values: dict[Any, float]  # of each terminal leaf: the exact value, or the mean of its samples
    rave: np.ndarray  # [units, 2]: sum and number of the values of rollouts with each unit
    history: list[Note]
    guide: float | None = None  # rough value of the answer, if it has no exact one
    fold_scores: dict[Any, list[float]] = field(default_factory=dict)  # of leaves whose value is the mean of these
    all_subsets: Content | None = None  # what the certificate says of all subsets, if they were counted

    @classmethod
    def of(cls, search: Search, data: Data, lattice: FeatureLattice, history: list[Note]) -> Selection:
        """Return what a search that is over found."""
        search.ensure_value()
        state, result = search.state, search.result()
        means = {leaf.state: leaf.mean for leaf in result.leaves if leaf.terminal and leaf.mean is not None}
        return cls(
            data,
            lattice,
            result.leaf,
            result.reason,
            result.settings,
            result.cost,
            result.leaves,
            result.structure,
            result.challenges,
            state.values if state.has_exact else means,
            state.rollouts.global_rave_sums,
            history,
            state.rough.get(result.answer),
            search.evaluator.known_scores(),
        )

    @classmethod
    def of_all(
        cls, found: Exhaustion, data: Data, settings: Settings, seed: int, history: list[Note], tolerance: float | None
    ) -> Selection:
        """Return what was found by evaluating all subsets, or some before a budget ended it: a root with the best."""
        lattice = found.lattice
        values = {lattice.terminal(units): value for units, value in found.values().items()}
        leaves = tuple(
            Leaf(state, state, True, True, 1, value, value, value, 0, 0.0) for state, value in values.items()
        )
        top, many, none = max(values.values()), len(leaves), np.zeros(len(leaves) + 1, np.int64)
        tolerance = settings.epsilon if tolerance is None else tolerance
        close = [leaf for leaf in leaves if top - leaf.lower <= tolerance]
        return cls(
            data,
            lattice,
            answer=min(close, key=lambda leaf: (len(leaf.state), -leaf.lower, leaf.state)),
            reason=found.reason or "unfinished",
            settings=settings_told(settings, seed, "random", exact=True),
            cost={
                **dict.fromkeys(("samples", "warmup_samples", "growths"), 0),
                "exact_evaluations": found.evaluated,
                "seconds": found.budget.seconds,
            },
            leaves=leaves,
            structure=Structure(
                (lattice.root(), *values), none, np.array([many] + [0] * many), np.arange(1, many + 1), none
            ),
            challenges={},
            values=values,
            rave=np.zeros((len(lattice.groups), 2)),
            history=history,
            all_subsets={"evaluated": found.evaluated, "least": found.least},
        )

    def features_of(self, state: Subset) -> list[int]:
        """Return the features of a subset; a feature can be several columns of the lattice."""
        return self.data.features_of(self.lattice.features_of(state))

    @property
    def score(self) -> float:
        """The exact value of the answer; without one the mean of its samples, without samples its rough value."""
        sampled = self.answer.mean if self.answer.mean is not None else self.guide
        return float(self.answer.lower if self.answer.exact or sampled is None else sampled)

    @property
    def feature_scores(self) -> np.ndarray:
        """The mean value of the rollouts with each feature; without rollouts, the mean of the exact values."""
        sums, counts = self.rave.T.copy()
        if not counts.any():
            for state, value in self.values.items():
                sums[list(state[:-1])] += value
                counts[list(state[:-1])] += 1
        scores = np.full(len(self.data.names), np.nan)
        for unit in range(len(self.lattice.groups)):
            scores[self.features_of((unit,))] = sums[unit] / counts[unit] if counts[unit] else np.nan
        return scores

    def evaluated(self, labels: Sequence[str | int]) -> EvaluatedSubsets:
        """Return every subset evaluated, best first, of equal ones the smaller first; with labels of features."""
        ranked = sorted(
            (-float(value), len(state) - 1, self.features_of(state)) for state, value in self.values.items()
        )
        return EvaluatedSubsets(
            EvaluatedSubset(tuple(labels[feature] for feature in features), -less, size)
            for less, size, features in ranked
        )

    def certificate(self, digest: str, chosen: Chosen | None = None, repeat: str | None = None) -> Certificate:
        """Return the certificate, and in it what a report also shows.

        `chosen` is what left-out rows decided, `repeat` the call that repeats the search.
        """
        lattice, data, names = self.lattice, self.data, [str(name) for name in self.data.names]
        certificate = certificate_of(
            self,
            self.answer.state,
            features=[names[feature] for feature in self.features_of(self.answer.state)],
            data={
                "names": names,
                "rows": len(data.X),
                "fingerprint": digest,
                "groups": self._groups(),
                "choice": lattice.choice(),
                "terminal": "exact",
                "objective": named_objective(lattice.oracle.settings()),
                **lattice.oracle.counts(),
                "standard_error": None,  # filled in below
                **_row_digests(data),
                **({} if data.encoded is None else {"encoding": data.encoded.encoder.settings()}),
            },
        )
        if chosen is not None and chosen.choice is not None:
            self._answer_with(certificate.content, chosen, names)
        content = certificate.content
        answer = tuple(content["graph"]["labels"][content["answer"]])
        content["data"]["standard_error"] = self._standard_error(answer)
        if "new_data" not in content:  # the path has the score of all features
            content["data"]["all_features"] = self._value_of_all()
        scores, best = self.feature_scores, self.evaluated(names).by_size()
        certificate.content["report"] = {  # no claim rests on it
            "history": [{name: row[name] for name in SHOWN} for row in self.history],
            "by_size": [[size, one.score, list(one.features)] for size, one in best.items()],
            "feature_scores": {
                names[feature]: None if np.isnan(scores[feature]) else float(scores[feature])
                for feature in self.features_of(answer)
            },
            "without": self._values_without(answer[:-1]),
        }
        certificate.add_to_report(repeat=repeat)
        return certificate

    def _groups(self) -> list[list[int]]:
        """Return the features of each unit; one that was left out is a unit that may not be chosen."""
        groups = [self.features_of((unit,)) for unit in range(len(self.lattice.groups))]
        left_out = set(range(len(self.data.names))).difference(*groups)
        return [*groups, *([feature] for feature in sorted(left_out))]

    def _answer_with(self, content: Content, chosen: Chosen, names: list[str]) -> None:
        """Let the certificate answer with what left-out rows decided; values of the path count as evaluated."""
        if self.reason == "interrupted":  # only the row that was chosen gets a value
            chosen = chosen._replace(affordable=0.0)
        scores = fresh_scores(chosen, self.lattice, self.values)
        fresh = {state: float(np.mean(some)) for state, some in scores.items()}
        self.values.update(fresh)
        if self.lattice.oracle.parts:
            self.fold_scores.update(scores)
        content["new_data"] = in_certificate(chosen, self.lattice, names, self.values, self.features_of)
        enter_values(content, fresh)
        answer_with(content, content["new_data"]["size"])

    def _standard_error(self, answer: Subset) -> float | None:
        """Return the standard error of the exact value of the answer; None if there is none or it would take long."""
        oracle, columns, known = self.lattice.oracle, self.lattice.features_of(answer), self.fold_scores.get(answer)
        if not hasattr(oracle, "standard_error") or (known is None and oracle.value_cost > self._affordable):
            return None
        error = oracle.standard_error(columns) if known is None else oracle.standard_error(columns, known)
        return float(error) if np.isfinite(error) else None

    @property
    def _affordable(self) -> float:
        """How many distances may be computed for the report alone; nobody knows how long fits take."""
        if self.reason not in HURRIED:
            return CHEAP
        return FIT if self.lattice.oracle.parts else min(CHEAP, CHEAP_A_SECOND * self.cost["seconds"])

    def _value_of_all(self) -> float | None:
        """Return the exact value of all features together; None if there is none or it would take long."""
        lattice, oracle = self.lattice, self.lattice.oracle
        units = tuple(sorted({*lattice.allowed, *lattice.forced}))
        columns, state = lattice.features_of(units), lattice.terminal(units)
        if state in self.values:
            return float(self.values[state])
        cost = oracle.value_cost * (1 if oracle.parts else len(columns))
        if cost > self._affordable:
            return None
        try:
            return float(oracle.value(columns))
        except ValueError:  # an estimator that cannot be fitted to so many features
            return None

    def _values_without(self, subset: Subset) -> dict[str, float]:
        """Return the exact value of the answer without each unit that may be dropped, if it is known or cheap."""
        lattice, found = self.lattice, {}
        cheap = len(subset) * lattice.oracle.value_cost <= self._affordable
        for unit in subset:
            left = (*lattice.without(subset, unit), STOP)
            if unit in lattice.forced or left == (STOP,):
                continue
            if left in self.values:
                found[str(unit)] = float(self.values[left])
            elif cheap:
                found[str(unit)] = float(lattice.oracle.value(lattice.features_of(left)))
        return found


def call_of(selector: BaseEstimator, seed: int) -> str:
    """Return the Python call that makes the selector again: the parameters that are not defaults, and the seed used."""
    again, given = copy(selector), {"random_state": seed, "memory": None, "verbose": 0}
    return described(again.set_params(**{name: given[name] for name in given.keys() & again.get_params(deep=False)}))


def _row_digests(data: Data) -> dict[str, str]:
    """Return the fingerprints of the groups and the weights of rows, if there are any."""
    parts = {"groups": ("row_groups", groups_digest), "sample_weight": ("row_weights", weights_digest)}
    known = ((*parts[name], value) for name, value in data.metadata.items())
    return {part: digest(value, len(data.X)) for part, digest, value in known}


@contextmanager
def telling_folds(verbose: int) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows how many folds are done while left-out rows choose."""
    began = perf_counter()
    with LiveLine(Console(quiet=not verbose), moving=True) as line:
        yield lambda done, of: line.tell(
            f"Choosing by left-out rows: {done} of {of} folds done", perf_counter() - began
        )


class Watch:
    """A context in which a search runs. It keeps the history, shows progress and calls scikit-learn's callbacks.

    Callbacks exist from scikit-learn 1.9 on. They see one task for the fit, and in it one task for each time slice.
    `subsets` is how many subsets there are, if all are evaluated.
    """

    def __init__(
        self,
        selector: BaseEstimator,
        data: Data,
        lattice: FeatureLattice,
        max_time: float | None,
        history: list[Note],
        *,
        subsets: int | None = None,
    ) -> None:
        self.history, self._lattice, self._data = history, lattice, data
        self._console = Console(quiet=not selector.verbose)
        most = selector._options().max_samples
        self._line = ProgressLine(self._console, self._in_words, max_time=max_time, max_samples=most)
        self._line.subsets = subsets
        self._given = {"estimator": selector, "X": data.X, "y": data.y}
        self._task = None
        if hasattr(selector, "_skl_callbacks") or hasattr(selector, "_parent_callback_ctx"):
            self._task = selector._init_callback_context(max_subtasks=None)

    def __enter__(self) -> Watch:
        self._line.__enter__()
        if self._task is not None:
            self._task.call_on_fit_task_begin(**self._given)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.__exit__(kind, error, trace)
        if self._task is not None and error is None:
            self._task.call_on_fit_task_end(**self._given)

    def look(self, now: Progress, values: dict[Any, float], *, over: bool) -> bool:
        """Record and show how far the search is; return whether a callback wants to end it."""
        best: Any = max(values, key=values.__getitem__, default=now.best)
        if over or not self.history or now.seconds > HISTORY_RATIO * self.history[-1]["seconds"]:
            self.history.append({**now._asdict(), "best": self._in_words(best), "score": values.get(best)})
        self._line.show(now._replace(best=best), values.get(best))
        if self._task is None:
            return False
        part = self._task.subcontext(task_name="slice")
        part.call_on_fit_task_begin(**self._given)
        return bool(part.call_on_fit_task_end(**self._given))

    def tell(self, text: str) -> None:
        """Print a line, if progress is shown."""
        self._console.print(text, highlight=False, markup=False)

    def _in_words(self, state: Subset) -> str:
        features = self._data.features_of(self._lattice.features_of(state))
        return "{" + ", ".join(self._data.names[features]) + "}"
