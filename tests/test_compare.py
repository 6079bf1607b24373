"""bestleaf compare: the same splits for all methods, paired differences, and methods that fail."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from math import isnan, nan

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import RFECV, SequentialFeatureSelector

import genuine
from bestleaf import NeighbourVotes, SearchOptions, cli
from bestleaf.certificate.held_out import corrected_error
from bestleaf.features.all_subsets import Exhaustion
from bestleaf.new_data import split_of
from bestleaf.tables import prepared
from bestleaf.tables.compare import Compared, compare, standings
from bestleaf.tables.peers import PEERS, Peer
from bestleaf.tables.select import named_estimator

QUICK = ["f-test", "forward"]


@pytest.fixture(scope="module")
def shop():
    return genuine.shop("[b]noise")


@pytest.fixture
def run(tmp_path, monkeypatch, shop, capsys):
    """Return a function that runs the command line beside `shop.csv`: its exit code, output and complaint."""
    monkeypatch.chdir(tmp_path)
    shop.to_csv("shop.csv", index=False)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["bestleaf", "compare", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        shown = capsys.readouterr()
        return end.value.code or 0, shown.out, shown.err

    return command


def test_all_methods_are_shown(run):
    code, shown, _ = run("shop.csv", "--target", "bought")
    assert code == 0
    methods = ("bestleaf", "forward selection", "RFECV", "F-test", "all features")
    for part in (*methods, "held-out", "difference", "[b]noise"):
        assert part in shown
    assert "±" not in shown  # one split says nothing of its error


def test_bestleaf_wins_where_features_act_together(shop):
    rows = {row.method: row for row in compare(prepared(shop, "bought"), random_state=1, peers=QUICK)}
    assert rows["bestleaf"].columns == ("age", "city")
    assert all(0 <= row.held_out <= 1 for row in rows.values())
    assert rows["all features"].columns == ("age", "city", "[b]noise")


def test_several_splits_have_standard_errors(run):
    code, shown, _ = run("shop.csv", "--target", "bought", "--splits", "2", "--peers", "f-test")
    assert code == 0
    assert "in each of 2 splits" in shown
    assert "±" in shown
    assert "forward selection" not in shown


def test_every_method_sees_the_same_rows(shop, monkeypatch):
    seen = []

    def spy(X, y, setting):
        seen.append((X.copy(), y.copy(), setting.seed))
        return np.ones(X.shape[1], bool)

    monkeypatch.setitem(PEERS, "f-test", Peer("first", spy))
    monkeypatch.setitem(PEERS, "rfecv", Peer("second", spy))
    table = prepared(shop, "bought")
    rows = list(compare(table, splits=2, peers=["f-test", "rfecv"], random_state=5))
    assert all(np.array_equal(seen[0][part], seen[1][part]) for part in (0, 1))
    assert not np.array_equal(seen[0][0], seen[2][0])
    assert [one[2] for one in seen] == [5, 5, 6, 6]
    assert {row.rows for row in rows} == {(90, 30)}
    assert set(Counter(row.method for row in rows).values()) == {2}
    by_method = {(row.method, row.split): row.held_out for row in rows}
    for split in (0, 1):  # the same columns have the same score
        assert by_method["first", split] == by_method["second", split] == by_method["all features", split]
    alone = [row for row in compare(table, peers=[], random_state=6) if row.method == "bestleaf"]
    assert alone[0].held_out == by_method["bestleaf", 1]


def test_standings_are_paired():
    def row(method, split, held_out, columns=("a",), note=""):
        return Compared(method, columns, held_out, 2.0, split, (75, 25), note)

    rows = [row("bestleaf", 0, 0.8), row("peer", 0, 0.7, ("a", "b")), row("bestleaf", 1, 0.6), row("peer", 1, 0.55)]
    rows += [row("bestleaf", 2, 0.7), row("peer", 2, nan, (), "failed: no")]
    ours, peer = standings(rows)
    assert ours.held_out == pytest.approx(0.7)
    assert ours.difference == 0
    assert ours.held_out_error == pytest.approx(0.1 * np.sqrt(1 / 3 + 1 / 3))
    assert peer.held_out == pytest.approx(0.625)
    assert peer.difference == pytest.approx(-0.075)  # not 0.625 - 0.7: only the splits that both have done
    assert peer.difference_error == pytest.approx(np.std([-0.1, -0.05], ddof=1) * np.sqrt(1 / 2 + 1 / 3))
    assert peer.features == 1.5
    assert peer.columns == {"a": 2, "b": 1}
    assert peer.notes == ("failed: no",)
    assert isnan(standings(rows[:2])[1].difference_error)


def test_the_corrected_error_of_splits_is_not_too_small():
    """The mean of five splits varies between tables about as much as its standard error says, not twice as much."""
    rng, means, errors = np.random.default_rng(0), [], []
    for _ in range(400):
        values = rng.normal(size=100)
        held_out = [values[rng.permutation(100)[:25]].mean() for _ in range(5)]
        means.append(np.mean(held_out))
        errors.append(corrected_error(held_out, [25] * 5, [75] * 5))
    # 400 tables know a standard deviation to 1 / sqrt(800) = 3.5%; four of these are 14%
    assert np.sqrt(np.mean(np.square(errors))) > 0.86 * np.std(means)


def test_a_peer_that_fails_does_not_end_the_comparison(run, monkeypatch):
    def broken(X, y, setting):
        raise RuntimeError("out of\nluck")

    monkeypatch.setitem(PEERS, "f-test", Peer("broken", broken))
    code, shown, _ = run("shop.csv", "--target", "bought", "--peers", "f-test", "--peers", "forward")
    assert code == 0
    assert "broken (failed: out of luck)" in shown
    assert "forward selection" in shown
    assert "nan" not in shown


def test_a_peer_that_selects_nothing_ranks_by_chance(shop, monkeypatch):
    monkeypatch.setitem(PEERS, "f-test", Peer("empty", lambda X, y, setting: np.zeros(X.shape[1], bool)))
    row = list(compare(prepared(shop, "bought"), peers=["f-test"]))[-1]
    assert (row.columns, row.held_out) == ((), 0.5)
    keywords = {"peers": ["f-test"], "choose": "training", "epsilon": 0.1, "search": SearchOptions(max_samples=20)}
    row = list(compare(prepared(shop, "bought"), estimator="linear", **keywords))[-1]
    shares = shop.bought.value_counts(normalize=True)
    assert row.columns == ()
    assert row.held_out == pytest.approx(shares.max(), abs=0.02)  # the accuracy of saying the same of all rows


def test_numbers_are_compared_by_ranks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    table = prepared(pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0] + X[:, 1]), "y")
    rows = {row.method: row for row in compare(table, peers=QUICK)}
    assert not any(row.note for row in rows.values())
    assert rows["bestleaf"].columns == rows["forward selection"].columns == ("a", "b")


def test_one_feature_and_numbers_as_classes(run):
    rng = np.random.default_rng(0)
    one = pd.DataFrame({"a": rng.normal(size=60)})
    one["y"] = np.where(one.a > 0, 0.5, 1.5)
    one.to_csv("one.csv", index=False)
    assert run("one.csv", "--target", "y", "--task", "classification")[0] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--holdout", "1"], "--holdout must be strictly between 0 and 1"),
        (["--splits", "0"], "--splits"),
        (["--peers", "luck"], "--peers must be one of f-test, forward, rfecv, boruta, got 'luck'"),
        (["--peers", "absent"], "--peers must be installed, got 'absent', which needs the module no_such_module"),
    ],
)
def test_options_that_cannot_be_used(run, monkeypatch, options, words):
    if "absent" in options:
        monkeypatch.setitem(PEERS, "absent", Peer("absent", PEERS["f-test"].select, "no_such_module"))
    code, _, said = run("shop.csv", "--target", "bought", *options)
    assert code == 2
    assert words in said
    assert said.count("\n") == 1


def test_a_file_that_is_missing(run):
    assert run("missing.csv", "--target", "bought")[0] == 2


def test_splits_must_be_a_whole_number(shop):
    with pytest.raises(TypeError, match=r"splits must be a whole number of at least 1, got 1\.5"):
        next(compare(prepared(shop, "bought"), splits=1.5))


@pytest.mark.parametrize(
    ("owner", "name", "rows"),
    [
        (Exhaustion, "_slice", ["bestleaf (interrupted)"]),
        (SequentialFeatureSelector, "fit", ["bestleaf", "all features", "F-test"]),
        (RFECV, "fit", ["bestleaf", "all features", "F-test", "forward selection"]),
    ],
)
def test_ctrl_c_keeps_the_rows_so_far(run, monkeypatch, owner, name, rows):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(60, 15)), columns=[f"c{number}" for number in range(15)])
    wide.assign(y=rng.integers(0, 2, 60)).to_csv("wide.csv", index=False)
    real, calls = getattr(owner, name), []

    def interrupted(*arguments, **keywords):
        calls.append(arguments)
        if len(calls) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return real(*arguments, **keywords)

    monkeypatch.setattr(owner, name, interrupted)
    code, shown, _ = run("wide.csv", "--target", "y", "--epsilon", "0", "--max-time", "3")
    assert code == 130
    methods = ["bestleaf", "all features", "F-test", "forward selection", "RFECV "]
    table = shown[: shown.index("held-out: AUC")]
    assert all(row in table for row in rows)
    assert not any(method in table for method in methods[len(rows) :])


def test_a_category_is_selected_as_a_whole(shop, monkeypatch):
    monkeypatch.setitem(PEERS, "f-test", Peer("one level", lambda X, y, setting: np.arange(X.shape[1]) == 2))
    table = prepared(shop, "bought")
    assert len(table.groups["city"]) > 1
    row = list(compare(table, peers=["f-test"], choose="training", epsilon=0.1))[-1]
    assert row.columns == ("city",)


def test_all_methods_are_judged_by_the_estimator(run, shop):
    settings = {"choose": "training", "epsilon": 0.1, "peers": ["f-test"], "search": SearchOptions(max_samples=20)}
    table = prepared(shop, "bought")
    rows = {row.method: row for row in compare(table, estimator="linear", **settings)}
    model, seed = named_estimator("linear", "classification"), 0
    kept, aside = split_of(0.25, table.X, table.y.to_numpy(), NeighbourVotes(), seed, None)
    part = table.filled_from(kept)
    model.fit(part.X.iloc[kept], table.y.iloc[kept])
    accuracy = model.score(part.X.iloc[aside], table.y.iloc[aside])
    assert rows["all features"].held_out == pytest.approx(accuracy)
    code, shown, _ = run(
        "shop.csv", "--target", "bought", "--estimator", "linear", "--max-time", "1", "--peers", "rfecv"
    )
    assert code == 0
    assert "held-out: accuracy or concordance of the estimator linear" in shown
