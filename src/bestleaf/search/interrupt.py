"""Ctrl-C in a search: the first one asks it to stop cleanly."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class SecondInterrupt(KeyboardInterrupt):
    """Ctrl-C was pressed again: whatever was being changed may be half done."""


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Hold the first Ctrl-C back until the search can stop cleanly; a second one interrupts at once.

    A process that was started to ignore it, in the background of a script, goes on ignoring it.
    """
    pressed: list[int] = []

    def note(number: int, frame: Any) -> None:
        if pressed:
            raise SecondInterrupt
        pressed.append(number)

    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        yield lambda: False
        return
    previous = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, previous)
