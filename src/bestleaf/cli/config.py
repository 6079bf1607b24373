"""The file of `bestleaf select --config`: keywords of `BestLeafSelector`, `[search]` and `[neighbours]`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from inspect import signature
from pathlib import Path
from typing import Any

from bestleaf.checks import did_you_mean, one_of, shown
from bestleaf.cli.options import TableOptions

KINDS: dict[str, tuple[type, str]] = {  # what the command line looks into before the selector checks it
    "include": (list, "a list of columns"),
    "feature_groups": (dict, 'lists of columns by name, as in {size = ["height", "weight"]}'),
    "estimator": (str, "the name of one, as for --estimator"),
    "memory": (str, "the name of a file"),
    "verbose": (int, "0 or 1"),
}


def read_settings(path: Path | None, options: TableOptions) -> tuple[dict[str, Any], TableOptions]:
    """Return the keywords of `select_from_table` that a file gives, and the options with the estimator of the file.

    An estimator that is typed goes before that of the file.
    """
    given = {} if path is None else _read(path)
    search, votes = given.pop("search", {}), given.pop("neighbours", None)
    from bestleaf.features.neighbours import NeighbourVotes
    from bestleaf.selection.selector import BestLeafSelector, SearchOptions
    from bestleaf.tables.select import NAMED

    if "encode" in given:
        raise ValueError(f"--config must not have encode; --impute and --dates say it, got {shown(given['encode'])}")
    _check_names(path, given, signature(BestLeafSelector).parameters, "")
    for name, (kind, words) in KINDS.items():
        if name in given and not isinstance(given[name], kind):
            raise ValueError(f"{name} must be {words}, got {shown(given[name])}")
    if search:
        _check_names(path, search, signature(SearchOptions).parameters, "[search] ")
        given["search"] = SearchOptions(**search)
    if options.estimator == "neighbours":
        named: Any = one_of("estimator", given.get("estimator", "neighbours"), NAMED)
        options = options._replace(estimator=named)
    if votes is None:
        return {**given, "estimator": options.estimator}, options
    _check_names(path, votes, signature(NeighbourVotes).parameters, "[neighbours] ")
    if options.estimator != "neighbours":
        raise ValueError(f"[neighbours] in {path} needs --estimator neighbours, got {options.estimator}")
    return {**given, "estimator": NeighbourVotes(**{"task": options.task, **votes})}, options


def _read(path: Path) -> dict[str, Any]:
    """Return what a file holds; `[search]` and `[neighbours]` must be tables."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"--config {path} cannot be read as TOML: {error}") from None
    for name in ("search", "neighbours"):
        if not isinstance(found.get(name, {}), dict):
            raise ValueError(f"--config must have {name} as a table, [{name}], got {shown(found[name])}")
    return found


def _check_names(path: Path | None, given: Iterable[str], known: Iterable[str], part: str) -> None:
    """Refuse a name that is no keyword."""
    known = list(known)
    for name in given:
        if name not in known:
            raise ValueError(f"--config {path} has an unknown key, {part}{shown(name)}{did_you_mean(name, known)}")
