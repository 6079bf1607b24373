"""The paper again: its data sets, its theory and its experiments."""

from bestleaf.paper.datasets import MADELON_RELEVANT, load_linear, load_madelon, make_linear, make_madelon_like

__all__ = ["MADELON_RELEVANT", "load_linear", "load_madelon", "make_linear", "make_madelon_like"]
