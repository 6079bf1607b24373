"""What is wrong with a command line, as one sentence that names the option."""

from __future__ import annotations

from typing import Any

import typer

# typer has click inside or beside it, depending on its version; either way this is what its exceptions descend from.
USAGE_ERRORS: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


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
