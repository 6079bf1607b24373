"""The figures of the page as SVG, one at a time."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from bestleaf import BestLeafSelector, Certificate, best_leaf, problems
from bestleaf.report import FIGURES, figure, report_html
from paths import certificate

GAPS = ((0.0, 1.0, None), (1.0, 0.05, 0.8), (2.0, 0.2, 0.8), (3.0, 0.03, 0.8), (4.0, 0.01, 0.85))


@pytest.fixture(scope="module")
def found():
    """A certificate that has every figure."""
    made = certificate()[0]
    history = [{"seconds": seconds, "samples": 0, "gap": gap, "score": score} for seconds, gap, score in GAPS]
    cost, report = {**made.content["cost"], "seconds": 5.0}, {**made.content["report"], "history": history}
    return Certificate({**made.content, "cost": cost, "report": report})


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_that_of_the_page_with_its_colours(found, name):
    class Fitted:
        certificate_ = found

    drawn = figure(found, name)
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in drawn
    assert re.sub("<style>.*?</style>", "", drawn, flags=re.DOTALL) in report_html(found)
    assert figure(Fitted(), name) == drawn
    assert drawn._repr_html_() == drawn


def test_the_rules_of_a_figure_do_not_reach_the_notebook_around_it(found):
    rules = re.search("<style>(.*?)</style>", figure(found, "path"), re.DOTALL)[1]
    selectors = [one.strip() for one in re.findall(r"([^{}]+)\{[^}]*\}", rules)]
    assert len(selectors) > 10
    assert all(one.startswith(".bestleaf") and "," not in one for one in selectors)


def test_another_search_has_intervals_only():
    other = best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate
    assert figure(other, "intervals").count('class="leaf ') > 2
    for name, needed in (("gap", "a gap that was known"), ("sizes", "exact values"), ("path", "a path, which choose=")):
        with pytest.raises(ValueError, match=rf"found must have {needed}.* for the figure '{name}', got none"):
            figure(other, name)


def test_what_is_no_result_or_no_figure_is_refused(found):
    with pytest.raises(TypeError, match="found must be a fitted selector or a Certificate, got a BestLeafSelector"):
        figure(BestLeafSelector(), "path")
    with pytest.raises(ValueError, match="name must be one of path, intervals, gap, sizes, got 'graph'"):
        figure(found, "graph")
    with pytest.raises(ValueError, match="certificate must be complete and well formed"):
        figure(Certificate({}), "intervals")
