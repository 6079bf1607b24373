"""What a notebook shows: the diagram of a selector, its certificate, and a few of many subsets."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from bestleaf import BestLeafSelector
from bestleaf.selection.views import EvaluatedSubset, EvaluatedSubsets


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["<b>a", "b", "c"])
    return BestLeafSelector(choose="training", random_state=0).fit(X, X["<b>a"] > 0)


def test_before_fit_a_notebook_shows_the_diagram_only():
    selector = BestLeafSelector(choose="training", random_state=0)
    for page in (selector._repr_html_(), selector._repr_mimebundle_()["text/html"]):
        assert "sk-estimator" in page
        assert "bestleaf-certificate" not in page


def test_after_fit_a_notebook_shows_the_certificate_below_the_diagram(fitted):
    bundle = fitted._repr_mimebundle_()
    assert bundle["text/plain"] == repr(fitted)
    for page in (fitted._repr_html_(), bundle["text/html"]):
        diagram, _, below = page.partition('<div class="bestleaf-certificate">')
        assert "sk-estimator" in diagram
        assert "&lt;b&gt;a" in below
        assert "<b>a" not in below
        assert "Not proved" in below
    assert "bestleaf-certificate" not in clone(fitted)._repr_html_()


def test_text_is_text_and_pipelines_show_their_own_diagram(fitted):
    with config_context(display="text"):
        assert "text/html" not in fitted._repr_mimebundle_()
        assert not hasattr(fitted, "_repr_html_")
    assert "bestleaf-certificate" not in make_pipeline(fitted)._repr_html_()


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
    assert len(str(EvaluatedSubsets(many[-1:]))) < 100  # a long subset is one short line


def test_all_of_them_are_a_frame_and_a_tuple(many):
    frame = pd.DataFrame(many)
    assert list(frame.columns) == ["features", "score", "size"]
    assert len(frame) == 1501
    assert frame["features"][0] == ("<b>0", "x")
    again = pickle.loads(pickle.dumps(many))
    assert again == many
    assert isinstance(again, EvaluatedSubsets)
    assert list(many.by_size()) == [2, 40]
