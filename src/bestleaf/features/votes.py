"""The votes of nearest neighbours: sums of the targets of the rows nearest to each row, by the processor or a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from itertools import repeat
from threading import local

import numpy as np

from bestleaf.engine.records import Workplace
from bestleaf.features.data import RowRoles, copied_columns, lanes
from bestleaf.features.gpu import CudaVotes, Gpu, PaddedSubsets
from bestleaf.features.kernels import all_subsets as together
from bestleaf.features.kernels import neighbours as kernels
from bestleaf.features.kernels import ranking
from bestleaf.features.kernels.records import NEIGHBOURS

DISTANCES_A_THREAD = 10**6  # fewer are not worth a thread
A_PIECE = 5 * 10**8  # distances on one feature that are computed between two looks at the clock: about 50 ms
AN_OUTPUT = 1000  # how many of them the votes of a row on one output take
DISTANCES_A_GPU = 4 * 10**6  # fewer take less time on the processor than the way to the GPU and back


class Votes:
    """The sums of the targets of the nearest neighbours, [rows, outputs]; those of the latest subsets are kept."""

    def __init__(
        self,
        data: np.ndarray,  # [all rows, features]
        targets: np.ndarray,  # [outputs, rows], rows in the order of the roles
        roles: RowRoles,
        *,
        neighbours: int,  # how many vote
        groups: np.ndarray | None,  # [rows] rows of the group of a query do not vote
        real: bool,  # targets are real, so that their mean is asked for
        scale: bool,
        drop_zero: bool,
        memory: int,  # bytes of the sums that are kept
        n_jobs: int,
        device: str,
    ) -> None:
        self.targets, self.roles, self.neighbours, self.groups = targets, roles, neighbours, groups
        self.real, self.drop_zero, self.memory, self.n_jobs, self.device = real, drop_zero, memory, n_jobs, device
        self.rows, self.features = len(roles.order), data.shape[1]
        self.queries = np.arange(roles.first_query, self.rows)  # the places of the rows that values rank
        self._lanes = lanes(roles.references, neighbours)
        self.padded = -(-roles.references // self._lanes) * self._lanes
        self.columns = copied_columns(data, scale, max(self.rows, self.padded), roles.order)

    def __getstate__(self) -> dict[str, object]:
        """Leave out sums and scratch memory, which are made again."""
        return {name: value for name, value in vars(self).items() if name not in ("_kept", "_scratch", "gpu")}

    def sums(self, features: np.ndarray, queries: np.ndarray) -> np.ndarray:
        """Return the sums of some rows; only those that are not kept are computed."""
        sums, known = self._kept(features.tobytes())
        missing = queries[~known[queries]]
        if len(missing):
            sums[missing], known[missing] = self._computed(features, missing), True
        return sums[self.roles.first_query :] if queries is self.queries else sums[queries]  # the same, but no copy

    def kept(self, features: np.ndarray) -> np.ndarray | None:
        """Return [queries, outputs]: the sums of all rows that are ranked, if they were computed and are kept."""
        sums, known = self._kept(features.tobytes())
        first = self.roles.first_query
        return sums[first:] if known[first:].all() else None

    def in_pieces(self, features: np.ndarray) -> Iterator[None]:
        """Compute the sums of all rows that are ranked piece by piece."""
        rows = len(self.queries)
        a_row = self.roles.references * (1 + len(features)) + AN_OUTPUT * len(self.targets)
        many = max(1, A_PIECE // a_row)
        for start in range(0, rows if rows > many else 0, many):
            self.sums(features, self.queries[start : start + many])
            yield

    def together(self, columns: np.ndarray) -> np.ndarray:
        """Return [subsets, outputs, rows]: the sums of many subsets in this thread, exactly as `sums` gives them."""
        sizes, (outputs, rows) = columns.sum(axis=1), self.targets.shape
        examples, widest = -(-rows // together.LANES) * together.LANES, int(sizes.max())
        groups = np.empty(0, np.int64) if self.groups is None else np.asarray(self.groups, np.int64)
        found = np.empty((len(columns), outputs, rows), np.float32)
        together.count_votes(
            np.nonzero(columns)[1],
            np.concatenate([[0], np.cumsum(sizes)]),
            together.Voters(self.columns, self.targets, groups, self.neighbours, self.real),
            np.empty((widest + 1, examples * together.LANES), np.float32),
            np.empty(widest, np.int64),
            np.empty(together.SCRATCH, np.float32),
            found,
        )
        return found

    def threads(self, queries: int) -> int:
        """Return how many threads are worth while for so many rows."""
        return min(self.n_jobs, queries * self.roles.references // DISTANCES_A_THREAD)

    @cached_property
    def gpu(self) -> Gpu[CudaVotes]:
        """The GPU, to which the data are copied when there is work for it."""

        def made() -> CudaVotes:
            about = self.columns, self.targets, self.neighbours, self.roles.references, self._padded_groups()
            return CudaVotes(*about, drop_zero=self.drop_zero, real=self.real)

        return Gpu(self.device, made)

    def suit_gpu(self, sizes: Sequence[int], queries: int) -> bool:
        """Return whether subsets of these sizes fit on a GPU and, with so many queries, are worth the way to it."""
        worth = len(sizes) * queries * self.roles.references >= DISTANCES_A_GPU and self.gpu.is_there
        return worth and min(sizes) > 0 and CudaVotes.takes(max(sizes), self.neighbours)

    def _computed(self, features: np.ndarray, queries: np.ndarray) -> np.ndarray:
        """Return the sums of some rows; several threads compute them if that is faster."""
        if self.suit_gpu([len(features)], len(queries)):
            found = self.gpu.tried(lambda votes: votes.sums(PaddedSubsets.of([features]), queries)[0])
            if found is not None:
                return found
        if (threads := self.threads(len(queries))) < 2:
            return self._computed_here(features, queries)
        with ThreadPoolExecutor(threads) as pool:
            parts = np.array_split(queries, threads)
            return np.concatenate(list(pool.map(self._computed_here, repeat(features), parts)))

    def _computed_here(self, features: np.ndarray, queries: np.ndarray) -> np.ndarray:
        if not hasattr(self._scratch, "place"):
            self._scratch.place = self.workplace()
        sums, place = np.empty((len(queries), len(self.targets)), np.float32), self._scratch.place
        place.arrays["chosen"][: len(features)] = features
        kernels.neighbour_sums(len(features), queries, place.record, sums)
        return sums

    @cached_property
    def _kept(self) -> Callable[[bytes], tuple[np.ndarray, np.ndarray]]:
        """A function of a subset that returns its sums and which of them are known; it forgets the oldest subsets."""
        rows, outputs = self.rows, len(self.targets)
        most = max(1, self.memory // (600 + rows * (1 + 4 * outputs)))  # 600 bytes are the objects of Python
        return lru_cache(most)(lambda key: (np.empty((rows, outputs), np.float32), np.zeros(rows, np.bool_)))

    @cached_property
    def _scratch(self) -> local:
        return local()

    def _padded_groups(self) -> np.ndarray | None:
        """Return the group of each row, -1 where columns have no row."""
        if self.groups is None:
            return None
        return np.pad(self.groups, (0, self.columns.shape[1] - len(self.groups)), constant_values=-1)

    def workplace(self) -> Workplace:
        """Return what one thread of the kernels needs: the data and scratch memory."""
        place, groups = Workplace(NEIGHBOURS), self._padded_groups()
        place.set(
            examples=self.roles.references,
            padded=self.padded,
            rows=self.rows,
            stride=self.columns.shape[1],
            lanes=self._lanes,
            outputs=len(self.targets),
            neighbours=self.neighbours,
            drop_zero=self.drop_zero,
            real=self.real,
            grouped=groups is not None,
            sum_nearest=kernels.sum_nearest.address,
            pairs_in_order=ranking.pairs_in_order.address if self.real else 0,
        )
        place.point(
            columns=self.columns,
            targets=self.targets,
            groups=np.empty(0, np.int32) if groups is None else groups,
            distance=np.zeros(self.padded, np.float32),
            minima=np.zeros(self._lanes, np.int32),
            nearest=np.zeros(self.neighbours, np.int32),
            who=np.zeros(self.neighbours, np.int64),
            sums=np.zeros(len(self.targets), np.float32),
            chosen=np.zeros(self.features, np.int64),
        )
        return place
