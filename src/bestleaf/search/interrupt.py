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
    """Hold the first Ctrl-C back until the search can stop cleanly; a second one interrupts at once."""
    pressed: list[int] = []

    def note(number: int, frame: Any) -> None:
        if pressed:
            raise SecondInterrupt
        pressed.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    previous = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, previous)
