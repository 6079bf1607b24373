"""A search that another process runs, as its checkpoint shows it."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bestleaf import Checkpoint, SearchOptions, best_arm, best_leaf, cli, problems
from bestleaf.checkpoint.file import Lock, in_use, read_file, write_file
from bestleaf.files import name_beside
from bestleaf.watch import serve, status, words
from bestleaf.watch.serve import page
from selecting import made_selector

NAMES = ["<script>alert(1)</script>", "größe", "c", "d", "e", "f"]


def fitted(path, **settings):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, len(NAMES))), columns=NAMES)
    y = (X.iloc[:, 0] + X.iloc[:, 1] + 0.5 * rng.normal(size=60) > 0).astype(int)
    return made_selector(random_state=0, checkpoint=Checkpoint(path, every=0), **settings).fit(X, y)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Checkpoints of searches that are over: by left-out rows, by the rows given, of a graph and of a game."""
    folder = tmp_path_factory.mktemp("watched")
    fitted(folder / "new.blf", cv=3)
    options = SearchOptions(expansion=0.5)
    fitted(folder / "rows.blf", choose="training", guarantee="grown", epsilon=0.05, search=options, max_samples=9000)
    best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0, checkpoint=folder / "graph.blf", max_time=60)
    game = problems.random_game_tree(3, depth=2)
    best_arm(game, epsilon=0.3, delta=0.1, seed=0, checkpoint=folder / "game.blf", max_samples=50)
    return folder


@pytest.fixture
def files(originals, tmp_path, monkeypatch):
    """A copy of them, which is the current folder."""
    for file in originals.iterdir():
        shutil.copy2(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["bestleaf", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code


def changed(path, change):
    """Change the content of a checkpoint."""
    found = read_file(path)
    change(found)
    write_file(path, {**found, **found.arrays})


def test_a_selection_by_left_out_rows_tells_its_folds_and_its_search(files):
    now = status("new.blf")
    assert (now.problem, now.reason, now.running, now.over) == ("feature selection", "identified", False, True)
    assert (now.folds.done, now.folds.many) == (3, 3)
    assert [row["size"] for row in now.folds.path] == [1, 2, 3, 4, 5]
    assert all(len(row["features"]) == row["size"] and set(row["features"]) <= set(NAMES) for row in now.folds.path)
    assert 0.5 < now.folds.all_features < 1
    assert 0.8 < now.value <= 1
    text = "\n".join(words.lines(now))
    assert "Choice by left-out rows: 3 of 3 folds done. Highest mean left-out score so far: 0." in text
    assert f"with {words.best_size(now)} features" in text
    assert "The search is over: its answer is settled." in text


def test_a_selection_by_the_rows_given_tells_best_gap_and_budgets(files):
    now = status("rows.blf")
    assert now.folds is None
    assert (now.epsilon, now.max_samples) == (0.05, 9000)
    assert "<script>" in now.best
    assert now.gap <= 0.05
    assert now.leaves > 1
    assert [value for _, _, value in now.history][-1] == now.value
    text = words.lines(now)
    assert text[0].startswith(f"Best so far: {now.value:.4f}, {{<script>")
    assert text[1] == f"Gap: {now.gap:.4f}; settled at 0.05."
    assert f"left: {9000 - now.samples - now.exact_evaluations:,} samples." in text[3]


def test_other_searches_are_shown_as_well(files):
    graph, game = status("graph.blf"), status("game.blf")
    assert (graph.problem, graph.reason, graph.max_time) == ("ScoreLattice", "identified", 60)
    assert graph.gap <= 0.2
    assert graph.best
    assert 0 < graph.value < 1
    assert (game.reason, game.samples, game.max_samples) == ("max_samples", 50, 50)
    assert "The search is over: max_samples ended it." in words.lines(game)
    assert "0 samples" in words.lines(game)[-2]


def test_before_the_search_there_are_only_folds(files):
    Path("new.blf").unlink()

    def two_folds(content):
        content["scores"] = content["scores"][:2]
        content["told"]["max_time"] = 60.0

    changed(files / "new.blf.folds", two_folds)
    for given in ("new.blf", "new.blf.folds"):
        now = status(given)
        assert now.file == "new.blf"
        assert (now.reason, now.searching, now.folds.done, now.max_time) == (None, False, 2, 60)
        text = words.lines(now)
        assert text[0].startswith("Choosing by left-out rows: 2 of 3 folds done.")
        assert " of 60 s." in text[1]
        assert text[2] == "No process is running it now; the same command continues it."


def test_the_file_is_there_from_the_beginning_of_the_choice(tmp_path, monkeypatch):
    seen = []

    def stop(*given):
        seen.append(status(tmp_path / "run.blf"))
        raise RuntimeError("enough")

    monkeypatch.setattr("bestleaf.new_data.choosing.candidates_on", stop)
    with pytest.raises(RuntimeError, match="enough"):
        fitted(tmp_path / "run.blf", cv=3, max_time=50)
    assert (seen[0].running, seen[0].folds.done, seen[0].folds.many, seen[0].max_time) == (True, 0, 3, 50)
    assert words.lines(seen[0])[0] == "Choosing by left-out rows: 0 of 3 folds done."


def test_files_of_earlier_versions_are_shown(files):
    def older(content):
        for name in ("max_time", "progress", "told"):
            content.pop(name, None)

    for name in ("graph.blf", "new.blf.folds", "rows.blf"):
        changed(files / name, older)
    graph, folds = status("graph.blf"), status("new.blf").folds
    assert (graph.best, graph.value, graph.gap, graph.max_time) == (None, None, None, None)
    assert words.lines(graph)[0] == "Best so far: nothing yet."
    assert all(row["features"] == [] for row in folds.path)
    assert status("rows.blf").best


def test_a_gap_that_nothing_is_known_of_is_not_told(files):
    def unknown(content):
        for snapshot in content["snapshots"].values():
            note = snapshot["notes"][-1]
            note |= {"gap": 0.125, "score": 0.875}
            note.pop("looked_at", None)  # as in a file of an earlier version

    changed(files / "rows.blf", unknown)
    now = status("rows.blf")
    assert now.gap is None
    assert words.lines(now)[1] == "Gap: not known; settled at 0.05."


def test_whether_somebody_saves_to_the_file(files):
    file = files / "graph.blf"
    assert not in_use(file)
    lock = Lock(file)
    assert in_use(file)
    assert status(file).running
    assert not status(file).over
    lock.release()
    assert not in_use(file)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    name_beside(file, "lock").write_text(str(gone.pid))  # as a killed process leaves it
    assert not in_use(file)
    name_beside(file, "lock").write_text("")
    assert in_use(file)


def test_looking_changes_nothing(files):
    before = {path: path.read_bytes() for path in files.iterdir()}
    for name in ("new.blf", "rows.blf", "graph.blf"):
        status(name)
    assert {path: path.read_bytes() for path in files.iterdir()} == before


def test_a_file_that_is_being_replaced_is_always_whole(files):
    found, stop = read_file(files / "graph.blf"), threading.Event()

    def save():
        while not stop.is_set():
            write_file(files / "graph.blf", {**found, **found.arrays})

    saving = threading.Thread(target=save)
    saving.start()
    try:
        assert {status("graph.blf").reason for _ in range(50)} == {"identified"}
    finally:
        stop.set()
        saving.join()


WRONG = {
    "missing": (lambda path: path.unlink(), "there is no file"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "is a folder, not a file"),
    "a text": (
        lambda path: path.write_text("a,b\n1,2\n"),
        "is not a checkpoint of bestleaf: it does not begin",
    ),
    "empty": (lambda path: path.write_text(""), "graph.blf is not a checkpoint of bestleaf"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-9]), "it was damaged, its checksum is wrong"),
    "no identity": (lambda path: changed(path, lambda content: content.pop("identity")), "identity is missing"),
    "no snapshot": (lambda path: changed(path, lambda content: content["snapshots"].clear()), "not a checkpoint"),
    "strange numbers": (lambda path: changed(path, lambda content: content.update(epsilon="x")), "epsilon must be"),
    "strange progress": (
        lambda path: changed(path, lambda content: content["progress"].update(gap=7)),
        "progress.gap must be a number from -1 to 1, got 7",
    ),
    "folds": (lambda path: shutil.copy("new.blf.folds", path), "it has the folds of a choice by left-out rows"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_checkpoint_is_one_sentence(files, name, monkeypatch, capsys):
    make, told = WRONG[name]
    make(files / "graph.blf")
    assert run(monkeypatch, "watch", "graph.blf", "--once") == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.startswith("bestleaf: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--once", "--serve"], "--once and --serve exclude each other"),
        (["--port", "8000"], "--port needs --serve, got --port 8000"),
        (["--serve", "--port", "99999"], "--port"),
    ],
)
def test_wrong_options_are_one_sentence(files, options, told, monkeypatch, capsys):
    assert run(monkeypatch, "watch", "graph.blf", *options) == 2
    assert told in capsys.readouterr().err


def test_the_command_shows_it_once(files, monkeypatch, capsys):
    assert run(monkeypatch, "watch", "new.blf", "--once") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("new.blf: feature selection, over, saved ")
    assert "Left-out scores so far" in shown
    assert "\x1b" not in shown


def test_the_command_ends_with_the_search(files, monkeypatch, capsys):
    changed(files / "graph.blf", lambda content: content.update(reason=None))
    looks = []

    def time_passes(seconds):
        looks.append(seconds)
        if len(looks) == 3:
            changed(files / "graph.blf", lambda content: content.update(reason="identified"))

    monkeypatch.setattr("bestleaf.cli.watch.sleep", time_passes)
    assert run(monkeypatch, "watch", "graph.blf") == 0
    assert len(looks) == 3
    shown = capsys.readouterr().out
    assert shown.count("graph.blf: ScoreLattice, not running") == 1  # once for each time it was saved
    assert shown.count("graph.blf: ScoreLattice, over") == 1


def test_the_command_does_not_wait_for_a_search_that_was_killed(files, monkeypatch, capsys):
    changed(files / "graph.blf", lambda content: content.update(reason=None))
    monkeypatch.setattr("bestleaf.cli.watch.PATIENCE", 0.0)
    assert run(monkeypatch, "watch", "graph.blf") == 0
    assert "No process is running it now; the same command continues it." in capsys.readouterr().out


def test_ctrl_c_ends_looking(files, monkeypatch, capsys):
    changed(files / "graph.blf", lambda content: content.update(reason=None))

    def pressed(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("bestleaf.cli.watch.sleep", pressed)
    assert run(monkeypatch, "watch", "graph.blf") == 130


def test_further_searches_of_a_validation_are_named(files):
    for number in (1, 2, 4):
        shutil.copy("graph.blf", f"rows.blf.{number}")
    now = status("rows.blf")
    assert now.further == ["rows.blf.1", "rows.blf.2"]
    assert "Further searches beside it, to be watched by name: rows.blf.1, rows.blf.2." in words.lines(now)


def test_durations_in_words():
    assert [words.duration(seconds) for seconds in (-1, 0.4, 119, 125, 7200)] == [
        "0 s",
        "0 s",
        "119 s",
        "2 min 5 s",
        "2 h 0 min",
    ]


def test_looking_imports_neither_numba_nor_scikit_learn(files):
    code = "import sys; from bestleaf.watch import status; status('new.blf'); "
    code += "print({'numba', 'sklearn'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout.strip() == "set()"


@pytest.fixture
def server(files):
    with serve("new.blf") as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def asked(server, path="/", method="GET", host=None):
    """Return the answer of the server to a request, and its text."""
    connection = http.client.HTTPConnection(*server.server_address, timeout=20)
    try:
        headers = {} if host is None else {"Host": host}
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer, answer.read().decode()
    finally:
        connection.close()


def test_the_page_is_served_to_this_machine_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_address[1]}/"
    answer, text = asked(server)
    assert answer.status == 200
    assert "feature selection, over" in text
    assert "http" not in text.replace("http-equiv", "")
    for name in ("Content-Security-Policy", "X-Content-Type-Options", "Cache-Control"):
        assert answer.headers[name]
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_the_same_in_numbers(server):
    answer, text = asked(server, "/state.json")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("application/json")
    found = json.loads(text)
    assert found["folds"]["done"] == 3
    assert found["reason"] == "identified"
    assert found["over"] is True


@pytest.mark.parametrize(
    "path", ["/new.blf", "/../new.blf", "//new.blf", "/?", "/index.html", "/state.json/", "/%2e%2e/", "*"]
)
def test_nothing_else_is_served(server, path):
    answer, text = asked(server, path)
    assert answer.status == 404
    assert text == "There is / and /state.json.\n"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"])
def test_nothing_but_get_is_answered(server, method):
    assert asked(server, method=method)[0].status == 501


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "127.0.0.1:1", "localhost.example.org:80"])
def test_a_page_of_somebody_else_cannot_ask(server, host):
    answer, text = asked(server, "/state.json", host=host)
    assert answer.status == 403
    assert "feature" not in text


def test_names_of_columns_are_text(server):
    text = asked(server)[1]
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_the_page_tells_what_is_wrong_with_the_file(server):
    Path("new.blf").write_text("no")
    assert "new.blf is not a checkpoint of bestleaf" in asked(server)[1]
    assert "new.blf is not a checkpoint of bestleaf" in json.loads(asked(server, "/state.json")[1])["error"]


def test_a_search_without_a_history_has_a_page(files):
    assert "ScoreLattice, over" in page(status("graph.blf"))
    assert "<svg" in page(status("new.blf"))


def test_only_a_checkpoint_is_served(files, monkeypatch, capsys):
    assert run(monkeypatch, "watch", "nothing.blf", "--serve") == 2
    with serve("graph.blf") as taken:
        assert run(monkeypatch, "watch", "graph.blf", "--serve", "--port", str(taken.server_address[1])) == 2
    assert "--port must be a port that is free" in capsys.readouterr().err
