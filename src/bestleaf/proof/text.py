"""Text of unknown origin in sentences: numbers with nouns, names in one line, names that look alike told apart."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache

MANY, LONGEST = 20, 120  # names in a list, and letters of a name that is shown
LOUD = ("A leak?", "Leaks?")  # how lines about a table begin that must not be overlooked
UNNAMED = "unnamed"  # a rule, bound or score without a proper name, such as a lambda
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]{0,59}")
_CALL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}(\(([\w=.'-]{1,60}(, [\w=.'-]{1,60}){0,9})?\))?", re.ASCII)
# Letters of other alphabets, each above the Latin letter that it looks like.
_ALIKE = "аеорсухіјѕԁһкмтвАВЕКМНОРСТУХІЈЅοανικυρΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
_LATIN = "aeopcyxijsdhkmtbABEKMHOPCTYXIJSoavikupABEZHIKMNOPTYX"
_LOOKALIKES = str.maketrans(_ALIKE, _LATIN)
# Printable characters of which nothing is seen: joiners, fillers, variation selectors, empty braille.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def part_name(name: str, known: Collection[str], *, ours: bool) -> str:
    """Return the name of a rule, a bound or proposals in a record; a user's own never gets the name of ours."""
    if _NAME.fullmatch(name) is None:
        return UNNAMED
    return f"own_{name}"[:60] if name in known and not ours else name


def call_name(text: str) -> str:
    """Return a text that is a name, or a call of one with few short arguments; any other becomes "unnamed"."""
    return text if _CALL.fullmatch(text) else UNNAMED


def first_of(names: Sequence[str], most: int = MANY) -> str:
    """Return the first of some names, separated by commas."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


@lru_cache(maxsize=2)  # the words of one record ask for its names several times
def all_shown(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of columns as `shown`, in a form in which no two look the same; long ones lose their middle.

    Names that look alike are written in ASCII. If they still look alike, the number of the column is added.
    """
    cut = [name if len(name) <= LONGEST else f"{name[: LONGEST - 31]}…{name[-30:]}" for name in names]
    looks = Counter(map(_look, cut))
    found = [_spaces_seen(ascii(name)[1:-1]) if looks[_look(name)] > 1 else visible(name) for name in cut]
    twice = Counter(found)
    return tuple(f"{one} [column {place}]" if twice[one] > 1 else one for place, one in enumerate(found))


def _look(name: str) -> str:
    """Return the same text for names that look the same: invisible characters go, similar letters become Latin."""
    seen = _INVISIBLE.sub("", unicodedata.normalize("NFKC", name))
    if not seen.isprintable():
        seen = "".join(letter if letter.isprintable() else " " * letter.isspace() for letter in seen)
    return " ".join(seen.split()).translate(_LOOKALIKES)


def visible(name: str) -> str:
    """Return a name in one line; a character that cannot be seen is written as its number."""
    text = re.sub(r"\\(?=[uUxnrt])", r"\\\\", name)
    if not text.isprintable() or _INVISIBLE.search(text):
        seen = (letter.isprintable() and not _INVISIBLE.match(letter) for letter in text)
        text = "".join(letter if fine else ascii(letter)[1:-1] for letter, fine in zip(text, seen, strict=True))
    return _spaces_seen(text)


def _spaces_seen(text: str) -> str:
    """Return a text with spaces at its ends, and repeated ones, written as numbers."""
    return re.sub(r"^ +| +$|(?<= ) +", lambda found: r"\x20" * len(found[0]), text)


def in_line(text: str, longest: int = 300) -> str:
    """Return a text of unknown origin in one line that is not too long."""
    line = visible(text[: 4 * longest])
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
