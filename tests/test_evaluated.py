"""`evaluated_`: many subsets, few lines."""

from __future__ import annotations

import pickle

import pytest

from bestleaf.selection import EvaluatedSubset, EvaluatedSubsets


@pytest.fixture(scope="module")
def many():
    subsets = (EvaluatedSubset((f"<b>{n}", "x"), 1 - n / 2000, 2) for n in range(1500))
    return EvaluatedSubsets([*subsets, EvaluatedSubset(tuple(range(40)), 0.1, 40)])


def test_only_the_ten_best_are_printed(many):
    for text in (str(many), repr(many)):
        lines = text.splitlines()
        assert lines[0] == "1.0000  <b>0, x"
        assert len(lines) == 11
        assert lines[-1] == "and 1,491 more"
    assert str(EvaluatedSubsets(many[:2])) == "1.0000  <b>0, x\n0.9995  <b>1, x"
    assert repr(EvaluatedSubsets()) == "no subset was evaluated"


def test_a_long_subset_is_one_short_line(many):
    assert len(str(EvaluatedSubsets(many[-1:]))) < 100


def test_a_notebook_shows_a_small_table_of_text(many):
    page = many._repr_html_()
    assert page.count("<tr>") == 11
    assert "&lt;b&gt;0" in page
    assert "<b>0" not in page
    assert "and 1,491 more" in page
    assert "more" not in EvaluatedSubsets(many[:10])._repr_html_()


def test_all_of_them_as_a_frame(many):
    frame = many.to_frame()
    assert list(frame.columns) == ["features", "score", "size"]
    assert len(frame) == 1501
    assert frame["features"][0] == ("<b>0", "x")
    assert EvaluatedSubsets().to_frame().shape == (0, 3)


def test_it_stays_a_tuple(many):
    again = pickle.loads(pickle.dumps(many))
    assert again == many
    assert isinstance(again, EvaluatedSubsets)
    assert list(many.by_size()) == [2, 40]
