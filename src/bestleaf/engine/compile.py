"""The only module that imports numba: how kernels are compiled, and how they see arrays and call each other.

A *kernel* is a function of arrays and numbers. It is compiled on its first call and kept in the disk cache. A function
with one of the fixed `SIGNATURES` is compiled separately, and kernels call it by its address. So a user can replace it
and no kernel has to be compiled again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import RLock
from time import perf_counter
from typing import Any

import numba
import numpy as np
from numba import from_dtype, typeof, types
from numba.core import caching, cgutils, event
from numba.core.errors import NumbaError
from numba.core.serialize import dumps
from numba.core.types.function_type import CompileResultWAP
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype

from bestleaf.engine.records import COMPONENT, EXIT, INTERVAL, NODE, REACHABLE, TRACK, WORLD, Graph
from bestleaf.problems import Bernoulli


@cache
def _package_stamp() -> str:
    """Return one hash of all source files whose code may become part of a kernel."""
    engine = Path(__file__).parent
    files = sorted(engine.parent.glob("*/kernels/*.py"))
    names = ("records", "compile", "rules", "bounds", "parts")
    files += [engine / f"{name}.py" for name in names]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _stamped(locator: type) -> type:
    """Return a class that finds the cache folder: one folder for each version of the source files.

    numba only checks whether the file of the kernel itself has changed. But a kernel also changes with the functions
    that it calls, and a cache written by another version may name records that no longer exist.
    """

    class Stamped(locator):
        def get_cache_path(self) -> str:
            return os.path.join(super().get_cache_path(), f"bestleaf-{_package_stamp()[:16]}")

    return Stamped


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes: Any = tuple(
        _stamped(one)
        for one in (caching.UserProvidedCacheLocator, caching.InTreeCacheLocator, caching.UserWideCacheLocator)
    )

    def reduce(self, data: object) -> tuple[bytes, bytes]:
        """Return a compiled kernel as bytes, after their hash."""
        code = dumps(super().reduce(data))
        return hashlib.sha256(code).digest(), code

    def rebuild(self, target_context: object, payload: tuple[bytes, bytes]) -> object:
        """Return a kernel from its bytes; damaged ones are never run."""
        stamp, code = payload
        if hashlib.sha256(code).digest() != stamp:
            raise ValueError("a file of the cache is damaged")
        return super().rebuild(target_context, pickle.loads(code))


class _Cache(caching.FunctionCache):
    """The disk cache of one kernel. Where it cannot be read or written, the kernel is compiled anew."""

    _impl_class = _CacheImpl

    def load_overload(self, sig: object, target_context: object) -> object:
        """Return the kernel from the disk; None if it is not there or damaged."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever damaged bytes lead to
            _warn_once(f"numba's cache in {self.cache_path} is damaged: kernels are compiled anew")
        try:
            self.flush()  # an empty index; what is compiled anew is saved again
        except OSError:
            self.disable()
        return None

    def save_overload(self, sig: object, data: object) -> None:
        """Save the kernel; go on without the cache if that fails."""
        try:
            super().save_overload(sig, data)
        except Exception as error:  # a full disk, a damaged index
            self.disable()
            why = getattr(error, "strerror", None) or type(error).__name__
            _warn_once(f"numba's cache in {self.cache_path} cannot be written ({why}): kernels are not kept")


@cache
def _warn_once(words: str) -> None:
    """Warn about the cache; each sentence is said once, not for every kernel."""
    warnings.warn(words, RuntimeWarning, stacklevel=2)


_COMPILER = event.TimingListener()  # measures how long numba compiles kernels or reads them from the cache
event.register("numba:compiler_lock", _COMPILER)


def clock() -> float:
    """Return the time in seconds, without the time that the compiler takes."""
    return perf_counter() - (_COMPILER.duration if _COMPILER.done else 0.0)


if getattr(numba.config, "DISABLE_JIT", 0):
    raise ImportError("bestleaf runs on numba's compiler; unset NUMBA_DISABLE_JIT to use it")

Signature = Any  # of a kernel, as numba has it, without types
njit: Any = numba.njit  # with options that its types do not know
_OPTIONS: dict[str, object] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,  # kernels own no memory; without reference counting a sample takes a quarter of the time
}

plain = njit(**_OPTIONS)  # without the disk cache


def kernel(function: Callable, *, nogil: bool = True) -> Callable:
    """Return `function` as a cached kernel that Python may call, compiled on its first call."""
    compiled = njit(**{**_OPTIONS, "nogil": nogil})(function)
    with suppress(RuntimeError, OSError):  # if no cache folder can be written, every process compiles anew
        compiled._cache = _Cache(function)
    return compiled


def _piece(**options: object) -> Callable[[Callable], Callable]:
    """Return a decorator for functions that only kernels call, not Python."""
    return njit(**_OPTIONS, **options, no_cpython_wrapper=True, no_cfunc_wrapper=True)


helper = _piece()
inlined = _piece(forceinline=True)  # always inlined: for what runs at every sample
pasted = _piece(inline="always")  # its source becomes part of the caller: the only kind that may return an array
bounded = _piece(boundscheck=True)  # an index out of bounds is an error: for a user's functions


def _type(given: Any) -> types.Type:
    """Return the numba type of a numpy type; [T] stands for an array of T, a tuple for a tuple."""
    if isinstance(given, list):
        return types.Array(_type(given[0]), 1, "C")
    if isinstance(given, tuple):
        return types.BaseTuple.from_types([_type(one) for one in given])
    return given if isinstance(given, types.Type) else from_dtype(np.dtype(given))


def signature(result: object, *arguments: object) -> Signature:
    """Return the signature of a function that kernels call by address, from numpy types."""
    return _type(result)(*map(_type, arguments))


_GRAPH = typeof(Graph(np.zeros(1, NODE), np.zeros(1, np.int64)))
SIGNATURES = {
    "rule": signature((np.int64, np.int64), np.int64, _GRAPH, [INTERVAL]),
    "stopping": signature(np.bool_, np.int64, np.int64, np.int64, _GRAPH, [INTERVAL], np.float64),
    "rate": signature(np.float64, np.int64, np.float64, np.int64),
    "interval": signature((np.float64, np.float64), np.float64, np.int64, np.float64, [np.float64]),
    "observe": signature(types.void, [np.float64], np.float64, np.int64),
}
AT_NODE = signature(np.int64, np.int64, WORLD)


def _array(context, builder, array_type, address, length):
    """Generate an array of `length` elements at `address` that owns no memory."""
    array = make_array(array_type)(context, builder)
    size = context.get_constant(types.intp, as_dtype(array_type.dtype).itemsize)
    data = builder.inttoptr(address, array.data.type)
    populate_array(array, data=data, shape=[length], strides=[size], itemsize=size, meminfo=None)
    return array._getvalue()


def array_at(dtype: np.dtype | type) -> Callable:
    """Return an intrinsic ``(address, length)`` that views an array of `dtype`."""
    array_type = types.Array(from_dtype(np.dtype(dtype)), 1, "C")

    @intrinsic
    def view(typing_context, address, length):
        def generate(context, builder, _, arguments):
            return _array(context, builder, array_type, *arguments)

        return array_type(types.int64, types.int64), generate

    return view


def _array_of(dtype: np.dtype | type, address: str, length: str | None = None) -> Callable:
    """Return an intrinsic ``(world)`` that views the array whose address the world holds.

    Arrays that rules see have their true length. Other arrays have a nominal length; kernels never ask for it.
    """
    array_type = types.Array(from_dtype(np.dtype(dtype)), 1, "C")

    @intrinsic
    def array_of(typing_context, world):
        def generate(context, builder, _, arguments):
            integer = context.get_value_type(types.int64)

            def field(name):
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
reachable_of = _array_of(REACHABLE, "reachable")
inside_of = _array_of(np.uint64, "inside")
ranking_of = _array_of(np.int64, "ranking")
components_of = _array_of(COMPONENT, "components")
exits_of = _array_of(EXIT, "exits")
nodes_at = array_at(NODE)
floats_at = array_at(np.float64)
singles_at = array_at(np.float32)
words_at = array_at(np.uint64)
longs_at = array_at(np.int64)
ints_at = array_at(np.int32)
bytes_at = array_at(np.int8)


def function_at(signature: Signature) -> Callable:
    """Return an intrinsic that turns an address into a numba function type of `signature`."""
    function_type = types.FunctionType(signature)

    @intrinsic
    def callable_at(typing_context, address):
        def generate(context, builder, _, arguments):
            pointer = context.get_value_type(types.voidptr)
            function = cgutils.create_struct_proxy(function_type)(context, builder)
            function.c_addr = builder.inttoptr(arguments[0], pointer)
            function.py_addr = pointer(None)
            function.jit_addr = pointer(None)
            return function._getvalue()

        return function_type(types.int64), generate

    return callable_at


rule_at = function_at(SIGNATURES["rule"])
stopping_at = function_at(SIGNATURES["stopping"])
rate_at = function_at(SIGNATURES["rate"])
interval_at = function_at(SIGNATURES["interval"])
observe_at = function_at(SIGNATURES["observe"])
node_kernel_at = function_at(AT_NODE)
sampler_at = function_at(signature(np.float64, np.int64))


class Compiled:
    """A function with a fixed signature, compiled when its address is first needed; errors call it by its `kind`."""

    _compiling = RLock()

    def __init__(self, function: Callable, signature: Signature, kind: str = "kernel") -> None:
        self.function = function
        self.signature = signature
        self.kind = kind
        self._code: Any = None  # keeps the machine code alive

    @property
    def address(self) -> int:
        """The address of the machine code."""
        with self._compiling:
            if self._code is None:
                self._code = self._compile()
            return int(self._code.address)

    def _compile(self) -> Any:
        compiled: Any = self._compiled()
        try:
            compiled.compile(self.signature)
        except Exception as error:  # numba raises what it stumbles over, for example a KeyError for a field
            said = [line for line in str(error).splitlines() if line.strip() and not line.startswith("Failed in")]
            why = said[0] if isinstance(error, NumbaError) and said else f"{type(error).__name__}: {error}"
            raise TypeError(f"the {self.kind} {self.function.__name__} does not compile: {why}") from None
        return CompileResultWAP(compiled.overloads[self.signature.args])

    def _compiled(self) -> Callable:
        return kernel(self.function)


def separate(signature: Signature) -> Callable[[Callable], Compiled]:
    """Turn a function into a kernel that other kernels call by address.

    A function that is called directly is compiled into each of its callers again. With a deep tree of calls that takes
    twice as long as compiling the functions separately.
    """
    return lambda function: Compiled(function, signature)


node_kernel = separate(AT_NODE)


def draw(oracle: object, leaf: int, rng: np.random.Generator) -> float:
    """Return one sample of `leaf`; only for kernels. The type of the oracle decides how it is drawn."""
    raise NotImplementedError


@overload(draw, inline="never")
def _draw_overload(oracle, leaf, rng):
    if isinstance(oracle, types.Record):  # an oracle with its own kernel and stream
        draw_at = function_at(types.float64(types.int64, oracle))
        return lambda oracle, leaf, rng: draw_at(oracle.draw)(leaf, oracle)
    if getattr(oracle, "instance_class", None) is Bernoulli:
        return lambda oracle, leaf, rng: 1.0 if rng.random() < oracle.means[leaf] else 0.0
    return None
