"""Growth pauses near the end of a budget: what is left of it goes to the leaves that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bestleaf.engine.records import (
    BAD_BOUND,
    EVALUATE,
    EXACT,
    INNER,
    LIMITED,
    NOISY,
    OPEN,
    SAMPLE,
    SOLVED,
    TEMPORARY,
)
from bestleaf.search.answer import compared_now
from bestleaf.search.stages import DONE

if TYPE_CHECKING:
    from bestleaf.search.evaluator import Evaluator
    from bestleaf.search.state import SearchState

ROUNDING = 1e-12  # so that an upper bound minus the value is at most epsilon in floating point, too


class Pause:
    """Says when growth pauses, and looks at the leaves that are there instead.

    A new leaf takes about as many samples as a leaf has taken so far on average. If what is left of the budget does not
    suffice for the new leaves and for those that still wait to be compared, nothing enters any more. Only a limit of
    samples counts: the clock ends a search, and decides nothing else.

    Parameters
    ----------
    state, evaluator : SearchState, Evaluator
        State and evaluator of the search.
    opens_later : bool
        Whether choices stay closed, too, while growth pauses. Then the leaves of largest upper bound are sampled until
        none is better than the best leaf by more than epsilon. The answer must be named by the bounds of leaves.
    """

    def __init__(self, state: SearchState, evaluator: Evaluator, *, opens_later: bool) -> None:
        self.state, self.evaluator = state, evaluator
        settings, limited = state.settings, evaluator.budget.max_samples is not None
        self._possible = limited and settings.stopping == "sound" and not settings.fixed and not state.graph.adversarial
        self._opens_later = opens_later
        self.begun = False  # growth pauses
        self.closing = False  # instead of opening a choice, leaves are compared
        self._target: float | None = None  # no upper bound shall be above it

    def before(self, *, leaves: float, draws: float = 0.0) -> bool:
        """Whether growth pauses before `leaves` new leaves, which take some more `draws` to enter."""
        if not self._possible or self.begun:
            return self.begun
        left, state = self.evaluator.left, self.state
        rows, kinds = state.known.known[: len(state.graph)], state.graph.kinds
        counts = rows["count"][(kinds != INNER) & (rows["count"] > 0) & (rows["upper"] > rows["lower"])]
        if len(counts) < 2:
            return False
        waiting = int(((kinds != INNER) & ~compared_now(state)).sum())
        # Leaves that enter later need more samples than earlier ones, because the gap is smaller then.
        if left < 1.5 * ((waiting + leaves) * counts.mean() + draws):
            self.begun = True
        return self.begun

    def before_opening(self, draws: int) -> bool:
        """Whether growth pauses before a choice opens, for which `draws` are needed.

        As many leaves will enter as for the choices opened so far.
        """
        state = self.state
        opened = int(state.known.track["opened"][: len(state.graph)].sum())
        if not self._opens_later or not opened:
            return False
        temporary = int((state.graph.kinds == TEMPORARY).sum())
        self.closing = self.before(leaves=temporary / opened, draws=draws)
        return self.closing

    def slice(self) -> str | None:
        """Look at the leaves of largest upper bound for one slice; return `DONE` once the best leaf is settled.

        If the leaf of largest upper bound is known to be better, only growth can help. Then growth goes on.
        """
        state, evaluator, epsilon = self.state, self.evaluator, self.state.settings.epsilon
        if self._target is None:
            self._target = self._best() + epsilon - min(ROUNDING, epsilon / 2)
        stands = evaluator.press(self._target, evaluator.rounds)
        state.check_parts()
        if stands == SAMPLE:
            return None
        if stands == BAD_BOUND:
            raise ValueError(f"bound {state.settings.bound.name} must return lower <= upper")
        if stands == LIMITED or (stands == EVALUATE and not evaluator.evaluate(int(state.known.known["leaf"][0]))):
            state.reason = state.reason or "max_samples"
        if stands == OPEN and self._best() + epsilon <= self._target + ROUNDING:
            self.begun = self.closing = self._possible = False
        self._target = None  # set anew only here, so that the result does not depend on the clock
        return DONE if stands == SOLVED else None

    def _best(self) -> float:
        """Return the highest lower bound of a terminal leaf."""
        kinds = self.state.graph.kinds
        lower = self.state.known.known["lower"][: len(kinds)]
        return float(lower[(kinds == NOISY) | (kinds == EXACT)].max(initial=0.0))
