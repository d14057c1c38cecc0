"""Array libraries: which one an array is of, on which device, and sentences for what can go wrong there.

Arithmetic is that of the array API standard, by `array_api_compat`, so that one text runs on NumPy, PyTorch, JAX and
CuPy. What the standard has no word for is in this file.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..core.optional import EXTRAS, need
from ..errors import NonstickError, did_you_mean

Array = Any  #: an array of any library that follows the array API

#: libraries by name: the module with their functions
LIBRARIES = {
    "numpy": "array_api_compat.numpy",
    "torch": "array_api_compat.torch",
    "jax": "jax.numpy",
    "cupy": "array_api_compat.cupy",
    "strict": "array_api_strict",
}
DTYPES = ("float64", "float32")


def namespace(x: Array) -> Any:
    """The functions of x's library."""
    if type(x).__module__.startswith(("jax", "jaxlib")):  # traced arrays too
        return import_module("jax.numpy")
    import array_api_compat

    return array_api_compat.array_namespace(x)


def library_of(x: Any) -> str | None:
    """The name of the library of an array or sparse matrix; None for NumPy, SciPy and everything that is no array."""
    module = type(x).__module__.split(".")[0]
    return {"torch": "torch", "jax": "jax", "jaxlib": "jax", "cupy": "cupy", "cupyx": "cupy"}.get(module)


def functions(library: str) -> Any:
    """The module with the functions of a library."""
    if library not in LIBRARIES:
        known = ", ".join(LIBRARIES)
        raise NonstickError(f"unknown array library {library!r}{did_you_mean(library, LIBRARIES)}; known: {known}")
    if library in EXTRAS:
        need(library, library)
    elif library == "strict" and find_spec("array_api_strict") is None:
        raise NonstickError("array_api_strict is not installed; get it with: pip install array-api-strict")
    return import_module(LIBRARIES[library])


def find_device(library: str, name: str | None) -> Any:
    """The device of a library by its name (`cpu`, `cuda:0`); None: its default."""
    functions(library)
    if name is None:
        return None
    try:
        if library == "torch":
            import torch

            device = torch.device(name)
            torch.empty(1, device=device)
            return device
        if library == "jax":
            import jax

            kind, _, number = name.partition(":")
            return jax.devices({"cuda": "gpu"}.get(kind, kind))[int(number or 0)]
        if library == "cupy":
            import cupy

            device = cupy.cuda.Device(int(name.partition(":")[2] or 0))
            device.use()
            return device
    except Exception as error:
        raise NonstickError(f"{library} has no device {name!r} here: {_first_sentence(error)}") from None
    if name != "cpu":
        raise NonstickError(f"{library} has no device {name!r} here: it knows the CPU only")
    return "cpu" if library == "numpy" else None


def device_of(x: Array) -> Any:
    """Where an array is; None under a transformation of JAX, whose arrays are where the compiler puts them."""
    if library_of(x) == "jax":
        return None
    import array_api_compat

    return array_api_compat.device(x)


def double_precision() -> Any:
    """A context in which JAX computes in double precision too."""
    import jax

    if hasattr(jax, "enable_x64"):
        return vars(jax)["enable_x64"](True)
    from jax.experimental import enable_x64  # type: ignore[attr-defined]

    return enable_x64()


def is_host(x: Array) -> bool:
    """True if reading a number of x costs nothing: it is in the memory of the processor."""
    kind = library_of(x)
    return kind is None or (kind == "torch" and x.device.type == "cpu")


def is_far(library: str, device: Any) -> bool:
    """True if arrays there are not in the memory of the processor."""
    return library == "cupy" or (
        device is not None and getattr(device, "type", getattr(device, "platform", "")) != "cpu"
    )


def to_library(x: np.ndarray, library: str, device: Any = None, dtype: str | None = None) -> Array:
    """A NumPy array as one of another library."""
    x = np.ascontiguousarray(x if dtype is None or x.dtype.kind != "f" else x.astype(dtype))
    if library == "jax":
        import jax

        if x.dtype == np.float64 and not getattr(jax.config, "jax_enable_x64"):  # noqa: B009
            raise NonstickError(
                "JAX computes in single precision unless it is told otherwise: call "
                'jax.config.update("jax_enable_x64", True) first, or take dtype="float32"'
            )
        return jax.device_put(x, device)
    xp = functions(library)
    if library == "torch" and not x.flags.writeable:
        x = x.copy()
    return xp.asarray(x) if device is None else xp.asarray(x, device=device)


def to_numpy(x: Array) -> np.ndarray:
    """The NumPy array of an array of any library; it leaves its device."""
    if isinstance(x, np.ndarray):
        return x
    kind = library_of(x)
    if kind == "torch":
        return np.asarray(x.detach().cpu().numpy())
    if kind == "cupy":
        return np.asarray(x.get())
    return np.asarray(x)


def multiply_add(total: Array, a: Array, b: Array, factor: Any = 1.0) -> Array:
    """total + factor·a·b, in one pass where the library has one."""
    if "torch" in sys.modules and library_of(total) == "torch":
        import torch

        return torch.addcmul(total, a, b, value=factor)
    return total + a * b if isinstance(factor, float) and factor == 1.0 else total + (factor * a) * b


def stored(x: Array) -> Array:
    """x, computed once: JAX's compiler would otherwise compute it again for each of the slices that read it."""
    if library_of(x) != "jax":
        return x
    import jax

    return jax.lax.optimization_barrier(x)


def repeated(like: Array, count: int, function: Any, x: Any) -> Any:
    """function applied `count` times to x, a state with arrays of the library of `like`.

    For JAX this is a loop of the device. Its compiler is quicker with short texts, and computes what enters a loop
    once: on a processor it ignores `stored`, and computed a coarse cell again for each of its fine cells.
    """
    if library_of(like) == "jax":
        import jax

        return jax.lax.fori_loop(0, count, lambda _, y: function(y), x)
    for _ in range(count):
        x = function(x)
    return x


@contextmanager
def memory_of(library: str, device: Any):
    """Turn the error of a device whose memory is full into one sentence."""
    try:
        yield
    except NonstickError:
        raise
    except Exception as error:
        name = type(error).__name__
        full = isinstance(error, MemoryError) or "OutOfMemory" in name or "RESOURCE_EXHAUSTED" in str(error)
        if not full and "out of memory" not in str(error).lower():
            raise
        where = f"{library}'s device {device}" if device is not None else f"the device of {library}"
        raise NonstickError(
            f"{where} has no memory left for this problem ({_first_sentence(error)}): take dtype='float32', a coarser "
            "grid, or another device"
        ) from None


def one_kind(**arrays: Any) -> tuple[str, Any, str]:
    """The library, device and precision that all of these arrays share; an error with one sentence if they do not."""
    words = ("library", "device", "precision")
    seen: list[tuple[str, Any]] = []  # by word: the first array of which it is known, and what it is
    for name, x in arrays.items():
        library = library_of(x)
        if library is None or not hasattr(x, "dtype"):
            continue
        device = _jax_device(x) if library == "jax" else x.device
        dtype = str(x.dtype).removeprefix("torch.")
        if dtype not in DTYPES:
            raise NonstickError(f"{name} is of {dtype}: arrays must be of float64 or float32")
        if not seen:
            seen = [(name, value) for value in (library, device, dtype)]
        for k, value in enumerate((library, device, dtype)):
            first, known = seen[k]
            if known is None:
                seen[k] = name, value
            elif value is not None and value != known:
                raise NonstickError(f"{first} is of {words[k]} {known}, and {name} of {value}: bring all arrays to one")
    if not seen:
        raise NonstickError("there is no array of a known library here: pass arrays of PyTorch, JAX or CuPy")
    return seen[0][1], seen[1][1], seen[2][1]


def _jax_device(x: Any) -> Any:
    try:
        (device,) = x.devices()
    except Exception:  # traced, or on several devices
        return None
    return device


def _first_sentence(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__).rstrip(".")[:160]
