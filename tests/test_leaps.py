"""The best subset for least squares: equal to trying all of them, proved, and refused if forged."""

from __future__ import annotations

import json
import signal
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from bestleaf import LinearCertificate, best_linear_subset
from bestleaf.certificate.linear import CRITERIA, HIGHER_IS_BETTER
from bestleaf.certificate.record import checksum
from bestleaf.cli import main
from bestleaf.features import leaps_search

FEATURES, ROWS = 9, 40


def table(seed=0, features=FEATURES, rows=ROWS, alike=0.6):
    """Return columns that are alike, and a target that depends on some of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) + alike * rng.normal(size=(rows, 1))
    X = X * rng.uniform(0.1, 10, features) + rng.normal(size=features)
    weights = rng.normal(size=features) * (rng.random(features) < 0.4) / X.std(axis=0)
    return X, X @ weights + rng.normal(size=rows)


def value(X, y, subset, criterion):
    """Return the criterion of a subset, by its definition."""
    design = np.column_stack([np.ones(len(y)), X[:, list(subset)]])
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    rows, parameters = design.shape
    r2 = 1 - rest @ rest / ((y - y.mean()) ** 2).sum()
    if criterion == "r2":
        return r2
    if criterion == "adjusted_r2":
        return 1 - (1 - r2) * (rows - 1) / (rows - parameters)
    likelihood = norm.logpdf(rest, scale=np.sqrt(rest @ rest / rows)).sum()
    return -2 * likelihood + parameters * (2 if criterion == "aic" else np.log(rows))


def every_value(X, y, criterion, may=lambda subset: True):
    """Return the value of every subset that may be chosen."""
    every = (one for size in range(X.shape[1] + 1) for one in combinations(range(X.shape[1]), size))
    return {one: value(X, y, one, criterion) for one in every if may(one)}


def best_of(values, criterion, size=None):
    among = [one for one in values if size is None or len(one) == size]
    return (max if criterion in HIGHER_IS_BETTER else min)(among, key=values.__getitem__)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(2))
def test_it_is_the_best_of_all_subsets_and_of_every_size(criterion, seed):
    X, y = table(seed)
    values = every_value(X, y, criterion)
    found = best_linear_subset(X, y, criterion=criterion)
    assert found.proved
    assert found.reason == "proved"
    assert found.bound == found.value
    assert found.features == best_of(values, criterion)
    assert found.value == pytest.approx(values[found.features], rel=1e-9)
    assert [one.size for one in found.by_size] == list(range(FEATURES + 1))
    for one in found.by_size:
        assert one.features == best_of(values, criterion, one.size)
        assert one.value == pytest.approx(values[one.features], rel=1e-9)
    assert 0 < found.looked_at < len(values)
    alone = best_linear_subset(X, y, criterion=criterion, every_size=False)
    assert alone.features == found.features
    assert len(alone.by_size) == 1
    assert alone.looked_at <= found.looked_at
    assert found.certificate.verify(X, y)
    assert alone.certificate.verify(X, y)


@pytest.mark.parametrize("alike", [0.0, 300.0])
def test_columns_that_are_almost_alike(alike):
    X, y = table(3, alike=alike)
    if not alike:
        X[:, 4] = X[:, 3] + 1e-3 * X[:, 4]
    found = best_linear_subset(X, y, criterion="aic")
    values = every_value(X, y, "aic")
    assert [one.features for one in found.by_size] == [best_of(values, "aic", size) for size in range(FEATURES + 1)]
    assert found.certificate.verify(X, y)


def test_forced_forbidden_and_the_largest_size():
    X, y = table(1)
    found = best_linear_subset(X, y, forced=[5], forbidden=[0, 7], max_features=4)
    values = every_value(X, y, "bic", lambda one: 5 in one and not {0, 7} & set(one) and len(one) <= 4)
    assert found.features == best_of(values, "bic")
    assert [one.features for one in found.by_size] == [best_of(values, "bic", size) for size in range(1, 5)]
    assert found.certificate.verify(X, y)
    assert "with the 1 forced feature of at most 4 features" in found.certificate.claims[0]
    only = best_linear_subset(X, y, forced=range(FEATURES))
    assert only.features == tuple(range(FEATURES))
    assert only.certificate.verify(X, y)


def test_names_words_and_a_file(tmp_path):
    X, y = table()
    frame = pd.DataFrame(X, columns=[f"column {one}" for one in range(FEATURES)])
    found = best_linear_subset(frame, y)
    assert found.names == tuple(f"column {one}" for one in found.features)
    assert str(found).startswith(f"Selected {len(found.features)} of 9 features: {found.names[0]}")
    assert f"No other subset of the 9 features has a better BIC than {found.value:.6f}" in str(found)
    assert "Not claimed: Anything about new rows" in str(found)
    found.certificate.save(tmp_path / "proof.json")
    again = LinearCertificate.load(tmp_path / "proof.json")
    verdict = again.verify(frame, y)
    assert verdict
    assert "10 listed subsets computed again; that none is better was proved again" in verdict.text
    assert str(again) == str(found)


def test_the_command_line_checks_the_file(tmp_path, monkeypatch, capsys):
    def ended(*arguments):
        monkeypatch.setattr("sys.argv", ["bestleaf", "verify", str(tmp_path / "proof.json"), *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        shown = capsys.readouterr()
        return end.value.code, shown.out + shown.err

    X, y = table()
    frame = pd.DataFrame(X, columns=[f"column {one}" for one in range(FEATURES)])
    best_linear_subset(frame, y).certificate.save(tmp_path / "proof.json")
    frame.assign(price=y).to_csv(tmp_path / "table.csv", index=False)
    frame.assign(price=y + 1).to_csv(tmp_path / "other.csv", index=False)
    data = ("--data", tmp_path / "table.csv")
    code, words = ended(*data, "--target", "price")
    assert (code or 0, "The certificate holds" in words) == (0, True)
    assert ended(*data)[0] == 2
    assert ended()[0] == 2
    code, words = ended("--data", tmp_path / "other.csv", "--target", "price")
    assert (code, "their fingerprints differ" in words) == (4, True)
    code, words = ended(*data, "--target", "prize")
    assert (code, "there is no column 'prize'" in words) == (4, True)


@pytest.mark.parametrize("every_size", [True, False])
def test_a_search_that_ends_early_says_what_is_proved(monkeypatch, every_size):
    monkeypatch.setattr(leaps_search, "SLICE", 5)
    monkeypatch.setattr(leaps_search, "first_subsets", lambda known, forced: [list(range(len(known.side))), []])
    X, y = table(2)
    best = best_linear_subset(X, y).value
    early = best_linear_subset(X, y, max_time=0, every_size=every_size)
    assert early.reason == "max_time"
    assert not early.proved
    assert early.bound < best <= early.value
    assert early.certificate.verify(X, y)
    assert f"No subset of the 9 features has a BIC below {early.bound:.6f}. This holds up to rounding" in str(early)
    assert "That the answer is the best: the search ended early, because time was over." in str(early)
    early.certificate.content["bound"] = (best + early.value) / 2 if early.value > best else best + 1
    assert not early.certificate.verify(X, y)


def test_ctrl_c_returns_the_best_so_far(monkeypatch):
    monkeypatch.setattr(leaps_search, "SLICE", 5)
    X, y = table(2)
    seen = []

    def interrupt(now):
        seen.append(now)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)

    found = best_linear_subset(X, y, callback=interrupt)
    assert found.reason == "interrupted"
    assert not found.proved
    assert len(seen) == 3
    assert [now.looked_at for now in seen] == sorted(now.looked_at for now in seen)
    assert found.certificate.verify(X, y)


def test_forged_certificates_are_refused(tmp_path):
    X, y = table()
    values, genuine = every_value(X, y, "bic"), best_linear_subset(X, y)

    def refused(change, text, data=X, target=y):
        content = json.loads(genuine.certificate.to_json())
        change(content)
        verdict = LinearCertificate(content).verify(data, target)
        assert not verdict
        assert text in verdict.text

    def second_best(content):
        size = len(genuine.features)
        worse = sorted((one for one in values if len(one) == size), key=values.__getitem__)[1]
        found = best_linear_subset(X[:, list(worse)], y, forced=range(size)).by_size[0]
        row = [size, list(worse), found.error, found.value]
        content["sizes"] = [row if one[0] == size else one for one in content["sizes"]]
        best = min(content["sizes"], key=lambda one: one[3])
        content.update(answer=best[1], value=best[3], bound=best[3])

    def alone(content):
        content["every_size"] = False
        second_best(content)

    refused(second_best, "there is a subset that is better")
    refused(alone, "there is a subset that is better")
    refused(lambda content: content["sizes"][2].__setitem__(2, 0.5), "the error of")
    refused(lambda content: content["sizes"][2].__setitem__(3, 0.5), "the BIC of")
    refused(lambda content: content["sizes"].pop(), "a size is missing")
    refused(lambda content: content.update(value=1.0), "the best value listed is")
    refused(lambda content: content.update(answer=[0]), "no such answer")
    refused(lambda content: content.update(rounding=0.1), "the margin for rounding is")
    refused(lambda content: content.update(forced=[0]), "must be a subset")
    refused(lambda content: content.update(criterion="cp"), "the criterion must be one of")
    refused(lambda content: content.pop("rows"), "the part 'rows' must be")
    refused(lambda content: content.update(sizes=[[1]]), "malformed")
    refused(lambda content: None, "not the data", X + 1)
    refused(lambda content: None, "not the data", X, y[::-1])
    late = genuine.certificate.verify(X, y, max_time=0)
    assert not late
    assert "time was over" in late.text

    content = {**json.loads(genuine.certificate.to_json()), "looked_at": 1}
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(content))
    assert "its checksum differs" in LinearCertificate.load(path).verify(X, y).text
    path.write_text(json.dumps({**content, "checksum": checksum(content)}))
    assert LinearCertificate.load(path).verify(X, y)  # how many sets were looked at proves nothing
    path.write_text("{}")
    with pytest.raises(ValueError, match="is not a certificate of best_linear_subset"):
        LinearCertificate.load(path)
    path.write_text("no")
    with pytest.raises(ValueError, match="no JSON"):
        LinearCertificate.load(path)


GOOD, TARGET = table()


@pytest.mark.parametrize(
    ("X", "y", "keywords", "text"),
    [
        (GOOD, TARGET, {"criterion": "cp"}, "criterion must be one of r2, adjusted_r2, aic, bic, got 'cp'"),
        (GOOD, TARGET, {"every_size": 1}, "every_size must be True or False, got 1"),
        (GOOD, TARGET, {"max_time": -1}, "max_time must be a number of seconds of at least 0, got -1"),
        (GOOD, TARGET, {"callback": 3}, "callback must be a function or None, got 3"),
        (GOOD, TARGET, {"forced": [9]}, "forced must hold numbers of features from 0 to 8, got 9"),
        (GOOD, TARGET, {"forced": [1], "forbidden": [1]}, "must not have features in common, got 1 in both"),
        (GOOD, TARGET, {"forbidden": range(9)}, "X must have 1 to 62 features that may be chosen, got 0"),
        (GOOD, TARGET, {"max_features": 0}, "max_features must be a whole number of at least 1, got 0"),
        (GOOD, TARGET, {"max_features": 1, "forced": [1, 2]}, "at least the number of forced features, 2, got 1"),
        (GOOD[:10], TARGET[:10], {}, "X must have at least 11 rows for 9 features, got 10"),
        (GOOD, TARGET[:5], {}, "y must have one value for each of the 40 rows, got shape"),
        (GOOD, np.ones(ROWS), {}, "y must have at least two different values, got only 1"),
        (GOOD, np.r_[np.nan, TARGET[1:]], {}, "y must not have missing or infinite values"),
        (GOOD, GOOD[:, 1] - GOOD[:, 2], {}, "criterion bic needs errors, but all features together fit y perfectly"),
        (GOOD, ["a"] * ROWS, {}, "y must hold numbers, got something else"),
        (np.c_[GOOD, np.ones(ROWS)], TARGET, {}, "that are constant or nearly so, got 'x9'; forbid them"),
        (np.c_[GOOD, GOOD[:, 2] + GOOD[:, 4]], TARGET, {}, "nearly sums of others, got 'x2', 'x4', 'x9'; forbid one"),
        (np.where(GOOD > 9, np.nan, GOOD), TARGET, {}, "X must not have missing or infinite values"),
    ],
)
def test_bad_input_is_one_clear_sentence(X, y, keywords, text):
    with pytest.raises((TypeError, ValueError)) as caught:
        best_linear_subset(X, y, **keywords)
    assert text in str(caught.value)
