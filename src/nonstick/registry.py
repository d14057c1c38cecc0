"""Paper name → composition: the one place where strings become methods.

Entries are built on demand, so that importing nonstick compiles and imports nothing it does not use.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import NonstickError
from .solvers.base import Method

if TYPE_CHECKING:
    from .inverse.base import Recipe


@dataclass(frozen=True)
class Entry:
    """One registered name."""

    description: str
    build: Callable[[], Method]
    #: reaches the solution of the LCP (False: linear baseline, or an ablation the paper shows failing)
    complete: bool = True


_METHODS: dict[str, Entry] = {}


def register(name: str, description: str, complete: bool = True):
    """Decorator: `@register("pi-pcg", "policy iteration over ILU-CG")` on a function that builds the method."""

    def add(build: Callable[[], Method]) -> Callable[[], Method]:
        _METHODS[name] = Entry(description, build, complete)
        return build

    return add


def methods() -> dict[str, str]:
    """Every method name with a line of description."""
    return {name: entry.description for name, entry in _METHODS.items()}


def entries() -> dict[str, Entry]:
    return dict(_METHODS)


def get(name: str | Method) -> Method:
    """The method of that name; a method object passes through."""
    if isinstance(name, Method):
        return name
    if name not in _METHODS:
        raise NonstickError(f"unknown method {name!r}{_nearest(str(name))}; nonstick.methods() lists all")
    return _METHODS[name].build()


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(name, _METHODS, n=3, cutoff=0.5)
    return f", did you mean {' or '.join(map(repr, close))}" if close else ""


# -- compositions, in the order of the papers ---------------------------------------------------------
# Each builder imports what it needs when it is called.

# -- Lai 2020: policy iteration, penalty, FAS ---------------------------------------------------------


@register("no-lcp", "the linear baseline: ILU-CG on A x = b, bounds ignored (walls hold on to liquid)", complete=False)
def _no_lcp() -> Method:
    from .solvers.linear import LinearSolve

    return LinearSolve()


def _lai_pcg():
    from .inverse.krylov.cg import CG
    from .inverse.precond.ilu import ILU

    return CG(ILU(), maxiter=20_000)


def _lai_multigrid(literal: bool = False):
    """Richardson over Lai's V(2,2) cycles: normalised and truncated to the free set, or as the paper has them."""
    from .inverse.krylov.richardson import Richardson
    from .inverse.multigrid.cycles import V
    from .inverse.multigrid.geometric import Assembled, Geometric
    from .inverse.multigrid.hierarchy import Multigrid
    from .inverse.multigrid.smoothers import Lexicographic, RedBlack

    if literal:
        coarsening = Geometric(normalise=False, truncate=False, split=False)
        return Richardson(Assembled(Multigrid(coarsening, Lexicographic(), V(2, 2))), maxiter=200)
    return Richardson(Multigrid(Geometric(), RedBlack(), V(2, 2)), maxiter=200)


@register("pi-pcg", "policy iteration over CG with incomplete LU")
def _pi_pcg():
    from .solvers.policy import PolicyIteration

    return PolicyIteration(_lai_pcg())


@register("pi-mg", "policy iteration over barycentric Galerkin multigrid")
def _pi_mg():
    from .solvers.policy import PolicyIteration

    return PolicyIteration(_lai_multigrid())


@register("pi-mg+literal", "pi-mg with the paper's transfers: not normalised, not truncated")
def _pi_mg_literal():
    from .solvers.policy import PolicyIteration

    return PolicyIteration(_lai_multigrid(literal=True))


@register("pe-pcg", "penalty method over CG with incomplete LU")
def _pe_pcg():
    from .solvers.penalty import Penalty

    return Penalty(_lai_pcg())


@register("pe-mg", "penalty method over barycentric Galerkin multigrid")
def _pe_mg():
    from .solvers.penalty import Penalty

    return Penalty(_lai_multigrid())


@register("pe-mg+literal", "pe-mg with the paper's transfers: not normalised, not truncated")
def _pe_mg_literal():
    from .solvers.penalty import Penalty

    return Penalty(_lai_multigrid(literal=True))


@register("fas-mg", "FAS multigrid on the complementarity problem, with band smoothing at the walls")
def _fas_mg():
    from .inverse.krylov.cg import CG
    from .solvers.fas import FAS
    from .solvers.policy import PolicyIteration

    return FAS(patience=10, progress=0.1, fallback=PolicyIteration(CG(_lai_multigrid().M)))


@register(
    "fas-mg+literal", "fas-mg without our additions (band smoothing, held rows): the paper's V(2,2)", complete=False
)
def _fas_literal():
    return _fas_variant()


@register("fas-mg+trilinear", "ablation: the literal fas-mg with trilinear interpolation", complete=False)
def _fas_trilinear():
    return _fas_variant(scheme="trilinear")


@register("fas-mg+pwc", "ablation: the literal fas-mg with piecewise-constant interpolation", complete=False)
def _fas_pwc():
    return _fas_variant(scheme="constant")


@register("fas-mg+simple-boundary", "ablation: the literal fas-mg interpolating across walls", complete=False)
def _fas_simple():
    return _fas_variant(one_sided=False, normalise=False)


@register("fas-mg+direct", "ablation: the literal fas-mg with coarse levels discretised anew", complete=False)
def _fas_direct():
    return _fas_variant(direct=True)


def _fas_variant(direct: bool = False, **transfers):
    """Lai's V(2,2) cycle without our additions, with one thing changed."""
    from .inverse.multigrid.geometric import Geometric
    from .solvers.fas import FAS

    return FAS(Geometric(split=False, **transfers), band=0, hold=None, direct=direct, maxiter=1000)


# -- Chentanez–Müller 2011: full multigrid, projected Gauss–Seidel ------------------------------------


@register("fmg", "full multigrid cycles with projected smoothing until converged; needs a PressureProblem")
def _fmg() -> Method:
    from .solvers.chentanez_muller import ChentanezMuller

    return ChentanezMuller()


@register("fmg+cm", "the fixed work of Chentanez–Müller's table 1: 3 full and 4 V-cycles, S = 3", complete=False)
def _fmg_cm() -> Method:
    from .solvers.chentanez_muller import ChentanezMuller

    return ChentanezMuller(full_cycles=3, v_cycles=4, constrained_levels=3)


@register("fmg+literal", "full cycles exactly as printed by Chentanez–Müller: they stagnate", complete=False)
def _fmg_literal() -> Method:
    from .solvers.chentanez_muller import ChentanezMuller

    return ChentanezMuller(constrained_levels=3, literal=True)


@register("pgs", "projected Gauss–Seidel: simple, robust, slow; also for walls='edge'")
def _pgs() -> Method:
    from .solvers.projected_gs import ProjectedSOR

    return ProjectedSOR(omega=1.0)


@register("psor", "projected SOR with Young's best relaxation factor for the free set")
def _psor() -> Method:
    from .solvers.projected_gs import ProjectedSOR

    return ProjectedSOR(omega=None)


# -- Andersen 2017: minimum-map Newton ----------------------------------------------------------------


@register("newton", "minimum-map Newton over ILU-CG, safeguarded; stops on the KKT residual")
def _newton() -> Method:
    from .solvers.newton import MinMapNewton

    return MinMapNewton()


@register(
    "newton+paper",
    "minimum-map Newton with Andersen's limits, tests and plain CG: stagnates on large grids",
    complete=False,
)
def _newton_paper() -> Method:
    from .solvers.newton import MinMapNewton

    return MinMapNewton.paper()


# -- Takahashi–Batty: MPRGP, interior point, aggregation AMG ------------------------------------------


def tagiaamg(visits: int = 2, alpha: float = 0.55, literal: bool = False) -> Recipe:
    """Topology-aware aggregation; `visits` 2 is the paper's W-cycle, 1 its V-cycle.

    alpha is 0.55 in W-cycles too: the paper's 0.65 is as good in open tanks and worse in mazes. `literal` merges all
    that is connected inside a block, as the paper does, also through narrow doors (docs).
    """
    from .inverse.multigrid.aggregation import TopologyAware

    coarsening = TopologyAware(alpha, theta=0.0, cut=0.0) if literal else TopologyAware(alpha)
    return _aggregation(coarsening, visits)


def tagiaamg_literal() -> Recipe:
    """The paper's W-cycle: alpha 0.65, everything that is connected inside a block merges."""
    return tagiaamg(2, 0.65, literal=True)


def giaamg(visits: int = 2, alpha: float | None = None) -> Recipe:
    """Topology-oblivious aggregation, 2^d cells to one."""
    from .inverse.multigrid.aggregation import GIA

    return _aggregation(GIA(alpha or (0.55 if visits == 1 else 0.65)), visits)


def _aggregation(coarsening, visits: int) -> Recipe:
    from .inverse.multigrid.cycles import Resmoothed
    from .inverse.multigrid.hierarchy import Multigrid
    from .inverse.multigrid.packed import Packed
    from .inverse.multigrid.rbssor import RBSSOR
    from .operators.stencil import SMALL

    cycle, bottom = Resmoothed(visits=visits), Packed(coarsening, 1.2, visits)
    return Multigrid(coarsening, RBSSOR(1.2), cycle, coarsest=bottom, smallest=SMALL)


def saamg() -> Recipe:
    """Smoothed aggregation, V-cycle, SPAI-0 sweeps."""
    from .inverse.multigrid.cycles import V
    from .inverse.multigrid.hierarchy import Multigrid
    from .inverse.multigrid.smoothed import Smoothed, SPAI0Sweeps

    return Multigrid(Smoothed(), SPAI0Sweeps(), V(1, 1), smallest=300)


def _mic() -> Recipe:
    from .inverse.precond.mic import MIC

    return MIC()


_PRECONDITIONERS = {
    "mic": (_mic, "modified incomplete Cholesky"),
    "saamg": (saamg, "smoothed-aggregation multigrid"),
    "giaamg": (giaamg, "topology-oblivious aggregation multigrid"),
    "tagiaamg": (tagiaamg, "topology-aware aggregation multigrid"),
    "tagiaamg+literal": (tagiaamg_literal, "topology-aware aggregation as the paper has it"),
}


def _linear_baseline(preconditioner: str) -> Callable[[], Method]:
    def build() -> Method:
        from .inverse.krylov.cg import CG
        from .solvers.linear import LinearSolve

        return LinearSolve(CG(_PRECONDITIONERS[preconditioner][0]()))

    return build


def _mprgp(preconditioner: str) -> Callable[[], Method]:
    def build() -> Method:
        from .solvers.mprgp import MPRGP

        return MPRGP(_PRECONDITIONERS[preconditioner][0]())

    return build


def _interior_point(preconditioner: str = "tagiaamg", **options) -> Callable[[], Method]:
    def build() -> Method:
        from .inverse.krylov.cg import CG
        from .solvers.interior_point import InteriorPoint

        # Incomplete Cholesky needs far more inner iterations than multigrid (§7.2.2: up to 100).
        options.setdefault("inner_maxiter", 100 if preconditioner == "mic" else 3)
        return InteriorPoint(CG(_PRECONDITIONERS[preconditioner][0]()), **options)

    return build


for _key, (_, _words) in _PRECONDITIONERS.items():
    _text = f"linear baseline: CG with {_words}, bounds ignored"
    _name = _key.replace("+literal", "-cg+literal") if "+" in _key else f"{_key}-cg"
    register(_name, _text, complete=False)(_linear_baseline(_key))
for _key in ("mic", "saamg", "tagiaamg"):
    _words = _PRECONDITIONERS[_key][1]
    register(f"{_key}-mprgp", f"MPRGP with fast expansion, {_words} in the face")(_mprgp(_key))
register("ipm-pd", "primal-dual interior point, clamped full steps, topology-aware multigrid CG")(_interior_point())
for _key in ("tagiaamg", "mic", "saamg"):
    _words = _PRECONDITIONERS[_key][1]
    register(f"ipm-pd+{_key}-cg", f"primal-dual interior point over CG with {_words}")(_interior_point(_key))
register("plb", "primal log-barrier method (ill-conditioned: for comparison)", complete=False)(
    _interior_point(system="log-barrier")
)
register("ipm-p", "interior point on the primal system (ill-conditioned: for comparison)", complete=False)(
    _interior_point(system="primal")
)
register("ipm-pd+hs", "ipm-pd with halved steps (slow: for comparison)")(_interior_point(step=0.5))
register("ipm-pd+cab+ss", "ipm-pd with adaptive barrier and step selection (for comparison)", complete=False)(
    _interior_point(adaptive=True)
)


@register("mehrotra", "Mehrotra's predictor-corrector interior point, topology-aware multigrid CG")
def _mehrotra() -> Method:
    from .inverse.krylov.cg import CG
    from .solvers.mehrotra import Mehrotra

    return Mehrotra(CG(tagiaamg()))


# -- Aanjaneya 2019: viscosity; these solve a ViscosityProblem and nothing else -------------------------


@register("visc-box-mg", "viscosity: CG over multigrid with the box smoother (Aanjaneya)", complete=False)
def _visc_box_mg():
    from .inverse.multigrid.face_box import BoxMultigrid
    from .solvers.face_cg import FaceCG
    from .solvers.viscous import Cycle

    return FaceCG(Cycle(BoxMultigrid()))


@register("visc-box-mg+literal", "ablation: visc-box-mg with the paper's coarse volumes of 0 or 1", complete=False)
def _visc_box_mg_literal():
    from .inverse.multigrid.face_box import BoxMultigrid
    from .solvers.face_cg import FaceCG
    from .solvers.viscous import Cycle

    return FaceCG(Cycle(BoxMultigrid(literal=True)))


@register("visc-box-mg+full", "ablation: visc-box-mg with the rectangular box of 17 or 75 faces", complete=False)
def _visc_box_mg_full():
    from .inverse.multigrid.face_box import BoxMultigrid
    from .solvers.face_cg import FaceCG
    from .solvers.viscous import Cycle

    return FaceCG(Cycle(BoxMultigrid(full=True)))


@register("visc-jacobi-mg", "viscosity: CG over multigrid with damped Jacobi, the naïve baseline", complete=False)
def _visc_jacobi_mg():
    from .inverse.multigrid.face_jacobi import JacobiMultigrid
    from .solvers.face_cg import FaceCG
    from .solvers.viscous import Cycle

    return FaceCG(Cycle(JacobiMultigrid()))


@register("visc-jacobi-mg+cg", "viscosity: visc-jacobi-mg with conjugate gradients at the bottom", complete=False)
def _visc_jacobi_mg_cg():
    from .inverse.multigrid.face_jacobi import JacobiMultigrid
    from .solvers.face_cg import FaceCG
    from .solvers.viscous import Cycle

    return FaceCG(Cycle(JacobiMultigrid(exact_bottom=True)))


@register("visc-cg", "viscosity: conjugate gradients with the diagonal", complete=False)
def _visc_cg():
    from .solvers.face_cg import FaceCG
    from .solvers.viscous import Diagonal

    return FaceCG(Diagonal())


@register("visc-mic-cg", "viscosity: modified incomplete Cholesky CG on the assembled matrix", complete=False)
def _visc_mic_cg():
    from .solvers.viscous import AssembledCG

    return AssembledCG()


@register("visc-direct", "viscosity: sparse factorisation of the assembled matrix", complete=False)
def _visc_direct():
    from .solvers.viscous import Direct

    return Direct()


@register("visc-auto", "viscosity, ours and the default: single-precision Chebyshev multigrid CG", complete=False)
def _visc_auto():
    from .inverse.multigrid.face_box import BoxMultigrid
    from .inverse.multigrid.face_chebyshev import ChebyshevMultigrid
    from .solvers.face_cg import FaceCG
    from .solvers.viscous import Cycle

    return FaceCG(Cycle(ChebyshevMultigrid()), then=(Cycle(BoxMultigrid()),))


# -- ours ---------------------------------------------------------------------------------------------


@register("auto", "ours: inexact active set over a float32 multigrid CG, safeguarded; the default")
def _auto() -> Method:
    from .solvers.active_set import Auto

    return Auto()


@register("mg-cg", "ours: the linear solve A x = b by the multigrid CG of auto, bounds ignored", complete=False)
def _mg_cg() -> Method:
    from .solvers.active_set import FastLinear

    return FastLinear()
