"""The README and the guides: every Python block runs, every link leads somewhere, every name of the API exists."""

from __future__ import annotations

import re
import runpy
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S))
]


EXTRAS = {"pyspiel", "gymnasium", "networkx"}  # what adapters need and the base install does not bring


@contextmanager
def skipped_without_extras():
    """Skip an example whose library is not installed."""
    try:
        yield
    except ImportError as error:
        if error.name not in EXTRAS:
            raise
        pytest.skip(f"needs {error.name}")


@pytest.mark.parametrize("block", BLOCKS)
def test_code_blocks_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with skipped_without_extras():
        exec(compile(block, "README", "exec"), {"__name__": "readme"})


@pytest.mark.parametrize("example", sorted((ROOT / "docs" / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with skipped_without_extras():
        runpy.run_path(str(example), run_name="__main__")


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub and Sphinx make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        if path.startswith(("http", "gallery/")):  # the gallery is built with the documentation
            continue
        other = page.parent / path if path else page
        assert other.exists(), target
        assert not anchor or anchor in anchors(other), target


@pytest.mark.parametrize("name", re.findall(r"^   ([\w.]+)$", (ROOT / "docs" / "api.md").read_text("utf-8"), re.M))
def test_names_of_the_api_exist(name):
    module, _, last = f"bestleaf.{name}".rpartition(".")
    assert resolve_name(f"{module}:{last}").__doc__


def test_every_public_name_is_in_the_api():
    import bestleaf

    listed = (ROOT / "docs" / "api.md").read_text("utf-8")
    modules = {"paper", "problems", "report", "tables", "testing"}
    for name in set(bestleaf.__all__) - modules - {"__version__"}:
        assert re.search(rf"^   {name}$", listed, re.M), name
