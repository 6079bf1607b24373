"""The search with chance, in plain dictionaries: means of intervals, and plans by what they may lose."""

from __future__ import annotations

from functools import wraps
from math import fsum

from naive.search import NaiveSearch


def remembered(method):
    """Compute a number of a state once between two changes of the search: intervals of games are asked for often."""

    @wraps(method)
    def found(search, state):
        now = search.samples_drawn, len(search.children), len(search.exact), len(search.known_noisy)
        kept = search.__dict__.setdefault("kept", {})
        if kept.get("now") != now:
            kept.clear()
            kept["now"] = now
        if (method.__name__, state) not in kept:
            kept[method.__name__, state] = method(search, state)
        return kept[method.__name__, state]

    return found


class NaiveChance(NaiveSearch):
    """Best arm, or the best plan where the best leaf is asked for."""

    plan: dict

    @remembered
    def chances(self, state):
        """Return the probability of each child; None where somebody moves."""
        given = None if self.problem.is_terminal(state) else self.problem.chance(state)
        if given is None:
            return None
        found: dict = {}
        for child, share in zip(self.problem.children(state), given, strict=True):
            if share > 0:
                found[child] = found.get(child, 0.0) + share / fsum(given)
        return found

    def _all_children(self, state):
        chances = self.chances(state)
        return super()._all_children(state) if chances is None else list(chances)

    def minimizes(self, state):
        return self.chances(state) is None and super().minimizes(state)

    def adversarial(self):
        return super().adversarial() or self.b is not None or any(self.chances(state) for state in self.children)

    # ---- growth: all children of a chance node enter together

    def _start_growing(self, root):
        super()._start_growing(root)
        self.complete()

    def complete(self):
        """Let the other children of chance nodes enter, level by level; return the states."""
        entered = []
        while True:
            partial = [state for state in self.children if self.children[state] and self.chances(state)]
            absent = [child for state in partial for child in self._all_children(state) if child not in self.children]
            if not absent:
                return entered
            for state in dict.fromkeys(absent):
                self._add(state)
                entered.append(state)

    def _enter(self, states):
        for state in states:
            self._add(state)
        for state in [*states, *self.complete()]:
            if not self.children[state] and not self._presumed_exact(state):
                self._give_share(state)

    # ---- means

    def mean(self, state, value):
        """Return the mean of a number of the children, added up in their order."""
        chances, total = self.chances(state), 0.0
        for child in self.children[state]:
            total += chances[child] * value(child)
        return total

    @remembered
    def interval(self, state):
        if not self.children[state] or self.chances(state) is None:
            return super().interval(state)
        return tuple(self.mean(state, lambda child, side=side: self.interval(child)[side]) for side in (0, 1))

    @remembered
    def representative_child(self, state):
        chances = self.chances(state)
        if chances is None:
            return super().representative_child(state)

        def key(child):
            return (
                chances[child] * self.gain(child),
                self.tie_break(self.representative_leaf(child)),
                self.tie_break(child),
            )

        return max(self.children[state], key=key)

    @remembered
    def gain(self, state):
        """Return how much the next sample of the representative leaf of a node may narrow the interval of the node."""
        if not self.children[state]:
            count = 1 if state in self.exact else len(self.samples.get(state, []))
            return self.width(state) / (count + 1)
        child, chances = self.representative_child(state), self.chances(state)
        return self.gain(child) if chances is None else chances[child] * self.gain(child)

    # ---- plans

    def taken(self, state):
        """Return where the plan moves: to the child of highest lower bound."""
        return self.highest(self.children[state], lambda child: self.interval(child)[0])

    def rival(self, state):
        others = [child for child in self.children[state] if child != self.taken(state)]
        return self.highest(others, lambda child: self.interval(child)[1])

    def regret_here(self, state):
        """Return how much better than the move of the plan another move may be."""
        if self.rival(state) is None:
            return 0.0
        return self.interval(self.rival(state))[1] - self.interval(self.taken(state))[0]

    def part_of_loss(self, state, child):
        """Return by what a child is looked at for the loss of a node where chance or the opponent moves."""
        if self.chances(state) is not None:
            return self.chances(state)[child] * self.relief(child)
        return min(self.loss(child), self.interval(state)[1] - self.interval(child)[0])

    @remembered
    def loss(self, state):
        """Return how much better than the plan another one may be from a state on."""
        if not self.children[state]:
            return 0.0
        if self.chances(state) is not None:
            return self.mean(state, self.loss)
        if self.minimizes(state):
            return max(0.0, *(self.part_of_loss(state, child) for child in self.children[state]))
        return max(self.loss(self.taken(state)), self.regret_here(state))

    def worst_child(self, state):
        return self.highest(self.children[state], lambda child: self.part_of_loss(state, child))

    @remembered
    def relief(self, state):
        """Return how much the next sample may reduce the loss of a node."""
        if self.loss(state) <= 0:
            return 0.0
        if self.chances(state) is not None or self.minimizes(state):
            child, chances = self.worst_child(state), self.chances(state)
            return self.relief(child) if chances is None else chances[child] * self.relief(child)
        best, rival = self.taken(state), self.rival(state)
        if rival is None or self.loss(best) >= self.regret_here(state):
            return self.relief(best)
        return self.gain(rival if self.width(rival) > self.width(best) else best)

    def is_closed(self, state):
        return self.is_unfinished(state) and (not self.children[state] or state not in self.opened)

    def reached(self):
        """Return the states that the plan leads to, breadth first."""
        found = [self.problem.root()]
        for state in found:  # grows in this loop
            moves = self.chances(state) is None and not self.minimizes(state)
            below = [self.taken(state)] if moves and self.children[state] else self.children[state]
            found += [child for child in below if child not in found]
        return found

    def unfinished_beside_plan(self):
        """Return an unfinished state that an upper bound of a move beside the plan rests on, or None."""
        reached = self.reached()
        moves = [s for s in reached if self.children[s] and self.chances(s) is None and not self.minimizes(s)]
        beside = [rival for state in moves for rival in self.rivals(state, self.taken(state))]
        return self.first_unfinished(list(dict.fromkeys(beside)), False, seen=reached)

    def weakest_choice(self):
        """Return the choice that the loss of the plan comes from: (state, best, first leaf, second leaf)."""
        state = self.problem.root()
        while True:
            if self.chances(state) is not None or self.minimizes(state):
                state = self.worst_child(state)
            elif self.rival(state) is None or self.loss(self.taken(state)) >= self.regret_here(state):
                state = self.taken(state)
            else:
                break
        best, rival = self.taken(state), self.rival(state)
        if self.rule != "smallest_gap" and self.rounds.get(state, 0) % 10 != 9:
            wanted = self.best_child(state)
            other = self.rival_child(wanted, state)
            if other is not None and max(self.width(wanted), self.width(other)) > 0:
                best, rival = wanted, other
        return state, best, *self.wider_first(best, rival)

    def decide(self):
        if self.task == "arm" or not self.adversarial():
            return super().decide()
        root = self.problem.root()
        while True:
            if root not in self.opened:
                self.open(root)
            if self.loss(root) <= self.epsilon:
                closed = next(filter(self.is_closed, self.reached()), None)
                if closed is None and self.finishes():
                    closed = self.unfinished_beside_plan()
                if closed is None:
                    moves = [s for s in self.reached() if self.children[s] and self.chances(s) is None]
                    self.plan = {state: self.taken(state) for state in moves if not self.minimizes(state)}
                    self.answer = self.plan.get(root, root)
                    return None
                self.open(closed)
                continue
            state, best, first, _ = self.weakest_choice()
            if self.b and self.owes_growth(state):
                self.grow(state)
                continue
            return state, best, first
