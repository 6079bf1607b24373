"""Monte-Carlo search in growing single-rooted DAGs with a proof of what it found.

Nothing heavy is imported until it is used, and nothing at all before Ctrl-C on the command line is one line.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from bestleaf import bounds, datasets, features, oracles, plotting, problems, report, rules, theory
    from bestleaf.bounds import Bound, Rate
    from bestleaf.certificate import Certificate, Verdict, verify
    from bestleaf.flat import FlatResult, flat_best_leaf
    from bestleaf.oracles import KNNOracle
    from bestleaf.oracles.estimator import EstimatorOracle
    from bestleaf.problems import Problem
    from bestleaf.rules import Rule
    from bestleaf.search import Progress, Result, Search, best_arm, best_leaf
    from bestleaf.selector import BestLeafSelector
    from bestleaf.storage import Checkpoint
    from bestleaf.uct import FuseResult, UCTResult, fuse_search, uct_search

__version__ = "0.1.0"

_HOMES = {
    "BestLeafSelector": "selector",
    "EstimatorOracle": "oracles.estimator",
    "KNNOracle": "oracles",
    "Certificate": "certificate",
    "Checkpoint": "storage",
    "Verdict": "certificate",
    "verify": "certificate",
    "Bound": "bounds",
    "Problem": "problems",
    "Progress": "search",
    "Rate": "bounds",
    "Result": "search",
    "Rule": "rules",
    "Search": "search",
    "best_arm": "search",
    "best_leaf": "search",
    "FlatResult": "flat",
    "flat_best_leaf": "flat",
    "FuseResult": "uct",
    "UCTResult": "uct",
    "fuse_search": "uct",
    "uct_search": "uct",
}
_MODULES = ("bounds", "datasets", "features", "oracles", "plotting", "problems", "report", "rules", "search", "theory")

__all__ = [
    "BestLeafSelector",
    "Bound",
    "Certificate",
    "Checkpoint",
    "EstimatorOracle",
    "FlatResult",
    "FuseResult",
    "KNNOracle",
    "Problem",
    "Progress",
    "Rate",
    "Result",
    "Rule",
    "Search",
    "UCTResult",
    "Verdict",
    "__version__",
    "best_arm",
    "best_leaf",
    "bounds",
    "datasets",
    "features",
    "flat_best_leaf",
    "fuse_search",
    "oracles",
    "plotting",
    "problems",
    "report",
    "rules",
    "theory",
    "uct_search",
    "verify",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"bestleaf.{name}")
    if name in _HOMES:
        return getattr(import_module(f"bestleaf.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'bestleaf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
