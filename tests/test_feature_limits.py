"""Limits on subsets: what features may cost together, and how many of a set may be chosen."""

from __future__ import annotations

from copy import deepcopy
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from bestleaf import BestLeafSelector, FuseSelector, SearchOptions, validate, verify
from bestleaf.certificate import Certificate
from bestleaf.certificate.limits import Limits
from bestleaf.features import STOP, FeatureLattice
from bestleaf.features.neighbours import KNNOracle
from bestleaf.tables import prepared
from bestleaf.tables.select import select_from_table
from bestleaf.testing import check_problem
from test_features import draws
from test_select import bestleaf

COSTS = [5, 1, 1, 2, 3, 1, 0, 4]
SETS = {"first": (1, [0, 1, 2]), "last": (2, [4, 5, 6, 7])}
LIMITED = {"costs": COSTS, "max_cost": 6, "at_most": SETS}


def table(rows=60, columns=8):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, columns))
    return X, (X[:, 0] + X[:, 1] + X[:, 3] + 0.5 * rng.normal(size=rows) > 0).astype(int)


def allowed(subset):
    """Whether a subset of columns obeys LIMITED."""
    within = all(len(set(some).intersection(subset)) <= most for most, some in SETS.values())
    return within and sum(COSTS[column] for column in subset) <= 6


@pytest.fixture(scope="module")
def oracle():
    return KNNOracle(*table(), subsample=20)


@pytest.mark.parametrize(
    "more",
    [{}, {"max_features": 2}, {"forced": [3]}, {"forbidden": [6], "groups": [[0], [1, 6], [2, 5], [3], [4], [7]]}],
)
def test_the_lattice_has_exactly_the_subsets_within_the_limits(oracle, more):
    lattice = FeatureLattice(oracle, **LIMITED, **more)
    units, forced = range(len(lattice.groups)), set(lattice.forced)
    usable = set(lattice.allowed) | forced
    right = set()
    for size in range(1, lattice.limit + 1):
        for subset in combinations(units, size):
            features = [feature for unit in subset for feature in lattice.groups[unit]]
            counted = [
                len({unit for unit in subset if set(lattice.groups[unit]) & set(some)}) for _, some in SETS.values()
            ]
            fits = sum(COSTS[one] for one in features) <= 6 and counted[0] <= 1 and counted[1] <= 2
            if fits and forced <= set(subset) <= usable:
                right.add((*subset, STOP))
    reached, waiting = set(), [lattice.root()]
    for state in waiting:  # grows in this loop
        children = lattice.children(state)
        assert lattice.count_children(state) == len(children)
        reached.update(child for child in children if lattice.is_terminal(child))
        waiting += [child for child in children if not lattice.is_terminal(child) and child not in waiting]
    assert reached == right
    assert lattice.count_subsets() == len(right)
    leaf = max(right)
    near = {one for one in right if one != leaf and len({*one} - {*leaf}) <= 1 and len({*leaf} - {*one}) <= 1}
    assert set(lattice.neighbours(leaf)) == near
    check_problem(lattice, walks=20, samples=100)


def test_rollouts_stay_within_the_limits_and_are_the_same_in_kernels(oracle):
    lattice, plain = FeatureLattice(oracle, **LIMITED), np.random.default_rng(0)
    for state in ((), (1,), (6,)):
        assert draws(lattice, state, 0, 50) == [lattice.sample(state, plain) for _ in range(50)]
        plain = np.random.default_rng(0)
        assert all(allowed(lattice.complete(state, plain)[:-1]) for _ in range(100))
        plain = np.random.default_rng(0)


def test_sums_of_costs_are_not_refused_for_their_last_digit():
    assert Limits(3, [0.1, 0.1, 0.1], 0.3).fits([0, 1, 2])
    assert not Limits(3, [0.1, 0.1, 0.1], 0.299).fits([0, 1, 2])
    assert Limits(2, [0, 1], 0).fits([0])
    assert not Limits(2, [0, 1], 0).fits([1])


def test_counting_ends_where_it_takes_long():
    rng = np.random.default_rng(0)
    costs = rng.random(60).tolist()
    assert Limits(60, costs, 30.0).count((), range(60), 60, 1000) > 1000
    assert Limits(60, None, None, [("all", 2, range(60))]).count((), range(60), 60, 10**6) == 60 + 60 * 59 // 2


def test_an_order_is_cut_so_that_every_size_is_reached():
    limits = Limits(6, [5, 1, 1, 2, 3, 1], 6)
    found = limits.firsts([0, 4, 3, 2, 1, 5], (), range(1, 7))
    assert found == {1: [0], 2: [0, 2], 3: [4, 3, 2], 4: [4, 2, 1, 5]} | {}
    assert Limits(6).firsts([3, 1, 2], (), [1, 2, 4]) == {1: [3], 2: [3, 1]}
    assert limits.firsts([1, 2, 3], (0,), [1, 2]) == {1: [1]}


@pytest.mark.parametrize(
    "selector",
    [
        BestLeafSelector(choose="training", guarantee="grown", epsilon=0.1, max_samples=3000),
        BestLeafSelector(choose="training", guarantee=["local", "quantile"], epsilon=0.2, max_samples=20_000),
        BestLeafSelector(choose="training", search=SearchOptions(proposal="rave"), guarantee="grown", epsilon=0.2),
        BestLeafSelector(cv=3),
        BestLeafSelector(LogisticRegression(), cv=3, epsilon=0.5, max_samples=60),
        FuseSelector(max_samples=300),
    ],
)
@pytest.mark.filterwarnings("ignore:max_samples ended")
def test_every_search_obeys_the_limits(selector):
    X, y = table()
    selector.set_params(random_state=0, **LIMITED).fit(X, y)
    assert allowed(np.flatnonzero(selector.support_))
    assert all(allowed(one.features) for one in selector.evaluated_)
    content = selector.certificate_.content
    for label in content["graph"]["labels"]:
        assert allowed([unit for unit in label if unit != STOP])
    for row in selector.path_ or ():
        assert allowed(row.features) or row.family == "all features"
    assert verify(selector.certificate_, X, y)
    assert "costs of at most 6; at most 1 of first; at most 2 of last" in str(selector.certificate_)


def test_all_subsets_means_all_within_the_limits(oracle):
    X, y = table()
    selector = BestLeafSelector(choose="training", prefer_small=False, epsilon=0.0, random_state=0, **LIMITED).fit(X, y)
    subsets = [one for size in range(1, 9) for one in combinations(range(8), size) if allowed(one)]
    assert selector.score_ == max(oracle.value(one) for one in subsets)
    assert f"All {len(subsets)} subsets that may be chosen were evaluated" in str(selector.certificate_)


def test_all_features_are_the_answer_only_if_they_fit(oracle):
    X, y = table()
    assert FeatureLattice(oracle, costs=COSTS, max_cost=sum(COSTS)).limit == 8
    tight = BestLeafSelector(random_state=0, cv=3, costs=COSTS, max_cost=sum(COSTS) - 1).fit(X, y)
    assert tight.certificate_.content["data"]["choice"]["limit"] == 7
    assert tight.path_[-1].family == "all features"
    with pytest.raises(ValueError, match="size must be at most 7, the largest subset that may be chosen, got 8"):
        tight.at_size(8)


def test_names_dicts_and_searches_again():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    costs = {name: cost for name, cost in zip("abcdefgh", COSTS, strict=True) if cost}
    sets = {name: (most, [frame.columns[one] for one in some]) for name, (most, some) in SETS.items()}
    limits = {"costs": costs, "max_cost": 6, "at_most": sets}
    selector = BestLeafSelector(choose="training", random_state=0, **limits)
    judged = validate(selector, frame, y, n_repeats=2)
    plain = BestLeafSelector(choose="training", random_state=0, **LIMITED).fit(X, y)
    assert judged.selector.support_.tolist() == plain.support_.tolist()
    assert judged.selector.certificate_.content["data"]["choice"] == plain.certificate_.content["data"]["choice"]


def test_a_checkpoint_is_of_its_limits(tmp_path):
    X, y = table()
    keywords = {"choose": "training", "random_state": 0, "checkpoint": tmp_path / "run.blf", "costs": COSTS}
    BestLeafSelector(max_cost=6, **keywords).fit(X, y)
    with pytest.raises(ValueError, match="max_cost"):
        BestLeafSelector(max_cost=7, **keywords).fit(X, y)


def test_forged_limits_are_refused():
    X, y = table()
    selector = BestLeafSelector(choose="training", guarantee="local", epsilon=0.2, random_state=0, **LIMITED)
    genuine = selector.fit(X, y).certificate_.content
    assert verify(Certificate(genuine), X, y)

    def forged(**parts):
        content = deepcopy(genuine)
        for choice in (content["data"]["choice"], content["challenges"]["local"]["choice"]):
            for name, value in parts.items():
                choice.pop(name) if value is None else choice.update({name: value})
        return str(verify(Certificate(content)))

    assert "is not within the limits" in forged(max_cost=1.0)
    assert "must be about all" in forged(max_cost=60.0)
    assert "Refused" in forged(at_most=None)
    assert "costs and max_cost must be written together" in forged(max_cost=None)
    assert "costs must be written for all 8 units, got 1" in forged(costs=[1.0])
    assert "at_most must be about different units" in forged(at_most=[{"name": "x", "most": 1, "units": [99]}])
    whole = BestLeafSelector(choose="training", random_state=0, **LIMITED).fit(X, y).certificate_.content
    whole["data"]["choice"]["max_cost"] = 60.0
    assert "the whole graph must have all" in str(verify(Certificate(whole)))


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"costs": COSTS}, "costs and max_cost must be given together, got only costs"),
        ({"max_cost": 3}, "costs and max_cost must be given together, got only max_cost"),
        ({"costs": [1, 2], "max_cost": 3}, "costs must have one number for each of the 8 features, got 2"),
        ({"costs": {"b": -1}, "max_cost": 3}, "costs must be finite numbers of at least 0, got -1 for 'b'"),
        ({"costs": {"b": "x"}, "max_cost": 3}, "costs must be finite numbers of at least 0, got 'x' for 'b'"),
        ({"costs": {"B": 1}, "max_cost": 3}, "costs must name features of X, got 'B'"),
        ({"costs": COSTS, "max_cost": 4, "forced": ["a"]}, "max_cost must be at least 5, the cost of what is forced"),
        ({"costs": [9] * 8, "max_cost": 4}, "max_cost and at_most must leave one of the features"),
        ({"at_most": {"x": (1, ["z"])}}, "at_most must name features of X, got 'z'"),
        ({"at_most": {"x": (0, ["a"])}}, "at_most must give a number of at least 1 and a list of features"),
        ({"at_most": {"x": ["a", "b"]}}, "at_most must give a number of at least 1 and a list of features"),
        (
            {"at_most": {"x": (1, ["a", "b"])}, "forced": ["a", "b"]},
            "at_most must allow the 2 of 'x' that are forced, got 1",
        ),
    ],
)
def test_limits_that_cannot_be_used(keywords, sentence):
    X, y = table()
    with pytest.raises(ValueError, match=sentence):
        BestLeafSelector(choose="training", **keywords).fit(pd.DataFrame(X, columns=list("abcdefgh")), y)


def test_a_category_costs_once_however_many_columns_it_becomes():
    X, y = table()
    frame = pd.DataFrame(X[:, :3], columns=list("abc")).assign(town=np.array(["x", "y", "z"])[np.arange(60) % 3], y=y)
    keywords = {"costs": {"town": 2, "a": 2, "b": 1}, "max_cost": 3, "at_most": {"few": [1, ["town", "c"]]}}
    found = select_from_table(prepared(frame, "y"), choose="training", prefer_small=False, **keywords)
    choice = found.selector.certificate_.content["data"]["choice"]
    assert choice["costs"] == [2.0, 1.0, 0.0, 2.0]
    assert choice["at_most"] == [{"name": "few", "most": 1, "units": [2, 3]}]
    with pytest.raises(ValueError, match="costs must name a column of the table other than the target, got 'z'"):
        select_from_table(prepared(frame, "y"), costs={"z": 1}, max_cost=3)
    with pytest.raises(ValueError, match="at_most must hold a number and a list of columns, got 3 for 'few'"):
        select_from_table(prepared(frame, "y"), at_most={"few": 3})


def test_limits_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = table()
    pd.DataFrame(X, columns=list("abcdefgh")).assign(y=y).to_csv("t.csv", index=False)
    (tmp_path / "costs.json").write_text('{"a": 5, "b": 1}')
    (tmp_path / "sets.json").write_text('{"few": [1, ["c", "d"]]}')
    options = ["t.csv", "--target", "y", "--costs", "costs.json", "--at-most", "sets.json", "--choose", "training"]
    assert bestleaf("select", *options, "--max-cost", "3", "--certificate", "c.json") == 0
    choice = Certificate.load("c.json").content["data"]["choice"]
    assert (choice["max_cost"], choice["at_most"][0]["units"]) == (3.0, [2, 3])
    assert bestleaf("verify", "c.json", "--data", "t.csv", "--target", "y") == 0
    capsys.readouterr()
    assert bestleaf("select", *options) == 2
    assert "--costs and --max-cost must be given together, got only --costs" in capsys.readouterr().err
    (tmp_path / "costs.json").write_text("[1, 2]")
    assert bestleaf("select", *options, "--max-cost", "3") == 2
    assert '--costs must hold {"column": 2.5, ...}, got a list' in capsys.readouterr().err
