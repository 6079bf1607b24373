"""Random streams as JSON, set in place because kernels hold their addresses."""

from __future__ import annotations

from typing import Any

import numpy as np

STREAMS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
LIMITS = {"has_uint32": 1, "uinteger": 2**32 - 1, "pos": 624, "buffer_pos": 4}  # others hold words of 128 bits at most


def kind_of(rng: np.random.Generator) -> str:
    """Return the name of the generator of a stream, or say that it cannot be saved."""
    name = type(rng.bit_generator).__name__
    if name not in STREAMS:
        raise ValueError(f"checkpoint needs a random stream of {', '.join(STREAMS)}, got {name}")
    return name


def fresh_stream(name: Any) -> np.random.Generator:
    """Return a stream of a kind, to be set."""
    if name not in STREAMS:
        raise ValueError(f"the random stream must be one of {', '.join(STREAMS)}, got {str(name)[:80]}")
    return np.random.Generator(getattr(np.random, name)())


def stream_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a stream in terms of JSON."""
    kind_of(rng)
    return _plain(dict(rng.bit_generator.state))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def set_stream(rng: np.random.Generator, saved: Any) -> None:
    """Put a stream into a saved state, in place."""
    rng.bit_generator.state = _alike(dict(rng.bit_generator.state), saved, "state")


def _alike(present: Any, saved: Any, name: str) -> Any:
    """Return what was saved in the form of what is there, each number within its range."""
    if isinstance(present, dict):
        if not isinstance(saved, dict) or saved.keys() != present.keys():
            raise ValueError(f"the {name} of the random stream must have {', '.join(present)}")
        return {key: _alike(present[key], saved[key], key) for key in present}
    if isinstance(present, str):
        if saved != present:
            raise ValueError(f"the random stream must be {present}, got {str(saved)[:80]}")
        return saved
    if isinstance(present, np.ndarray):
        most = int(np.iinfo(present.dtype).max)
        words = saved if isinstance(saved, list) and len(saved) == present.size else [-1]
        return np.array([_word(word, most, name) for word in words], present.dtype).reshape(present.shape)
    return _word(saved, LIMITS.get(name, 2**128 - 1), name)


def _word(saved: Any, most: int, name: str) -> int:
    if type(saved) is not int or not 0 <= saved <= most:
        raise ValueError(f"the {name} of the random stream must be whole numbers from 0 to {most}")
    return saved
