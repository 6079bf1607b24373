"""How golden cases are run: whole searches that are compared with what was recorded.

Every call of the package goes through one small function here, and every result through `found_by`, `proved_by` or
`selected_by`. When public names change, only this module is adapted; the list of cases and the files stay.
"""

from __future__ import annotations

import csv
import tempfile
import warnings
from collections.abc import Callable
from inspect import signature
from math import isfinite, log, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from joblib import parallel_config

import selecting
from bestleaf import (
    BestLeafSelector,
    Bound,
    Certificate,
    KNNOracle,
    NeighbourVotes,
    Rate,
    Rule,
    Search,
    best_arm,
    best_leaf,
    fuse_search,
    problems,
    uct_search,
)
from bestleaf.engine.rules import children, strongest_rival
from bestleaf.features import FeatureLattice
from bestleaf.proof.record import Data, LocalClaim
from golden.graphs import Climb, ExactClimb, ExactNim, Nim, Spread, Trap, data, framed, shop

# ---- results as plain numbers and words


def plain(value: Any) -> Any:
    """Return a value in terms of JSON; infinite numbers become None, what JSON has no form for becomes text."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    return repr(value)


def weighed(numbers: list[float] | None) -> float | None:
    """Return one number for the evidence of an interval: the sum of its numbers, each times its place."""
    return None if numbers is None else float(sum(place * number for place, number in enumerate(numbers, 1)))


def by_column(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return a list of rows as columns, which takes less room."""
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def proved_by(certificate: Certificate) -> dict[str, Any]:
    """Return the claim of a search without words, times, version and history."""
    search, graph = certificate.search, certificate.search.graph
    leaves = [
        {
            "node": leaf.node,
            "label": search.label_of(leaf),
            **{name: getattr(leaf, name) for name in ("terminal", "exact", "count", "mean", "lower", "upper")},
            **{name: getattr(leaf, name) for name in ("order", "share")},
            "lower_evidence": weighed(leaf.lower_evidence),
            "upper_evidence": weighed(leaf.upper_evidence),
        }
        for leaf in search.leaves
    ]
    found = {name: getattr(search, name) for name in ("answer", "lower", "upper", "gap")}
    found |= {"reason": certificate.reason, "features": certificate.features}
    asked = ("task", "epsilon", "delta", "rule", "bound", "stopping", "expansion", "proposal", "seed", "proof")
    found["search"] = {name: getattr(search, name) for name in asked}
    found["challenges"] = {} if certificate.local is None else {"local": compared_in(certificate.local)}
    found["graph"] = {
        name: getattr(graph, name) for name in ("labels", "children", "minimizes", "two_player", "created")
    }
    found["graph"]["inner_orders"] = [graph.inner_orders.get(node, 0) for node in range(len(graph.labels))]
    counts = ("samples", "warmup_samples", "exact_evaluations", "growths", "values_outside")
    found["cost"] = {name: getattr(certificate.cost, name) for name in counts}
    found |= {} if search.plan is None else {"plan": search.plan}
    if certificate.data is not None and certificate.told is not None:
        found["data"] = about(certificate.data)
        found["report"] = {name: getattr(certificate.told, name) for name in ("by_size", "feature_scores", "without")}
    return plain({**found, "leaves": by_column(leaves)})


def about(data: Data) -> dict[str, Any]:
    """Return what a record says of the data, without descriptions of estimators."""
    objective = msgspec.to_builtins(data.objective)
    by_fits = objective.pop("kind") == "estimator"
    counts = {name: objective.pop(name, None) for name in ("classes", "queries")}
    if by_fits:
        objective = {"kind": "estimator"} | {
            name: objective[name] for name in objective if name not in ("estimator", "cv")
        }
    digests = {name: getattr(data, name) for name in ("row_groups", "row_weights") if getattr(data, name) is not None}
    return {
        **{name: getattr(data, name) for name in ("names", "rows", "fingerprint")},
        "groups": data.units,
        "choice": msgspec.structs.asdict(data.choice),
        "objective": objective,
        **counts,
        **digests,
    }


def compared_in(local: LocalClaim) -> dict[str, Any]:
    """Return what the candidates one step away are worth, and what may be chosen."""
    choice = {} if local.choice is None else {"choice": msgspec.structs.asdict(local.choice)}
    return {**choice, "subsets": [[one.label, one.value] for one in local.compared]}


def found_by(result: Any) -> dict[str, Any]:
    """Return the result of a best arm or best leaf."""
    names = ("answer", "lower", "upper", "gap", "reason", "samples", "warmup_samples", "exact_evaluations", "growths")
    found, search = (
        plain({name: getattr(result, name) for name in (*names, "nodes", "node_updates")}),
        result.search,
    )
    found |= {"two_player": search.graph.two_player, "proof": search.proof}
    return {**found, "certificate": proved_by(result.certificate)}


def selected_by(selector: Any) -> dict[str, Any]:
    """Return the fitted attributes of a selector; of very many evaluated subsets the first hundred."""
    if selector.choose == "new_data":
        return chosen_by(selector)
    names = ("support_", "subset_", "score_", "score_interval_", "feature_scores_")
    found = {name: getattr(selector, name) for name in names}
    evaluated = selector.evaluated_
    found["evaluated"] = len(evaluated)
    found["best_evaluated"] = [[one.score, one.size, *one.features] for one in evaluated[:100]]
    found["sum_of_evaluated"] = float(sum(one.score for one in evaluated))
    return {**plain(found), "certificate": proved_by(selector.certificate_)}


def chosen_by(selector: Any) -> dict[str, Any]:
    """Return what was chosen for new rows, in the digits that do not depend on the machine."""
    found = selector.certificate_
    path, claim = msgspec.to_builtins(found.path), msgspec.to_builtins(found.new_rows)
    data = {name: value for name, value in msgspec.to_builtins(found.data).items() if name != "fingerprint"}
    claim.pop("table", None)
    names = ("features", "reason")
    kept = {name: getattr(found, name) for name in names}
    return shortened(plain({**kept, "ranking_": selector.ranking_, "path": path, "new_rows": claim, "data": data}))


def shortened(value: Any) -> Any:
    """Return a value with all numbers in eight digits after the point."""
    if isinstance(value, dict):
        return {name: shortened(one) for name, one in value.items()}
    if isinstance(value, list):
        return [shortened(one) for one in value]
    return round(value, 8) if isinstance(value, float) else value


# ---- calls of the package


def leaf(problem: str, *, n_jobs: int | None = None, **keywords: Any) -> dict[str, Any]:
    """Search for the best leaf."""
    return found_by(best_leaf(PROBLEMS[problem](), **_promise(keywords), n_jobs=n_jobs))


def arm(problem: str, *, n_jobs: int | None = None, **keywords: Any) -> dict[str, Any]:
    """Search for the best child of the root."""
    return found_by(best_arm(PROBLEMS[problem](), **_promise(keywords), n_jobs=n_jobs))


def asked(problem: str, **keywords: Any) -> dict[str, Any]:
    """Search by asking what to sample and telling what came of it."""
    made, rng = PROBLEMS[problem](), np.random.default_rng(11)
    search, states = Search(made, **_promise(keywords)), []
    while (state := search.ask()) is not None:
        states.append(plain(state))
        search.tell(made.sample(state, rng))
    return {**found_by(search.result()), "asked": states[:200]}


def asked_in_batches(problem: str, *, sizes: tuple[int, ...], **keywords: Any) -> dict[str, Any]:
    """Search by asking for several samples at once, of one size after the other."""
    made, batches = PROBLEMS[problem](), []
    search = Search(made, batch_size=max(sizes), **_promise(keywords))
    while requests := search.ask_batch(sizes[len(batches) % len(sizes)]):
        batches.append([[plain(one.state), plain(one.seed)] for one in requests])
        search.tell_batch([made.sample(one.state, np.random.default_rng(one.seed)) for one in requests])
    return {**found_by(search.result()), "asked": batches[:20]}


def selected(table: str, *, metadata: dict[str, Any] | None = None, **keywords: Any) -> dict[str, Any]:
    """Select columns."""
    X, y = TABLES[table]()
    return selected_by(made_selector(**keywords).fit(X, y, **(metadata or {})))


def made_selector(**keywords: Any) -> BestLeafSelector:
    """Return a selector from one list of settings; it chooses by the rows given, unless said otherwise."""
    votes = {name: keywords.pop(name) for name in signature(NeighbourVotes).parameters if name in keywords}
    if votes:
        keywords["estimator"] = NeighbourVotes(**votes)
    return selecting.made_selector(**{"random_state": 0, "choose": "training", **keywords})


def commanded(table: str, *options: str) -> dict[str, Any]:
    """Select features of a file on the command line, and return its certificate."""
    from typer.testing import CliRunner

    from bestleaf.cli.app import app

    X, y = TABLES[table]()
    with tempfile.TemporaryDirectory() as folder:
        file, proof = Path(folder) / "table.csv", Path(folder) / "proof.json"
        with file.open("w", newline="") as out:
            rows = csv.writer(out)
            rows.writerow([*(f"c{column}" for column in range(X.shape[1])), "y"])
            rows.writerows([*map(repr, map(float, row)), repr(target.item())] for row, target in zip(X, y, strict=True))
        words = ["select", str(file), "--target", "y", "--choose", "training", "--certificate", str(proof), *options]
        code = CliRunner().invoke(app, words).exit_code
        proved = proved_by(Certificate.load(proof))
        del proved["data"]["fingerprint"]  # versions of pandas read the last digit of a number differently
        return {"exit_code": code, "certificate": proved}


def uct(problem: str, **keywords: Any) -> dict[str, Any]:
    """Search by UCT or a variant of it."""
    result = uct_search(PROBLEMS[problem](), **{"max_samples": 1000, "seed": 0, **keywords})
    names = ("answer", "path", "value", "samples", "exact_evaluations", "nodes", "edges", "reason")
    arms = [{"state": one.state, "visits": one.visits, "mean": one.mean} for one in result.arms]
    return plain({**{name: getattr(result, name) for name in names}, "arms": by_column(arms)})


def fuse(problem: str, **keywords: Any) -> dict[str, Any]:
    """Search the lattice of subsets by FUSE."""
    result = fuse_search(PROBLEMS[problem](), **{"max_samples": 3000, "seed": 0, **keywords})
    names = ("answer", "value", "ranking", "scores", "samples", "rollouts", "nodes", "edges", "reason")
    values = [[*state, value] for state, value in result.values.items()]
    return plain({**{name: getattr(result, name) for name in names}, "values": values})


def _promise(keywords: dict[str, Any]) -> dict[str, Any]:
    return {"epsilon": 0.1, "delta": 0.1, "seed": 0, **keywords}


# ---- what is searched


TABLES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "classes": lambda: data(0, 60, 14),
    "wide": lambda: data(1, 50, 40),
    "real": lambda: data(2, 50, 14, kinds=0),
    "four classes": lambda: data(3, 80, 13, kinds=4),
    "small": lambda: data(4, 60, 6),
    "small real": lambda: data(5, 50, 6, kinds=0),
    "frame": lambda: framed(6, 60, 8),
    "long": lambda: data(7, 32_000, 3),
    "three classes": lambda: data(8, 60, 7, kinds=3),
    "many rows": lambda: data(9, 2_000, 8),
    "shop": lambda: shop(10, 80),
}


def subsets(kind: type, table: str, max_features: int | None = None, **keywords: Any) -> Any:
    """Return the lattice of the subsets of features of a table."""
    return kind(KNNOracle(*TABLES[table](), **keywords), max_features=max_features)


PROBLEMS: dict[str, Callable[[], Any]] = {
    "lattice": problems.paper_lattice,
    "small lattice": lambda: problems.ScoreLattice((-0.4, 0.1, 0.5, 0.9), 2),
    "tree": lambda: problems.Unrolled(problems.ScoreLattice((-0.4, 0.1, 0.5, 0.9), 2)),
    "dag": lambda: problems.random_dag(7, layers=3, width=8, max_children=4),
    "tied": lambda: problems.random_dag(6, width=5, grid=0.1),
    "exact": lambda: problems.random_dag(19, width=6, exact_share=0.5, grid=0.05),
    "game": lambda: problems.random_dag(20, two_player=True, width=3),
    "exact game": lambda: problems.random_dag(16, two_player=True, width=5, exact_share=0.6),
    "game tree": lambda: problems.random_game_tree(1, depth=3, branching=2),
    "climb": Climb,
    "exact climb": ExactClimb,
    "spread": Spread,
    "nim": Nim,
    "exact nim": ExactNim,
    "trap": Trap,
    "hidden door": lambda: problems.transposition_trap(12),
    "subsets": lambda: subsets(FeatureLattice, "classes"),
    "pairs": lambda: subsets(FeatureLattice, "small", 2),
    "triples": lambda: subsets(FeatureLattice, "classes", 3),
    "real subsets": lambda: subsets(FeatureLattice, "real", task="regression"),
}


@Rule
def boldest(root, graph, known):
    """Best by upper bound."""
    best = children(graph, root)[0]
    for child in children(graph, root):
        if known[child].upper > known[best].upper:
            best = child
    return best, strongest_rival(best, root, graph, known)


@Bound
def union_over_time(mean, count, delta, row):
    """Hoeffding at every count, each with its part of the leaf's share of delta."""
    half = sqrt(log(2 * count * (count + 1) / delta) / (2 * count))
    return mean - half, mean + half


@Rate
def own_rate(count, delta, leaves):
    """Return a level that grows with the count."""
    return log(leaves * count / delta)


# ---- cases


class Case(NamedTuple):
    """A search: the function that runs it, and its arguments; `also` are further keywords that change nothing."""

    run: Callable[..., dict[str, Any]]
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    also: tuple[dict[str, Any], ...] = ()

    def record(self, **further: Any) -> dict[str, Any]:
        """Run the search and return what is recorded of it; workers are threads, unless said otherwise."""
        with warnings.catch_warnings(), parallel_config(further.pop("backend", "threading")):
            warnings.simplefilter("ignore")
            return self.run(*self.arguments, **self.keywords, **further)


def case(run: Callable[..., dict[str, Any]], *arguments: Any, also: Any = (), **keywords: Any) -> Case:
    """Return a case."""
    return Case(run, arguments, keywords, tuple(also))
