"""Paper name → composition: the one place where strings become methods.

Entries are built on demand, so that importing nonstick compiles and imports nothing it does not use.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from .errors import NonstickError
from .lcp.base import Method


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
    from .lcp.linear import LinearSolve

    return LinearSolve()


def _lai_pcg():
    from .linear.cg import CG
    from .precond.ilu import ILU

    return CG(ILU(), maxiter=20_000)


def _lai_multigrid(literal: bool = False):
    """Richardson over Lai's V(2,2) cycles: normalised and truncated to the free set, or as the paper has them."""
    from .linear.richardson import Richardson
    from .multigrid.cycles import V
    from .multigrid.geometric import Assembled, Geometric
    from .multigrid.hierarchy import Multigrid
    from .multigrid.smoothers import Lexicographic, RedBlack

    if literal:
        coarsening = Geometric(normalise=False, truncate=False, split=False)
        return Richardson(Assembled(Multigrid(coarsening, Lexicographic(), V(2, 2))), maxiter=200)
    return Richardson(Multigrid(Geometric(), RedBlack(), V(2, 2)), maxiter=200)


@register("pi-pcg", "policy iteration over CG with incomplete LU")
def _pi_pcg():
    from .lcp.policy import PolicyIteration

    return PolicyIteration(_lai_pcg())


@register("pi-mg", "policy iteration over barycentric Galerkin multigrid")
def _pi_mg():
    from .lcp.policy import PolicyIteration

    return PolicyIteration(_lai_multigrid())


@register("pi-mg+literal", "pi-mg with the paper's transfers: not normalised, not truncated")
def _pi_mg_literal():
    from .lcp.policy import PolicyIteration

    return PolicyIteration(_lai_multigrid(literal=True))


@register("pe-pcg", "penalty method over CG with incomplete LU")
def _pe_pcg():
    from .lcp.penalty import Penalty

    return Penalty(_lai_pcg())


@register("pe-mg", "penalty method over barycentric Galerkin multigrid")
def _pe_mg():
    from .lcp.penalty import Penalty

    return Penalty(_lai_multigrid())


@register("pe-mg+literal", "pe-mg with the paper's transfers: not normalised, not truncated")
def _pe_mg_literal():
    from .lcp.penalty import Penalty

    return Penalty(_lai_multigrid(literal=True))


@register("fas-mg", "FAS multigrid on the complementarity problem, with band smoothing at the walls")
def _fas_mg():
    from .lcp.fas import FAS
    from .lcp.policy import PolicyIteration
    from .linear.cg import CG

    return FAS(progress=0.1, fallback=PolicyIteration(CG(_lai_multigrid().M)))


@register("fas-mg+literal", "fas-mg without the band smoothing: the paper's V(2,2)")
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
    """Lai's V(2,2) cycle without our band smoothing, with one thing changed."""
    from .lcp.fas import FAS
    from .multigrid.geometric import Geometric

    return FAS(Geometric(split=False, **transfers), band=0, direct=direct, maxiter=1000)


# -- Chentanez–Müller 2011: full multigrid, projected Gauss–Seidel ------------------------------------


@register("pgs", "projected Gauss–Seidel: simple, robust, slow; also for walls='edge'")
def _pgs() -> Method:
    from .lcp.projected_gs import ProjectedSOR

    return ProjectedSOR(omega=1.0)


@register("psor", "projected SOR with Young's best relaxation factor for the free set")
def _psor() -> Method:
    from .lcp.projected_gs import ProjectedSOR

    return ProjectedSOR(omega=None)


# -- Andersen 2017: minimum-map Newton ----------------------------------------------------------------


@register("newton", "minimum-map Newton over ILU-CG, safeguarded; stops on the KKT residual")
def _newton() -> Method:
    from .lcp.newton import MinMapNewton

    return MinMapNewton()


@register(
    "newton+paper",
    "minimum-map Newton with Andersen's limits, tests and plain CG: stagnates on large grids",
    complete=False,
)
def _newton_paper() -> Method:
    from .lcp.newton import MinMapNewton

    return MinMapNewton.paper()


# -- Takahashi–Batty: MPRGP, interior point, aggregation AMG ------------------------------------------


# -- ours ---------------------------------------------------------------------------------------------


@register("auto", "ours: inexact active set over a float32 multigrid CG, safeguarded; the default")
def _auto() -> Method:
    from .lcp.auto import Auto

    return Auto()
