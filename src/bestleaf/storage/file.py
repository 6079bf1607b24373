"""The file of a checkpoint: written whole or not at all, read without trust."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy

from bestleaf.files import replace_file

VERSION = 2
HEAD = re.compile(rb"bestleaf checkpoint (\d{1,9}) ([0-9a-f]{64})")
KINDS = tuple(np.dtype(kind) for kind in (np.float64, np.int64, np.uint64, np.uint8))


class File(dict[str, Any]):
    """The JSON of a checkpoint, with the arrays beside it."""

    arrays: dict[str, np.ndarray]


def write_file(path: Path, content: dict[str, Any]) -> None:
    """Replace the file at `path`; whenever this is killed, the old file or the new one is there, complete."""
    arrays: dict[str, np.ndarray] = {}
    plain = _split(content, "", arrays)
    text = json.dumps(plain, allow_nan=False, separators=(",", ":")).encode()
    body = BytesIO()
    np.savez(body, json=np.frombuffer(text, np.uint8), **arrays)  # type: ignore[arg-type]
    data = body.getbuffer()
    head = f"bestleaf checkpoint {VERSION} {hashlib.sha256(data).hexdigest()}\n"
    replace_file(path, head.encode(), data)


def _split(content: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return the content without its arrays, which are put aside under their places."""
    if not isinstance(content, dict):
        return content
    found = {}
    for key, value in content.items():
        if isinstance(value, np.ndarray):
            arrays[f"{name}{key}"] = np.ascontiguousarray(value)
        else:
            found[key] = _split(value, f"{name}{key}.", arrays)
    return found


def read_file(path: Path) -> File:
    """Return what is in a checkpoint, or say in one sentence why it is none."""
    head, _, data = path.read_bytes().partition(b"\n")
    match = HEAD.fullmatch(head)
    if match is None:
        raise ValueError(f"{path.name} is not a checkpoint of bestleaf: it does not begin like one")
    if int(match[1]) != VERSION:
        raise ValueError(
            f"{path.name} is a checkpoint of format {int(match[1])}, this version of bestleaf reads format {VERSION}"
        )
    if hashlib.sha256(data).hexdigest().encode() != match[2]:
        raise ValueError(f"{path.name} is not a checkpoint of bestleaf: it was damaged, its checksum is not right")
    try:
        return _parsed(data)
    except Exception as error:  # whatever is wrong in there, it is one sentence
        refuse(path, error)


def refuse(path: Path, error: Exception) -> NoReturn:
    """Say in one sentence that the content of a checkpoint is wrong."""
    told = " ".join(str(error).split())[:300] or type(error).__name__
    raise ValueError(f"{path.name} is not a checkpoint of bestleaf: {told}") from error


def _parsed(data: bytes) -> File:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("its arrays must not be compressed")
        if sum(member.file_size for member in members) > len(data):
            raise ValueError("its arrays are larger than the file")
        arrays = {member.filename.removesuffix(".npy"): _array(archive.read(member)) for member in members}
    content = json.loads(arrays.pop("json").tobytes(), parse_constant=_no_constant)
    if not isinstance(content, dict):
        raise ValueError("its content must be an object")
    found = File(content)
    found.arrays = arrays
    return found


def _array(data: bytes) -> np.ndarray:
    """Return the array of an .npy file whose size is what it says."""
    stream = BytesIO(data)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError("its arrays must be of format 1.0")
    shape, in_columns, kind = npy.read_array_header_1_0(stream)
    if kind not in KINDS or in_columns:
        raise ValueError(f"its arrays must hold plain numbers in rows, got {kind}")
    rest = data[stream.tell() :]
    many = 1
    for size in shape:
        many *= size
    if min(shape, default=1) < 0 or many * kind.itemsize != len(rest):
        raise ValueError("an array must have the size that it says")
    return np.frombuffer(rest, kind).reshape(shape) if many else np.zeros(shape, kind)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"its numbers must be finite, got {text}")
