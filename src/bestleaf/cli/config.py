"""The file of `bestleaf select --config`: keywords of `BestLeafSelector`, and `[search]`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from inspect import signature
from pathlib import Path
from typing import Any

from bestleaf.checks import did_you_mean, shown

KINDS: dict[str, tuple[type, str]] = {  # what the command line looks into before the selector checks it
    "include": (list, "a list of columns"),
    "exclude": (list, "a list of columns"),
    "feature_groups": (dict, 'lists of columns by name, as in {size = ["height", "weight"]}'),
    "estimator": (str, "the name of one, as for --estimator"),
    "memory": (str, "the name of a file"),
    "verbose": (int, "0 or 1"),
}


def read_settings(path: Path | None) -> dict[str, Any]:
    """Return the keywords of `select_from_table` that a file gives; none without a file."""
    if path is None:
        return {}
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"--config {path} cannot be read as TOML: {error}") from None
    from bestleaf.selection.selector import BestLeafSelector, SearchOptions

    search = given.pop("search", {})
    if not isinstance(search, dict):
        raise ValueError(f"--config must have search as a table, [search], got {shown(search)}")
    if "encode" in given:
        raise ValueError(f"--config must not have encode; --impute and --dates say it, got {shown(given['encode'])}")
    _check_names(path, given, signature(BestLeafSelector).parameters, "")
    _check_names(path, search, signature(SearchOptions).parameters, "[search] ")
    for name, (kind, words) in KINDS.items():
        if name in given and not isinstance(given[name], kind):
            raise ValueError(f"{name} must be {words}, got {shown(given[name])}")
    return {**given, "search": SearchOptions(**search)} if search else given


def _check_names(path: Path, given: Iterable[str], known: Iterable[str], part: str) -> None:
    """Refuse a name that is no keyword."""
    known = list(known)
    for name in given:
        if name not in known:
            raise ValueError(f"--config {path} has an unknown key, {part}{shown(name)}{did_you_mean(name, known)}")
