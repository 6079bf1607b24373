"""Where the path is shown: the page, a notebook, the terminal and the result file."""

from __future__ import annotations

import json
import re
from io import StringIO
from xml.etree import ElementTree

import pandas as pd
import pytest
from rich.console import Console

from bestleaf import Certificate
from bestleaf.cli.app import app
from bestleaf.cli.select import path_table
from bestleaf.report import report_html
from bestleaf.report.content import path_points
from bestleaf.report.drawing import LogScale, WholeScale, draw_intervals, draw_path
from forging import reworded, twin
from genuine import table
from paths import certificate

HOSTILE = ("<script>alert(1)</script>", "[bold]x[/bold]", "a&b", '"quoted"', "e", "f", "g")


@pytest.fixture
def hostile():
    return certificate(3, names=HOSTILE)[0]


@pytest.fixture
def long():
    """Return a certificate with a path of many sizes; every fourth score has no standard error."""
    settings = {"columns": 45, "guarantee": "grown", "epsilon": 0.1, "cv": 3, "max_samples": 300}
    content = twin(certificate(6, **settings)[0].content)
    for row in content["new_data"]["path"][3::4]:
        row["standard_error"] = row["difference_error"] = None
    return Certificate(reworded(content))


def texts(svg):
    return [node.text for node in ElementTree.fromstring(svg).iter() if node.tag.endswith(("text", "title"))]


def test_the_first_figure_of_the_page_is_the_path(hostile):
    page = report_html(hostile)
    assert page.index("The path: one subset of each size") < page.index("Selected features")
    assert page.index("<svg") > page.index("The path: one subset of each size")
    assert page.count('class="column"') == 7
    assert "Chosen by left-out rows: 3 features" in page
    assert "Optimism " in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert page.count('<tr class="chosen">') == 2  # in the table of the path, and in that of the leaves


def test_without_a_path_neither_page_nor_terminal_show_one(selected):
    page = report_html(Certificate(selected))
    assert "left out" not in page
    assert 'class="column"' not in page
    assert path_table(Certificate(selected)) is None


def test_hovering_over_a_size_tells_its_features(hostile):
    titles = [text for text in texts(draw_path(hostile.content)) if text and " features (" in text]
    assert len(titles) == 6  # and one of a single feature
    row = next(one for one in titles if one.startswith("3 features (search, chosen): training 0."))
    assert re.search(r"left out 0\.\d{4} ± 0\.\d{4}, difference to all [+-]0\.\d{4} ± 0\.\d{4}\. ", row)
    assert all(name in row for name in hostile.features)


def test_many_sizes_have_a_logarithmic_scale_and_gaps_in_the_band(long):
    svg = draw_path(long.content)
    assert svg.count('class="band" points') == 10  # nine of 39 sizes have no standard error
    ticks = [node.text for node in ElementTree.fromstring(svg).iter() if node.get("text-anchor") == "middle"]
    assert ticks == ["1", "2", "5", "10", "20", "45", "features"]
    few = draw_path(certificate()[0].content)
    assert few.count('class="band" points') == 1
    assert few.count('class="dot"') == 6


def test_scales_of_sizes_have_whole_numbers():
    assert WholeScale(1, 3, 0.0, 1.0).ticks() == [1.0, 2.0, 3.0]
    assert LogScale(1, 1000, 0.0, 3.0)(10) == pytest.approx(1.0)
    assert LogScale(1, 1000, 0.0, 3.0).ticks()[-2:] == [500.0, 1000.0]
    assert LogScale(1, 1, 0.0, 3.0)(1) == 0.0


def test_what_is_not_known_is_not_drawn(hostile):
    content = twin(hostile.content)
    for row in content["new_data"]["path"]:
        row |= dict.fromkeys(("left_out", "standard_error", "difference", "difference_error", "training"))
    for picture in (draw_path(content), draw_path(hostile.content)):
        ElementTree.fromstring(picture)
        assert "None" not in picture
    assert all(point.heights() == [] for point in path_points(content))


def test_the_limit_of_the_rivals_is_that_of_the_answer_by_these_rows():
    found = certificate(2, epsilon=0.001)[0]
    drawing = draw_intervals(found.content)
    assert "the answer by these rows alone + epsilon" in texts(drawing)
    assert "Left-out rows decided, so the answer need not be the best here" in report_html(found)
    best = certificate()[0].content  # whose answer is the best here, too
    assert "answer + epsilon" in texts(draw_intervals(best))


def test_a_notebook_shows_a_table_of_the_path(hostile):
    html = hostile._repr_html_()
    assert html.count("<tr") == 8
    assert html.count('style="font-weight:bold"') == 1
    ElementTree.fromstring(f"<div>{html}</div>")


def printed(table, width):
    console = Console(file=StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


def test_the_terminal_shows_some_rows_of_the_path(hostile, long):
    text = printed(path_table(hostile), 160)
    assert "The path: one subset of each size (* chosen)" in text
    assert "[bold]x[/bold]" in text
    assert len(re.findall(r"^│ +\d \* │", text, re.MULTILINE)) == 1
    text = printed(path_table(long), 80)
    assert "12 of 39 sizes" in text
    shown = [int(one) for one in re.findall(r"^│ +(\d+)(?: \*)? │", text, re.MULTILINE)]
    assert {1, 5, 6, 7, 45} <= set(shown)
    assert (len(shown), shown) == (12, sorted(shown))
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) < 20


def test_the_command_prints_the_path_and_its_exit_code_is_that_of_the_search(tmp_path, capsys):
    """The answer may be worse here by more than epsilon; the search is settled all the same."""
    X, y = table(0, 7, rows=80)
    pd.DataFrame(X, columns=HOSTILE).assign(target=y).to_csv(tmp_path / "table.csv", index=False)
    typed = ["select", str(tmp_path / "table.csv"), "--target", "target", "--json", str(tmp_path / "found.json")]
    assert not app([*typed, "--epsilon", "0.0001"], standalone_mode=False)  # the exit code
    assert "The path: one subset of each size" in capsys.readouterr().out
    result = json.loads((tmp_path / "found.json").read_text())
    assert result["settled"]
    assert result["gap"] > result["epsilon"]
    assert [row["size"] for row in result["path"]] == list(range(1, 8))
    assert result["new_data"][0].startswith("Chosen by left-out rows")
    assert f"Optimism {result['optimism']:.4f}" in result["new_data"][1]
