"""What a search over subsets found, for the attributes and the certificate of a selector; and how it is watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from sklearn.base import BaseEstimator

from bestleaf.certificate import Certificate
from bestleaf.certificate.build import Structure, certificate_of
from bestleaf.certificate.chosen import answer_with, enter_values
from bestleaf.certificate.schema import Content, named_objective
from bestleaf.checkpoint import Saved
from bestleaf.data_checks import Data
from bestleaf.engine.intervals import Leaf
from bestleaf.features import STOP, Subset, SubsetLattice
from bestleaf.new_data.choosing import Chosen, fresh_scores, in_certificate
from bestleaf.search import Progress, Search
from bestleaf.search.progress import EVERY, ProgressLine

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for the class of later versions; there are no callbacks."""


CHEAP = 1e9  # distances that may be computed for the report alone: about a second
HURRIED = dict.fromkeys(("max_time", "interrupted", "no_workers"), 1e7)  # the same if the search had to end at once
HISTORY = frozenset((*Progress._fields, "score"))  # keys of an entry of `history_`
HISTORY_RATIO = 1.01  # each entry is later than the last one by this factor: a long search has a few hundred
ROUNDING = 1e-9

Note = dict[str, Any]  # an entry of `history_`


class EvaluatedSubset(NamedTuple):
    """A subset of features with its exact value."""

    features: tuple[str | int, ...]  # names, or numbers if the data have no names
    score: float
    size: int  # how many features, a group counting as one


class EvaluatedSubsets(tuple[EvaluatedSubset, ...]):
    """Every subset evaluated exactly, best first."""

    def __str__(self) -> str:
        return "\n".join(f"{subset.score:.4f}  {', '.join(map(str, subset.features))}" for subset in self)

    def by_size(self) -> dict[int, EvaluatedSubset]:
        """Return the best subset of each size, smallest size first; a group counts as one."""
        found: dict[int, EvaluatedSubset] = {}
        for subset in self:
            found.setdefault(subset.size, subset)
        return dict(sorted(found.items()))


@dataclass(frozen=True)
class Selection:
    """What a search over the subsets of a lattice found, by any algorithm."""

    lattice: SubsetLattice
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

    @classmethod
    def of(cls, search: Search, lattice: SubsetLattice, history: list[Note]) -> Selection:
        """Return what a search that is over found."""
        search.ensure_value()
        state, result = search.state, search.result()
        means = {leaf.state: leaf.mean for leaf in result.leaves if leaf.terminal and leaf.mean is not None}
        guides = state.rough if state.has_exact or state.rough else state.values
        return cls(
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
            guides.get(result.answer),
            search.evaluator.known_scores(),
        )

    @property
    def columns(self) -> list[int]:
        """The features of the answer."""
        return self.lattice.features_of(self.answer.state)

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
        scores = np.full(self.lattice.oracle.n_features, np.nan)
        for unit, group in enumerate(self.lattice.groups):
            scores[group] = sums[unit] / counts[unit] if counts[unit] else np.nan
        return scores

    @cached_property
    def ranked(self) -> list[tuple[float, int, list[int]]]:
        """Value, size and features of every subset evaluated, best first; of equal values the smaller one first."""
        features_of = self.lattice.features_of
        subsets = [(float(value), len(state) - 1, features_of(state)) for state, value in self.values.items()]
        return sorted(subsets, key=lambda one: (-one[0], *one[1:]))

    def evaluated(self, labels: Sequence[str | int]) -> EvaluatedSubsets:
        """Return every subset evaluated, best first, with the labels of its features."""
        return EvaluatedSubsets(
            EvaluatedSubset(tuple(labels[column] for column in columns), value, size)
            for value, size, columns in self.ranked
        )

    def certificate(self, data: Data, digest: str, chosen: Chosen | None = None) -> Certificate:
        """Return the certificate, and in it what a report also shows; `chosen` is what left-out rows decided."""
        lattice, names = self.lattice, [str(name) for name in data.names]
        certificate = certificate_of(
            self,
            self.answer.state,
            features=[names[column] for column in self.columns],
            data={
                "names": names,
                "rows": len(data.X),
                "fingerprint": digest,
                "groups": lattice.groups,
                "choice": lattice.choice(),
                "terminal": "noisy" if lattice.noisy else "exact",
                "objective": named_objective(lattice.oracle.settings()),
                **lattice.oracle.counts(sampled=lattice.noisy),
                "standard_error": None,  # filled in below
            },
        )
        if chosen is not None and chosen.choice is not None:
            self._answer_with(certificate.content, chosen, names)
        content = certificate.content
        answer = tuple(content["graph"]["labels"][content["answer"]])
        content["data"]["standard_error"] = self._standard_error(answer)
        scores, best = self.feature_scores, self.evaluated(names).by_size()
        certificate.content["report"] = {  # no claim rests on it
            "history": [{name: row[name] for name in ("seconds", "samples", "gap", "score")} for row in self.history],
            "by_size": [[size, one.score, list(one.features)] for size, one in best.items()],
            "feature_scores": {
                names[column]: None if np.isnan(scores[column]) else float(scores[column])
                for column in lattice.features_of(answer)
            },
            "without": self._values_without(answer[:-1]),
        }
        return certificate

    def _answer_with(self, content: Content, chosen: Chosen, names: list[str]) -> None:
        """Let the certificate answer with what left-out rows decided; values of the path count as evaluated."""
        scores = fresh_scores(chosen, self.lattice, self.values)
        fresh = {state: float(np.mean(some)) for state, some in scores.items()}
        self.values.update(fresh)
        if self.lattice.oracle.parts:
            self.fold_scores.update(scores)
        content["new_data"] = in_certificate(chosen, self.lattice, names, self.values)
        enter_values(content, fresh)
        answer_with(content, content["new_data"]["size"])

    def _standard_error(self, answer: Subset) -> float | None:
        """Return the standard error of the exact value of the answer; None if there is none or it would take long."""
        oracle, columns, known = self.lattice.oracle, self.lattice.features_of(answer), self.fold_scores.get(answer)
        if self.lattice.noisy or not hasattr(oracle, "standard_error"):
            return None
        if known is not None:
            error = oracle.standard_error(columns, known)
        elif oracle.value_cost <= HURRIED.get(self.reason, CHEAP):
            error = oracle.standard_error(columns)
        else:
            return None
        return float(error) if np.isfinite(error) else None

    def _values_without(self, subset: Subset) -> dict[str, float]:
        """Return the exact value of the answer without each unit that may be dropped, if it is known or cheap."""
        lattice, found = self.lattice, {}
        cheap = len(subset) * lattice.oracle.value_cost <= HURRIED.get(self.reason, CHEAP)
        for unit in subset:
            left = (*lattice.without(subset, unit), STOP)
            if unit in lattice.forced or left == (STOP,):
                continue
            if left in self.values:
                found[str(unit)] = float(self.values[left])
            elif cheap and not lattice.noisy:
                found[str(unit)] = float(lattice.oracle.value(lattice.features_of(left)))
        return found


class Choosing:
    """A context that shows how many folds are done while left-out rows choose: as `ProgressLine` shows a search."""

    def __init__(self, verbose: int) -> None:
        self._console = Console(quiet=not verbose)
        self._status = self._console.status("Choosing by left-out rows")
        self._shown_at = perf_counter()

    def __enter__(self) -> Choosing:
        if self._console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def tell(self, done: int, of: int) -> None:
        """Show how many folds are done."""
        text = f"Choosing by left-out rows: {done} of {of} folds done"
        self._status.update(text)
        if not self._console.is_terminal and perf_counter() - self._shown_at >= EVERY:
            self._shown_at = perf_counter()
            self._console.print(text, highlight=False)


class Watch:
    """A context in which a search runs. It keeps the history, shows progress and calls scikit-learn's callbacks.

    Callbacks exist from scikit-learn 1.9 on. They see one task for the fit, and in it one task for each time slice.
    """

    def __init__(
        self,
        selector: BaseEstimator,
        data: Data,
        lattice: SubsetLattice,
        max_time: float | None,
        history: list[Note],
    ) -> None:
        self.history, self._lattice, self._names = history, lattice, data.names
        self._console = Console(quiet=not selector.verbose)
        self._line = ProgressLine(self._console, self._in_words, max_time=max_time, max_samples=selector.max_samples)
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
        return "{" + ", ".join(self._names[self._lattice.features_of(state)]) + "}"


def check_history(history: list[Note], samples: int, seconds: float) -> None:
    """Refuse a history from a checkpoint with impossible numbers, steps back, or more samples than the search has."""
    for note in history:
        if note.keys() != HISTORY:
            raise ValueError(f"the notes of a checkpoint must have {', '.join(sorted(HISTORY))}")
        row = Saved(note, {}, "history.")
        for name in ("samples", "exact_evaluations", "growths", "leaves"):
            row.whole(name)
        row.number("gap", -1.0, 1.0)
        row.number("seconds", 0.0, seconds)
        if note["score"] is not None:
            row.number("score", 0.0, 1.0)
        if not isinstance(note["best"], str):
            raise ValueError("history.best must be a text")
    if history and history[-1]["samples"] > samples:
        raise ValueError(f"history.samples must be at most the {samples:,} of the search")
    for one, other in pairwise(history):
        falls = one["score"] is not None and (other["score"] is None or one["score"] > other["score"] + ROUNDING)
        if falls or one["seconds"] > other["seconds"] or one["samples"] > other["samples"]:
            raise ValueError("history must not go back in time, samples or best value")
