"""From a search to fitted attributes and what is shown of it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from rich.console import Console

from bestleaf.certificate.build import certificate_of
from bestleaf.certificate.names import named_objective
from bestleaf.features import SubsetLattice
from bestleaf.progress import ProgressLine
from bestleaf.search import Progress
from bestleaf.selector.answer import EvaluatedSubset, EvaluatedSubsets, mean_scores
from bestleaf.selector.hooks import Hooks
from bestleaf.selector.ways import BestLeafWay, FuseWay, Selection, values_without
from bestleaf.storage import Checkpoint

HISTORY_RATIO = 1.01  # time between two entries of `history_`, so that long searches keep few hundred


class Keeping:
    """How a selector watches its search and keeps what it finds."""

    def _watch(
        self: Any,
        way: BestLeafWay | FuseWay,
        lattice: SubsetLattice,
        X: np.ndarray,
        y: np.ndarray,
        max_time: float | None,
    ) -> None:
        """Run the search, keeping its history, showing its progress and calling scikit-learn's callbacks."""
        self.history_: list[dict[str, Any]] = way.notes
        hooks, names = Hooks(self, X, y), self._names()

        def words(state: tuple[int, ...]) -> str:
            return "{" + ", ".join(names[lattice.features_of(state)]) + "}"

        line = ProgressLine(Console(quiet=not self.verbose), words, max_time=max_time, max_samples=self.max_samples)

        def callback(now: Progress) -> bool:
            best = max(way.values, key=way.values.__getitem__, default=now.best)
            value = way.values.get(best)
            if way.reason or not self.history_ or now.elapsed > HISTORY_RATIO * self.history_[-1]["elapsed"]:
                self.history_.append({**now._asdict(), "best": words(best), "score": value})
            line.show(now._replace(best=best), value)
            return hooks.end_of_slice()

        with line:
            hooks.begin()
            if way.resume() and self.verbose:
                name = os.fspath(Checkpoint.of(self.checkpoint).path)  # type: ignore[union-attr]
                Console().print(
                    f"Going on from {name}, saved after {way.samples:,} samples.", highlight=False, markup=False
                )
            way.run(callback)
            hooks.end()

    def _keep(self: Any, selection: Selection, lattice: SubsetLattice, rows: int, digest: str) -> None:
        """Turn what was found into fitted attributes."""
        names, answer = self._names(), selection.answer
        listed = self._named(range(self.n_features_in_)).tolist()  # there may be very many subsets to name
        columns = lattice.features_of(answer.state)
        self.support_ = np.zeros(self.n_features_in_, bool)
        self.support_[columns] = True
        self.subset_ = self._named(columns)
        sampled = answer.mean if answer.mean is not None else selection.guide
        self.score_ = float(answer.lower if answer.exact or sampled is None else sampled)
        self.score_interval_ = (float(answer.lower), float(answer.upper))
        self.feature_scores_ = mean_scores(selection.rave, selection.values, lattice)
        subsets = [(value, lattice.features_of(state), len(state) - 1) for state, value in selection.values.items()]
        self.evaluated_ = EvaluatedSubsets(
            EvaluatedSubset(tuple(map(listed.__getitem__, features)), float(value), size)
            for value, features, size in sorted(subsets, key=lambda one: (-one[0], one[2], one[1]))
        )
        self.certificate_ = certificate_of(
            answer=selection.structure.states.index(answer.state),
            reason=selection.reason,
            search=selection.settings,
            cost=selection.cost,
            leaves=selection.leaves,
            structure=selection.structure,
            challenges=selection.challenges,
            features=[str(name) for name in names[columns]],
            data={
                "names": [str(name) for name in names],
                "rows": rows,
                "fingerprint": digest,
                "groups": lattice.groups,
                "choice": lattice.choice(),
                "terminal": "noisy" if lattice.noisy else "exact",
                "objective": named_objective(lattice.oracle.settings()),
                **lattice.oracle.counts(sampled=lattice.noisy),
            },
        )
        self.certificate_.content["report"] = self._for_the_report(selection, lattice)

    def _for_the_report(self: Any, selection: Selection, lattice: SubsetLattice) -> dict[str, Any]:
        """Return what a page shows beside the certificate; no claim rests on it."""
        scores = self.feature_scores_[self.support_]
        names = (str(name) for name in self._names()[self.support_])
        by_size = self.evaluated_.by_size()
        history = [{name: row[name] for name in ("elapsed", "samples", "gap", "score")} for row in self.history_]
        return {
            "history": history,
            "by_size": [[size, one.score, self._written(one.features)] for size, one in by_size.items()],
            "feature_scores": {
                name: None if np.isnan(score) else float(score) for name, score in zip(names, scores, strict=True)
            },
            "without": values_without(selection, lattice),
        }

    def _named(self: Any, columns: list[int]) -> np.ndarray:
        """Return features as a user calls them: by name, or by number if the data have no names."""
        return self._names()[columns] if hasattr(self, "feature_names_in_") else np.array(columns)

    def _written(self: Any, features: tuple[str | int, ...]) -> list[str]:
        """Return features as a certificate calls them: by name in any case."""
        return [str(one) if isinstance(one, str) else str(self._names()[one]) for one in features]
