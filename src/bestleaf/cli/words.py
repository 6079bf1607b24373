"""Sentences about arguments of Python functions, told to somebody who has typed options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

OPTIONS = {  # by parameter, wherever it stands outside of quotes
    "max_features": "--max-features",
    "max_samples": "--max-samples",
    "max_time": "--max-time",
    "forced": "--force",
    "forbidden": "--forbid",
    "feature_groups": "--groups",
    "guarantee": "--guarantee",
    "holdout": "--holdout",
    "scoring": "--scoring",
    "cv": "--cv",
    "score_range": "--score-range",
    "terminal": "--terminal",
    "max_memory": "--max-memory",
    "X": "the table",
}
FIRST = {"target": "--target", "task": "--task", "groups": "--groups", "impute": "--impute"}  # words of any sentence
_ANYWHERE = re.compile(rf"(?<![\w'\-])({'|'.join(OPTIONS)})(?![\w'])")
_FIRST = re.compile(rf"({'|'.join(FIRST)}) (?:'(\w+)')?")
_GIVEN = re.compile(r"\bimpute='(\w+)'")


def in_option_words(told: str) -> str:
    """Return a sentence about parameters with the options of the command line in their place."""
    told = told.replace("score_range=(lowest, highest)", "--score-range LOW HIGH")
    told = _GIVEN.sub(r"--impute \1", told)
    told = _ANYWHERE.sub(lambda found: OPTIONS[found[1]], told)
    if first := _FIRST.match(told):
        told = f"{FIRST[first[1]]} {first[2] or ''}{told[first.end() :]}"
    return told


@contextmanager
def told_as_options() -> Iterator[None]:
    """Let what is wrong with an argument be told as what is wrong with an option."""
    try:
        yield
    except ValueError as error:
        raise ValueError(in_option_words(str(error))) from None
