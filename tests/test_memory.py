"""Answers that are kept: a search that was stopped ends as if it had not been, and no file can do harm."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from bestleaf import BestLeafSelector, Search, SearchOptions, best_arm, best_leaf
from bestleaf.memory import FORMAT, MARK, Answers, Memory
from bestleaf.paper import load_linear
from genuine import table

X, Y = table(0)


class Slow:
    """Six leaves with noisy values; it counts how often it is asked."""

    def __init__(self, dies_after=None):
        self.asked, self.dies_after = 0, dies_after

    def root(self):
        return ()

    def children(self, state):
        return [(*state, move) for move in range(3 if state else 2)]

    def is_terminal(self, state):
        return len(state) == 2

    def sample(self, state, rng):
        if self.asked == self.dies_after:
            raise RuntimeError("killed")
        self.asked += 1
        return float(rng.random() < 0.3 + 0.1 * sum(state))


PROMISE = {"epsilon": 0.2, "delta": 0.1}


def found_by(result):
    """Return all of a result but its time."""
    return (result.answer, result.gap, result.samples, result.reason, result.leaves)


@pytest.mark.parametrize("further", [{}, {"batch_size": 8}], ids=["one by one", "in batches"])
@pytest.mark.parametrize("find", [best_arm, best_leaf])
def test_a_search_that_died_ends_bit_for_bit_and_asks_nothing_twice(tmp_path, find, further):
    whole = Slow()
    unbroken = find(whole, **PROMISE, seed=3, **further)
    for dies_after in (0, 1, 57, whole.asked - 1):
        file = tmp_path / f"{dies_after}.db"
        with pytest.raises(RuntimeError, match="killed"):
            find(Slow(dies_after), **PROMISE, seed=3, **further, memory=file)
        again = Slow()
        assert found_by(find(again, **PROMISE, seed=3, **further, memory=file)) == found_by(unbroken)
        kept = dies_after - dies_after % 8 if further else dies_after  # a batch counts whole or not at all
        assert again.asked == whole.asked - kept


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_every_random_stream_goes_on_where_it_was(tmp_path, kind):
    def stream():
        return np.random.Generator(getattr(np.random, kind)(5))

    unbroken = best_arm(Slow(), **PROMISE, seed=stream())
    best_arm(Slow(), **PROMISE, seed=stream(), memory=tmp_path / "run.db", max_samples=100)
    again = Slow()
    resumed = best_arm(again, **PROMISE, seed=stream(), memory=tmp_path / "run.db")
    assert found_by(resumed) == found_by(unbroken)
    assert again.asked == unbroken.samples - 100


def test_a_call_without_a_seed_has_the_seed_of_the_first_time(tmp_path):
    first = best_arm(Slow(), **PROMISE, memory=tmp_path / "run.db")
    again = Slow()
    assert found_by(best_arm(again, **PROMISE, memory=tmp_path / "run.db")) == found_by(first)
    assert again.asked == 0
    other = best_arm(Slow(), epsilon=0.2, delta=0.05, memory=tmp_path / "run.db")
    assert other.certificate.search.seed != first.certificate.search.seed


def test_samples_that_were_told_are_not_asked_for_again(tmp_path):
    def told(most, **further):
        problem, search = Slow(), Search(Slow(), task="leaf", **PROMISE, seed=1, **further)
        rng = np.random.default_rng(0)
        while problem.asked < most and (leaf := search.ask()) is not None:
            search.tell(problem.sample(leaf, rng))
        return search, problem.asked

    whole, asked = told(10**6)
    broken, _ = told(50, memory=tmp_path / "run.db")
    broken._memory.close()
    problem, search, rng = Slow(), Search(Slow(), task="leaf", **PROMISE, seed=1, memory=tmp_path / "run.db"), None
    rng = np.random.default_rng(0)
    rng.random(50)  # what the first run has drawn
    while (leaf := search.ask()) is not None:
        search.tell(problem.sample(leaf, rng))
    assert found_by(search.result()) == found_by(whole.result())
    assert problem.asked == asked - 50


SELECTIONS = {
    "votes": {"epsilon": 0.05, "search": SearchOptions(guarantee="grown", expansion=0.5)},
    "votes, local": {"epsilon": 0.05, "search": SearchOptions(guarantee="local", expansion=0.5)},
    "an estimator": {"estimator": GaussianNB(), "epsilon": 0.2},
    "all subsets": {"search": SearchOptions(guarantee="exhaustive"), "max_features": 3},
    "all subsets of an estimator": {
        "estimator": GaussianNB(),
        "search": SearchOptions(guarantee="exhaustive"),
        "max_features": 3,
    },
}


def selected(name, **further):
    """Return what a selection finds, but for its times."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = BestLeafSelector(choose="training", random_state=0, **SELECTIONS[name], **further).fit(X, Y)
    found = selector.certificate_
    return found.search, found.cost.samples, found.reason, selector.evaluated_, selector.subset_.tolist()


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_selection_after_another_budget_or_seed_ends_as_alone(tmp_path, name):
    alone, file = selected(name), tmp_path / "run.db"
    options = SELECTIONS[name].get("search", SearchOptions()).get_params()
    for most in (3, 40):
        cut = {"search": SearchOptions(**{**options, "max_samples": most})}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            settings = {**SELECTIONS[name], **cut}
            BestLeafSelector(choose="training", random_state=most, **settings, memory=file).fit(X, Y)
    assert selected(name, memory=file) == alone
    assert selected(name, memory=file) == alone


def test_another_run_finds_every_value_that_is_known(tmp_path, monkeypatch):
    file = tmp_path / "run.db"
    selected("an estimator", memory=file)
    monkeypatch.setattr("bestleaf.features.estimator.EstimatorOracle._plain_score", None)  # nothing is fitted
    assert selected("an estimator", memory=file)


RUN = textwrap.dedent("""
    import sys, time, warnings
    import numpy as np
    from sklearn.naive_bayes import GaussianNB
    from bestleaf import BestLeafSelector
    from bestleaf.paper import load_linear

    warnings.simplefilter("ignore")
    X, y = load_linear(return_X_y=True)
    settings = {"random_state": 0, "epsilon": 0.05, "max_features": 4}
    selector = BestLeafSelector(GaussianNB(), choose="training", **settings, memory=sys.argv[1] or None).fit(X, y)
    found = selector.certificate_
    print(found.cost.samples, found.search.gap.hex(), selector.score_.hex(), selector.subset_.tolist())
""")


def run(memory):
    return subprocess.Popen([sys.executable, "-c", RUN, str(memory)], stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_kills_and_two_processes_on_one_file_change_nothing(tmp_path):
    expected = run("").communicate()[0]
    assert expected
    file, rng = tmp_path / "run.db", np.random.default_rng(0)
    for _ in range(3):
        process = run(file)
        time.sleep(float(rng.uniform(2.0, 6.0)))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    both = [run(file), run(file)]
    assert [one.communicate()[0] for one in both] == [expected, expected]


# ---- files that cannot be written or are no memory


def test_a_full_disk_costs_one_warning_and_not_the_answer(tmp_path, monkeypatch):
    alone = best_arm(Slow(), **PROMISE, seed=0)

    class Full(sqlite3.Connection):
        def executemany(self, *_):
            raise sqlite3.OperationalError("database or disk is full")

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, **named, factory=Full))
    monkeypatch.setattr("bestleaf.memory.EVERY", 0.0)
    told = r"memory run.db cannot be written \(database or disk is full\); the work goes on without it"
    with pytest.warns(RuntimeWarning, match=told) as warned:
        found = best_arm(Slow(), **PROMISE, seed=0, memory=tmp_path / "run.db")
    assert found_by(found) == found_by(alone)
    assert len(warned) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="limits of the size of files are Unix's")
def test_a_limit_on_the_size_of_files_is_a_full_disk(tmp_path):
    script = textwrap.dedent("""
        import resource, signal, sys, warnings
        from bestleaf.memory import Memory

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        memory = Memory("run.db")
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))  # its index takes 32,768
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for number in range(3000):
                memory.put(number.to_bytes(16, "big"), bytes(50))
                if number % 100 == 0:
                    memory.write()
            memory.close()
        print(len(warned))
    """)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n", done.stderr
    assert Memory(tmp_path / "run.db").get((0).to_bytes(16, "big")) == bytes(50)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_folder_costs_one_warning(tmp_path):
    Memory(tmp_path / "run.db").close()
    tmp_path.chmod(0o500)
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        best_arm(Slow(), **PROMISE, seed=0, memory=tmp_path / "run.db")
    tmp_path.chmod(0o700)


def test_a_file_that_only_can_be_read_is_read(tmp_path, monkeypatch):
    best_arm(Slow(), **PROMISE, seed=0, memory=tmp_path / "run.db")
    monkeypatch.setattr(os, "access", lambda *_: False)
    problem = Slow()
    with pytest.warns(RuntimeWarning, match="it is read-only"):
        best_arm(problem, **PROMISE, seed=0, memory=tmp_path / "run.db")
    assert problem.asked == 0


def of_another_program(path):
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE people (name)")


def of_another_format(path):
    Memory(path).close()
    with sqlite3.connect(path) as base:
        base.execute(f"PRAGMA user_version={FORMAT + 1}")


def with_a_trigger(path):
    Memory(path).close()
    with sqlite3.connect(path) as base:
        base.execute("CREATE TRIGGER more AFTER INSERT ON answers BEGIN DELETE FROM answers; END")


def truncated(path):
    with Memory(path) as memory:
        for number in range(2000):
            memory.put(number.to_bytes(16, "big"), bytes(100))
    path.write_bytes(path.read_bytes()[:20_000])


def marked_only(path):
    with sqlite3.connect(path) as base:
        base.execute(f"PRAGMA application_id={MARK}")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda path: path.write_bytes(b"garbage" * 1000), "file is not a database"),
        (lambda path: path.write_bytes(os.urandom(5000)), "file is not a database"),
        (of_another_program, "it is a database of another program"),
        (of_another_format, f"has format {FORMAT + 1}, this version of bestleaf reads format {FORMAT}"),
        (with_a_trigger, "its tables are not those of a memory"),
        (truncated, "malformed"),
        (marked_only, "has format 0"),
        (lambda path: path.mkdir(), "must be a file, got"),
    ],
)
def test_a_file_that_is_no_memory_is_refused_and_stays_as_it_is(tmp_path, made, told):
    path = tmp_path / "run.db"
    made(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(ValueError, match=told):
        best_arm(Slow(), **PROMISE, memory=path)
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (3, "memory must be the path of a file or None, got 3"),
        ("", "memory must be the path of a file, got ''"),
        ("nowhere/run.db", "memory must be in a folder that exists, got 'nowhere/run.db'"),
        ("/dev/null", "must be a file"),
    ],
)
def test_a_memory_is_the_path_of_a_file(tmp_path, monkeypatch, given, told):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError), match=told):
        best_arm(Slow(), **PROMISE, memory=given)


def test_damaged_answers_are_computed_again(tmp_path):
    alone, file = best_arm(Slow(), **PROMISE, seed=0), tmp_path / "run.db"
    best_arm(Slow(), **PROMISE, seed=0, memory=file)
    with sqlite3.connect(file) as base:
        base.execute("UPDATE answers SET answer = cast('01234567{\"state\": 1}' AS BLOB)")
    assert found_by(best_arm(Slow(), **PROMISE, seed=0, memory=file)) == found_by(alone)


def test_states_that_cannot_be_told_apart_later_are_refused(tmp_path):
    class Odd(Slow):
        def root(self):
            return object

        def children(self, state):
            return [1, 2]

        def is_terminal(self, state):
            return state in (1, 2)

    with pytest.raises(TypeError, match="memory needs states made of numbers, text, None, tuples and frozensets, got"):
        best_arm(Odd(), **PROMISE, memory=tmp_path / "run.db")


def test_threads_share_a_file(tmp_path):
    def work(seed):
        return found_by(best_arm(Slow(), **PROMISE, seed=seed, memory=tmp_path / "run.db"))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [found_by(best_arm(Slow(), **PROMISE, seed=seed)) for seed in range(8)]


def test_numbers_are_kept_bit_for_bit(tmp_path):
    numbers = [0.1, 1 / 3, 5e-324, 1.0, 0.0, np.nextafter(0.5, 1.0)]
    with Memory(tmp_path / "run.db") as memory:
        answers = Answers(memory, "these data")
        for place, number in enumerate(numbers):
            answers.keep_number(answers.question("exact", place), number)
        answers.keep_number(answers.question("exact", "none"), None)
    with Memory(tmp_path / "run.db") as memory:
        answers, others = Answers(memory, "these data"), Answers(memory, "other data")
        assert [answers.number(answers.question("exact", place))[0] for place in range(6)] == numbers
        assert answers.number(answers.question("exact", "none")) == (None,)
        assert others.number(others.question("exact", 0)) is None


def test_an_own_linear_table_is_remembered_across_seeds(tmp_path, monkeypatch):
    data = load_linear(return_X_y=True)
    settings = {"choose": "training", "epsilon": 0.05, "max_features": 2, "memory": tmp_path / "run.db"}
    first = BestLeafSelector(random_state=0, **settings, search=SearchOptions(guarantee="local")).fit(*data)
    known = Memory(tmp_path / "run.db")._base.execute("SELECT count(*) FROM answers").fetchone()[0]
    assert known >= first.certificate_.cost.exact_evaluations


@pytest.mark.skipif(sys.platform == "win32", reason="limits of the size of files are Unix's")
def test_a_disk_that_is_full_before_the_file_is_made_costs_one_warning(tmp_path):
    script = textwrap.dedent("""
        import resource, signal, warnings
        from bestleaf.memory import Memory

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with Memory("run.db") as memory:
                memory.put(bytes(16), b"1")
                print(memory.get(bytes(16)))
        print(len(warned))
    """)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout in ("b'1'\n1\n", "None\n1\n"), done.stderr
