"""Who does the work of a command: this machine, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bestleaf.checks import cut, shown

PATIENCE = 10  # seconds to wait for a scheduler


@contextmanager
def workers_of(address: str | None) -> Iterator[None]:
    """Let joblib use the cluster whose scheduler is at an address; None leaves it alone."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--dask needs Dask (pip install 'bestleaf[dask]')") from None
    from joblib import parallel_config

    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        reason = cut(" ".join(str(error).split()), 100)
        raise ValueError(
            f"--dask must be the address of a scheduler such as tcp://host:8786, got {shown(address)}: {reason}"
        ) from None
    with client, parallel_config("dask", client=client):
        yield
