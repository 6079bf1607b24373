"""Checkpoints: broken off anywhere a search ends as if it had not been; a wrong file is one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import asdict

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from bestleaf import (
    BestLeafSelector,
    Checkpoint,
    NeighbourVotes,
    Search,
    SearchOptions,
    best_arm,
    best_leaf,
    problems,
    verify,
)
from bestleaf.checkpoint.codec import decoded, encoded
from bestleaf.checkpoint.file import read_file
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import make_linear
from bestleaf.search import saving
from bestleaf.search.budget import Budget
from golden.graphs import Climb
from selecting import made_selector
from toys import Pig, random_cyclic_graph

pytestmark = pytest.mark.slow


class BrokenOffError(Exception):
    """The power went out."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.blf"


@pytest.fixture
def short_slices(monkeypatch):
    """Let slices end after next to no time, so that there are many moments to break off at."""
    monkeypatch.setattr(Budget, "slice", 0.0005)


def broken_off(monkeypatch, run, writes):
    """Run until so many snapshots are written, then break off; return whether it came to that."""
    left = [writes]

    def write(*given):
        original(*given)
        left[0] -= 1
        if left[0] == 0:
            raise BrokenOffError

    original = saving.write_file
    monkeypatch.setattr(saving, "write_file", write)
    try:
        run()
    except BrokenOffError:
        return True
    finally:
        monkeypatch.setattr(saving, "write_file", original)
    return False


def of_result(result):
    """Return all of a result but its times."""
    found = asdict(result)
    structure = found.pop("structure")
    del found["seconds"]
    return found, {name: np.asarray(value, object).tolist() for name, value in structure.items() if name != "edges"}


def of_selector(selector):
    """Return all of a certificate but its times, and what else was learnt."""
    content = dict(selector.certificate_.content)
    content["cost"] = {name: value for name, value in content["cost"].items() if name != "seconds"}
    content["report"] = {name: value for name, value in content["report"].items() if name != "history"}
    return content, selector.evaluated_, selector.feature_scores_.tobytes()


def lattice():
    return FeatureLattice(KNNOracle(*make_linear(80, 10, seed=1, return_X_y=True)), max_features=4)


SEARCHES = {
    "betting": (best_leaf, problems.paper_lattice, {"bound": "betting", "epsilon": 0.25}),
    "rate that grows": (best_leaf, problems.paper_lattice, {"bound": "beta1", "expansion": 0.6}),
    "paper": (best_arm, problems.paper_lattice, {"bound": "beta2", "stopping": "paper", "expansion": 0.5}),
    "theory": (best_arm, problems.paper_lattice, {"rule": "ugape", "bound": "theory", "epsilon": 0.25}),
    "two players that grow": (best_arm, lambda: problems.random_game_tree(1), {"expansion": 0.7}),
    "cycles": (best_arm, lambda: random_cyclic_graph(5, two_player=True, endless=0.5), {"expansion": 0.6}),
    "plan that grows": (best_leaf, Pig, {"expansion": 0.7, "max_samples": 500}),
    "some exact": (best_leaf, lambda: problems.random_dag(5, exact_share=0.5, width=6), {"expansion": 0.5}),
    "grown in Python": (best_arm, Climb, {"epsilon": 0.3, "expansion": 0.4}),
    "by rave": (best_leaf, lattice, {"proposal": "rave", "expansion": 0.5, "max_samples": 2000}),
    "in batches": (best_leaf, lattice, {"batch_size": 12, "expansion": 0.5}),
    "local": (best_leaf, lattice, {"guarantee": "local", "expansion": 0.5, "bound": "hoeffding"}),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_broken_off_ends_as_an_unbroken_one(name, path, monkeypatch, short_slices):
    search, problem, settings = SEARCHES[name]
    settings = {"epsilon": 0.1, "delta": 0.1, "seed": 3, "max_samples": 20_000, **settings}
    unbroken = of_result(search(problem(), **settings))
    for writes in (2, 13):
        path.unlink(missing_ok=True)
        every = Checkpoint(path, every=0)
        broken_off(monkeypatch, lambda every=every: search(problem(), **settings, checkpoint=every), writes)
        assert of_result(search(problem(), **settings, checkpoint=path)) == unbroken
    assert of_result(search(problem(), **settings, checkpoint=path)) == unbroken  # over, and read again


SELECTIONS = {
    "default": {},
    "real target": {"guarantee": "grown", "delta": 0.2},
    "estimator": {"estimator": GaussianNB(), "max_samples": 300, "guarantee": "auto"},
    "groups": {"feature_groups": [[0, 1, 2], [3, 4], [5], [6, 7], [8], [9]], "include": [5], "guarantee": "grown"},
    "exhaustive": {"guarantee": "exhaustive", "max_features": 3},
    "best, not small": {"parsimony": 0, "guarantee": "local", "exclude": [7]},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", SELECTIONS)
def test_a_selection_broken_off_ends_as_an_unbroken_one(name, path, monkeypatch, short_slices):
    X, y = make_linear(60, 10, seed=2, return_X_y=True)
    y = X[:, 0] + X[:, 1] ** 2 if name == "real target" else y
    settings = {"choose": "training", "epsilon": 0.03, "random_state": 1, **SELECTIONS[name]}
    unbroken = of_selector(made_selector(**settings).fit(X, y))
    often = made_selector(**settings, checkpoint=Checkpoint(path, every=0))
    broken_off(monkeypatch, lambda: often.fit(X, y), 5)
    resumed = made_selector(**settings, checkpoint=path).fit(X, y)
    assert of_selector(resumed) == unbroken
    times = [row["seconds"] for row in resumed.history_]
    assert times == sorted(times)


def test_a_search_by_ask_and_tell_goes_on_where_it_was(path, monkeypatch):
    def answered(checkpoint):
        search = Search(
            problems.paper_lattice(),
            task="arm",
            epsilon=0.3,
            delta=0.1,
            seed=0,
            checkpoint=checkpoint,
        )
        while (leaf := search.ask()) is not None:
            search.tell(float(np.random.default_rng([search.samples, *leaf]).random() < 0.1 * sum(leaf)))
        return search

    unbroken = of_result(answered(None).result())[0]
    for writes in (3, 50):
        path.unlink(missing_ok=True)
        assert broken_off(monkeypatch, lambda: answered(Checkpoint(path, every=0)), writes)
        resumed = of_result(answered(Checkpoint(path, every=0)).result())[0]
        assert {**resumed, "settings": None} == {**unbroken, "settings": None}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("proposal", "few"), [("lookahead", 20), ("lookahead", 230), ("rave", 210)])
def test_more_samples_later_are_as_good_as_at_once(proposal, few, path):
    X, y = make_linear(60, 10, seed=2, return_X_y=True)

    def selected(samples, **more):
        options = SearchOptions(proposal=proposal, guarantee="grown", max_samples=samples)
        settings = {"choose": "training", "epsilon": 0.001, "random_state": 0, "search": options}
        return of_selector(BestLeafSelector(**settings, **more).fit(X, y))

    for samples in (few, few, 600):
        assert selected(samples, checkpoint=path) == selected(samples)


def test_a_finished_search_goes_on_for_a_smaller_epsilon_and_ends_at_once_for_a_larger(path):
    settings = {"delta": 0.1, "bound": "hoeffding", "checkpoint": path}
    coarse = best_leaf(problems.paper_lattice(), epsilon=0.2, seed=1, **settings)
    fine = best_leaf(problems.paper_lattice(), epsilon=0.1, **settings)
    assert fine.settings["seed"] == 1
    assert fine.samples > coarse.samples
    assert fine.settled
    assert fine.gap <= 0.1
    assert verify(fine.certificate)
    wide = best_leaf(problems.paper_lattice(), epsilon=0.3, **settings)
    assert (wide.samples, wide.settings["epsilon"]) == (fine.samples, 0.3)
    assert verify(wide.certificate)


def test_time_counts_over_all_sittings(path, clock):
    clock.tick = 0.01
    twins = problems.ScoreLattice([0.1, 0.1], 1)  # nobody can tell which is better
    settings = {"epsilon": 0, "delta": 0.1, "seed": 1, "checkpoint": path}
    first = best_leaf(twins, max_time=0.3, **settings)
    again = best_leaf(twins, max_time=0.3, **settings)
    assert of_result(again) == of_result(first)
    assert again.seconds == first.seconds
    more = best_leaf(twins, max_time=0.6, **settings)
    assert more.samples > first.samples
    assert 0.6 <= more.seconds < 0.7


def test_after_ctrl_c_a_search_goes_on(path, short_slices):
    settings = {"epsilon": 0.1, "delta": 0.1, "expansion": 0.6, "seed": 0, "max_samples": 1500}
    pressed = []

    def interrupt(progress):
        if not pressed:
            pressed.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    broken = best_leaf(lattice(), **settings, checkpoint=path, callback=interrupt)
    assert broken.reason == "interrupted"
    assert of_result(best_leaf(lattice(), **settings, checkpoint=path)) == of_result(best_leaf(lattice(), **settings))


PROGRAM = """
    import itertools, os, signal, sys
    from bestleaf import BestLeafSelector, Checkpoint
    from bestleaf.paper import make_linear

    calls, fsync = itertools.count(1), os.fsync

    def kill_instead(handle):
        if next(calls) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(handle)

    os.fsync = kill_instead
    settings = {"choose": "training", "epsilon": 0.03, "random_state": 0}
    selector = BestLeafSelector(**settings, checkpoint=Checkpoint(sys.argv[1], every=0))
    selector.fit(*make_linear(60, 10, seed=2, return_X_y=True))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_search_that_is_killed_while_it_saves_goes_on(path):
    X, y = make_linear(60, 10, seed=2, return_X_y=True)
    settings = {"choose": "training", "epsilon": 0.03, "random_state": 0}
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(path)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    read_file(path)  # complete
    resumed = BestLeafSelector(**settings, checkpoint=path).fit(X, y)
    assert of_selector(resumed) == of_selector(BestLeafSelector(**settings).fit(X, y))
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_other_settings_are_refused_by_name(path):
    settings = {"epsilon": 0.2, "delta": 0.1, "seed": 1}
    best_leaf(problems.paper_lattice(), **settings, checkpoint=path)
    before = path.read_bytes()
    others = {
        "delta was 0.1, got 0.2": {"delta": 0.2},
        "seed was 1, got 2": {"seed": 2},
        'bound was "betting", got "hoeffding"': {"bound": "hoeffding"},
        "expansion was null, got 0.5": {"expansion": 0.5},
        'rule was "smallest_gap", got "ugape"': {"rule": "ugape"},
    }
    for sentence, changed in others.items():
        with pytest.raises(ValueError, match=f"run.blf is the checkpoint of another search: {sentence}"):
            best_leaf(problems.paper_lattice(), **{**settings, **changed}, checkpoint=path)
    with pytest.raises(ValueError, match=r"scores was \[-0.3, .*, got \[0.1, 0.2\]"):
        best_leaf(problems.ScoreLattice([0.1, 0.2], 1), **settings, checkpoint=path)
    with pytest.raises(ValueError, match='problem was "ScoreLattice", got "Climb"'):
        best_leaf(Climb(), **settings, checkpoint=path)
    with pytest.raises(ValueError, match='task was "leaf", got "arm"'):
        best_arm(problems.paper_lattice(), **settings, checkpoint=path)
    assert path.read_bytes() == before


def test_other_data_are_refused(path):
    X, y = make_linear(60, 10, seed=2, return_X_y=True)
    settings = {"choose": "training", "epsilon": 0.1, "random_state": 0, "checkpoint": path}
    BestLeafSelector(**settings).fit(X, y)
    changed = X.copy()
    changed[3, 4] += 0.01
    for data, more, words in (
        (changed, {}, "its data are different"),
        (X, {"parsimony": 0}, 'answer was "smallest evaluated leaf", got "best evaluated leaf"'),
        (X, {"estimator": NeighbourVotes(n_neighbors=3)}, "n_neighbors was 5, got 3"),
    ):
        with pytest.raises(ValueError, match=f"another search: {words}"):
            BestLeafSelector(**settings, **more).fit(data, y)


def test_what_is_not_a_checkpoint_is_left_alone(path):
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"run\.blf is not a checkpoint of bestleaf: it does not begin like one"):
        best_leaf(Climb(), epsilon=0.3, delta=0.1, checkpoint=path)
    assert path.read_text() == "a,b\n1,2\n"
    with pytest.raises(ValueError, match="checkpoint must be in a folder that exists"):
        best_leaf(Climb(), epsilon=0.3, delta=0.1, checkpoint=path / "run.blf")
    with pytest.raises(ValueError, match="must be a file, got a folder"):
        best_leaf(Climb(), epsilon=0.3, delta=0.1, checkpoint=path.parent)
    with pytest.raises(TypeError, match="checkpoint must be a path or a Checkpoint, got 3"):
        best_leaf(Climb(), epsilon=0.3, delta=0.1, checkpoint=3)
    with pytest.raises(ValueError, match="every must be a number of seconds of at least 0, got -1"):
        Checkpoint("run.blf", every=-1)


def test_states_without_a_form_in_json_are_refused_before_anything_is_done(path):
    class Odd(Climb):
        def root(self):
            return np.datetime64("2020-01-01")

        def children(self, state):
            return [state + np.timedelta64(1, "D"), state + np.timedelta64(2, "D")]

        def is_terminal(self, state):
            return state > np.datetime64("2020-01-03")

    with pytest.raises(TypeError, match="checkpoint needs states made of numbers, text, None, tuples and frozensets"):
        best_leaf(Odd(), epsilon=0.3, delta=0.1, checkpoint=path)
    assert not path.exists()


@pytest.mark.parametrize("state", [3, "three", None, True, 2.5, (), (1, ("a", None)), frozenset({(1, 2), frozenset()})])
def test_states_come_back_as_they_were(state):
    assert decoded(encoded(state)) == state
    assert type(decoded(encoded(state))) is type(state)


@pytest.mark.parametrize("kind", ["PCG64", "MT19937"])
def test_a_stream_that_was_handed_in_goes_on(kind, path, monkeypatch, short_slices):
    def stream():
        return np.random.Generator(getattr(np.random, kind)(4))

    settings = {"epsilon": 0.15, "delta": 0.1}
    unbroken = of_result(best_leaf(Climb(), **settings, seed=stream()))
    often = Checkpoint(path, every=0)
    assert broken_off(monkeypatch, lambda: best_leaf(Climb(), **settings, seed=stream(), checkpoint=often), 2)
    kept = path.read_bytes()
    for given in (None, stream()):
        path.write_bytes(kept)
        assert of_result(best_leaf(Climb(), **settings, seed=given, checkpoint=path)) == unbroken
    path.write_bytes(kept)
    with pytest.raises(ValueError, match="another search"):
        best_leaf(Climb(), **settings, seed=4, checkpoint=path)
