"""What a selector does beside its search: scores on unseen examples, searches again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bestleaf.selector.honest import Examples, Run, UnseenScore, searched_again, unseen_score
from bestleaf.selector.objective import (
    oracle_of,
)
from bestleaf.selector.shares import Shares
from bestleaf.storage import Checkpoint


class Judging:
    """How a selector judges its answer."""

    def _be_honest(
        self: Any, examples: Examples, kept: Any, pairs: list[tuple[np.ndarray, np.ndarray]], seed: int, shares: Shares
    ) -> None:
        """Score on examples that were no part of the search, and count how often features are selected again."""
        if pairs:
            chosen_there = [self.support_]
            if not isinstance(self.holdout, float):
                chosen_there = self._again(examples, [(one, seed) for one, _ in pairs], shares)
                pairs = self._in_time(pairs, chosen_there, shares)
            scored = [
                self._unseen_score(examples.part(one), examples.part(other), support, seed, shares)
                for (one, other), support in zip(pairs, chosen_there, strict=True)
            ]
            self.holdout_scores_ = np.array([one.score for one in scored])
            self.holdout_score_ = float(self.holdout_scores_.mean()) if scored else np.nan
            if scored:
                looked_at = [other[: one.rows] for (_, other), one in zip(pairs, scored, strict=True)]
                times = np.unique(np.concatenate(looked_at), return_counts=True)[1]
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
                supports += self._again(examples, [(kept, int(one)) for one in seeds], shares)
            self.n_repeats_ = len(supports)
            ended = "max_time" if shares.over and self.certificate_.reason != "interrupted" else "interrupted"
            self.repeats_reason_ = "identified" if self.n_repeats_ == self.n_repeats else ended
            self.selection_frequency_ = np.mean(supports, axis=0)
            frequencies = zip(self._names(), self.selection_frequency_, strict=True)
            self.certificate_.content["report"]["selection_frequency"] = {
                str(name): float(share) for name, share in frequencies if share > 0
            }

    def _check_further_files(self: Any, pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """Refuse a checkpoint whose further files could not be written, before the first search."""
        checkpoint = Checkpoint.of(self.checkpoint)
        many = self.n_repeats - 1 + (0 if isinstance(self.holdout, float) else len(pairs))
        if checkpoint is not None:
            for place in range(1, many + 1):
                checkpoint.numbered(place).check()

    def _in_time(self: Any, pairs: list[Any], supports: list[np.ndarray], shares: Shares) -> list[Any]:
        """Return the splits on whose training parts there was a search."""
        if len(supports) == len(pairs):
            return pairs
        if not shares.over:
            raise KeyboardInterrupt
        warnings.warn(
            f"max_time ended the searches of holdout after {len(supports)} of {len(pairs)} splits",
            ConvergenceWarning,
            stacklevel=4,
        )
        return pairs[: len(supports)]

    def _again(self: Any, examples: Examples, runs: list[tuple[Any, int]], shares: Shares) -> list[np.ndarray]:
        """Return the features selected from other rows or with other seeds; fewer after Ctrl-C, or without time."""
        settings = {**self.get_params(deep=False), "holdout": None, "n_repeats": 1, "verbose": 0}
        for name in ("forced", "forbidden"):
            settings[name] = self._columns(name, settings[name])
        if self.feature_groups is not None:
            settings["feature_groups"] = self._groups()
        if self.estimator is None:  # groups were for the splits alone
            examples = Examples(examples.X, examples.y, {})
        checkpoint, every = Checkpoint.of(self.checkpoint), []
        for rows, seed in runs:
            self._searches += 1
            file = None if checkpoint is None else checkpoint.numbered(self._searches)
            every.append(Run(rows, {**settings, "random_state": seed, "checkpoint": file}))
        return searched_again(type(self), examples, every, shares, self.n_jobs)

    def _unseen_score(
        self: Any, seen: Examples, unseen: Examples, support: np.ndarray, seed: int, shares: Shares
    ) -> UnseenScore:
        """Return what features are worth on examples that were no part of the search."""
        columns = np.flatnonzero(support)
        if self.estimator is not None:
            oracle: Any = oracle_of(self, *seen, seed)
            weights = unseen.metadata.get("sample_weight")
            return UnseenScore(oracle.unseen_score(columns, unseen.X, unseen.y, weights), len(unseen.y))
        return unseen_score(
            seen.X[:, columns],
            seen.y,
            unseen.X[:, columns],
            unseen.y,
            task=self._task(seen.y),
            n_neighbors=self.n_neighbors,
            scale=self.scale,
            over=lambda: shares.over,
        )
