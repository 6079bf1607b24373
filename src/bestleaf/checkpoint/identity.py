"""What tells one search from another: a checkpoint is only continued by the search that it belongs to."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from bestleaf.checkpoint.codec import Json, encoded

LONG = 100  # characters; longer values are shown by their beginning and a fingerprint


def identity(problem: Any, settings: dict[str, Json]) -> dict[str, Json]:
    """Return as JSON what must stay the same if a search continues: the problem and the settings given."""
    found = {"problem": type(problem).__name__, **_described(problem), **settings}
    try:
        return json.loads(json.dumps(found, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"fingerprint() of a problem must be something that JSON can hold: {error}") from None


def _described(problem: Any) -> dict[str, Json]:
    """Return the fingerprint of a problem; if it has none, its root and the children of the root."""
    if callable(getattr(problem, "fingerprint", None)):
        given = problem.fingerprint()
        return given if isinstance(given, dict) else {"fingerprint": given}
    root = problem.root()
    return {"root": encoded(root), "children of the root": [encoded(child) for child in problem.children(root)]}


def difference(before: Json, now: dict[str, Json]) -> str | None:
    """Return in words the first thing in which two identities differ, None if there is none."""
    if not isinstance(before, dict):
        raise ValueError("it does not say which search it belongs to")
    for name in dict.fromkeys((*now, *before)):
        old, new = before.get(name), now.get(name)
        if name == "data" and old != new:
            return "its data are different, or were prepared in another way"
        if old != new or type(old) is not type(new):
            return f"{name} was {_shown(old)}, got {_shown(new)}"
    return None


def _shown(value: Json) -> str:
    """Return a value as JSON, shortened if it is long."""
    text = json.dumps(value)
    return text if len(text) <= LONG else f"{text[:40]}… ({sha256(text.encode()).hexdigest()[:8]})"
