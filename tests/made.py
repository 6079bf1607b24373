"""Records made by hand: what a selection and a search leave, without running one."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from bestleaf.proof.record import (
    Certificate,
    Choice,
    Cost,
    Data,
    Graph,
    Leaf,
    Neighbours,
    NewRowsClaim,
    Panel,
    Path,
    PathRow,
    SearchClaim,
    Step,
    Told,
)

NAMES = (
    "age",
    "income",
    "tenure",
    "city",
    "visits",
    "colour",
    "height",
    "weight",
    "shoe size",
    "noise 1",
    "noise 2",
    "x",
)
JUDGES = ("5 nearest neighbours", "ridge", "extra trees")
DIFFERENCES = (-0.145, -0.031, 0.004, 0.011, 0.012, 0.010, 0.006, 0.0)
SIZES = (1, 2, 3, 4, 5, 6, 8, 12)


def path_of(names: tuple[str, ...] = NAMES, size: int = 4, **changes: Any) -> Path:
    """Return the path to all columns."""
    rows = tuple(
        PathRow(
            size=many,
            features=names[:many],
            difference=difference,
            judges=(difference * 1.5, difference - 0.004 * (many < len(names)), difference * 0.4),
            score=0.9 + difference,
            standard_error=0.004 if many < len(names) else 0.0,
        )
        for many, difference in zip(SIZES, DIFFERENCES, strict=True)
    )
    shares = {name: max(0.0, 1 - 0.13 * place) for place, name in enumerate(names)}
    settings: dict[str, Any] = {"order": "elimination", "judges": JUDGES, "folds": 15, "folds_planned": 15}
    return Path(**{"rows": rows, "size": size, **settings, "tolerance": 0.003, "chosen_in_folds": shares, **changes})


def new_rows(**changes: Any) -> NewRowsClaim:
    """Return an estimate from nested folds."""
    settings: dict[str, Any] = {
        "score": 0.912,
        "all_columns": 0.903,
        "rows": 1200,
        "trained": 960,
        "judges": dict(zip(JUDGES, (0.89, 0.92, 0.926), strict=True)),
        "how": "nested folds",
        "standard_error": 0.011,
        "difference_error": 0.006,
        "guessing": 0.5,
        "why_no_proof": "folds",
    }
    return NewRowsClaim(**{**settings, **changes})


def data_of(names: tuple[str, ...] = NAMES, **changes: Any) -> Data:
    """Return a table of 1,200 rows."""
    every = tuple(range(len(names)))
    settings: dict[str, Any] = {"rows": 1200, "fingerprint": "ab" * 32, "units": tuple((one,) for one in every)}
    settings["choice"] = Choice(allowed=every, limit=len(names))
    settings["objective"] = Panel(judges=JUDGES, scoring="AUC", task="classification", classes=2)
    return Data(**{"names": names, **settings, **changes})


def chosen(names: tuple[str, ...] = NAMES, size: int = 4, **changes: Any) -> Certificate:
    """Return the record of a default selection."""
    told = Told(repeat="BestLeafSelector(random_state=0).fit(X, y)", notes=("city: 3 categories",))
    settings: dict[str, Any] = {"bestleaf": "0.3.0", "reason": "settled", "cost": Cost(seconds=3.2), "told": told}
    settings |= {"features": names[:size], "path": path_of(names, size), "new_rows": new_rows(), "data": data_of(names)}
    return Certificate(**{**settings, **changes})


def searched(names: tuple[str, ...] = NAMES[:3], **changes: Any) -> Certificate:
    """Return the record of the paper's search among the subsets of three columns."""
    labels: tuple[Any, ...] = ([], [0], [1], [0, -1], [0, 1, -1], [1, -1])
    graph = Graph(labels=labels, children=((1, 2), (3, 4), (4, 5), (), (), ()), created=5)
    exact: dict[str, Any] = {"terminal": True, "exact": True, "count": 1}
    values = {3: 0.81, 4: 0.93, 5: 0.74}
    leaves = tuple(Leaf(node=node, mean=value, lower=value, upper=value, **exact) for node, value in values.items())
    rules: dict[str, Any] = {"rule": "smallest_gap", "bound": "betting", "stopping": "sound", "proposal": "lookahead"}
    claim = SearchClaim(
        **rules,
        task="leaf",
        epsilon=0.01,
        delta=0.05,
        proof="rigorous",
        answer=4,
        lower=0.93,
        upper=0.93,
        gap=-0.12,
        graph=graph,
        leaves=leaves,
        expansion=0.6,
        seed=0,
    )
    history = tuple(Step(seconds=one, samples=int(one * 100), gap=0.3 / (1 + one)) for one in (0.0, 1.0, 2.0, 4.0))
    neighbours: dict[str, Any] = {"n_neighbors": 5, "subsample": 50, "ties": "half", "scale": True, "drop_zero": False}
    objective = Neighbours(task="classification", classes=2, queries=1200, **neighbours)
    told = Told(history=history, without={"0": 0.74, "1": 0.81}, all_features=0.9)
    settings: dict[str, Any] = {"bestleaf": "0.3.0", "reason": "settled", "cost": Cost(seconds=4.0), "told": told}
    settings |= {"features": names[:2], "search": claim, "data": replace(data_of(names), objective=objective)}
    return Certificate(**{**settings, **changes})
