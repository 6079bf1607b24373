"""The order of the rooms: a module imports only from its own room and from rooms before it."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import bestleaf

HOUSE = Path(bestleaf.__file__).parent
ROOMS = (  # lowest first
    ("checks", "files", "memory"),
    ("problems",),
    ("proof",),
    ("engine",),
    ("search",),
    ("scikit",),
    ("features",),
    ("columns",),
    ("selection",),
    ("tables",),
    ("report",),
    ("paper",),
    ("cli",),
    ("testing",),
)
FLOOR = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}
ALLOWED = {  # module -> later rooms that it may import, inside a function, and why
    "proof.verify": {"selection"},  # with the data, values are computed again
}
LOBBY = {"__init__", "__main__"}  # what is there before anything is imported


@cache
def parsed(file):
    return list(ast.walk(ast.parse(file.read_text())))


def imports(file):
    """Yield the modules of ours that a file imports, also inside functions; not those for types alone."""
    nodes = parsed(file)
    for_types = {
        line
        for node in nodes
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in node.body
        for line in [inner.lineno]
    }
    for node in nodes:
        if getattr(node, "lineno", 0) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "bestleaf":
            rest = node.module.split(".")[1:]
            yield from ([rest] if rest else [[alias.name] for alias in node.names])
        elif isinstance(node, ast.Import):
            yield from (name.name.split(".")[1:] for name in node.names if name.name.startswith("bestleaf."))


def test_every_module_has_a_room():
    found = {
        path.name.removesuffix(".py")
        for path in HOUSE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert found - LOBBY == set(FLOOR)


def test_a_module_imports_only_from_its_own_room_and_those_before():
    wrong = []
    for file in sorted(HOUSE.rglob("*.py")):
        name = ".".join(file.relative_to(HOUSE).with_suffix("").parts).removesuffix(".__init__")
        room = name.split(".")[0]
        if room in LOBBY:
            continue
        for target in imports(file):
            above = target[0] in FLOOR and FLOOR[target[0]] > FLOOR[room]
            if above and target[0] not in ALLOWED.get(name, ()):
                wrong.append(f"{name} imports {'.'.join(target)}")
    assert wrong == []


def test_only_one_module_imports_numba():
    users = [
        str(file.relative_to(HOUSE))
        for file in HOUSE.rglob("*.py")
        if any(
            (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba")
            or (isinstance(node, ast.Import) and any(one.name.split(".")[0] == "numba" for one in node.names))
            for node in parsed(file)
        )
    ]
    assert users == ["engine/compile.py"]


def test_only_one_module_imports_what_scikit_learn_keeps_private():
    private = re.compile(r"sklearn(\.\w+)*\._|sklearn[\w.]* import .*\b_")
    users = {
        str(file.relative_to(HOUSE))
        for file in HOUSE.rglob("*.py")
        for node in parsed(file)
        if isinstance(node, ast.ImportFrom) and private.match(ast.unparse(node).removeprefix("from "))
    }
    assert users == {"scikit.py"}


WITHOUT_PRIVATE_PARTS = """
import builtins

real = builtins.__import__

def refusing(name, globals=None, locals=None, fromlist=(), level=0):
    private = "._" in name or any(one.startswith("_") for one in fromlist or ())
    if name.startswith("sklearn") and private and globals["__name__"] == "bestleaf.scikit":
        raise ImportError(f"{name} is private")
    return real(name, globals, locals, fromlist, level)

builtins.__import__ = refusing
import pandas as pd
from bestleaf import BestLeafSelector
frame = pd.DataFrame({"a": [1.5, 2, 3, 4] * 10, "b": list("uvuw") * 10})
found = BestLeafSelector(encode="auto", random_state=0).set_output(transform="pandas").fit(frame, [0, 0, 1, 1] * 10)
assert list(found.transform(frame)) == ["a"], found.subset_
assert found.encoder_.get_feature_names_out(["a", "b"]).tolist() == ["a", "b=u", "b=v", "b=w"]
try:
    found.encoder_.get_feature_names_out(["a", "c"])
except ValueError as error:
    print(error)
"""


def test_the_selector_works_without_the_private_parts_of_scikit_learn():
    done = subprocess.run([sys.executable, "-c", WITHOUT_PRIVATE_PARTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "input_features is not equal to feature_names_in_\n"


def test_the_loop_fits_on_a_screen():
    assert len((HOUSE / "search" / "loop.py").read_text().splitlines()) < 150


CORE = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("sklearn", "pandas") or name.startswith(("bestleaf.features", "scipy.stats")):
            raise ImportError(f"the core imports {name}")

sys.meta_path.insert(0, Refusing())
from bestleaf import Search, best_arm, best_leaf, problems, verify
lattice = problems.paper_lattice()
found = best_leaf(lattice, epsilon=0.2, delta=0.1, seed=0)
assert found.settled and verify(found.certificate), str(verify(found.certificate))
assert best_arm(lattice, epsilon=0.2, delta=0.1, seed=0, expansion=0.5, memory=sys.argv[1]).answer
assert best_leaf(lattice, epsilon=0.2, delta=0.1, seed=0, batch_size=8, n_jobs=1).settled
print(found)
"""


def test_the_core_runs_where_features_scikit_learn_and_pandas_cannot_be_imported(tmp_path):
    done = subprocess.run([sys.executable, "-c", CORE, str(tmp_path / "run.db")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("Best leaf:")
