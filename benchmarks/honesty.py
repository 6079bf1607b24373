"""How honest the score of the choice is: on noise, on weak signals and on real tables.

The choice never sees the rows that tell the truth: with noise it is 0.5, with a signal 20,000 fresh rows give it, and
on real tables a quarter of the rows that is held out. Coverage is how often the truth is within two standard errors.

    python benchmarks/honesty.py --kinds noise-60x8,noise-120x8 --tables 100
    python benchmarks/honesty.py --kinds weak-0.55,weak-0.69
    python benchmarks/honesty.py --kinds Sonar,HeartEW --tables 10
    python benchmarks/honesty.py --show

Each result is appended to --out at once. A second run with the same --out does only what is missing.
"""

from __future__ import annotations

import json
import warnings
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import norm
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedShuffleSplit
from tables import WHEELS, load
from threadpoolctl import threadpool_limits

from bestleaf.selection.choice import choose
from bestleaf.selection.data import Data
from bestleaf.selection.folds import Fold
from bestleaf.selection.judges import Panel
from bestleaf.selection.space import Space

KINDS = ("noise-60x8", "noise-60x200", "noise-120x8", "noise-300x30", "weak-0.55", "weak-0.69")
FRESH = 20_000
INFORMATIVE, COLUMNS, ROWS = 2, 8, 120  # of weak signals

console = Console(width=140, highlight=False)


class Case(NamedTuple):
    """Rows to choose by, and rows that tell the truth; none for noise."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray


def noise(rows: int, columns: int, seed: int) -> Case:
    """Return columns that have nothing to do with the labels."""
    rng = np.random.default_rng([seed, rows, columns])
    return Case(
        rng.normal(size=(rows, columns)), rng.permutation(np.arange(rows) % 2), np.zeros((0, columns)), np.zeros(0)
    )


def weak(auc: float, seed: int) -> Case:
    """Return two columns that together have some AUC, among noise."""
    rng = np.random.default_rng([seed, round(1000 * auc)])
    y = np.arange(ROWS + FRESH) % 2
    X = rng.normal(size=(len(y), COLUMNS))
    X[:, :INFORMATIVE] += norm.ppf(auc) * (2 / INFORMATIVE) ** 0.5 * y[:, None]
    return Case(X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:])


def real(name: str, seed: int, wheels: Path) -> Case:
    """Return a real table, a quarter of which is held out."""
    table = load(name, wheels)
    kept, aside = next(StratifiedShuffleSplit(1, test_size=0.25, random_state=seed).split(table.X, table.y))
    fill = SimpleImputer(keep_empty_features=True).fit(table.X[kept])
    return Case(fill.transform(table.X[kept]), table.y[kept], fill.transform(table.X[aside]), table.y[aside])


def case_of(kind: str, seed: int, wheels: Path) -> Case:
    """Return one table of a kind."""
    what, _, size = kind.partition("-")
    if what == "noise":
        return noise(*map(int, size.split("x")), seed)
    return weak(float(size), seed) if what == "weak" else real(kind, seed, wheels)


def result(case: Case, seed: int) -> dict[str, float]:
    """Return the honest score of the choice, its standard error, and the truth about the columns chosen."""
    X, y = np.vstack([case.X, case.X_new]), np.concatenate([case.y, case.y_new]).astype(int)
    names = tuple(f"x{one}" for one in range(X.shape[1]))
    units = tuple(range(X.shape[1]))
    space = Space(tuple((one,) for one in units), names, units, (), len(units))
    every = Data(X, y, np.array(names, object), {})
    rows = np.arange(len(case.y))
    data = every.part(rows)
    panel = Panel.of(None, None, data, seed)
    found = choose(data, space, panel, seed=seed)
    truth = 0.5
    if len(case.y_new):
        part = panel.part(every, space, Fold(rows, np.arange(len(case.y), len(y))))
        truth = float(panel.scores(part, found.units, [found.size]).mean())
    return {
        "score": found.nested.score,
        "error": found.nested.standard_error,
        "truth": truth,
        "columns": found.size,
        "as_chosen": float(found.score[:, found.sizes.index(found.size)].mean()),
    }


def show(records: list[dict[str, object]]) -> None:
    """Print for each kind the bias of the score, how often the truth is within two errors, and what was said."""
    table = Table(title="The honest score of the choice")
    for name in (
        "kind",
        "tables",
        "score",
        "truth",
        "bias",
        "as chosen",
        "within 2 s.e.",
        "no better than guessing",
        "columns",
    ):
        table.add_column(name, justify="left" if name == "kind" else "right")
    for kind in dict.fromkeys(str(one["kind"]) for one in records):
        some = [one for one in records if one["kind"] == kind]
        score, truth, error, columns, naive = (
            np.array([one[name] for one in some], float) for name in ("score", "truth", "error", "columns", "as_chosen")
        )
        bias, within = score - truth, np.abs(score - truth) <= 2 * error
        guessing = score - 2 * error <= 0.5
        table.add_row(
            *(kind, str(len(some)), f"{score.mean():.4f}", f"{truth.mean():.4f}"),
            f"{bias.mean():+.4f} ± {bias.std(ddof=1) / len(some) ** 0.5:.4f}" if len(some) > 1 else "",
            *(f"{naive.mean():.4f}", f"{within.mean():.0%}", f"{guessing.mean():.0%}", f"{columns.mean():.1f}"),
        )
    console.print(table)


def main(options: Namespace) -> None:
    records = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    done = {(one["kind"], one["seed"]) for one in records}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for seed in range(0 if options.show else options.tables):
        for kind in options.kinds:
            if (kind, seed) in done:
                continue
            record = {"kind": kind, "seed": seed, **result(case_of(kind, seed, options.wheels), seed)}
            records.append(record)
            with options.out.open("a") as file:
                file.write(json.dumps(record) + "\n")
    show(records)


def parsed() -> Namespace:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=KINDS, help="or names of real tables")
    parser.add_argument("--tables", type=int, default=100, help="tables of each kind, or splits of a real table")
    parser.add_argument("--out", type=Path, default=Path("out/honesty.jsonl"), help="file of results")
    parser.add_argument("--wheels", type=Path, default=WHEELS, help="folder of the packages with the tables")
    parser.add_argument("--show", action="store_true", help="only show the results of --out")
    return parser.parse_args()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main(parsed())
