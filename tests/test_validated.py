"""`validate`: what test rows of one's own say of a fitted selector, what is refused, and claims that are wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bestleaf import BestLeafSelector, NeighbourVotes, validate, verify

VOTES = NeighbourVotes()


def table(rows, seed=0, columns=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=rows) > 0).astype(int)


X, Y = table(160)
NEW_X, NEW_Y = table(120, seed=1)
FRAME, NEW_FRAME = (pd.DataFrame(one, columns=list("abcde")) for one in (X, NEW_X))


def fitted(estimator=VOTES, X=X, y=Y, **settings):
    return BestLeafSelector(estimator, random_state=0, **settings).fit(X, y)


@pytest.fixture(scope="module")
def selector():
    return fitted(X=FRAME)


def test_the_score_is_that_of_a_model_fitted_to_the_rows_of_the_fit(selector):
    found = validate(selector, NEW_FRAME, NEW_Y, delta=0.1)
    model = make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(X[:, selector.support_], Y)
    score = roc_auc_score(NEW_Y, model.predict_proba(NEW_X[:, selector.support_])[:, 1])
    assert found.score == pytest.approx(score)
    assert found.interval[0] < score < found.interval[1]
    low, high = found.difference_interval
    assert low < found.difference < high
    assert found.claim.how == "given rows"
    assert found.claim.delta == 0.1
    assert (found.claim.rows, found.claim.trained) == (120, 160)
    assert str(found).startswith(f"Columns ({selector.n_features_} of 5): ")
    assert "With probability 0.9, the AUC with " in str(found)
    assert "drawn like the 120 test rows handed in." in str(found)


def test_the_certificate_holds_and_the_selector_keeps_its_own(selector):
    found = validate(selector, NEW_FRAME, NEW_Y)
    assert found.certificate.new_rows == found.claim
    assert selector.certificate_.new_rows != found.claim
    verdict = verify(found.certificate, FRAME, Y)
    assert verdict
    assert "were handed in after the fit and are not among these data" in str(verdict)


def test_a_search_on_the_rows_given_can_be_judged_too():
    searched = fitted(choose="training", epsilon=0.1)
    found = validate(searched, NEW_X, NEW_Y)
    assert found.claim.table is not None
    assert verify(found.certificate, X, Y)
    assert found.certificate.search == searched.certificate_.search


def test_rows_of_the_fit_prove_nothing_and_are_refused(selector):
    with pytest.raises(ValueError, match="X_test must not have rows of the fit, got 160 of 160 that are among them"):
        validate(selector, FRAME, Y)
    mixed, targets = pd.concat([NEW_FRAME, FRAME[:10]]), np.concatenate([NEW_Y, Y[:10]])
    with pytest.raises(ValueError, match="got 10 of 130"):
        validate(selector, mixed, targets)


def test_rows_that_equal_others_by_chance_are_fine():
    rng = np.random.default_rng(0)
    coarse, new = (rng.integers(0, 3, (300, 3)).astype(float) for _ in range(2))
    y, new_y = ((one[:, 0] + rng.integers(0, 2, 300) > 1).astype(int) for one in (coarse, new))
    assert validate(fitted(X=coarse, y=y), new, new_y).claim.table is not None


def test_groups_and_weights_have_an_estimate_and_no_proof(selector):
    for metadata, words in (
        ({"groups": np.arange(120) // 4}, "because rows of a group depend on each other"),
        ({"sample_weight": np.arange(120.0)}, "because rows have weights"),
    ):
        found = validate(selector, NEW_FRAME, NEW_Y, **metadata)
        assert found.claim.table is None
        assert found.interval[0] < found.score < found.interval[1]
        assert words in str(found)
    grouped = BestLeafSelector(VOTES, random_state=0).fit(X, Y, groups=np.arange(160) // 4)
    assert validate(grouped, NEW_X, NEW_Y).claim.why_no_proof == "groups"


def accuracy(model, X, y):
    """Score like no other: it has the name of a scorer of scikit-learn."""
    return 100 * float(np.mean(model.predict(X) == y))


def r2(model, X, y):
    return -float(np.mean((model.predict(X) - y) ** 2))


def test_a_scorer_of_the_users_own_is_not_taken_for_one_of_the_same_name():
    found = validate(fitted(LogisticRegression(), scoring=accuracy), NEW_X, NEW_Y)
    assert found.claim.why_no_proof == "scoring"
    assert found.claim.guessing is None
    assert found.score > 50
    assert "there is no proof for this score" in str(found)
    assert "own_accuracy" in str(found)


@pytest.mark.parametrize("scoring", [r2, "neg_mean_squared_error", "neg_max_error", None])
def test_no_range_of_scores_ends_a_fit(scoring):
    target, new = X[:, 0] * 300 + Y, NEW_X[:, 0] * 300 + NEW_Y
    found = validate(fitted(Ridge(), y=target, scoring=scoring), NEW_X, new)
    assert np.isfinite([found.score, found.difference]).all()
    assert (found.claim.table is None) == (scoring is not None or found.claim.why_no_proof is not None)


def test_claims_name_what_may_be_chosen():
    leak = np.column_stack([X, Y])
    found = validate(fitted(X=leak, exclude=[5]), np.column_stack([NEW_X, NEW_Y]), NEW_Y)
    assert "all 5 columns that may be chosen" in str(found)
    assert found.claim.all_columns < 1


def test_with_an_encoder_the_test_rows_are_encoded_as_those_of_the_fit():
    frame, new = (one.assign(kind=np.where(one.a > 0, "u", "v")) for one in (FRAME, NEW_FRAME))
    new.loc[0, "kind"], new.loc[:5, "b"], frame.loc[:5, "b"] = "w", np.nan, np.nan
    found = validate(fitted(X=frame, encode="auto"), new, NEW_Y)
    assert 0.5 < found.score < 1
    assert verify(found.certificate, frame, Y)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((NEW_X[:, :3], NEW_Y), r"X_test must have 5 columns, as X has, got shape \(120, 3\)"),
        ((NEW_X, NEW_Y[:9]), r"y_test must have one target for each of the 120 rows, got shape \(9,\)"),
        ((NEW_X, NEW_Y + 1), "y_test must have the classes of y only, got 2"),
        ((NEW_X, np.where(NEW_Y, "a", "b")), "y_test must have the classes of y only, got 'a'"),
        ((NEW_X, np.ones(120, int)), "y_test must have at least two different targets, got 1"),
        ((np.where(NEW_X > 2, np.nan, NEW_X), NEW_Y), r"X_test must not have missing values \(NaN\) or infinity"),
        ((np.full((120, 5), "a"), NEW_Y), "X_test must hold numbers only"),
        ((NEW_FRAME[list("abced")], NEW_Y), "X_test must have the columns of X in their order, got 'e' instead of 'd'"),
        ((NEW_X[:0], NEW_Y[:0]), "y_test must have at least two different targets, got 0"),
    ],
)
def test_rows_that_do_not_go_with_the_fit_are_refused(selector, given, told):
    with pytest.raises(ValueError, match=told):
        validate(selector, *given)


def test_what_is_no_argument_is_refused(selector):
    with pytest.raises(ValueError, match="delta must be strictly between 0 and 1, got 1"):
        validate(selector, NEW_FRAME, NEW_Y, delta=1)
    with pytest.raises(TypeError, match="selector must be a BestLeafSelector, got 3"):
        validate(3, X, Y)
    with pytest.raises(ValueError, match="selector must have the rows of its fit, which are not kept in a file"):
        validate(pickle.loads(pickle.dumps(selector)), NEW_FRAME, NEW_Y)


@pytest.mark.parametrize(
    ("again", "target"),
    [
        (X, Y.astype(float)),
        (X, Y.astype(bool)),
        (X.astype(np.float32), Y),
        (X * (1 + 1e-12), Y),
        (X[:40], Y[:40]),
    ],
)
@pytest.mark.filterwarnings("ignore:160 rows are copies")
@pytest.mark.parametrize("times", [1, 2])
def test_rows_of_the_fit_are_known_in_any_type_and_number(again, target, times):
    with pytest.raises(ValueError, match="X_test must not have rows of the fit"):
        validate(fitted(X=np.tile(X, (times, 1)), y=np.tile(Y, times), cv=3), again, target)


def test_copies_of_test_rows_prove_nothing_more(selector):
    with pytest.warns(UserWarning, match="240 rows of X_test are copies of others there"):
        found = validate(selector, pd.concat([NEW_FRAME] * 3), np.tile(NEW_Y, 3))
    assert found.claim.why_no_proof == "groups"


def test_the_fit_and_its_rows_must_be_those_of_the_answer():
    own = X.copy()
    found = fitted(X=own)
    with pytest.raises(ValueError, match="sample_weight must give more than"):
        validate(found, NEW_X, NEW_Y, sample_weight=np.zeros(120))
    own[:] = own[::-1]
    with pytest.raises(ValueError, match="they have changed since"):
        validate(found, NEW_X, NEW_Y)
    with pytest.raises(ValueError, match="selector must have the parameters of its fit"):
        validate(fitted().set_params(scoring="accuracy"), NEW_X, NEW_Y)
