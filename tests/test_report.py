"""The page about a result: complete, self-contained, and safe whatever the columns are called."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from bestleaf import BestLeafSelector, best_arm, best_leaf, problems, validate, verify
from bestleaf.paper import load_linear
from bestleaf.report import report_html, save_report
from bestleaf.report.content import LONGEST, gap_runs, leading_leaves, leaves_not_drawn
from bestleaf.report.drawing import Scale, draw_gap, draw_intervals, draw_sizes

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><b>", "a&b", "{{ 7*7 }}", "größe"]


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, len(HOSTILE))), columns=HOSTILE)
    y = (X.iloc[:, 0] + X.iloc[:, 1] > 0).astype(int)
    return validate(BestLeafSelector(choose="training", random_state=0), X, y, holdout=0.25).selector.certificate_


def test_names_of_columns_are_text(hostile):
    page = report_html(hostile)
    assert not re.search(r"<(script|img|link|iframe)\b|<[^>]*\s(on\w+|src|href)=", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "{{ 7*7 }}" in page


def test_the_page_says_what_matters_and_needs_nothing(hostile, tmp_path):
    page = report_html(hostile, title="Trial & error")
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert len(page.encode()) < 6_000_000
    parts = "Trial &amp; error", "Selected features", "The answer and its closest rivals", "Not claimed", "SHA-256"
    for part in (*parts, "kept from the search"):
        assert part in page
    selector = "BestLeafSelector(choose='training', random_state=0)"
    assert hostile.content["report"]["repeat"] == f"validate({selector}, X, y, holdout=0.25)"
    with pytest.raises(TypeError, match="certificate must be a Certificate, got a str"):
        report_html("found.json")
    save_report(hostile, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == report_html(hostile)


def test_any_search_has_a_page():
    for find, title in ((best_arm, "Best arm"), (best_leaf, "Best leaf")):
        page = report_html(find(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate)
        assert title in page
        assert "Selected features" not in page


def test_long_names_are_told_apart_beside_the_plot():
    names = [f"measurement of the sensor with number {number}" for number in range(12)]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 12)), columns=names)
    selector = BestLeafSelector(choose="training", random_state=0, max_features=2)
    shown = leading_leaves(selector.fit(X, X.iloc[:, 0] + X.iloc[:, 1] > 0).certificate_.content)
    assert shown[0]["answer"]
    assert all(len(leaf["short"]) <= LONGEST for leaf in shown)
    exchanged = [leaf["short"] for leaf in shown if len(leaf["changes"]) == 2]
    assert all(re.fullmatch(r"\+ \S.*, \N{MINUS SIGN} \S.*\d", short) for short in exchanged)
    assert len(set(exchanged)) == len(exchanged) > 10
    assert shown[0]["changes"] == []


def test_leaves_that_nothing_is_known_of_are_not_drawn_but_counted():
    made = best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate.content
    rivals = sorted((leaf for leaf in made["leaves"] if leaf["node"] != made["answer"]), key=lambda leaf: leaf["upper"])
    unknown = {leaf["node"] for leaf in rivals[:2]}
    leaves = [{**leaf, "upper": 1.0} if leaf["node"] in unknown else leaf for leaf in made["leaves"]]
    content = {**made, "leaves": leaves}
    assert unknown.isdisjoint(leaf["node"] for leaf in leading_leaves(content))
    assert leaves_not_drawn(content) == 2
    assert leaves_not_drawn(made) == 0
    nothing = {**made, "leaves": [{**leaf, "upper": 1.0, "exact": False} for leaf in made["leaves"]]}
    assert leaves_not_drawn(nothing) == 0  # then all are drawn
    assert len(leading_leaves(nothing)) == min(31, len(leaves))


def test_partial_subsets_are_marked():
    selector = BestLeafSelector(choose="training", epsilon=0.005, random_state=0).fit(*load_linear(return_X_y=True))
    shown = leading_leaves(selector.certificate_.content)
    assert {leaf["name"].endswith("…}") for leaf in shown if leaf["kind"] == "exact"} == {False}
    assert any(leaf["name"].endswith(", …}") for leaf in shown)


def test_scales_have_round_numbers():
    for low, high, ticks in (
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.912, 0.934, [0.915, 0.92, 0.925, 0.93]),
        (-0.1, 0.1, [-0.1, -0.05, 0.0, 0.05, 0.1]),
        (3.0, 3.0, [3.0]),
    ):
        assert Scale(low, high, 0.0, 1.0).ticks() == ticks
    assert len(Scale(1e16, 1e16 + 2, 0.0, 1.0).ticks()) < 20  # numbers that hardly differ


def test_plots_are_well_formed_and_certificates_show_themselves(hostile):
    for drawing in (draw_intervals(hostile.content), draw_sizes(hostile.content)):
        ElementTree.fromstring(drawing)
    assert "<script>" not in hostile._repr_html_()
    assert "&lt;script&gt;" in hostile._repr_html_()


def test_a_gap_that_nothing_is_known_of_is_not_drawn():
    rows = (0, 1.0, None), (1, 1.0, 0.9), (2, 0.05, 0.9), (3, 1.0, 0.9), (4, 0.04, 0.9), (5, 0.02, 0.91)
    history = [{"seconds": second, "samples": 0, "gap": gap, "score": score} for second, gap, score in rows]
    content = {"report": {"history": history}, "search": {"epsilon": 0.01}}
    assert gap_runs(content) == [[(2, 0.05), (3, 0.05)], [(4, 0.04), (5, 0.02)]]
    assert draw_gap(content).count("<polyline") == 2
    assert draw_gap({**content, "report": {"history": history[:3]}}) is None


def test_the_page_tells_how_to_repeat_it_and_what_was_done_to_the_table():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    found = BestLeafSelector(choose="training", random_state=7, epsilon=0.02, verbose=0).fit(X, X["a"] > 0).certificate_
    page = report_html(found)
    assert "BestLeafSelector(choose=&#39;training&#39;, epsilon=0.02, random_state=7).fit(X, y)" in page
    assert "About the table" not in page
    assert "With all 3 features the value is 0." in page
    found.add_to_report(repeat="bestleaf select 'a <b>.csv'", notes=["age: 3 missing values filled with 28 (<median>)"])
    page = report_html(found)
    assert "bestleaf select &#39;a &lt;b&gt;.csv&#39;" in page
    assert "About the table" in page
    assert "3 missing values filled with 28 (&lt;median&gt;)" in page
    assert verify(found)
    assert "how to repeat the search, notes about the table" in str(verify(found))
