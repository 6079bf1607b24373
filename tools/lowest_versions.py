"""Print the lowest version of every direct dependency as a pin for pip: python tools/lowest_versions.py test.

The versions are the bounds of pyproject.toml, so that what is tested is what is promised. The arguments are optional
dependencies to add; what the dependencies need themselves is left to pip.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*(\[[^]]*\])?\s*>=\s*(?P<lowest>[0-9][0-9A-Za-z.]*)\s*(?=[,;]|$)")


def pins(project: dict, extras: list[str]) -> list[str]:
    """Return ``name==lowest`` for every dependency, each once; two bounds of one name give the higher one."""
    listed = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    lowest: dict[str, str] = {}
    for requirement in listed:
        found = BOUND.match(requirement)
        if found is None:
            raise ValueError(f"a dependency must have a lowest version, name>=version, got {requirement!r}")
        name, version = found["name"].lower(), found["lowest"]
        lowest[name] = max(version, lowest.get(name, version), key=_in_order)
    return [f"{name}=={version}" for name, version in sorted(lowest.items())]


def _in_order(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


if __name__ == "__main__":
    print("\n".join(pins(tomllib.loads(PROJECT.read_text())["project"], sys.argv[1:])))
