"""Environments of Gymnasium with a model as problems: ``GymnasiumModel("FrozenLake-v1", is_slippery=False)``.

The library is an extra: ``pip install 'bestleaf[gymnasium]'``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bestleaf.checks import library, number, shown, whole

if TYPE_CHECKING:
    import gymnasium

END = "end"  # the last entry of a terminal state
DIGITS = 12  # collected rewards are rounded, so that the order in which they were added makes no difference

# (time, place, collected reward), and a fourth entry: an action whose outcome is open, or END
State = tuple[int, int, float] | tuple[int, int, float, int | str]


class Outcome(NamedTuple):
    """What can happen after an action."""

    probability: float
    place: int
    reward: float
    over: bool  # whether the episode ends


Actions = dict[int, tuple[Outcome, ...]]  # the outcomes of each action


class GymnasiumModel:
    """An environment whose model is a table, such as FrozenLake, Taxi or CliffWalking, up to a horizon.

    The model is ``env.unwrapped.P``: for each state of the environment (here a *place*) and each action the outcomes
    with their probabilities. A state of the search is (time, place, collected reward), so the graph is finite and has
    no cycles, and paths that collect the same reward by the same time share their nodes. An action with several
    outcomes leads to the state (time, place, collected reward, action), where chance moves. A state where the episode
    is over, also by the horizon, has "end" as its fourth entry.

    The value of an episode is its return, the sum of its rewards (times ``discount**time``), moved from the smallest
    and largest return that are possible from the start to [0, 1]; it is exact. A sample of any other state is the value
    of an episode with random actions.

    Parameters
    ----------
    env : str or gymnasium.Env
        Name of an environment, or anything that has the table as ``env.unwrapped.P``.
    horizon : int, default=None
        Most actions of an episode; None is the limit that the environment was registered with.
    start : int, default=None
        The place where episodes start; None if the environment has only one.
    discount : float, default=1
        Factor by which rewards count less with each action.
    **settings
        Keywords of ``gymnasium.make``, if a name is given.

    Examples
    --------
    >>> lake = GymnasiumModel("FrozenLake-v1", is_slippery=False, horizon=8, discount=0.9)  # doctest: +SKIP
    >>> result = best_leaf(lake, epsilon=0.1, delta=0.1, seed=0)  # doctest: +SKIP
    >>> lake.actions(result.answer)  # doctest: +SKIP
    [1, 1, 2, 1, 2, 2]
    """

    def __init__(
        self,
        env: str | gymnasium.Env,
        *,
        horizon: int | None = None,
        start: int | None = None,
        discount: float = 1.0,
        **settings: object,
    ) -> None:
        made = _made(env, settings)
        model = getattr(getattr(made, "unwrapped", None), "P", None)
        if not isinstance(model, Mapping):
            raise ValueError(f"env must have a model, the table env.unwrapped.P, got {shown(made)} without one")
        self._moves: dict[int, Actions] = {
            int(place): {int(action): _merged(outcomes) for action, outcomes in actions.items()}
            for place, actions in model.items()
        }
        limit = getattr(getattr(made, "spec", None), "max_episode_steps", None) if horizon is None else horizon
        if limit is None:
            raise ValueError("horizon must be given, because the environment has no limit of its own, got None")
        self.horizon = whole("horizon", limit, 1)
        self.discount = number("discount", discount, "between 0 and 1", 0, 1)
        self.start = _checked_start(start, made, self._moves)
        self.low, self.high = self._returns()
        self._origins: dict[State, tuple[State, int]] = {}  # a state and an action that lead to a state
        if any(len(outcomes) > 1 for actions in self._moves.values() for outcomes in actions.values()):
            self.chance = self._chance

    def root(self) -> State:
        """Return the state at the start."""
        return 0, self.start, 0.0

    def children(self, state: State) -> list[State]:
        """Return what the actions lead to: a state, or the choice of chance among several."""
        return list(self._below(state))

    def is_terminal(self, state: State) -> bool:
        """Return whether the episode is over."""
        return state[-1] == END

    def exact(self, state: State) -> float:
        """Return the value of a state where the episode is over."""
        return self._scaled(state[2])

    def sample(self, state: State, rng: np.random.Generator) -> float:
        """Return the value of an episode that random actions lead to from a state."""
        (time, place, collected), chosen, over = state[:3], state[3:], self.is_terminal(state)
        while not over and time < self.horizon:
            actions = list(self._moves[place].values()) if not chosen else [self._moves[place][int(chosen[0])]]
            drawn = _drawn(actions[int(rng.random() * len(actions))], rng)
            collected += self.discount**time * drawn.reward
            time, place, chosen, over = time + 1, drawn.place, (), drawn.over
        return self._scaled(collected)

    def fingerprint(self) -> dict[str, object]:
        """Return what distinguishes this problem from others."""
        model = sha256(repr(self._moves).encode()).hexdigest()
        return {"start": self.start, "horizon": self.horizon, "discount": self.discount, "model": model}

    def actions(self, state: State) -> list[int]:
        """Return actions that lead from the start to a state: those by which it was met first."""
        found: list[int] = []
        while state != self.root():
            if state not in self._origins:
                raise ValueError(f"{shown(state)} must be a state that children() has listed in this search")
            above, action = self._origins[state]
            if action >= 0:
                found.append(action)
            state = above
        return found[::-1]

    def action(self, state: State, child: State) -> int:
        """Return the action that leads from a state to one of its children, as a plan needs it."""
        for action, outcomes in self._moves[state[1]].items():
            if child in ((*state, action), self._after(state, outcomes[0])):
                return action
        raise ValueError(f"child must be one of those of {shown(state)}, got {shown(child)}")

    def collected(self, value: float) -> float:
        """Return the return of an episode that a value in [0, 1] stands for."""
        return self.low + value * (self.high - self.low)

    def _chance(self, state: State) -> list[float] | None:
        """Return the probabilities of the children, in their order; None where an action is chosen."""
        return list(self._below(state).values()) if len(state) == 4 and state[-1] != END else None

    def _below(self, state: State) -> dict[State, float]:
        """Return the children and, where chance moves, their probabilities; equal ones are one."""
        moves, found = self._moves[state[1]], dict[State, float]()
        below: list[tuple[int, State, float]] = [
            (action, self._after(state, outcomes[0]) if len(outcomes) == 1 else (*state[:3], action), 1.0)
            for action, outcomes in (moves.items() if len(state) == 3 else ())
        ]
        if len(state) == 4:
            below = [(-1, self._after(state, one), one.probability) for one in moves[int(state[3])]]
        for action, child, probability in below:
            found[child] = found.get(child, 0.0) + probability
            self._origins.setdefault(child, (state, action))
        return found

    def _after(self, state: State, outcome: Outcome) -> State:
        collected = round(state[2] + self.discount ** state[0] * outcome.reward, DIGITS)
        over = outcome.over or state[0] + 1 == self.horizon
        after = (state[0] + 1, outcome.place, collected)
        return (*after, END) if over else after

    def _scaled(self, collected: float) -> float:
        return min(1.0, max(0.0, (collected - self.low) / (self.high - self.low)))

    def _returns(self) -> tuple[float, float]:
        """Return the smallest and the largest return that is possible from the start, by dynamic programming."""
        low, high = dict.fromkeys(self._moves, 0.0), dict.fromkeys(self._moves, 0.0)
        for _ in range(self.horizon):
            low = {place: min(self._sums(actions, low)) for place, actions in self._moves.items()}
            high = {place: max(self._sums(actions, high)) for place, actions in self._moves.items()}
        found = low[self.start], high[self.start]
        if found[1] - found[0] <= 10.0**-DIGITS:
            raise ValueError(
                f"horizon must be long enough for two different returns, got {self.horizon}: all are {found[0]:g}"
            )
        return found

    def _sums(self, actions: Actions, later: Mapping[int, float]) -> list[float]:
        """Return the reward of each outcome of some actions and what comes later."""
        every = (one for outcomes in actions.values() for one in outcomes)
        return [one.reward + (0.0 if one.over else self.discount * later[one.place]) for one in every]


def _drawn(outcomes: tuple[Outcome, ...], rng: np.random.Generator) -> Outcome:
    """Return one of the outcomes by their probabilities."""
    left = rng.random() if len(outcomes) > 1 else 0.0
    for outcome in outcomes:
        left -= outcome.probability
        if left < 0.0:
            return outcome
    return outcomes[-1]


def _made(env: str | gymnasium.Env, settings: Mapping[str, object]) -> gymnasium.Env:
    """Return the environment."""
    if not isinstance(env, str):
        if settings:
            raise TypeError(f"{next(iter(settings))} needs the name of an environment, got one that is made already")
        return env
    gymnasium = library("gymnasium", "gymnasium", "GymnasiumModel")
    try:
        return gymnasium.make(env, **settings)
    except gymnasium.error.Error as error:
        raise ValueError(f"env must be the name of an environment of Gymnasium, got {shown(env)}: {error}") from None


def _merged(outcomes: Sequence[tuple[float, int, float, bool]]) -> tuple[Outcome, ...]:
    """Return the outcomes of an action; equal ones are one."""
    shares: dict[tuple[int, float, bool], float] = {}
    for probability, place, reward, over in outcomes:
        after = (int(place), float(reward), bool(over))
        shares[after] = shares.get(after, 0.0) + float(probability)
    total = sum(shares.values())
    if abs(total - 1.0) > 1e-6:
        raise ValueError(f"env must have a model whose probabilities sum to 1, got {total:g}")
    return tuple(Outcome(share / total, *after) for after, share in shares.items() if share > 0.0)


def _checked_start(start: int | None, env: gymnasium.Env, places: Mapping[int, object]) -> int:
    if start is None:
        shares = getattr(env.unwrapped, "initial_state_distrib", None)
        possible = [] if shares is None else np.flatnonzero(shares).tolist()
        if len(possible) != 1:
            many = len(possible) or len(places)
            raise ValueError(f"start must be given, because the environment can start in {many} places, got None")
        return int(possible[0])
    if start not in places:
        raise ValueError(f"start must be one of the {len(places)} states of the environment, got {shown(start)}")
    return int(start)
