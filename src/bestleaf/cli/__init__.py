"""The command line. Each command is a public function. This module imports very little; `at_once` says why."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130  # exit code


@contextmanager
def at_once() -> Iterator[None]:
    """Let Ctrl-C end the program at once, in one line, while modules are imported.

    An exception would pass through modules that are half imported; some of them print it, hide it or turn it into
    another one. If Ctrl-C is ignored, or handled by other code, nothing changes.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ours = usual and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: object) -> None:
    os.write(2, b"\nbestleaf: interrupted\n")
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command line; Ctrl-C always gives one line and exit code 130."""
    try:
        with at_once():
            from bestleaf.cli.app import run
        run()
    except KeyboardInterrupt:
        print("bestleaf: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
