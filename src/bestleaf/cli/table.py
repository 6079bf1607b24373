"""The table of a command: its options, reading it, and telling what was found in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from rich.console import Console

from bestleaf.cli.options import (
    Data,
    Dates,
    Drop,
    Encoding,
    Estimator,
    Groups,
    Impute,
    Keep,
    Missing,
    Target,
    Task,
    Weights,
)

if TYPE_CHECKING:
    from bestleaf.tables import Table
    from bestleaf.tables.load import FirstLook

LOUD = ("A leak?", "Leaks?")  # how lines that must not be overlooked begin

OPTIONS = {  # by kinds of findings, what can be done about them
    frozenset({"unnamed", "row number", "id", "empty"}): "--keep COLUMN takes a column in that is left out.",
    frozenset({"date"}): "--dates number takes dates as days, --dates drop leaves them out.",
    frozenset({"odd cells", "marker"}): "--missing TEXT takes cells with this text as missing values.",
    frozenset({"leak", "many texts", "duplicate"}): "--drop COLUMN leaves a column out.",
}


class TableOptions(NamedTuple):
    """The table of a command, the options that say how it is read and made ready, and the estimator it is for."""

    data: Data
    target: Target
    task: Task = "auto"
    groups: Groups = None
    weights: Weights = None
    drop: Drop = None
    keep: Keep = None
    missing: Missing = None
    encoding: Encoding = None
    impute: Impute = None
    dates: Dates = "parts"
    estimator: Estimator = "neighbours"

    def look(self, wanted: Iterable[str] = ()) -> FirstLook:
        """Read the table and look at it; columns that other options name are kept like those of --keep."""
        from bestleaf.tables.load import first_look

        return first_look(
            self.data,
            self.target,
            drop=self.drop or (),
            keep=self.keep or (),
            wanted=wanted,
            missing=self.missing or (),
            encoding=self.encoding,
            groups=self.groups,
            weights=self.weights,
            task=self.task,
        )

    def ready(self, look: FirstLook) -> Table:
        """Return the table ready for a search."""
        from bestleaf.tables.select import default_impute

        impute = default_impute(self.estimator) if self.impute is None else self.impute
        return look.table(impute=impute, dates=self.dates)

    def table(self, wanted: Iterable[str] = ()) -> Table:
        """Read the table, look at it, and return it ready for a search."""
        return self.ready(self.look(wanted))


def of_a_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `TableOptions`; it gets them as its first argument."""

    def run(**given: Any) -> None:
        table = TableOptions(**{name: given.pop(name) for name in TableOptions._fields})
        command(table, **given)

    own = list(signature(command).parameters.values())[1:]
    hints = {**get_type_hints(TableOptions, include_extras=True), **get_type_hints(command, include_extras=True)}
    listed = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in (*signature(TableOptions).parameters.values(), *own)
    ]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {one.name: one.annotation for one in listed}
    run.__signature__ = Signature(listed)  # type: ignore[attr-defined]  # typer reads it
    return run


def tell(console: Console, *lines: str) -> None:
    """Print lines as they are; a possible leak is printed in red."""
    for line in lines:
        style = "bold red" if line.startswith(LOUD) else None
        console.print(line, highlight=False, markup=False, soft_wrap=True, style=style)


def tell_notes(console: Console, table: Table) -> None:
    """Print what was done to a table and what was found in it, and which options change that."""
    tell(console, *table.notes)
    tell_options(console, [] if table.made is None else [finding["kind"] for finding in table.made["findings"]])


def tell_options(console: Console, kinds: Iterable[str]) -> None:
    """Print which options change what was found."""
    tell(console, *(words for option, words in OPTIONS.items() if not option.isdisjoint(kinds)))
