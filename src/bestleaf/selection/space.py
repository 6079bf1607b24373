"""What may be chosen, in units: a unit is a feature, a category with all its columns, or a group of features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from bestleaf.checks import shown
from bestleaf.selection.data import Data, choice_of, constant_columns

if TYPE_CHECKING:
    from bestleaf.selection.selector import BestLeafSelector


@dataclass(frozen=True)
class Space:
    """The units, which of them may be chosen, and how many.

    Attributes
    ----------
    units : tuple of tuples
        The columns of X that each unit is.
    names : tuple of str
        The names of the units. Of units with the same content, those whose names come first stand first.
    allowed, forced : tuple of int
        Units that may be chosen, and units that every set has; none is in both.
    limit : int
        The largest number of units in a set, forced ones included.
    categories : tuple of tuples
        The columns of X that are the levels of one category.
    """

    units: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    allowed: tuple[int, ...]
    forced: tuple[int, ...]
    limit: int
    categories: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, selector: BestLeafSelector, data: Data) -> Space:
        """Return what a selector may choose; constant columns are left out, with a warning."""
        choice = choice_of(selector, data)
        owners = range(data.X.shape[1]) if data.encoded is None else data.encoded.encoder.owners_
        names = [str(data.names[owner]) for owner in owners]
        groups = choice.feature_groups
        units = [(column,) for column in range(data.X.shape[1])] if groups is None else list(map(tuple, groups))
        unwanted = {*choice.exclude, *constant_columns(data, choice)}
        forced = [unit for unit, columns in enumerate(units) if {*choice.include}.intersection(columns)]
        banned = [unit for unit, columns in enumerate(units) if unwanted.intersection(columns)]
        if both := [shown(names[units[unit][0]]) for unit in sorted({*forced}.intersection(banned))]:
            raise ValueError(f"include and exclude must not share features, got {both[0]} in both")
        allowed = [unit for unit in range(len(units)) if unit not in {*forced, *banned}]
        if not allowed and not forced:
            raise ValueError(f"exclude must leave at least one of the features, got all {len(units)}")
        limit, least = len(allowed) + len(forced), max(1, len(forced))
        if selector.max_features is not None:
            if selector.max_features < least:
                because = ", the number of features in include" if forced else ""
                raise ValueError(f"max_features must be at least {least}{because}, got {selector.max_features}")
            limit = min(limit, selector.max_features)
        of_units = tuple(" ".join(sorted(names[column] for column in columns)) for columns in units)
        return cls(tuple(units), of_units, tuple(allowed), tuple(forced), limit, _categories(data))

    @property
    def everything(self) -> tuple[int, ...]:
        """All units that may be chosen, forced ones included, in order."""
        return tuple(sorted((*self.forced, *self.allowed)))

    def columns(self, units: Iterable[int]) -> list[int]:
        """Return the columns of X of some units, in order."""
        return sorted(column for unit in units for column in self.units[unit])

    def by_content(self, X: np.ndarray) -> tuple[Space, tuple[int, ...]]:
        """Return the units that may be chosen in an order that follows from their content, and their numbers here.

        Columns of a unit are in such an order, too. So nothing depends on how the columns of a table are listed.
        """
        hashes = {
            column: blake2b(X[:, column].tobytes(), digest_size=16).digest() for column in self.columns(self.everything)
        }
        within = {unit: tuple(sorted(self.units[unit], key=hashes.__getitem__)) for unit in self.everything}
        content = {unit: b"".join(hashes[column] for column in within[unit]) for unit in self.everything}
        numbers = sorted(self.everything, key=lambda unit: (content[unit], self.names[unit]))
        place = {unit: number for number, unit in enumerate(numbers)}
        found = Space(
            units=tuple(within[unit] for unit in numbers),
            names=tuple(self.names[unit] for unit in numbers),
            allowed=tuple(sorted(place[unit] for unit in self.allowed)),
            forced=tuple(sorted(place[unit] for unit in self.forced)),
            limit=self.limit,
            categories=tuple(tuple(sorted(some, key=lambda one: hashes.get(one, b""))) for some in self.categories),
        )
        return found, tuple(numbers)


def _categories(data: Data) -> tuple[tuple[int, ...], ...]:
    """Return the columns of each category: those of a date are not levels."""
    if data.encoded is None:
        return ()
    levels = data.encoded.encoder.last_step_.levels
    ends = np.cumsum(np.maximum(levels, 1)).tolist()
    return tuple(tuple(range(end - many, end)) for end, many in zip(ends, levels.tolist(), strict=True) if many)
