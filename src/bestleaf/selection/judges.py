"""Judges: models that say how good a set of columns is, by predicting rows that they were not fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from math import isfinite
from numbers import Real
from typing import Any, Literal, Protocol, cast

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor

from bestleaf.checks import sentence, shown
from bestleaf.features.estimator import ONE_THREAD, described, fits_with_weights, fitted_to, name_of, prepared
from bestleaf.features.kernels import forest
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.features.ranking import auc, concordance
from bestleaf.features.scoring import Score, Scoring, chosen_score
from bestleaf.selection.data import Data, task_for
from bestleaf.selection.folds import Fold, Part
from bestleaf.selection.orders import Check, Forest, Units
from bestleaf.selection.space import Space

TREES = 60
PENALTIES = np.array([1e-3, 1e-2, 1e-1, 1.0, 10.0])  # of ridge regression, times the number of rows


class Judge(Protocol):
    """A model that is fitted to the training rows of a part, and predicts the others."""

    name: str

    def outputs(self, part: Part, order: Units, sizes: Sequence[int], check: Check) -> np.ndarray:
        """Return [sizes, new rows, outputs] for the first units of an order; sizes rise."""


class NeighbourMeans:
    """The mean target of the nearest training rows."""

    def __init__(self, neighbours: int = 5, *, scale: bool = True) -> None:
        self.neighbours, self.scale = neighbours, scale
        self.name = f"{neighbours} nearest neighbours"

    def outputs(self, part: Part, order: Units, sizes: Sequence[int], check: Check) -> np.ndarray:
        """Return the means; distances of longer prefixes are those of shorter ones and what is added."""
        many = min(self.neighbours, len(part.y))
        near, which = np.empty(many), np.empty(many, np.int64)
        found = np.empty((len(sizes), len(part.new_y), part.targets.shape[1]))
        known, new = part.known, part.new
        if not self.scale:
            known, new = known * part.scale, new * part.scale
        block = max(1, 2**22 // len(known))  # distances that are computed at a time: 32 MB
        for begin in range(0, len(new), block):
            rows, done = new[begin : begin + block], 0
            distance = np.zeros((len(rows), len(known)))
            for place, size in enumerate(sizes):
                check()
                added = np.concatenate([part.columns[unit] for unit in order[done:size]])
                if begin == 0 or len(sizes) > 1:  # very many rows are only asked about one size
                    right = _beside(known[:, added])
                distance += _squared(rows[:, added], right)
                done = size
                out = found[place, begin : begin + block]
                forest.nearest_means(distance, part.targets, near, which, out)
        return found


def _squared(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the squared distances of rows, as one product of matrices."""
    return np.hstack([rows, (rows**2).sum(axis=1, keepdims=True), np.ones((len(rows), 1))]) @ right


def _beside(known: np.ndarray) -> np.ndarray:
    """Return the right side of that product."""
    return np.hstack([-2.0 * known, np.ones((len(known), 1)), (known**2).sum(axis=1, keepdims=True)]).T


class Ridge:
    """Ridge regression on the targets or on indicators of classes; generalised cross-validation sets the penalty."""

    name = "ridge regression"

    def outputs(self, part: Part, order: Units, sizes: Sequence[int], check: Check) -> np.ndarray:
        """Return the fits; products of columns are computed once for all prefixes."""
        columns = np.concatenate([part.columns[unit] for unit in order[: sizes[-1]]])
        known, new = part.known[:, columns], part.new[:, columns]
        ends = np.cumsum([len(part.columns[unit]) for unit in order[: sizes[-1]]])[np.array(sizes) - 1]
        middle = part.targets.mean(axis=0)
        centred = part.targets - middle
        few = ends[ends <= len(known)]
        products = known[:, : few.max(initial=0)].T @ known[:, : few.max(initial=0)]
        right, kernel, done = known.T @ centred, np.zeros((0, 0)), 0
        found = np.empty((len(sizes), len(new), centred.shape[1]))
        for place, end in enumerate(ends):
            check()
            if end <= len(known):
                found[place] = middle + new[:, :end] @ _slopes(products[:end, :end], right[:end], centred)
            else:
                kernel = known[:, done:end] @ known[:, done:end].T + (kernel if done else 0.0)
                found[place] = middle + new[:, :end] @ (known[:, :end].T @ _dual(kernel, centred, end))
                done = end
        return found


def _slopes(products: np.ndarray, right: np.ndarray, centred: np.ndarray) -> np.ndarray:
    """Return the slopes of ridge regression with at most as many columns as rows."""
    values, vectors = np.linalg.eigh(products)
    values, turned = np.maximum(values, 0.0), vectors.T @ right
    squares, rows = (turned**2).sum(axis=1), len(centred)
    penalties = rows * PENALTIES
    rest = [
        (centred**2).sum() - (squares * (2 / (values + one) - values / (values + one) ** 2)).sum() for one in penalties
    ]
    return vectors @ (turned / (values + _penalty(rest, values, penalties, rows))[:, None])


def _dual(kernel: np.ndarray, centred: np.ndarray, columns: int) -> np.ndarray:
    """Return the weights of rows that ridge regression gives with more columns than rows."""
    values, vectors = np.linalg.eigh(kernel)
    values, turned = np.maximum(values, 0.0), vectors.T @ centred
    squares, rows = (turned**2).sum(axis=1), len(centred)
    penalties = columns * PENALTIES
    rest = [((one / (values + one)) ** 2 * squares).sum() for one in penalties]
    return vectors @ (turned / (values + _penalty(rest, values, penalties, rows))[:, None])


def _penalty(rest: Sequence[float], values: np.ndarray, penalties: np.ndarray, rows: int) -> float:
    """Return the penalty of the smallest score of generalised cross-validation."""
    free = [rows - 1 - (values / (values + one)).sum() for one in penalties]
    return float(
        penalties[int(np.argmin([left / max(many, 1e-9) ** 2 for left, many in zip(rest, free, strict=True)]))]
    )


class Trees:
    """A small forest of extra trees."""

    name = "extra trees"

    def __init__(self, trees: int = TREES) -> None:
        self.trees = trees

    def outputs(self, part: Part, order: Units, sizes: Sequence[int], check: Check) -> np.ndarray:
        """Return the mean predictions of the trees; one forest is grown for each prefix."""
        grow, found = Forest(part, check, depth=14), []
        for size in sizes:
            units = sorted(order[:size])
            tried = int(np.ceil(sum(len(part.numbers_of[unit]) for unit in units) ** 0.5))
            found.append(grow.grown(units, self.trees, tried, part.seed, predict=True)[1])
        return np.stack(found)


class Fitted:
    """An estimator of the user's, fitted to every prefix."""

    def __init__(self, estimator: BaseEstimator, seed: int, *, decides: bool = False) -> None:
        self.estimator, self.decides, self.name = prepared(estimator, seed), decides, name_of(estimator)

    def fitted(self, part: Part, units: Units) -> BaseEstimator:
        """Return a clone, fitted to the training rows."""
        weights = part.data.weights
        more = {} if weights is None else {"sample_weight": weights[part.fold.train]}
        rows = part.raw(units, part.fold.train)
        with ONE_THREAD, self._in_one_sentence(f"be fitted to {rows.shape[1]} columns"):
            return fitted_to(rows, part.data.y[part.fold.train], self.estimator, **more)

    @contextmanager
    def _in_one_sentence(self, what: str) -> Iterator[None]:
        """Name the estimator in any error of it; a ValueError is such a sentence already if it names it."""
        try:
            yield
        except Exception as error:
            if isinstance(error, ValueError) and self.name in str(error):
                raise
            why = sentence(f"{type(error).__name__}: {error}", 200)
            raise ValueError(f"estimator {self.name} cannot {what}: {why}") from error

    def outputs(self, part: Part, order: Units, sizes: Sequence[int], check: Check) -> np.ndarray:
        """Return what ranks the rows: decisions or probabilities for each class, predictions for real targets.

        If the judge `decides`, it is 1 for the class predicted.
        """
        found = []
        for size in sizes:
            check()
            model = self.fitted(part, order[:size])
            with self._in_one_sentence(f"predict by {len(part.raw(order[:size], part.fold.test[:1])[0])} columns"):
                found.append(self._ranked(model, part, order[:size]))
            if not np.isfinite(found[-1]).all():
                raise ValueError(f"estimator {self.name} must predict finite numbers, got nan or infinity")
        return np.stack(found)

    def _ranked(self, model: BaseEstimator, part: Part, units: Units) -> np.ndarray:
        """Return the outputs of a fitted model for the new rows; 0 for a class that was not among the training rows."""
        rows = part.raw(units, part.fold.test)
        if part.classes is None:
            predicted = np.asarray(model.predict(rows), np.float64).reshape(len(rows), 1)
            return part.standard(predicted)
        methods = [name for name in ("decision_function", "predict_proba") if hasattr(model, name)]
        pairs = {name.rpartition("__")[2]: one for name, one in model.get_params().items()}
        if len(part.classes) > 2 and pairs.get("decision_function_shape") == "ovo":  # columns are pairs of classes
            if methods == ["decision_function"] and not self.decides:
                raise ValueError(f"{self.name} must decide for classes, not for pairs: decision_function_shape='ovr'")
            methods = methods[1:]
        method = next(iter(methods), None)
        if method is None or self.decides:
            each = np.asarray(model.predict(rows))[:, None] == part.classes
        else:
            said = np.asarray(getattr(model, method)(rows), np.float64)
            if said.ndim == 1:  # the decision for the second of the two classes of the model
                said = np.column_stack([-said, said])
            each = np.zeros((len(rows), len(part.classes)))
            each[:, [part.classes.tolist().index(one) for one in model.classes_.tolist()]] = said
        return each[:, len(part.classes) == 2 :].astype(np.float64)


class _Predicted(BaseEstimator):
    """Predictions that are there already, for a scorer that asks a fitted estimator."""

    def __init__(self, outputs: Any, part: Any) -> None:
        self.outputs, self.part = outputs, part

    def fit(self, X: np.ndarray, y: np.ndarray) -> _Predicted:  # scorers ask for estimators that have it
        """Return itself."""
        return self


class _PredictedNumbers(RegressorMixin, _Predicted):
    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.part.in_units_of_y(self.outputs[:, 0])


class _PredictedClasses(ClassifierMixin, _Predicted):
    @property
    def classes_(self) -> np.ndarray:
        return np.sort(self.part.classes)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        shares = self.outputs if self.outputs.shape[1] > 1 else np.column_stack([1.0 - self.outputs, self.outputs])
        shares = np.clip(shares, 1e-9, 1.0)[:, np.argsort(self.part.classes)]
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Panel:
    """Several judges, or one."""

    def __init__(
        self,
        judges: Sequence[Judge],
        classes: np.ndarray | None,  # in the order in which they first appear; None for real targets
        scoring: str,  # "roc_auc" (the mean over classes, one against the rest), "r2", or the scorer asked for
        scorer: Score | None,
        seed: int,  # of random judges
    ) -> None:
        self.judges, self.classes, self.scoring, self.scorer, self.seed = tuple(judges), classes, scoring, scorer, seed
        names = [judge.name for judge in judges]
        self.names = tuple(
            name if names.count(name) == 1 else f"{name} {names[: place + 1].count(name)}"
            for place, name in enumerate(names)
        )

    @classmethod
    def of(cls, estimator: BaseEstimator, scoring: Scoring, data: Data, seed: int = 0) -> Panel:
        """Return the judges: the panel for None, an estimator, NeighbourVotes, or a list of estimators."""
        given = list(estimator) if isinstance(estimator, list | tuple) else [estimator]
        for one in given:
            ours = one is None or isinstance(one, NeighbourVotes)
            if not (ours or (isinstance(one, BaseEstimator) and (is_classifier(one) or is_regressor(one)))):
                raise TypeError(f"estimator must be a scikit-learn classifier or regressor, got {shown(one)}")
        real = task_for(data.y, given) == "regression"
        if real and not _are_numbers(data.y):
            raise ValueError(f"y must hold numbers for a regressor, got {shown(data.y[0])}")
        judges = [judge for one in given for judge in _judges(one, seed, decides=scoring == "accuracy")]
        name = ("r2" if real else "roc_auc") if scoring is None else scoring
        ranked = "roc_auc" if name == "roc_auc_ovr" else name
        if ranked not in (("r2", "concordance") if real else ("roc_auc", "accuracy")):
            model = next(
                (judge.estimator for judge in judges if isinstance(judge, Fitted)),
                _PredictedNumbers(None, None) if real else _PredictedClasses(None, None),
            )
            scorer = chosen_score(model, name)
            ranked = scorer.name
        else:
            scorer = None
        first = np.unique(data.y, return_index=True)[1]
        panel = cls(judges, None if real else data.y[np.sort(first)], ranked, scorer, seed)
        panel._check_weights(data)
        return panel

    @property
    def task(self) -> Literal["classification", "regression"]:
        """Return "classification" or "regression"."""
        return "regression" if self.classes is None else "classification"

    def settings(self) -> list[object]:
        """Return what scores depend on beside the data, for a memory."""
        judges = [described(one.estimator) if isinstance(one, Fitted) else repr(vars(one)) for one in self.judges]
        return [self.names, judges, self.task, self.scoring, self.seed]

    def _check_weights(self, data: Data) -> None:
        if data.weights is None:
            return
        for one in (judge for judge in self.judges if isinstance(judge, Fitted)):
            if not fits_with_weights(one.estimator):
                raise ValueError(f"sample_weight cannot be used: {one.name}.fit does not take it")
        if self.scorer is not None and not self.scorer.takes_weights:
            raise ValueError(f"sample_weight cannot be used: scoring {self.scoring} does not take it")

    @property
    def in_thousandths(self) -> bool:
        """Whether scores are at most 1, so that a difference of a thousandth means the same on every table."""
        return self.scorer is None or self.scorer.is_bounded

    def guessing(self, y: np.ndarray) -> float | None:
        """Return the score of guessing, where it is known."""
        if self.scorer is not None:
            return None
        if self.scoring == "accuracy":
            return float(np.unique(y, return_counts=True)[1].max() / len(y))
        return 0.0 if self.scoring == "r2" else 0.5

    @property
    def has_name(self) -> bool:
        """Whether `settings` tell it from other panels: a function of one's own may have the name of another."""
        return self.scorer is None or self.scorer.by_name or self.scorer.is_bounded

    def lighter(self) -> Panel:
        """Return the same judges with half as many trees."""
        found = copy(self)
        found.judges = tuple(Trees(TREES // 2) if isinstance(one, Trees) else one for one in self.judges)
        return found

    def part(self, data: Data, space: Space, fold: Fold) -> Part:
        """Return what is learned from the training rows of a fold."""
        return Part(data, space, fold, self.classes, self.seed)

    def scores(self, part: Part, order: Units, sizes: Sequence[int], check: Check = bool) -> np.ndarray:
        """Return the scores [judges, sizes] of the first units of an order on the rows to score; sizes rise."""
        return self.scores_on(part, order, sizes, [np.arange(len(part.new_y))], check)[0]

    def scores_on(
        self, part: Part, order: Units, sizes: Sequence[int], tests: Sequence[np.ndarray], check: Check = bool
    ) -> np.ndarray:
        """Return the scores [tests, judges, sizes] on several lists of the rows to score, given by their places."""
        found = np.empty((len(tests), len(self.judges), len(sizes)))
        parts = [part.scoring(rows) for rows in tests]
        for number, judge in enumerate(self.judges if sizes else ()):
            if self.scorer is not None:
                found[:, number] = self._asked(judge, part, order, sizes, tests, check)
                continue
            outputs = judge.outputs(part, order, sizes, check)
            for some, rows, out in zip(parts, tests, found, strict=True):
                out[number] = self._scored(outputs[:, rows], some)
        return found

    def predictions(self, part: Part, units: Iterable[int]) -> list[np.ndarray | None]:
        """Return what each judge says of the rows to score, [rows, outputs]; the score follows from it.

        Two classes (the second of `classes`) and real targets have one output, more classes have one each, in the order
        of `classes`; with accuracy the output is 1 for a right answer and 0 for a wrong one. None if the scorer is none
        of "roc_auc", "r2", "concordance", "accuracy".
        """
        if self.scorer is not None:
            return [None for _ in self.judges]
        units = sorted(units)
        each = [judge.outputs(part, units, [len(units)], bool)[0] for judge in self.judges]
        if part.real:
            return [part.in_units_of_y(outputs) for outputs in each]
        return [_right(outputs, part)[:, None] for outputs in each] if self.scoring == "accuracy" else each

    def _asked(
        self,
        judge: Judge,
        part: Part,
        order: Units,
        sizes: Sequence[int],
        tests: Sequence[np.ndarray],
        check: Check,
    ) -> np.ndarray:
        """Return what the scorer asked for says of one judge, [tests, sizes]."""
        scorer = cast(Score, self.scorer)
        found, predicted = np.empty((len(tests), len(sizes))), _PredictedNumbers if part.real else _PredictedClasses
        for place, size in enumerate(sizes):
            check()
            if isinstance(judge, Fitted):
                model = judge.fitted(part, order[:size])
            else:
                outputs = judge.outputs(part, order, [size], check)[0]
            for number, rows in enumerate(tests):
                test = part.fold.test[rows]
                weights = {} if part.weights is None else {"sample_weight": part.weights[rows]}
                asked = model if isinstance(judge, Fitted) else predicted(outputs[rows], part)
                with ONE_THREAD:
                    score = scorer.of(asked, part.raw(order[:size], test), part.data.y[test], **weights)
                if not isinstance(score, Real) or not isfinite(float(score)):
                    raise ValueError(f"scoring {self.scoring} must give a finite number, got {shown(score)}")
                found[number, place] = float(score)
        return found

    def _scored(self, outputs: np.ndarray, part: Part) -> np.ndarray:
        """Return the score of each of several predictions, [sets, rows, outputs]; nan without two different targets."""
        if self.scoring == "r2":
            return _r2(outputs[:, :, 0], part.new_y, part.weights)
        if self.scoring == "accuracy":
            return np.array([np.average(_right(one, part), weights=part.weights) for one in outputs])
        if self.scoring == "concordance":
            return np.array([concordance(part.new_y, one[:, 0], part.weights) for one in outputs])
        return _mean_auc(outputs, part.new_y, part.weights)


def _are_numbers(y: np.ndarray) -> bool:
    try:
        return y.dtype.kind not in "mM" and bool(np.isfinite(y.astype(np.float64)).all())
    except (TypeError, ValueError):
        return False


def _judges(estimator: BaseEstimator, seed: int, *, decides: bool) -> list[Judge]:
    if estimator is None:
        return [NeighbourMeans(), Ridge(), Trees()]
    if isinstance(estimator, NeighbourVotes):
        return [NeighbourMeans(estimator.n_neighbors, scale=estimator.scale)]
    return [Fitted(estimator, seed, decides=decides)]


def finite(number: float) -> float | None:
    """Return a number; None if it is infinite or not known."""
    return float(number) if isfinite(number) else None


def _right(outputs: np.ndarray, part: Part) -> np.ndarray:
    """Return 1 for rows whose class has the largest output, 0 for others."""
    said = outputs.argmax(axis=1) if outputs.shape[1] > 1 else outputs[:, 0] > 0.5
    return (said == part.new_y).astype(np.float64)


def _mean_auc(outputs: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return for each set of outputs the mean AUC of the classes that are there, one against the rest."""
    one_by_one = [1] if outputs.shape[2] == 1 else range(outputs.shape[2])
    there = [(place, y == one) for place, one in enumerate(one_by_one) if 0 < (y == one).sum() < len(y)]
    if not there:
        return np.full(len(outputs), np.nan)
    if weights is not None:
        return np.array([np.mean([auc(high, one[:, place], weights) for place, high in there]) for one in outputs])
    found = []
    for place, high in there:
        ranks, many = rankdata(outputs[:, :, place], axis=1), int(high.sum())
        found.append((ranks[:, high].sum(axis=1) - many * (many + 1) / 2) / (many * (len(y) - many)))
    return np.mean(found, axis=0)


def _r2(outputs: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the share of the variance that each of several predictions explains."""
    heavy = np.ones(len(y)) if weights is None else weights
    spread = (heavy * (y - np.average(y, weights=heavy)) ** 2).sum()
    return 1.0 - (heavy * (outputs - y) ** 2).sum(axis=1) / spread if spread > 0 else np.full(len(outputs), np.nan)
