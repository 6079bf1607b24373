"""Monte-Carlo search in growing single-rooted DAGs with a proof of what it found.

A name is imported when it is first used. So the import is fast, and the command line handles Ctrl-C from the start.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from bestleaf import paper, problems, report, tables, testing
    from bestleaf.columns import TableEncoder
    from bestleaf.engine.bounds import Bound, Rate
    from bestleaf.engine.rules import Rule
    from bestleaf.features.neighbours import NeighbourVotes
    from bestleaf.problems import Problem
    from bestleaf.proof.record import Certificate
    from bestleaf.proof.verify import verify
    from bestleaf.search import Result, Search, best_arm, best_leaf
    from bestleaf.selection.selector import BestLeafSelector, SearchOptions
    from bestleaf.selection.validation import Validation, validate

__version__ = "0.4.0"

_NAMES = {  # by the module that defines them
    "columns": ("TableEncoder",),
    "engine.bounds": ("Bound", "Rate"),
    "engine.rules": ("Rule",),
    "features.estimator": ("EstimatorOracle",),
    "features.neighbours": ("KNNOracle", "NeighbourVotes"),
    "paper.runs": ("experiment",),
    "paper.fuse": ("FuseResult", "fuse_search"),
    "paper.uct": ("UCTResult", "uct_search"),
    "problems": ("Problem",),
    "proof.record": ("Certificate",),
    "proof.verify": ("Verdict", "verify"),
    "search": ("Progress", "Result", "Search", "best_arm", "best_leaf"),
    "selection.selector": ("BestLeafSelector", "SearchOptions"),
    "selection.validation": ("Validation", "validate"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
_MODULES = {name: name for name in ("features", "paper", "problems", "report", "search", "tables", "testing")}
_MODULES |= {"bounds": "engine.bounds", "rules": "engine.rules"}

__all__ = [
    "BestLeafSelector",
    "Bound",
    "Certificate",
    "NeighbourVotes",
    "Problem",
    "Rate",
    "Result",
    "Rule",
    "Search",
    "SearchOptions",
    "TableEncoder",
    "Validation",
    "__version__",
    "best_arm",
    "best_leaf",
    "paper",
    "problems",
    "report",
    "tables",
    "testing",
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
