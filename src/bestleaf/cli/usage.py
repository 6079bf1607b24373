"""What is wrong with a command line, as one sentence that names the option."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from io import StringIO
from typing import Any

import typer

from bestleaf.files import in_words

# typer has click inside or beside it, depending on its version; either way this is what its exceptions descend from.
USAGE_ERRORS: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


class StillWriting:
    """An output that a reader may leave (`bestleaf select ... | head -1`) without ending the search behind it.

    An output that is closed from the beginning is nowhere, and one that cannot be written is told once.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = StringIO() if stream is None else stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, as long as somebody reads."""
        self._tried(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        self._tried(self._stream.flush)

    def _tried(self, do: Callable[..., Any], *given: Any) -> None:
        try:
            do(*given)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            if not isinstance(error, BrokenPipeError):
                print(f"bestleaf: the output cannot be written: {in_words(error)}", file=sys.stderr)


def help_without_command(context: typer.Context) -> None:
    """Show the help of a group of commands when none is given."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


def usage_in_words(error: Any) -> str:
    """Return the sentence of an error about the command line."""
    name = _name_of(getattr(error, "param", None))
    if isinstance(error, typer.BadParameter) and name:
        return f"{name} {error.message or 'must be given'}"
    sentence = error.format_message().strip().removesuffix(".")
    return sentence[:1].lower() + sentence[1:]


def _name_of(parameter: Any) -> str | None:
    """Return the option as it is typed, or the argument as the help calls it."""
    if parameter is None:
        return None
    written = [text for text in parameter.opts if text.startswith("-")]
    return max(written, key=len) if written else str(parameter.name).upper()
