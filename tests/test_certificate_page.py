"""The page of the format, its examples, the corpus, and two checkers that must agree on everything."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest

from bestleaf import Certificate
from bestleaf.proof import check
from bestleaf.proof.record import schema
from forging import mutated, sealed, strengthened, whole
from genuine import of_chance, of_choices, of_cycles, of_estimators, of_games, of_graphs, of_guarantees, of_selections
from test_forgeries import forgeries

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "certificate.md").read_text(encoding="utf-8")
CORPUS = ROOT / "tests" / "corpus"
READER = Path(check.__file__).parent.parent / "report" / "check.js"
KINDS = of_graphs, of_games, of_chance, of_cycles, of_selections, of_estimators, of_guarantees, of_choices
FUZZED = int(os.environ.get("BESTLEAF_FUZZED", "2000"))  # more than in each run, if somebody has the time
SEED = int(os.environ.get("BESTLEAF_FUZZ_SEED", "0"))
NODE = shutil.which("node")
with_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
DRIVER = """
const {check} = require(process.argv[1]), fs = require("fs");
for (const line of fs.readFileSync(process.argv[2], "utf8").split("\\n")) {
  if (line) console.log(JSON.stringify(check(JSON.parse(line))));
}
"""


def sealed_in_lines(content):
    """Return a certificate with its checksum as a small text that people can read."""
    parts = json.loads(sealed(content))
    return "{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(parts[name])}" for name in parts) + "\n}\n"


def by_python(text):
    """Return the verdict of the checker in Python, and how much it takes as written."""
    try:
        content = json.loads(text, object_pairs_hook=check_once, parse_constant=int)
    except (ValueError, RecursionError):
        return "unreadable", 0, ""
    if not isinstance(content, dict) or content.get("format_version") != 4 or not content.get("checksum"):
        return "unreadable", 0, ""
    report = check.check(content)
    return "holds" if report.holds else "refused", len(report.taken_as_written), report.reason


def check_once(pairs):
    """Return an object of JSON without names that are there twice."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("twice")
    return found


def by_javascript(texts, folder):
    """Return what the second reader says of each text."""
    (folder / "texts").write_text("\n".join(map(json.dumps, texts)))
    command = [NODE, "-e", DRIVER, READER, folder / "texts"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_they_agree(texts, folder):
    """Return the verdicts; both checkers must have the same."""
    verdicts = []
    for text, other in zip(texts, by_javascript(texts, folder), strict=True):
        verdict, taken, reason = by_python(text)
        same = verdict == other["verdict"] and taken == len(other["taken"])
        assert same, f"{verdict} ({reason}), but in JavaScript {other['verdict']} ({other['reason']}): {text[:2000]}"
        verdicts.append(verdict)
    return verdicts


# ---- the page


def test_the_page_has_the_generated_schema_and_the_form_of_the_checker():
    written = json.loads((ROOT / "docs" / "certificate.schema.json").read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(schema())), "write it anew: python tests/test_certificate_page.py"
    assert "literalinclude} certificate.schema.json" in PAGE
    assert check.FORM.strip() in PAGE
    plain = READER.read_text(encoding="utf-8").split("const FORM = `")[1].split("`")[0]
    assert plain.split() == check.FORM.split()


def test_the_page_has_the_numbers_of_the_checker():
    plain = re.sub(r"\s+", " ", PAGE)
    assert ", ".join(f"{bet:g}"[1:] for bet in check.BETS) in plain
    half = check.GRID[: len(check.GRID) // 2]
    assert ", ".join(f"{node:g}"[1:] if node else "0" for node in half) in plain
    for words in (
        "1.7 √((ln ln 2N + 0.72 ln(10.4/",
        "matched at random, 50 times",
        "600000 / 200T",
        "min(1000",
    ):
        assert words in plain


EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_of_the_page_hold(text):
    assert by_python(text)[0] == "holds", by_python(text)


def test_there_is_an_example_of_every_kind():
    assert len(EXAMPLES) >= 3
    assert {name for text in EXAMPLES for name in ("search", "new_rows", "local") if name in json.loads(text)} == {
        "search",
        "new_rows",
        "local",
    }


# ---- the second reader


def test_the_second_reader_is_one_short_file():
    text = READER.read_text(encoding="utf-8")
    assert text.count("\n") <= 700
    assert not re.search(r"\b(require|import|fetch|eval|document|XMLHttpRequest)\b", text)


@with_node
def test_both_checkers_agree_on_the_corpus_and_on_the_examples(tmp_path):
    files = sorted(CORPUS.glob("*_*.json"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    verdicts = dict(zip((file.stem for file in files), assert_they_agree(texts, tmp_path), strict=True))
    reasons = json.loads((CORPUS / "reasons.json").read_text(encoding="utf-8"))
    for name, verdict in verdicts.items():
        assert verdict == ("holds" if name.startswith("genuine") else "refused"), name
    assert {f"forged_{name}" for name in reasons} == {name for name in verdicts if name.startswith("forged")}
    for name, reason in reasons.items():
        assert by_python((CORPUS / f"forged_{name}.json").read_text(encoding="utf-8"))[2] == reason
    assert set(assert_they_agree(EXAMPLES, tmp_path)) == {"holds"}


UNREADABLE = [
    "",
    "[1]",
    "{}",
    '{"format_version": 4.0}',
    "[" * 9999,
    '{"a": 1, "a": 2}',
    '{"a": NaN}',
    '{"a": 01}',
    '"\\x"',
    '["' + "a" * 60,  # a file that is cut off: a backtracking reader takes years
]


@with_node
def test_both_read_and_write_json_alike(tmp_path):
    odd = [
        0.0001,
        1e-5,
        1e16,
        123456789012345680.0,
        -0.0,
        0.1,
        1.0,
        5e-324,
        1.7976931348623157e308,
        10**30,
        -1,
        True,
        None,
    ]
    odd += ["\x7f\u2028ä\U0001f600\ud800\n", {"\uffff": 1, "\U00010000": 2, "é": [], "a": {}}]
    content = json.loads(EXAMPLES[0])
    texts = [sealed({**content, "told": {"odd": one, "all": odd}}) for one in odd]
    texts += [texts[0].replace("0.0001", "1e-4"), texts[0].replace("0.0001", "0.00010001"), *UNREADABLE]
    verdicts = assert_they_agree(texts, tmp_path)
    assert verdicts == ["holds"] * (len(odd) + 1) + ["refused"] + ["unreadable"] * len(UNREADABLE)


TOLD = {  # the first word of what a forgery says more -> what must be taken as written then
    "answer": "edges, labels and players of the graph",
    "names": "rows, names and score of the data",
    "rows": "rows, names and score of the data",
    "allowed": "what may be chosen",
    "limit": "what may be chosen",
    "forced": "what may be chosen",
    "exact": "exact values",
    "lower": "exact values",
    "settled": "why the work ended",
    "like": "the score of guessing",
}


def says_more(genuine, text):
    """Return in which ways a text that is accepted says more than a genuine certificate."""
    if by_python(text)[0] != "holds":
        return set()
    try:
        return strengthened(genuine, whole(Certificate.from_json(text)))
    except ValueError:  # the record refuses it
        return set()


@with_node
@pytest.mark.slow
def test_both_checkers_agree_on_what_is_made_at_random_and_accept_nothing_that_says_more(tmp_path):
    rng = random.Random(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        genuine = [one for made in KINDS for one in made(SEED)]
    contents = [whole(one.certificate) for one in genuine]
    texts = [sealed(content) for content in contents]
    assert assert_they_agree(texts, tmp_path).count("holds") == len(texts)
    texts = [sealed(content) for _, _, content, _ in forgeries(genuine, FUZZED // 2, SEED)]
    for _ in range(FUZZED - len(texts)):
        place = rng.randrange(len(contents))
        content = mutated(contents[place], rng)
        texts.append(sealed(mutated(content, rng) if rng.random() < 0.3 else content))
        for more in says_more(contents[place], texts[-1]):
            taken = ", ".join(check.check(json.loads(texts[-1])).taken_as_written)
            assert TOLD.get(more.partition(" ")[0], "never") in taken, f"{more} of {genuine[place].name} is not told"
    verdicts = assert_they_agree(texts, tmp_path)
    assert verdicts.count("refused") > FUZZED // 3


if __name__ == "__main__":
    text = json.dumps(schema(), indent=1, ensure_ascii=False)
    (ROOT / "docs" / "certificate.schema.json").write_text(
        re.sub(r"\n {4,}|\n +(?=[}\]])", " ", text) + "\n", encoding="utf-8"
    )
