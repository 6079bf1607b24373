"""A selector, or a file of settings for the command line, from one list of settings of selector and search."""

from __future__ import annotations

import json
import tempfile
import zlib
from inspect import signature
from pathlib import Path
from typing import Any

from bestleaf import BestLeafSelector, SearchOptions

OPTIONS = tuple(signature(SearchOptions).parameters)
FOLDER = tempfile.TemporaryDirectory()


def made_selector(estimator: Any = None, *, search: SearchOptions | None = None, **settings: Any) -> BestLeafSelector:
    """Return a selector; settings of `SearchOptions` are added to its `search`."""
    options = {name: settings.pop(name) for name in OPTIONS if name in settings}
    if options:
        search = SearchOptions(**{**(SearchOptions() if search is None else search).get_params(deep=False), **options})
    return BestLeafSelector(estimator, search=search, **settings)


def configured(text: str = "", **settings: Any) -> tuple[str, str]:
    """Return the option for a file with these settings, and with a text at its end; the file is in no other folder."""
    search = {name: settings.pop(name) for name in OPTIONS if name in settings}
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    lines += ["[search]", *(f"{name} = {json.dumps(value)}" for name, value in search.items())] if search else []
    whole = "\n".join([*lines, text])
    path = Path(FOLDER.name) / f"{zlib.crc32(whole.encode())}.toml"
    path.write_text(whole, encoding="utf-8")
    return "--config", str(path)
