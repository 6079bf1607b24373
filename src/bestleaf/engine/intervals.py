"""What is known of each node: its interval, its representative leaf, how often the search was there.

`Knowledge` owns these arrays, enlarges them as the graph grows, and writes their addresses into the `WORLD` record.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bestleaf.engine.bounds import Bound, Rate
from bestleaf.engine.graph import GrowingGraph
from bestleaf.engine.kernels.backup import backup, narrow, recompute
from bestleaf.engine.kernels.chance import plan_choice, renew
from bestleaf.engine.kernels.contest import contest
from bestleaf.engine.kernels.cycles import catch_up, refresh_component
from bestleaf.engine.kernels.finish import unfinished
from bestleaf.engine.kernels.loop import mark_descent
from bestleaf.engine.kernels.reach import count_ancestors, find_reachable, rank, strongest_outside
from bestleaf.engine.parts import Stopping
from bestleaf.engine.records import (
    COMPONENT,
    EXACT,
    EXIT,
    INNER,
    INTERVAL,
    NOISY,
    REACHABLE,
    TEMPORARY,
    TRACK,
    UNLIMITED,
    WORLD,
    enlarged,
)
from bestleaf.engine.rules import Rule
from bestleaf.proof.build import named
from bestleaf.proof.record import Leaf

WITH_CHANCE = ("gains", "losses", "reliefs")  # see `WORLD`
Evidence = tuple[float, ...] | None  # count, total and the bound's own numbers when an end of an interval was set


def drawn_tie_breaks(seed: int, nodes: int) -> np.ndarray:
    """Return a random number for every node; it does not depend on the number of nodes (splitmix64)."""
    mixed = np.uint64(seed) + np.arange(1, nodes + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def places(unfinished: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return places 1, 2, ... of leaves, as much as possible in the order of those that they had before.

    The leaves come in the order of their nodes. An unfinished leaf has a smaller place than all leaves after it.
    """
    least = np.maximum.accumulate(np.where(unfinished, before, 0))
    found = np.empty(len(before), np.int64)
    found[np.lexsort((np.arange(len(before)), np.maximum(before, least)))] = 1 + np.arange(len(before))
    return found


class Knowledge:
    """Intervals on every node of a graph under one bound; `settings` are fields of the `WORLD` record.

    `tie_seed` is the seed of the tie-breaks, random numbers. Without a seed the later node wins a tie, as in the
    published program. `stopping` is the user's own test, if there is one. With `finishes` an answer is settled only
    where what it rests on is finished; see `bestleaf.engine.kernels.finish`.
    """

    def __init__(
        self,
        graph: GrowingGraph,
        rule: Rule,
        bound: Rate | Bound,
        settings: dict[str, float],
        *,
        tie_seed: int | None,
        stopping: Stopping | None = None,
        finishes: bool = False,
    ) -> None:
        self.graph = graph
        self.bound = bound
        self.tie_seed = tie_seed
        self.uniform_share: float | None = None
        self.created = 0
        self.skipped = 0  # places of leaves of earlier searches of the same game
        self.order = np.zeros(64, np.int64)
        self._known = np.zeros(64, INTERVAL)
        self.track = np.zeros(64, TRACK)
        width = bound.width if isinstance(bound, Bound) else 0
        self.rows = np.zeros((64, width))
        self.evidence = np.zeros((64, 2, 2 + width))
        self.bucket = np.full(64, -1, np.int64)
        self.stack = np.zeros(128, np.int64)
        self.reachable = np.zeros(1, REACHABLE)
        self.inside = np.zeros(1, np.uint64)
        self.ranking = np.zeros(1, np.int64)
        self.gains, self.losses, self.reliefs = np.zeros((3, 1))
        self.components, self.exits = np.zeros(1, COMPONENT), np.zeros(1, EXIT)  # room only for a graph with cycles
        self.world = np.zeros(1, WORLD)[0]
        self._enter_world(rule, stopping, settings, finishes)
        self._reserve()

    def _enter_world(self, rule: Rule, stopping: Stopping | None, settings: dict[str, float], finishes: bool) -> None:
        kernels = [contest, mark_descent, narrow, backup, count_ancestors, find_reachable, strongest_outside]
        parts = {"rule": rule.part}
        if finishes:
            kernels.append(unfinished)
        if stopping is not None:
            parts["stopping"] = stopping.part
        self.world["chance"] = self.graph.has_chance
        if self.graph.has_chance:
            kernels += [renew, plan_choice]
            self.world["plans"] = settings["to_leaf"]
        parts.update({kernel.function.__name__: kernel for kernel in kernels})
        if isinstance(self.bound, Rate):
            parts["rate"] = self.bound.part
        else:
            parts.update(interval=self.bound.part, observe=self.bound.observe)
        addresses = {name: part.address for name, part in parts.items()}
        for name, value in {"limit": UNLIMITED, **settings, **addresses}.items():
            self.world[name] = value

    def _survey(self) -> None:
        """Write the addresses and sizes of the arrays into the record of the kernels."""
        graph, world = self.graph, self.world
        world["nodes"], world["size"] = graph.nodes.ctypes.data, len(graph)
        world["edges"], world["pool"] = graph.edges.ctypes.data, len(graph.edges)
        world["weights"] = graph.weights.ctypes.data
        places = ("known", "track", "rows", "evidence", "bucket", "stack", "reachable", "inside", "ranking")
        for name in places + WITH_CHANCE:
            world[name] = getattr(self, name).ctypes.data
        world["width"], world["most_words"], world["most_sets"] = (
            self.rows.shape[1],
            len(self.inside),
            len(self.reachable),
        )
        world["rank"] = rank.address if world["sound"] and not graph.adversarial else 0
        if graph.has_components:
            self.components, self.exits = enlarged(self.components, len(graph)), enlarged(self.exits, len(graph.edges))
            world["components"], world["exits"] = self.components.ctypes.data, self.exits.ctypes.data
            world["ends"], world["refresh_component"] = graph.ends.ctypes.data, refresh_component.address

    def _reserve(self) -> None:
        """Make room for all nodes, levels and labels, and forget what is no longer true after growth."""
        nodes = len(self.graph)
        for name in ("_known", "track", "rows", "evidence", "order"):
            setattr(self, name, enlarged(getattr(self, name), nodes + 1))
        for name in WITH_CHANCE if self.graph.has_chance else ():
            setattr(self, name, enlarged(getattr(self, name), nodes))
        self.stack = enlarged(self.stack, nodes + 64)
        self.bucket = enlarged(self.bucket, self.graph.depth + 1, -1)
        seed = self.tie_seed
        self.known["tie_break"][:nodes] = np.arange(nodes) if seed is None else drawn_tie_breaks(seed, nodes)
        self.track["ancestors"] = 0
        self._place_leaves()
        self._survey()

    def _place_leaves(self) -> None:
        """Give every label of a leaf a place; forget all reachable sets; make room for new ones and for the ranking."""
        graph, world, nodes = self.graph, self.world, len(self.graph)
        leaves = np.flatnonzero(graph.kinds != INNER)
        labels = graph.nodes["label"][leaves]
        used = np.zeros(len(graph.labels), np.int64)
        used[labels] = 1
        self.track["place"][leaves] = np.cumsum(used)[labels] - 1
        self.track["reached"] = -1
        places, labelled = int(used.sum()), len(graph.labels) < nodes
        first = 1 + places // 64
        words = first + (1 + nodes // 64 if labelled else 0)
        room, most = words + min(nodes * words, max(2**20, 8 * nodes, 64 * words)), min(nodes, 2**16)
        if room > len(self.inside) or most > len(self.reachable):
            self.inside = np.zeros(max(room, 2 * len(self.inside)), np.uint64)
            self.reachable = np.zeros(2 * most, REACHABLE)
        half = 1 << (places - 1).bit_length()
        self.ranking = enlarged(self.ranking, 2 * half)
        numbers = {"sets": 0, "taken": 0, "places": places, "half": half, "words": words, "first_node": 64 * first}
        for name, number in {**numbers, "labelled": labelled}.items():
            world[name] = number

    @property
    def known(self) -> np.ndarray:
        """What is known of every node."""
        if self.world["stale"]:
            catch_up(self.world)
        return self._known

    @property
    def intersects(self) -> bool:
        """Whether intervals are cut to [0, 1] and never widen."""
        return bool(self.world["intersect"])

    def _make_leaves(self, nodes: np.ndarray) -> None:
        """Give new leaves the widest interval and, if they have no exact value, their shares of delta."""
        tie_breaks = self.known["tie_break"][nodes]
        self.known[nodes] = np.zeros(1, INTERVAL)
        self.known["lower"][nodes], self.known["upper"][nodes] = (0.0, 1.0) if self.intersects else (-np.inf, np.inf)
        self.known["child"][nodes] = self.known["leaf"][nodes] = nodes
        self.known["tie_break"][nodes] = tie_breaks
        self.share_delta(nodes[self.graph.kinds[nodes] != EXACT])

    def share_delta(self, nodes: np.ndarray) -> None:
        """Give new leaves without an exact value their shares of delta."""
        self.order[nodes] = self.created + 1 + np.arange(len(nodes))
        self.track["share"][nodes] = self._shares(self.order[nodes] + self.skipped)
        self.created += len(nodes)
        self.world["stochastic"] += len(nodes)

    def _shares(self, order: np.ndarray) -> np.ndarray | float:
        """Return shares of delta: delta / (i (i + 1)) for the i-th leaf created, or equal shares in a fixed graph."""
        return self.uniform_share or float(self.world["delta"]) / np.maximum(1, order * (order + 1))

    def take_over(self, old: Knowledge, mine: np.ndarray, theirs: np.ndarray) -> None:
        """Take over what an earlier search knows of some leaves; `mine` are their nodes here, see `search.moves`.

        No leaf gets a larger share of delta than it had. The few that would have to be listed at a later place than
        before begin anew.
        """
        kinds, size, delta = self.graph.kinds, len(self.graph), float(self.world["delta"])
        self.order[:size][kinds == INNER] = 0
        if old.uniform_share is None:
            self.uniform_share = None
        self.skipped = old.skipped + old.created
        placed = np.flatnonzero(self.order[:size])
        fresh = self.order[placed] + self.skipped
        self.track["share"][placed] = delta / (fresh * (fresh + 1))
        self.skipped, self.created = self.skipped + self.created, len(placed)
        before = np.full(size, UNLIMITED)
        before[mine] = np.where(old.order[theirs] > 0, old.order[theirs], UNLIMITED)
        self.order[placed] = places(kinds[placed] == TEMPORARY, before[placed])
        kept = (self.order[mine] <= before[mine]) | (self.uniform_share is not None)
        mine, theirs = mine[kept], theirs[kept]
        self.track["share"][mine] = old.track["share"][theirs]
        for name in ("lower", "upper", "count", "total"):
            self.known[name][mine] = old.known[name][theirs]
        slots = old.track["slot"][theirs]
        new = int(self.world["slots"]) + 1 + np.arange(int((slots > 0).sum()))
        self.track["slot"][mine[slots > 0]] = new
        self.rows[new], self.evidence[new] = old.rows[slots[slots > 0]], old.evidence[slots[slots > 0]]
        self.world["slots"] += len(new)
        self._refresh_all()

    def admit(self, leaf: int) -> None:
        """From now on, sample a terminal leaf that turned out to have no exact value."""
        self.graph.nodes["kind"][leaf] = NOISY
        self.share_delta(np.array([leaf]))
        if self._uses_leaves:
            self._refresh_all()

    @property
    def _uses_leaves(self) -> bool:
        """Whether the interval of a leaf depends on how many leaves there are."""
        return isinstance(self.bound, Rate) and self.bound.uses_leaves

    def start(self, fixed: bool) -> None:
        """Set the intervals of the first graph. If it never grows, all leaves get equal shares of delta."""
        kinds = self.graph.kinds
        leaves = np.flatnonzero(kinds != INNER).tolist()
        if fixed and not (kinds == EXACT).any():
            self.uniform_share = float(self.world["delta"]) / len(leaves)
        if leaves == [0]:  # a root without children is never sampled for its interval and needs no share
            self.created = -1
        self._make_leaves(np.array(leaves))
        self._refresh_all()
        self.track["opened"][: len(kinds) if fixed else int(kinds[0] == INNER)] = 1

    def _refresh_all(self) -> None:
        """Compute all nodes again from the samples, deepest level first."""
        self._survey()
        order = np.argsort(-self.graph.nodes["level"][: len(self.graph)], kind="stable")
        if not recompute(order, self._uses_leaves, self.world):
            raise ValueError(f"bound {self.bound.name} must return lower <= upper, but did not after the graph grew")

    def take_in(self, added: list[tuple[int, list[int]]]) -> None:
        """Bring the intervals up to date with nodes just added to the graph (`GrowingGraph.add`)."""
        self._reserve()
        fresh = {node for node, _ in added}
        for _, relieved in added:
            # A temporary leaf that got a child is no longer a leaf: its interval now follows from its children.
            self.world["stochastic"] -= len(set(relieved) - fresh)
        nodes = np.array([node for node, _ in added], np.int64)
        self._make_leaves(nodes[self.graph.kinds[nodes] != INNER])
        self._refresh_all()

    def list_leaves(self) -> tuple[Leaf, ...]:
        """Return every leaf of the current graph with its statistics, as a record."""
        graph, labels = self.graph, list(self.graph.labels)
        nodes = np.flatnonzero(graph.kinds != INNER)
        known = self.known[nodes]
        columns = (
            nodes,
            graph.nodes["label"][nodes],
            graph.kinds[nodes],
            known["count"],
            known["total"] / np.maximum(known["count"], 1),
            np.maximum(known["lower"], 0.0),
            np.minimum(known["upper"], 1.0),
            self.order[nodes],
            np.where(self.order[nodes] > 0, self._shares(self.order[nodes]), 0.0),
        )
        rows = zip(*(column.tolist() for column in columns), self._evidence(nodes), strict=True)
        return tuple(
            Leaf(
                node=node,
                label=None if labels[label] == graph.states[node] else named(labels[label]),
                terminal=kind != TEMPORARY,
                exact=kind == EXACT and count > 0,
                count=count,
                mean=mean if count else None,
                lower=lower,
                upper=upper,
                order=order,
                share=share,
                lower_evidence=evidence[0],
                upper_evidence=evidence[1],
            )
            for node, label, kind, count, mean, lower, upper, order, share, evidence in rows
        )

    def _evidence(self, nodes: np.ndarray) -> Iterator[tuple[Evidence, Evidence]]:
        """Yield what the lower and the upper bound of each leaf follow from; None for a bound that was never set."""
        for slot in self.track["slot"][nodes].tolist():
            if not slot:
                yield None, None
                continue
            lower, upper = (tuple(side) if side[0] > 0 else None for side in self.evidence[slot].tolist())
            yield lower, upper
