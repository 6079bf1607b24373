"""The one file that checks certificates: alone, in an empty folder, by the standard library; hostile files."""

from __future__ import annotations

import ast
import json
import math
import os
import random
import re
import subprocess
import sys
import typing
from pathlib import Path
from time import perf_counter

import msgspec
import pytest

from bestleaf import BestLeafSelector, best_arm, best_leaf
from bestleaf.problems import paper_lattice, random_dag, random_game_tree
from bestleaf.proof import check, record
from conftest import content_of
from forging import changed, mutated, sealed
from genuine import of_chance, of_choices, of_cycles, of_guarantees, table

FILE = Path(check.__file__)
SAMPLED = best_leaf(paper_lattice(), epsilon=0.2, delta=0.1, seed=0, expansion=0.5).certificate


def alone(file: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the checker as a stranger does: without site-packages, without bestleaf, in another folder."""
    command = [sys.executable, "-I", "-S", FILE, file]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


# ---- one file, the standard library, as many lines as a sceptic reads


def test_it_imports_the_standard_library_alone():
    tree = ast.parse(FILE.read_text(encoding="utf-8"))
    imports = [one for one in ast.walk(tree) if isinstance(one, ast.Import | ast.ImportFrom)]
    names = {name.name for one in imports if isinstance(one, ast.Import) for name in one.names}
    names |= {one.module or "" for one in imports if isinstance(one, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names
    assert not any(one.level for one in imports if isinstance(one, ast.ImportFrom))
    assert FILE.read_text(encoding="utf-8").count("\n") <= 700, "a sceptic reads it in an hour: it must not grow"


def parts_of(kind):
    """Yield the structs that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for inner in typing.get_args(kind):
        yield from parts_of(inner)


def test_it_knows_every_field_of_the_record_and_no_other():
    seen, waiting = {}, [("certificate", record.Certificate)]
    names = {"AllSubsetsClaim": "all subsets", "SearchClaim": "search", "LocalClaim": "local"}
    names |= {"NewRowsClaim": "new rows"}
    for name, struct in waiting:  # grows in this loop
        seen[name] = struct
        hints = typing.get_type_hints(struct, include_extras=False)
        for part in {one for kind in hints.values() for one in parts_of(kind)} - set(seen.values()):
            words = re.sub("(?<!^)([A-Z])", r" \1", part.__name__).lower()
            waiting.append((names.get(part.__name__, words), part))
    # What is taken as written, and how it is checked with the data: the record alone knows its form.
    told = {"cost", "told", "step", "table", "encoding", "neighbours", "estimator", "panel"}
    assert seen.keys() - told == check.FIELDS.keys()
    for name, struct in ((name, seen[name]) for name in check.FIELDS):
        required = {field.name: field.required for field in msgspec.structs.fields(struct)}
        if struct.__struct_config__.tag is not None:
            required[struct.__struct_config__.tag_field] = True
        if name == "certificate":
            required |= {"format": True, "format_version": True}
        assert {field: not optional for field, optional, _ in check.FIELDS[name]} == required, name


# ---- genuine files, forged ones, and their exit codes


def kinds():
    """Return one genuine certificate of every kind."""
    some = [SAMPLED, best_arm(random_game_tree(3, depth=2), epsilon=0.3, delta=0.1, seed=0).certificate]
    some.append(best_leaf(random_dag(3, exact_share=1.0), epsilon=0.1, delta=0.1, seed=0).certificate)
    some.append(BestLeafSelector(choose="training", random_state=0).fit(*table()).certificate_)
    return some + [list(made(0))[-1].certificate for made in (of_chance, of_cycles, of_guarantees, of_choices)]


def test_genuine_certificates_hold_without_bestleaf(tmp_path):
    (tmp_path / "empty").mkdir()
    for number, certificate in enumerate(kinds()):
        file = tmp_path / f"{number}.json"
        certificate.save(file)
        found = alone(file, tmp_path / "empty")
        assert found.returncode == 0, found.stdout + found.stderr
        assert found.stdout.startswith("The certificate holds.\nThe file is well formed, and its checksum is right.\n")
        assert "\nNot checked: " in found.stdout
        assert found.stdout.isascii()


def test_a_forged_file_is_refused_with_its_reason(tmp_path):
    file, content = tmp_path / "forged.json", content_of(SAMPLED)
    forged = changed(content, ("search", "gap"), 0.0)
    file.write_text(sealed(forged))
    found = alone(file, tmp_path)
    assert found.returncode == 1
    assert found.stdout.startswith("Refused: 'gap' follows from the leaves as ")
    file.write_text(json.dumps({**forged, "checksum": check.checksum(content)}))
    assert "the checksum is not that of the content" in alone(file, tmp_path).stdout
    assert len(check.main.__doc__.splitlines()) == 1
    assert check.main([str(file)]) == 1
    assert check.main([]) == check.main([str(file), str(file)]) == check.main([str(tmp_path / "none")]) == 2


# ---- hostile files

TEXT = sealed(content_of(SAMPLED))
UNREADABLE = {
    "no JSON": TEXT[:-9],
    "another thing": "[1, 2]",
    "nothing": "",
    "no text": b"\xff\xfe\x00",
    "deep": "[" * 100_000,
    "a field twice": TEXT.replace('"reason"', '"reason": "settled", "reason"'),
    "not a number": TEXT.replace('"delta": 0.1', '"delta": NaN'),
    "infinity": TEXT.replace('"delta": 0.1', '"delta": Infinity'),
    "another format": TEXT.replace('"format_version": 4', '"format_version": 3'),
    "no checksum": json.dumps(content_of(SAMPLED)),
    "a long number": TEXT.replace('"delta": 0.1', f'"delta": {"9" * 5000}'),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_ends_with_one_line(name, tmp_path, capsys):
    file, text = tmp_path / "file.json", UNREADABLE[name]
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert check.main([str(file)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_devices_pipes_and_endless_files_are_not_read(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    begun = perf_counter()
    assert check.main(["/dev/zero"]) == check.main([str(pipe)]) == check.main([str(tmp_path)]) == 2
    assert perf_counter() - begun < 5
    monkeypatch.setattr(check, "LARGEST", 1000)
    (tmp_path / "long").write_text(TEXT)
    assert check.main([str(tmp_path / "long")]) == 2


def test_unknown_fields_and_wrong_kinds_are_refused():
    content = content_of(SAMPLED)
    for path in ((), ("search",), ("search", "graph"), ("search", "leaves", 0)):
        forged = changed(content, (*path, "proved_twice"), True) if path else {**content, "proved_twice": True}
        assert 'unknown field "proved_twice"' in check.check(forged).reason
    for value in (None, "0.1", -0.1, 1.0, True, [], 1e999):
        assert (
            "'delta' of the search must be of kind fraction"
            in check.check(changed(content, ("search", "delta"), value)).reason
        )
    assert check.check({}).reason == "the field 'format' is missing in the certificate"
    assert not check.check(7).holds


def test_random_changes_never_end_in_a_traceback_and_never_say_more():
    rng = random.Random(0)
    for certificate in kinds():
        content = content_of(certificate)
        for _ in range(40):
            report = check.check(mutated(content, rng))
            assert report.holds or report.reason
            assert report.reason.isascii()


# ---- what only a closer look finds


@pytest.fixture(scope="module")
def judged():
    """Return a choice that test rows compared with five other sets."""
    return next(content_of(one.certificate) for one in of_choices(0) if one.name == "choice test rows of classes")


def test_a_seed_that_is_none_is_refused_at_once(judged):
    for seed in ("0", 0.5, 2**32, -1, True, None):  # looking for a text in a range would take minutes
        report = check.check(changed(judged, ("path", "seed"), seed))
        assert report.reason == "new_rows: seed of the path does not follow from the other fields"


def test_whoever_drops_the_last_rivals_gains_nothing_by_it_and_it_is_told(judged):
    table, new = judged["new_rows"]["table"], judged["new_rows"]
    assert "none of 5 other sets (of 5)" in check.check(judged).lines[1]
    fewer = changed(judged, ("new_rows", "table"), {**table, "sets": table["sets"][:5], "gains": table["gains"][:4]})
    fewer["reason"] = "max_time"

    def least(share):  # half of delta is for differences, half of that for all columns
        evidence, level = sum(table["score"][0]) / 2, new["delta"] / 8
        gains = check.ends_of(table["gains"][0], evidence, level, check.OF_DIFFERENCE)[0]
        shares = [
            check.ends_of(gain, evidence, new["delta"] / 4 / share, check.OF_DIFFERENCE) for gain in table["gains"][1:4]
        ]
        return 1 - 2 * min(gains, *(low for low, _ in shares))

    assert least(3) < least(4) < new["best_other"]
    report = check.check(changed(fewer, ("new_rows", "best_other"), least(3)))
    assert "an interval of new rows must have in it" in report.reason
    report = check.check(changed(fewer, ("new_rows", "best_other"), least(4)))
    assert "none of 4 other sets (of 5)" in report.lines[1]
    assert "why the work ended" in report.taken_as_written[0]
    assert "must be by all judges, about the sets of the path" in check.check({**fewer, "reason": "settled"}).reason


def test_an_end_of_an_interval_may_be_too_tight_by_a_billionth_and_no_more():
    content = content_of(SAMPLED)
    follows = 0
    for place, leaf in enumerate(content["search"]["leaves"]):
        if leaf["exact"] or not leaf.get("lower_evidence") or leaf["lower"] == 0:
            continue
        share, evidence = leaf["share"], leaf["lower_evidence"]
        low, high = leaf["lower"], evidence[1] / evidence[0]
        for _ in range(60):  # the largest end that follows
            middle = (low + high) / 2
            fine = check.betting("lower", middle, share, evidence)
            low, high = (middle, high) if fine else (low, middle)
        before = low - 1.1 * check.CLOSE  # follows without the margin
        count, weights = evidence[0], evidence[check.WEIGHTS]
        logs = [
            sum(w * math.log1p(bet * (node / before - 1)) for node, w in zip(check.GRID, weights, strict=True) if w)
            for bet in check.BETS
        ]
        assert check.log_mean(logs) >= math.log(2 / share), (place, count)
        follows += 1
    assert follows > 3
