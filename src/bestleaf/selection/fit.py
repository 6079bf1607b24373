"""One call of `fit`: what is given, what it may take, what the user sees, and what every record says of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from copy import copy
from numbers import Integral
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from rich.console import Console
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metadata_routing import MetadataRequest

from bestleaf.features.estimator import described
from bestleaf.features.rows import fingerprint, groups_digest, weights_digest
from bestleaf.memory import Answers, Memory, opened
from bestleaf.proof import record
from bestleaf.search import Progress
from bestleaf.search.budget import Budget
from bestleaf.search.progress import ProgressLine
from bestleaf.selection.data import Data
from bestleaf.selection.space import Space

if TYPE_CHECKING:
    from bestleaf.selection.selector import BestLeafSelector

    class SelectorBase:
        """What a selector has from scikit-learn, whose classes have no types: mypy would take any attribute for one."""

        n_features_in_: int
        feature_names_in_: np.ndarray

        def get_metadata_routing(self) -> MetadataRequest: ...  # noqa: D102
        def get_params(self, deep: bool = True) -> dict[str, object]: ...  # noqa: D102
        def set_params(self, **params: object) -> Self: ...  # noqa: D102
        def get_support(self) -> np.ndarray: ...  # noqa: D102
        def transform(self, X: ArrayLike) -> ArrayLike: ...  # noqa: D102
        def _init_callback_context(self, *, max_subtasks: int | None) -> Any: ...
        def _repr_html_inner(self) -> str: ...
        def _repr_mimebundle_(self, **keywords: object) -> dict[str, str]: ...
        def __getstate__(self) -> dict[str, object]: ...
        def __sklearn_tags__(self) -> Tags: ...

else:
    try:
        from sklearn.callback import CallbackSupportMixin
    except ImportError:  # before scikit-learn 1.9

        class CallbackSupportMixin:
            """Stands for the class of later versions; there are no callbacks."""

    class SelectorBase(CallbackSupportMixin, SelectorMixin, BaseEstimator):
        """The classes of scikit-learn that a selector is made of."""


Note = dict[str, Any]  # an entry of `history_`
Objective = record.Neighbours | record.Estimator | record.Panel


class Watch:
    """A context in which columns are selected; `stopped` becomes true when a callback asks for the end.

    Callbacks exist from scikit-learn 1.9 on. They see one task for the fit, and in it one for each fold of the choice
    or each time slice of the search.
    """

    def __init__(self, selector: BestLeafSelector, data: Data, budget: Budget) -> None:
        self.history: list[Note] = []
        self.stopped = False
        self._budget = budget
        console, search = Console(quiet=not selector.verbose), selector.search
        max_samples = None if search is None else search.max_samples
        self._line = ProgressLine(console, max_time=budget.max_time, max_samples=max_samples)
        self._given = {"estimator": selector, "X": data.X, "y": data.y}
        self._task = None
        if hasattr(selector, "_skl_callbacks") or hasattr(selector, "_parent_callback_ctx"):
            self._task = selector._init_callback_context(max_subtasks=None)

    def __enter__(self) -> Watch:
        self._line.__enter__()
        self._line.tell("Preparing; the first time, this compiles for about ten seconds", self._budget.seconds)
        if self._task is not None:
            self._task.call_on_fit_task_begin(**self._given)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.__exit__(kind, error, trace)
        if self._task is not None and error is None:
            self._task.call_on_fit_task_end(**self._given)

    def fold(self, done: int, planned: int, told: str = "") -> None:
        """Show how many steps are done, several for each fold, and how the curve over sizes stands."""
        self._budget.look()
        more = f" · {told}" if told else ""
        self._line.tell(f"Choosing by cross-validation: {done} of {planned} steps done{more}", self._budget.seconds)
        self._tell_callbacks("fold")

    def names(self, name_of: Callable[[Any], str], subsets: int | None = None) -> None:
        """Set how states are called, and how many subsets there are if all of them are evaluated."""
        self._line.name_of, self._line.subsets = name_of, subsets

    def slice(self, now: Progress, values: Mapping[Hashable, float], *, over: bool) -> bool:
        """Record and show how far a search is; return whether a callback wants to end it."""
        best = max(values, key=values.__getitem__, default=now.best)
        # Each entry is later than the last one by a factor: a long search has a few hundred.
        if over or not self.history or now.seconds > 1.01 * self.history[-1]["seconds"]:
            self.history.append({**now._asdict(), "best": self._line.name_of(best), "score": values.get(best)})
        self._line.show(now._replace(best=best), values.get(best))
        self._tell_callbacks("slice")
        return self.stopped

    def _tell_callbacks(self, name: str) -> None:
        if self._task is not None:
            part = self._task.subcontext(task_name=name)
            part.call_on_fit_task_begin(**self._given)
            self.stopped |= bool(part.call_on_fit_task_end(**self._given))


class Fit(NamedTuple):
    """A selector with its data, and what it may take."""

    selector: BestLeafSelector
    data: Data
    space: Space
    digest: Future[str]  # the fingerprint of the data, which takes seconds with millions of rows
    seed: int
    budget: Budget
    memory: Memory | None
    watch: Watch

    @property
    def labels(self) -> list[str | int]:
        """What users call the features: by names, or by numbers if the data have no names."""
        names = self.data.names.tolist()
        return names if hasattr(self.selector, "feature_names_in_") else list(range(len(names)))

    @property
    def units(self) -> list[list[int]]:
        """The features of each unit; a feature can be several columns of X."""
        return [self.data.features_of(columns) for columns in self.space.units]

    def about(self, objective: Objective, rows: int) -> record.Data:
        """Return what a record says of the data; a feature in none of the units becomes one that may not be chosen."""
        data, space, many = self.data, self.space, len(self.data.X)
        alone = sorted(set(range(len(data.names))).difference(*self.units))
        return record.Data(
            names=tuple(map(str, data.names)),
            rows=rows,
            fingerprint=self.digest.result(),
            units=tuple(map(tuple, (*self.units, *([feature] for feature in alone)))),
            choice=record.Choice(allowed=space.allowed, forced=space.forced, limit=space.limit),
            objective=objective,
            row_groups=None if data.groups is None else groups_digest(data.groups, many),
            row_weights=None if data.weights is None else weights_digest(data.weights, many),
            encoding=None if data.encoded is None else data.encoded.encoder.settings(),
        )

    @property
    def repeat(self) -> str:
        """The call that repeats the fit."""
        rows = {"groups": self.data.groups, "sample_weight": self.data.weights}
        given = "".join(f", {name}={name}" for name, one in rows.items() if one is not None)
        return f"{call_of(self.selector, self.seed)}.fit(X, y{given})"

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the columns."""
        return () if self.data.encoded is None else self.data.encoded.encoder.notes()


@contextmanager
def begun(
    selector: BestLeafSelector, data: Data, space: Space, budget: Budget, interrupted: Callable[[], bool]
) -> Iterator[Fit]:
    """Open the memory, show the progress, and listen to Ctrl-C and to callbacks while columns are selected."""
    memory, watch = opened(selector.memory), Watch(selector, data, budget)
    budget.listen(lambda: interrupted() or watch.stopped)
    with ThreadPoolExecutor(1) as background, nullcontext() if memory is None else memory, watch:
        digest = background.submit(fingerprint, data.X, data.y)
        yield Fit(selector, data, space, digest, _seed(selector, memory, digest), budget, memory, watch)


def _seed(selector: BestLeafSelector, memory: Memory | None, digest: Future[str]) -> int:
    """Return the seed given, or a random one; with a memory, that of the first such fit on these data."""
    given = selector.random_state
    if isinstance(given, Integral):
        return int(given)
    seed = int(check_random_state(given).randint(np.iinfo(np.int32).max))
    if given is not None or memory is None:
        return seed
    return Answers(memory, digest.result()).seed(seed, asked_of(selector))


def call_of(selector: BestLeafSelector, seed: int) -> str:
    """Return the Python call that makes the selector again: the parameters that are not defaults, and the seed used."""
    again, given = copy(selector), {"random_state": seed, "memory": None, "verbose": 0}
    return described(again.set_params(**{name: given[name] for name in given.keys() & again.get_params(deep=False)}))


def asked_of(selector: BestLeafSelector) -> str:
    """Return in words what the answer depends on, beside the data and the seed."""
    return call_of(copy(selector).set_params(max_time=None, n_jobs=None), 0)
