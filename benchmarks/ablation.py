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

import choice as suite
import numpy as np
from choice import JUNK, Key, Record, parts, rfecv, work
from rich.console import Console
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
from bestleaf.selection.orders import Forest, elimination, forward, pooled
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
        final["again"] = numbered_as[elimination(on_all, check)]
        final["both"] = pooled([*orders["elimination"], *len(rounds[0]) * [final["again"]]])
        probes: dict[str, list[np.ndarray]] = {"elimination": [], "forward": []}
        shadows = []
        for number, fold in enumerate([every, *rounds[0][:4]]):
            doubled, space = with_probes(data.part(fold.train), split + number)
            part = panel.part(doubled, space, Fold(np.arange(len(fold.train)), np.arange(1)))
            probes["elimination"].append(timed("probes", elimination, part, check, 0.5))
            probes["forward"].append(forward(part, check))
            shadows.append(
                Forest(part, check, depth=12).grown(range(len(space.units)), 200, 60, split, predict=False)[0]
            )
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
            probes=probes,
            shadows=shadows,
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


def main(options: Namespace) -> None:
    warnings.simplefilter("ignore")
    if options.collect:
        collect(options)


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
