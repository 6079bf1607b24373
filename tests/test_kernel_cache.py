"""numba's disk cache: damaged, empty or full, it costs one warning and never the answer."""

from __future__ import annotations

import os
import subprocess
import sys
from errno import ENOSPC

import pytest

from bestleaf.engine import compile as compiling

SMALL = """
import sys, warnings
from bestleaf.engine.compile import kernel
import small
print(kernel(small.twice)(21))
"""


@pytest.fixture
def small(tmp_path):
    """A folder with a small kernel, and how to run it in a process of its own."""
    (tmp_path / "small.py").write_text("def twice(x):\n    return 2 * x\n")
    cache = tmp_path / "cache"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": path}

    def run():
        return subprocess.run(
            [sys.executable, "-c", SMALL], env=surroundings, capture_output=True, text=True, check=False, timeout=120
        )

    assert run().stdout == "42\n"
    return run, cache


def flip(data):
    middle = len(data) // 2
    return data[:middle] + bytes(255 - one for one in data[middle : middle + 64]) + data[middle + 64 :]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: b"damaged" * 50, lambda data: data[:40], flip])
def test_a_damaged_cache_costs_one_warning_and_is_mended(small, ending, damage):
    run, cache = small
    for file in cache.rglob(f"*.{ending}"):
        file.write_bytes(damage(file.read_bytes()))
    done = run()
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert "Traceback" not in done.stderr
    assert done.stderr.count("RuntimeWarning: numba's cache") == 1
    done = run()
    assert (done.stdout, done.stderr) == ("42\n", "")


def test_a_full_disk_costs_one_warning(tmp_path, monkeypatch):
    def full(self, key, data):
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    def thrice(x):
        return 3 * x

    def fourfold(x):
        return 4 * x

    monkeypatch.setattr(compiling.caching.IndexDataCacheFile, "save", full)
    monkeypatch.setattr(compiling.numba.config, "CACHE_DIR", str(tmp_path))
    compiling._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match=r"cannot be written \(No space left on device\): kernels") as told:
        found = [compiling.kernel(one)(2) for one in (thrice, fourfold)]
    assert found == [6, 8]
    assert len(told) == 1


def test_without_the_compiler_the_command_line_says_one_sentence(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b,y\n" + "".join(f"{number},{number % 7},{number % 2}\n" for number in range(40)))
    done = subprocess.run(
        [sys.executable, "-m", "bestleaf", "select", str(table), "--target", "y"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "unset NUMBA_DISABLE_JIT" in done.stderr
