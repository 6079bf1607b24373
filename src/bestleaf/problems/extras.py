"""Libraries that an adapter needs and that the base install does not bring."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def library(module: str, extra: str, owner: str) -> ModuleType:
    """Return a module that an extra of the package installs; raise one sentence if it is missing.

    Parameters
    ----------
    module : str
        What is imported.
    extra : str
        The extra that installs it: ``pip install 'bestleaf[extra]'``.
    owner : str
        What needs it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0]:
            raise
        raise ImportError(f"{owner} needs {module} (pip install 'bestleaf[{extra}]')", name=module) from None
