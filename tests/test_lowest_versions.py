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
    listed = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    end = subprocess.run([sys.executable, TOOL, "test"], capture_output=True, text=True, check=True)
    assert sorted(end.stdout.split()) == sorted(requirement.replace(">=", "==") for requirement in listed)


def test_of_two_bounds_of_one_name_the_higher_one_holds():
    project = {"dependencies": ["a>=1.9", "b[x]>=2,<3"], "optional-dependencies": {"more": ["A>=1.10", "c >= 0.1; x"]}}
    assert tool.pins(project, []) == ["a==1.9", "b==2"]
    assert tool.pins(project, ["more"]) == ["a==1.10", "b==2", "c==0.1"]


@pytest.mark.parametrize("requirement", ["a", "a==1", "a<2", "a~=1.0"])
def test_a_dependency_without_a_lower_bound_is_refused(requirement):
    with pytest.raises(ValueError, match="a dependency must have a lowest version"):
        tool.pins({"dependencies": [requirement], "optional-dependencies": {}}, [])
