"""The kernels of a GPU, run by the processor: a stand-in for CuPy whose modules are compiled by the compiler of C++.

Each thread of a block is a thread of the operating system, and blocks run one after the other. So the real text of the
kernels is executed, with its barriers and votes of warps, where there is no GPU. It is slow: tables must be tiny.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np

COMPILER = shutil.which("g++") or shutil.which("c++")
HEAD = r"""
#include <algorithm>
#include <cmath>
#include <cstring>
#include <pthread.h>
#include <thread>
#include <utility>
#include <vector>
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __shared__ static
struct float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct Index { int x, y; };
static thread_local Index threadIdx, blockIdx;
static Index blockDim, gridDim;
static pthread_barrier_t whole_block, one_warp[32];
alignas(16) static char dynamic[1 << 18];
static float2 make_float2(float x, float y) { return {x, y}; }
static float __int_as_float(int bits) { float value; std::memcpy(&value, &bits, 4); return value; }
static int __float_as_int(float value) { int bits; std::memcpy(&bits, &value, 4); return bits; }
static float __fsub_rn(float a, float b) { return a - b; }
static float __fadd_rn(float a, float b) { return a + b; }
static float __fmul_rn(float a, float b) { return a * b; }
static float __fmaf_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
static int min(int a, int b) { return std::min(a, b); }
static void __syncthreads() { pthread_barrier_wait(&whole_block); }
static void warp_waits() { pthread_barrier_wait(&one_warp[threadIdx.x / 32]); }
static bool __any_sync(unsigned, bool mine) {
    static bool said[1024];
    said[threadIdx.x] = mine;
    warp_waits();
    const bool* warp = said + threadIdx.x / 32 * 32;
    bool found = std::any_of(warp, warp + 32, [](bool one) { return one; });
    warp_waits();
    return found;
}
template <class T> T __shfl_xor_sync(unsigned, T mine, int step) {
    static T given[1024];
    given[threadIdx.x] = mine;
    warp_waits();
    T found = given[threadIdx.x ^ step];
    warp_waits();
    return found;
}
template <class T, class U> T atomicAdd(T* where, U what) {
    return __atomic_fetch_add(where, (T)what, __ATOMIC_SEQ_CST);
}
"""
TAIL = r"""
template <class... Types, size_t... places>
void call(void (*kernel)(Types...), void** given, std::index_sequence<places...>) {
    kernel(*(Types*)given[places]...);
}
template <class... Types>
void launch(void (*kernel)(Types...), int across, int down, int threads, void** given) {
    blockDim = {threads, 1};
    gridDim = {across, down};
    pthread_barrier_init(&whole_block, nullptr, threads);
    for (int warp = 0; warp < threads / 32; ++warp) pthread_barrier_init(&one_warp[warp], nullptr, 32);
    for (int block = 0; block < across * down; ++block) {
        std::vector<std::thread> running;
        for (int thread = 0; thread < threads; ++thread)
            running.emplace_back([=] {
                threadIdx = {thread, 0};
                blockIdx = {block % across, block / across};
                call(kernel, given, std::index_sequence_for<Types...>());
            });
        for (auto& one : running) one.join();
    }
}
extern "C" {
void launch_votes(int x, int y, int threads, void** given) { launch(votes, x, y, threads, given); }
void launch_settle(int x, int y, int threads, void** given) { launch(settle, x, y, threads, given); }
void launch_ranked_votes(int x, int y, int threads, void** given) { launch(ranked_votes, x, y, threads, given); }
void launch_ranked_means(int x, int y, int threads, void** given) { launch(ranked_means, x, y, threads, given); }
}
"""
DYNAMIC = "extern __shared__ float4 shared[];"


class Array(np.ndarray):
    """An array "on the GPU"."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self) -> np.ndarray:
        return np.array(self)


def asarray(values) -> Array:
    return np.ascontiguousarray(values).view(Array)


class Module:
    """Compiled kernels."""

    def __init__(self, code: str, options: Sequence[str], folder: Path) -> None:
        assert DYNAMIC in code
        number = len(list(folder.glob("*.cpp")))
        source, library = folder / f"{number}.cpp", folder / f"{number}.so"
        source.write_text(HEAD + code.replace(DYNAMIC, "float4* shared = (float4*)dynamic;") + TAIL)
        flags = ["-std=c++17", "-O0", "-ffp-contract=off", "-shared", "-fPIC", "-pthread", "-w"]
        subprocess.run([COMPILER, *flags, *options, "-o", str(library), str(source)], check=True)
        self.library = ctypes.CDLL(str(library))

    def get_function(self, name: str):
        return Kernel(getattr(self.library, f"launch_{name}"))


class Kernel:
    """A kernel that is called as those of CuPy are."""

    max_dynamic_shared_size_bytes = 0

    def __init__(self, function) -> None:
        self.function = function

    def __call__(self, grid, block, arguments, shared_mem=0) -> None:
        given = [
            ctypes.c_void_p(one.ctypes.data) if isinstance(one, np.ndarray) else ctypes.c_int(int(one))
            for one in arguments
        ]
        places = (ctypes.c_void_p * len(given))(*(ctypes.addressof(one) for one in given))
        self.function(grid[0], grid[1] if len(grid) > 1 else 1, block[0], places)


def cupy_on_host(folder: Path) -> SimpleNamespace:
    """Return what stands for CuPy; compiled modules go to a folder."""
    about = SimpleNamespace(attributes={"MaxSharedMemoryPerBlockOptin": 227 * 2**10})
    return SimpleNamespace(
        cuda=SimpleNamespace(Device=lambda: about),
        asarray=asarray,
        ascontiguousarray=asarray,
        empty=lambda shape, dtype: np.empty(shape, dtype).view(Array),
        zeros=lambda shape, dtype: np.zeros(shape, dtype).view(Array),
        RawModule=lambda code, options: Module(code, options, folder),
        get_default_memory_pool=lambda: SimpleNamespace(free_all_blocks=lambda: None),
    )
