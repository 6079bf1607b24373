"""One line of text that changes: on a terminal and in a notebook in its place, elsewhere as a new line now and then."""

from __future__ import annotations

from html import escape
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

EVERY = 2.0  # seconds between two lines where a line cannot change
OFTEN = 0.2  # the same in a notebook, which gets a message for every change


class Handle(Protocol):
    """What IPython returns for an output that can be changed later."""

    def update(self, shown: object) -> None:
        """Show something else in its place."""


class InNotebook:
    """A line in the output of a notebook cell; it appears with the first text."""

    def __init__(self) -> None:
        self._handle: Handle | None = None

    def show(self, text: str) -> None:
        """Show a text in the place of the one before."""
        from IPython.display import HTML, display

        page = HTML(f'<pre style="white-space:pre-wrap">{escape(text)}</pre>' if text else "")
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)

    def clear(self) -> None:
        """Show nothing any more."""
        if self._handle is not None:
            self.show("")


class LiveLine:
    """A context manager; its `show` displays a text in the place of the one before, and its end removes the text.

    Parameters
    ----------
    console : Console
        Where the line is shown; nothing is shown if it is quiet.
    moving : bool, default=False
        Whether something moves beside the text on a terminal, because the text itself changes seldom.
    """

    def __init__(self, console: Console, *, moving: bool = False) -> None:
        self.console = console
        self._moving = moving
        self._shown_at: float | None = None
        self._notebook = InNotebook() if console.is_jupyter and not console.quiet else None
        self._live: Live | None = None
        if console.is_terminal and not console.quiet and self._notebook is None:
            self._live = Live(
                console=console, transient=True, auto_refresh=moving, redirect_stdout=False, redirect_stderr=False
            )

    def __enter__(self) -> LiveLine:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if self._notebook is not None:
            self._notebook.clear()

    def show(self, text: str, seconds: float) -> None:
        """Show a text, `seconds` after the beginning; where a line cannot change, only one every two seconds."""
        if self._live is not None:
            line = Text(text, no_wrap=True, overflow="ellipsis")
            self._live.update(Spinner("dots", line) if self._moving else line, refresh=True)
        elif self._notebook is not None:
            if self._shown_at is None or seconds - self._shown_at >= OFTEN:
                self._shown_at = seconds
                self._notebook.show(text)
        elif seconds - (self._shown_at or 0.0) >= EVERY:
            self._shown_at = seconds
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)
