"""Time, memory and Ctrl-C: limits hold wherever a search may spend long."""

from __future__ import annotations

import subprocess
import sys

import pytest

IGNORING = """
import os, signal
from bestleaf import best_arm
from bestleaf.problems import ScoreLattice
signal.signal(signal.SIGINT, signal.SIG_IGN)
pressed = lambda progress: os.kill(os.getpid(), signal.SIGINT)
print(best_arm(ScoreLattice([0.0] * 8, 4), epsilon=0, delta=0.1, expansion=0.3, max_time=0.5, callback=pressed).reason)
print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_search_started_with_ctrl_c_ignored_goes_on_ignoring_it():
    done = subprocess.run([sys.executable, "-c", IGNORING], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "max_time\nTrue\n", done.stderr[-500:]
