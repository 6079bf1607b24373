"""scikit-learn's callbacks, from version 1.9 on."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks."""


class Hooks:
    """scikit-learn's callbacks (from version 1.9 on): one task a fit, one below it a time slice."""

    def __init__(self, selector: Any, X: np.ndarray, y: np.ndarray) -> None:
        self.data: dict[str, Any] = {"estimator": selector, "X": X, "y": y}
        self.context = None
        if hasattr(selector, "_skl_callbacks") or hasattr(selector, "_parent_callback_ctx"):
            self.context = selector._init_callback_context(max_subtasks=None)

    def begin(self) -> None:
        """Report the beginning of the fit."""
        if self.context is not None:
            self.context.call_on_fit_task_begin(**self.data)

    def end_of_slice(self) -> bool:
        """Report a slice; True when a callback wants the search to end."""
        if self.context is None:
            return False
        part = self.context.subcontext(task_name="slice")
        part.call_on_fit_task_begin(**self.data)
        return bool(part.call_on_fit_task_end(**self.data))

    def end(self) -> None:
        """Report its end."""
        if self.context is not None:
            self.context.call_on_fit_task_end(**self.data)
