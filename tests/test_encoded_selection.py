"""Frames of any kind in the selector: features are the user's columns, and folds learn from training rows only."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder

from bestleaf import BestLeafSelector, TableEncoder, verify
from bestleaf.columns import EncodedRows, encoder_for
from bestleaf.report import report_html
from selecting import bestleaf, made_selector, refused

pytestmark = pytest.mark.filterwarnings("ignore:X has columns")
ALONE = {"choose": "training", "random_state": 0, "epsilon": 0.1}


def shop(rows=90, seed=0):
    """Return a table in which age and city tell the class, with missing values, a date, an id and an empty column."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=rows),
            "city": rng.choice(["Oslo", "Rome", "Bonn"], rows),
            "noise": rng.normal(size=rows),
            "when": pd.date_range("2020", periods=rows, freq="9D"),
            "name": [f"person {number}" for number in range(rows)],
            "empty": None,
        }
    )
    y = ((frame.age > 0) ^ (frame.city == "Rome")).map({True: "yes", False: "no"}).to_numpy()
    frame.loc[::9, "age"] = np.nan
    frame.loc[::14, "city"] = None
    return frame, y


@pytest.fixture(scope="module")
def found():
    frame, y = shop()
    return made_selector(encode="auto", **ALONE).fit(frame, y)


def test_everything_speaks_of_the_columns_of_the_table(found):
    frame, _ = shop()
    assert found.subset_.tolist() == ["age", "city"]
    assert found.support_.tolist() == [True, True, False, False, False, False]
    assert found.get_feature_names_out().tolist() == ["age", "city"]
    assert found.n_features_in_ == len(found.feature_scores_) == 6
    assert found.evaluated_[0].features == ("age", "city")
    assert found.evaluated_.by_size()[2].size == 2
    assert found.levels_["city"] == ["(missing)", "Bonn", "Oslo", "Rome"]
    assert found.levels_["when"] == ["year", "month", "day of week", "day of year"]
    assert found.certificate_.features == ("age", "city")
    assert found.certificate_.summary().startswith("Selected 2 of 6 columns: age, city.")
    median = frame.age.median()
    assert found.notes_ == (
        f"age: 10 missing values filled with {median:g} (median)",
        "city: 4 categories, 7 missing values as one of their own",
        "when: a date, as year, month, day of week, day of year (dates: parts)",
        "name: left out, because every row has a text of its own",
        "empty: left out, because it has no value at all",
    )
    assert "city=Rome" not in report_html(found.certificate_)


def test_the_columns_of_the_frame_come_back_in_its_own_library(found):
    frame, y = shop()
    pd.testing.assert_frame_equal(found.transform(frame), frame[["age", "city"]])
    other = pl.from_pandas(frame.drop(columns="empty"))
    selector = made_selector(encode="auto", **ALONE).fit(other, y)
    assert selector.transform(other).equals(other[["age", "city"]])
    assert isinstance(clone(selector).set_output(transform="pandas").fit(other, y).transform(other), pd.DataFrame)
    selector.set_output(transform="polars")
    assert isinstance(selector.transform(frame.drop(columns="empty")), pl.DataFrame)
    with pytest.raises(ValueError, match="feature names should match"):
        found.transform(frame.drop(columns="noise"))


def test_the_certificate_is_checked_on_the_table_as_it_is(found):
    frame, y = shop()
    assert "exact values were computed again" in str(verify(found.certificate_, frame, y))
    assert verify(found.certificate_, pl.from_pandas(frame.drop(columns="empty")).with_columns(empty=None), y)
    for row, column, cell in ((1, "city", "Paris"), (1, "age", 7.0), (1, "when", pd.Timestamp("2001-01-01"))):
        other = frame.copy()
        other.loc[row, column] = cell
        assert "these are not the data the certificate is about" in str(verify(found.certificate_, other, y))
    assert "'age' has another name" in str(verify(found.certificate_, frame.rename(columns={"age": "old"}), y))


def test_grouped_columns_by_name():
    frame, y = shop()
    groups = {"both": ["age", "city"], "rest": ["when", "name"]}  # the others are groups of one
    grouped = made_selector(encode="auto", feature_groups=groups, **ALONE).fit(frame, y)
    assert grouped.certificate_.answer_in_words().startswith("Selected 1 of 5 columns: {age, city}.")
    assert grouped.subset_.tolist() == ["age", "city"]
    assert verify(grouped.certificate_, frame, y)
    with pytest.raises(ValueError, match="include must not have a column that is left out, got 'name': every row has"):
        made_selector(encode="auto", include=["name"], **ALONE).fit(frame, y)


def test_a_table_of_numbers_is_not_changed_by_encoding():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    y = (frame.a > 0).to_numpy()
    plain, encoded = (made_selector(encode=one, **ALONE).fit(frame, y) for one in (None, "auto"))
    assert encoded.encoder_ is None
    assert encoded.certificate_.data.encoding is None
    assert encoded.certificate_.data == plain.certificate_.data


# ---- folds


class Seen(GaussianNB):
    """Remembers what it was fitted to."""

    tables = []  # noqa: RUF012

    def fit(self, X, y):
        self.tables.append(X)
        return super().fit(X, y)


def test_a_fold_learns_from_its_training_rows_alone():
    frame, y = shop(60)
    columns, Seen.tables = frame[["age", "city"]], []
    selector = BestLeafSelector(Seen(), encode=TableEncoder("mean"), cv=3, random_state=0).fit(columns, y)
    assert selector.at_size(1).transform(columns).shape == (60, 1)
    known = set(frame.age.dropna())
    for table in Seen.tables:
        for column in table.T:
            if len(table) < 60 and len(set(column)) > 3:  # age in a fold
                filled = [value for value in column if value not in known]
                assert filled == pytest.approx([np.mean([value for value in column if value in known])] * len(filled))
                assert frame.age.mean() not in filled


# ---- missing values for estimators that take them


def test_missing_values_go_to_estimators_that_take_them():
    frame, y = shop(60)
    boosting = HistGradientBoostingClassifier(max_iter=3, random_state=0)
    settings = {**ALONE, "cv": 2, "max_samples": 30}
    found = made_selector(boosting, encode="auto", **settings).fit(frame[["age", "city"]], y)
    assert found.notes_[0] == "age: 7 missing values kept"
    assert found.certificate_.data.encoding.impute == "keep"
    numbers = frame[["age", "noise"]].to_numpy()
    assert made_selector(boosting, **settings).fit(numbers, y).support_.any()
    chosen = BestLeafSelector(boosting, cv=2, random_state=0).fit(numbers, y)
    assert chosen.path_ is not None
    filling = make_pipeline(SimpleImputer(), LogisticRegression())
    assert made_selector(filling, **settings).fit(numbers, y).support_.any()
    for strict in (None, LogisticRegression()):
        with pytest.raises(ValueError, match=r"found in columns \['x0'\]; encode='auto' fills them, or drop them"):
            BestLeafSelector(strict).fit(numbers, y)
    with pytest.raises(ValueError, match=r"estimator must take missing values if they are kept, .* \['age'\]; impute="):
        BestLeafSelector(encode=TableEncoder("keep")).fit(frame[["age", "city"]], y)
    with pytest.raises(ValueError, match="no missing values, got some in the columns 'age'; impute='median'"):
        BestLeafSelector(encode=TableEncoder(None)).fit(frame[["age", "city"]], y)


# ---- data of unusual form


def test_sparse_matrices_are_taken_if_they_fit_into_memory():
    X = sparse.random_array((40, 5), density=0.5, rng=np.random.default_rng(0), format="csr")
    y = X.toarray()[:, 0] > 0
    found = made_selector(**ALONE).fit(X, y)
    assert found.subset_.tolist() == [0]
    assert found.transform(X).shape == (40, 1)
    assert (found.support_ == made_selector(**ALONE).fit(X.toarray(), y).support_).all()
    with pytest.raises(ValueError, match="must fit into memory as an array, got a sparse matrix that takes 7,451 GB"):
        BestLeafSelector().fit(sparse.csr_array((10**6, 10**6)), np.arange(10**6) % 2)


TIMES = np.arange(40.0)
EVENTS = np.arange(40) % 3 == 0


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.stack([TIMES, -TIMES], 1), "one target .a 1d array., got 2 columns; select for each target in turn"),
        (pd.DataFrame({"time": TIMES, "event": EVENTS}), r"got 2 columns \['time', 'event'\]; select for each"),
        (np.array(list(zip(EVENTS, TIMES, strict=True)), [("event", bool), ("time", float)]), "got 2 columns"),
    ],
)
def test_several_targets_are_refused_with_advice(y, words):
    for encode in (None, "auto"):
        with pytest.raises(ValueError, match=words):
            BestLeafSelector(encode=encode).fit(np.random.default_rng(0).normal(size=(40, 3)), y)


def test_ids_leaks_of_two_columns_and_sums_are_warned_about_once():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 3)), columns=["paid", "owed", "noise"])
    frame = frame.assign(id=[f"u{number}" for number in range(120)], total=frame.paid + frame.noise)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        BestLeafSelector(encode="auto", **ALONE).fit(frame, frame.paid > frame.owed)
    told = [str(one.message) for one in caught if str(one.message).startswith("X has")]
    assert len(told) == 1
    for words in ("look like identifiers ['id']", "a leak ['paid - owed']", "sums of others ['total']"):
        assert words in told[0]


# ---- the command line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, y = shop(60)
    frame.assign(bought=y).to_csv("shop.csv", index=False)


COMMON = ("select", "shop.csv", "--target", "bought", "--certificate", "proof.json")


@pytest.mark.parametrize("choose", ["training", "new_data"])
@pytest.mark.slow
def test_verify_checks_what_the_command_line_made(folder, choose):
    code, _, said = bestleaf(*COMMON, "--impute", "median", "--missing", "Rome", "--choose", choose, "--n-jobs", "1")
    assert code in (0, 3), said
    code, shown, _ = bestleaf("verify", "proof.json", "--data", "shop.csv")
    assert code == 0, shown
    assert "computed again" in shown
    pd.read_csv("shop.csv").assign(noise=1.5).to_csv("shop.csv", index=False)
    code, shown, _ = bestleaf("verify", "proof.json", "--data", "shop.csv")
    assert code != 0
    assert "these are not the data the certificate is about" in shown


def test_dates_and_categories_on_the_command_line(folder):
    code, shown, said = bestleaf(*COMMON, "--impute", "median", "--choose", "training")
    assert code == 0, said
    assert "Selected 2 of 4 columns: age, city." in shown
    assert "=Rome" not in shown
    assert "--dates" in refused(*COMMON, "--dates", "weeks")


# ---- transformers of scikit-learn


def own_encoder():
    codes = make_column_transformer(
        (TargetEncoder(), ["city"]), (SimpleImputer(), ["age", "noise"]), verbose_feature_names_out=False
    )
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city"]),
        (SimpleImputer(), ["age", "noise"]),
    ), codes


@pytest.mark.parametrize("which", [0, 1])
def test_any_transformer_encodes_and_a_column_stays_one_column(which):
    frame, y = shop(120)
    frame = frame[["age", "noise", "city", "when"]]
    found = BestLeafSelector(encode=own_encoder()[which], n_features_to_select=2, random_state=0).fit(frame, y)
    assert found.support_.shape == (4,)
    assert not found.support_[3]
    assert found.encoder_.left_out_ == {"when": "the encoder drops it"}
    pd.testing.assert_frame_equal(found.transform(frame), frame.loc[:, found.support_])
    assert sorted(found.encoder_.owners_) == ([0, 1, 2, 2, 2, 2], [0, 1, 2])[which]
    again = BestLeafSelector(encode=own_encoder()[which], n_features_to_select=2, random_state=0).fit(frame, y)
    assert again.certificate_.new_rows == found.certificate_.new_rows
    assert verify(found.certificate_)
    assert "which verify cannot repeat" in report_html(found.certificate_)
    with pytest.raises(ValueError, match="X became numbers by ColumnTransformer, which cannot be repeated"):
        verify(found.certificate_, frame, y)


def test_folds_fit_a_transformer_to_their_training_rows():
    frame, y = pd.DataFrame({"a": list("uvw") * 20, "b": np.arange(60.0)}), np.arange(60) % 2
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["a"]), (StandardScaler(), ["b"]))
    rows = EncodedRows.of(encoder_for(encoder, None), frame, y)
    some = np.flatnonzero(frame.a != "w")
    found = rows.learned_from(some)
    assert rows.encoder.owners_ == [0, 0, 0, 1]
    assert found[:, 2].tolist() == [0] * 60  # no training row has this level
    assert found[some, 3].mean() == pytest.approx(0)
    targets = EncodedRows.of(encoder_for(TargetEncoder(), None), frame[["a"]], y).learned_from(some)
    assert len(np.unique(targets[some])) > 2  # training rows are encoded by other training rows
    assert len(np.unique(np.delete(targets, some))) == 1


@pytest.mark.parametrize(
    ("encoder", "names", "words"),
    [
        (PCA(1), ["a", "b"], "after one column of X, got 'pca0'; put such a transformer before the selector"),
        (FunctionTransformer(), ["a", "b"], r"names its columns \(get_feature_names_out\), got FunctionTransformer"),
        (OneHotEncoder(), ["a", "a_1.0"], r"got 'a_1.0_\d.0', which may be of 'a', 'a_1.0'; rename one of them"),
    ],
)
def test_transformers_whose_columns_belong_to_no_column_are_refused(encoder, names, words):
    frame = pd.DataFrame(np.arange(60.0).reshape(30, 2) % 3, columns=names)
    with pytest.raises(ValueError, match=words):
        BestLeafSelector(encode=encoder).fit(frame, np.arange(30) % 2)
