"""Test rows: which they are, and the intervals that they prove, which hold as often as promised."""

from __future__ import annotations

from math import asin, pi, sqrt
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace
from sklearn.metrics import roc_auc_score

from bestleaf import BestLeafSelector, verify
from bestleaf.features.ranking import concordance
from bestleaf.proof.record import Choice, MatchedRows
from bestleaf.proof.words_new_rows import (
    about_new_rows,
    answer_lines,
    difference_word,
    flat_around,
    intervals_of,
    not_claimed_of_new_rows,
    often_in_words,
    path_html,
    path_in_words,
    proved_in_short,
    smallest_within_error,
)
from bestleaf.report import report_html
from bestleaf.selection.data import Data
from bestleaf.selection.judges import Panel
from bestleaf.selection.matched import Rows, Tally, draws, log_capital, proved, tallies
from bestleaf.selection.new_rows import Split, matching_of, on_test_rows, rows_aside
from made import chosen, new_rows, path_of

DELTA, TABLES, JUDGES = 0.2, 300, 2


def judges_of(rng, signal, noise=0.6):
    """Return the predictions of some judges that share most of their error."""
    shared = rng.normal(size=signal.shape)
    return [signal + sqrt(noise) * shared + sqrt(1 - noise) * rng.normal(size=signal.shape) for _ in range(JUDGES)]


def shift(auc):
    return sqrt(2) * NormalDist().inv_cdf(auc)


def of_two_classes(rng, number):
    sizes = [(4, 4), (25, 25), (10, 60)][number % 3]
    aucs = [(0.5, 0.6, 0.5), (0.8, 0.7, 0.8), (0.95, 0.95, 0.9), (0.99, 0.9, 0.99)][number % 4]
    y = np.repeat([1, 0], sizes)
    return "auc", y, [judges_of(rng, shift(one) * y[:, None]) for one in aucs], aucs


def of_three_classes(rng, number):
    """Every class has scores of its own, so each AUC of one class against the rest is known."""
    sizes = [(4, 4, 4), (20, 12, 8), (40, 40, 2)][number % 3]
    aucs = [(0.6, 0.7, 0.6), (0.9, 0.8, 0.85)][number % 2]
    y = np.repeat(np.arange(3), sizes)
    return "auc", y, [judges_of(rng, shift(one) * np.eye(3)[y]) for one in aucs], aucs


def of_real_targets(rng, number):
    rows = [8, 30, 80][number % 3]
    parts = [(0.5, 0.3, 0.5), (0.98, 0.9, 0.95), (0.0, 0.0, 0.0)][number // 3 % 3]
    y = rng.normal(size=rows)
    found = [judges_of(rng, one / sqrt(1 - one**2) * y[:, None]) for one in parts]
    return "concordance", y, found, [0.5 + asin(one) / pi for one in parts]


def of_predictions(rng, number):
    """Every class has its own accuracy, and the number of rows of each class is fixed."""
    rows = [8, 40, 150][number % 3]
    right = [((0.5, 0.5), (0.5, 0.4), (0.5, 0.5)), ((0.99, 0.8), (0.9, 0.8), (0.95, 0.8))][number // 3 % 2]
    label = np.arange(rows) % 2
    found = [[rng.random((rows, 1)) < np.array(one)[label][:, None] for _ in range(JUDGES)] for one in right]
    return "accuracy", label, found, [np.mean(one) for one in right]


@pytest.mark.parametrize("kind", [of_two_classes, of_three_classes, of_real_targets, of_predictions])
def test_all_three_claims_together_fail_no_more_often_than_promised(kind):
    """The answer, all columns and another set: one delta for the score, the difference and the best other set."""
    rng, wrong = np.random.default_rng(0), 0
    for number in range(TABLES):
        measure, y, predicted, true = kind(rng, number)
        rows = Rows.of(measure, y, predicted, (2, 9, 4))
        found, scores = proved(rows, DELTA, number), rows.scores().mean(axis=1)
        low, high = found.interval
        least, most = found.difference_interval
        assert low <= scores[0] <= high
        assert least <= scores[0] - scores[1] <= most
        assert max(scores[1:]) - scores[0] <= found.best_other
        wrong += not (
            low <= true[0] <= high
            and least <= true[0] - true[1] <= most
            and max(true[1:]) - true[0] <= found.best_other
        )
    assert wrong <= TABLES * DELTA + 3 * sqrt(TABLES * DELTA * (1 - DELTA))


@pytest.mark.parametrize(("rows", "widest"), [(200, 0.2), (1000, 0.09), (4000, 0.045)])
def test_intervals_are_narrow_enough_to_be_of_use(rows, widest):
    """Two standard errors of DeLong on each side, which prove nothing, would be 0.14, 0.06 and 0.03."""
    rng, y = np.random.default_rng(1), np.arange(rows) % 2
    found = []
    for number in range(3):
        judged = [judges_of(rng, shift(0.7) * y[:, None]) for _ in range(2)]
        found.append(proved(Rows.of("auc", y, judged, (2, 9)), 0.05, number))
    widths = [[high - low for low, high in (one.interval, one.difference_interval)] for one in found]
    assert (np.mean(widths, axis=0) < (widest, 1.8 * widest)).all()  # the sets agree in nothing but the target


def test_bets_are_fair():
    """The expected capital against the true mean is at most 1: this is what the proof rests on."""
    rng, scores, gains = np.random.default_rng(3), [], []
    for number in range(300):
        y, aucs = np.repeat(np.arange(3), (6, 7, 8)), (0.7, 0.7)
        judged = [judges_of(rng, shift(one) * np.eye(3)[y]) for one in aucs]
        score, gain = tallies(Rows.of("auc", y, judged, (2, 9)), number)
        scores.append(np.exp(log_capital(score, np.array([0.5]), 0.7)))
        gains.append(np.exp(log_capital(gain, np.array([0.3, 0.6]), 0.5)))
    for capital in (np.array(scores), np.array(gains)):
        assert 0.5 < capital.mean() < 1 + 3 * capital.std() / sqrt(len(capital))


def test_bets_are_fair_for_rows_of_different_kinds():
    rng, found = np.random.default_rng(4), []
    chances = np.array([[0.3, 0.6, 0.1], [0.0, 0.5, 0.5]])  # of -1, 0 and 1; the mean of all rows is 0.15
    for _ in range(3000):
        counts = sum(rng.multinomial(10, one) for one in chances)
        tally = Tally(counts[None, :], 20.0)
        found.append(np.exp(log_capital(tally, np.array([0.3]), (1 + 0.15) / 2)))
    assert np.mean(found) < 1 + 3 * np.std(found) / sqrt(len(found))


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, first, second = rng.integers(0, 2, 80), rng.integers(0, 6, 80), rng.integers(0, 6, 80)
    judged = [[first[:, None], second[:, None]], [second[:, None], first[:, None]]]
    one, other = (roc_auc_score(y, score) for score in (first, second))
    found = Rows.of("auc", y, judged, (1, 3)).scores()
    assert found == pytest.approx(np.array([[one, other], [other, one]]))
    labels, chances = rng.integers(0, 4, 90), rng.dirichlet(np.ones(4), size=90)
    found = Rows.of("auc", labels, [[chances]], (3,)).scores()
    assert found[0, 0] == pytest.approx(roc_auc_score(labels, chances, multi_class="ovr"))
    target, score = rng.normal(size=120).round(1), rng.normal(size=120).round(1)
    found = Rows.of("concordance", target, [[score[:, None]]], (3,)).scores()
    assert found[0, 0] == pytest.approx(concordance(target, score))
    right = np.arange(5) < 2
    assert Rows.of("accuracy", np.arange(5), [[right[:, None]]], (3,)).scores() == 0.4


@pytest.mark.parametrize("kind", [of_two_classes, of_three_classes, of_real_targets, of_predictions])
def test_the_checker_computes_the_same_by_code_of_its_own(kind):
    rng, scorings = np.random.default_rng(7), {"auc": "roc_auc"}
    for number in range(4):
        measure, y, judged, _ = kind(rng, number)
        rows = Rows.of(measure, y, judged, (4, 12, 5))
        scores = rows.scores()
        by_judge = dict(zip(("one", "two"), scores[0].tolist(), strict=True))
        record, classes = chosen(), 0 if measure == "concordance" else len(np.unique(y))
        settings = {"judges": ("one", "two"), "scoring": scorings.get(measure, measure), "classes": classes}
        settings["task"] = "classification" if classes else "regression"
        data = replace(record.data, objective=replace(record.data.objective, **settings))
        found = proved(rows, 0.05, matching_of(data.fingerprint))
        claim = new_rows(how="test rows", why_no_proof=None, standard_error=None, difference_error=None)
        means = {"score": float(scores[0].mean()), "all_columns": float(scores[1].mean()), "judges": by_judge}
        about = {"delta": 0.05, "rows": len(y), "trained": data.rows, "guessing": 0.5}
        claim = replace(claim, **found._asdict(), **means, **about)
        path = replace(
            record.path,
            judges=("one", "two"),
            rows=tuple(replace(r, judges=()) for r in record.path.rows if r.size in (4, 5, 12)),
            seed=0,
        )
        genuine = replace(record, data=data, path=path, new_rows=claim)
        assert verify(genuine), str(verify(genuine))
        narrower = claim.interval[0] + 3e-6, claim.interval[1] - 3e-6
        assert not verify(replace(genuine, new_rows=replace(claim, interval=narrower)))
        assert not verify(replace(genuine, new_rows=replace(claim, best_other=claim.best_other - 3e-6)))


def test_only_the_order_of_predictions_and_the_seed_matter():
    rng = np.random.default_rng(5)
    measure, y, judged, _ = of_two_classes(rng, 1)
    found = proved(Rows.of(measure, y, judged, (2, 9, 4)), 0.05, 1)
    order = rng.permutation(len(y))
    again = [[np.exp(one[order]) for one in judges] for judges in judged]
    assert proved(Rows.of(measure, y[order], again, (2, 9, 4)), 0.05, 1) == found
    assert proved(Rows.of(measure, y, judged, (2, 9, 4)), 0.05, 2) != found


def test_one_row_of_a_class_proves_next_to_nothing_and_all_columns_do_not_differ_from_themselves():
    y = np.array([0] * 30 + [1])
    found = proved(Rows.of("auc", y, [[y[:, None]]], (9,)), 0.05, 0)
    assert found.interval[0] < 0.1
    assert found.interval[1] == 1
    assert found.difference_interval == (0, 0)
    assert found.best_other is None
    more = Rows.of("auc", np.arange(40) % 2, [[np.arange(40)[:, None]], [np.arange(40)[::-1, None]]], (9, 3))
    assert proved(more, 0.05, 0).difference_interval == (0, 0)
    assert 0 < proved(more, 0.05, 0).best_other < 1


def test_random_numbers_are_those_of_the_published_generator():
    """The first numbers of splitmix64 for the seed 1234567, as in its reference."""
    assert draws(1234567, 0, 3).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert draws(1234567, 0, 2, 1).tolist() == draws(1234567, 0, 3).tolist()[1:]


# ---- which rows are test rows


def rows_of(y, **more):
    return Data(np.zeros((len(y), 1)), np.asarray(y), np.array(["x0"], object), **more)


@pytest.mark.parametrize(
    ("rows", "holdout", "many"),
    [(1999, None, 0), (2000, None, 500), (30_000, None, 5000), (30_000, 0, 0), (100, 0.3, 30)],
)
def test_how_many_rows_are_test_rows(rows, holdout, many):
    split = rows_aside(rows_of(np.arange(rows) % 2), holdout, "classification", 0)
    assert (0 if split is None else len(split.aside)) == many
    if split is not None:
        assert sorted([*split.kept, *split.aside]) == list(range(rows))


def test_test_rows_are_drawn_from_all_rows_whatever_their_order():
    """Fails if the first rows of a table sorted by its target are taken."""
    y = np.repeat([0, 1, 2], (3000, 8000, 1000))
    split = rows_aside(rows_of(y), None, "classification", 3)
    assert np.bincount(y[split.aside]).tolist() == [750, 2000, 250]
    again, other = (rows_aside(rows_of(y), None, "classification", seed) for seed in (3, 4))
    assert (again.aside == split.aside).all()
    assert (other.aside != split.aside).any()
    real = rows_aside(rows_of(np.arange(4000.0)), None, "regression", 0)
    assert abs(np.mean(real.aside) - 2000) < 3 * 4000 / sqrt(12 * 1000)


def test_rows_of_a_group_stay_together():
    groups = np.repeat(np.arange(100), 30)
    split = rows_aside(rows_of(np.arange(3000) % 2, groups=groups), None, "classification", 0)
    assert not set(groups[split.aside]) & set(groups[split.kept])
    assert 750 <= len(split.aside) < 780


@pytest.mark.parametrize("holdout", [1.0, -0.1, True, "a", 3])
def test_what_is_no_share_is_refused(holdout):
    with pytest.raises(ValueError, match="holdout must be None, 0 or a fraction below 1, got"):
        rows_aside(rows_of([0, 1] * 50), holdout, "classification", 0)
    with pytest.raises(ValueError, match=r"on both sides, got a fraction of 0\.01 of 100 rows"):
        rows_aside(rows_of([0, 1] * 50), 0.01, "classification", 0)


# ---- claims that hold, and estimates where there is no proof


class Known(Panel):
    """A panel with one judge whose predictions are known."""

    names, task, scoring, scorer, classes = ("judge",), "classification", "roc_auc", None, np.array([0, 1])

    def __init__(self, predicted):
        self.predicted = predicted

    def part(self, data, space, fold):
        return SimpleNamespace(new_y=data.y[fold.test], rows=fold.test, weights=None)

    def predictions(self, part, units):
        return [self.predicted[part.rows, len(units)][:, None]]

    def scores_on(self, part, order, sizes, tests):
        scores = self.predicted[part.rows, sizes[0]]
        return np.array([[[roc_auc_score(part.new_y[rows], scores[rows])]] for rows in tests])


SPACE = SimpleNamespace(everything=(0, 1, 2))


def claim_of(data, predicted, kept, sets=((0,), (0, 1)), **changes):
    panel = Known(predicted)
    for name, value in changes.items():
        setattr(panel, name, value)
    split = Split(np.arange(kept), np.arange(kept, len(data.y)))
    return on_test_rows(data, split, SPACE, panel, sets, 0.1, matching=0)


def visits(rng, patients=30, each=10):
    """Return rows of patients: the rows of one share their class and most of their score, whose AUC is 0.69."""
    group, y = np.repeat(np.arange(patients), each), np.repeat(np.arange(patients) % 2, each)
    score = 0.7 * y + (sqrt(0.9) * rng.normal(size=patients))[group] + sqrt(0.1) * rng.normal(size=len(y))
    return rows_of(y, groups=group), np.tile(score[:, None], 4)


def test_with_groups_there_is_an_estimate_and_its_error_counts_groups():
    rng, inside, runs = np.random.default_rng(0), 0, 40
    for _ in range(runs):
        data, predicted = visits(rng, 40)
        claim = claim_of(data, predicted, 100)
        assert claim.why_no_proof == "groups"
        assert claim.table is claim.interval is claim.delta is None
        (low, high), _ = intervals_of(claim)
        inside += low <= NormalDist().cdf(0.7 / sqrt(2)) <= high
    # Thirty groups of test rows: two standard errors of so few cover a little less than 95 percent.
    assert inside >= 0.88 * runs - 3 * sqrt(runs * 0.88 * 0.12)


def test_why_there_is_no_proof():
    rng = np.random.default_rng(1)
    y, predicted = np.arange(300) % 2, rng.normal(size=(300, 4))
    plain = rows_of(y)
    assert claim_of(plain, predicted, 100).why_no_proof is None
    assert claim_of(rows_of(y, weights=rng.random(300)), predicted, 100).why_no_proof == "weights"
    assert claim_of(plain, predicted, 100, scoring="r2").why_no_proof == "scoring"
    assert claim_of(plain, predicted, 100, scorer=object()).why_no_proof == "scoring"  # a user's own "roc_auc"
    assert claim_of(plain, predicted, 100, classes=np.arange(3)).why_no_proof == "classes"
    for claim in (claim_of(plain, predicted, 100, scoring="r2"), claim_of(plain, predicted, 100)):
        assert claim.rows == 200
        assert claim.trained == 100
        assert (claim.standard_error is None) == (claim.why_no_proof is None)


def test_a_proof_has_the_answer_all_columns_and_other_sets():
    rng = np.random.default_rng(2)
    y = np.arange(600) % 2
    claim = claim_of(rows_of(y), y[:, None] + rng.normal(size=(600, 4)), 200, ((1,), (0, 1), (0, 1, 2)))
    assert claim.table.sets == (1, 3, 2)
    assert claim.score == claim.judges["judge"]
    assert claim.interval[0] < claim.score < claim.interval[1]
    assert claim.best_other > -claim.difference_interval[1]
    every = claim_of(rows_of(y), y[:, None] + rng.normal(size=(600, 4)), 200, ((0, 1, 2), (0, 1)))
    assert every.table.sets == (3, 2)
    assert every.score == every.all_columns


# ---- words


def test_words_do_not_round_a_claim_up_and_name_what_may_be_chosen():
    record = chosen()
    data = replace(record.data, choice=Choice(allowed=tuple(range(11)), limit=11))
    table = MatchedRows(measure="auc", sets=(4, 11, 5), score=(), gains=())
    numbers = {"interval": (0.90006, 0.92001), "difference_interval": (-0.00201, 0.0109), "best_other": 0.00401}
    proof = {"how": "test rows", "why_no_proof": None, "delta": 0.05, "table": table, **numbers}
    found = replace(record, data=data, new_rows=new_rows(**proof, standard_error=None, difference_error=None))
    (text,) = about_new_rows(found)
    assert text == (
        "With probability 0.95, the mean AUC of 3 models with these 4 columns on new rows is between 0.900 and "
        "0.921, at most 0.003 below that of all 11 columns that may be chosen, and none of the 2 of 7 sets of other "
        "sizes is better by more than 0.005. This holds for models fitted to 960 rows, on new rows drawn like the "
        "1,200 test rows."
    )
    assert not_claimed_of_new_rows(found)[-1] == "that no set is better but those of the sizes compared"
    _, score, difference, smallest = answer_lines(found)
    assert "AUC 0.912, from 0.900 to 0.921 (proved by 1,200 test rows; mean of 5 nearest neighbours " in score
    assert difference == "Difference to all 11 columns that may be chosen: open, +0.009, from -0.003 to +0.011"
    assert smallest == (
        "Could you do with fewer? No. 4 to 6 columns score about the same; another seed may take others"
    )
    assert often_in_words(found.path, found.features) == "Each of these columns was chosen in 61 to 100 % of the folds."
    assert proved_in_short(found) == (
        "Proved with 95 % confidence: the two intervals above, and that none of the 2 other sets compared (one per "
        "size) is better by more than 0.005 (models fitted to 960 rows, new rows like the 1,200 test rows)."
    )
    worse = replace(found.new_rows, best_other=-0.0101, table=replace(table, sets=(11, 4, 5)))
    assert proved_in_short(replace(found, new_rows=worse)).startswith(
        "Proved with 95 % confidence: the interval above, and that each of the 2 other sets compared (one per size) is "
        "worse by at least "
    )
    assert proved_in_short(record) == "Proved: nothing; the scores are estimates."


@pytest.mark.parametrize(
    ("changes", "word", "guessing"),
    [
        ({}, "open", False),
        ({"difference_error": 0.002}, "better", False),
        ({"all_columns": 0.913, "difference_error": 0.002}, "same", False),
        ({"all_columns": 0.95, "difference_error": 0.002}, "worse", False),
        ({"score": 0.52, "all_columns": 0.51}, "open", True),
        ({"score": 0.53, "all_columns": 0.51, "standard_error": None, "difference_error": None}, "open", False),
    ],
)
def test_one_word_for_the_difference_and_a_warning_if_it_is_like_guessing(changes, word, guessing):
    claim = new_rows(**changes)
    assert difference_word(claim) == word
    lines = answer_lines(chosen(new_rows=claim))
    assert lines[1].startswith("Score on new rows: no better than guessing (0.5), so do not rely on") is guessing
    assert lines[2].startswith(f"Difference to all 12 columns: {word}, ")


def test_how_flat_the_curve_is_is_told_where_it_is_flat():
    assert flat_around(path_of(size=4)) == (4, 6)
    assert flat_around(path_of(size=2)) is None
    assert flat_around(path_of(size=4, asked=True)) is None
    assert flat_around(path_of(size=4, folds=0)) is None


def test_a_score_that_is_almost_perfect_is_doubted():
    judges = {"5 nearest neighbours": 0.9991, "ridge": 0.95}
    perfect = new_rows(score=0.975, judges=judges)
    told = "Almost perfect: if one of these is known only after the target, leave it out (--drop): "
    told += "age, income, tenure, city."
    assert told in answer_lines(chosen(new_rows=perfect))
    assert not any("Almost" in line for line in answer_lines(chosen()))
    path = path_of(size=4)
    path = replace(path, rows=(replace(path.rows[0], score=0.9995), *path.rows[1:]))
    (name,) = path.rows[0].features
    alone = (
        f"Almost perfect: {name} alone scores so. If it is known only after the target, leave it out (--drop {name})."
    )
    assert alone in answer_lines(chosen(path=path, new_rows=perfect))
    page = report_html(chosen(path=path, new_rows=perfect))
    assert f'<p class="loud">{alone}</p>' in page
    assert 'doubted">estimate</span>' in page
    assert 'doubted">' not in report_html(chosen())


def test_the_path_in_words():
    path = path_of(size=6)
    smaller = smallest_within_error(path)
    assert (smaller.size, path.size) == (4, 6)
    record = chosen(path=path)
    assert answer_lines(record)[3] == (
        "Could you do with fewer? Perhaps: 4 columns (age, income, tenure, city) at +0.001, within one standard error "
        "of the best set. 4 to 8 columns score about the same; another seed may take others"
    )
    assert path_in_words(path).startswith(
        "Difference to all columns by size, in 15 cross-validation folds: 1: -0.1450,"
    )
    assert path_in_words(path).endswith("12 (all): +0.0000.")
    assert path_html(path).count("<tr") == len(path.rows) + 1
    assert "font-weight:bold" in path_html(path)
    assert path_in_words(replace(path, folds=0)) == "No size was scored in cross-validation."


def test_test_rows_have_no_part_in_the_choice():
    """Neither the path nor the answer changes with what test rows say; gaps are filled by the others."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(150, 4)), columns=list("abcd"))
    y = (frame.a + rng.normal(size=150) > 0).astype(int)
    frame.loc[rng.choice(150, 40, replace=False), "b"] = np.nan
    aside = rows_aside(rows_of(y), 0.3, "classification", 0).aside
    changed = frame.copy()
    changed.loc[aside] = 1000 * changed.loc[aside, ::-1].to_numpy()
    first, second = (
        BestLeafSelector(holdout=0.3, encode="auto", random_state=0).fit(one, y).certificate_
        for one in (frame, changed)
    )
    assert first.path == second.path
    assert first.features == second.features
    assert first.new_rows != second.new_rows
    assert first.new_rows.rows == 45
