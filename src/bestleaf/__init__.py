"""Monte-Carlo search in growing single-rooted DAGs with a proof of what it found.

A name is imported when it is first used. So the import is fast, and the command line handles Ctrl-C from the start.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from bestleaf import paper, problems, report, rivals, tables, testing, watch
    from bestleaf.certificate import Certificate, verify
    from bestleaf.certificate.linear_record import LinearCertificate
    from bestleaf.encoding import TableEncoder
    from bestleaf.engine.bounds import Bound, Rate
    from bestleaf.engine.rules import Rule
    from bestleaf.engine.stopping import Stopping
    from bestleaf.features.leaps import LinearSubsets, best_linear_subset
    from bestleaf.features.neighbours import NeighbourVotes
    from bestleaf.problems import Problem
    from bestleaf.report import plotting
    from bestleaf.rivals.flat import FlatResult, flat_best_leaf
    from bestleaf.rivals.fuse_selector import FuseSelector
    from bestleaf.search import Result, Search, best_arm, best_leaf
    from bestleaf.selector import BestLeafSelector, SearchOptions
    from bestleaf.validation import Validation, validate

__version__ = "0.1.0"

_NAMES = {  # by the module that defines them
    "certificate": ("Certificate", "Verdict", "verify"),
    "certificate.linear_record": ("LinearCertificate",),
    "checkpoint": ("Checkpoint",),
    "encoding": ("TableEncoder",),
    "engine.bounds": ("Bound", "Rate"),
    "engine.rules": ("Rule",),
    "engine.stopping": ("Stopping",),
    "features.estimator": ("EstimatorOracle",),
    "features.leaps": ("LinearSubsets", "best_linear_subset"),
    "features.neighbours": ("KNNOracle", "NeighbourVotes"),
    "problems": ("Problem",),
    "rivals.flat": ("FlatResult", "flat_best_leaf"),
    "rivals.fuse": ("FuseResult", "fuse_search"),
    "rivals.fuse_selector": ("FuseSelector",),
    "rivals.uct": ("UCTResult", "uct_search"),
    "search": ("Progress", "Result", "Search", "best_arm", "best_leaf"),
    "selector": ("BestLeafSelector", "SearchOptions"),
    "validation": ("Validation", "validate"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
_MODULES = {"features": "features", "paper": "paper", "problems": "problems", "report": "report", "rivals": "rivals"}
_MODULES |= {"search": "search", "tables": "tables", "testing": "testing", "watch": "watch"}
_MODULES |= {"bounds": "engine.bounds", "plotting": "report.plotting", "rules": "engine.rules"}

__all__ = [
    "BestLeafSelector",
    "Bound",
    "Certificate",
    "FlatResult",
    "FuseSelector",
    "LinearCertificate",
    "LinearSubsets",
    "NeighbourVotes",
    "Problem",
    "Rate",
    "Result",
    "Rule",
    "Search",
    "SearchOptions",
    "Stopping",
    "TableEncoder",
    "Validation",
    "__version__",
    "best_arm",
    "best_leaf",
    "best_linear_subset",
    "flat_best_leaf",
    "paper",
    "plotting",
    "problems",
    "report",
    "rivals",
    "tables",
    "testing",
    "validate",
    "verify",
    "watch",
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
