"""Shows the progress of a search in one line."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from rich.console import Console

from bestleaf.certificate.claims import counted
from bestleaf.search.live import LiveLine
from bestleaf.search.result import Progress


class ProgressLine:
    """A context manager; its `show` displays the `Progress` of a search. `name_of` turns a state into words."""

    def __init__(
        self, console: Console, name_of: Callable[[Any], str], *, max_time: float | None, max_samples: int | None
    ) -> None:
        self.name_of = name_of
        self.subsets: int | None = None  # how many subsets there are, if all are evaluated
        self.max_time = max_time
        self.max_samples = max_samples
        self._line = LiveLine(console)

    def __enter__(self) -> ProgressLine:
        self._line.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.__exit__(kind, error, trace)

    def show(self, now: Progress, value: float | None) -> None:
        """Show the progress; `value` is the value of the answer so far."""
        self._line.show(self.line(now, value), now.seconds)

    def line(self, now: Progress, value: float | None) -> str:
        """Return the progress as one line."""
        rate = now.samples / now.seconds if now.seconds > 0 else 0.0
        parts = [f"best {value:.4f}"] if value is not None else []
        parts += [f"gap {max(0.0, now.gap):.4f}{self._new(now)}"] if now.gap < 1 else []
        if self.subsets is not None:
            rate = now.exact_evaluations / now.seconds if now.seconds > 0 else 0.0
            parts.append(f"{now.exact_evaluations:,} of {counted(self.subsets, 'subset')} ({rate:,.0f}/s)")
        else:
            drawn = f"{counted(now.samples, 'rollout')} ({rate:,.0f}/s)"
            parts += [drawn, counted(now.exact_evaluations, "exact value")]
        parts.append(self._left(now))
        parts += [self.name_of(now.best)] if value is not None else []  # last, because long ones are cut
        return " · ".join(parts)

    def _new(self, now: Progress) -> str:
        """Return how many leaves the gap is not about, because they were not looked at yet."""
        new = now.leaves - now.looked_at
        return f" ({counted(new, 'leaf', 'leaves')} not looked at)" if new else ""

    def _left(self, now: Progress) -> str:
        """Return what is left of the budget, or the time spent if there is no limit."""
        left = []
        if self.max_time is not None:
            left.append(f"{max(0.0, self.max_time - now.seconds):.0f} s")
        if self.max_samples is not None:
            left.append(counted(max(0, self.max_samples - now.samples - now.exact_evaluations), "sample"))
        return f"{' and '.join(left)} left" if left else f"{now.seconds:.0f} s"
