"""The guarantee "local" with an estimator: leaves one step away race fold by fold."""

from __future__ import annotations

import re
from copy import deepcopy

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from bestleaf import BestLeafSelector, Certificate, EstimatorOracle, SearchOptions, verify
from bestleaf.certificate.schema import RefusedError
from bestleaf.certificate.verify_local import check_local
from bestleaf.checkpoint.file import read_file, write_file
from bestleaf.features import FeatureLattice

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, Y = make_classification(120, 9, n_informative=3, n_redundant=2, shuffle=False, random_state=0)
SETTINGS = {"estimator": GaussianNB(), "cv": 4, "random_state": 0}


@pytest.fixture(scope="module", autouse=True)
def many_subsets():
    """Let 511 subsets count as many: of few subsets the search goes on until the graph as grown is settled, too."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("bestleaf.selector.FEW_SUBSETS", 100)
        yield


@pytest.fixture(scope="module")
def by_training():
    return BestLeafSelector(**SETTINGS, choose="training").fit(X, Y)


@pytest.fixture(scope="module")
def by_new_data():
    return BestLeafSelector(**SETTINGS).fit(X, Y)


def oracle():
    return EstimatorOracle(X, Y, estimator=GaussianNB(), cv=4, random_state=0)


def neighbours_of(selector):
    lattice = FeatureLattice(oracle())
    columns = tuple(np.flatnonzero(selector.support_).tolist())
    return [lattice.features_of(leaf) for leaf in lattice.neighbours(lattice.terminal(columns))]


def local_claim(selector):
    return next(claim for claim in selector.certificate_.content["claims"] if claim["kind"] == "local")


def test_the_answer_by_training_rows_is_a_local_optimum_by_default(by_training):
    best = max(oracle().value(columns) for columns in neighbours_of(by_training))
    assert best <= by_training.score_ + by_training.epsilon
    assert local_claim(by_training)["text"].startswith("No single feature added, dropped or exchanged improves the")
    assert by_training.certificate_.claims[0] == local_claim(by_training)["text"]


def test_the_best_step_from_an_answer_chosen_by_left_out_rows_is_found(by_new_data):
    best = max(oracle().value(columns) for columns in neighbours_of(by_new_data))
    claimed = local_claim(by_new_data)["epsilon"]
    gain = max(by_new_data.epsilon, best - by_new_data.score_)
    assert claimed == pytest.approx(gain, abs=1.01e-4)
    assert claimed >= gain - 1e-12


@pytest.mark.parametrize("kind", ["by_training", "by_new_data"])
def test_the_race_leaves_out_folds_and_can_be_verified(kind, request):
    certificate = request.getfixturevalue(kind).certificate_
    race = certificate.content["challenges"]["local"]
    assert any(0 < scored < 4 for _, _, scored in race["pruned"])
    assert len(race["pruned"]) + len(race["subsets"]) == len(neighbours_of(request.getfixturevalue(kind)))
    verdict = verify(certificate, X, Y, oracle=oracle())
    assert verdict, str(verdict)
    assert f"the bounds of {len(race['pruned']):,} subsets that were ruled out" in str(verdict)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda race: race["pruned"].pop(), "must be about all"),
        (lambda race: race["pruned"][0].__setitem__(1, 1.0), "was ruled out, so it cannot reach 1.0"),
        (lambda race: race["pruned"][0].__setitem__(2, 4), "was ruled out, so it cannot reach"),
        (lambda race: race["pruned"][0].__setitem__(1, race["pruned"][0][1] - 0.01), "on these data, not"),
        (lambda race: race["folds"].reverse(), "on these data, not"),
        (lambda race: race["folds"].pop(), "numbered from 0|over the 4 splits"),
        (lambda race: race.__setitem__("steps", "single"), "must be about all"),
        (lambda race: race.__setitem__("centre", [0, -1]), "must be about the answer"),
    ],
)
def test_a_forged_race_is_refused(by_new_data, change, sentence):
    content = deepcopy(by_new_data.certificate_.content)
    change(content["challenges"]["local"])
    verdict = verify(Certificate(content), X, Y, oracle=oracle())
    assert not verdict
    assert re.search(sentence, str(verdict)), str(verdict)


def test_if_the_budget_ends_before_exchanges_only_additions_and_drops_are_claimed():
    texts = set()
    for most in (90, 120, 150, 300):
        found = BestLeafSelector(**SETTINGS, choose="training", search=SearchOptions(max_samples=most)).fit(X, Y)
        local = [claim for claim in found.certificate_.content["claims"] if claim["kind"] == "local"]
        texts.update(claim["text"].split(" improves")[0] for claim in local)
        assert verify(found.certificate_)
    assert texts == {"No single feature added or dropped", "No single feature added, dropped or exchanged"}


def test_a_race_goes_on_from_a_checkpoint(tmp_path, by_training):
    place = tmp_path / "race.blf"
    for most in (60, 150, 200):
        BestLeafSelector(**SETTINGS, choose="training", checkpoint=place, search=SearchOptions(max_samples=most)).fit(
            X, Y
        )
    again = BestLeafSelector(**SETTINGS, choose="training", checkpoint=place).fit(X, Y)
    mine, other = (one.certificate_.content["challenges"]["local"] for one in (again, by_training))
    assert mine == other


@pytest.mark.parametrize(
    "change",
    [
        lambda race: race.__setitem__("folds", [0, 0, 1, 2]),
        lambda race: race.__setitem__("own", [2.0, 0.5, 0.5, 0.5]),
        lambda race: race.__setitem__("centre", [99, -1]),
        lambda race: race["scores"][0].__setitem__(1, 1.5),
        lambda race: race["scores"][0].__setitem__(0, race["centre"]),
        lambda race: race["scores"].__setitem__(0, 7),
    ],
)
def test_a_corrupted_race_in_a_checkpoint_is_refused(tmp_path, change):
    place = tmp_path / "race.blf"
    BestLeafSelector(**SETTINGS, choose="training", checkpoint=place, search=SearchOptions(max_samples=150)).fit(X, Y)
    content = read_file(place)
    last = content["snapshots"][max(content["snapshots"], key=int)]
    change(next(stage for stage in last["stages"].values() if "own" in stage))
    write_file(place, content)
    with pytest.raises(ValueError, match=r"race\.blf"):
        BestLeafSelector(**SETTINGS, choose="training", checkpoint=place, search=SearchOptions(max_samples=150)).fit(
            X, Y
        )


def test_another_size_of_the_path_has_no_claim_about_the_chosen_one(by_new_data):
    other = by_new_data.at_size(2 if len(by_new_data.subset_) != 2 else 3)
    assert "local" not in other.certificate_.content["challenges"]
    assert verify(other.certificate_)


def test_workers_race_to_the_same_end(by_training):
    shared = BestLeafSelector(**SETTINGS, choose="training", n_jobs=2).fit(X, Y)
    assert shared.certificate_.content["challenges"] == by_training.certificate_.content["challenges"]


def test_leaves_of_a_graph_without_features_cannot_be_ruled_out():
    local = {"subsets": [["a", 0.5]], "pruned": [["b", 0.4, 1]], "folds": [0, 1]}
    with pytest.raises(RefusedError, match="only by a race"):
        check_local({"challenges": {"local": local}, "data": None}, {})
    check_local({"challenges": {"local": {"subsets": [["a", 0.5]]}}, "data": None}, {})
