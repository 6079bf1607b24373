"""A search on a graph with cycles, in plain dictionaries and sets.

States that reach each other are a component. What its states are worth is found from the definition: play that is cut
off after as many moves as the component has states is worth what play without limit is worth.
"""

from __future__ import annotations

from functools import wraps

from naive.search import NaiveSearch


def once(method):
    """Compute a method only once for the same argument, until the graph or a sample changes."""

    @wraps(method)
    def found(self, argument):
        edges = sum(map(len, self.children.values()))
        now = (len(self.children), edges, self.samples_drawn, len(self.exact), len(self.known_noisy))
        if self.remembered[0] != now:
            self.remembered = (now, {})
        key = (method.__name__, argument)
        if key not in self.remembered[1]:
            value = method(self, argument)
            if self.remembered[0] == now:
                self.remembered[1][key] = value
            return value
        return self.remembered[1][key]

    return found


class NaiveCycles(NaiveSearch):
    """Best arm or best leaf on a graph in which moves may lead back."""

    def __init__(self, problem, **keywords):
        self.remembered: tuple = (None, {})
        self.waiting: dict = {}  # temporary leaf -> its children in the graph, which all lead back to it
        super().__init__(problem, **keywords)

    # ---- the graph

    def _add(self, state, link=True):
        self.children[state], self.parents[state] = [], []
        if not link:
            return
        above = [other for other in self.children if other != state and state in self._all_children(other)]
        waited = {other: self.waiting.pop(other, []) for other in above if not self.children[other]}
        for other in above:
            self._join(other, state)
        for other, backs in waited.items():
            for back in backs:
                self._join(other, back)
        listed = self._all_children(state)
        present = [child for child in listed if child in self.children]
        returns = [child for child in present if child == state or state in self.below(child)]
        if returns and returns == present and len(present) < len(listed):
            self.waiting[state] = present
            return
        for child in present:
            self._join(state, child)

    def _join(self, parent, child):
        self.children[parent].append(child)
        self.parents[child].append(parent)

    def _start_growing(self, root):
        super()._start_growing(root)
        self.rescue()

    def _enter(self, states):
        before = len(self.children)
        for state in states:
            self._add(state)
        self.rescue()
        for state in list(self.children)[before:]:
            if not self.children[state] and not self._presumed_exact(state):
                self._give_share(state)

    def rescue(self):
        """Let children enter where no leaf can be reached any more."""
        while True:
            lost = [
                state
                for state in self.children
                if self.cannot_end(state) and any(child not in self.children for child in self._all_children(state))
            ]
            if not lost:
                return
            for child in self._all_children(lost[0]):
                if child not in self.children:
                    self._add(child)

    @once
    def below(self, state):
        found, stack = {state}, [state]
        while stack:
            fresh = set(self.children[stack.pop()]) - found
            found |= fresh
            stack += fresh
        return found

    def cannot_end(self, state):
        return all(self.children[other] for other in self.below(state))

    @once
    def component(self, state):
        """Return the states that a state reaches and that reach it, oldest first; none if it is on no cycle."""
        if not any(state in self.below(child) for child in self.children[state]):
            return []
        return [other for other in self.children if other in self.below(state) and state in self.below(other)]

    def adversarial(self):
        """Whether play is a game, also because play without end has a value of its own."""
        own = self.b is None and hasattr(self.problem, "endless") and any(map(self.component, self.children))
        return own or super().adversarial()

    def level(self, state):
        component = self.component(state) or [state]
        above = {parent for one in component for parent in self.parents[one]} - set(component)
        return max((1 + self.level(parent) for parent in above), default=0)

    def ends(self, component):
        """Return what play that never leaves a component is worth, in the lower and in the upper game."""
        if not self.adversarial():
            return 0.0, 0.0
        if hasattr(self.problem, "endless"):
            said = [self.problem.endless(state) for state in component]
            pairs = [one if isinstance(one, tuple) else (one, one) for one in said]
            return min(low for low, _ in pairs), max(high for _, high in pairs)
        leavers = {self.minimizes(state) for state in component if set(self.children[state]) - set(component)}
        return (0.0, 0.0) if leavers == {False} else (1.0, 1.0) if leavers == {True} else (0.0, 1.0)

    # ---- intervals

    @once
    def interval(self, state):
        component = self.component(state)
        if not component:
            return super().interval(state)
        if self.cannot_end(state) and not self.adversarial():
            return 0.0, 0.0
        outside = {
            child: self.interval(child) for one in component for child in self.children[one] if child not in component
        }
        return tuple(self.cut_off(component, outside, side)[state] for side in (0, 1))

    def cut_off(self, component, outside, side):
        """Return what the states are worth if play is cut off after as many moves as there are states."""
        end = self.ends(component)[side]
        if not self.adversarial():
            best = max(pair[side] for pair in outside.values())
            return dict.fromkeys(component, best)
        worth = dict.fromkeys(component, end)
        for _ in component:
            values = {**{child: pair[side] for child, pair in outside.items()}, **worth}
            worth = {
                state: (min if self.minimizes(state) else max)(values[child] for child in self.children[state])
                for state in component
            }
        return worth

    def tie_break(self, state):
        """A state that stands for play without end loses every tie."""
        component = self.component(state) if self.children[state] else []
        if component and component[0] == state and not self.plays(tuple(component))[state][1]:
            return -1
        return super().tie_break(state)

    def representative_child(self, state):
        component = self.component(state)
        return self.plays(tuple(component))[state][0] if component else super().representative_child(state)

    @once
    def representative_leaf(self, state):
        component = self.component(state)
        if not component:
            return super().representative_leaf(state)
        leaf = self.plays(tuple(component))[state][1]
        return leaf[0] if leaf else component[0]

    def plain_tie_break(self, state):
        return NaiveSearch.tie_break(self, state)

    @once
    def plays(self, component):
        """Return for every state of a component its representative child and its leaf (in a list, empty for none)."""
        inside = set(component)
        outside = {
            child: self.interval(child) for one in component for child in self.children[one] if child not in inside
        }
        if not self.adversarial():
            if not outside:
                return {state: (component[0], []) for state in component}
            leaf = max(
                (self.representative_leaf(child) for child in outside),
                key=lambda one: (self.interval(one)[1], self.tie_break(one)),
            )
            plays: dict = {}
            self.lead(leaf, component, plays)
            return plays
        picks = {}
        for side, minimizes in ((1, False), (0, True)):
            payoff = {child: pair[side] for child, pair in outside.items()}
            worth, rank = self.solved(component, payoff, self.ends(component)[side])
            for state in (one for one in component if self.minimizes(one) == minimizes):
                picks[state] = self.picked(state, payoff, worth, rank)
        plays = {}
        for state in component:
            way = [state]
            while way[-1] in inside and way[-1] not in way[:-1]:
                way.append(picks[way[-1]])
            if way[-1] not in inside and not self.children[self.representative_leaf(way[-1])]:
                plays[state] = picks[state], [self.representative_leaf(way[-1])]
        while len(plays) < len(component):
            beside = {
                leaf
                for state in component
                if state not in plays
                for child in self.children[state]
                for leaf in self.leaf_beside(child, inside, plays)
                if not self.children[leaf]
            }
            if not beside:
                return {state: (component[0], []) for state in component}
            self.lead(max(beside, key=lambda leaf: (self.width(leaf), self.tie_break(leaf))), component, plays)
        return plays

    def leaf_beside(self, child, inside, plays):
        if child in inside:
            return plays[child][1] if child in plays else []
        return [self.representative_leaf(child)]

    def lead(self, leaf, component, plays):
        """Let the states without a leaf lead to one by shortest ways; of equally short ones to the larger tie-break."""
        inside, before, layer = set(component), dict(plays), {}
        for state in component:
            near = [child for child in self.children[state] if leaf in self.leaf_beside(child, inside, before)]
            if state not in before and near:
                layer[state] = max(near, key=self.plain_tie_break)
        while layer:
            plays.update({state: (child, [leaf]) for state, child in layer.items()})
            reached, layer = layer, {}
            for state in (one for one in component if one not in plays):
                near = [child for child in self.children[state] if child in reached]
                if near:
                    layer[state] = max(near, key=self.plain_tie_break)

    def solved(self, component, payoff, end):
        """Return (worth, rank): what the states are worth, and in which round that was found for its payoff."""
        worth, rank = {}, {}
        for high in (True, False):
            beyond = {one for one in payoff.values() if (one > end if high else one < end)}
            for value in sorted(beyond, reverse=high):
                for number in range(1, len(component) + 1):
                    known = {**payoff, **worth}
                    fresh = [one for one in component if one not in worth and self.is_worth(one, value, high, known)]
                    worth.update(dict.fromkeys(fresh, value))
                    rank.update(dict.fromkeys(fresh, number))
        for state in component:
            worth.setdefault(state, end)
        return worth, rank

    def is_worth(self, state, value, high, known):
        """Whether the one whom high (or low) values please can make sure of a value at a state."""
        seen = [known.get(child) for child in self.children[state]]
        good = [one is not None and (one >= value if high else one <= value) for one in seen]
        return any(good) if self.minimizes(state) != high else all(good)

    def picked(self, state, payoff, worth, rank):
        """Return a child worth as much as the state: one outside the component, or one found earlier."""
        equal = [child for child in self.children[state] if {**payoff, **worth}[child] == worth[state]]
        leaving = [child for child in equal if child in payoff]
        if leaving:
            return max(
                leaving, key=lambda child: (self.tie_break(self.representative_leaf(child)), self.tie_break(child))
            )
        nearer = [child for child in equal if state not in rank or rank.get(child, rank[state]) < rank[state]]
        return max(nearer, key=self.plain_tie_break)

    # ---- a best leaf: a component is taken as one

    def as_one(self, root):
        return self.task == "leaf" and self.component(root) != []

    def choices(self, root):
        component = self.component(root) if self.as_one(root) else []
        found = [child for one in component or [root] for child in self.children[one] if child not in component]
        return [child for child in dict.fromkeys(found) if not self.cannot_end(child)]

    def cannot_sample(self, leaf):
        return self.children[leaf] != [] or leaf in self.exact

    def has_one_way(self, root):
        return super().has_one_way(root) and not self.as_one(root)

    def place(self, state):
        return self.component(state)[0] if self.as_one(state) else state

    def may_deepen(self, root, times, many):
        return self.as_one(root) or super().may_deepen(root, times, many)

    def between(self, root, child):
        if child is None or not self.as_one(root) or child in self.children[root]:
            return []
        return [next(one for one in self.component(root) if child in self.children[one])]

    def node_above(self, state):
        component = self.component(state) or [state]
        turned = component[component.index(state) :] + component[: component.index(state)]
        return next(parent for one in turned for parent in self.parents[one] if parent not in component)
