"""Which search a checkpoint belongs to: what must be the same for it to go on."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from bestleaf.storage.states import encoded
from bestleaf.storage.streams import kind_of

LONG = 100  # letters; longer values are shown by their beginning and a fingerprint


def identity_of(search: Any) -> dict[str, Any]:
    """Return what tells a search from others, in terms of JSON; epsilon, budgets and callbacks may change."""
    options = search.options
    names = ("task", "delta", "stopping", "expansion", "alpha")
    found = {
        "problem": type(search.problem).__name__,
        **_described(search.problem),
        **{name: getattr(options, name) for name in names},
        "rule": options.rule.name,
        "bound": options.bound.name,
        "proposal": search.proposal_name,
        "guarantee": sorted(options.guarantee),
        "batch_size": options.batch_size,
        **search.about,
        "stages": [type(stage).__name__ for stage in search.stages],
        "random stream": kind_of(search.rng),
        "seed": search.seed,
    }
    try:
        return json.loads(json.dumps(found, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"fingerprint() of a problem must be something that JSON can hold: {error}") from None


def _described(problem: Any) -> dict[str, Any]:
    """Return what a problem says of itself or, if it says nothing, its root and the children of the root."""
    if callable(getattr(problem, "fingerprint", None)):
        given = problem.fingerprint()
        return given if isinstance(given, dict) else {"fingerprint": given}
    root = problem.root()
    return {"root": encoded(root), "children of the root": [encoded(child) for child in problem.children(root)]}


def difference(before: Any, now: dict[str, Any]) -> str | None:
    """Return in words the first thing in which two searches differ, None if there is none."""
    if not isinstance(before, dict):
        raise ValueError("it does not say which search it belongs to")
    for name in (*now, *(name for name in before if name not in now)):
        old, new = before.get(name), now.get(name)
        if name == "data" and old != new:
            return "its data are not these, or were prepared in another way"
        if old != new or type(old) is not type(new):
            return f"{name} was {_shown(old)}, got {_shown(new)}"
    return None


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= LONG else f"{text[:40]}… ({sha256(text.encode()).hexdigest()[:8]})"
