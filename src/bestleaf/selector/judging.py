"""What a selector does beside its search: scores on unseen examples, searches again."""

from __future__ import annotations

from typing import Any

import numpy as np

from bestleaf.oracles.estimator import EstimatorOracle
from bestleaf.selector.honest import Examples, searched_again, unseen_score
from bestleaf.selector.objective import (
    oracle_of,
)
from bestleaf.storage import Checkpoint


class Judging:
    """How a selector judges its answer."""

    def _be_honest(
        self: Any, examples: Examples, kept: Any, pairs: list[tuple[np.ndarray, np.ndarray]], seed: int
    ) -> None:
        """Score on examples that were no part of the search, and count how often features are selected again."""
        if pairs:
            chosen_there = [self.support_]
            if not isinstance(self.holdout, float):
                chosen_there = self._again([(examples.part(one), seed) for one, _ in pairs])
                if len(chosen_there) < len(pairs):
                    raise KeyboardInterrupt
            scores = [
                self._unseen_score(examples.part(one), examples.part(other), support, seed)
                for (one, other), support in zip(pairs, chosen_there, strict=True)
            ]
            self.holdout_scores_ = np.array(scores)
            self.holdout_score_ = float(self.holdout_scores_.mean())
            times = np.unique(np.concatenate([other for _, other in pairs]), return_counts=True)[1]
            self.certificate_.content["unseen"] = {
                "score": self.holdout_score_,
                "rows": len(times),
                "splits": len(pairs),
                "times": [int(times.min()), int(times.max())],  # that a row was kept from a search
            }
        if self.n_repeats > 1:
            seeds = np.random.SeedSequence(seed).generate_state(self.n_repeats - 1)
            supports = [self.support_]
            if self.certificate_.reason != "interrupted":
                supports += self._again([(examples.part(kept), int(one)) for one in seeds])
            self.n_repeats_ = len(supports)
            self.selection_frequency_ = np.mean(supports, axis=0)
            shares = zip(self._names(), self.selection_frequency_, strict=True)
            self.certificate_.content["report"]["selection_frequency"] = {
                str(name): float(share) for name, share in shares if share > 0
            }

    def _check_further_files(self: Any, pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """Refuse a checkpoint whose further files could not be written, before the first search."""
        checkpoint = Checkpoint.of(self.checkpoint)
        many = self.n_repeats - 1 + (0 if isinstance(self.holdout, float) else len(pairs))
        if checkpoint is not None:
            for place in range(1, many + 1):
                checkpoint.numbered(place).check()

    def _again(self: Any, runs: list[tuple[Examples, int]]) -> list[np.ndarray]:
        """Return the features selected from other examples or with other seeds; fewer after Ctrl-C."""
        settings = {**self.get_params(deep=False), "holdout": None, "n_repeats": 1, "verbose": 0}
        for name in ("forced", "forbidden"):
            settings[name] = self._columns(name, settings[name])
        if self.feature_groups is not None:
            settings["feature_groups"] = self._groups()
        checkpoint, every = Checkpoint.of(self.checkpoint), []
        for examples, seed in runs:
            if self.estimator is None:  # groups were for the splits alone
                examples = Examples(examples.X, examples.y, {})
            self._searches += 1
            file = None if checkpoint is None else checkpoint.numbered(self._searches)
            every.append((examples, {**settings, "random_state": seed, "checkpoint": file}))
        return searched_again(type(self), every, self.n_jobs)

    def _unseen_score(self: Any, seen: Examples, unseen: Examples, support: np.ndarray, seed: int) -> float:
        """Return what features are worth on examples that were no part of the search."""
        columns, oracle = np.flatnonzero(support), oracle_of(self, *seen, seed)
        if isinstance(oracle, EstimatorOracle):
            return oracle.unseen_score(columns, unseen.X, unseen.y, unseen.metadata.get("sample_weight"))
        return unseen_score(
            seen.X[:, columns],
            seen.y,
            unseen.X[:, columns],
            unseen.y,
            task=self._task(seen.y),
            n_neighbors=self.n_neighbors,
            scale=self.scale,
        )
