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

pytestmark = pytest.mark.slow

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
    return f"bestleaf checkpoint 3 {hashlib.sha256(body).hexdigest()}\n".encode() + body


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


KNOWN = "snapshots.0.known."
FIELDS = ("total", "lower", "upper", "evidence", "count", "order", "visits", "rounds", "grow_at", "opened", "deepened")


def crafted(name, found):
    """Yield (what is wrong, file with the right checksum)."""
    for field in FIELDS:
        place = KNOWN + field
        yield f"{field} below zero", replaced(found, place, at(11, -0.5) if field in FIELDS[:4] else at(3, -1))
        yield f"{field} cut", replaced(found, place, cast=lambda array: array[:-1])
        yield f"{field} missing", packed(found, {one: kept for one, kept in found.arrays.items() if one != place})
        yield f"{field} of bytes", replaced(found, place, cast=np.uint8)
    for field in FIELDS[:4]:
        yield f"{field} no number", replaced(found, KNOWN + field, at(11, np.nan))
        yield f"{field} too large", replaced(found, KNOWN + field, at(11, 7.0e300))
    busy = int(np.argmax(found.arrays[KNOWN + "count"]))
    lower, upper = found.arrays[KNOWN + "lower"][busy], found.arrays[KNOWN + "upper"][busy]
    strange = {"total": 0.0, "count": 10**9, "lower": lower + 0.9 * (upper - lower), "upper": lower}
    for field, value in strange.items():
        yield f"{field} of the leaf sampled most", replaced(found, KNOWN + field, at(busy, value))
    for field, value in (("opened", 1), ("order", 2), ("inner_order", 1)):
        yield f"one {field}", replaced(found, KNOWN + field, lambda array, value=value: array.fill(value))
    for words, change in crafted_texts(name).items():
        content = json.loads(json.dumps(found))
        change(content["snapshots"]["0"], content)
        yield words, packed(content, found.arrays)
    if name == "features":
        place = "snapshots.0.oracle."
        yield "sums beyond", replaced(found, place + "rave", at(0, 1e9))
        yield "a subset beyond", replaced(found, place + "kept_subsets", lambda array: array.fill(2**63))
        yield "gains not finite", replaced(found, "snapshots.0.growth.proposals.gains", at(1, np.nan))


def crafted_texts(name):
    """Return changes of what is text: each gets the snapshot and the whole file."""
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
    return changes


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


@pytest.mark.parametrize("name", SEARCHES)
def test_crafted_files_with_a_right_checksum_are_refused(name, whole, tmp_path):
    for words, data in crafted(name, unpacked(whole[name])):
        try:
            refused(name, data, tmp_path / "run.blf")
        except BaseException as error:
            raise AssertionError(words) from error


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
    assert "format 2" in refused("game", whole["game"].replace(b"checkpoint 3", b"checkpoint 2", 1), path)
    refused("game", packed([1], {}), path)
    refused("game", packed({}, found.arrays), path)
    refused("features", whole["game"], path)


def test_an_untouched_copy_is_taken(whole, tmp_path):
    path = tmp_path / "run.blf"
    for name, data in whole.items():
        found = unpacked(data)
        path.write_bytes(packed(found, found.arrays))
        assert read_file(path) == found
        assert SEARCHES[name](path).run().reason in ("settled", "max_samples")
