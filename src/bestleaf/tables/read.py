"""Read tables from files: CSV, TSV (also compressed), Excel, ARFF, Parquet, Feather, .data with .labels beside it."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bestleaf.checks import cut, listed, shown
from bestleaf.proof.text import all_shown, first_of
from bestleaf.scikit import arff

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "spaces"}
LOOK = 20  # lines that tell the separator
NUMBER_WITH_COMMA = r"\s*[+-]?\d+(,\d+([eE][+-]?\d+)?)?\s*"
USUAL = "utf-8-sig"  # UTF-8, with or without a byte order mark
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # how a file in UTF-16 begins
BROKEN = (
    *(ValueError, OSError, EOFError, KeyError, TypeError, MemoryError, OverflowError, lzma.LZMAError, zlib.error),
    *(IndexError, csv.Error),
)
COMPRESSED: dict[str, Callable] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}  # by ending
CODE = rb'(?:^|[,;|\t\n ])"?0\d+"?[,;|\t\r\n ]'  # a number with zeros in front, as a cell of a text
SOME_ROWS, NAMED = 10_000, 6  # rows in which texts that became missing values are looked for; columns that are named
BLOCK = 2**24  # bytes that are searched for codes at a time


def read_frame(
    path: str | Path, *, missing: Iterable[str] = (), encoding: str | None = None, header: bool = True
) -> pd.DataFrame:
    """Return the table in a file: CSV, TSV, Excel, ARFF, Parquet, Feather, or ``.data`` with ``.labels`` beside it.

    Files of text may be compressed, as in ``.csv.gz``; their separator is found. Columns without a name are called
    "Unnamed: 0" and so on, by their place.

    Parameters
    ----------
    path : path-like
        The file; its ending says which kind of file it is.
    missing : list of str, default=()
        Cells with one of these texts have no value, such as "?"; so have empty cells and those with NA, NaN or null.
    encoding : str, default=None
        Encoding of a file of text, such as "cp1252"; None is UTF-8.
    header : bool, default=True
        Whether the first line has the names of the columns; if not, they are called "column 1" and so on.
    """
    path, markers = Path(path), checked_markers(missing)
    named = cut(str(path), 150)
    if not os.path.isfile(path):  # also if the name is too long
        raise FileNotFoundError(_no_file(path, named))
    kind = _kind_of_file(path)
    _check_settings(path, kind, encoding, header)
    try:
        if kind in SEPARATED:
            frame = _read_text(path, SEPARATED[kind], encoding or USUAL, markers, header)
        else:
            frame = without_markers(OTHERS[kind](path), markers)
    except ImportError:
        module = "openpyxl" if kind == ".xlsx" else "pyarrow"
        raise ValueError(f"reading {path.name} needs {module} (pip install {module})") from None
    except UnicodeError:
        raise ValueError(f"{named} cannot be read: {_not_text(path, encoding)}") from None
    except BROKEN as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise ValueError(f"{named} cannot be read: {cut(reason, 120)}") from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    frame.columns = [str(name).strip() for name in frame.columns.tolist()]
    if frame.empty:
        got = f"{len(frame)} rows of {frame.shape[1]} columns"
        raise ValueError(f"{cut(path.name, 100)} must have rows and columns, got {got}")
    if repeated := sorted(set(frame.columns[frame.columns.duplicated()])):
        rule = "must have a different name for every column"
        raise ValueError(f"{cut(path.name, 100)} {rule}, got {listed(repeated)} more than once")
    return frame


def _kind_of_file(path: Path) -> str:
    """Return the ending that says which kind of table a file holds; refuse an unknown one."""
    endings = [one.lower() for one in path.suffixes[-2:]]
    kind = endings[-1] if endings else ""
    if kind in COMPRESSED:
        kind = endings[0] if len(endings) == 2 and endings[0] in SEPARATED else ""
    if kind not in SEPARATED and kind not in OTHERS:
        kinds = f"{', '.join([*SEPARATED, *OTHERS])} (.csv and .tsv also with {', '.join(COMPRESSED)})"
        raise ValueError(f"the table must be one of {kinds}, got {shown(path.name)}")
    return kind


def checked_markers(missing: Iterable[str]) -> list[str]:
    """Return the texts that stand for a missing value, without spaces around them."""
    markers = [missing] if isinstance(missing, str) else list(missing)
    for marker in markers:
        if not isinstance(marker, str):
            raise TypeError(f"missing must list texts that stand for a missing value, got {shown(marker)}")
    return [marker.strip() for marker in markers]


def _check_settings(path: Path, kind: str, encoding: str | None, header: bool) -> None:
    """Refuse an encoding that Python does not know, and settings of text for a file that is no text."""
    if encoding is not None:
        try:
            "".encode(encoding)
        except (LookupError, TypeError, ValueError):
            known = "a text encoding that Python knows, such as utf-8 or cp1252"
            raise ValueError(f"encoding must be {known}, got {shown(encoding)}") from None
    for name, given, usual in (("encoding", encoding, None), ("header", header, True)):
        if kind not in SEPARATED and given != usual:
            raise ValueError(
                f"{name} must be {usual} for a file that is no CSV or TSV, got {shown(given)} for {path.name}"
            )


def _no_file(path: Path, named: str) -> str:
    """Return why a path is no file that can be read."""
    if not os.path.exists(path):
        return f"there is no file {named}"
    what = "a folder, not a file" if os.path.isdir(path) else "no ordinary file but a pipe or a device"
    return f"{named} is {what}{'' if os.path.isdir(path) else '; write its content into a file first'}"


def _not_text(path: Path, encoding: str | None) -> str:
    """Return what is wrong with a file that cannot be decoded, and what may help."""
    if encoding is not None:
        return f"it is not text in {encoding}"
    with _opened(path) as file:
        likely = "'utf-16'" if file.read(2) in UTF_16 else "'cp1252'"  # latin-1 has the same letters, and no euro sign
    return f"it is not text in UTF-8; encoding={likely} may be right"


def _opened(path: Path) -> Any:
    """Return the bytes of a file, uncompressed."""
    return COMPRESSED.get(path.suffix.lower(), open)(path, "rb")


def _read_text(path: Path, usual: str, encoding: str, markers: list[str], header: bool) -> pd.DataFrame:
    """Return a table of text, with a note if it is not separated as usual."""
    encoding = USUAL if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    with _opened(path) as file, io.TextIOWrapper(file, encoding, newline="") as lines:
        head = list(islice(lines, LOOK))
    if not "".join(head[:1]).strip():
        raise ValueError("it is empty")
    separator = _separator(head, usual, header)
    names = next(csv.reader(head, delimiter=separator, skipinitialspace=True))
    names = names if header else [f"column {place + 1}" for place in range(len(names))]
    how: dict[str, Any] = {
        "sep": separator,
        "encoding": encoding,
        "na_values": markers,
        "header": 0 if header else None,
    }
    frame = _separated(path, names, **how)
    notes: list[str] = []
    if separator != usual and frame.shape[1] > 1:
        notes.append(f"the file is separated by {SEPARATORS[separator]}")
        commas = [] if separator == "," else [name for name, one in frame.items() if _has_decimal_commas(one)]
        frame[commas] = frame[commas].apply(lambda column: column.str.replace(",", ".").astype(np.float64))
        if commas:
            notes[0] += f"; decimal commas in {first_of(all_shown(tuple(commas)), NAMED)}"
    notes += _read_as_missing(frame, path, names, how)
    if notes:
        frame.attrs["notes"] = tuple(notes)
    return _with_codes(frame, path, names, head, how)


def _read_as_missing(frame: pd.DataFrame, path: Path, names: list[str], how: dict[str, Any]) -> list[str]:
    """Return as a line which texts, such as "n/a", became missing values without being asked for."""
    if not (gaps := np.flatnonzero(frame.isna().any(axis=0).to_numpy()).tolist()):
        return []
    as_they_are = {"dtype": str, "keep_default_na": False, "usecols": gaps, "nrows": SOME_ROWS}
    found: dict[str, list[str]] = {}
    for place, (_, texts) in zip(gaps, _separated(path, names, **{**how, **as_they_are}).items(), strict=True):
        missing = frame.iloc[: len(texts), place].isna().to_numpy() & texts.notna().to_numpy()
        for text in dict.fromkeys(texts[missing].str.strip()):
            found.setdefault(text, []).append(names[place])
    found.pop("", None)
    told = [f"{shown(text)} in {first_of(all_shown(tuple(some)), NAMED)}" for text, some in found.items()]
    return [f"Read as missing: {'; '.join(told)}."] if told else []


def _with_codes(
    frame: pd.DataFrame, path: Path, names: list[str], head: list[str], how: dict[str, Any]
) -> pd.DataFrame:
    """Return a table with codes, whole numbers of one width of which some begin with a 0, as they are written."""
    rows = [row for row in csv.reader(head[how["header"] == 0 :], delimiter=how["sep"], skipinitialspace=True) if row]
    widths = ({len(cell.strip()) for cell in cells} - {0} for cells in zip_longest(*rows, fillvalue=""))
    kinds = zip(frame.dtypes, widths, strict=False)
    whole = [place for place, (one, some) in enumerate(kinds) if one.kind in "iuf" and len(some) < 2 and some != {1}]
    with _opened(path) as file:
        if not whole or not any(re.search(CODE, block) for block in iter(lambda: file.read(BLOCK), b"")):
            return frame
    texts = _separated(path, names, **how, dtype=str, usecols=whole)
    for place, (_, column) in zip(whole, texts.items(), strict=True):
        cells = column.dropna().str.strip()
        if cells.str.fullmatch(r"\d+").all() and cells.str.len().nunique() == 1 and cells.str.match(r"0\d").any():
            frame.isetitem(place, column.astype(object).where(column.notna(), np.nan))
    return frame


def _separator(head: list[str], usual: str, header: bool) -> str:
    """Return the separator that divides the first lines best: into as many cells each; commas may be decimal."""

    def agreement(separator: str) -> tuple[bool, float, int, bool]:
        cells = [len(row) for row in csv.reader(head, delimiter=separator, skipinitialspace=True) if row]
        return (
            cells[0] > 1,
            sum(many == cells[0] for many in cells) / len(cells),
            cells[0] if header else separator != ",",
            separator == usual,
        )

    marks = [one for one in SEPARATORS if one in head[0].strip()]
    plain = [one for one in marks if one != " "] or marks  # spaces stand inside of cells, too
    return max(plain, key=agreement, default=usual)


def _separated(path: Path, names: list[str], **how: object) -> pd.DataFrame:
    """Return the table. By default pandas would rename columns of the same name and cut long rows."""
    # Spaces after a separator belong to no value: a quoted cell, a number or a marker may follow.
    settings: dict[str, object] = {**how, "skipinitialspace": True, "low_memory": False, "index_col": False}
    with _opened(path) as file, warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(file, **settings)
        except pd.errors.ParserWarning:
            raise ValueError("it has rows with more cells than the first line") from None
    if len(names) == len(frame.columns):
        frame.columns = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(names)]
    return frame.copy()  # in one piece: a block for each column makes all that follows slow


def _has_decimal_commas(column: pd.Series) -> bool:
    """Whether a column is text only because its numbers are written as 1,5."""
    if column.dtype.kind in "biuf" or not column.notna().any():
        return False
    return bool(column.dropna().astype("string").str.fullmatch(NUMBER_WITH_COMMA).all())


def without_markers(frame: pd.DataFrame, missing: Iterable[str]) -> pd.DataFrame:
    """Return a table that was not read from text with missing values instead of the markers."""
    markers = checked_markers(missing)
    if not markers:
        return frame
    numbers = pd.to_numeric(pd.Series(markers), errors="coerce").dropna().tolist()
    found = frame.mask(frame.isin([*markers, *numbers]))
    for name in found.columns[found.isna().sum() > frame.isna().sum()]:
        if found[name].dtype.kind not in "biuf":  # it may have been text only because of the markers
            parsed = pd.to_numeric(found[name], errors="coerce")
            found[name] = parsed if (parsed.isna() == found[name].isna()).all() else found[name]
    return found


def read_pair(path: Path) -> pd.DataFrame:
    """Read numbers separated by spaces; the ``.labels`` file beside them becomes the column ``label``."""
    labels = path.with_suffix(".labels")
    for file in (path, labels):
        if not file.is_file():
            raise FileNotFoundError(f"there is no file {file}; a .data file needs a .labels file beside it")
    try:
        data, target = np.loadtxt(path, ndmin=2), np.loadtxt(labels, ndmin=2)[:, 0]
    except ValueError as error:
        raise ValueError(f"both files must hold numbers separated by spaces: {error}") from None
    if len(data) != len(target):
        raise ValueError(f"it has {len(data)} rows but its .labels file has {len(target)}")
    frame = pd.DataFrame(data, columns=[f"f{number}" for number in range(data.shape[1])])
    return frame.assign(label=target.astype(int) if (target == np.floor(target)).all() else target)


def read_arff(path: Path) -> pd.DataFrame:
    """Read a table of Weka; what is no number there is text here."""
    module = arff()
    try:
        found = module.loads(path.read_text("utf-8"))
    except module.ArffException as error:
        raise ValueError(str(error)) from None
    return pd.DataFrame(found["data"], columns=[name for name, _ in found["attributes"]])


SEPARATED = {".csv": ",", ".tsv": "\t", ".txt": "\t"}  # files of text, by ending, with the usual separator
OTHERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".xlsx": partial(pd.read_excel, engine="openpyxl"),
    ".arff": read_arff,
    ".parquet": pd.read_parquet,
    ".feather": pd.read_feather,
    ".data": read_pair,
}
