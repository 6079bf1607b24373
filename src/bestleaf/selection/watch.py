"""What the user sees while columns are selected: one line of progress, the history, and scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from rich.console import Console
from sklearn.base import BaseEstimator

from bestleaf.search import Progress
from bestleaf.search.budget import Budget
from bestleaf.search.progress import ProgressLine

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for the class of later versions; there are no callbacks."""


HISTORY_RATIO = 1.01  # each entry is later than the last one by this factor: a long search has a few hundred

Note = dict[str, Any]  # an entry of `history_`


class Watch:
    """A context in which columns are selected; `stopped` becomes true when a callback asks for the end.

    Callbacks exist from scikit-learn 1.9 on. They see one task for the fit, and in it one for each fold of the choice
    or each time slice of the search.
    """

    def __init__(self, selector: BaseEstimator, X: Any, y: Any, budget: Budget, max_samples: int | None) -> None:
        self.history: list[Note] = []
        self.stopped = False
        self._budget = budget
        console = Console(quiet=not selector.verbose)
        self._line = ProgressLine(console, str, max_time=budget.max_time, max_samples=max_samples)
        self._given = {"estimator": selector, "X": X, "y": y}
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

    def fold(self, done: int, planned: int, told: str = "") -> None:
        """Show how many folds are done, and how the curve over sizes stands."""
        self._budget.look()
        more = f" · {told}" if told else ""
        self._line.tell(f"Choosing by cross-validation: {done} of {planned} folds done{more}", self._budget.seconds)
        self._tell_callbacks("fold")

    def names(self, name_of: Callable[[Any], str], subsets: int | None = None) -> None:
        """Set how states are called, and how many subsets there are if all of them are evaluated."""
        self._line.name_of, self._line.subsets = name_of, subsets

    def slice(self, now: Progress, values: dict[Any, float], *, over: bool) -> bool:
        """Record and show how far a search is; return whether a callback wants to end it."""
        best: Any = max(values, key=values.__getitem__, default=now.best)
        if over or not self.history or now.seconds > HISTORY_RATIO * self.history[-1]["seconds"]:
            self.history.append({**now._asdict(), "best": self._line.name_of(best), "score": values.get(best)})
        self._line.show(now._replace(best=best), values.get(best))
        self._tell_callbacks("slice")
        return self.stopped

    def _tell_callbacks(self, name: str) -> None:
        if self._task is not None:
            part = self._task.subcontext(task_name=name)
            part.call_on_fit_task_begin(**self._given)
            self.stopped |= bool(part.call_on_fit_task_end(**self._given))
