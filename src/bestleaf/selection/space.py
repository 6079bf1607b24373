"""What may be chosen, in units: a unit is a feature, a category with all its columns, or a group of features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from bestleaf.checks import did_you_mean, listed, shown
from bestleaf.features.lattice import checked_groups
from bestleaf.selection.data import Data, warn

if TYPE_CHECKING:
    from bestleaf.selection.selector import BestLeafSelector


@dataclass(frozen=True)
class Space:
    """The units, which of them may be chosen, and how many."""

    units: tuple[tuple[int, ...], ...]  # the columns of X that each unit is
    names: tuple[str, ...]  # of the units; of those with the same content, those whose names come first stand first
    allowed: tuple[int, ...]  # units that may be chosen,
    forced: tuple[int, ...]  # and units that every set has; none is in both
    limit: int  # the largest number of units in a set, forced ones included
    categories: tuple[tuple[int, ...], ...] = ()  # the columns of X that are the levels of one category

    @classmethod
    def of(cls, selector: BestLeafSelector, data: Data) -> Space:
        """Return what a selector may choose; constant columns are left out, with a warning."""
        include, exclude, groups = _choice_of(selector, data)
        owners = range(data.X.shape[1]) if data.encoded is None else data.encoded.encoder.owners_
        names, units = [str(data.names[owner]) for owner in owners], tuple(map(tuple, groups))
        unwanted = {*exclude, *_constant_columns(data, groups, include, exclude)}
        forced = [unit for unit, columns in enumerate(units) if {*include}.intersection(columns)]
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
        return cls(
            units,
            of_units,
            tuple(allowed),
            tuple(forced),
            limit,
            () if data.encoded is None else data.encoded.encoder.categories,
        )

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


def _choice_of(selector: BestLeafSelector, data: Data) -> tuple[list[int], list[int], list[list[int]]]:
    """Return what a selector includes, excludes and groups, by columns of X; the columns of a feature enter together.

    This is the only place where features given by name or number become columns.
    """
    given = getattr(selector, "feature_names_in_", ())  # the columns of a data frame; other data have no names
    many, number_of = len(data.names), {name: number for number, name in enumerate(given)}
    include, exclude = (_numbers(name, getattr(selector, name), number_of, many) for name in ("include", "exclude"))
    groups = selector.feature_groups
    if groups is not None:
        labelled = groups.items() if isinstance(groups, dict) else enumerate(groups)
        by_number = {label: _numbers("feature_groups", group, number_of, many) for label, group in labelled}
        alone = set(range(many)).difference(*by_number.values())  # not in any group: each enters by itself
        by_number |= {("alone", one): [one] for one in sorted(alone)}
        groups = checked_groups("feature_groups", by_number, [shown(name) for name in data.names])
    if strange := [str(data.names[one]) for one in include if not data.columns_of([one])]:
        why = data.encoded.encoder.left_out_[strange[0]]  # type: ignore[union-attr]
        raise ValueError(f"include must not have a column that is left out, got {shown(strange[0])}: {why}")
    together = [data.columns_of(group) for group in groups or [[feature] for feature in range(many)]]
    return data.columns_of(include), data.columns_of(exclude), [columns for columns in together if columns]


def _numbers(argument: str, given: object, number_of: dict[str, int], many: int) -> list[int]:
    """Return the numbers of features given by number or by name."""
    found = []
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"{argument} must list features by name or number, got {shown(given)}")
    for one in given:
        if isinstance(one, str):
            if not number_of:
                raise ValueError(f"{argument} must give features by number, because X has no names, got {shown(one)}")
            if one not in number_of:
                raise ValueError(f"{argument} must name features of X, got {shown(one)}{did_you_mean(one, number_of)}")
            found.append(number_of[one])
        elif isinstance(one, int | np.integer) and not isinstance(one, bool) and 0 <= one < many:
            found.append(int(one))
        else:
            raise ValueError(f"{argument} must hold names or numbers from 0 to {many - 1}, got {shown(one)}")
    return found


def _constant_columns(data: Data, units: list[list[int]], include: list[int], exclude: list[int]) -> list[int]:
    """Return the constant columns, which are left out, and warn about them.

    A group is left out only if all of its columns are constant.
    """
    X = data.X
    suspect = np.flatnonzero(_same(X[:1000])).tolist()  # a look at every row of every column takes long
    constant = {number for number in suspect if _same(X[:, [number]]).all()}
    free = [unit for unit in units if not {*include, *exclude}.intersection(unit)]
    useless = sorted(number for unit in free if constant.issuperset(unit) for number in unit)
    if not useless:
        return []
    if all(constant.issuperset(unit) for unit in free) and not include:
        same = len(data.features_of(constant))
        raise ValueError(f"X must have a column that changes, got {same} constant of {len(data.names)}")
    which = listed(str(name) for name in data.names[data.features_of(useless)])
    warn(f"columns [{which}] are constant and left out")
    return useless


def _same(X: np.ndarray) -> np.ndarray:
    """Return which columns have the same value, or no value, in all rows."""
    return ((X[0] == X) | (np.isnan(X) & np.isnan(X[0]))).all(axis=0)
