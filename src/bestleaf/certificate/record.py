"""The certificate as a record: plain numbers and words, saved as JSON."""

from __future__ import annotations

import hashlib
import json
from html import escape
from pathlib import Path
from typing import Any

from bestleaf.certificate.claims import by_budget, counted, headline, is_settled, values_are_exact
from bestleaf.certificate.names import in_line
from bestleaf.files import write_atomically

FORMAT, FORMAT_VERSION = "bestleaf certificate", 2
LARGEST = 200 * 10**6  # bytes of a file that is read


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
    from_file : bool
        Whether it was read from a text, which must then have a checksum.

    Examples
    --------
    >>> from bestleaf import best_leaf, problems, verify
    >>> found = best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate
    >>> bool(verify(found))
    True
    """

    def __init__(self, content: dict[str, Any], *, from_file: bool = False) -> None:
        self.content = content
        self.from_file = from_file

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
        return is_settled(self.content)

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
            kind = "exact value" if values_are_exact(content) else "value that guided growth"
            cost += f" and {counted(self.exact_evaluations, kind, kind.replace('value', 'values'))}"
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
            content = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"this is not a certificate: no JSON ({in_line(str(error), 200)})") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError("this is not a certificate of bestleaf")
        version = content.get("format_version")
        if version == 1:
            raise ValueError(
                "the certificate has format version 1, of an older bestleaf, which can be forged: verify it with that "
                "version, or search again"
            )
        if version != FORMAT_VERSION:
            raise ValueError(f"the certificate must have format version {FORMAT_VERSION}, got {version!r:.40}")
        return cls(content, from_file=True)

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Return the certificate in a file."""
        size = Path(path).stat().st_size
        if size > LARGEST:
            raise ValueError(f"{path} must have at most {LARGEST // 10**6} MB to be read, got {size // 10**6} MB")
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not a certificate: no text") from None
        try:
            return cls.from_json(text)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the parts of a JSON object; one that is there twice would be read differently by others."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a part is written twice")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def checksum(content: dict[str, Any]) -> str:
    """Return the SHA-256 of everything but the checksum, in one form whatever the layout of the file."""
    kept = {name: value for name, value in content.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
