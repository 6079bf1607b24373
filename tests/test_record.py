"""The record: made once, saved and read again as it was, refused in one sentence, put into words."""

from __future__ import annotations

import json
import os
import re

import msgspec
import numpy as np
import pytest

from bestleaf import Certificate, Search, best_arm, best_leaf, bounds, problems, verify
from bestleaf.problems import TableProblem, paper_lattice, random_dag, random_game_tree
from bestleaf.proof.record import schema
from bestleaf.proof.text import all_shown, part_name, visible
from bestleaf.proof.verify import OURS
from genuine import Flipped, Trap, table
from selecting import made_selector
from toys import Pig, cat_and_mouse, random_cyclic_graph

SETTINGS = {"epsilon": 0.2, "delta": 0.1, "seed": 0}
TRAP = {"epsilon": 0.02, "delta": 0.1, "expansion": 0.05}
HOUSE = {"a": "bd", "b": "ace", "c": "bfh", "d": "ae", "e": "bdf", "f": "cei", "h": "c", "i": "f"}
KINDS = {
    "whole graph": lambda: best_leaf(paper_lattice(), **SETTINGS),
    "grown": lambda: best_arm(random_dag(3, exact_share=0.5), **SETTINGS, expansion=0.4),
    "cut short": lambda: best_leaf(paper_lattice(), **SETTINGS, max_samples=60),
    "game": lambda: best_arm(random_game_tree(1, depth=3), **SETTINGS),
    "plan": lambda: best_leaf(Pig(turns=2, target=12), **SETTINGS),
    "cycles": lambda: best_arm(cat_and_mouse(HOUSE, {"h": 1.0, "i": 1.0}, mouse="a", cat="f"), **SETTINGS),
    "one step away": lambda: best_leaf(Trap(), guarantee="local", seed=0, **TRAP),
    "shared labels": lambda: best_leaf(problems.Unrolled(problems.ScoreLattice((0.1, 0.5, 0.9), 2)), **SETTINGS),
}


@pytest.fixture(scope="module", params=KINDS)
def genuine(request):
    return KINDS[request.param]().certificate


def fits(value, form, names):
    """Return whether a value is what a part of a JSON schema describes."""
    if "$ref" in form:
        return fits(value, names[form["$ref"].rsplit("/", 1)[-1]], names)
    if "anyOf" in form:
        return any(fits(value, one, names) for one in form["anyOf"])
    if "enum" in form:
        return value in form["enum"]
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int}
    kind = form.get("type")
    if not (type(value) in (int, float) if kind == "number" else kind is None or type(value) is kinds[kind]):
        return False
    if kind in ("number", "integer"):
        ends = (form.get("minimum", value), form.get("maximum", value))
        open_ends = (form.get("exclusiveMinimum", value - 1), form.get("exclusiveMaximum", value + 1))
        return ends[0] <= value <= ends[1] and open_ends[0] < value < open_ends[1]
    if kind == "string":
        return re.search(form.get("pattern", ""), value) is not None
    if kind == "array":
        items = [*form.get("prefixItems", ())] or [form.get("items", {})] * len(value)
        return len(items) == len(value) and all(fits(*pair, names) for pair in zip(value, items, strict=True))
    if kind == "object" and "properties" in form:
        known, needed = form["properties"], set(form.get("required", ()))
        there = needed <= value.keys() <= known.keys() and form.get("additionalProperties") is False
        return there and all(fits(one, known[name], names) for name, one in value.items())
    return kind != "object" or all(fits(one, form.get("additionalProperties", {}), names) for one in value.values())


def test_the_schema_describes_genuine_certificates(genuine):
    content, whole = json.loads(genuine.to_json()), schema()
    assert fits(content, whole, whole["$defs"])
    for name, wrong in (("reason", "certain"), ("remark", 1), ("search", {}), ("format_version", 3)):
        assert not fits({**content, name: wrong}, whole, whole["$defs"])


def test_a_record_is_read_again_as_it_was(genuine, tmp_path):
    genuine.save(tmp_path / "found.json")
    again = Certificate.load(tmp_path / "found.json")
    assert msgspec.structs.replace(again, checksum=None) == genuine
    assert str(again) == str(genuine)
    assert verify(again)
    assert verify(tmp_path / "found.json")
    assert verify(genuine)
    assert again.to_json() == genuine.to_json()
    with pytest.raises(AttributeError, match="immutable"):
        genuine.reason = "settled"
    changed = msgspec.structs.replace(again, reason="interrupted")
    assert "checksum" in str(verify(changed)), "a loaded record keeps the checksum that it had"


def test_labels_of_any_kind_survive_json():
    a, three = frozenset(["a"]), frozenset([np.int64(3)])
    odd = TableProblem({frozenset(): [a, three]}, {a: 1.0, three: 0.0}, root=frozenset())
    stream = np.random.Generator(np.random.RandomState(0)._bit_generator)  # any generator will do as a seed
    found = best_leaf(odd, epsilon=0.3, delta=0.1, seed=stream).certificate
    assert verify(Certificate.from_json(found.to_json()))


def test_what_is_no_certificate_is_said_to_be_none_in_one_sentence(tmp_path):
    text = KINDS["whole graph"]().certificate.to_json()
    old = '"format_version": 3'
    for given, words in (
        ("", "this is not a certificate: no JSON"),
        ("my thesis", "no JSON"),
        ("[1]", "this is not a certificate of bestleaf"),
        ('{"format": "another"}', "this is not a certificate of bestleaf"),
        (text.replace('"format_version": 4', old), "must have format version 4, got format version 3, of an older"),
        (text.replace('"gap":', '"gap": 0.0, "gap":', 1), "a part is written twice"),
        (text.replace('"gap":', '"gap": NaN, "lap":', 1), "NaN is no number of JSON"),
        (text.replace('"gap":', '"remark": 1, "gap":', 1), "unknown field `remark`"),
        (text.replace('"gap":', '"gap": 7.0, "lap":', 1), "Expected `float` <= 1.0"),
        (re.sub(r'"checksum": "\w+"', '"checksum": null', text), "must have a checksum, got none"),
        ("[" * 200_000, "this is not a certificate: no JSON"),
        ('{"format": ' + "1" * 10**6 + "}", "this is not a certificate"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)) as told:
            Certificate.from_json(given)
        assert len(str(told.value)) < 400
        (tmp_path / "file.json").write_text(given)
        with pytest.raises(ValueError, match=r"file\.json: .*"):
            Certificate.load(tmp_path / "file.json")


def test_devices_pipes_folders_and_huge_files_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        with pytest.raises(ValueError, match="must be a file to be read, got a device or a pipe"):
            verify(path)
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(257 * 10**6)
    with pytest.raises(ValueError, match="at most 256 MB"):
        Certificate.load(tmp_path / "large.json")
    with pytest.raises(IsADirectoryError):
        Certificate.load(tmp_path)


# ---- words


def test_a_part_without_a_name_or_with_one_of_ours_gets_another():
    assert part_name("<lambda>", bounds.BOUNDS, ours=False) == "unnamed"
    assert part_name("hoeffding", bounds.BOUNDS, ours=False) == "own_hoeffding"
    assert part_name("hoeffding", bounds.BOUNDS, ours=True) == "hoeffding"
    assert set(OURS) == set(bounds.BOUNDS)


def test_names_show_what_cannot_be_seen():
    assert visible("a\u200bb\n\u202ec \u00a0d") == r"a\u200bb\n\u202ec \xa0d"
    assert visible(r"a\u200b") == r"a\\u200b"
    assert visible("größe 2, 温度") == "größe 2, 温度"
    assert len(set(all_shown(("age", "age ", "age\u200b", "аge", "age\ufe0f", "a  ge", "a ge")))) == 7  # noqa: RUF001
    long = all_shown(("a" * 500, "a" * 501, "b" * 60 + "1" * 100))
    assert len(set(long)) == 3
    assert max(map(len, long)) < 150
    assert all_shown(("dose", "dоse"))[1] == r"d\u043ese"  # noqa: RUF001


def test_line_breaks_of_labels_and_names_are_not_lines_of_the_summary():
    evil = "a\nThe certificate holds.\nIt is certain that all is well."
    found = best_leaf(TableProblem({0: [evil, "b"]}, {evil: 0.9, "b": 0.1}), **SETTINGS).certificate
    assert found.answer_in_words().startswith(r"Best leaf: a\nThe certificate holds.\nIt is")
    assert len(found.summary().splitlines()) == 2 + len(found.claims)


def test_a_claim_about_a_graph_that_grew_says_so_in_its_first_words():
    found = best_arm(random_dag(4), epsilon=0.3, delta=0.1, seed=0, expansion=0.1, max_samples=5).certificate
    unfinished = sum(not leaf.terminal for leaf in found.search.leaves)
    among = f"among the {len(found.search.leaves)} candidates examined (the graph grew; {unfinished} of them are"
    assert found.claims[0].startswith(f"Not settled {among}")
    assert found.answer_in_words().startswith(f"Best arm {among}")
    assert "anything about states that are not in the graph" in found.not_claimed[0]


def test_what_is_certain_is_said_to_be_and_the_opponent_may_move_first():
    ends = {"won": 1.0, "drawn": 0.5}
    last_move = TableProblem({"root": list(ends)}, ends, root="root", opponent=["root"], exact_states=list(ends))
    arm = best_arm(last_move, epsilon=0.1, delta=0.1, seed=0).certificate
    told = "It is certain that no arm of the whole graph (2 leaves) is better for the opponent"
    assert arm.claims[0].startswith(told)
    flipped = best_arm(Flipped(random_game_tree(9, depth=2)), epsilon=0.2, delta=0.1, seed=9, expansion=0.4)
    assert "better for the opponent, who moves first," in flipped.certificate.claims[0]
    waiting = best_leaf(random_dag(3, exact_share=1.0), epsilon=0.1, delta=0.1, seed=0, max_samples=2).certificate
    assert "compared. It is certain that none of these is better" in waiting.claims[0]


def test_a_bound_without_proof_proves_nothing():
    found = best_leaf(paper_lattice(), **SETTINGS, bound="beta1").certificate
    assert "It seems that no leaf" in found.claims[0]
    assert "bound beta1 with stopping sound has no proof" in found.claims[0]


def test_play_without_end_is_told():
    silent = best_arm(random_cyclic_graph(1, two_player=True), **SETTINGS, max_samples=500).certificate
    assert "counts against the one who could leave" in silent.not_claimed[0]


def test_words_of_columns_are_made_from_the_limits():
    X, y = table(0)
    settings = {"epsilon": 0.02, "guarantee": "local", "random_state": 0, "expansion": 0.5, "choose": "training"}
    limited = made_selector(max_features=2, exclude=[1, 2], **settings).fit(X, y).certificate_
    local = next(claim for claim in limited.claims if "No single column" in claim)
    assert "No single column of the 4 allowed added, dropped or exchanged" in local
    assert "at most 2 of 4 allowed of 6 columns; excluded: x1, x2)" in str(limited)
    assert limited.answer_in_words().splitlines()[1].startswith("Training value ")
    forced = made_selector(include=[3], **settings).fit(X, y).certificate_
    assert any("with x3 always in" in claim for claim in forced.claims)
    settings |= {"exclude": [1], "guarantee": "exhaustive", "expansion": None}
    whole = made_selector(**settings).fit(X, y).certificate_
    assert "All 31 subsets that may be chosen were evaluated (5 allowed of 6 columns; excluded: x1)" in str(whole)
    assert verify(whole, X, y)


# ---- guarantees


def test_best_leaf_gives_local_guarantees():
    plain, found = best_leaf(Trap(), seed=0, **TRAP), best_leaf(Trap(), guarantee="local", seed=0, **TRAP)
    assert (plain.lower, found.lower) == (0.29, 1.0)
    assert found.certificate.local is not None
    assert "one step away, as the problem lists them" in str(found.certificate)
    assert "anything more about states" in str(found.certificate)
    assert verify(found.certificate)


def test_guarantees_that_cannot_be_given_are_refused():
    class Game(Trap):
        def maximizes(self, state):
            return len(state) != 1

    settings = {"epsilon": 0.02, "delta": 0.1}
    for problem, keywords, words in (
        (paper_lattice(), {"guarantee": "local"}, "method exact"),
        (paper_lattice(), {"guarantee": "exhaustive", "expansion": 0.3}, "expansion must be None"),
        (paper_lattice(), {"guarantee": "certain"}, "got 'certain'"),
        (random_dag(0, exact_share=1.0), {"guarantee": "local"}, "neighbours"),
        (Game(), {"guarantee": "local", "expansion": 0.05}, "an opponent"),
    ):
        with pytest.raises(ValueError, match=words):
            best_leaf(problem, **settings, **keywords)
    with pytest.raises(RuntimeError, match="use run"):
        Search(Trap(), task="leaf", guarantee="local", **TRAP).ask()
