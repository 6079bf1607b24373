"""Votes on a GPU are those of the processor, bit for bit.

Without a GPU the kernels are run by the processor, on tiny tables. `make test-gpu` runs everything where there is one.
"""

from __future__ import annotations

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bestleaf import KNNOracle, NeighbourVotes
from bestleaf.features.all_subsets import Numbering
from bestleaf.features.gpu import device, votes
from bestleaf.features.gpu.device import GpuError, cuda
from cuda_on_host import COMPILER, cupy_on_host
from selecting import made_selector

pytestmark = pytest.mark.slow


def has_gpu() -> bool:
    try:
        return cuda() is not None
    except GpuError:
        return False


HAS_GPU = has_gpu()
on_gpu = pytest.mark.skipif(not HAS_GPU, reason="needs a GPU and CuPy")


@pytest.fixture(scope="module")
def kernels_run(tmp_path_factory):
    """Let the kernels run however small the work is; where there is no GPU, the processor runs them in small blocks."""
    if COMPILER is None and not HAS_GPU:
        pytest.skip("needs a compiler of C++ to run the kernels without a GPU")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bestleaf.features.votes.DISTANCES_A_GPU", 0)
        if HAS_GPU:
            yield
            return
        stands_in = cupy_on_host(tmp_path_factory.mktemp("kernels"))
        votes.compiled.cache_clear()
        for module in (device, votes):
            patch.setattr(module, "cuda", lambda: stands_in)
        patch.setattr(votes, "SHAPES", (votes.BlockShape(32, 32), votes.BlockShape(32, 8)))
        patch.setattr(votes, "UNROLLED", 0)  # one kernel for all sizes takes less time to compile
        patch.setattr(votes, "SETTLERS", 32)
        patch.setattr(votes, "SETTLED_AT_ONCE", 1)
        patch.setattr(votes, "RANKERS", 32)
        yield
    votes.compiled.cache_clear()


@pytest.mark.usefixtures("kernels_run")
def test_all_subsets_have_the_values_of_the_processor():
    X = table("whole numbers", 20, 6)
    ours, theirs = pair(X, (X[:, 0] > 0).astype(int))
    numbering = Numbering(range(6), (), 6)
    columns = numbering.columns(numbering.members(np.arange(30)), [[feature] for feature in range(6)])
    assert ours.most_subsets == 2**30
    assert theirs.most_subsets == 2**22
    assert ours.table_values(columns).tolist() == theirs.table_values(columns).tolist()


def table(kind: str, rows: int, features: int, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(rows, features))
    return np.round(X) if kind == "whole numbers" else X


def subsets(many: int, features: int, widest: int, seed: int = 1) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.permutation(features)[: rng.integers(1, widest + 1)].tolist() for _ in range(many)]


def pair(X, y, **keywords) -> tuple[KNNOracle, KNNOracle]:
    """Return the oracle on the GPU and the one on the processor."""
    return KNNOracle(X, y, device="cuda", **keywords), KNNOracle(X, y, device="cpu", **keywords)


CASES = {
    "three classes": {"classes": 3},
    "real targets": {"task": "regression"},
    "strict ties": {"ties": "strict"},
    "ties by row": {"ties": "row_order"},
    "groups": {"groups": True},
    "weights": {"sample_weight": True},
    "no distance 0": {"drop_zero": True},
}


def pair_of(case: str, kind: str, rows: int, **settings) -> tuple[KNNOracle, KNNOracle]:
    """Return both oracles for a case."""
    rng, given = np.random.default_rng(3), dict(CASES[case])
    y = rng.normal(size=rows) if "task" in given else rng.integers(given.pop("classes", 2), size=rows)
    for name in {"groups", "sample_weight"} & set(given):
        given[name] = rng.integers(1, 9, rows)
    return pair(table(kind, rows, 9), y, **settings, **given)


@pytest.mark.usefixtures("kernels_run")
@pytest.mark.parametrize(("case", "kind"), [*((case, "real numbers") for case in CASES), ("groups", "whole numbers")])
def test_values_are_those_of_the_processor(case, kind):
    ours, theirs = pair_of(case, kind, 38, n_neighbors=3)
    asked = subsets(3, 9, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ours.values(asked) == theirs.values(asked)
        assert ours.value(asked[0]) == theirs.value(asked[0])
        assert np.array_equal(ours.sums(asked[1]), theirs.sums(asked[1]))
    assert ours.votes.gpu.device == "cuda"


@pytest.mark.usefixtures("kernels_run")
def test_wide_subsets_and_votes_rounded_as_the_processor_does():
    X, y = table("real numbers", 40, 60), np.arange(40) % 2
    ours, theirs = pair(X, y)
    asked = [list(range(50)), [3, 7], list(range(5, 45))]
    assert ours.values(asked) == theirs.values(asked)
    ours.votes.gpu.tried(lambda gpu: setattr(gpu, "rounded", True))
    assert ours.values(asked) == theirs.values(asked)


@pytest.mark.usefixtures("kernels_run")
def test_a_kernel_for_one_size_gives_the_same(monkeypatch):
    monkeypatch.setattr(votes, "UNROLLED", 16)
    monkeypatch.setattr(votes, "WORTH_COMPILING", 0)
    ours, theirs = pair(table("real numbers", 40, 6), np.arange(40) % 2)
    assert ours.values(np.array([[0, 5, 2], [1, 3, 4]])) == theirs.values([[0, 2, 5], [1, 3, 4]])


@pytest.mark.usefixtures("kernels_run")
def test_doubtful_queries_are_settled_by_rounded_sums():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(6, 4)), 8, axis=0)  # every row eight times: the fifth distance is always a tie
    ours, theirs = pair(X, rng.integers(2, size=48))
    assert np.array_equal(ours.sums([0, 1, 2, 3]), theirs.sums([0, 1, 2, 3]))
    assert ours.votes.gpu.tried(lambda gpu: gpu.rounded)  # so many were doubtful that rounding costs less


def test_a_missing_gpu_is_one_sentence_and_the_same_values(monkeypatch):
    def missing():
        raise GpuError("no GPU was found")

    for module in (device, votes):
        monkeypatch.setattr(module, "cuda", missing)
    monkeypatch.setattr(device, "_told", set())
    monkeypatch.setattr("bestleaf.features.votes.DISTANCES_A_GPU", 0)
    X, y = table("real numbers", 30, 4), np.arange(30) % 2
    with pytest.raises(ValueError, match="device must be"):
        KNNOracle(X, y, device="gpu")
    ours, theirs = pair(X, y)
    with pytest.warns(RuntimeWarning, match="^the GPU cannot be used: no GPU was found; the processor computes"):
        assert ours.values([[0], [1, 2]]) == theirs.values([[0], [1, 2]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ours.value([3]) == theirs.value([3])  # it is said once
        assert KNNOracle(X, y, device="auto").value([3]) == theirs.value([3])


@pytest.mark.usefixtures("kernels_run")
def test_a_gpu_that_fails_in_the_middle_is_replaced_by_the_processor(monkeypatch):
    class OutOfMemoryError(Exception):
        pass

    def full(*given):
        raise OutOfMemoryError("out of memory allocating 8 bytes")

    X, y = table("real numbers", 30, 4), np.arange(30) % 2
    ours, theirs = pair(X, y)
    assert ours.value([1]) == theirs.value([1])
    monkeypatch.setattr(device, "_told", set())
    monkeypatch.setattr(votes.CudaVotes, "_launched", full)
    with pytest.warns(RuntimeWarning, match="out of memory"):
        assert ours.values([[0], [1, 2]]) == theirs.values([[0], [1, 2]])


@pytest.mark.usefixtures("kernels_run")
def test_an_oracle_with_a_gpu_can_be_pickled():
    ours, _ = pair(table("real numbers", 30, 4), np.arange(30) % 2)
    assert pickle.loads(pickle.dumps(ours)).value([0, 1]) == ours.value([0, 1])


@on_gpu
@pytest.mark.parametrize("kind", ["real numbers", "whole numbers"])
def test_ten_thousand_subsets_have_the_same_value_on_a_gpu(kind):
    X, y = table(kind, 500, 40), np.random.default_rng(2).integers(2, size=500)
    ours, theirs = pair(X, y, n_jobs=16)
    asked = subsets(10_000, 40, 25)
    assert ours.values(asked) == theirs.values(asked)
    assert ours.votes.gpu.device == "cuda"


@on_gpu
@pytest.mark.parametrize("kind", ["real numbers", "whole numbers"])
@pytest.mark.parametrize("case", CASES)
def test_votes_of_many_rows_are_the_same_on_a_gpu(kind, case):
    ours, theirs = pair_of(case, kind, 12_000, n_jobs=16)
    for subset in ([0], [1, 2], [0, 3, 5, 7, 8], list(range(9))):
        assert np.array_equal(ours.sums(subset), theirs.sums(subset))


@on_gpu
def test_a_search_has_the_same_answer_on_a_gpu():
    X = table("real numbers", 900, 30)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    kinds = (NeighbourVotes(device=device) for device in ("cuda", "cpu"))
    found = [made_selector(votes, choose="training", random_state=0, max_samples=2000).fit(X, y) for votes in kinds]
    assert found[0].support_.tolist() == found[1].support_.tolist()
    assert found[0].certificate_.claims == found[1].certificate_.claims


@on_gpu
def test_threads_share_a_gpu():
    X, y = table("real numbers", 1000, 300), np.random.default_rng(4).integers(2, size=1000)
    ours, theirs = pair(X, y, n_jobs=4)
    asked = [[list(range(many)) for _ in range(12)] for many in range(5, 300, 8)]
    with ThreadPoolExecutor(4) as pool, warnings.catch_warnings():
        warnings.simplefilter("error")  # a GPU that fails is told by a warning
        found = list(pool.map(ours.values, asked))
    assert found == [theirs.values(one) for one in asked]
    assert ours.votes.gpu.device == "cuda"
