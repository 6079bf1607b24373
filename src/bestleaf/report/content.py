"""What the page shows of a certificate, as numbers and words without markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bestleaf.proof.record import STOP, Certificate, Leaf, NewRowsClaim, Path, SearchClaim
from bestleaf.proof.text import all_shown, counted, visible
from bestleaf.proof.words import subset_in_words
from bestleaf.proof.words_new_rows import (
    almost_perfect,
    difference_word,
    interval_in_words,
    intervals_of,
    like_guessing,
    measure_of,
    smallest_in_words,
)

LEADING = 20  # rivals of the answer whose intervals are drawn
LONGEST = 42  # characters of a name beside a plot
OFTEN = 0.5  # share of folds from which on a column that is not in the answer is named
MEANINGS = {
    "better": "The whole interval is above 0.",
    "same": "The whole interval is within 0.01 of 0.",
    "worse": "The whole interval is below 0.",
    "open": "These rows do not settle whether the chosen columns do better or worse.",
}

Points = Sequence[tuple[float, float]]


class Card(NamedTuple):
    """One of the three cards at the top: a title, a number or word, what says how sure it is, and small print."""

    title: str
    value: str
    badge: str = ""
    interval: str = ""
    lines: tuple[str, ...] = ()
    chips: tuple[str, ...] = ()
    loud: str = ""  # a warning


class Size(NamedTuple):
    """A size of the path in the plot."""

    size: int
    difference: float | None
    judges: tuple[float, ...]
    error: float
    chosen: bool
    words: str  # size and difference
    names: str


class ChosenColumn(NamedTuple):
    """A chosen column: its levels, how often the folds chose it, and the training value without it."""

    name: str
    levels: tuple[str, ...]
    share: float | None
    without: float | None


class Row(NamedTuple):
    """A leaf of the search in the plot of intervals."""

    name: str
    short: str
    kind: str
    leaf: Leaf
    is_answer: bool


def cards_of(certificate: Certificate) -> list[Card]:
    """Return the cards: columns, score and difference to all columns; of another search the answer and its value."""
    if certificate.data is None:
        return _cards_of_search(certificate)
    claim, path = certificate.new_rows, certificate.path
    if claim is not None:
        judged = [_score_card(claim, certificate), _difference_card(claim)]
    else:
        judged = _cards_of_training(certificate) if path is None else _cards_of_size(path)
    return [_columns_card(certificate), *judged]


def _columns_card(certificate: Certificate) -> Card:
    names = all_shown(certificate.features or ())
    levels = certificate.data.names if certificate.data else ()
    smallest = None if certificate.path is None else smallest_in_words(certificate.path)
    lines = () if smallest is None else (f"{smallest}.",)
    return Card("Columns", f"{len(names)} of {len(levels)}", lines=lines, chips=tuple(names))


def _score_card(claim: NewRowsClaim, certificate: Certificate) -> Card:
    score, _ = intervals_of(claim)
    each = ", ".join(f"{name} {value:.3f}" for name, value in claim.judges.items())
    on = "cross-validation" if claim.how == "nested folds" else f"{claim.rows:,} test rows"
    lines = (f"By {on}; {'mean of ' if len(claim.judges) > 1 else ''}{each}",)
    guessing = "No better than guessing, as far as these rows tell: do not rely on these columns."
    loud = guessing if like_guessing(claim) else almost_perfect(certificate) or ""
    title = f"Score on new rows: {measure_of(certificate)}"
    return Card(
        title,
        f"{claim.score:.3f}",
        "estimate" if claim.interval is None else "proved",
        interval_in_words(score),
        lines,
        loud=loud,
    )


def _difference_card(claim: NewRowsClaim) -> Card:
    _, difference = intervals_of(claim)
    word = difference_word(claim)
    lines = (f"All columns: {claim.all_columns:.3f}", MEANINGS[word])
    return Card(
        "Difference to all columns",
        f"{claim.score - claim.all_columns:+.3f}",
        word,
        interval_in_words(difference, "+"),
        lines,
    )


def _cards_of_size(path: Path) -> list[Card]:
    """Return the cards of a size that was asked for, or that no new rows have judged: what cross-validation says."""
    if not path.folds:
        none = ("The choice ended before a fold was finished, so nothing was scored.",)
        return [Card("Score on new rows", "not known", lines=none)]
    row = path.chosen
    lines = ("By the folds that chose, so rather high.",)
    error = "" if row.standard_error is None else f"± {row.standard_error:.3f} (one standard error)"
    score = "not known" if row.score is None else f"{row.score:.3f}"
    difference = "not known" if row.difference is None else f"{row.difference:+.3f}"
    return [
        Card("Score in cross-validation", score, "estimate", lines=lines),
        Card("Difference to all columns", difference, "estimate", error, lines),
    ]


def _cards_of_training(certificate: Certificate) -> list[Card]:
    """Return the cards of a search that took the best columns on the rows given."""
    claim, told = _claim(certificate), certificate.told
    exact = "exact" if claim.lower == claim.upper else "interval"
    span = "" if exact == "exact" else interval_in_words((claim.lower, claim.upper))
    lines: tuple[str, ...] = ("Not a score on new rows: it is the largest of many.",)
    cards = [Card("Value on the rows given", f"{_value(claim):.3f}", exact, span, lines)]
    if told is not None and told.all_features is not None:
        lines = (f"All columns: {told.all_features:.3f}", "On the rows given; new rows may say otherwise.")
        cards.append(Card("Difference to all columns", f"{_value(claim) - told.all_features:+.3f}", lines=lines))
    return cards


def _cards_of_search(certificate: Certificate) -> list[Card]:
    claim = _claim(certificate)
    name = subset_in_words(claim.label, None)
    called = "Best move" if claim.task == "arm" else "Best leaf"
    gap = f"{claim.known_gap:.3f}" if claim.known_gap > 0 else "0"
    lines = (f"Nothing else examined is better by more than this, with probability {1 - claim.delta:g}.",)
    unfinished = sum(not leaf.terminal for leaf in claim.leaves)
    many = counted(len(claim.leaves), "candidate")
    among = f"Among {many} examined, of which {unfinished:,} are unfinished and count as random play."
    return [
        Card(called, name),
        Card(
            "Value",
            f"{_value(claim):.3f}",
            interval=interval_in_words((claim.lower, claim.upper)),
            lines=(among,) * bool(unfinished),
        ),
        Card("Gap", gap, "settled" if certificate.settled else "open", lines=lines),
    ]


def _claim(certificate: Certificate) -> SearchClaim:
    if certificate.search is None:
        raise ValueError("certificate must have a claim about new rows or about a search, got neither")
    return certificate.search


def _value(claim: SearchClaim) -> float:
    """Return the mean of the answer if it was sampled, else the middle of its interval."""
    mean = next((leaf.mean for leaf in claim.leaves if leaf.node == claim.answer), None)
    return (claim.lower + claim.upper) / 2 if mean is None or claim.task == "arm" else mean


def sizes_of(path: Path) -> list[Size]:
    """Return the sizes of the path with what is shown beside each."""
    last = path.rows[-1].size
    found = []
    for row in path.rows:
        chosen = row.size == path.size
        words = counted(row.size, "column") + (" (all)" if row.size == last else "") + (" (chosen)" if chosen else "")
        if row.difference is not None and row.size != last:
            error = "" if row.standard_error is None else f" ± {row.standard_error:.4f}"
            words += f": {row.difference:+.4f}{error} to all columns"
        names = ", ".join(all_shown(row.features))
        found.append(Size(row.size, row.difference, row.judges, row.standard_error or 0.0, chosen, words, names))
    return found


def columns_of(certificate: Certificate) -> list[ChosenColumn]:
    """Return the chosen columns, those first that the folds chose most often."""
    data, told = certificate.data, certificate.told
    levels = {} if data is None or data.encoding is None else data.encoding.levels
    shares = {} if certificate.path is None else certificate.path.chosen_in_folds
    without = (
        {}
        if told is None or data is None
        else {data.names[feature]: value for unit, value in told.without.items() for feature in data.units[int(unit)]}
    )
    found = [
        ChosenColumn(visible(name), tuple(map(visible, levels.get(name, ()))), shares.get(name), without.get(name))
        for name in certificate.features or ()
    ]
    return sorted(found, key=lambda one: -(one.share or 0.0))


def nearly_chosen(certificate: Certificate) -> list[str]:
    """Return the columns that are not in the answer although at least half of the folds chose them."""
    path, answer = certificate.path, set(certificate.features or ())
    if path is None:
        return []
    often = sorted(path.chosen_in_folds.items(), key=lambda one: -one[1])
    return [f"{visible(name)} ({share:.0%})" for name, share in often if share >= OFTEN and name not in answer]


def rows_of(certificate: Certificate) -> list[Row]:
    """Return the answer of a search, then the rivals with the highest upper bounds."""
    claim = certificate.search
    if claim is None:
        return []
    answer = claim.answer
    order = sorted(claim.leaves, key=lambda leaf: (leaf.node != answer, -leaf.upper, -leaf.lower))
    return [_row(leaf, claim, certificate) for leaf in order[: LEADING + 1]]


def _row(leaf: Leaf, claim: SearchClaim, certificate: Certificate) -> Row:
    label = claim.label_of(leaf)
    name = subset_in_words(label, certificate.data)
    if certificate.data is not None and label[-1:] != [STOP]:
        name = f"{name[:-1]}, …}}" if label else "{…}"
    kind = "exact" if leaf.exact else "sampled" if leaf.count else "never sampled"
    return Row(name, in_short(name), kind, leaf, leaf.node == claim.answer)


def in_short(text: str) -> str:
    """Return a text, without its middle if it is too long; the end stays, because names often differ there."""
    half = (LONGEST - 1) // 2
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1 - half]}…{text[-half:]}"
