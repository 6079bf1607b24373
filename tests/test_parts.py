"""Rules, rates and bounds are replaceable by a user's own decorated function."""

from __future__ import annotations

import subprocess
import sys
from math import log, sqrt

import pytest

from bestleaf import Bound, Rate, Rule, best_arm, best_leaf
from bestleaf.engine.bounds import BOUNDS
from bestleaf.engine.rules import RULES, highest_lower_bound, named_rule
from bestleaf.problems import paper_lattice


@Rule
def stray(root, graph, known):
    return 17, -1


@Rule
def helpless(root, graph, known):
    return highest_lower_bound(root, graph, known), 99_999_999


@Rate
def cautious(count, delta, leaves):
    return 2.0 * log(leaves * count * (count + 1) / delta)


def observe_variance(row, value, count):
    """Keep sum and sum of squares."""
    row[0] += value
    row[1] += value * value


def empirical(mean, count, delta, row):
    """A user's own interval from its own numbers (a union bound over time of Maurer & Pontil's)."""
    if count < 2:
        return 0.0, 1.0
    level = log(4.0 * count * (count + 1) / delta)
    variance = max(0.0, (row[1] - row[0] * row[0] / count) / (count - 1))
    half = sqrt(2.0 * variance * level / count) + 7.0 * level / (3.0 * (count - 1))
    return mean - half, mean + half


own_bound = Bound(empirical, width=2, observe=observe_variance)


@Bound
def inverted(mean, count, delta, row):
    return mean + 0.1, mean - 0.1


@pytest.mark.parametrize("rule", [stray, helpless])
def test_a_rule_that_names_strangers_is_told_so(rule):
    with pytest.raises(ValueError, match=f"rule {rule.name} must return children of its root"):
        best_arm(paper_lattice(), epsilon=0.1, delta=0.1, rule=rule)


def test_a_users_rate_compiles_into_the_loop():
    result = best_leaf(paper_lattice(), epsilon=0.2, delta=0.1, bound=cautious, expansion=0.4, seed=0)
    assert (result.reason, result.search.bound) == ("settled", "cautious")
    for leaf in result.leaves:
        half = sqrt(cautious.part.function(leaf.count, 0.1, len(result.leaves)) / (2 * leaf.count))
        assert leaf.upper == pytest.approx(min(1, leaf.mean + half))


def test_a_users_bound_keeps_its_own_numbers():
    result = best_leaf(paper_lattice(), epsilon=0.1, delta=0.1, bound=own_bound, seed=0)
    assert result.answer == (3, 4, 5)
    leaf = max(result.leaves, key=lambda one: one.count)
    spread = leaf.mean * (1 - leaf.mean) * leaf.count / (leaf.count - 1)
    level = log(4.0 * leaf.count * (leaf.count + 1) / leaf.share)
    half = sqrt(2 * spread * level / leaf.count) + 7 * level / (3 * (leaf.count - 1))
    assert leaf.upper <= leaf.mean + half + 1e-12
    assert leaf.upper - leaf.lower == pytest.approx(2 * half, rel=0.2)


def test_a_bound_that_is_upside_down_is_told_so():
    for expansion in (None, 0.5):
        with pytest.raises(ValueError, match="bound inverted must return lower <= upper"):
            best_arm(paper_lattice(), epsilon=0.1, delta=0.1, bound=inverted, expansion=expansion, seed=0)


@pytest.mark.parametrize(
    ("rule", "name"),
    [(rule, name) for rule in RULES for name in BOUNDS],
)
def test_every_rule_works_with_every_bound(rule, name):
    result = best_arm(paper_lattice(), epsilon=0.1, delta=0.1, rule=rule, bound=name, seed=1)
    assert result.reason == "settled"
    assert result.answer[0] in (3, 4, 5)


@pytest.mark.parametrize("kind", [Rule, Rate, Bound])
def test_parts_are_made_from_functions(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__} must be made from a function, got 3"):
        kind(3)


WILD = """
from math import log, sqrt
import pytest
from bestleaf import Bound, Rule, best_arm
from bestleaf.problems import paper_lattice
from bestleaf.engine.rules import highest_lower_bound

def observe(row, value, count):
    row[0 if count < 3 else 10**8 * count] = value

def interval(mean, count, delta, row):
    half = sqrt(log(10 * count / delta) / count)
    return mean - half, mean + half

@Rule
def wild(root, graph, known):
    return int(known[10**9].leaf), -1

def strict(mean, count, delta, row):
    if count > 3:
        raise ValueError("too many")
    return 0.0, 1.0
class Plain:
    def __init__(self, inner):
        self.root, self.children, self.is_terminal = inner.root, inner.children, inner.is_terminal
        self.sample = inner.sample

for problem in (paper_lattice(), Plain(paper_lattice())):
    for keywords, words in (
        ({"bound": Bound(interval, width=2, observe=observe)}, "bound interval raised an error in its observe"),
        ({"bound": Bound(strict)}, r"bound strict raised an error \\("),
        ({"rule": wild}, r"rule wild raised an error \\("),
    ):
        with pytest.raises(ValueError, match=words):
            best_arm(problem, epsilon=0.1, delta=0.1, seed=0, max_samples=2000, **keywords)
print("still there")
"""


@pytest.mark.slow
def test_an_error_in_a_users_part_is_a_sentence_and_not_the_end_of_the_interpreter():
    done = subprocess.run([sys.executable, "-c", WILD], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "still there\n", done.stderr[-500:]
    assert done.returncode == 0


def test_rules_are_found_by_their_published_names():
    assert named_rule("LUCB-exMCDS") is named_rule("lucb")
    assert named_rule("UGapE-MCTS") is named_rule("ugape")
    assert "LUCB-exMCDS" in named_rule("lucb").__doc__


def test_a_rule_that_does_not_compile_is_told_so():
    @Rule
    def wordy(root, graph, known):
        return "best", "rival"

    with pytest.raises(TypeError, match="the rule wordy does not compile"):
        best_arm(paper_lattice(), epsilon=0.1, delta=0.1, rule=wordy)

    def astray(root, graph, known):
        return graph.nodes[root].nothing, -1

    with pytest.raises(TypeError, match=r"^the rule astray does not compile: KeyError: 'nothing'$"):
        best_arm(paper_lattice(), epsilon=0.1, delta=0.1, rule=astray)
