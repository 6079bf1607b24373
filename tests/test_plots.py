"""Plots on axes of matplotlib: all functions alike, saved by suffix."""

from __future__ import annotations

import sys

import pytest

from bestleaf import Certificate, best_leaf, problems
from bestleaf.report import plotting
from bestleaf.report.content import leading_leaves, limit_of
from paths import certificate

figures = pytest.importorskip("matplotlib.figure")
PLOTS = (plotting.plot_path, plotting.plot_intervals, plotting.plot_gap, plotting.plot_sizes)
GAPS = ((0.0, 1.0, None), (1.0, 0.05, 0.8), (2.0, 0.2, 0.8), (3.0, 0.03, 0.8), (4.0, 0.01, 0.85))


@pytest.fixture(scope="module")
def found():
    """A certificate that every plot can be made of."""
    made = certificate()[0]
    history = [{"seconds": seconds, "samples": 0, "gap": gap, "score": score} for seconds, gap, score in GAPS]
    return Certificate({**made.content, "report": {**made.content["report"], "history": history}})


@pytest.mark.parametrize("plot", PLOTS)
def test_every_plot_takes_and_returns_axes(found, plot):
    class Fitted:
        certificate_ = found

    for given in (found, Fitted()):
        axes = figures.Figure().subplots()
        assert plot(given, ax=axes) is axes
        assert axes.get_lines()
        assert axes.get_xlabel()


def test_a_plot_is_saved_by_its_suffix(found, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = plotting.plot_sizes(found)  # in a figure of its own
    try:
        for suffix, head in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
            file = tmp_path / f"plot{suffix}"
            axes.figure.savefig(file)
            assert file.read_bytes().startswith(head)
    finally:
        pyplot.close(axes.figure)


def test_the_gap_is_broken_where_nothing_is_known(found):
    axes = plotting.plot_gap(found, figures.Figure().subplots())
    lines = [list(dict.fromkeys(zip(*line.get_data(), strict=True))) for line in axes.get_lines()]
    assert lines[0] == [(1.0, 0.05), (2.0, 0.05)]
    assert lines[1] == [(3.0, 0.03), (4.0, 0.03), (4.0, 0.01)]
    assert len(lines) == 3  # and epsilon


def test_intervals_have_the_names_and_the_limit(found):
    axes = plotting.plot_intervals(found, figures.Figure().subplots(), rivals=3)
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == [leaf["short"] for leaf in leading_leaves(found.content)[:4]]
    limit, called = limit_of(found.content)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [called]
    assert list(axes.get_lines()[-1].get_xdata()) == [limit, limit]
    with pytest.raises(ValueError, match="rivals must be a whole number of at least 1, got 0"):
        plotting.plot_intervals(found, rivals=0)


def test_names_are_no_mathematics():
    made = certificate()[0].content
    renamed = {name: f"${name}^$" for name in made["data"]["names"]}
    data = {**made["data"], "names": list(renamed.values())}
    figure = figures.Figure()
    plotting.plot_intervals(Certificate({**made, "data": data}), figure.subplots(), rivals=2)
    figure.canvas.draw()


def test_another_search_has_intervals_only():
    other = best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate
    assert plotting.plot_intervals(other, figures.Figure().subplots()).get_lines()
    for plot in (plotting.plot_gap, plotting.plot_sizes):
        with pytest.raises(ValueError, match="found must be a feature selection, got the certificate of another"):
            plot(other)


def test_a_gap_that_was_never_known_has_no_plot(found):
    content = {**found.content, "report": {**found.content["report"], "history": []}}
    with pytest.raises(ValueError, match="found must have known the gap at least twice in its search, got less"):
        plotting.plot_gap(Certificate(content))


def test_without_matplotlib_one_sentence(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"plots need matplotlib \(pip install 'bestleaf\[plot\]'\)"):
        plotting.plot_sizes(found)
