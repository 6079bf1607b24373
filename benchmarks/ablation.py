"""What each part of the choice brings: orders, judges, folds and the constants of the rule.

First everything is computed once for each table: the orders found on every fold, what the judges say of their
prefixes, and how good the sets of every size are on held-out rows. Then each variant of the rule takes milliseconds.

    python benchmarks/ablation.py --collect --tables development --splits 0,1,2,3,4 --workers 16 --limit-total 560
    python benchmarks/ablation.py

The held-out judges are 5 nearest neighbours, logistic regression (ridge regression for real targets) and LightGBM, or
scikit-learn's boosting where LightGBM is not installed, fitted to at most 1,500 rows.
"""

from __future__ import annotations

import pickle
import warnings
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import NamedTuple

import choice as suite
import numpy as np
from choice import JUNK, Key, Record, parts, rfecv, work
from rich.console import Console
from rich.table import Table as Shown
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import WHEELS, Table, listed

from bestleaf.features.ranking import auc
from bestleaf.search.budget import Budget
from bestleaf.selection.choice import sizes_of
from bestleaf.selection.data import Data
from bestleaf.selection.folds import Fold, Part, numbered, rounds_of, rows_to_choose_by
from bestleaf.selection.judges import Panel
from bestleaf.selection.orders import elimination, forward, pooled
from bestleaf.selection.space import Space
from bestleaf.tables.peers import Setting, mean_auc

MOST_ROWS = 1500  # that held-out judges are fitted to
console = Console(width=170, highlight=False)


def held_out_judges(real: bool) -> list[BaseEstimator]:
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier, LGBMRegressor

        boosting = (LGBMRegressor if real else LGBMClassifier)(n_estimators=60, n_jobs=1, verbose=-1, random_state=0)
    else:
        boosting = (HistGradientBoostingRegressor if real else HistGradientBoostingClassifier)(max_iter=60)
    linear = RidgeCV(np.logspace(-2, 3, 6)) if real else LogisticRegression(max_iter=200)
    near = (KNeighborsRegressor if real else KNeighborsClassifier)(5)
    return [make_pipeline(StandardScaler(), near), make_pipeline(StandardScaler(), linear), boosting]


class Truth:
    """How good sets are on held-out rows, by three models."""

    def __init__(self, table: Table, X: np.ndarray, kept: np.ndarray, aside: np.ndarray) -> None:
        rng = np.random.default_rng(0)
        self.kept, self.aside = rng.permutation(kept)[:MOST_ROWS], rng.permutation(aside)[: 2 * MOST_ROWS]
        self.X, self.y, self.real, self.known = X, table.y, table.real, dict[bytes, np.ndarray]()

    def of(self, columns: Sequence[int] | np.ndarray) -> np.ndarray:
        some = np.sort(np.asarray(columns, np.int64))
        if some.tobytes() not in self.known:
            known, new, found = self.X[np.ix_(self.kept, some)], self.X[np.ix_(self.aside, some)], []
            for model in held_out_judges(self.real):
                model.fit(known, self.y[self.kept])
                y = self.y[self.aside]
                found.append(model.score(new, y) if self.real else mean_auc(model, new, y))
            self.known[some.tobytes()] = np.array(found)
        return self.known[some.tobytes()]


def searched(part: Part, first: np.ndarray, steps: int = 12) -> np.ndarray:
    """Return an order in the way of the paper's search: leave-one-out AUC of 5 nearest neighbours, among 30 columns.

    It begins with the best pair of columns, then adds the best column; the other columns follow as in `first`.
    """
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(part.y))[:500]
    known, targets = part.known[np.ix_(rows, first[:30])], part.targets[rows]
    apart = (known[:, None, :] - known[None, :, :]) ** 2
    apart[np.arange(len(rows)), np.arange(len(rows))] = np.inf

    def value(distance: np.ndarray) -> float:
        near = np.argpartition(distance, min(5, len(rows) - 2), axis=1)[:, :5]
        means = targets[near].mean(axis=1)
        if part.real:
            return -float(((means - targets) ** 2).mean())
        each = [auc(one == 1, said) for one, said in zip(targets.T, means.T, strict=True) if 0 < one.sum() < len(rows)]
        return float(np.mean(each))

    many = known.shape[1]
    pairs = [(value(apart[:, :, a] + apart[:, :, b]), -a, -b) for a in range(min(many, 12)) for b in range(a)]
    best = max(pairs) if pairs else (0.0, 0, 0)
    chosen = list(dict.fromkeys([-best[1], -best[2]]))
    distance = apart[:, :, chosen].sum(axis=2)
    while len(chosen) < min(steps, many):
        left = [one for one in range(many) if one not in chosen]
        chosen.append(left[int(np.argmax([value(distance + apart[:, :, one]) for one in left]))])
        distance = distance + apart[:, :, chosen[-1]]
    begin = first[chosen].tolist()
    return np.array([*begin, *(one for one in first.tolist() if one not in begin)])


def by_slopes(part: Part) -> np.ndarray:
    """Return the columns in the order in which ridge regression drops the fifth with the smallest slopes."""
    left, tail = np.arange(part.known.shape[1]), list[int]()
    centred = part.targets - part.targets.mean(axis=0)
    while len(left) > 1:
        known = part.known[:, left]
        if len(left) <= len(known):
            slopes = np.linalg.solve(known.T @ known + 0.1 * len(known) * np.eye(len(left)), known.T @ centred)
        else:
            slopes = known.T @ np.linalg.solve(known @ known.T + 0.1 * len(left) * np.eye(len(known)), centred)
        left = left[np.argsort(-(slopes**2).sum(axis=1), kind="stable")]
        drop = max(1, len(left) // 5)
        tail, left = [*left[-drop:].tolist(), *tail], left[:-drop]
    return np.array([*left.tolist(), *tail])


def with_probes(data: Data, seed: int) -> tuple[Data, Space]:
    """Return the data with a shuffled copy of every column."""
    rng = np.random.default_rng([seed, 7])
    X = np.hstack([data.X, rng.permuted(data.X, axis=0)])
    return data._replace(X=X, names=np.arange(X.shape[1]).astype(str).astype(object)), whole(X)


def whole(X: np.ndarray) -> Space:
    every = tuple(range(X.shape[1]))
    return Space(tuple((one,) for one in every), tuple(f"x{one:05d}" for one in every), every, (), len(every))


def collected(folder: Path) -> Callable[..., Record]:
    """Return what computes everything about one table and split, and writes it to a file."""

    def do(table: Table, split: int, method: str, junk: str) -> Record:
        begun = process_time()
        kept, aside, X = parts(table, split, junk)
        if method == "rfecv":
            setting = Setting("regression" if table.real else "classification", None, split)
            support = np.flatnonzero(rfecv(X[kept], table.y[kept], setting))
            taken = process_time() - begun
            found = {"support": support, "held": Truth(table, X, kept, aside).of(support), "seconds": taken}
            (folder / file_of(Key(table.name, split, method, junk))).write_bytes(pickle.dumps(found))
            return {"columns": len(support), "seconds": taken}
        labels_of = table.y.astype(np.float64) if table.real else table.y.astype(str)
        names = np.array([f"x{one:05d}" for one in range(X.shape[1])], object)
        data = Data(X[kept], labels_of[kept], names)
        panel = Panel.of(None, None, data, split)
        labels = numbered(data.y, panel.classes)
        rows = rows_to_choose_by(labels, None, split)
        data, labels = data.part(rows), labels[rows]
        own, numbers = whole(data.X).by_content(data.X)
        sizes = sizes_of(1, len(numbers), len(numbers))
        rounds = rounds_of(data, labels, None, split, real=table.real)
        check = Budget().spent
        numbered_as = np.array(numbers)
        orders: dict[str, list[np.ndarray]] = {}
        scores: dict[str, list[np.ndarray]] = {}
        seconds = dict.fromkeys(("elimination", "forward", "judges", "search", "ridge", "probes"), 0.0)

        def timed(what: str, do: Callable[..., np.ndarray], *given: object) -> np.ndarray:
            start = process_time()
            found = do(*given)
            seconds[what] += process_time() - start
            return found

        for number, fold in enumerate(fold for some in rounds for fold in some):
            part = panel.part(data, own, fold)
            best = panel.scores(part, np.arange(len(numbers)), [len(numbers)])
            found = {
                "elimination": timed("elimination", elimination, part, check),
                "forward": timed("forward", forward, part, check),
                "ridge": timed("ridge", by_slopes, part),
            }
            if number < len(rounds[0]):
                found["search"] = timed("search", searched, part, found["elimination"])
            for name, order in found.items():
                judged = timed("judges", panel.scores, part, order, sizes[:-1])
                scores.setdefault(name, []).append(np.hstack([judged, best]))
                orders.setdefault(name, []).append(numbered_as[order])
        every = Fold(np.arange(len(data.y)), np.arange(1))
        on_all = panel.part(data, own, every)
        final = {
            name: numbered_as[forward(on_all, check)] if name == "forward" else pooled(found)
            for name, found in orders.items()
        }
        doubled, space = with_probes(data, split)
        probes = timed("probes", elimination, panel.part(doubled, space, every), check, 0.5)
        truth = Truth(table, X, kept, aside)
        held = {name: np.array([truth.of(order[:size]) for size in sizes]) for name, order in final.items()}
        known = {"table": table.name, "split": split, "junk": junk, "real": table.real, "rows": len(kept)}
        kind = {**known, "columns": table.X.shape[1]}
        record = dict(
            **kind,
            sizes=sizes,
            scores={k: np.array(v) for k, v in scores.items()},
            orders=orders,
            final=final,
            held=held,
            probes={"elimination": [probes]},
            seconds=seconds,
            folds=[(len(f.train), len(f.test)) for some in rounds for f in some],
        )
        (folder / file_of(Key(table.name, split, method, junk))).write_bytes(pickle.dumps(record))
        return {"columns": len(numbers), "seconds": process_time() - begun}

    return do


def file_of(key: Key) -> str:
    return f"{key.table}-{key.split}-{key.method}-{key.junk or 'plain'}.pkl"


def collect(options: Namespace) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    keys = [
        Key(name, split, method, junk)
        for name in options.tables
        for split in options.splits
        for method in options.methods
        for junk in options.junk
    ]
    suite._warm_up()
    folder, options.out = options.out, options.out / "log.jsonl"
    work([key for key in keys if not (folder / file_of(key)).exists()], options, collected(folder))


class Variant(NamedTuple):
    """The choice with another part; the defaults are those of the choice."""

    orders: tuple[str, ...] = ("elimination", "forward")
    judges: tuple[int, ...] = (0, 1, 2)  # of 5 nearest neighbours, ridge regression, extra trees
    folds: int | None = None  # how many; None for all rounds
    width: float = 0.4  # of the smoothing over the logarithm of the size; 0 for none
    unlike: float = 0.02  # of the smoothing over differences; 0 for none
    slack: float = 0.003
    guard: float = 0.01
    share: float = 0.5  # of the mean gain that a judge may lose in addition
    probes: float | None = None  # largest number of shuffled copies for each column that is chosen
    loss: float = 0.01  # what the limit by copies may cost

    def smoothed(self, sizes: np.ndarray, curve: np.ndarray) -> np.ndarray:
        if not self.width:
            return curve
        scale, mean = np.log(sizes), curve.mean(axis=0)
        far = (scale[:, None] - scale) / self.width
        unlike = (mean[:, None] - mean) / self.unlike if self.unlike else 0.0
        weights = np.exp(-0.5 * (far**2 + unlike**2))
        found = curve @ (weights / weights.sum(axis=0))
        found[:, -1] = 0.0
        return found

    def chosen(self, record: Record) -> tuple[str, int]:
        """Return the order and the place of the size."""
        sizes = np.array(record["sizes"])
        some = {name: record["scores"][name][: self.folds][:, list(self.judges)] for name in self.orders}
        curves = {name: (one - one[:, :, -1:]).mean(axis=0) for name, one in some.items()}
        width = np.gradient(np.log(sizes))
        order = max(self.orders, key=lambda name: (curves[name].mean(axis=0) * width).sum())
        curve = self.smoothed(sizes, curves[order])
        mean = curve.mean(axis=0)
        allowed = curve.min(axis=0) + self.share * np.maximum(mean, 0.0) >= -max(self.guard, self.slack)
        gains = np.where(allowed if allowed.any() else True, mean, -np.inf)
        place = int(np.argmax(gains >= gains.max() - self.slack))
        if self.probes is not None:
            real = record["probes"]["elimination"][0] < sizes[-1]
            ahead = np.array([np.cumsum(~real)[np.argmax(np.cumsum(real) >= size)] for size in sizes])
            inside = ahead <= self.probes * sizes
            limited = np.where(inside, mean, -np.inf)
            if not inside[place] and limited.max() >= mean[place] - self.loss:
                place = int(np.argmax(limited >= limited.max() - self.slack))
        return order, place

    def results(self, records: list[Record]) -> dict[str, np.ndarray]:
        """Return for each table (gain on held-out rows, columns, share of columns, share of junk)."""
        found: dict[str, list[tuple[float, ...]]] = {}
        for one in records:
            order, place = self.chosen(one)
            size = one["sizes"][place]
            junk = int((one["final"][order][:size] >= one["columns"]).sum())
            gain = float((one["held"][order][place] - one["held"][order][-1]).mean())
            found.setdefault(one["table"], []).append((gain, size, size / one["sizes"][-1], junk / size))
        return {name: np.mean(rows, axis=0) for name, rows in found.items()}


VARIANTS = {
    "the choice": Variant(),
    "elimination alone": Variant(orders=("elimination",)),
    "forward alone": Variant(orders=("forward",)),
    "and ridge elimination": Variant(orders=("elimination", "forward", "ridge")),
    "and the paper's search": Variant(orders=("elimination", "forward", "search")),
    "without neighbours": Variant(judges=(1, 2)),
    "without ridge": Variant(judges=(0, 2)),
    "without trees": Variant(judges=(0, 1)),
    "one round of folds": Variant(folds=5),
    "two rounds": Variant(folds=10),
    "no smoothing": Variant(width=0.0),
    "smoothing of 0.2": Variant(width=0.2),
    "smoothing over all": Variant(unlike=0.0),
    "parsimony 0": Variant(slack=0.0),
    "parsimony 0.001": Variant(slack=0.001),
    "parsimony 0.005": Variant(slack=0.005),
    "a judge may lose 0.005": Variant(guard=0.005),
    "a judge may lose 0.02": Variant(guard=0.02),
    "judges do not mind": Variant(guard=9.0),
    "no share of the gain": Variant(share=0.0),
    "limit by copies, up to 0.006": Variant(probes=0.5, loss=0.006),
    "limit by copies, up to 0.01": Variant(probes=0.2, loss=0.01),
    "limit by copies, at any cost": Variant(probes=0.1, loss=9.0),
}


def main(options: Namespace) -> None:
    warnings.simplefilter("ignore")
    if options.collect:
        collect(options)
        return
    files = [
        file for file in sorted(options.out.glob("*-curves-*.pkl")) if int(file.stem.split("-")[-3]) in options.splits
    ]
    records = [pickle.loads(file.read_bytes()) for file in files]
    records = [one for one in records if one["table"] in options.tables]
    for junk in options.junk:
        some = [one for one in records if one["junk"] == junk]
        shown = Shown(title=f"{len({one['table'] for one in some})} tables, {junk or 'no'} junk")
        for head in ("variant", "mean ± s.e.", "worst table", "columns", "share", "junk"):
            shown.add_column(head, justify="left" if head == "variant" else "right")
        for name, variant in VARIANTS.items() if some else ():
            found = variant.results(some)
            gain, columns, share, noise = np.array(list(found.values())).T
            worst = list(found)[int(np.argmin(gain))]
            error = gain.std(ddof=1) / len(gain) ** 0.5 if len(gain) > 1 else np.nan
            shown.add_row(
                *(name, f"{gain.mean():+.4f} ± {error:.4f}", f"{gain.min():+.4f} {worst}", f"{columns.mean():.1f}"),
                *(f"{np.exp(np.log(share).mean()):.3f}", f"{noise.mean():.1%}"),
            )
        console.print(shown)


def parsed() -> Namespace:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--collect", action="store_true", help="compute what the variants need")
    parser.add_argument("--tables", type=listed, default=listed("development"))
    parser.add_argument("--splits", type=lambda text: [int(one) for one in text.split(",")], default=[0, 1, 2, 3, 4])
    parser.add_argument("--junk", type=lambda text: text.split(","), default=["", "noise"], help=f"of {JUNK}, or empty")
    parser.add_argument("--methods", type=lambda text: text.split(","), default=["curves"], help="of curves, rfecv")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a table")
    parser.add_argument("--limit-total", type=float, default=float("inf"), help="seconds for all of them")
    parser.add_argument("--workers", type=int, default=1, help="tables at a time")
    parser.add_argument("--out", type=Path, default=Path("out/ablation"), help="folder of what was computed")
    parser.add_argument("--wheels", type=Path, default=WHEELS, help="folder of the packages with the tables")
    return parser.parse_args()


if __name__ == "__main__":
    main(parsed())
