"""The verdict on a certificate: what it says, what it may be given, and what it imports."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from bestleaf import Bound, best_arm, best_leaf, verify
from bestleaf.problems import paper_lattice, random_dag
from genuine import CHECKED, UNCHECKED

SETTINGS = {"epsilon": 0.2, "delta": 0.1, "seed": 0}


def test_the_verdict_says_what_was_checked_claimed_and_taken_as_written():
    found = best_leaf(paper_lattice(), **SETTINGS).certificate
    verdict = verify(found)
    lines = str(verdict).splitlines()
    assert verdict.holds
    assert lines[0] == "The certificate holds."
    assert set(found.claims) <= set(lines)
    taken = next(line for line in lines if line.startswith("Not checked: "))
    assert "edges, labels and players of the graph" in taken


def test_what_cannot_be_verified_is_told():
    found = best_leaf(paper_lattice(), **SETTINGS).certificate
    for given, words in (
        ({"X": [[1]]}, "X and y must be given together, got only X"),
        ({"groups": [1]}, "groups must be given with X and y, got only groups"),
        ({"audit": 0.5}, "audit must be given with X and y"),
        ({"X": [[1]], "y": [1], "audit": 2}, "audit must be between 0 and 1, got 2"),
    ):
        with pytest.raises(ValueError, match=words):
            verify(found, **given)
    with pytest.raises(TypeError, match="certificate must be a Certificate or the path of one, got a dict"):
        verify({})
    assert "not about data" in str(verify(found, [[1.0], [2.0]], [0, 1]))


def test_a_field_of_another_form_is_refused(tmp_path):
    found = best_leaf(paper_lattice(), **SETTINGS).certificate
    wide = msgspec.structs.replace(found, search=msgspec.structs.replace(found.search, gap=7.0))
    assert "Expected `float` <= 1.0" in str(verify(wide))
    (tmp_path / "found.json").write_text(found.to_json().replace('"gap":', '"remark": 1, "gap":', 1))
    assert "unknown field `remark`" in str(verify(tmp_path / "found.json"))
    (tmp_path / "found.json").write_text("{}")
    with pytest.raises(ValueError, match=r"found\.json: this is not a certificate of bestleaf"):
        verify(tmp_path / "found.json")


def test_a_bound_of_ones_own_brings_its_check():
    found = best_arm(paper_lattice(), **SETTINGS, bound=CHECKED).certificate
    assert "bound union_over_time was not checked" in str(verify(found))
    verdict = verify(found, bound=CHECKED)
    assert "was not checked" not in str(verdict)
    assert "provided that bound union_over_time holds" in str(verdict)
    assert "the bound given is unnamed" in str(verify(found, bound=UNCHECKED))
    doubting = Bound(CHECKED.part.function, check=lambda side, value, delta, evidence: False)
    assert "does not follow from its samples" in str(verify(found, bound=doubting))
    with pytest.raises(TypeError, match="check must be a function"):
        Bound(lambda mean, count, delta, row: (0.0, 1.0), check="yes")


class Unknown(random_dag(4).__class__):
    """A problem that is asked for exact values, and has none."""

    def exact(self, state):
        return None


def test_leaves_that_were_waited_for_in_vain_have_shares_by_their_place():
    known = random_dag(4)
    found = best_leaf(Unknown(known.children_of, known.means, root=(0, 0)), **SETTINGS).certificate
    assert verify(found), verify(found)
    assert len({leaf.share for leaf in found.search.leaves}) == len(found.search.leaves)


@pytest.mark.slow
def test_the_verifier_imports_nothing_of_the_search(tmp_path):
    path = tmp_path / "found.json"
    best_leaf(paper_lattice(), **SETTINGS).certificate.save(path)
    heavy = ("numba", "llvmlite", "sklearn", "scipy", "pandas", "joblib")
    ours = ("bestleaf.engine", "bestleaf.search", "bestleaf.features", "bestleaf.selection")
    wrong = f"[m for m in sys.modules if m.split('.')[0] in {heavy!r} or m.startswith({ours!r})]"
    script = f"import sys; from bestleaf import verify; assert verify({str(path)!r}); assert not {wrong}, {wrong}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
