"""Ctrl-C while processes start and work: it ends the wait for them, and never reaches them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType


@contextmanager
def without_interrupts() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Delay Ctrl-C; processes started meanwhile ignore it. Yield a context in which Ctrl-C ends the wait for them."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield nullcontext
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield lambda: _interrupts_raised(before)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _interrupts_raised(mask: set[signal.Signals | int]) -> Iterator[None]:
    """Let Ctrl-C through, and raise KeyboardInterrupt after what is to be done for it otherwise, such as noting it."""
    usual = signal.getsignal(signal.SIGINT)

    def note_and_raise(number: int, frame: FrameType | None) -> None:
        if callable(usual):
            usual(number, frame)
            raise KeyboardInterrupt

    if callable(usual):
        signal.signal(signal.SIGINT, note_and_raise)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if callable(usual):
            signal.signal(signal.SIGINT, usual)
