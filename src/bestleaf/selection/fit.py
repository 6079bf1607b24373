"""One call of `fit`: what is given, what it may take, and what every record says of it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from copy import copy
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from bestleaf.features.estimator import described
from bestleaf.features.rows import groups_digest, weights_digest
from bestleaf.memory import Memory
from bestleaf.proof import record
from bestleaf.search.budget import Budget
from bestleaf.selection.data import Data
from bestleaf.selection.watch import Watch


class Fit(NamedTuple):
    """A selector with its data, and what it may take."""

    selector: BaseEstimator
    data: Data
    digest: Future[str]  # the fingerprint of the data, which takes seconds with millions of rows
    seed: int
    budget: Budget
    memory: Memory | None
    watch: Watch

    @property
    def labels(self) -> list[str | int]:
        """What users call the features: by names, or by numbers if the data have no names."""
        names = self.data.names.tolist()
        return names if hasattr(self.selector, "feature_names_in_") else list(range(len(names)))

    def about(self, units: Sequence[Sequence[int]], choice: record.Choice, objective: Any, rows: int) -> record.Data:
        """Return what a record says of the data; a feature in none of the units becomes one that may not be chosen."""
        data, many = self.data, len(self.data.X)
        alone = sorted(set(range(len(data.names))).difference(*units))
        weights, groups = data.metadata.get("sample_weight"), data.metadata.get("groups")
        return record.Data(
            names=tuple(map(str, data.names)),
            rows=rows,
            fingerprint=self.digest.result(),
            units=tuple(tuple(unit) for unit in (*units, *([feature] for feature in alone))),
            choice=choice,
            objective=objective,
            row_groups=None if groups is None else groups_digest(groups, many),
            row_weights=None if weights is None else weights_digest(weights, many),
            encoding=None if data.encoded is None else _encoding(data.encoded.encoder.settings()),
        )

    def told(self, more: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the call that repeats the fit, and what was done to the columns; `more` are further notes."""
        given = "".join(f", {name}={name}" for name in self.data.metadata)
        notes = () if self.data.encoded is None else self.data.encoded.encoder.notes_
        return {"repeat": f"{call_of(self.selector, self.seed)}.fit(X, y{given})", "notes": (*notes, *more)}


def call_of(selector: BaseEstimator, seed: int) -> str:
    """Return the Python call that makes the selector again: the parameters that are not defaults, and the seed used."""
    again, given = copy(selector), {"random_state": seed, "memory": None, "verbose": 0}
    return described(again.set_params(**{name: given[name] for name in given.keys() & again.get_params(deep=False)}))


def _encoding(settings: dict[str, Any]) -> record.Encoding:
    """Return how a table became numbers."""
    levels = {name: tuple(some) for name, some in settings["levels"].items()}
    return record.Encoding(**{**settings, "levels": levels, "left_out": tuple(settings["left_out"])})
