"""A selector in a notebook: the diagram of scikit-learn, and after fit the certificate below it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from bestleaf import BestLeafSelector


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
        assert "Not claimed" in below
    assert "bestleaf-certificate" not in clone(fitted)._repr_html_()


def test_text_is_text_and_pipelines_show_their_own_diagram(fitted):
    with config_context(display="text"):
        assert "text/html" not in fitted._repr_mimebundle_()
        assert not hasattr(fitted, "_repr_html_")
    assert "bestleaf-certificate" not in make_pipeline(fitted)._repr_html_()
