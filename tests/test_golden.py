"""Whole searches, run again: they must do what they did when they were recorded, to the last sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bestleaf.search.budget import Budget
from golden.listed import CASES
from golden.record import written

pytestmark = pytest.mark.slow

FILES = Path(__file__).parent / "golden"
CLOSE = 1e-12  # relative, for numbers that are not whole


def difference(expected: Any, found: Any, field: str = "") -> str | None:
    """Return one sentence about the first field that differs, None if there is none."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if expected.keys() != found.keys():
            name = next(name for name in [*expected, *found] if name not in expected or name not in found)
            return f"{field}.{name}".lstrip(".") + f" is only in the {'file' if name in expected else 'new record'}."
        pairs = ((expected[name], found[name], f"{field}.{name}".lstrip(".")) for name in expected)
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            return f"{field} was a list of {len(expected)}, got {len(found)}."
        pairs = ((*both, f"{field}[{place}]") for place, both in enumerate(zip(expected, found, strict=True)))
    else:
        return None if same(expected, found) else f"{field} was {expected!r}, got {found!r}."
    return next((said for pair in pairs if (said := difference(*pair))), None)


def same(expected: Any, found: Any) -> bool:
    """Return whether two plain values are the same; numbers that are not whole may differ in the last digits."""
    if isinstance(expected, float) and isinstance(found, float):
        return abs(expected - found) <= CLOSE * max(abs(expected), abs(found))
    return type(expected) is type(found) and expected == found


def recorded(name: str) -> Any:
    return json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))


def check(name: str, **further: Any) -> None:
    """Run a case again and fail with one sentence if it differs from what was recorded."""
    said = difference(recorded(name), json.loads(written(CASES[name].record(**further))))
    if said:
        pytest.fail(said, pytrace=False)


@pytest.mark.parametrize("name", CASES)
def test_a_search_does_what_it_did(name):
    check(name)


@pytest.mark.parametrize(("name", "further"), [(name, one) for name, case in CASES.items() for one in case.also])
def test_workers_change_nothing(name, further):
    check(name, **further)


@pytest.mark.parametrize("name", ["select_grown", "leaf_cut_short"])
def test_a_slow_machine_changes_nothing(name, monkeypatch):
    monkeypatch.setattr(Budget, "slice", 0.0005)
    check(name)


def test_every_file_belongs_to_a_case_and_is_small():
    assert {file.stem for file in FILES.glob("*.json")} == set(CASES)
    assert max(file.stat().st_size for file in FILES.glob("*.json")) < 150_000
