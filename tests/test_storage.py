"""Checkpoints: broken off anywhere a search ends as if it had not been; a wrong file is one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from bestleaf import (
    BestLeafSelector,
    Checkpoint,
    EstimatorOracle,
    NeighbourVotes,
    Search,
    SearchOptions,
    best_arm,
    best_leaf,
    cli,
    problems,
    verify,
)
from bestleaf.checkpoint.codec import decoded, encoded
from bestleaf.checkpoint.file import read_file
from bestleaf.engine.bounds import BOUNDS
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import load_linear, make_linear
from bestleaf.search import saving
from bestleaf.search.budget import Budget
from selecting import made_selector
from toys import Pig


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


class Climb:
    """A problem in plain Python, sampled in Python."""

    def root(self):
        return (0, 0)

    def children(self, state):
        return [(state[0] + 1, state[1]), (state[0] + 1, state[1] + 1)]

    def is_terminal(self, state):
        return state[0] == 5

    def sample(self, state, rng):
        return float(rng.random() < 0.3 + 0.1 * state[1])


class Peaks(Climb):
    """The same with exact values."""

    def exact(self, state):
        return 0.2 + 0.1 * ((7 * state[1]) % 6)


def lattice(**settings):
    return FeatureLattice(KNNOracle(*make_linear(80, 10, seed=1, return_X_y=True)), max_features=4, **settings)


def for_estimator():
    X, y = make_linear(80, 10, seed=1, return_X_y=True)
    return FeatureLattice(EstimatorOracle(X, y, estimator=GaussianNB()), max_features=4)


SEARCHES = {
    **{f"bound {name}": (best_leaf, problems.paper_lattice, {"bound": name, "epsilon": 0.25}) for name in BOUNDS},
    "rate that grows": (best_leaf, problems.paper_lattice, {"bound": "beta1", "expansion": 0.6}),
    "paper": (best_arm, problems.paper_lattice, {"bound": "beta2", "stopping": "paper", "expansion": 0.5}),
    "both": (best_arm, problems.paper_lattice, {"rule": "lucb_micro", "bound": "theory", "epsilon": 0.25}),
    "ugape": (best_arm, problems.paper_lattice, {"rule": "ugape", "expansion": 0.5}),
    "tree": (best_leaf, lambda: problems.Unrolled(problems.paper_lattice()), {"expansion": 0.6}),
    "two players": (best_leaf, lambda: problems.random_dag(3, two_player=True), {}),
    "two players that grow": (best_arm, lambda: problems.random_game_tree(1), {"expansion": 0.7}),
    "plan": (best_leaf, lambda: problems.random_dag(32, chance_share=0.6), {}),
    "plan that grows": (best_leaf, Pig, {"expansion": 0.7, "max_samples": 500}),
    "chance that grows": (best_arm, lambda: problems.random_dag(52, chance_share=0.5, layers=5), {"expansion": 0.7}),
    "some exact": (best_leaf, lambda: problems.random_dag(5, exact_share=0.5, width=6), {"expansion": 0.5}),
    "sampled in Python": (best_leaf, Climb, {"epsilon": 0.3}),
    "grown in Python": (best_arm, Climb, {"epsilon": 0.3, "expansion": 0.4}),
    "by rave": (best_leaf, lattice, {"proposal": "rave", "expansion": 0.5, "bound": "betting", "max_samples": 3000}),
    "at random": (best_leaf, lattice, {"proposal": "random", "expansion": 0.5, "max_samples": 3000}),
    "in batches": (best_leaf, problems.paper_lattice, {"batch_size": 9, "expansion": 0.6}),
    "in batches in Python": (best_arm, Peaks, {"batch_size": 5, "expansion": 0.5}),
    "lattice in batches": (best_leaf, lattice, {"batch_size": 12, "expansion": 0.5, "bound": "betting"}),
    "estimator": (
        best_leaf,
        for_estimator,
        {"expansion": 0.5, "bound": "betting", "batch_size": 8, "max_samples": 400},
    ),
    "local": (best_leaf, lattice, {"guarantee": "local", "expansion": 0.5, "bound": "hoeffding"}),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_broken_off_ends_as_an_unbroken_one(name, path, monkeypatch, short_slices):
    search, problem, settings = SEARCHES[name]
    settings = {"epsilon": 0.1, "delta": 0.1, "seed": 3, "max_samples": 20_000, **settings}
    unbroken = of_result(search(problem(), **settings))
    for writes in (1, 2, 5, 13, 40):
        path.unlink(missing_ok=True)
        every = Checkpoint(path, every=0)
        broken_off(monkeypatch, lambda every=every: search(problem(), **settings, checkpoint=every), writes)
        assert of_result(search(problem(), **settings, checkpoint=path)) == unbroken
        assert of_result(search(problem(), **settings, checkpoint=path)) == unbroken  # over, and read again


SELECTIONS = {
    "default": {},
    "estimator": {"estimator": GaussianNB(), "max_samples": 700, "guarantee": "auto"},
    "grown": {"guarantee": "grown", "delta": 0.2},
    "groups": {"feature_groups": [[0, 1, 2], [3, 4], [5], [6, 7], [8], [9]], "include": [5], "guarantee": "grown"},
    "include and exclude": {"include": [1], "exclude": [7], "guarantee": "local"},
    "exhaustive": {"guarantee": "exhaustive", "max_features": 3},
    "rave": {"guarantee": "grown", "search": SearchOptions(proposal="rave")},
    "random": {"guarantee": "grown", "max_samples": 2000, "search": SearchOptions(proposal="random")},
    "best, not small": {"parsimony": 0, "guarantee": "local"},
    "rate": {"guarantee": "grown", "max_samples": 5000, "search": SearchOptions(bound="beta2")},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("name", SELECTIONS)
def test_a_selection_broken_off_ends_as_an_unbroken_one(name, regression, path, monkeypatch, short_slices):
    X, y = make_linear(60, 10, seed=2, return_X_y=True)
    y = X[:, 0] + X[:, 1] ** 2 if regression else y
    settings = {"epsilon": 0.03, "random_state": 1, **SELECTIONS[name]}
    if regression and "estimator" in settings:
        settings["estimator"] = Ridge()
    unbroken = of_selector(made_selector(choose="training", **settings).fit(X, y))
    for writes in (5, 40):
        path.unlink(missing_ok=True)
        often = made_selector(choose="training", **settings, checkpoint=Checkpoint(path, every=0))
        broken_off(monkeypatch, lambda often=often: often.fit(X, y), writes)
        resumed = made_selector(choose="training", **settings, checkpoint=path).fit(X, y)
        assert of_selector(resumed) == unbroken
        times = [row["seconds"] for row in resumed.history_]
        assert times == sorted(times)


def test_a_search_by_ask_and_tell_goes_on_where_it_was(path, monkeypatch):
    def answered(checkpoint):
        search = Search(
            problems.paper_lattice(),
            task="arm",
            rule="lucb_micro",
            epsilon=0.3,
            delta=0.1,
            seed=0,
            checkpoint=checkpoint,
        )
        while (leaf := search.ask()) is not None:
            half = search.state.first_value is not None
            search.tell(float(np.random.default_rng([search.samples, half, *leaf]).random() < 0.1 * sum(leaf)))
        return search

    unbroken = of_result(answered(None).result())[0]
    for writes in (2, 3, 50, 51):
        path.unlink(missing_ok=True)
        assert broken_off(monkeypatch, lambda: answered(Checkpoint(path, every=0)), writes)
        resumed = of_result(answered(Checkpoint(path, every=0)).result())[0]
        assert {**resumed, "settings": None} == {**unbroken, "settings": None}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("proposal", ["lookahead", "rave"])
@pytest.mark.parametrize("few", [20, 150, 161, 300, 650])
def test_more_samples_later_are_as_good_as_at_once(proposal, few, path):
    X, y = load_linear(return_X_y=True)
    settings = {
        "epsilon": 0.005,
        "delta": 0.1,
        "random_state": 0,
        "estimator": NeighbourVotes(scale=False),
        "search": SearchOptions(proposal=proposal),
    }
    first = made_selector(choose="training", **settings, checkpoint=path, search=SearchOptions(max_samples=few)).fit(
        X, y
    )
    assert of_selector(first) == of_selector(
        made_selector(choose="training", **settings, search=SearchOptions(max_samples=few)).fit(X, y)
    )
    again = made_selector(choose="training", **settings, checkpoint=path, search=SearchOptions(max_samples=few)).fit(
        X, y
    )
    assert of_selector(again) == of_selector(first)
    more = made_selector(choose="training", **settings, checkpoint=path, search=SearchOptions(max_samples=1200)).fit(
        X, y
    )
    assert of_selector(more) == of_selector(
        made_selector(choose="training", **settings, search=SearchOptions(max_samples=1200)).fit(X, y)
    )


def test_two_samples_a_round_and_an_odd_budget(path):
    settings = {"epsilon": 0.05, "delta": 0.1, "rule": "lucb_micro", "seed": 0}
    for problem in (problems.paper_lattice(), Climb()):
        path.unlink(missing_ok=True)
        for samples in (101, 500, 900):
            found = best_arm(problem, **settings, max_samples=samples, checkpoint=path)
            assert of_result(found) == of_result(best_arm(problem, **settings, max_samples=samples))


def test_a_finished_search_goes_on_for_a_smaller_epsilon_and_ends_at_once_for_a_larger(path):
    settings = {"delta": 0.1, "bound": "hoeffding", "checkpoint": path}
    coarse = best_leaf(problems.paper_lattice(), epsilon=0.2, seed=1, **settings)
    fine = best_leaf(problems.paper_lattice(), epsilon=0.1, **settings)
    assert fine.settings["seed"] == 1
    assert fine.samples > coarse.samples
    assert fine.identified
    assert fine.gap <= 0.1
    assert verify(fine.certificate)
    wide = best_leaf(problems.paper_lattice(), epsilon=0.3, **settings)
    assert (wide.samples, wide.settings["epsilon"]) == (fine.samples, 0.3)
    assert verify(wide.certificate)


def test_a_finished_selection_goes_on_for_a_smaller_epsilon(path):
    X, y = load_linear(return_X_y=True)
    settings = {"delta": 0.1, "checkpoint": path, "guarantee": ["local"], "estimator": NeighbourVotes(scale=False)}
    coarse = made_selector(choose="training", epsilon=0.02, random_state=5, **settings).fit(X, y)
    fine = made_selector(choose="training", epsilon=0.004, **settings).fit(X, y)
    assert fine.certificate_.seed == 5
    assert fine.certificate_.samples > coarse.certificate_.samples
    assert verify(fine.certificate_, X, y)


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


def test_after_ctrl_c_a_search_goes_on(path):
    X, y = load_diabetes(return_X_y=True)
    problem = FeatureLattice(KNNOracle(X, y, task="regression"), max_features=6)
    settings = {"epsilon": 0.01, "delta": 0.1, "expansion": 0.6, "bound": "betting", "seed": 0, "max_samples": 4000}

    pressed = []

    def interrupt(progress):
        if not pressed:
            pressed.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    broken = best_leaf(problem, **settings, checkpoint=path, callback=interrupt)
    assert broken.reason == "interrupted"
    assert of_result(best_leaf(problem, **settings, checkpoint=path)) == of_result(best_leaf(problem, **settings))


def test_the_result_does_not_depend_on_where_slices_end(monkeypatch):
    X, y = load_linear(return_X_y=True)
    settings = {
        "epsilon": 0.003,
        "delta": 0.1,
        "random_state": 0,
        "guarantee": "local",
        "estimator": NeighbourVotes(scale=False),
    }
    found = [of_selector(made_selector(choose="training", **settings).fit(X, y))]
    for seconds in (0.0001, 0.003):
        monkeypatch.setattr(Budget, "slice", seconds)
        found.append(of_selector(made_selector(choose="training", **settings).fit(X, y)))
    assert found[0] == found[1] == found[2]


PROGRAM = """
    import itertools, os, signal, sys
    from bestleaf import BestLeafSelector, Checkpoint, NeighbourVotes
    from bestleaf.paper import load_linear

    X, y = load_linear(return_X_y=True)
    calls, fsync = itertools.count(1), os.fsync

    def kill_instead(handle):
        if next(calls) == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(handle)

    os.fsync = kill_instead
    settings = {"epsilon": 0.004, "delta": 0.1, "estimator": NeighbourVotes(scale=False), "random_state": 0}
    BestLeafSelector(choose="training", **settings, checkpoint=Checkpoint(sys.argv[1], every=0)).fit(X, y)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_search_that_is_killed_while_it_saves_goes_on(path):
    X, y = load_linear(return_X_y=True)
    settings = {"epsilon": 0.004, "delta": 0.1, "random_state": 0, "estimator": NeighbourVotes(scale=False)}
    unbroken = of_selector(made_selector(choose="training", **settings).fit(X, y))
    for writes in (1, 2, 6):
        path.unlink(missing_ok=True)
        command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(path), str(writes)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        assert path.exists() == (writes > 1)
        if path.exists():
            read_file(path)  # complete, whenever it was
        assert of_selector(made_selector(choose="training", **settings, checkpoint=path).fit(X, y)) == unbroken
        assert {file.name for file in path.parent.iterdir()} <= {path.name}


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
    BestLeafSelector(choose="training", epsilon=0.1, random_state=0, checkpoint=path).fit(X, y)
    changed = X.copy()
    changed[3, 4] += 0.01
    with pytest.raises(ValueError, match="another search: its data are different"):
        BestLeafSelector(choose="training", epsilon=0.1, random_state=0, checkpoint=path).fit(changed, y)
    with pytest.raises(
        ValueError, match='another search: answer was "smallest evaluated leaf", got "best evaluated leaf"'
    ):
        BestLeafSelector(choose="training", epsilon=0.1, random_state=0, parsimony=0, checkpoint=path).fit(X, y)
    with pytest.raises(ValueError, match="another search: n_neighbors was 5, got 3"):
        BestLeafSelector(
            choose="training", estimator=NeighbourVotes(n_neighbors=3), epsilon=0.1, random_state=0, checkpoint=path
        ).fit(X, y)


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


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_a_stream_that_was_handed_in_goes_on(kind, path, monkeypatch, short_slices):
    def stream():
        return np.random.Generator(getattr(np.random, kind)(4))

    settings = {"epsilon": 0.15, "delta": 0.1}
    unbroken = of_result(best_leaf(Climb(), **settings, seed=stream()))
    often = Checkpoint(path, every=0)
    assert broken_off(monkeypatch, lambda: best_leaf(Climb(), **settings, seed=stream(), checkpoint=often), 2)
    kept = path.read_bytes()
    assert of_result(best_leaf(Climb(), **settings, checkpoint=path)) == unbroken
    path.write_bytes(kept)
    assert of_result(best_leaf(Climb(), **settings, seed=stream(), checkpoint=path)) == unbroken
    path.write_bytes(kept)
    with pytest.raises(ValueError, match="another search"):
        best_leaf(Climb(), **settings, seed=4, checkpoint=path)


def test_the_same_command_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = make_linear(60, 10, seed=2, return_X_y=True)
    rows = [",".join(map(str, [*row, label])) for row, label in zip(X, y, strict=True)]
    Path("table.csv").write_text("\n".join([",".join([*(f"x{n}" for n in range(10)), "label"]), *rows]))

    def select(*more):
        monkeypatch.setattr(
            sys, "argv", ["bestleaf", *["select", "table.csv", "--target", "label", "--choose", "training"], *more]
        )
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, capsys.readouterr()

    few = ["--checkpoint", "run.blf", "--guarantee", "grown"]
    code, told = select(*few, "--max-samples", "50", "--json", "a.json")
    assert code == 3
    assert "Going on" not in told.out
    code, told = select(*few, "--json", "b.json")
    assert code == 0
    assert "Going on from run.blf, saved after " in told.out
    assert select("--guarantee", "grown", "--json", "c.json")[0] == 0
    without_time = [text.read_text().split('"seconds"')[0] for text in (Path("b.json"), Path("c.json"))]
    assert without_time[0] == without_time[1]
    code, told = select(*few, "--random-state", "7")
    assert code == 2
    assert told.err == "bestleaf: run.blf is the checkpoint of another search: seed was 0, got 7\n"
    assert select("--checkpoint", "table.csv")[0] == 2
    assert select(*few, "--json", "run.blf", "--force-overwrite")[0] == 2
