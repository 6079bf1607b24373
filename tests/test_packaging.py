"""The conda recipe says what pyproject.toml says, and both ways to start the command line are the same."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import bestleaf

ROOT = Path(__file__).parent.parent
RECIPE = (ROOT / "tools" / "conda" / "recipe.yaml").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_conda_recipe_has_the_version_and_the_dependencies_of_the_package():
    assert f'version: "{bestleaf.__version__}"' in RECIPE
    run = RECIPE.split("  run:\n")[1].split("\n\n")[0]
    listed = {line.strip().removeprefix("- ").replace(" ", "") for line in run.splitlines()}
    assert listed == {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]}
    (name, start), *others = PROJECT["scripts"].items()
    assert f"- {name} = {start}\n" in RECIPE
    assert not others


def test_python_dash_m_is_the_command_line(tmp_path):
    end = subprocess.run(
        [sys.executable, "-m", "bestleaf", "--version"], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert bestleaf.__version__ in end.stdout
