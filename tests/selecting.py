"""A selector from one list of settings, for tests that share settings of the selector and of its search."""

from __future__ import annotations

from inspect import signature
from typing import Any

from bestleaf import BestLeafSelector, SearchOptions

OPTIONS = tuple(signature(SearchOptions).parameters)


def made_selector(estimator: Any = None, *, search: SearchOptions | None = None, **settings: Any) -> BestLeafSelector:
    """Return a selector; settings of `SearchOptions` are added to its `search`."""
    options = {name: settings.pop(name) for name in OPTIONS if name in settings}
    if options:
        search = SearchOptions(**{**(SearchOptions() if search is None else search).get_params(deep=False), **options})
    return BestLeafSelector(estimator, search=search, **settings)
