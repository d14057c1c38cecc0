"""The names of methods: a line of text and a kind for each, and the one place where strings become methods.

This file loads no other module, so `nonstick methods` answers at once. Each built-in name stands for one expression in
`compositions`. Your own methods are added with `register`, from a plugin (`nonstick --plugin FILE.py …`) or from an
installed package that declares an entry point of the group `nonstick.methods`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import NonstickError, brief, did_you_mean

if TYPE_CHECKING:
    from .solvers.base import Method

#: kinds of methods, and what a method of each kind solves
KINDS = {
    "box": "A x = b with bounds on x: nonstick.solve, PressureProblem, DiffusionProblem",
    "linear": "A x = b, bounds ignored: a baseline to compare with",
    "viscosity": "the linear system of a ViscosityProblem, with or without bodies",
    "stokes": "pressure and viscosity in one step, with bounds on the pressure: StokesProblem",
}

#: entry points of this group are loaded when a name is looked up
ENTRY_POINTS = "nonstick.methods"


@dataclass(frozen=True)
class Entry:
    """One registered name."""

    description: str
    #: a key of `KINDS`
    kind: str = "box"
    #: False for a method with a fixed amount of work, or for a variant that its paper shows to fail: it need not
    #: converge
    converges: bool = True
    #: makes a method that is not built in
    build: Callable[[], Method] | None = None

    @property
    def complete(self) -> bool:
        """Reaches the solution of every box problem it accepts."""
        return self.kind == "box" and self.converges


def _shown_to_fail(description: str, kind: str = "box") -> Entry:
    return Entry(description, kind, converges=False)


_METHODS: dict[str, Entry] = {
    # -- Lai 2020: policy iteration, penalty, FAS ------------------------------------------------------
    "no-lcp": Entry("the linear baseline: ILU-CG on A x = b, bounds ignored (walls hold on to liquid)", "linear"),
    "pi-pcg": Entry("policy iteration over CG with incomplete LU, inexact inner solves"),
    "pi-mg": Entry("policy iteration over barycentric Galerkin multigrid, inexact inner solves"),
    "pi-mg+literal": Entry("pi-mg as printed: exact inner solves, transfers neither normalised nor truncated"),
    "pe-pcg": Entry("penalty method over CG with incomplete LU"),
    "pe-mg": Entry("penalty method over barycentric Galerkin multigrid"),
    "pe-mg+literal": _shown_to_fail("pe-mg as printed: its transfers, and a spring of 1e9 in the units given"),
    "fas-mg": Entry("FAS multigrid on the complementarity problem, with band smoothing at the walls"),
    "fas-mg+literal": _shown_to_fail("fas-mg without our additions (band smoothing, held rows): the paper's V(2,2)"),
    "fas-mg+trilinear": _shown_to_fail("ablation: the literal fas-mg with trilinear interpolation"),
    "fas-mg+pwc": _shown_to_fail("ablation: the literal fas-mg with piecewise-constant interpolation"),
    "fas-mg+simple-boundary": _shown_to_fail("ablation: the literal fas-mg interpolating across walls"),
    "fas-mg+direct": _shown_to_fail("ablation: the literal fas-mg with coarse levels discretised again"),
    # -- Chentanez–Müller 2011: full multigrid, projected Gauss–Seidel ----------------------------------
    "fmg": Entry("full multigrid cycles with projected smoothing until converged; needs a PressureProblem"),
    "fmg+cm": _shown_to_fail("the fixed work of Chentanez–Müller's table 1: 3 full and 4 V-cycles, S = 3"),
    "fmg+cm+literal": _shown_to_fail("fmg+cm with its cycles as printed: the seven cycles leave 4 to 19 % of error"),
    "fmg+cm+no-lcp": _shown_to_fail("linear baseline: the cycles of fmg+cm without any projection", "linear"),
    "fmg+literal": _shown_to_fail("full cycles as printed by Chentanez–Müller: they stagnate"),
    "pgs": Entry("projected Gauss–Seidel: simple, robust, slow; also for walls='edge'"),
    "psor": Entry("projected SOR with Young's best relaxation factor for the free set"),
    # -- Andersen 2017: minimum-map Newton ----------------------------------------------------------------
    "newton": Entry("minimum-map Newton over ILU-CG, safeguarded; stops on the KKT residual"),
    "newton+mg": Entry("minimum-map Newton over multigrid CG, the multilevel sub-solver that Andersen names"),
    "newton+reused": Entry("minimum-map Newton over CG with one incomplete LU of A, masked for every set (eq. 42)"),
    "newton+paper": _shown_to_fail(
        "minimum-map Newton with Andersen's limits, tests and plain CG; ends by its own tests, often above rtol"
    ),
    "newton+paper+ties": _shown_to_fail("newton+paper with ties clamped as in eq. 26: the set loses a layer per step"),
    # -- Takahashi–Batty: MPRGP, interior point, aggregation AMG -----------------------------------------
    "mic-cg": Entry("linear baseline: CG with modified incomplete Cholesky, bounds ignored", "linear"),
    "saamg-cg": Entry("linear baseline: CG with smoothed-aggregation multigrid, bounds ignored", "linear"),
    "giaamg-cg": Entry("linear baseline: CG with topology-oblivious aggregation multigrid, bounds ignored", "linear"),
    "tagiaamg-cg": Entry("linear baseline: CG with topology-aware aggregation multigrid, bounds ignored", "linear"),
    "tagiaamg-cg+literal": Entry(
        "linear baseline: CG with topology-aware aggregation as the paper has it, bounds ignored", "linear"
    ),
    "mic-mprgp": Entry("MPRGP with fast expansion, modified incomplete Cholesky in the face"),
    "saamg-mprgp": Entry("MPRGP with fast expansion, smoothed-aggregation multigrid in the face"),
    "tagiaamg-mprgp": Entry("MPRGP with fast expansion, topology-aware aggregation multigrid in the face"),
    "mic-mprgp+literal": Entry("mic-mprgp as printed: rows are released one layer of cells at a time, plain norms"),
    "saamg-mprgp+literal": Entry("saamg-mprgp as printed: rows are released one layer of cells at a time, plain norms"),
    "ipm-pd": Entry("primal-dual interior point, clamped full steps, topology-aware multigrid CG"),
    "ipm-pd+tagiaamg-cg": Entry("primal-dual interior point over CG with topology-aware aggregation multigrid"),
    "ipm-pd+mic-cg": Entry("primal-dual interior point over CG with modified incomplete Cholesky"),
    "ipm-pd+saamg-cg": Entry("primal-dual interior point over CG with smoothed-aggregation multigrid"),
    "ipm-pd+literal": _shown_to_fail("ipm-pd as printed: aggregation, constants in the units given, no safeguards"),
    "ipm-pd+literal+stop": _shown_to_fail("ipm-pd+literal with the paper's stop: Newton steps below 100, not rtol"),
    "plb": _shown_to_fail("primal log-barrier method (ill-conditioned: for comparison)"),
    "ipm-p": _shown_to_fail("interior point on the primal system (ill-conditioned: for comparison)"),
    "ipm-pd+hs": Entry("ipm-pd with halved steps (slow: for comparison)"),
    "ipm-pd+cab+ss": _shown_to_fail("ipm-pd with adaptive barrier and step selection (for comparison)"),
    "ipm-pd+cab+ss+halves": _shown_to_fail("ipm-pd+cab+ss with one step for all, halved until it stays inside"),
    "mehrotra": Entry("Mehrotra's predictor-corrector interior point, topology-aware multigrid CG"),
    # -- Aanjaneya 2019: viscosity ------------------------------------------------------------------------
    "visc-box-mg": Entry("viscosity: CG over multigrid with the box smoother (Aanjaneya)", "viscosity"),
    "visc-box-mg+literal": Entry("ablation: visc-box-mg with the paper's coarse volumes of 0 or 1", "viscosity"),
    "visc-box-mg+full": Entry("ablation: visc-box-mg with the rectangular box of 17 or 75 faces", "viscosity"),
    "visc-jacobi-mg": Entry("viscosity: CG over multigrid with damped Jacobi, the naïve baseline", "viscosity"),
    "visc-jacobi-mg+cg": Entry("viscosity: visc-jacobi-mg with conjugate gradients at the bottom", "viscosity"),
    "visc-jacobi-mg+mcadams": _shown_to_fail("viscosity: visc-jacobi-mg with McAdams' damping of 2/3", "viscosity"),
    "visc-cg": Entry("viscosity: conjugate gradients with the diagonal", "viscosity"),
    "visc-mic-cg": Entry("viscosity: modified incomplete Cholesky CG on the assembled matrix", "viscosity"),
    "visc-direct": Entry("viscosity: sparse factorisation of the assembled matrix", "viscosity"),
    "visc-auto": Entry("viscosity, ours and the default: single-precision Chebyshev multigrid CG", "viscosity"),
    # -- pressure and viscosity in one step ---------------------------------------------------------------
    "stokes-auto": Entry("Stokes, ours and the default: policy iteration over GMRES, two cycles a step", "stokes"),
    "stokes-minres": Entry("Stokes: policy iteration over MINRES with a block-diagonal preconditioner", "stokes"),
    "stokes-direct": Entry("Stokes: policy iteration over a sparse factorisation, for a few thousand cells", "stokes"),
    # -- ours ---------------------------------------------------------------------------------------------
    "auto": Entry("ours: inexact active set over a float32 multigrid CG, safeguarded; the default"),
    "jacobi-mprgp": Entry("MPRGP with the diagonal: needs only products with A, slow on fine grids"),
    "pi-direct": Entry("ours: policy iteration over a sparse factorisation of the free rows, symmetric or not"),
    "pi-bicgstab": Entry("ours: policy iteration over BiCGStab, ILU or multigrid inside, for nonsymmetric matrices"),
    "pi-gmres": Entry("ours: policy iteration over GMRES, ILU or multigrid inside, for nonsymmetric matrices"),
    "auto-array": Entry("ours, on arrays of any library and device: active set over multigrid CG, on grids or not"),
    "newton-array": Entry("Andersen's minimum-map Newton on arrays of any library and device, approximate-inverse CG"),
    "fmg-array": Entry("Chentanez and Müller's full cycles on arrays of any library and device, projected smoothing"),
    "mg-cg": Entry("ours: the linear solve A x = b by the multigrid CG of auto, bounds ignored", "linear"),
}

_plugins_loaded = False


def register(
    name: str, description: str, kind: str = "box", *, converges: bool = True
) -> Callable[[Callable[[], Method]], Callable[[], Method]]:
    """Give a method of your own a name, for `nonstick.solve` and for the command line.

    Parameters
    ----------
    name : str
        What `method=` and `--method` will be. A name that exists is replaced.
    description : str
        The line `nonstick methods` shows.
    kind : str
        What it solves: "box", "linear", "viscosity" or "stokes".
    converges : bool
        False if the method is not expected to reach the tolerance; benchmarks then do not call this a failure.

    Returns
    -------
    callable
        A decorator for a function without arguments that returns the method.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.inverse import CG, Jacobi
    >>> from nonstick.solvers import PolicyIteration
    >>> @nonstick.register("pi-jacobi", "policy iteration over CG with the diagonal")
    ... def build():
    ...     return PolicyIteration(CG(Jacobi()))
    >>> nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0], method="pi-jacobi").x.round(6)
    array([0.5, 0. ])
    """
    if kind not in KINDS:
        raise NonstickError(f"unknown kind of method {brief(kind)}; known are {', '.join(KINDS)}")

    def add(build: Callable[[], Method]) -> Callable[[], Method]:
        _METHODS[name] = Entry(description, kind, converges, build)
        return build

    return add


def methods(kind: str | None = None) -> dict[str, str]:
    """Method names with one line of description each: all methods, or the methods of one kind.

    Examples
    --------
    >>> import nonstick
    >>> nonstick.methods()["pgs"]
    "projected Gauss–Seidel: simple, robust, slow; also for walls='edge'"
    >>> "visc-auto" in nonstick.methods("box")
    False
    """
    return {name: entry.description for name, entry in entries().items() if kind in (None, entry.kind)}


def entries() -> dict[str, Entry]:
    """Every registered name with its entry; no method is built."""
    _load_entry_points()
    return dict(_METHODS)


def get(method: str | Method) -> Method:
    """The method of that name; a method object passes through."""
    return named(method)[0]


def named(method: str | Method) -> tuple[Method, str]:
    """A method with its name: that of the registry, or the `repr` of an object."""
    if not isinstance(method, str):
        if isinstance(method, type):
            raise NonstickError(f"method is the class {method.__name__}; give an object of it: {method.__name__}(…)")
        if not hasattr(method, "solve"):
            raise NonstickError(
                f"method must be a name or a method object, not {brief(method)}; nonstick.methods() lists names"
            )
        return method, repr(method)
    name = name_of(method)
    build = _METHODS[name].build
    # `compositions` imports every solver, so it is loaded only when the first built-in method is asked for.
    return build() if build else import_module(".compositions", __package__).METHODS[name], name


def name_of(method: str) -> str:
    """A name as it is registered: capitals and small letters count as the same."""
    if method not in _METHODS:
        _load_entry_points()
    if method in _METHODS:
        return method
    for name in _METHODS:
        if name.lower() == method.strip().lower():
            return name
    from .core.door import nearest_method  # loads NumPy, which the lists of names do without

    hint = nearest_method(method) or f"unknown method {brief(method)}{did_you_mean(method.lower(), _METHODS)}"
    raise NonstickError(f"{hint}; nonstick.methods() lists all")


# -- plugins ------------------------------------------------------------------------------------------------


def load_plugin(path: str | Path) -> Any:
    """Run a Python file that calls `nonstick.register`; returns its module.

    A plugin is code that runs with your rights: load only files that you trust.
    """
    path = Path(path)
    if not path.is_file():
        raise NonstickError(
            f"{path}: there is no plugin with this name; it must be a Python file that calls nonstick.register"
        )
    name = f"nonstick_plugin_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise NonstickError(f"{path}: a plugin must be a Python file (.py)")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise NonstickError(f"{path}: the plugin failed with {type(error).__name__}: {error}") from error
    return module


def _load_entry_points() -> None:
    """Let installed packages register their methods. An entry point names a module, or a function to call."""
    global _plugins_loaded
    if _plugins_loaded:
        return
    _plugins_loaded = True
    for point in metadata.entry_points(group=ENTRY_POINTS):
        try:
            loaded = point.load()
            if callable(loaded):
                loaded()
        except Exception as error:  # a broken package must not stop the others
            warnings.warn(f"the plugin {point.name!r} failed with {type(error).__name__}: {error}", stacklevel=3)
