"""The kernels of `votes.cu` for the data of one oracle: which constants they get, and how work is cut into launches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from bestleaf.features.gpu.device import cuda, failures_told

OnGpu = Any  # arrays and kernels of CuPy, which has no types
GROUP = 8  # references that a thread looks at together
BUFFER = 2 * GROUP  # references that a thread holds back at most
MANY = 8000  # references; with more, most of them are no candidates for any query of a warp
UNROLLED = 24  # subsets of one size up to this may have a kernel of their own,
WORTH_COMPILING = 10**10  # if they take so many distances at once: it takes a second to compile
SETTLERS = 256  # threads for one doubtful query
SETTLED_AT_ONCE = 1056  # doubtful queries; eight for each processor of a large GPU
RANKERS = 128  # threads of the kernels that rank queries

TABLE = np.dtype(  # the struct `Table` of votes.cu
    [(name, np.int64) for name in ("columns", "targets", "groups", "padded")]
    + [(name, np.int32) for name in ("rows", "references", "outputs", "unused")]
)


class PaddedSubsets(NamedTuple):
    """Subsets of features, none of them empty, as rows of one width: what the kernels of the GPU read."""

    features: np.ndarray  # [subsets, largest size] in order, then anything that is a feature
    sizes: np.ndarray  # of each subset

    @classmethod
    def of(cls, subsets: Sequence[np.ndarray]) -> PaddedSubsets:
        """Return subsets that are given by their features."""
        sizes = np.array([len(subset) for subset in subsets], np.int32)
        features = np.zeros((len(subsets), sizes.max()), np.int32)
        features[np.arange(sizes.max()) < sizes[:, None]] = np.concatenate(subsets)
        return cls(features, sizes)

    @classmethod
    def among(cls, columns: np.ndarray) -> PaddedSubsets:
        """Return subsets that are given by a matrix, [subsets, features], of truth values."""
        sizes = columns.sum(axis=1)
        features = np.zeros((len(columns), sizes.max()), np.int32)
        features[np.arange(sizes.max()) < sizes[:, None]] = np.nonzero(columns)[1]
        return cls(features, sizes)


class BlockShape(NamedTuple):
    """How many threads a block has, and how many references a tile."""

    threads: int
    tile: int

    def shared(self, widest: int) -> int:
        """Return the bytes of shared memory of a block."""
        return 4 * widest * (self.tile + self.threads) + 8 * BUFFER * self.threads

    def blocks(self, queries: int) -> int:
        """Return how many blocks take all queries."""
        return -(-queries // self.threads)


SHAPES = tuple(BlockShape(*one) for one in ((256, 256), (320, 320), (128, 256), (64, 64), (32, 32), (32, GROUP)))


@cache
def shared_memory() -> int:
    """Return how many bytes of shared memory a block may use on this GPU."""
    return int(cuda().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


def shape_for(widest: int, queries: int) -> BlockShape | None:
    """Return the first shape that leaves few threads without a query; None if no block can hold a subset so wide."""
    fitting = [shape for shape in SHAPES if shape.shared(widest) <= shared_memory()]
    idle = {shape: shape.blocks(queries) * shape.threads - queries for shape in fitting}
    # Threads without a query, as a fraction of the queries.
    few = (shape for shape in fitting if idle[shape] <= 0.1 * queries)
    return next(few, min(fitting, key=idle.__getitem__, default=None))


@cache
def compiled(
    shape: BlockShape, size: int, neighbours: int, rounded: bool, about: tuple[tuple[str, bool], ...]
) -> ModuleType:
    """Return the module of the kernels with these constants; CuPy keeps it on disk."""
    given = {"K": neighbours, "GROUP": GROUP, "BUFFER": BUFFER, "ROUNDED": rounded, "SETTLERS": SETTLERS, **dict(about)}
    given |= {"THREADS": shape.threads, "TILE": shape.tile, "SIZE": size}
    options = tuple(f"-D{name}={int(value)}" for name, value in given.items())
    module = cuda().RawModule(code=files(__package__).joinpath("votes.cu").read_text("utf-8"), options=options)
    module.get_function("votes").max_dynamic_shared_size_bytes = shared_memory()  # once: threads share a module
    return module


class CudaVotes:
    """Sums of the targets of nearest neighbours on a GPU, for many subsets at once."""

    def __init__(
        self,
        columns: np.ndarray,  # [features, padded] the data, as `KNNOracle` keeps them; copied to the GPU once
        targets: np.ndarray,  # [outputs, rows]
        neighbours: int,  # how many vote
        references: int,  # so many of the first rows may vote
        groups: np.ndarray | None = None,  # [rows] rows of the group of a query do not vote
        *,
        drop_zero: bool = False,  # nor do those at distance 0
        real: bool = False,  # targets are real, so that their mean is asked for
    ) -> None:
        self._cupy: ModuleType = cuda()
        self.neighbours, self.references = neighbours, references
        self.outputs, self.rounded = len(targets), False
        kinds = {"GROUPED": groups is not None, "DROP_ZERO": drop_zero, "REAL": real, "MANY": references > MANY}
        self._about = tuple(kinds.items())
        with failures_told(self._cupy):
            kept = [columns.astype(np.float32, copy=False), np.ascontiguousarray(targets, np.float32)]
            kept.append(np.zeros(1, np.int32) if groups is None else groups.astype(np.int32))
            self._kept = [self._cupy.asarray(array) for array in kept]  # the struct has only their addresses
            table = np.zeros(1, TABLE)
            for name, array in zip(("columns", "targets", "groups"), self._kept, strict=True):
                table[name] = array.data.ptr
            table["padded"], table["rows"] = columns.shape[1], targets.shape[1]
            table["references"], table["outputs"] = references, self.outputs
            self._table = self._cupy.asarray(table.view(np.uint8))

    @staticmethod
    def takes(widest: int, neighbours: int) -> bool:
        """Return whether subsets so wide, and so many neighbours, fit onto a GPU's processors."""
        return neighbours <= 32 and shape_for(widest, 1) is not None  # the list of the nearest must fit into registers

    def sums(self, subsets: PaddedSubsets, queries: np.ndarray) -> np.ndarray:
        """Return [subsets, queries, outputs]: the sums of some queries."""
        found = np.empty((len(subsets.sizes), len(queries), self.outputs), np.float32)
        with failures_told(self._cupy):
            for places, sums in self._launches(subsets, queries):
                found[places] = sums.get()
        return found

    def pairs_in_order(
        self, subsets: PaddedSubsets, queries: np.ndarray, truth: np.ndarray, *, half: bool
    ) -> np.ndarray:
        """Return [subsets, outputs]: twice the number of pairs of queries that the sums put in the right order.

        `truth` [outputs, queries] are classes as 0 and 1, or the ranks of real targets. Ties count one half or nothing.
        """
        with failures_told(self._cupy):
            return self._ranked(len(subsets.sizes), self._launches(subsets, queries), truth, half=half)

    def _ranked(
        self, many: int, launches: Iterable[tuple[np.ndarray, OnGpu]], truth: np.ndarray, *, half: bool
    ) -> np.ndarray:
        """Return twice the number of pairs in the right order, from places of subsets and their sums."""
        cupy, real = self._cupy, dict(self._about)["REAL"]
        known = cupy.asarray(truth.astype(np.int32 if real else np.uint8))
        kernel = self._plain_kernel("ranked_means" if real else "ranked_votes")
        about = (known, np.int32(truth.shape[1]), *(() if real else (np.int32(self.outputs),)), np.int32(half))
        found, twice = np.empty((many, self.outputs), np.int64), []
        for places, sums in launches:
            twice.append((places, cupy.empty((len(places), self.outputs), np.int64)))
            kernel((len(places),), (RANKERS,), (sums, *about, twice[-1][1]))
        for places, counts in twice:
            found[places] = counts.get()
        return found

    def _plain_kernel(self, name: str) -> OnGpu:
        """Return a kernel that does not depend on the shape of blocks and the size of subsets."""
        return compiled(SHAPES[0], 0, self.neighbours, False, self._about).get_function(name)

    def _at_once(self, queries: np.ndarray) -> int:
        """Return how many subsets a launch takes at most."""
        # Bytes of sums that one launch writes at most.
        # Of one launch; a grid has at most 65,535 blocks in this direction.
        return min(2**15, max(1, 2**28 // (4 * len(queries) * self.outputs)))

    def _launches(self, subsets: PaddedSubsets, queries: np.ndarray) -> Iterator[tuple[np.ndarray, OnGpu]]:
        """Yield the places of some subsets, those of one size together, and their sums as an array on the GPU."""
        cupy, at_once = self._cupy, self._at_once(queries)
        asked, every = cupy.asarray(queries.astype(np.int32)), cupy.asarray(subsets.features).astype(np.int32)
        kinds = np.minimum(subsets.sizes, UNROLLED + 1)
        for kind in np.flatnonzero(np.bincount(kinds)).tolist():
            alike = np.flatnonzero(kinds == kind)
            own = kind <= UNROLLED and len(alike) * len(queries) * self.references >= WORTH_COMPILING
            for places in (alike[begin : begin + at_once] for begin in range(0, len(alike), at_once)):
                sizes = subsets.sizes[places].astype(np.int32)
                listed = cupy.ascontiguousarray(every[cupy.asarray(places)][:, : int(sizes.max())])
                yield places, self._launched(listed, sizes, kind if own else 0, asked)

    def _launched(self, listed: OnGpu, sizes: np.ndarray, size: int, queries: OnGpu) -> OnGpu:
        """Return the sums [subsets, queries, outputs] of subsets given as padded lists of features.

        `size` is that of all of them if they have a kernel of their own; otherwise it is 0.
        """
        cupy, (many, widest), asked = self._cupy, listed.shape, len(queries)
        shape = shape_for(widest, asked)
        assert shape is not None
        module = compiled(shape, size, self.neighbours, self.rounded, self._about)
        sums = cupy.empty((many, asked, self.outputs), np.float32)
        doubtful = cupy.empty((1 if self.rounded else many * asked, 2), np.int32)
        count = cupy.zeros(1, np.int32)
        about = (cupy.asarray(listed), cupy.asarray(sizes), np.int32(widest), queries, np.int32(asked))
        arguments = (self._table, *about, sums, doubtful, count)
        votes, shared = module.get_function("votes"), shape.shared(widest)
        votes((shape.blocks(asked), many), (shape.threads,), arguments, shared_mem=shared)
        if not self.rounded:
            module.get_function("settle")((SETTLED_AT_ONCE,), (SETTLERS,), arguments)
            # With a larger fraction of doubtful queries, rounding as the processor does costs less.
            self.rounded = int(count[0]) > 0.05 * many * asked
        return sums
