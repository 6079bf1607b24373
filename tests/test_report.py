"""The page about a result: complete, self-contained, and safe whatever the columns are called."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from bestleaf import BestLeafSelector, best_arm, best_leaf, problems, validate
from bestleaf.paper import load_linear
from bestleaf.report import report_html, save_report
from bestleaf.report.content import LONGEST, MOST_NODES, graph, in_short, leading_leaves
from bestleaf.report.plotting import Scale, plot_gap, plot_intervals, plot_sizes

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><b>", "a&b", "{{ 7*7 }}", "größe"]


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, len(HOSTILE))), columns=HOSTILE)
    y = (X.iloc[:, 0] + X.iloc[:, 1] > 0).astype(int)
    return validate(
        BestLeafSelector(choose="training", random_state=0), X, y, n_repeats=2, holdout=0.25
    ).selector.certificate_


class Tags(HTMLParser):
    """Counts tags and looks for ways out of the page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.handlers = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attributes if name.startswith("on")]
        assert not {"src", "href"} & {name for name, _ in attributes}


def test_names_of_columns_are_text(hostile):
    page = report_html(hostile)
    found = Tags(page)
    assert found.tags.count("script") == 1
    assert "img" not in found.tags
    assert not found.handlers
    assert "alert(1)" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "{{ 7*7 }}" in page
    data = re.search(r"const graph = (.*);\n", page).group(1)
    assert "<" not in data
    assert json.loads(data)["nodes"][0][1] == "{}"


def test_the_page_says_what_matters_and_needs_nothing(hostile, tmp_path):
    page = report_html(hostile, title="Trial & error")
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert len(page.encode()) < 6_000_000
    for part in (
        "Trial &amp; error",
        "Selected features",
        "The answer and its closest rivals",
        "The graph as grown",
        "Not claimed",
        "SHA-256",
    ):
        assert part in page
    assert "selected in" in page
    assert "kept from the search" in page
    save_report(hostile, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == report_html(hostile)


@pytest.mark.parametrize("find", [best_arm, best_leaf])
def test_any_search_has_a_page(find):
    found = find(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate
    page = report_html(found)
    assert f"Best {'arm' if find is best_arm else 'leaf'}" in page
    assert "Selected features" not in page


def test_a_large_graph_keeps_its_strongest_nodes_and_the_way_to_the_answer():
    found = best_leaf(problems.ScoreLattice(np.linspace(-1, 1, 16), 5), epsilon=0.3, delta=0.1, seed=0).certificate
    shown = graph(found.content)
    assert len(shown["nodes"]) == MOST_NODES
    assert shown["left_out"] == len(found.content["graph"]["labels"]) - MOST_NODES
    assert shown["answer"] in shown["way"]
    assert all(0 <= one < MOST_NODES and 0 <= other < MOST_NODES for one, other in shown["edges"])
    assert shown["nodes"][0][0] == 0
    assert len(report_html(found).encode()) < 6_000_000


def test_long_names_are_told_apart_beside_the_plot():
    names = [f"measurement of the sensor with number {number}" for number in range(12)]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 12)), columns=names)
    found = (
        BestLeafSelector(choose="training", random_state=0, max_features=2)
        .fit(X, X.iloc[:, 0] + X.iloc[:, 1] > 0)
        .certificate_
    )
    shown = leading_leaves(found.content)
    assert shown[0]["short"] == "the answer, 2 features"
    assert all(len(leaf["short"]) <= LONGEST for leaf in shown)
    exchanged = [leaf["short"] for leaf in shown if " + " in leaf["short"] and " \N{MINUS SIGN} " in leaf["short"]]
    assert len(set(exchanged)) == len(exchanged) > 10
    assert "answer, 2 added, 2 dropped" in {leaf["short"] for leaf in shown}
    assert in_short("abcdefghij", 5) == "ab…ij"


def test_partial_subsets_are_marked():
    found = (
        BestLeafSelector(choose="training", epsilon=0.005, random_state=0)
        .fit(*load_linear(return_X_y=True))
        .certificate_
    )
    shown = leading_leaves(found.content)
    assert {leaf["name"].endswith("…}") for leaf in shown if leaf["kind"] == "exact"} == {False}
    assert any(leaf["name"].endswith(", …}") for leaf in shown)


def test_scales_of_numbers_that_hardly_differ_end():
    assert len(Scale(1e16, 1e16 + 2, 0.0, 1.0).ticks()) < 20
    assert Scale(-0.1, 0.1, 0.0, 1.0).ticks() == [-0.1, -0.05, 0.0, 0.05, 0.1]


def test_scales_have_round_numbers():
    assert Scale(0.0, 1.0, 0.0, 1.0).ticks() == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert Scale(0.912, 0.934, 0.0, 1.0).ticks() == [0.915, 0.92, 0.925, 0.93]
    assert Scale(3.0, 3.0, 0.0, 1.0).ticks() == [3.0]


def test_plots_stand_alone_and_certificates_show_themselves(hostile, tmp_path):
    for draw in (plot_intervals, plot_sizes):
        picture = draw(hostile)
        ElementTree.fromstring(picture._repr_svg_())  # well formed
        picture.save(tmp_path / "plot.svg")
        assert (tmp_path / "plot.svg").read_text(encoding="utf-8").startswith("<svg")
    assert plot_intervals(hostile, rivals=3).svg.count('class="leaf') == 4
    with pytest.raises(ValueError, match="rivals must be a whole number of at least 1, got 0"):
        plot_intervals(hostile, rivals=0)
    linear = (
        BestLeafSelector(choose="training", epsilon=0.005, random_state=0)
        .fit(*load_linear(return_X_y=True))
        .certificate_
    )
    ElementTree.fromstring(plot_gap(linear).svg)
    other = best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate
    with pytest.raises(ValueError, match="must be that of a BestLeafSelector"):
        plot_sizes(other)
    assert "<script>" not in hostile._repr_html_()
    assert "&lt;script&gt;" in hostile._repr_html_()
