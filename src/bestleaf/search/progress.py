"""Shows the progress of a search in one line: on a terminal and in a notebook in its place, elsewhere as a new line."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Column, Table
from rich.text import Text

from bestleaf.problems import State
from bestleaf.proof.text import counted
from bestleaf.search.result import Progress

EVERY = 2.0  # seconds between two lines where a line cannot change


class ProgressLine:
    """A context manager; a text is displayed in the place of the one before, and its end removes the text.

    Nothing is shown if `console` is quiet. `name_of` turns a state into words.
    """

    def __init__(
        self,
        console: Console,
        name_of: Callable[[State], str] = str,
        *,
        max_time: float | None = None,
        max_samples: int | None = None,
    ) -> None:
        self.console = console
        self.name_of = name_of
        self.subsets: int | None = None  # how many subsets there are, if all are evaluated
        self.max_time = max_time
        self.max_samples = max_samples
        self._shown_at: float | None = None
        self._in_notebook = console.is_jupyter and not console.quiet
        self._page: Any = None  # the output of a notebook cell; it appears with the first text
        self._live: Live | None = None
        self._spinner = Spinner("dots")
        if console.is_terminal and not console.quiet and not self._in_notebook:
            self._live = Live(console=console, transient=True, redirect_stdout=False, redirect_stderr=False)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if self._page is not None:
            self._show_page("")

    def tell(self, text: str, seconds: float) -> None:
        """Show a text, `seconds` after the beginning; where a line cannot change, only one every two seconds."""
        if self._live is not None:
            moving = Table.grid(Column(width=2), Column(no_wrap=True, overflow="ellipsis"))
            moving.add_row(self._spinner, Text(text))
            self._live.update(moving, refresh=True)
        elif self._in_notebook:
            if self._shown_at is None or seconds - self._shown_at >= 0.2:  # a cell gets a message for every change
                self._shown_at = seconds
                self._show_page(text)
        elif seconds - (self._shown_at or 0.0) >= EVERY:
            self._shown_at = seconds
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _show_page(self, text: str) -> None:
        from IPython.display import HTML, display

        page = HTML(f'<pre style="white-space:pre-wrap">{escape(text)}</pre>' if text else "")
        if self._page is None:
            self._page = display(page, display_id=True)
        else:
            self._page.update(page)

    def show(self, now: Progress, value: float | None) -> None:
        """Show the progress; `value` is the value of the answer so far."""
        self.tell(self.line(now, value), now.seconds)

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
        """Return how many leaves the gap is not about, because they were not compared yet."""
        new = now.leaves - now.compared
        return f" ({counted(new, 'candidate')} not compared)" if new else ""

    def _left(self, now: Progress) -> str:
        """Return what is left of the budget, or the time spent if there is no limit."""
        left = []
        if self.max_time is not None:
            left.append(f"{max(0.0, self.max_time - now.seconds):.0f} s")
        if self.max_samples is not None:
            left.append(counted(max(0, self.max_samples - now.samples - now.exact_evaluations), "sample"))
        return f"{' and '.join(left)} left" if left else f"{now.seconds:.0f} s"
