"""Watch a search that another process runs: what its checkpoint tells, on a terminal or on a local page."""

from bestleaf.watch.serve import serve
from bestleaf.watch.status import Status, status

__all__ = ["Status", "serve", "status"]
