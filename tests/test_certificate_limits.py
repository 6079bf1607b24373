"""What the verifier imports, and how much work it does with files made to keep it busy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from bestleaf import Certificate, best_leaf, bounds, verify
from bestleaf.certificate import bound_checks, schema
from bestleaf.features import data as features_data
from bestleaf.problems import TableProblem
from conftest import calls_of
from forging import judged, only_the_worst, reworded, rewritten, sealed, twin


def test_constants_are_those_of_the_engine():
    assert np.array_equal(bound_checks.GRID, bounds.GRID)
    assert np.array_equal(bound_checks.BETS, bounds.BETS)
    assert bound_checks.HEAD == bounds.HEAD
    assert {bound.name: bound.width for bound in bounds.RIGOROUS} == bound_checks.WIDTHS
    assert set(bound_checks.RATES) | set(bound_checks.CHECKS) == set(bounds.BOUNDS)
    for name, level in bound_checks.RATES.items():
        for count, delta, leaves in ((1, 0.1, 5), (1000, 0.01, 700)):
            assert level(count, delta, leaves) == pytest.approx(bounds.BOUNDS[name].part.function(count, delta, leaves))
    assert features_data.VALUE_COST == schema.VALUE_COST


@pytest.mark.slow
def test_the_verifier_imports_nothing_of_the_search(sampled, tmp_path):
    path = tmp_path / "found.json"
    path.write_text(sealed(sampled))
    heavy = ("numba", "llvmlite", "sklearn", "scipy", "pandas", "joblib")
    engine = tuple(f"bestleaf.engine.{name}" for name in ("bounds", "compile", "intervals"))
    ours = (*engine, "bestleaf.search", "bestleaf.features")
    wrong = f"[m for m in sys.modules if m.split('.')[0] in {heavy!r} or m.startswith({ours!r})]"
    script = f"import sys; from bestleaf import verify; assert verify({str(path)!r}); assert not {wrong}, {wrong}"
    command = (
        "import sys; from bestleaf.cli import main\ntry: main()\nexcept SystemExit as end: code = end.code\n"
        f"assert code == 0, code; assert not {wrong}, {wrong}"
    )
    for arguments in (["-c", script], ["-c", command, "verify", str(path)]):
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def huge(selected):
    """Yield certificates of up to some megabytes that would keep a careless verifier busy."""
    content, _ = only_the_worst(selected)
    units = 10_000
    content["data"] |= {"names": [f"x{n}" for n in range(units)], "groups": [[n] for n in range(units)]}
    content["data"]["choice"] = {"allowed": list(range(units)), "forced": [], "limit": units}
    content["search"]["expansion"] = None
    content["graph"]["created"] = 0
    content["cost"] |= {"exact_evaluations": 1, "values_outside": 0}
    yield "subsets without end", rewritten(content)
    half = twin(content)
    label = list(range(units // 2))
    steps = [label[:size] for size in (0, 1)]
    half["leaves"][0]["label"] = [0, -1]
    half["graph"] |= {"labels": [*steps, [0, -1]]}
    half["search"]["expansion"] = 0.5
    half["challenges"] = {"local": {"choice": half["data"]["choice"], "subsets": [[[*label, -1], 0.1]] * 20}}
    yield "long subsets", reworded(half)
    names = twin(content)
    names["data"]["names"] = [f"{n}" + "\u200b" * 30 for n in range(units)]
    yield "names that are not seen", rewritten(names)


def test_no_file_keeps_the_verifier_busy(selected):
    for name, content in huge(selected):
        text = sealed(content)
        verdict, calls = calls_of(lambda content=content: judged(content))
        assert not verdict, name
        assert calls < len(text), name


def test_bombs_are_no_certificates(sampled, tmp_path):
    for text in ("[" * 200_000, '{"a":' * 100_000, '{"format": ' + "1" * 10**6 + "}", "1e999999999"):
        with pytest.raises(ValueError, match="not a certificate"):
            Certificate.from_json(text)
    nested = []
    for _ in range(900):
        nested = [nested]
    for odd in (nested, 10**4000, 1e308, -1e308, "x" * 10**6):
        for place in ("gap", "answer", "reason"):
            assert not judged({**sampled, place: odd})
        content = twin(sampled)
        content["leaves"][0]["label"] = odd
        assert len(str(judged(content))) < 10**4
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(201 * 10**6)
    with pytest.raises(ValueError, match="at most 200 MB"):
        Certificate.load(large)


def many_leaves(many, bound):
    """Return the text of a genuine certificate of a graph with so many leaves."""

    wide = TableProblem({-1: list(range(many))}, dict.fromkeys(range(many), 0.5), root=-1)
    settings = {"epsilon": 0.3, "delta": 0.1, "seed": 0, "batch_size": many}
    return best_leaf(wide, bound=bound, max_samples=4 * many, **settings).certificate.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["hoeffding", "betting"])
def test_the_work_of_the_verifier_grows_with_the_leaves_and_not_faster(bound):
    calls = []
    for many in (300, 600, 1200):
        text = many_leaves(many, bound)
        verdict, count = calls_of(lambda text=text: verify(Certificate.from_json(text)))
        assert verdict, verdict
        calls.append(count)
    assert calls[2] < 2.1 * calls[1] < 4.4 * calls[0]  # twice the leaves, about twice the calls


def test_a_file_of_the_best_linear_subset_is_refused_in_one_sentence(tmp_path):
    old = tmp_path / "best.json"
    old.write_text('{"format": "bestleaf linear subsets", "format_version": 1}')
    with pytest.raises(ValueError, match=r"best_linear_subset, which bestleaf has no longer: .* a linear estimator$"):
        Certificate.load(old)
