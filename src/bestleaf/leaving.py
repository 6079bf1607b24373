"""Ctrl-C while nothing has been done yet: modules are being imported."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130  # exit code


@contextmanager
def at_once() -> Iterator[None]:
    """Let Ctrl-C end the program at once, in one line.

    An exception would go through the modules that are half imported, and some of them print it, hide it or turn it into
    another one. Where Ctrl-C is ignored, or somebody else handles it, that stays.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: object) -> None:
    os.write(2, b"\nbestleaf: interrupted\n")
    os._exit(INTERRUPTED)
