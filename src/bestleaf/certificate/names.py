"""Names as a reader sees them: nothing in a name can look like another name or like a sentence of the verifier."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from functools import lru_cache
from typing import Any

LONGEST = 60  # letters of a name that enters a sentence
LONGEST_SHOWN = 120  # letters of the name of a feature
IDENTIFIER = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{LONGEST - 1}}}")
CALL = re.compile(r"[A-Za-z_]\w{0,59}\(([\w=.'-]{1,60}(, [\w=.'-]{1,60}){0,9})?\)", re.ASCII)  # as a scorer is printed
UNNAMED = "unnamed"  # a part made from a function without a proper name, such as a lambda
# Letters of other alphabets that look like Latin ones, each above its double.
_ALIKE = "аеорсухіјѕԁһкмтвАВЕКМНОРСТУХІЈЅοανικυρΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
_LATIN = "aeopcyxijsdhkmtbABEKMHOPCTYXIJSoavikupABEZHIKMNOPTYX"
# Printable by their category, but nothing is seen of them: joiners, fillers, variation selectors, empty braille.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_LOOKALIKES = str.maketrans(_ALIKE, _LATIN)


def is_identifier(name: Any) -> bool:
    """Whether a text is a name as in a program: Latin letters, digits and underscores, and not too long."""
    return isinstance(name, str) and IDENTIFIER.fullmatch(name) is not None


def part_name(name: str, known: Collection[str], *, ours: bool) -> str:
    """Return what a certificate calls a rule or bound; a user's own is never called as one of ours."""
    if not is_identifier(name):
        return UNNAMED
    return f"own_{name}"[:LONGEST] if name in known and not ours else name


def is_score_name(name: Any) -> bool:
    """Whether a text names a score: a name, or a call with names and numbers as arguments."""
    return is_identifier(name) or (isinstance(name, str) and CALL.fullmatch(name) is not None)


def named_objective(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of an objective with names that may enter a sentence."""
    if settings.get("kind") != "estimator":
        return settings
    name, scoring = settings["name"], settings["scoring"]
    return {
        **settings,
        "name": name if is_identifier(name) else UNNAMED,
        "scoring": scoring if is_score_name(scoring) else UNNAMED,
    }


def shown(name: str) -> str:
    """Return a name in one line, with every sign that cannot be seen written as its number."""
    return _spaces_seen(re.sub(r"\\(?=[uUx])", r"\\\\", name).translate(_NUMBERS))


@lru_cache(maxsize=2)  # the words of one certificate ask for its names several times
def all_shown(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a table as `shown`, cut where they are long, so that no two look the same.

    Those that look alike are written in signs of ASCII alone; where that does not help, with the number of the column.
    """
    cut = [_cut(name) for name in names]
    looks = [_look(name) for name in cut]
    many = Counter(looks)
    found = [
        _spaces_seen(ascii(name)[1:-1]) if many[look] > 1 else shown(name)
        for name, look in zip(cut, looks, strict=True)
    ]
    twice = Counter(found)
    return tuple(f"{one} [column {place}]" if twice[one] > 1 else one for place, one in enumerate(found))


def _cut(name: str) -> str:
    """Return a long name with its beginning and its end: names often differ in their last letters."""
    return name if len(name) <= LONGEST_SHOWN else f"{name[: LONGEST_SHOWN - 31]}…{name[-30:]}"


def in_line(text: str, longest: int = 300) -> str:
    """Return a text of unknown origin in one line that is not too long."""
    line = shown(text[: 4 * longest])
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


class _Numbers(dict[int, str | int]):
    """What `str.translate` writes for a sign: itself, or its number if nothing is seen of it."""

    def __missing__(self, code: int) -> str | int:
        letter = chr(code)
        if letter.isprintable() and _INVISIBLE.match(letter) is None:
            self[code] = code
        else:
            self[code] = f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
        return self[code]


_NUMBERS = _Numbers()


def _spaces_seen(text: str) -> str:
    """Return a text in which spaces that no reader would notice are written as numbers."""
    return re.sub(r"^ +| +$|(?<= ) +", lambda found: r"\x20" * len(found[0]), text)


def _look(name: str) -> str:
    """Return the same text for names that look the same: without what is not seen, in Latin letters where alike."""
    seen = _INVISIBLE.sub("", unicodedata.normalize("NFKC", name))
    if not seen.isprintable():
        seen = "".join(letter if letter.isprintable() else " " * letter.isspace() for letter in seen)
    return " ".join(seen.split()).translate(_LOOKALIKES)
