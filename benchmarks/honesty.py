"""How honest the printed score of the choice is: on noise, on weak signals and on real tables.

The choice never sees the rows that tell the truth: with noise it is 0.5, with a signal 20,000 fresh rows give it, and
on real tables a quarter of the rows that is held out. Coverage is how often the truth is within the printed interval,
two standard errors on each side; where held-out rows tell it, their own standard error is added (raw coverage is
without it). A table's splits are parts of the same rows.

    python benchmarks/honesty.py --kinds noise,weak --workers 16
    python benchmarks/honesty.py --kinds real --tables-dir FOLDER --workers 16 --limit-total 240
    python benchmarks/honesty.py --summary

Each result is appended to --out at once. A second run with the same --out does only what is missing.
"""

from __future__ import annotations

import json
import warnings
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from time import process_time, time
from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from sklearn.impute import SimpleImputer
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from tables import WHEELS, load
from threadpoolctl import threadpool_limits

from bestleaf import BestLeafSelector
from bestleaf.proof.words_new_rows import intervals_of, like_guessing
from bestleaf.selection.data import Data
from bestleaf.selection.folds import Fold
from bestleaf.selection.judges import Panel
from bestleaf.selection.nested import by_rows
from bestleaf.selection.space import Space

KINDS = {
    "noise": ("noise-60x8", "noise-60x200", "noise-120x8", "noise-300x30"),
    "weak": ("weak-0.55", "weak-0.69"),
    "real": (
        *("Sonar", "Ionosphere", "SpectEW", "Lymphography", "HeartEW", "BreastEW", "CongressEW", "spectfheart"),
        *("ad_data", "dermatology", "german", "diabetes"),
    ),
}
FRESH = 20_000
INFORMATIVE, COLUMNS, ROWS = 2, 8, 120  # of weak signals
SPLITS = 10  # of a real table


class Case(NamedTuple):
    """Rows to choose by, and rows that tell the truth; none for noise."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray
    real: bool = False  # whether targets are real numbers


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


def real(name: str, seed: int, folder: Path) -> Case:
    """Return a real table, a quarter of which is held out."""
    table = load(name, folder)
    kind = ShuffleSplit if table.real else StratifiedShuffleSplit
    kept, aside = next(kind(1, test_size=0.25, random_state=seed).split(table.X, table.y))
    fill = SimpleImputer(strategy="median", keep_empty_features=True).fit(table.X[kept])
    X, X_new = (fill.transform(table.X[rows]) for rows in (kept, aside))
    return Case(X, table.y[kept], X_new, table.y[aside], table.real)


def case_of(kind: str, seed: int, folder: Path) -> Case:
    """Return one table of a kind."""
    what, _, size = kind.partition("-")
    if what == "noise":
        return noise(*map(int, size.split("x")), seed)
    return weak(float(size), seed) if what == "weak" else real(kind, seed, folder)


def result(case: Case, seed: int) -> dict[str, object]:
    """Return what is printed of the choice without options, and the truth about the columns chosen."""
    y, y_new = (one if case.real else one.astype(int).astype(str) for one in (case.y, case.y_new))
    begun = process_time()
    selector = BestLeafSelector(random_state=seed).fit(case.X, y)
    seconds, claim, path = process_time() - begun, selector.certificate_.new_rows, selector.certificate_.path
    interval, _ = intervals_of(claim)
    truth = {"truth": 0.5, "truth_error": 0.0}
    if len(y_new):
        truth = on_new_rows(case, y, y_new, np.flatnonzero(selector.support_), seed)
    return {
        "score": claim.score,
        "interval": interval,
        "guessing": like_guessing(claim),
        **truth,
        "columns": int(selector.support_.sum()),
        "as_chosen": next(row.score for row in path.rows if row.size == path.size),
        "seconds": seconds,
    }


def on_new_rows(case: Case, y: np.ndarray, y_new: np.ndarray, chosen: np.ndarray, seed: int) -> dict[str, float]:
    """Return the mean score of the judges on rows that tell the truth, for columns chosen, and its standard error."""
    units = tuple(range(case.X.shape[1]))
    names = np.array([f"x{unit}" for unit in units], object)
    space = Space(tuple((unit,) for unit in units), tuple(names), units, (), len(units))
    data = Data(np.vstack([case.X, case.X_new]), np.concatenate([y, y_new]), names)
    rows = np.arange(len(y))
    panel = Panel.of(None, None, data.part(rows), seed)
    part = panel.part(data, space, Fold(rows, np.arange(len(y), len(data.y))))
    places = np.arange(len(y_new))
    blocks = np.array_split(np.random.default_rng(seed).permutation(places), 20)
    some = [places, *(np.setdiff1d(places, block) for block in blocks)]
    scores = panel.scores_on(part, chosen, [len(chosen)], some)[:, :, 0].mean(axis=1)
    jackknife = float(np.sqrt(19 * np.var(scores[1:])))
    return {
        "truth": float(scores[0]),
        "truth_error": max(jackknife, by_rows(panel, part.new_y, None, float(scores[0]))),
    }


def summary(records: list[dict[str, object]]) -> str:
    """Return for each kind the bias of the score, how often the truth is within the interval, and what was said."""
    heads = ("kind", "tables", "score", "truth", "bias ± s.e.", "as chosen", "cover", "raw", "guess", "columns", "s")
    lines = [("{:<14}{:>7}{:>8}{:>8}{:>18}{:>10}{:>7}{:>7}{:>7}{:>9}{:>7}").format(*heads)]
    kinds = list(dict.fromkeys(str(one["kind"]) for one in records))
    for kind in sorted(kinds, key=lambda name: (name not in KINDS["noise"], name not in KINDS["weak"], name)):
        some = [one for one in records if one["kind"] == kind]
        score, truth, ours, columns, seconds, naive = (
            np.array([one[name] for one in some], float)
            for name in ("score", "truth", "truth_error", "columns", "seconds", "as_chosen")
        )
        low, high = np.array([one["interval"] for one in some], float).T
        raw = (low <= truth) & (truth <= high)
        width = 2 * np.hypot((score - low) / 2, ours)
        within = (np.abs(score - truth) <= width) | raw
        bias, guessing = score - truth, np.mean([bool(one["guessing"]) for one in some])
        error = bias.std(ddof=1) / len(some) ** 0.5 if len(some) > 1 else np.nan
        lines.append(
            f"{kind:<14}{len(some):>7}{score.mean():>8.3f}{truth.mean():>8.3f}{f'{bias.mean():+.4f} ± {error:.4f}':>18}"
            f"{naive.mean():>10.3f}{within.mean():>7.0%}{raw.mean():>7.0%}{guessing:>7.0%}{columns.mean():>9.1f}"
            f"{seconds.mean():>7.2f}"
        )
    return "\n".join(lines)


def done(work: tuple[str, int, Path, float]) -> dict[str, object] | None:
    """Return the record of one table; None if no time is left."""
    kind, seed, folder, ends = work
    if time() > ends:
        return None
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        return {"kind": kind, "seed": seed, **result(case_of(kind, seed, folder), seed)}


def in_turn(options: Namespace, known: set[tuple[str, int]]) -> Iterator[tuple[str, int, Path, float]]:
    """Yield what is missing, seed after seed."""
    ends = time() + options.limit_total
    for seed in range(max(options.tables, options.splits)):
        for kind in options.kinds:
            most = options.tables if kind.startswith(("noise-", "weak-")) else options.splits
            if seed < most and (kind, seed) not in known:
                yield kind, seed, options.tables_dir, ends


def main(options: Namespace) -> None:
    records = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    if not options.summary:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        _warm_up()
        todo = list(in_turn(options, {(one["kind"], one["seed"]) for one in records}))
        with get_context("fork").Pool(options.workers) as pool, options.out.open("a") as file:
            for record in filter(None, pool.imap_unordered(done, todo)):
                records.append(record)
                file.write(json.dumps(record) + "\n")
                file.flush()
    print(summary(records))


def _warm_up() -> None:
    """Compile what the choice needs, before there are several processes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    for y in (np.arange(80) % 2, np.arange(80) % 3):
        result(Case(X[:60], y[:60], X[60:], y[60:]), 0)
    result(Case(X[:60], X[:60, 0], X[60:], X[60:, 0], real=True), 0)


def listed(text: str) -> tuple[str, ...]:
    """Return names of kinds; "noise", "weak" and "real" are several."""
    return tuple(kind for name in text.split(",") for kind in KINDS.get(name, (name,)))


def parsed() -> Namespace:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", type=listed, default=listed("noise,weak,real"), help="or names of real tables")
    parser.add_argument("--tables", type=int, default=100, help="tables of each kind of noise and weak signal")
    parser.add_argument("--splits", type=int, default=SPLITS, help="splits of each real table")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--limit-total", type=float, default=float("inf"), help="seconds after which none is begun")
    parser.add_argument("--out", type=Path, default=Path("out/honesty.jsonl"), help="file of results")
    parser.add_argument("--tables-dir", type=Path, default=WHEELS, help="folder of tables, or of packages with them")
    parser.add_argument("--summary", action="store_true", help="only show the results of --out")
    return parser.parse_args()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(parsed())
