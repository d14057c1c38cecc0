"""Arrays of PyTorch, JAX and CuPy at the door of `nonstick.solve`: what goes in comes out, on the same device.

The processor solves what its memory holds, by the compiled methods. What another device holds is solved there by
`auto-array`, and so is everything if that method is named. A matrix is copied to the processor once, to be checked and
for coarse rows; of a solve, only b, bounds and x pass there, and one residual of x in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.sparse as sp

from ..errors import NonstickError
from .library import is_far, library_of, one_kind, to_library, to_numpy


class SolutionInKind:
    """A solution whose `x`, `dual` and `active` are arrays of the library and on the device of b.

    Everything else is that of `host`, the solution in NumPy's arrays.
    """

    def __init__(self, host: Any, library: str, device: Any, dtype: str):
        self.host = host
        self._kind = library, device
        self._dtype = dtype

    def __getattr__(self, name: str) -> Any:
        if name == "host":
            raise AttributeError(name)
        return getattr(self.host, name)

    def __repr__(self) -> str:
        return repr(self.host)

    @property
    def x(self) -> Any:
        return to_library(self.host.x, *self._kind, self._dtype)

    @property
    def dual(self) -> Any:
        return to_library(self.host.dual, *self._kind, self._dtype)

    @property
    def active(self) -> Any:
        return to_library(self.host.active, *self._kind)


def is_foreign(*given: Any) -> bool:
    """True if any of these is an array of another library than NumPy."""
    return any(library_of(value) is not None for value in given)


def solve_in_kind(solve: Callable[..., Any], on_device: Callable[..., Any], A: Any, b: Any, **words: Any) -> Any:
    """Bring arrays to the host, solve, and give arrays of the same kind; `on_device` makes methods of -array names."""
    named = {name: value for name, value in words.items() if name in ("lower", "upper", "x0")}
    library, device, dtype = one_kind(A=_values(A), b=b, **named)
    method = words.get("method", "auto")
    if isinstance(method, str) and (method.endswith("-array") or (method == "auto" and is_far(library, device))):
        words["method"] = on_device(method, library, None if device is None else _name(device), dtype)
    words = {name: to_numpy(value) if library_of(value) else value for name, value in words.items()}
    return SolutionInKind(solve(host_matrix(A), to_numpy(b).astype(float), **words), library, device, dtype)


def _name(device: Any) -> str:
    """The name by which a library finds its device again."""
    platform = getattr(device, "platform", None)
    return str(device) if platform is None else f"{platform}:{device.id}"


def _values(A: Any) -> Any:
    """An array with the kind of the values of a matrix."""
    if library_of(A) == "torch" and str(A.layout) == "torch.sparse_csr":
        return A.values()
    return A.data if hasattr(A, "indices") or hasattr(A, "tocsr") else A


def host_matrix(A: Any) -> Any:
    """A matrix of another library as one of SciPy or NumPy."""
    library = library_of(A)
    if library == "torch":
        kind = str(A.layout).removeprefix("torch.")
        if kind == "strided":
            return to_numpy(A)
        if kind not in ("sparse_csr", "sparse_coo", "sparse_csc"):
            raise NonstickError(f"A is a tensor of layout {kind}: give it dense or as sparse CSR")
        A = A.detach().cpu().to_sparse_csr()
        parts = (to_numpy(part) for part in (A.values(), A.col_indices(), A.crow_indices()))
        return sp.csr_array(tuple(parts), shape=tuple(A.shape))
    if library == "jax" and hasattr(A, "indices"):
        A = A.to_bcoo() if hasattr(A, "to_bcoo") else A
        row, column = to_numpy(A.indices).T
        return sp.csr_array((to_numpy(A.data), (row, column)), shape=A.shape)
    if library == "cupy" and hasattr(A, "tocsr"):
        return sp.csr_array(A.tocsr().get())
    return to_numpy(A) if library else A
