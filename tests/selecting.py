"""A selector, or the command line, from one list of settings of selector and search."""

from __future__ import annotations

import sys
from contextlib import redirect_stderr, redirect_stdout
from inspect import signature
from io import StringIO
from typing import Any, NamedTuple

from bestleaf import BestLeafSelector, SearchOptions, cli

OPTIONS = tuple(signature(SearchOptions).parameters)


def made_selector(estimator: Any = None, *, search: SearchOptions | None = None, **settings: Any) -> BestLeafSelector:
    """Return a selector; settings of `SearchOptions` are added to its `search`."""
    options = {name: settings.pop(name) for name in OPTIONS if name in settings}
    if options:
        search = SearchOptions(**{**(SearchOptions() if search is None else search).get_params(deep=False), **options})
    return BestLeafSelector(estimator, search=search, **settings)


class Told(NamedTuple):
    """How the command line ended, and what it said."""

    code: int
    out: str
    err: str


def bestleaf(*arguments: object) -> Told:
    """Run the command line in this process."""
    out, err, before, code = StringIO(), StringIO(), sys.argv, 0
    sys.argv = ["bestleaf", *map(str, arguments)]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            cli.main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    return Told(code, out.getvalue(), err.getvalue())


def refused(*arguments: object) -> str:
    """Return the one sentence with which the command line refuses what was typed."""
    code, _, said = bestleaf(*arguments)
    assert code == 2, said
    assert said.startswith("bestleaf: ")
    assert said.count("\n") == 1
    assert not {"Traceback", "Errno", "BestLeafSelector"} & set(said.split())
    return said
