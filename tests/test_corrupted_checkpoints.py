"""Hundreds of checkpoints that are not right: each is refused in one sentence, none crashes or changes a result."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import zipfile

import numpy as np
import pytest

from bestleaf import Checkpoint, Search, problems
from bestleaf.checkpoint.file import File, read_file
from bestleaf.features import FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.paper import make_linear
from bestleaf.search.ask_tell import Inside
from bestleaf.search.stages import SmallerAnswer, SubsetsOfAnswers

LATTICE = FeatureLattice(KNNOracle(*make_linear(60, 12, seed=3, return_X_y=True), memory=2**20), max_features=4)


def features(path):
    """Return a search of subsets with all that one can have."""
    keywords = {"guarantee": "local", "expansion": 0.6, "bound": "betting", "max_samples": 3000}
    keywords["inside"] = Inside(stages=[SubsetsOfAnswers(LATTICE), SmallerAnswer(len)])
    return Search(LATTICE, task="leaf", epsilon=0.15, delta=0.1, seed=2, checkpoint=path, **keywords)


def game(path):
    """Return a search of a small graph that grows, some of its leaves exact."""
    problem = problems.random_dag(5, exact_share=0.5, width=6)
    settings = {"epsilon": 0.1, "delta": 0.1, "expansion": 0.5, "bound": "hoeffding", "seed": 1}
    return Search(problem, task="leaf", **settings, checkpoint=path)


SEARCHES = {"features": features, "game": game}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the bytes of the checkpoints of finished searches."""
    found = {}
    for name, search in SEARCHES.items():
        path = tmp_path_factory.mktemp(name) / "run.blf"
        search(Checkpoint(path)).run()
        found[name] = path.read_bytes()
    return found


def signed(body):
    """Return a file with the right checksum, whatever is in it."""
    return f"bestleaf checkpoint 2 {hashlib.sha256(body).hexdigest()}\n".encode() + body


def packed(content, arrays):
    """Return a file with these contents and the right checksum."""
    body = io.BytesIO()
    np.savez(body, json=np.frombuffer(json.dumps(content).encode(), np.uint8), **arrays)
    return signed(body.getvalue())


def refused(name, data, path):
    """Return the sentence with which a file is refused."""
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"^run\.blf is ") as told:
        SEARCHES[name](path).run()
    assert path.read_bytes() == data
    sentence = str(told.value)
    assert "\n" not in sentence
    return sentence


def test_damaged_files_are_refused(whole, tmp_path):
    rng = np.random.default_rng(0)
    for place in range(100):
        name = list(SEARCHES)[place % 2]
        data = bytearray(whole[name])
        if place % 4 == 3:
            del data[int(rng.integers(len(data))) :]
        else:
            for _ in range(1 + place % 5):
                data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        if bytes(data) != whole[name]:
            refused(name, bytes(data), tmp_path / "run.blf")


def at(place, value):
    """Return a change of one number of an array."""

    def change(array):
        array.reshape(-1)[place % max(1, array.size)] = value

    return change


FLOATS = ("total", "lower", "upper", "evidence")
COUNTS = ("count", "order", "visits", "rounds", "grow_at", "opened", "deepened")


KNOWN = "snapshots.0.known."


def crafted(whole):
    """Yield (what is wrong, name of the search, file with the right checksum)."""
    for name, data in whole.items():
        found = unpacked(data)
        for field in FLOATS:
            for value in (np.nan, -0.5, 7.0e300):
                yield f"{field} {value}", name, replaced(found, KNOWN + field, at(11, value))
        for field in COUNTS:
            yield f"{field} below zero", name, replaced(found, KNOWN + field, at(3, -1))
        for field in (*FLOATS, *COUNTS):
            yield f"{field} cut", name, replaced(found, KNOWN + field, cast=lambda array: array[:-1])
            yield f"{field} missing", name, without(found, KNOWN + field)
            yield f"{field} of bytes", name, replaced(found, KNOWN + field, cast=np.uint8)
        yield from crafted_numbers(name, found)
        yield from crafted_texts(name, found)


def crafted_numbers(name, found):
    count = found.arrays[KNOWN + "count"]
    busy, idle = int(np.argmax(count)), np.flatnonzero(count == 0)
    lower, upper = found.arrays[KNOWN + "lower"][busy], found.arrays[KNOWN + "upper"][busy]
    strange = {"total": 0.0, "count": 10**9, "lower": lower + 0.9 * (upper - lower), "upper": lower}
    for field, value in strange.items():
        yield f"{field} of the leaf sampled most", name, replaced(found, KNOWN + field, at(busy, value))
    if len(idle):
        yield "an interval from nothing", name, replaced(found, KNOWN + "upper", at(int(idle[0]), 0.5))
    for field, value in (("opened", 1), ("order", 2), ("inner_order", 1)):
        yield f"one {field}", name, replaced(found, KNOWN + field, lambda array, value=value: array.fill(value))
    if name == "features":
        place = "snapshots.0.oracle."
        yield "sums beyond", name, replaced(found, place + "rave", at(0, 1e9))
        yield "a subset beyond", name, replaced(found, place + "kept_subsets", lambda array: array.fill(2**63))
        yield "gains not finite", name, replaced(found, "snapshots.0.growth.proposals.gains", at(1, np.nan))


def crafted_texts(name, found):
    def edited(change):
        content = json.loads(json.dumps(found))
        change(content["snapshots"]["0"], content)
        return packed(content, found.arrays)

    changes = {
        "a state less": lambda one, file: one["states"].pop(),
        "a state twice": lambda one, file: one["states"].append(one["states"][-1]),
        "a state of nonsense": lambda one, file: one["states"].__setitem__(-1, {"__class__": "os.system"}),
        "another root": lambda one, file: one["states"].__setitem__(0, [5]),
        "states of text": lambda one, file: one.update(states="all"),
        "admitted beyond": lambda one, file: one.update(admitted=[10**9]),
        "growths below zero": lambda one, file: one["growth"].update(growths=-4),
        "another stream": lambda one, file: one["stream"].update(bit_generator="MT19937"),
        "no stream": lambda one, file: one.pop("stream"),
        "steps beyond": lambda one, file: one.update(step=99),
        "time below zero": lambda one, file: one.update(seconds=-1.0),
        "time without end": lambda one, file: one.update(seconds=float("inf")),
        "notes of nonsense": lambda one, file: one.update(notes=[[1]]),
        "fewer samples than leaves have": lambda one, file: one["known"].update(samples=1),
        "nothing created": lambda one, file: one["known"].update(created=0),
        "no identity": lambda one, file: file.pop("identity"),
        "another delta": lambda one, file: file["identity"].update(delta=0.5),
        "a list of snapshots": lambda one, file: file.update(snapshots=[one]),
    }
    if name == "features":
        changes |= {
            "a value too good": lambda one, file: one["values"][5].__setitem__(1, 0.99999),
            "a value twice": lambda one, file: one["values"].append(one["values"][0]),
            "a value of nothing": lambda one, file: one["values"].append([[77, -1], 0.1]),
            "a value less": lambda one, file: one["values"].pop(0),
            "a warm-up without end": lambda one, file: one["growth"]["proposals"].update(left=[[0, 10**15]]),
            "the best not evaluated": lambda one, file: one["growth"]["proposals"].update(best=[0, 99]),
            "a stage less": lambda one, file: one["stages"].pop("2"),
            "challengers not evaluated": lambda one, file: one["stages"]["2"].update(all=[[0, 1, -1], [9, 8, -1]]),
            "failed beyond": lambda one, file: one["stages"]["1"].update(failed=[10**7]),
            "a target above all bounds": lambda one, file: one["stages"]["1"].update(aim=[0, 7.0, 9]),
        }
    for words, change in changes.items():
        yield words, name, edited(change)


def unpacked(data):
    """Return the content of a file."""
    with zipfile.ZipFile(io.BytesIO(data.partition(b"\n")[2])) as archive:
        arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name))) for name in archive.namelist()}
    found = File(json.loads(arrays.pop("json").tobytes()))
    found.arrays = arrays
    return found


def replaced(found, name, change=lambda array: None, cast=lambda array: array):
    array = found.arrays[name].copy()
    change(array)
    return packed(found, {**found.arrays, name: cast(array)})


def without(found, name):
    return packed(found, {other: array for other, array in found.arrays.items() if other != name})


def test_crafted_files_with_a_right_checksum_are_refused(whole, tmp_path):
    for words, name, data in crafted(whole):
        try:
            refused(name, data, tmp_path / "run.blf")
        except BaseException as error:
            raise AssertionError(f"{words} in {name}") from error


class Payload:
    """Something that would run code if anyone unpickled it."""

    def __reduce__(self):
        return exec, ("raise SystemExit('code was run')",)


def test_nothing_in_a_file_is_run_or_blown_up(whole, tmp_path):
    path, found = tmp_path / "run.blf", unpacked(whole["game"])
    pickled = io.BytesIO()
    np.savez(pickled, json=np.array([Payload()], object))
    small = io.BytesIO()
    np.savez_compressed(small, json=np.zeros(10**7, np.uint8))
    liar = io.BytesIO()
    with zipfile.ZipFile(liar, "w") as archive:
        head = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999,), }"
        archive.writestr("json.npy", head.ljust(127) + b"\n")
    deep = b"[" * 100_000
    nested = io.BytesIO()
    np.savez(nested, json=np.frombuffer(deep, np.uint8))
    for body in (b"", b"PK", pickle.dumps(Payload()), *(one.getvalue() for one in (pickled, small, liar, nested))):
        refused("game", signed(body), path)
    assert "format 1" in refused("game", whole["game"].replace(b"checkpoint 2", b"checkpoint 1", 1), path)
    refused("game", packed([1], {}), path)
    refused("game", packed({}, found.arrays), path)
    refused("features", whole["game"], path)


def test_an_untouched_copy_is_taken(whole, tmp_path):
    path = tmp_path / "run.blf"
    for name, data in whole.items():
        found = unpacked(data)
        path.write_bytes(packed(found, found.arrays))
        assert read_file(path) == found
        assert SEARCHES[name](path).run().reason in ("identified", "max_samples")
