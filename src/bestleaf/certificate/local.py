"""The guarantee "local" in numbers: the leaves one step away from a leaf, evaluated or ruled out by a race.

With an estimator the leaves race fold by fold. A leaf is *ruled out* if the highest value that it can still reach, with
a score of 1 on every fold that is missing, is not above the limit of the race.
"""

from __future__ import annotations

from typing import NamedTuple

from bestleaf.certificate.schema import Content, Json
from bestleaf.certificate.searched import searched

SINGLE = "single"  # only leaves with one unit more or less were compared


class Centre(NamedTuple):
    """The leaf that the guarantee is about, and how much better a leaf one step away is."""

    label: Json
    value: float
    is_answer: bool
    limit: float  # no leaf one step away is better than this
    best: Json  # label of the best leaf evaluated; None if there is none

    @property
    def gain(self) -> float:
        """How much better a leaf one step away may be, at most."""
        return self.limit - self.value


def centre_of(content: Content) -> Centre:
    """Return the leaf that the guarantee "local" is about: the answer, or the answer by these rows alone.

    Where left-out rows decided for the answer, a leaf one step away may be better than it by more than epsilon.
    """
    challenge, about = content["challenges"]["local"], searched(content)
    label, value, is_answer = about.label, about.value, about.is_answer
    given = "centre" in challenge
    if given:
        label, value, is_answer = content["graph"]["labels"][content["answer"]], content["lower"], True
    best = max(challenge["subsets"], key=lambda pair: pair[1], default=(None, 0.0))
    limit = value + content["search"]["epsilon"]
    return Centre(label, value, is_answer, max(limit, best[1]) if given else limit, best[0])
