"""All subsets in blocks: the same values as one by one, within the budget, and after an interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from itertools import combinations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bestleaf import Checkpoint, verify
from bestleaf.certificate.all_subsets import LISTED
from bestleaf.certificate.numbering import Block, Numbering
from bestleaf.checkpoint.file import read_file, write_file
from bestleaf.features import FeatureLattice
from bestleaf.features.blocks import BELOW
from bestleaf.features.exhaust import Exhaustion, fits_blocks
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import make_linear
from bestleaf.search.budget import Budget
from selecting import made_selector

X, Y = make_linear(40, 13, seed=3, return_X_y=True)
COARSE = np.round(X)  # with many ties


def oracle_cases():
    rng = np.random.default_rng(0)
    classes, weights, groups = rng.integers(0, 3, 40), rng.uniform(0.1, 2.0, 40), np.repeat(np.arange(20), 2)
    yield "two classes", X, Y, {}
    yield "ties", COARSE, Y, {"ties": "strict"}
    yield "row order", COARSE, Y, {"ties": "row_order"}
    yield "without rows at distance 0", COARSE, Y, {"drop_zero": True}
    yield "more neighbours", X, Y, {"n_neighbors": 9, "n_jobs": 2}
    yield "three classes", COARSE, classes, {}
    yield "real targets", X, X[:, 0] + rng.normal(size=40), {"task": "regression"}
    yield "weights", X, Y, {"sample_weight": weights}
    yield "groups", COARSE, Y, {"groups": groups}


@pytest.mark.parametrize(("data", "y", "settings"), [case[1:] for case in oracle_cases()])
def test_values_of_a_block_are_those_of_its_subsets_to_the_last_digit(data, y, settings):
    oracle, numbering = KNNOracle(data, y, **settings), Numbering(range(13), (), 13)
    block = Block(numbering, 3000, 3200, [[feature] for feature in range(13)])
    right = [oracle.value(np.flatnonzero(row)) for row in block.columns(13)]
    values = oracle.block_values(block)
    assert values.tolist() == right
    floors = np.full(200, np.median(values))
    known = oracle.block_values(block, floors)
    assert ((known == values) | ((known == BELOW) & (values < floors))).all()


@pytest.fixture(scope="module")
def every():
    """The value of every subset, computed one by one."""
    oracle = KNNOracle(X, Y)
    return {one: oracle.value(one) for size in range(1, 14) for one in combinations(range(13), size)}


def test_poor_subsets_are_given_up():
    oracle, numbering = KNNOracle(X, Y), Numbering(range(13), (), 13)
    block = Block(numbering, 3000, 3200, [[feature] for feature in range(13)])
    assert (oracle.block_values(block, np.full(200, 0.99)) == BELOW).mean() > 0.5


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"max_features": 2, "include": [3], "exclude": [7]},
        {"groups": [[0, 5], [1], [2, 7, 3], [4], [6], [8, 9, 10, 11, 12]]},
    ],
)
def test_the_best_are_those_of_all_subsets(limits, every):
    lattice = FeatureLattice(KNNOracle(X, Y), **limits)
    assert fits_blocks(lattice)
    found = Exhaustion.of(lattice, Budget())
    found.run(lambda now: None, Nowhere())
    standing = found.standing
    right = {
        one: every[tuple(lattice.features_of(one))]
        for size in range(1, 14)
        for one in combinations(range(len(lattice.groups)), size)
        if lattice.holds((*one, -1))
    }
    assert (found.reason, standing.evaluated) == ("identified", len(right) == standing.evaluated and len(right))
    best = sorted(right.values(), reverse=True)[:LISTED]
    assert standing.best_values.tolist() == best
    assert all(
        right[standing.numbering.units(int(number))] == value
        for number, value in zip(standing.best, standing.best_values, strict=True)
    )
    by_size = {size: max(value for one, value in right.items() if len(one) == size) for size in set(map(len, right))}
    assert {size: value for size, value in enumerate(standing.size_values) if value >= 0} == by_size


class Nowhere:
    """Saves nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def save(self, reason, *, now=False):
        pass


def fitted(**settings):
    keywords = {"choose": "training", "guarantee": "exhaustive", "random_state": 0, **settings}
    return made_selector(**keywords).fit(X, Y)


def without_times(selector):
    content = {**selector.certificate_.content, "cost": None, "bestleaf": None}
    content["report"] = {**content["report"], "history": None, "repeat": None}
    return content


@pytest.fixture(scope="module")
def unbroken():
    return fitted()


def test_all_subsets_are_evaluated_and_the_certificate_says_so(unbroken, every):
    found = unbroken.certificate_
    assert (found.exact_evaluations, found.reason, found.settled) == (8191, "identified", True)
    assert "All 8,191 subsets that may be chosen were evaluated" in str(found)
    assert "no other of the 8,191 subsets that may be chosen (13 features) is better by more than 0.01" in str(found)
    assert len(unbroken.evaluated_) >= LISTED
    best = max(every.values())
    assert unbroken.evaluated_[0].score == best
    top = fitted(parsimony=0)
    assert top.score_ == best
    assert "no other has a higher value" in str(top.certificate_)
    assert len(unbroken.subset_) <= len(top.subset_)
    assert unbroken.score_ >= best - 0.01


def test_threads_change_nothing(unbroken):
    assert without_times(fitted(n_jobs=2)) == without_times(unbroken)


def test_auto_evaluates_all_subsets_where_that_takes_seconds(unbroken):
    assert without_times(fitted(guarantee="auto")) == without_times(unbroken)
    assert "all_subsets" not in fitted(guarantee="grown", max_samples=500).certificate_.content


def test_a_search_says_that_all_subsets_could_be_evaluated(capsys):
    fitted(guarantee="grown", epsilon=0.3, verbose=1)
    assert "All 8,191 subsets could be evaluated in about a second: guarantee='exhaustive'." in capsys.readouterr().out


def test_left_out_rows_choose_among_all_subsets():
    found = fitted(choose="new_data", cv=3).certificate_
    assert found.exact_evaluations == 8191
    assert found.content["new_data"]["best"]["value"] >= max(leaf["lower"] for leaf in found.leaves) - 0.01
    assert verify(found, X, Y)


def test_a_budget_ends_it_in_between():
    with pytest.warns(ConvergenceWarning, match="max_samples ended the search before it was settled"):
        found = fitted(max_samples=700).certificate_
    assert (found.exact_evaluations, found.reason, found.settled) == (700, "max_samples", False)
    assert "(13 features), 700 were evaluated. It is certain that none of these is better" in str(found)
    assert found.gap == pytest.approx(1 - found.score)
    assert verify(found, X, Y, audit=1.0)


def test_too_little_time_is_refused_unless_it_can_go_on_later(monkeypatch, tmp_path):
    monkeypatch.setattr("bestleaf.selector.seconds_for_all", lambda lattice: 50.0)
    with pytest.raises(ValueError, match=r"max_time must be at least about 50 seconds to evaluate all 8,191 subsets"):
        fitted(max_time=40.0)
    assert fitted(max_time=60.0).certificate_.settled
    assert fitted(max_time=40.0, checkpoint=tmp_path / "run.blf").certificate_.settled


def test_it_goes_on_after_ctrl_c_in_the_middle_of_a_block(tmp_path, monkeypatch, unbroken):
    path, slices = tmp_path / "run.blf", []
    original = KNNOracle.block_values

    def pressed(self, block, floors=None):
        slices.append(block)
        if len(slices) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, block, floors)

    monkeypatch.setattr("bestleaf.features.exhaust.FIRST", 50)
    monkeypatch.setattr(KNNOracle, "block_values", pressed)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C ended the search"):
        broken = fitted(checkpoint=Checkpoint(path, every=0)).certificate_
    assert broken.reason == "interrupted"
    assert 0 < broken.exact_evaluations < 8191
    assert verify(broken, X, Y, audit=1.0)
    assert read_file(path)["snapshots"]["0"]["evaluated"] == broken.exact_evaluations
    before = len(slices)
    resumed = fitted(checkpoint=path)
    assert without_times(resumed) == without_times(unbroken)
    assert min(block.start for block in slices[before:]) > broken.exact_evaluations > 4 * 50
    assert without_times(fitted(checkpoint=path)) == without_times(unbroken)  # it is over, and nothing is done again


def test_it_goes_on_after_it_was_killed(tmp_path, unbroken):
    path = tmp_path / "run.blf"
    killed = f"""
        import os, signal
        from bestleaf import BestLeafSelector, Checkpoint
        from bestleaf.features.neighbours import KNNOracle
        from bestleaf.paper import make_linear
        original, calls = KNNOracle.block_values, []
        def dying(self, block, floors=None):
            calls.append(block)
            if block.start > 3000:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(self, block, floors)
        KNNOracle.block_values = dying
        X, y = make_linear(40, 13, seed=3, return_X_y=True)
        BestLeafSelector(choose="training", guarantee="exhaustive", random_state=0,
                         checkpoint=Checkpoint({str(path)!r}, every=0)).fit(X, y)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(killed)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert 0 < read_file(path)["snapshots"]["0"]["evaluated"] <= 3100
    assert without_times(fitted(checkpoint=path)) == without_times(unbroken)


def test_a_checkpoint_of_another_search_or_with_strange_numbers_is_refused(tmp_path):
    path = tmp_path / "run.blf"
    fitted(checkpoint=path)
    with pytest.raises(ValueError, match=r"run.blf is the checkpoint of another search: max_features was 13, got 12"):
        fitted(checkpoint=path, max_features=12)
    with pytest.raises(ValueError, match="is the checkpoint of another search"):
        fitted(checkpoint=path, guarantee="grown")
    found = read_file(path)
    now = found["snapshots"]["0"]
    arrays = {name: array.copy() for name, array in found.arrays.items()}
    wrong = [
        ({"at": 8191}, {}, "counts must be an array"),
        ({"evaluated": 8000}, {}, "evaluated must be 8,191"),
        ({"at": -1}, {}, "at must be a whole number"),
        ({"hashes": ["x"] * 8}, {}, "hash and a highest value"),
        ({}, {"best_values": arrays["snapshots.0.best_values"] * 0.5}, "the best value is"),
        ({}, {"best": arrays["snapshots.0.best"][::-1].copy()}, "the best value is"),
        ({}, {"best": arrays["snapshots.0.best"] * 0}, "different subsets"),
        ({}, {"counts": arrays["snapshots.0.counts"][:3]}, "counts must be an array"),
    ]
    for parts, replaced, words in wrong:
        snapshot = {**now, **{name.split(".")[-1]: array for name, array in arrays.items()}, **parts, **replaced}
        write_file(path, {**found, "snapshots": {"0": snapshot}})
        with pytest.raises(ValueError, match=words):
            fitted(checkpoint=path)


def test_many_rows_are_not_evaluated_in_blocks():
    rng = np.random.default_rng(0)
    few = FeatureLattice(KNNOracle(rng.normal(size=(4096, 13)), np.arange(4096) % 2))
    many = FeatureLattice(KNNOracle(rng.normal(size=(4097, 13)), np.arange(4097) % 2))
    assert (fits_blocks(few), fits_blocks(many)) == (True, False)
