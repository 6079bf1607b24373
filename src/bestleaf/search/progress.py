"""Shows the progress of a search: one line that changes on a terminal, otherwise a new line every two seconds."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from bestleaf.certificate.claims import counted
from bestleaf.search.result import Progress

EVERY = 2.0  # seconds between two lines if the output is not a terminal


class ProgressLine:
    """A context manager; its `show` displays the `Progress` of a search. `name_of` turns a state into words."""

    def __init__(
        self, console: Console, name_of: Callable[[Any], str], *, max_time: float | None, max_samples: int | None
    ) -> None:
        self.console = console
        self.name_of = name_of
        self.max_time = max_time
        self.max_samples = max_samples
        shown = console.is_terminal and not console.quiet
        live = {"transient": True, "auto_refresh": False, "redirect_stdout": False, "redirect_stderr": False}
        self._live = Live(console=console, **live) if shown else None  # type: ignore[arg-type]
        self._shown_at = 0.0

    def __enter__(self) -> ProgressLine:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, now: Progress, value: float | None) -> None:
        """Show the progress; `value` is the value of the answer so far."""
        if self._live is not None:
            self._live.update(Text(self.line(now, value), no_wrap=True, overflow="ellipsis"), refresh=True)
        elif now.seconds - self._shown_at >= EVERY:
            self._shown_at = now.seconds
            self.console.print(self.line(now, value), highlight=False, markup=False, soft_wrap=True)

    def line(self, now: Progress, value: float | None) -> str:
        """Return the progress as one line."""
        rate = now.samples / now.seconds if now.seconds > 0 else 0.0
        parts = [f"best {value:.4f}"] if value is not None else []
        parts += [f"gap {max(0.0, now.gap):.4f}"] if now.gap < 1 else []
        parts += [f"{counted(now.samples, 'rollout')} ({rate:,.0f}/s)", counted(now.exact_evaluations, "exact value")]
        parts.append(self._left(now))
        parts += [self.name_of(now.best)] if value is not None else []  # last, because long ones are cut
        return " · ".join(parts)

    def _left(self, now: Progress) -> str:
        """Return what is left of the budget, or the time spent if there is no limit."""
        left = []
        if self.max_time is not None:
            left.append(f"{max(0.0, self.max_time - now.seconds):.0f} s")
        if self.max_samples is not None:
            left.append(counted(max(0, self.max_samples - now.samples - now.exact_evaluations), "sample"))
        return f"{' and '.join(left)} left" if left else f"{now.seconds:.0f} s"
