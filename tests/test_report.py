"""The page about a result and its figures: complete, self-contained, and safe whatever the columns are called."""

from __future__ import annotations

import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from bestleaf import best_arm, best_leaf, problems
from bestleaf.report import FIGURES, figure, report_html, save_report
from bestleaf.report.content import LONGEST, cards_of, columns_of, in_short, nearly_chosen, rows_of, sizes_of
from bestleaf.report.drawing import LogScale, Scale
from made import DIFFERENCES, NAMES, SIZES, chosen, new_rows, path_of, searched

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><b>", "a&b", "{{ 7*7 }}", "größe")
HOSTILE += ("[bold]x", "line\nbreak", "i", "j", "k", "l")


@pytest.fixture(scope="module")
def graph_search():
    return best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate


def test_the_first_screen_is_the_answer_in_three_cards():
    columns, score, difference = cards_of(chosen())
    assert (columns.value, columns.chips) == ("4 of 12", NAMES[:4])
    assert (score.value, score.badge, score.interval) == ("0.912", "estimate", "from 0.890 to 0.934")
    assert "ridge 0.920" in score.lines[0]
    assert difference.value == "+0.009"
    assert difference.badge in ("better", "same", "worse", "open")
    page = report_html(chosen())
    places = [page.index(words) for words in ("Score on new rows", "<svg", "The chosen columns", "What is proved")]
    assert places == sorted(places)
    assert "closest rivals" not in page  # nothing was searched


def test_what_is_proved_is_told_from_an_estimate():
    claim = new_rows(interval=(0.88, 0.94), difference_interval=(0.001, 0.02), how="test rows", delta=0.05, rows=500)
    _, score, difference = cards_of(chosen(new_rows=claim))
    assert (score.badge, score.interval) == ("proved", "from 0.880 to 0.940")
    assert "500 test rows" in score.lines[0]
    assert (difference.badge, difference.interval) == ("better", "from +0.001 to +0.020")


def test_a_size_that_was_asked_for_has_the_scores_of_the_folds():
    asked = chosen(size=2, new_rows=None, path=path_of(size=2, asked=True))
    _, score, difference = cards_of(asked)
    assert (score.title, score.value, difference.value) == ("Score in cross-validation", "0.869", "-0.031")
    assert "estimate" in report_html(asked)


def test_a_choice_that_ended_at_once_has_no_score():
    every = replace(path_of().rows[-1], judges=(), standard_error=None)
    path = path_of(rows=(every,), size=12, judges=(), folds=0, chosen_in_folds={})
    page = report_html(found := chosen(size=12, path=path, new_rows=None, reason="interrupted"))
    assert [card.value for card in cards_of(found)] == ["12 of 12", "not known"]
    assert "The chosen columns" not in page


def test_a_search_on_the_rows_given_says_so():
    found = searched()
    _, value, difference = cards_of(found)
    assert (value.title, value.value, value.badge) == ("Value on the rows given", "0.930", "exact")
    assert difference.value == "+0.030"
    assert [(one.name, one.without) for one in columns_of(found)] == [("age", 0.74), ("income", 0.81)]
    page = report_html(found)
    assert "Not a score on new rows" in page
    assert page.index("What is proved") < page.index("The search: the answer and its closest rivals")
    assert "chosen in the folds" not in page


def test_any_search_has_a_page(graph_search):
    assert "Best leaf" in report_html(graph_search)
    assert "Best move" in report_html(best_arm(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate)
    assert "The chosen columns" not in report_html(graph_search)


def test_every_size_tells_its_columns_below_the_pointer_and_by_a_click():
    page = report_html(chosen())
    for size, difference in zip(SIZES, DIFFERENCES, strict=True):
        assert page.count(f'href="#size-{size}"') == page.count(f'id="size-{size}"') == 1
        told = next(one for one in sizes_of(path_of()) if one.size == size)
        assert told.names == ", ".join(NAMES[:size])
        assert f"{difference:+.4f}" in told.words or size == len(NAMES)
    titles = [
        node.text for node in ElementTree.fromstring(figure(chosen(), "path")).iter() if node.tag.endswith("}title")
    ]
    assert titles[4] == "4 columns (chosen): +0.0110 ± 0.0040 to all columns\nage, income, tenure, city"


def test_columns_that_folds_chose_and_the_answer_did_not_are_named():
    assert nearly_chosen(chosen(size=2, path=path_of(size=2))) == ["tenure (74%)", "city (61%)"]
    assert [one.share for one in columns_of(chosen(size=2))] == [1.0, pytest.approx(0.87)]


def test_names_of_columns_are_text():
    page = report_html(chosen(HOSTILE), title="Trial & error")
    before, data, ours = re.split(r"<(?=script\b)", page)
    assert data.startswith('script type="application/json" id="certificate">{')
    assert data.count("<") == 1, "its end"
    assert ours.startswith("script>// A second reader")
    digest = b64encode(sha256(ours.partition(">")[2].partition("</script>")[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page, "no other script runs"
    page = before
    assert not re.search(r"<(script|img|link|iframe)\b|<[^>]*\s(on\w+|src)=", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "{{ 7*7 }}" in page
    assert "Trial &amp; error" in page
    assert "://" not in page.replace("http://www.w3.org", "")


def test_only_a_certificate_has_a_page_and_it_is_written_whole(tmp_path):
    with pytest.raises(TypeError, match="certificate must be a Certificate, got a str"):
        report_html("found.json")
    save_report(chosen(), tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == report_html(chosen())


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_that_of_the_page_with_its_colours(name):
    class Fitted:
        certificate_ = chosen() if name == "path" else searched()

    drawn = figure(Fitted(), name)
    assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
    assert not re.search(r"var\(|None|nan", drawn)
    assert re.sub("<style>.*?</style>", "", drawn, flags=re.DOTALL) in report_html(Fitted.certificate_)
    assert drawn._repr_html_() == drawn
    rules = re.search("<style>(.*?)</style>", drawn, re.DOTALL)[1]
    assert all(one.strip().startswith(".bestleaf") for one in re.findall(r"([^{}]+)\{[^}]*\}", rules))


def test_a_figure_that_is_not_there_is_refused(graph_search):
    with pytest.raises(ValueError, match=r"found must have scores by size, .* for the figure 'path', got none"):
        figure(graph_search, "path")
    with pytest.raises(ValueError, match=r"found must have a search, .* for the figure 'intervals', got none"):
        figure(chosen(), "intervals")
    with pytest.raises(ValueError, match="name must be one of path, intervals, got 'graph'"):
        figure(chosen(), "graph")
    with pytest.raises(TypeError, match="found must be a fitted selector or a Certificate, got a str"):
        figure("found.json", "path")


def test_unfinished_subsets_and_long_names_are_shortened_beside_the_plot():
    first, *_ = rows = rows_of(searched(("a" * 30, "b" * 30, "c")))
    assert first.is_answer
    assert first.name == "{" + "a" * 30 + ", " + "b" * 30 + "}"
    assert all(len(row.short) <= LONGEST for row in rows)
    claim = searched().search
    open_leaf = replace(claim.leaves[0], node=1, terminal=False)
    assert rows_of(searched(search=replace(claim, leaves=(open_leaf, *claim.leaves[1:]))))[1].name == "{age, …}"
    assert in_short("short") == "short"


def test_scales_have_round_numbers():
    for low, high, ticks in (
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.912, 0.934, [0.915, 0.92, 0.925, 0.93]),
        (-0.1, 0.1, [-0.1, -0.05, 0.0, 0.05, 0.1]),
        (3.0, 3.0, [3.0]),
    ):
        assert Scale(low, high, 0.0, 1.0).ticks() == pytest.approx(ticks)
    assert len(Scale(1e16, 1e16 + 2, 0.0, 1.0).ticks()) < 20  # numbers that hardly differ
    assert LogScale(1, 1000, 0.0, 3.0)(10) == pytest.approx(1.0)
    assert LogScale(1, 1000, 0.0, 3.0).ticks()[-2:] == [500.0, 1000.0]


def in_a_browser(page):
    """Return the page as a browser shows it."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=500"]
    where = [f"--user-data-dir={page.parent / 'profile'}", "--dump-dom", page.as_uri()]
    end = subprocess.run(["chromium", *flags, *where], capture_output=True, text=True, timeout=120, check=False)
    return end.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium")
def test_a_browser_loads_nothing_else_and_checks_the_certificate(tmp_path):
    save_report(chosen(HOSTILE), tmp_path / "page.html")
    shown = in_a_browser(tmp_path / "page.html")
    assert shown.count('class="card"') == 3
    assert shown.count("<script") == 2, "the certificate and its check"
    assert "Checked in your browser: this certificate " in shown
    save_report(best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate, tmp_path / "page.html")
    shown = in_a_browser(tmp_path / "page.html")
    assert "Checked in your browser: this certificate holds." in shown
    assert "<li>edges, labels and players of the graph</li>" in shown
