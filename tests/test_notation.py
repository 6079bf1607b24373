"""The tables of symbols in `docs/notation.md`: every name of the code that they give exists."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[1] / "docs" / "notation.md"
HEADS = ("paper", "symbol")  # of the first column of a table of symbols


def rows_of_symbols():
    """Return (symbol, names, modules) of every row."""
    found, inside = [], False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            inside = False
        elif cells[0] in HEADS:
            assert cells[1:] == ["meaning", "name", "module"]
            inside = True
        elif inside and set(cells[0]) != {"-", " "} and cells[0] != "---":
            symbol, meaning, names, modules = cells
            assert meaning
            found.append((symbol, re.findall("`([^`]+)`", names), re.findall("`([^`]+)`", modules)))
    return found


def member(owner, name):
    """Return a part of a class, a module or a record; an error if it has none of that name."""
    if isinstance(owner, np.dtype):
        assert name in owner.names, name
        return owner[name]
    if name in getattr(owner, "__dataclass_fields__", {}) or name in getattr(owner, "__annotations__", {}):
        return owner
    return getattr(owner, name)


def resolves(name, module):
    """Whether a name such as `Problem.sample`, `TRACK.visits` or `ScoreLattice(depth)` exists in a module."""
    path, _, argument = name.removesuffix(")").partition("(")
    owner = import_module(f"bestleaf.{module}")
    try:
        for part in path.split("."):
            owner = member(owner, part)
    except (AttributeError, AssertionError):
        return False
    return not argument or argument in inspect.signature(owner).parameters


SYMBOLS = rows_of_symbols()


@pytest.mark.parametrize(("symbol", "names", "modules"), SYMBOLS, ids=[row[0] for row in SYMBOLS])
def test_names_exist_in_the_modules_given(symbol, names, modules):
    assert names, symbol
    found = {name: [module for module in modules if resolves(name, module)] for name in names}
    assert not [name for name, where in found.items() if not where]
    assert {module for where in found.values() for module in where} == set(modules)


def test_no_symbol_is_missing_or_listed_twice():
    listed = [row[0] for row in SYMBOLS]
    assert len(set(listed)) == len(listed)
    text = " ".join(listed)
    for symbol in ("I_s", "d(s)", "T_s", "Δ_*", "Δ_{ε,*}", "H_ε", "D₀", "D_t", "L*_t", "τ_max", "seven openings"):
        assert symbol in text
