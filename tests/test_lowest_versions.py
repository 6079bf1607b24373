"""The lowest versions that are promised are the ones that are tested."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOL = ROOT / "tools" / "lowest_versions.py"
spec = importlib.util.spec_from_file_location("lowest_versions", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


def test_every_dependency_is_pinned_to_its_lower_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    end = subprocess.run([sys.executable, TOOL, "test"], capture_output=True, text=True, check=True)
    pins = dict(line.split("==") for line in end.stdout.splitlines())
    more = project["optional-dependencies"]
    listed = [*project["dependencies"], *more["test"]]
    assert pins == dict(requirement.split(">=") for requirement in listed)


def test_of_two_bounds_of_one_name_the_higher_one_holds():
    project = {"dependencies": ["a>=1.9", "b[x]>=2,<3"], "optional-dependencies": {"more": ["A>=1.10", "c >= 0.1; x"]}}
    assert tool.pins(project, []) == ["a==1.9", "b==2"]
    assert tool.pins(project, ["more"]) == ["a==1.10", "b==2", "c==0.1"]


@pytest.mark.parametrize("requirement", ["a", "a==1", "a<2", "a~=1.0"])
def test_a_dependency_without_a_lower_bound_is_refused(requirement):
    with pytest.raises(ValueError, match="a dependency must have a lowest version"):
        tool.pins({"dependencies": [requirement], "optional-dependencies": {}}, [])


def test_versions_that_are_known_not_to_work_are_not_promised():
    """numba before 0.62 names what the cache is built on otherwise; typer before 0.19 takes no literals."""
    pins = dict(pin.split("==") for pin in tool.pins(tomllib.loads(tool.PROJECT.read_text())["project"], []))
    for name, works in {"numba": [0, 62], "typer": [0, 19]}.items():
        assert tool._in_order(pins[name]) >= works
