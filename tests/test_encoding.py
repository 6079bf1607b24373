"""Columns of any kind become numbers, by what the rows of `fit` teach and nothing else."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from bestleaf import TableEncoder
from bestleaf.columns import EncodedRows, pandas_frame

ROWS = 40
ONE = pd.DataFrame({"a": [1.0]})


@parametrize_with_checks([TableEncoder()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def fitted(column, **settings):
    return TableEncoder(**settings).fit(pd.DataFrame({"a": column, "b": np.arange(len(column)) / 2}))


def made(column, **settings):
    return fitted(column, **settings).groups_["a"]


# ---- dates

DAYS = pd.date_range("2020-12-30 22:00", periods=ROWS, freq="13h")
WRITTEN = {
    "dates": DAYS,
    "days of Python": [one.date() for one in DAYS],
    "a time zone": DAYS.tz_localize("Europe/Berlin"),
    "ISO": DAYS.strftime("%Y-%m-%dT%H:%M:%S"),
    "German": DAYS.strftime("%d.%m.%Y %H:%M"),
    "American": DAYS.strftime("%m/%d/%Y %H:%M"),
    "British": DAYS.strftime("%d/%m/%Y %H:%M"),
    "month in letters": DAYS.strftime("%d %b %Y"),
}


@pytest.mark.parametrize("way", WRITTEN)
def test_dates_in_any_form_are_the_same_numbers(way):
    without_hours = way in ("days of Python", "month in letters")
    times = DAYS.normalize() if without_hours else DAYS
    encoder = fitted(WRITTEN[way])
    parts = ["year", "month", "day of week", "day of year", "hour"][: 4 if without_hours else 5]
    assert encoder.levels_ == {"a": parts}
    assert encoder.groups_["a"] == [f"a.{part}" for part in parts]
    found = encoder.transform(pd.DataFrame({"a": WRITTEN[way], "b": 0.0}))
    right = [times.year, times.month, times.day_of_week, times.day_of_year, times.hour][: len(parts)]
    assert found[:, : len(parts)].T.tolist() == [list(map(float, one)) for one in right]
    number = fitted(WRITTEN[way], dates="number")
    assert number.groups_["a"] == ["a"]
    days = number.transform(pd.DataFrame({"a": WRITTEN[way], "b": 0.0}))[:, 0]
    seconds = 86_400 if without_hours else 60  # some of these texts have no seconds, or no hours
    assert days * 86_400 == pytest.approx((times - pd.Timestamp("1970-01-01")).total_seconds(), abs=seconds / 2)
    dropped = fitted(WRITTEN[way], dates="drop")
    assert (dropped.groups_["a"], dropped.left_out_) == ([], {"a": "dates are dropped"})


def test_only_parts_that_vary_are_taken_and_a_date_that_never_changes_is_one_number():
    assert made(pd.date_range("2020-01-01", periods=28)) == ["a.day of week", "a.day of year"]
    assert made([dt.datetime(2020, 1, 1, 12, minute) for minute in range(30)]) == ["a"]


def test_dates_of_different_zones_in_text_are_times_of_utc():
    texts = ["2020-01-01T00:30:00+02:00", "2020-01-01T12:00:00Z"] * 10
    found = fitted(texts).transform(pd.DataFrame({"a": texts, "b": 0.0}))
    assert fitted(texts).levels_["a"] == ["year", "month", "day of week", "day of year", "hour"]
    assert found[0, [0, 4]].tolist() == [2019, 22]


@pytest.mark.parametrize(
    "texts", ["1.2.3 1.2.4", "10.0.0.1 10.0.0.2", "12:30 13:40", "June May", "2020 n", "13/13/2020"]
)
def test_texts_that_only_look_a_little_like_dates_are_categories(texts):
    assert made(texts.split() * 10) == [f"a={one}" for one in texts.split()]


def test_day_and_month_stay_as_they_were_in_fit():
    encoder = fitted(["1/2/2020", "25/12/2021"] * 10)
    found = encoder.transform(pd.DataFrame({"a": ["3/4/2020"], "b": 0.0}))
    assert found[0, encoder.levels_["a"].index("month")] == 4


def test_missing_dates_are_filled_or_kept_and_lengths_of_time_are_days():
    days = pd.Series(pd.date_range("2020", periods=30, freq="50D")).mask(np.arange(30) == 3)
    assert not np.isnan(fitted(days).transform(pd.DataFrame({"a": days, "b": 0.0}))).any()
    kept = fitted(days, impute="keep").transform(pd.DataFrame({"a": days, "b": 0.0}))
    assert np.isnan(kept).any(axis=1).tolist() == [row == 3 for row in range(30)]
    lengths = fitted([dt.timedelta(hours=hour) for hour in range(24)])
    assert lengths.transform(pd.DataFrame({"a": [dt.timedelta(days=2)], "b": 0.0}))[0, 0] == 2
    times = [dt.time(hour, 30) for hour in range(24)]
    assert fitted(times).transform(pd.DataFrame({"a": times, "b": 0.0}))[12, 0] == pytest.approx(12.5 / 24)


# ---- numbers with odd cells


def test_a_few_odd_cells_are_missing_values_and_named():
    column = [str(number / 4) for number in range(ROWS)]
    column[6], column[30], column[31] = "n.a.", "?", "?"
    frame = pd.DataFrame({"price": column})
    told = r"3 cells are no numbers: 'n.a.' in row 7, '\?' in row 31"
    with pytest.warns(UserWarning, match=f"column 'price': {told}; such"):
        encoder = TableEncoder().fit(frame)
    assert encoder.groups_ == {"price": ["price"]}
    known = [number / 4 for number in range(ROWS) if number not in (6, 30, 31)]
    assert encoder.transform(frame)[[6, 30], 0].tolist() == [np.median(known)] * 2
    with pytest.raises(ValueError, match=rf"no missing values, got some in the columns 'price' \({told}"):
        TableEncoder(impute=None).fit(frame)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["0", "1", "2", "0", "1", "2", "1", "0", "2", "1"] * 4 + ["3+"] * 4, "category"),  # a level like the others
        (["1", "2", "3", "4", "5"] * 8 + ["?"] * 4, "number"),
        ([str(one) for one in range(ROWS)] + ["12a", "12a"], "number"),
        ([str(one) for one in range(20)] + ["u", "v", "w"] * 5, "category"),  # too many are odd
        (["01", "02", "03"] * 10, "category"),  # codes
        (["1.5", "2.5", "3"] * 10, "number"),
        (pd.Series([1, 2, 3.5, 7] * 10 + ["none"], dtype=object), "number"),
        (pd.Categorical(["1", "2"] * 10), "category"),
        ([Decimal(one) for one in range(30)], "number"),
        ([True, None] * 10, "category"),
        (["$5", "€5", "5"] * 10, "category"),  # of different currencies
        (pd.array([True, None] * 10, "boolean"), "number"),
    ],
)
def test_numbers_stay_numbers_and_categories_categories(column, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (made(column) == ["a"]) == (kind == "number")


NUMBERS = [  # cells and the numbers that they are
    (["12,34", "5,1", "7"], [12.34, 5.1, 7]),
    (["1.234,56", "12,1", "-3,5"], [1234.56, 12.1, -3.5]),
    (["12 %", "3%", "4,5 %"], [12, 3, 4.5]),
    (["€ 5", "€ 6,50", "-€ 1.234"], [5, 6.5, -1234]),
    (["$1,234", "$5", "$ 7.50"], [1234, 5, 7.5]),
    (["1,234", "5,678", "9,100"], [1234, 5678, 9100]),
    (["0,123", "1,234", "2,345"], [0.123, 1.234, 2.345]),
    (["1'234 CHF", "5 CHF"], [1234, 5]),
]


@pytest.mark.parametrize(("cells", "numbers"), NUMBERS, ids=lambda one: str(one[0]))
def test_numbers_are_read_as_people_write_them(cells, numbers):
    encoder = TableEncoder().fit(pd.DataFrame({"a": cells * 3}))
    assert encoder.transform(pd.DataFrame({"a": cells}))[:, 0].tolist() == numbers
    assert f"is {numbers[0]:g}" in encoder.notes_[0]
    assert encoder.transform(pd.DataFrame({"a": [2.5]})).tolist() == [[2.5]]


# ---- categories


def test_levels_that_fit_has_not_seen_are_zeros():
    assert made(["u"] * 30) == ["a=u"]
    encoder = fitted(["u", "v", None] * 5)
    assert encoder.levels_ == {"a": ["(missing)", "u", "v"]}
    found = encoder.transform(pd.DataFrame({"a": ["v", "new", None], "b": 0.0}))
    assert found[:, :3].tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ([None] * 30, "it has no value at all"),
        ([np.nan] * 30, "it has no value at all"),
        ([f"name {number}" for number in range(30)], "every row has a text of its own"),
        ([f"name {number}" for number in range(1001)] * 2, "it has 1,001 different texts, more than 1,000"),
    ],
)
def test_columns_that_no_search_can_use_are_left_out(column, why):
    encoder = fitted(column)
    assert encoder.left_out_ == {"a": why}
    assert encoder.notes_ == (f"a: left out, because {why}",)
    assert encoder.transform(pd.DataFrame({"a": column, "b": 1.0})).shape == (len(column), 1)


@pytest.mark.parametrize(
    ("column", "note"),
    [
        (["0", "1", "2"] * 10 + ["3+"] * 10, "a: 4 categories"),
        (["u", "v", *[None] * 28], "a: 3 categories, 28 missing values as one of their own"),
        ([f"{number:04}x" for number in range(1000)] * 2, "a: 1,000 categories"),
    ],
)
def test_categories_are_told(column, note):
    assert fitted(column).notes_ == (note,)


# ---- what is learned from some rows only


@pytest.mark.parametrize("seed", range(2))
def test_what_is_learned_does_not_depend_on_other_rows(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=30), "c": rng.choice(list("uvwxyz"), 30), "d": rng.normal(size=30)})
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    some = np.sort(rng.choice(30, 15, replace=False))
    other = frame.copy()
    outside = np.setdiff1d(np.arange(30), some)
    other.loc[outside, ["a", "d"]] = 1e6
    here, there = (EncodedRows.of(TableEncoder(), one).learned_from(some)[some] for one in (frame, other))
    assert np.array_equal(here, there)
    alone = TableEncoder().fit(frame.iloc[some])
    mine = alone.transform(frame.iloc[some])
    levels = TableEncoder().fit(frame).get_feature_names_out().tolist()
    same = [levels.index(name) for name in alone.get_feature_names_out()]
    assert np.array_equal(here[:, same], mine)
    assert not np.delete(here, same, axis=1).any()  # levels that these rows do not have


# ---- frames of other libraries


def ugly():
    """Return a table with columns of all kinds, as dictionaries of lists."""
    return {
        "number": [1, 2, None, 4] * 6,
        "text": ["u", None, "v", "u"] * 6,
        "truth": [True, False, None, True] * 6,
        "day": [dt.date(2020 + year, 1, 5) for year in range(24)],
        "moment": [dt.datetime(2020, 1, 1, hour, tzinfo=dt.UTC) for hour in range(24)],
        "empty": [None] * 24,
    }


def test_polars_and_pyarrow_give_the_numbers_of_pandas():
    import pyarrow as pa

    cells = ugly()
    categories = cells["text"]
    frames = [
        pd.DataFrame(cells).assign(level=pd.Categorical(categories)),
        pl.DataFrame(cells).with_columns(pl.Series("level", categories, dtype=pl.Categorical)),
        pa.table({**cells, "level": categories}),
    ]
    encoders = [TableEncoder().fit(frame) for frame in frames]
    assert len({str(encoder.groups_) for encoder in encoders}) == 1
    found = [encoder.transform(frame) for encoder, frame in zip(encoders, frames, strict=True)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert encoders[0].notes_ == encoders[1].notes_


def test_arrays_lists_and_sparse_matrices_are_tables_too():
    assert TableEncoder().fit([["u", 1.5], ["v", None]]).groups_ == {"x0": ["x0=u", "x0=v"], "x1": ["x1"]}
    assert TableEncoder().fit(np.array([["u", "1"], ["v", "2"]])).groups_["x1"] == ["x1"]
    assert TableEncoder().fit_transform(sparse.eye_array(3).tocsr()).tolist() == np.eye(3).tolist()
    assert list(pandas_frame(pd.DataFrame({1: [2], 2: [3]}))) == ["x0", "x1"]


@pytest.mark.parametrize(
    ("X", "settings", "sentence"),
    [
        (pd.DataFrame(), {}, r"rows and columns, got 0 sample\(s\) and 0 feature"),
        (pd.DataFrame({"a": []}), {}, r"got 0 sample\(s\) and 1 feature"),
        (
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            {},
            r"different name for every column, got \['a'\] more than once",
        ),
        (pl.DataFrame({"a": [1]}).lazy(), {}, r"\(a lazy one must be collected first\), got 'LazyFrame'"),
        (ONE, {"impute": "zero"}, "impute must be one of median, mean, most_frequent, keep, got 'zero'"),
        (ONE, {"dates": "weeks"}, "dates must be one of parts, number, drop, got 'weeks'"),
    ],
)
def test_what_cannot_be_encoded_is_refused_in_a_sentence(X, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableEncoder(**settings).fit(X)


def test_many_columns_of_categories_are_told_in_one_line():
    frame = pd.DataFrame({f"c{number}": list("abcab") * 4 for number in range(7)})
    assert TableEncoder().fit(frame).notes_ == (
        "7 columns are categories: " + ", ".join(f"c{number} (3)" for number in range(7)),
    )
    assert TableEncoder().fit(frame.iloc[:, :2]).notes_ == ("c0: 3 categories", "c1: 3 categories")


def test_many_columns_of_numbers_written_as_text_are_told_in_one_line():
    frame = pd.DataFrame({f"c{number}": ["1,5", "2,25", "3,0"] * 4 for number in range(7)})
    names = ", ".join(f"c{number}" for number in range(7))
    assert TableEncoder().fit(frame).notes_ == (f"7 columns: numbers written as text: {names}",)
    assert "'1,5' is 1.5" in TableEncoder().fit(frame[["c0"]]).notes_[0]
