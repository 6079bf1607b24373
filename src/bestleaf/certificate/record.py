"""The certificate as a record: plain numbers and words, saved as JSON."""

from __future__ import annotations

import hashlib
import json
from html import escape
from pathlib import Path
from typing import Any

from bestleaf.certificate.words import by_budget, counted, headline
from bestleaf.files import write_atomically

FORMAT, FORMAT_VERSION = "bestleaf certificate", 1


class Certificate:
    """What a search found, what it proved and what that follows from; see `content` for everything.

    Attributes
    ----------
    content : dict
        Numbers, texts, lists and dictionaries only; what `to_json` writes.
    samples, warmup_samples, exact_evaluations : int
        Rollouts drawn, how many of them only served to propose nodes, and exact values computed.
    gap : float
        How much better than the answer another one may be.
    reason : str
        ``"identified"``, ``"max_samples"``, ``"max_time"``, ``"interrupted"`` or ``"callback"``.
    features : list of str
        Names of the selected features (None for a problem that is no feature selection).
    score : float
        Exact value of the answer of a feature selection, otherwise its lower bound.
    claims, not_claimed : tuple of str
        What holds, and what does not follow from it.
    leaves : list of dict
        Every leaf of the final graph with its interval and what that follows from.

    Examples
    --------
    >>> from bestleaf import best_leaf, problems, verify
    >>> found = best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate
    >>> bool(verify(found))
    True
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    samples = property(lambda self: self.content["cost"]["samples"])
    warmup_samples = property(lambda self: self.content["cost"]["warmup_samples"])
    exact_evaluations = property(lambda self: self.content["cost"]["exact_evaluations"])
    elapsed = property(lambda self: self.content["cost"]["seconds"])
    reason = property(lambda self: self.content["reason"])
    gap = property(lambda self: self.content["gap"])
    epsilon = property(lambda self: self.content["search"]["epsilon"])
    delta = property(lambda self: self.content["search"]["delta"])
    bound = property(lambda self: self.content["search"]["bound"])
    seed = property(lambda self: self.content["search"]["seed"])
    leaves = property(lambda self: self.content["leaves"])
    features = property(lambda self: self.content["features"])
    score = property(lambda self: self.content["lower"])
    claims = property(lambda self: tuple(claim["text"] for claim in self.content["claims"]))
    not_claimed = property(lambda self: tuple(self.content["not_claimed"]))

    @property
    def settled(self) -> bool:
        """Whether the answer is known to within epsilon; a budget may end a search that is settled already."""
        return self.gap <= self.epsilon and not by_budget(self.content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and self.content == other.content

    __hash__ = None  # type: ignore[assignment]

    def summary(self) -> str:
        """Return everything a reader must know, in words."""
        content, search = self.content, self.content["search"]
        cost = counted(self.samples, "sample" if content["data"] is None else "rollout")
        if by_budget(content):
            drawn = counted(content["cost"]["rollouts"], "rollout")
            cost = f"{counted(self.samples, 'descent')} ({drawn}, the others to subsets evaluated before)"
        if self.warmup_samples:
            cost += f" ({self.warmup_samples:,} of them to warm up)"
        if self.exact_evaluations:
            cost += f" and {counted(self.exact_evaluations, 'exact value')}"
        how = f"bound {search['bound']}, stopping {search['stopping']}"
        if by_budget(content):
            how = f"algorithm {search['rule']}"
        lines = [
            *headline(content),
            f"{cost} in {self.elapsed:.2f} s ({self.reason}; {how}).",
            *self.claims,
            *(f"Not claimed: {text}" for text in self.not_claimed),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        first, *rest = self.summary().splitlines()
        return f"<p><b>{escape(first)}</b></p>" + "".join(f"<p>{escape(text)}</p>" for text in rest)

    def __repr__(self) -> str:
        return f"Certificate({headline(self.content)[0]!r}, reason={self.reason!r}, leaves={len(self.leaves)})"

    def to_json(self) -> str:
        """Return the certificate as text, with a checksum of all of it."""
        return json.dumps({**self.content, "checksum": checksum(self.content)}, indent=1, allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Write the certificate to a file, whole or not at all."""
        write_atomically(Path(path), self.to_json() + "\n")

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Return the certificate in a text; what it says is not believed before `verify`."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"this is not a certificate: no JSON ({error})") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError("this is not a certificate of bestleaf")
        if content.get("format_version") != FORMAT_VERSION:
            got = content.get("format_version")
            raise ValueError(f"the certificate must have format version {FORMAT_VERSION}, got {got!r}")
        return cls(content)

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Return the certificate in a file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not a certificate: no text") from None
        try:
            return cls.from_json(text)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def checksum(content: dict[str, Any]) -> str:
    """Return the SHA-256 of everything but the checksum, in one form whatever the layout of the file."""
    kept = {name: value for name, value in content.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
