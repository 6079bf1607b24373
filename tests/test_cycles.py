"""Graphs with cycles: components and levels, wrong at most delta, a grid, a puzzle, a game; certificates."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from bestleaf import Search, best_arm, best_leaf, uct_search, verify
from bestleaf.engine.graph import GrowingGraph
from bestleaf.problems import TableProblem, Unrolled
from bestleaf.proof import check
from bestleaf.testing import check_problem
from conftest import binomial_margin, content_of, refused
from toys import cat_and_mouse, navigation_grid, random_cyclic_graph, worth

EPSILON = DELTA = 0.1
RUNS = 60
SETTINGS = {"epsilon": EPSILON, "delta": DELTA}
HOUSE = {"a": "bd", "b": "ace", "c": "bfh", "d": "ae", "e": "bdf", "f": "cei", "h": "c", "i": "f"}


# ---- the graph


@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_growth_ends_with_the_same_components_and_levels(seed):
    problem, rng = random_cyclic_graph(seed, inner=10, leaves=4), np.random.default_rng(seed)
    whole, grown = GrowingGraph.whole(problem), GrowingGraph.opening(problem)
    while absent := [state for node in range(len(grown)) for state in grown.relatives.absent(node)]:
        grown.add(absent[int(rng.integers(len(absent)))])
        assert grown.has_components == any(is_cycle(group, grown) for group in check.components(children_of(grown)))
    for one, other in ((whole, grown), (grown, whole)):
        for node, state in enumerate(one.states):
            twin_node = other.node_of[state]
            assert one.nodes["level"][node] == other.nodes["level"][twin_node]
            assert component_of(one, node) == component_of(other, twin_node)
    for node, below in enumerate(children_of(whole)):
        for child in below:
            inside = whole.nodes["component"][node] == whole.nodes["component"][child] > 0
            assert whole.nodes["level"][child] - whole.nodes["level"][node] >= 1 - inside


def is_cycle(group, graph):
    return len(group) > 1 or group[0] in children_of(graph)[group[0]]


def children_of(graph):
    return [graph.linked("child", node).tolist() for node in range(len(graph))]


def component_of(graph, node):
    """Return the states that a node shares a component with, by its ring."""
    if not graph.nodes["component"][node]:
        return set()
    found, here = set(), node
    while graph.states[here] not in found:
        found.add(graph.states[here])
        here = int(graph.nodes["ring"][here])
    return found


# ---- right answers


def as_grown(result):
    """Return the graph of a result by states, and where the opponent moves."""
    graph, states = result.search.graph, result.states
    table = {state: [states[child] for child in row] for state, row in zip(states, graph.children, strict=True)}
    return table, {states[node] for node in graph.minimizes}


def value_in(problem, result, state, end):
    """Return the value of a state in the graph as grown, whose leaves are worth their means."""
    table, opponent = as_grown(result)
    inner = {one: below for one, below in table.items() if below}
    return worth(TableProblem(inner, problem.means, opponent=opponent, endless=end), state)


@pytest.mark.slow
@pytest.mark.parametrize("expansion", [None, 0.5])
@pytest.mark.parametrize("two_player", [False, True])
def test_wrong_no_more_often_than_delta(two_player, expansion):
    wrong = 0
    for seed in range(RUNS):
        problem = random_cyclic_graph(
            seed,
            two_player=two_player,
            endless=0.5,
            exact_share=0.3 * (seed % 2),
            grid=0.1 if seed % 3 == 0 else None,
        )
        search = best_arm if two_player or seed % 4 == 0 else best_leaf
        result = search(problem, **SETTINGS, expansion=expansion, seed=seed)
        assert result.settled
        assert verify(result.certificate)
        best, mine = (value_in(problem, result, one, 0.5 if two_player else None) for one in (0, result.answer))
        wrong += abs(best - mine) > EPSILON
        if expansion is None:
            assert best == worth(problem, 0)
    assert wrong <= binomial_margin(RUNS, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("endless", [None, (0.2, 0.6)])
def test_bounds_hold_whatever_play_without_end_is_worth(endless):
    """The interval of the answer holds the value for both ends of what play without end may be worth."""
    missed, narrow = 0, 0
    for seed in range(RUNS):
        problem = random_cyclic_graph(seed, two_player=True, endless=endless)
        result = best_arm(problem, **SETTINGS, seed=seed, max_samples=3_000)
        assert verify(result.certificate)
        low, high = (0.0, 1.0) if endless is None else endless
        values = [value_in(problem, result, result.answer, end) for end in (low, high)]
        if endless is None:  # there are components that only one player can leave
            missed += result.lower > values[1] or result.upper < values[0]
            narrow += result.upper - result.lower < values[1] - values[0]
        else:
            missed += result.lower > values[0] or result.upper < values[1]
    assert missed <= binomial_margin(RUNS, DELTA)
    assert narrow > 0 or endless is not None


def test_a_way_through_a_grid_where_moves_undo_each_other():
    grid = navigation_grid(["S..#A", "....#", "B#.C."], {"A": 1.0, "B": 0.3, "C": 0.8})
    for expansion in (None, 0.7):
        result = best_leaf(grid, **SETTINGS, expansion=expansion, seed=1)
        assert result.answer == (2, 3)
        assert result.settled
        assert verify(result.certificate)
    whole = best_leaf(grid, **SETTINGS, seed=1, batch_size=8)
    assert whole.answer == (2, 3)
    assert {leaf.state for leaf in whole.leaves} == {(2, 0), (2, 3)}  # A is behind walls


def game_value(game):
    """Solve a game of wins, losses and draws by counting moves that are left, as endgame tables are made."""
    table, result = game.children_of, {}
    parents, left = {}, {state: len(below) for state, below in table.items()}
    for state, below in table.items():
        for child in below:
            parents.setdefault(child, []).append(state)
    ends = {child for below in table.values() for child in below} - table.keys()
    result.update({state: game.means[state] for state in ends})
    queue = deque(ends)
    while queue:
        state = queue.popleft()
        for parent in parents.get(state, ()):
            wins = 0.0 if not game.maximizes(parent) else 1.0
            left[parent] -= 1
            if parent not in result and (result[state] == wins or left[parent] == 0):
                result[parent] = result[state]
                queue.append(parent)
    return {state: result.get(state, 0.5) for state in table}


@pytest.mark.parametrize(("mouse", "cat"), [("a", "f"), ("a", "b"), ("e", "a")])
def test_a_game_that_may_go_on_for_ever(mouse, cat):
    game = cat_and_mouse(HOUSE, {"h": 1.0, "i": 1.0}, mouse=mouse, cat=cat)
    values = game_value(game)
    assert all(worth(game, state) == values[state] for state in list(values)[:10])
    for expansion in (None, 0.6):
        result = best_arm(game, **SETTINGS, expansion=expansion, seed=0)
        assert result.settled
        assert verify(result.certificate)
        if expansion is None:
            ends = {state: game.means[state] for below in game.children_of.values() for state in below}
            value = values.get(result.answer, ends[result.answer])
            assert value == values[game.root()]
            assert result.lower <= value <= result.upper


def test_the_one_who_could_leave_should():
    """Without `endless`: only the first player can leave, only the opponent can, both can, nobody can."""
    leaving = {"player": ["a"], "opponent": ["b"], "both": ["a", "b"], "nobody": []}
    found = {}
    for who, states in leaving.items():
        table = {0: ["a", "z"], "a": ["b"], "b": ["a"]}
        table |= {state: [*table[state], f"exit {state}"] for state in states}
        means = {"exit a": 0.4, "exit b": 0.6, "z": 0.5}
        problem = TableProblem(table, means, opponent=["b"], exact_states=means)
        search = Search(problem, task="arm", epsilon=0.01, delta=0.1, seed=0)
        search.run()
        known = search.state.known.known[search.state.graph.node_of["a"]]
        found[who] = (known["lower"], known["upper"])
        assert search.state.reason == ("settled" if who in ("player", "opponent") else "exhausted")
        assert verify(search.result().certificate)
    assert found == {"player": (0.4, 0.4), "opponent": (0.6, 0.6), "both": (0.4, 0.6), "nobody": (0.0, 1.0)}


def test_dead_ends_are_worth_nothing_to_one_player():
    problem = TableProblem({0: ["trap", "a"], "trap": ["trap", "pit"], "pit": ["trap"], "a": [1, 2]}, {1: 0.2, 2: 0.1})
    for search in (best_arm, best_leaf):
        for expansion in (None, 0.8):
            result = search(problem, **SETTINGS, expansion=expansion, seed=0)
            assert result.answer in ("a", 1, 2)
            assert verify(result.certificate)
    zero = TableProblem({0: ["trap", 1], "trap": ["trap"]}, {1: 0.0}, exact_states=[1])
    assert best_leaf(zero, epsilon=0, delta=0.1, seed=0).answer == 1


def test_an_arm_that_leads_back_is_as_good_as_the_root():
    problem = TableProblem({0: ["round", 1], "round": [0, 2]}, {1: 0.9, 2: 0.1})
    result = best_arm(problem, **SETTINGS, seed=0)
    assert (result.answer, result.samples, result.gap) == ("round", 0, 0.0)


# ---- everything around a search


def test_the_order_in_which_children_are_listed_changes_no_bound():
    for seed in range(20):
        first = random_cyclic_graph(seed, two_player=True, exact_share=1.0)
        table = {state: below[::-1] for state, below in first.children_of.items()}
        exact = {"exact_states": first._exact, "opponent": first._opponent}
        runs = [Search(one, **SETTINGS, seed=0) for one in (first, TableProblem(table, first.means, **exact))]
        found = []
        for search in runs:
            search.evaluator.prefetch(list(first._exact & search.state.graph.node_of.keys()))
            known, node_of = search.state.known.known, search.state.graph.node_of
            found.append({state: (known["lower"][node], known["upper"][node]) for state, node in node_of.items()})
        assert found[0] == found[1]


def test_checks_know_cycles():
    check_problem(navigation_grid(["S..A", "B..C"], {"A": 0.9, "B": 0.2, "C": 0.5}))
    check_problem(cat_and_mouse(HOUSE, {"h": 1.0, "i": 1.0}, mouse="a", cat="f"))
    for value in (1.5, (0.7, 0.3), "draw", float("nan")):
        odd = cat_and_mouse(HOUSE, {"h": 1.0, "i": 1.0}, mouse="a", cat="f", endless=value)
        words = r"endless\(.*\) must return a number in \[0, 1\], or a lower"
        with pytest.raises(AssertionError, match=words):
            check_problem(odd)
        with pytest.raises(ValueError, match=words):
            best_arm(odd, **SETTINGS, seed=0)
    with pytest.raises(AssertionError, match="a random walk must come to a terminal state, got 50 walks in circles"):
        check_problem(TableProblem({0: [1], 1: [0]}, {}))


@pytest.mark.parametrize("expansion", [None, 0.5])
def test_what_cannot_be_searched_is_refused_in_a_sentence(expansion):
    game = cat_and_mouse(HOUSE, {"h": 1.0, "i": 1.0}, mouse="a", cat="f")
    with pytest.raises(ValueError, match="best_leaf needs a problem of one player, but here an opponent may move"):
        best_leaf(game, **SETTINGS, expansion=expansion, seed=0)
    with pytest.raises(ValueError, match="the root 0 must lead to a terminal state, but all its moves go in circles"):
        best_arm(TableProblem({0: [1, 2], 1: [0], 2: [0, 1]}, {}), **SETTINGS, expansion=expansion)


def test_a_single_player_who_may_walk_for_ever_has_a_best_leaf():
    table = {0: [1, "low"], 1: [0, "high"]}
    walk = TableProblem(table, {"low": 0.2, "high": 0.6}, endless=0.9)  # with endless it has maximizes, always true
    assert walk.maximizes(0)
    found = best_leaf(walk, epsilon=0.1, delta=0.1, seed=0)
    assert (found.answer, found.reason) == ("high", "settled")
    assert verify(found.certificate)


def test_problems_and_rivals_that_cannot_deal_with_cycles_say_so():
    loop = TableProblem({0: [1, 2], 1: [0, 3]}, {2: 0.1, 3: 0.7})
    loop.endless = lambda state: 0.5
    with pytest.raises(TypeError, match="endless is for a problem with an opponent"):
        best_arm(loop, **SETTINGS)
    del loop.endless
    with pytest.raises(ValueError, match="UCT needs a graph without cycles, but 1 leads back to itself"):
        uct_search(loop, max_samples=50, seed=0)
    with pytest.raises(ValueError, match="Unrolled needs a problem without cycles, but 1 leads back to itself"):
        best_leaf(Unrolled(loop), **SETTINGS)
    dice = TableProblem({0: [1, 2], 1: [0, 3]}, {2: 0.1, 3: 0.7}, chance={1: [0.5, 0.5]})
    for expansion in (None, 0.5):
        with pytest.raises(ValueError, match="a problem with chance must have no cycles"):
            best_arm(dice, **SETTINGS, expansion=expansion, seed=0)


# ---- certificates


@pytest.fixture(scope="module")
def drawn_game():
    game = cat_and_mouse(HOUSE, {"h": 1.0, "i": 1.0}, mouse="a", cat="f")
    assert worth(game, game.root()) == 0.5
    return best_arm(game, **SETTINGS, seed=0).certificate


def test_a_certificate_says_what_play_without_end_is_taken_to_be_worth(drawn_game):
    assert "what play without end is worth; it is taken to be 0.5, as the problem says." in drawn_game.not_claimed
    assert "what play without end is worth" in str(verify(drawn_game))
    silent = best_arm(random_cyclic_graph(1, two_player=True), **SETTINGS, seed=0, max_samples=500).certificate
    assert "counts against the one who could leave" in silent.not_claimed[0]


@pytest.mark.parametrize(
    ("forge", "words"),
    [
        (lambda graph: graph.pop("endless"), "follows from the leaves"),
        (lambda graph: [one.update(lower=1.0, upper=1.0) for one in graph["endless"]], "follows from the leaves"),
        (lambda graph: graph["endless"].pop(), "a value for each node on a cycle"),
        (lambda graph: graph["endless"][0].update(lower=0.7), "must have lower <= upper"),
        (lambda graph: graph.update(two_player=False, minimizes=[]), "on a cycle of a game"),
        (lambda graph: graph.update(minimizes=[]), "follows from the leaves"),
    ],
)
def test_forged_values_of_play_without_end_are_refused(drawn_game, forge, words):
    content = content_of(drawn_game)
    forge(content["search"]["graph"])
    assert words in refused(content)


def test_forged_edges_are_refused():
    problem = TableProblem({0: [1, 2], 1: [3, 4]}, {2: 0.9, 3: 0.1, 4: 0.2})
    content = content_of(best_arm(problem, **SETTINGS, seed=0).certificate)
    assert refused(content) == ""
    assert content["search"]["answer"] == 2
    content["search"]["answer"] = 1
    content["search"]["graph"]["children"][1].append(0)  # with an edge back to the root this arm would be the best
    assert "follows from the leaves" in refused(content)


@pytest.mark.slow
def test_the_checker_agrees_with_the_engine_on_every_node():
    for seed in range(RUNS):
        endless = (None, 0.3, (0.2, 0.9))[seed % 3]
        problem = random_cyclic_graph(seed, inner=12, leaves=6, two_player=seed % 4 > 0, endless=endless)
        search = Search(problem, **SETTINGS, seed=seed, max_samples=40)
        search.run()
        content = content_of(search.result().certificate)
        lower, upper = check.Graph(check.read(content, "<certificate>", "")).bounds()
        known = search.state.known.known[: len(search.state.graph)]
        assert lower == known["lower"].tolist()
        assert upper == known["upper"].tolist()


def test_play_without_end_is_no_rival():
    below = {0: ["on", "around"], "on": ["leaf"], "around": ["around"]}
    result = best_leaf(TableProblem(below, {"leaf": 0.1}), epsilon=0.05, delta=0.1, bound="beta1", seed=0)
    assert (result.answer, result.gap, result.samples) == ("leaf", 0.0, 0)
