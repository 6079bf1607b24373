"""Monte-Carlo search in growing single-rooted DAGs with a proof of what it found.

A name is imported when it is first used. So the import is fast, and the command line handles Ctrl-C from the start.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from bestleaf import features, paper, problems, report, tables
    from bestleaf.certificate.record import Certificate
    from bestleaf.certificate.verify import Verdict, verify
    from bestleaf.checkpoint import Checkpoint
    from bestleaf.encoding import TableEncoder
    from bestleaf.engine import bounds, rules
    from bestleaf.engine.bounds import Bound, Rate
    from bestleaf.engine.rules import Rule
    from bestleaf.features.estimator import EstimatorOracle
    from bestleaf.features.neighbours import KNNOracle, NeighbourVotes
    from bestleaf.paper.fuse import FuseResult, fuse_search
    from bestleaf.paper.uct import UCTResult, uct_search
    from bestleaf.problems import Problem
    from bestleaf.search import Progress, Result, Search, best_arm, best_leaf
    from bestleaf.selector import BestLeafSelector, SearchOptions
    from bestleaf.validation import Validation, validate

__version__ = "0.1.0"

_NAMES = {  # by the module that defines them
    "certificate": ("Certificate", "Verdict", "verify"),
    "checkpoint": ("Checkpoint",),
    "encoding": ("TableEncoder",),
    "engine.bounds": ("Bound", "Rate"),
    "engine.rules": ("Rule",),
    "features.estimator": ("EstimatorOracle",),
    "features.neighbours": ("KNNOracle", "NeighbourVotes"),
    "paper.fuse": ("FuseResult", "fuse_search"),
    "paper.uct": ("UCTResult", "uct_search"),
    "problems": ("Problem",),
    "search": ("Progress", "Result", "Search", "best_arm", "best_leaf"),
    "selector": ("BestLeafSelector", "SearchOptions"),
    "validation": ("Validation", "validate"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
_MODULES = {name: name for name in ("features", "paper", "problems", "report", "search", "tables")}
_MODULES |= {"bounds": "engine.bounds", "rules": "engine.rules"}

__all__ = [
    "BestLeafSelector",
    "Bound",
    "Certificate",
    "Checkpoint",
    "EstimatorOracle",
    "FuseResult",
    "KNNOracle",
    "NeighbourVotes",
    "Problem",
    "Progress",
    "Rate",
    "Result",
    "Rule",
    "Search",
    "SearchOptions",
    "TableEncoder",
    "UCTResult",
    "Validation",
    "Verdict",
    "__version__",
    "best_arm",
    "best_leaf",
    "bounds",
    "features",
    "fuse_search",
    "paper",
    "problems",
    "report",
    "rules",
    "tables",
    "uct_search",
    "validate",
    "verify",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"bestleaf.{_MODULES[name]}")
    if name in _HOMES:
        return getattr(import_module(f"bestleaf.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'bestleaf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
