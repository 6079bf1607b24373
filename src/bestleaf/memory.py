"""Answers that were computed before, in one SQLite file; nothing in it is ever executed.

A search is a function of its seed and of answers: exact values, scores of folds, samples of a user's problem. So
nothing of its state has to be saved. The same call asks the same questions again, finds their answers here and goes on
where it was. Another call on the same data finds what it has in common with earlier ones. Numbers are kept bit for bit.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import warnings
from collections.abc import Hashable
from contextlib import suppress
from hashlib import blake2b, sha256
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

import bestleaf
from bestleaf.checks import shown
from bestleaf.files import check_regular

MARK = 0x6265734C  # the number by which SQLite knows our files
FORMAT = 1
TABLE = "CREATE TABLE answers (question BLOB PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID"
EVERY = 1.0  # seconds between two times that fresh answers are written
NUMBER = struct.Struct("<d")

Json = object  # numbers, text, booleans, None, and lists and objects of them


class Memory:
    """A file of answers by question; a context manager that writes what is left when it ends.

    A file that cannot be written costs one warning: what is in it is still read, and the work goes on. A file that is
    no memory is refused before the work begins, and stays as it is.

    Parameters
    ----------
    path : str or path
        The file; its folder must exist. It is created if it does not exist. Several processes may use it at a time.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _checked_path(path)
        self._fresh: dict[bytes, bytes] = {}  # answers that are not written yet
        self._written = monotonic()
        self._writes = True
        self._closed = True
        self._base: sqlite3.Connection | None = None
        self._open()

    def _open(self) -> None:
        """Open the file if it is closed."""
        if not self._closed:
            return
        self._closed = False
        try:
            self._base = self._opened()
        except (sqlite3.OperationalError, OSError) as error:
            self._give_up(error)
            self._base = self._opened_to_read()

    def _opened(self) -> sqlite3.Connection:
        """Return the connection to the file; a file that is no memory is refused."""
        base = sqlite3.connect(self.path, timeout=20.0, isolation_level=None, check_same_thread=False)
        try:
            if self._is_new(base):
                base.execute("BEGIN IMMEDIATE")
                if self._is_new(base):  # no other process was faster
                    base.execute(TABLE)
                    base.execute(f"PRAGMA application_id={MARK}")
                    base.execute(f"PRAGMA user_version={FORMAT}")
                base.execute("COMMIT")
            self._check(base)
            base.execute("PRAGMA journal_mode=WAL")
            base.execute("PRAGMA synchronous=NORMAL")
            if not os.access(self.path, os.W_OK):
                raise OSError("it is read-only")
        except BaseException:
            base.close()
            raise
        return base

    def _opened_to_read(self) -> sqlite3.Connection | None:
        """Return a connection that only reads; None if there is no file."""
        if not self.path.is_file() or not self.path.stat().st_size:  # the disk was full before anything was written
            return None
        try:
            base = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?immutable=1", uri=True, isolation_level=None, check_same_thread=False
            )
            self._check(base)
        except sqlite3.OperationalError:
            return None
        return base

    def _is_new(self, base: sqlite3.Connection) -> bool:
        try:
            return not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] and not _number(
                base, "application_id"
            )
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            raise self._refusal(str(error)) from None

    def _check(self, base: sqlite3.Connection) -> None:
        """Refuse a file that is not a memory of this format, or is damaged; it is only read here."""
        try:
            base.execute("PRAGMA trusted_schema=OFF")
            mark, version = _number(base, "application_id"), _number(base, "user_version")
            schema = [row[0] for row in base.execute("SELECT sql FROM sqlite_master")]
            if mark != MARK:
                raise self._refusal("it is a database of another program")
            if version != FORMAT:
                raise ValueError(
                    f"memory {self.path.name} has format {version}, this version of bestleaf reads format {FORMAT}; "
                    "give another file"
                )
            if schema != [TABLE]:
                raise self._refusal("its tables are not those of a memory")
            if base.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise self._refusal("it is damaged")
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            raise self._refusal(str(error)) from None

    def _refusal(self, why: str) -> ValueError:
        told = f"memory must be a file that bestleaf has written, or a new one, got {self.path.name}: {why}"
        return ValueError(f"{told}; nothing in it was changed")

    def _give_up(self, error: Exception) -> None:
        """Say once that nothing can be written any more."""
        if self._writes:
            self._writes = False
            words = " ".join(str(error).split())
            warnings.warn(
                f"memory {self.path.name} cannot be written ({words}); the work goes on without it",
                RuntimeWarning,
                stacklevel=3,
            )

    def get(self, question: bytes) -> bytes | None:
        """Return the answer to a question; None if it is not known."""
        self._open()
        if question in self._fresh or self._base is None:
            return self._fresh.get(question)
        try:
            row = self._base.execute("SELECT answer FROM answers WHERE question=?", (question,)).fetchone()
        except sqlite3.DatabaseError as error:
            self._base = None
            self._give_up(error)
            return None
        return row[0] if row is not None and isinstance(row[0], bytes) else None

    def put(self, question: bytes, answer: bytes) -> None:
        """Keep an answer; about once a second the fresh ones are written."""
        if not self._writes:
            return
        self._fresh[question] = answer
        if monotonic() - self._written >= EVERY:
            self.write()

    def write(self) -> None:
        """Write the fresh answers, all or none of them."""
        if self._fresh and self._writes:
            self._open()
        if self._fresh and self._writes and self._base is not None:
            try:
                self._base.execute("BEGIN IMMEDIATE")
                self._base.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", self._fresh.items())
                self._base.execute("COMMIT")
                self._fresh.clear()
            except sqlite3.DatabaseError as error:
                with suppress(sqlite3.DatabaseError):
                    self._base.execute("ROLLBACK")
                self._give_up(error)
        self._written = monotonic()

    def close(self) -> None:
        """Write what is left, and close the file; the next question opens it again."""
        self.write()
        self._closed = True
        if self._base is not None:
            with suppress(sqlite3.DatabaseError):
                self._base.close()
            self._base = None

    def __reduce__(self) -> tuple[type[Memory], tuple[Path]]:
        return Memory, (self.path,)  # a copy uses the same file

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Answers:
    """The answers about one problem: a view of a memory whose questions are those of this problem.

    Parameters
    ----------
    memory : Memory
        Where the answers are kept.
    about : Json
        What the answers depend on beside the question, such as the data and the objective. Answers of another version
        of bestleaf are not used, because they may differ in the last digit.
    """

    def __init__(self, memory: Memory, about: Json) -> None:
        self.memory = memory
        try:
            text = json.dumps([bestleaf.__version__, about], sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"fingerprint() of a problem must be something that JSON can hold: {error}") from None
        self._about = sha256(text.encode()).digest()

    @classmethod
    def of(cls, memory: Memory | None, problem: object) -> Answers | None:
        """Return the answers about a problem, which its fingerprint or its first moves tell from others."""
        return None if memory is None else cls(memory, described(problem))

    def question(self, kind: str, state: Hashable, *more: Json) -> bytes:
        """Return what stands for a question in the file."""
        text = json.dumps([kind, encoded(state), *more], separators=(",", ":"))
        return blake2b(text.encode(), key=self._about, digest_size=16).digest()

    def number(self, question: bytes) -> tuple[float | None] | None:
        """Return the number that answers a question, in a tuple; (None,) if the answer is that there is none."""
        answer = self.memory.get(question)
        if answer is None or len(answer) not in (0, NUMBER.size):
            return None
        return (NUMBER.unpack(answer)[0],) if answer else (None,)

    def keep_number(self, question: bytes, value: object) -> None:
        """Keep a number, or None; what is neither is not kept, because it will be refused."""
        if value is None:
            self.memory.put(question, b"")
        else:
            with suppress(TypeError, ValueError, struct.error):
                self.memory.put(question, NUMBER.pack(value))

    def drawn(self, question: bytes, rng: np.random.Generator) -> float | None:
        """Return a sample drawn before, and leave the random stream as it was after it; None if it is not known."""
        answer = self.memory.get(question)
        if answer is None or len(answer) <= NUMBER.size:
            return None
        try:
            rng.bit_generator.state = json.loads(answer[NUMBER.size :], object_hook=_with_arrays)
        except (ValueError, TypeError, KeyError, OverflowError):  # damaged: it is drawn again
            return None
        return float(NUMBER.unpack(answer[: NUMBER.size])[0])

    def keep_drawn(self, question: bytes, value: float, rng: np.random.Generator) -> None:
        """Keep a sample, and the random stream as the sample left it."""
        self.memory.put(question, NUMBER.pack(value) + json.dumps(stream_of(rng)).encode())

    def seed(self, seed: int, *asked: Json) -> int:
        """Return the seed that a call without a seed has used before; the first time, the one given."""
        question = self.question("seed", None, *asked)
        known = self.memory.get(question)
        if known is not None and known.isdigit():
            return int(known)
        self.memory.put(question, str(seed).encode())
        self.memory.write()
        return seed


def opened(given: str | os.PathLike[str] | Memory | None) -> Memory | None:
    """Return the memory at a path; a memory or None stays as it is."""
    return given if given is None or isinstance(given, Memory) else Memory(given)


def described(problem: Any) -> Json:
    """Return what tells a problem from others: its fingerprint, or its root and the children of the root."""
    name = type(problem).__qualname__
    if callable(getattr(problem, "fingerprint", None)):
        return [name, problem.fingerprint()]
    root = problem.root()
    return [name, encoded(root), [encoded(child) for child in problem.children(root)]]


def encoded(state: Hashable) -> Json:
    """Return a state as JSON: a tuple becomes a list, a frozenset becomes {"set": [...]}; refuse other objects."""
    if type(state) in (int, str, bool) or state is None or (type(state) is float and isfinite(state)):
        return state
    if type(state) is tuple:
        return [encoded(one) for one in state]
    if type(state) is frozenset:
        return {"set": sorted((encoded(one) for one in state), key=json.dumps)}
    if isinstance(state, np.bool_ | np.integer | np.floating):
        return encoded(state.item())
    raise TypeError(
        "memory needs states made of numbers, text, None, tuples and frozensets, "
        f"got {shown(state)} of type {type(state).__name__}"
    )


def stream_of(rng: np.random.Generator) -> Json:
    """Return the state of a random stream as JSON."""
    return json.loads(json.dumps(rng.bit_generator.state, default=lambda number: number.tolist()))


def _with_arrays(found: dict[str, Json]) -> dict[str, Json]:
    """Return a part of the state of a random stream with arrays in the place of lists."""
    return {name: np.array(one, np.uint64) if isinstance(one, list) else one for name, one in found.items()}


def _number(base: sqlite3.Connection, pragma: str) -> int:
    return int(base.execute(f"PRAGMA {pragma}").fetchone()[0])


def _checked_path(given: str | os.PathLike[str]) -> Path:
    """Return the path; refuse one that cannot be a file, before any work is done."""
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"memory must be the path of a file or None, got {shown(given)}")
    if not os.fspath(given) or "\0" in str(given):
        raise ValueError(f"memory must be the path of a file, got {shown(os.fspath(given))}")
    check_regular(Path(given))
    path = Path(os.path.realpath(given))
    if not path.parent.is_dir():
        raise ValueError(f"memory must be in a folder that exists, got {shown(os.fspath(given))}")
    return path
