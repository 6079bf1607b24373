"""A local page about a running search. It is served to this machine only, and nothing else is served."""

from __future__ import annotations

import json
import os
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bestleaf.report.drawing import draw_progress, templates
from bestleaf.watch import words
from bestleaf.watch.status import Status, status

LOOPBACK = "127.0.0.1"
SAFE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Server(ThreadingHTTPServer):
    """Serves the page of one checkpoint on 127.0.0.1."""

    daemon_threads = True

    def __init__(self, path: str | os.PathLike[str], port: int) -> None:
        self.checkpoint = path
        super().__init__((LOOPBACK, port), _Answers)

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        return f"http://{LOOPBACK}:{self.server_address[1]}/"

    def hosts(self) -> set[str]:
        """Return the names by which a browser may ask; others come from a page that pretends to be this one."""
        port = self.server_address[1]
        return {f"{name}:{port}" for name in (LOOPBACK, "localhost")}


def serve(path: str | os.PathLike[str], port: int = 0) -> Server:
    """Return a server of a local page about the search that is saved to a checkpoint.

    The page is at ``server.address`` once ``server.serve_forever()`` runs. It is served to this machine only. There is
    ``/`` and, with the same in numbers, ``/state.json``; nothing else can be asked for.

    Parameters
    ----------
    path : path
        The checkpoint.
    port : int, default=0
        The port; 0 for any that is free.
    """
    status(path)  # refuses what is no checkpoint before anybody looks at the page
    return Server(path, port)


class _Answers(BaseHTTPRequestHandler):
    """Answers GET of the two addresses; the base class refuses every other method."""

    server: Server
    server_version, sys_version = "bestleaf", ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the page or with its numbers."""
        if self.headers.get("Host") not in self.server.hosts():
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", "This page is for this machine only.\n")
        elif self.path == "/":
            self._answer(HTTPStatus.OK, "text/html", page(self._now()))
        elif self.path == "/state.json":
            now = self._now()
            found = {"error": now} if isinstance(now, str) else now.to_dict()
            self._answer(HTTPStatus.OK, "application/json", json.dumps(found) + "\n")
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", "There is / and /state.json.\n")

    def _now(self) -> Status | str:
        """Return how far the search is; what is wrong with the file, if it cannot be read."""
        try:
            return status(self.server.checkpoint)
        except (OSError, ValueError) as error:
            return str(error)

    def _answer(self, code: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(code)
        for name, value in {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": len(body), **SAFE}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing: the terminal belongs to the command."""


def page(now: Status | str) -> str:
    """Return the page about a state, or about what is wrong with the file."""
    template = templates().get_template("watch.html")
    if isinstance(now, str):
        nothing: dict[str, list[str]] = {"plots": [], "rows": []}
        return template.render(heading="No checkpoint", lines=[now], over=False, best=None, **nothing)
    gaps = [(seconds, gap) for seconds, gap, _ in now.history or []]
    values = [(seconds, value) for seconds, _, value in now.history or []]
    scores = [] if now.folds is None else [(float(row["size"]), row["score"]) for row in now.folds.path]
    plots = {
        "Gap": draw_progress(gaps, "seconds", "gap (dashed: epsilon)", limit=now.epsilon),
        "Best value": draw_progress(values, "seconds", "best value so far"),
        "Path so far": draw_progress(scores, "features", "highest mean left-out score", steps=False),
    }
    return template.render(
        heading=words.heading(now),
        lines=words.lines(now),
        over=now.over,
        plots=[(title, drawing) for title, drawing in plots.items() if drawing is not None],
        rows=[{**row, "names": words.features_of(row)} for row in words.path_rows(now)],
        best=words.best_size(now),
    )
