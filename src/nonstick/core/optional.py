"""Packages that only some users need. If one is missing, a sentence says how to get it.

Extras of nonstick install them; `EXTRAS` names them with their packages and what they are for.
"""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path

from ..errors import NonstickError

#: extra: what it is for, and the names its packages are imported by
EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "pictures": ("movies, pictures and plots", ("imageio_ffmpeg", "matplotlib", "PIL")),
    "mesh": ("triangle meshes", ("trimesh", "igl", "networkx")),
    "usd": ("export of USD files", ("pxr",)),
    "surface": ("liquid surfaces by splashsurf", ("pysplashsurf",)),
    "cluster": ("sweeps on a Dask cluster", ("distributed",)),
    "mpi": ("one problem on many ranks", ("mpi4py", "petsc4py")),
    "view": ("pages in a browser", ("viser", "fast_simplification")),
    "integrations": ("nonstick inside other packages", ("qpsolvers", "cvxpy", "skfem")),
    "torch": ("solves on arrays of PyTorch, and their derivatives", ("torch",)),
    "jax": ("solves on arrays of JAX, and their derivatives", ("jax",)),
    "cupy": ("solves on arrays of CuPy", ("cupy",)),
    "bench": ("other packages to compare with", ("pyamg", "osqp")),
}


def missing(extra: str, *packages: str) -> str | None:
    """A sentence on how to get the packages that are not installed; None if all are installed.

    Parameters
    ----------
    extra
        The extra of nonstick that installs the packages.
    *packages
        The names they are imported by.

    Examples
    --------
    >>> missing("pictures", "numpy", "no_such_package")
    "no_such_package is not installed; get it with: pip install ...[pictures]'"
    """
    for package in packages:
        if find_spec(package) is None:
            return f"{package} is not installed; get it with: {install(extra)}"
    return None


def install(extra: str) -> str:
    """The command that installs an extra: into a clone, if that is where the package is."""
    clone = Path(__file__).parents[3]
    if (clone / "pyproject.toml").is_file():
        return f"pip install -e {shlex.quote(f'{clone}[{extra}]')}"
    return f"pip install 'nonstick[{extra}]'"


def need(extra: str, *packages: str) -> None:
    """Raise an error with advice if a package is not installed. Call it before an optional `import`.

    Parameters
    ----------
    extra
        The extra of nonstick that installs the packages.
    *packages
        The names they are imported by.

    Raises
    ------
    NonstickError
        If a package is missing.

    Examples
    --------
    >>> need("pictures", "numpy")
    """
    sentence = missing(extra, *packages)
    if sentence is not None:
        raise NonstickError(sentence)
