"""Error messages of the command line: one sentence that names the option."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from io import StringIO
from itertools import pairwise
from typing import Any, TextIO

import typer

from bestleaf.checks import sentence, shown
from bestleaf.files import in_words

# The base class of typer's exceptions. It comes from click or from typer itself, depending on the version of typer.
UsageError: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
PARAMETERS = (  # that are options with the same name
    "cv|delta|epsilon|estimator|exclude|holdout|include|max_features|max_time|parsimony|peers|scoring"
)


def say(told: str) -> None:
    """Print what is wrong in one line."""
    print(sentence(f"bestleaf: {told}"), file=sys.stderr)


def complaint(error: Exception) -> str:
    """Return what is wrong as a sentence."""
    if isinstance(error, OSError):
        return in_words(error)
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}".removesuffix(": ")
    return _usage(error) if isinstance(error, UsageError) else _with_options(str(error))


def _usage(error: Exception) -> str:
    """Return an error of typer as a sentence, with the option as it is typed or the argument as in the help."""
    parameter = getattr(error, "param", None)
    if parameter is None or not isinstance(error, typer.BadParameter):
        told = error.format_message().strip()  # type: ignore[attr-defined]
        return (told[:1].lower() + told[1:]).removesuffix(".")
    written = [text for text in parameter.opts if text.startswith("-")]
    name = max(written, key=len) if written else str(parameter.name).upper()
    told = (error.message or "must be given").removeprefix("Value error, ").removesuffix(".")
    told = told.replace("Input should", "must", 1)  # as pydantic, which newer versions of typer use, says it
    told = f"{name} {told}" if told.startswith("must") else f"{name}: {told}"
    return told if "got" in told or (given := _given(name)) is None else f"{told}, got {shown(given)}"


def _given(option: str) -> str | None:
    """Return the value of an option as it was typed; None if it was not typed."""
    for text, following in pairwise([*sys.argv, ""]):
        if text == option:
            return following
        if text.startswith(f"{option}="):
            return text.partition("=")[2]
    return None


def _with_options(told: str) -> str:
    """Return a sentence about Python parameters with the names of the command-line options instead."""
    told = re.sub(r"The '(\w+)' parameter of \w+ must", r"\1 must", told)  # as scikit-learn says it
    told = told.replace("estimator=NeighbourVotes()", "--estimator neighbours")
    told = re.sub(r"\b(impute|dates|encoding|choose)='([\w-]+)'", r"--\1 \2", told)
    told = re.sub(r"^sample_weight\b", "weights", told)
    told = re.sub(r"^(groups|target|task|weights)\b", r"--\1", told)
    told = re.sub(r"^(encoding|missing|drop|keep)\b(?= must| and keep)", r"--\1", told)
    told = told.replace("--drop and keep", "--drop and --keep").replace("; keep takes", "; --keep takes")
    told = told.replace("--task 'regression'", "--task regression")
    told = re.sub(r"(?<![\w'/-])X(?![\w'.])", "the table", told)
    return re.sub(rf"(?<![\w'/-])({PARAMETERS})(?![\w'.])", lambda found: f"--{found[1].replace('_', '-')}", told)


class StillWriting:
    """An output that may be closed from the start, or whose reader may stop reading, without ending the search.

    So `bestleaf select ... | head -1` writes its files. If writing fails for another reason, that is said once.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = StringIO() if stream is None else stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text."""
        return self._tried(self._stream.write, text) or len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        self._tried(self._stream.flush)

    def _tried(self, do: Callable[..., Any], *given: str) -> Any:
        try:
            return do(*given)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            if not isinstance(error, BrokenPipeError):
                say(f"the output cannot be written: {in_words(error)}")
