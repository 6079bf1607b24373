"""What a running search shows."""

from __future__ import annotations

import sys
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from bestleaf.search import Progress
from bestleaf.search.progress import ProgressLine
from selecting import made_selector

NOW = Progress(samples=12_000, exact_evaluations=1, growths=3, leaves=9, gap=0.25, best=(0, 1), seconds=4.0, compared=9)


def shown_by(*, terminal, width=200, now=NOW, value=0.875, **budgets):
    file = StringIO()
    console = Console(file=file, force_terminal=terminal, width=width)
    budgets = {"max_time": None, "max_samples": None, **budgets}
    with ProgressLine(console, lambda state: f"{{{state}}}", **budgets) as line:
        line.show(now, value)
    return file.getvalue()


def test_a_line_tells_value_gap_speed_budget_and_subset():
    line = shown_by(terminal=False, max_time=10.0, max_samples=20_000)
    told = (
        "best 0.8750 · gap 0.2500 · 12,000 rollouts (3,000/s) · 1 exact value · 6 s and 7,999 samples left · {(0, 1)}"
    )
    assert line == told + "\n"
    assert shown_by(terminal=False).strip().endswith("1 exact value · 4 s · {(0, 1)}")


def test_the_gap_is_that_of_the_leaves_compared_and_the_others_are_counted():
    assert "gap 0.2500 (3 candidates not compared) · 12,000" in shown_by(terminal=False, now=NOW._replace(compared=6))
    assert "gap 0.2500 (1 candidate not compared) · 12,000" in shown_by(terminal=False, now=NOW._replace(compared=8))


def test_a_narrow_terminal_cuts_the_subset_and_not_the_numbers():
    shown = shown_by(terminal=True, width=90, now=NOW._replace(best="a long name " * 20), max_time=10.0)
    assert "best 0.8750 · gap 0.2500 · 12,000 rollouts (3,000/s) · 1 exact value · 6 s left" in shown
    assert "…" in shown


def test_elsewhere_there_is_a_line_now_and_then():
    assert shown_by(terminal=False, now=NOW._replace(seconds=0.5)) == ""
    assert "\x1b" not in shown_by(terminal=False)
    assert "\x1b" in shown_by(terminal=True)


def test_the_best_subset_in_the_history_goes_with_its_value():
    X = np.random.default_rng(0).normal(size=(80, 20))
    settings = {"choose": "training", "random_state": 0, "epsilon": 0.05, "max_samples": 3000, "guarantee": "grown"}
    selector = made_selector(**settings).fit(X, X[:, 0] + X[:, 1] > 0)
    values = {"{" + ", ".join(f"x{number}" for number in one.features) + "}": one.score for one in selector.evaluated_}
    told = [row for row in selector.history_ if row["score"] is not None]
    assert told
    assert [values[row["best"]] for row in told] == [row["score"] for row in told]


class Cell:
    """The output of a notebook cell, as IPython fills it: outputs that can be changed later."""

    def __init__(self, monkeypatch):
        self.outputs = []
        self.changes = 0
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
        monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=self.display))

    def display(self, shown, *, display_id):
        assert display_id
        self.outputs.append(shown)
        return self

    def update(self, shown):
        self.changes += 1
        self.outputs[-1] = shown


@pytest.fixture
def cell(monkeypatch):
    return Cell(monkeypatch)


def in_notebook(**more):
    file = StringIO()
    return file, Console(file=file, force_jupyter=True, force_terminal=False, **more)


def test_in_a_notebook_one_line_changes_and_nothing_is_printed(cell):
    file, console = in_notebook()
    with ProgressLine(console, lambda state: "<b>", max_time=None, max_samples=None) as line:
        for seconds in range(1, 60):
            line.show(NOW._replace(seconds=float(seconds)), 0.875)
        assert len(cell.outputs) == 1
        assert "59 s" in cell.outputs[0]
        assert "&lt;b&gt;" in cell.outputs[0]
        assert cell.changes == 58
        line.show(NOW._replace(seconds=59.1), 0.875)  # too soon: a notebook keeps every message
        assert cell.changes == 58
    assert cell.outputs == [""]
    assert file.getvalue() == ""


def test_a_quiet_notebook_or_a_line_that_never_came_leaves_no_output(cell):
    file, console = in_notebook(quiet=True)
    with ProgressLine(console) as line:
        line.tell("a", 9.0)
    with ProgressLine(in_notebook()[1]):
        pass
    assert cell.outputs == []
    assert file.getvalue() == ""
