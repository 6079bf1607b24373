"""The only module that imports numba: how kernels are compiled, how they see arrays, what a part is.

A *kernel* is a first-order function compiled on first call and kept in the disk cache. A *part* (a
rule, a rate, a bound) is a function with a fixed signature, compiled alone; kernels receive its
address and call it as a numba function type, so replacing a part never recompiles a kernel.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from threading import RLock
from time import perf_counter
from typing import Any

import numba
import numpy as np
from numba import from_dtype, typeof, types
from numba.core import caching, cgutils, event
from numba.core.errors import NumbaError
from numba.core.types.function_type import CompileResultWAP
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype

from bestleaf._records import CONE, CROSSING, DESCENT, EDGE, INTERVAL, NEIGHBOURS, NODE, TRACK, WORLD, Graph


@cache
def _package_stamp() -> str:
    """Return one hash of every source file whose code may end up inside a kernel."""
    folder = Path(__file__).parent
    files = [*sorted((folder / "_kernels").glob("*.py"))]
    files += [folder / name for name in ("_records.py", "_compile.py", "rules.py", "bounds.py")]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


class _Stamped:
    """Mixin: keep the cache of each state of the sources in a folder of its own.

    numba looks only at the file of the outermost function, but a kernel also changes with what it calls, and an
    index written by another version may name records that no longer exist.
    """

    _cache_path: str

    def __init__(self, function: Callable, file: str) -> None:
        super().__init__(function, file)  # type: ignore[call-arg]
        self._cache_path = os.path.join(self._cache_path, f"bestleaf-{_package_stamp()[:16]}")


class _Provided(_Stamped, caching.UserProvidedCacheLocator):
    pass


class _InTree(_Stamped, caching.InTreeCacheLocator):
    pass


class _UserWide(_Stamped, caching.UserWideCacheLocator):
    pass


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes: Any = (_Provided, _InTree, _UserWide)


class _Cache(caching.FunctionCache):
    _impl_class = _CacheImpl


class _Compiling(event.Listener):
    """Adds up the seconds in which numba compiles kernels or reads them from the disk cache."""

    def __init__(self) -> None:
        self.seconds, self._depth, self._since = 0.0, 0, 0.0

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._since = perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._since


_COMPILING_TIME = _Compiling()
event.register("numba:compiler_lock", _COMPILING_TIME)


def clock() -> float:
    """Return seconds that go on while anything but the compiler is at work."""
    return perf_counter() - _COMPILING_TIME.seconds


if getattr(numba.config, "DISABLE_JIT", 0):
    raise ImportError("bestleaf runs on numba's compiler; unset NUMBA_DISABLE_JIT to use it")

njit: Any = numba.njit
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,  # kernels own no memory: without reference counting a sample costs a quarter
}


def kernel(function: Callable) -> Any:
    """Return `function` as a cached kernel that Python may call, compiled on its first call."""
    compiled = njit(**_OPTIONS)(function)
    with suppress(RuntimeError):  # no folder can be written: compile anew in every process
        compiled._cache = _Cache(function)
    return compiled


def helper(function: Callable) -> Any:
    """Return `function` as a piece of kernels, without an entry from Python."""
    return njit(**_OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def pasted(function: Callable) -> Any:
    """Return `function` as a piece whose source is pasted into the caller: the only kind that may return an array."""
    return njit(**_OPTIONS, inline="always", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def bounded(function: Callable) -> Any:
    """Return a user's `function` as a piece of kernels in which an index out of bounds is an error."""
    return njit(**_OPTIONS, boundscheck=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def inlined(function: Callable) -> Any:
    """Return `function` as a piece of kernels that is always inlined: for the path of every sample."""
    return njit(**_OPTIONS, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


_GRAPH = typeof(Graph(np.zeros(1, NODE), np.zeros(1, np.int64)))
_INTERVALS = typeof(np.zeros(1, INTERVAL))
_PAIR = types.UniTuple(types.float64, 2)

SIGNATURES = {
    "rule": types.UniTuple(types.int64, 2)(types.int64, _GRAPH, _INTERVALS),
    "rate": types.float64(types.int64, types.float64, types.int64),
    "interval": _PAIR(types.float64, types.int64, types.float64, types.float64[::1]),
    "observe": types.void(types.float64[::1], types.float64, types.int64),
    "at_node": types.int64(types.int64, from_dtype(WORLD)),
    "at_arms": types.int64(types.int64, types.int64, from_dtype(WORLD)),
    "draw": types.float64(types.int64, from_dtype(NEIGHBOURS)),
    "query": types.int64(types.int64, types.int64, from_dtype(NEIGHBOURS)),
    "pairs": types.Tuple((types.float64, types.int64))(types.float32[::1], types.float32[::1], types.int64),
    "uniform": types.float64(types.int64),
    "allocate": types.int64(types.int64, types.int64),
    "release": types.int64(types.int64),
    "of_edge": types.float64(types.int64, types.int64, types.int64, from_dtype(DESCENT)),
}


def _array(context: Any, builder: Any, array_type: Any, address: Any, length: Any) -> Any:
    """Generate an array of `length` elements at `address` that owns no memory."""
    array = make_array(array_type)(context, builder)
    size = context.get_constant(types.intp, as_dtype(array_type.dtype).itemsize)
    data = builder.inttoptr(address, array.data.type)
    populate_array(array, data=data, shape=[length], strides=[size], itemsize=size, meminfo=None)
    return array._getvalue()


def _array_at(dtype: Any) -> Any:
    """Return an intrinsic ``(address, length)`` that views an array of `dtype`."""
    array_type = types.Array(from_dtype(np.dtype(dtype)), 1, "C")

    @intrinsic
    def array_at(typing_context, address, length):
        def generate(context, builder, _, arguments):
            return _array(context, builder, array_type, *arguments)

        return array_type(types.int64, types.int64), generate

    return array_at


def _array_of(dtype: Any, address: str, length: str | None = None) -> Any:
    """Return an intrinsic ``(world)`` that views the array whose address the world holds.

    Arrays that rules see have their true length; that of scratch is nominal, kernels index it from the front.
    """
    array_type = types.Array(from_dtype(np.dtype(dtype)), 1, "C")

    @intrinsic
    def array_of(typing_context, world):
        def generate(context, builder, _, arguments):
            integer = context.get_value_type(types.int64)

            def field(name: str) -> Any:
                offset = WORLD.fields[name][1]  # type: ignore[index]
                place = cgutils.pointer_add(builder, arguments[0], offset, integer.as_pointer())
                return builder.load(place, typ=integer)

            count = field(length) if length else context.get_constant(types.int64, 1 << 40)
            return _array(context, builder, array_type, field(address), count)

        return array_type(world), generate

    return array_of


nodes_of = _array_of(NODE, "nodes", "size")
edges_of = _array_of(np.int64, "edges", "pool")
known_of = _array_of(INTERVAL, "known", "size")
track_of = _array_of(TRACK, "track")
bucket_of = _array_of(np.int64, "bucket")
stack_of = _array_of(np.int64, "stack")
cones_of = _array_of(CONE, "cones")
crossings_at = _array_at(CROSSING)
links_at = _array_at(EDGE)
nodes_at = _array_at(NODE)
floats_at = _array_at(np.float64)
singles_at = _array_at(np.float32)
words_at = _array_at(np.uint64)
longs_at = _array_at(np.int64)
ints_at = _array_at(np.int32)
bytes_at = _array_at(np.int8)


def _function_at(signature: Any) -> Any:
    """Return an intrinsic that turns an address into a numba function type of `signature`."""
    function_type = types.FunctionType(signature)

    @intrinsic
    def function_at(typing_context, address):
        def generate(context, builder, _, arguments):
            pointer = context.get_value_type(types.voidptr)
            function = cgutils.create_struct_proxy(function_type)(context, builder)
            function.c_addr = builder.inttoptr(arguments[0], pointer)
            function.py_addr = pointer(None)
            function.jit_addr = pointer(None)
            return function._getvalue()

        return function_type(types.int64), generate

    return function_at


rule_at = _function_at(SIGNATURES["rule"])
rate_at = _function_at(SIGNATURES["rate"])
interval_at = _function_at(SIGNATURES["interval"])
observe_at = _function_at(SIGNATURES["observe"])
node_kernel_at = _function_at(SIGNATURES["at_node"])
arms_kernel_at = _function_at(SIGNATURES["at_arms"])
draw_at = _function_at(SIGNATURES["draw"])
query_kernel_at = _function_at(SIGNATURES["query"])
pairs_at = _function_at(SIGNATURES["pairs"])
uniform_at = _function_at(SIGNATURES["uniform"])
allocate_at = _function_at(SIGNATURES["allocate"])
release_at = _function_at(SIGNATURES["release"])
edge_kernel_at = _function_at(SIGNATURES["of_edge"])


def is_ours(function: Callable) -> bool:
    """Whether the function belongs to this package."""
    return function.__module__.startswith(f"{__package__}.")


_COMPILING = RLock()


class Compiled:
    """A function with one of the fixed `SIGNATURES`, compiled alone when its address is first asked for.

    Only the package's own are kept in the disk cache; a user's part takes well under a second.
    """

    def __init__(self, function: Callable, signature: str, *, cached: bool) -> None:
        self.function = function
        self.signature = signature
        self.cached = cached

    @property
    def address(self) -> int:
        """Where the machine code lies."""
        with _COMPILING:
            return self._address

    @cached_property
    def _address(self) -> int:
        return self.compiled(self.function)

    def compiled(self, function: Callable) -> int:
        """Compile a function with the signature; return where its machine code lies."""
        compiled = kernel(function) if self.cached else njit(**_OPTIONS)(function)
        signature = SIGNATURES[self.signature]
        try:
            compiled.compile(signature)
        except NumbaError as error:
            raise TypeError(f"the {self.signature} {function.__name__} does not compile: {error}") from None
        kept_alive: Any = CompileResultWAP(compiled.overloads[signature.args])
        self._kept_alive = kept_alive
        return int(kept_alive.address)


class Part:
    """A function with a fixed signature behind a name: copied and pickled as the global that it is."""

    def __init__(self, function: Callable) -> None:
        if not callable(function):
            raise TypeError(f"{type(self).__name__} must be made from a function, got {function!r}")
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def __copy__(self) -> Part:
        return self

    def __deepcopy__(self, memo: Any) -> Part:
        return self

    def __reduce__(self) -> str:
        return self.name


def separate(signature: str) -> Callable[[Callable], Compiled]:
    """Turn a function into a kernel that other kernels call by address.

    What a kernel calls directly is compiled into it, and again into everything that calls it; a deep tree of calls
    takes twice as long to compile as the same functions on their own.
    """
    return lambda function: Compiled(function, signature, cached=True)


def draw(oracle: Any, leaf: int, rng: np.random.Generator) -> float:
    """Return one sample of `leaf`, in kernels only: each kind of oracle has its own, chosen by type."""
    raise NotImplementedError


_DRAWS: dict[type, Any] = {}


def draws(record: type) -> Callable:
    """Register the decorated kernel as the way to draw from oracles of type `record`."""

    def register(compiled: Any) -> Any:
        _DRAWS[record] = compiled
        return compiled

    return register


@overload(draw, inline="never")
def _draw_overload(oracle, leaf, rng):
    if isinstance(oracle, types.Record):  # an oracle that brings its own kernel and stream
        return lambda oracle, leaf, rng: draw_at(oracle.draw)(leaf, oracle)
    chosen = _DRAWS.get(getattr(oracle, "instance_class", type(None)))
    if chosen is None:
        return None
    return lambda oracle, leaf, rng: chosen(oracle, leaf, rng)
