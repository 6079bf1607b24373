"""Ctrl-C while nothing has been done yet: modules are being imported. This one imports next to nothing itself."""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130  # exit code


class at_once:  # noqa: N801  read as a word: with at_once(): import ...
    """Let Ctrl-C end the program at once, in one line.

    An exception would go through the modules that are half imported, and some of them print it, hide it or turn it into
    another one. Where Ctrl-C is ignored, or somebody else handles it, that stays.
    """

    def __enter__(self) -> None:
        self.ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        try:
            if self.ours:
                signal.signal(signal.SIGINT, _leave)
        except ValueError:  # not the main thread, which alone hears of Ctrl-C
            self.ours = False

    def __exit__(self, *error: object) -> None:
        if self.ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: object) -> None:
    os.write(2, b"\nbestleaf: interrupted\n")
    os._exit(INTERRUPTED)
