"""The definitions of all built-in names: one expression per name, in the order of the papers.

Read it as a table of contents. A method is made of parts that can be exchanged; `PolicyIteration(CG(ILU()))` against
`PolicyIteration(Richardson(Multigrid(...)))` is the paper's PI-PCG against PI-MG. All parts are frozen dataclasses that
hold parameters only, so one object serves any number of solves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .arrays import ArrayActiveSet, ArrayCycles, ArrayMethod, ArrayNewton
from .arrays.methods import WithBlocks
from .arrays.problem import SETTINGS as ARRAYS
from .errors import NonstickError
from .inverse.base import Recipe
from .inverse.cascade import Cascade, Trial, Within
from .inverse.krylov.bicgstab import BiCGStab
from .inverse.krylov.cg import CG
from .inverse.krylov.direct import Direct, Factor
from .inverse.krylov.gmres import GMRES
from .inverse.krylov.minres import MINRES
from .inverse.krylov.richardson import Richardson
from .inverse.multigrid.aggregation.coarsening import GIA, Aggregation, TopologyAware
from .inverse.multigrid.aggregation.levels import Packed
from .inverse.multigrid.aggregation.near_null import NearNull
from .inverse.multigrid.aggregation.smoothed import Smoothed
from .inverse.multigrid.algebraic.coarsening import Algebraic
from .inverse.multigrid.bottom import Sweeps
from .inverse.multigrid.cycles import Resmoothed, V, W
from .inverse.multigrid.faces.box import BoxSweep
from .inverse.multigrid.faces.coarsening import FaceCoarsening, MeanVolumes, Voxels
from .inverse.multigrid.faces.smoothers import BandJacobi, Chebyshev, ViscousBottom
from .inverse.multigrid.grid.blocks import Blocks
from .inverse.multigrid.grid.geometric import Assembled, Geometric
from .inverse.multigrid.hierarchy import Multigrid
from .inverse.multigrid.smoothers import RBSSOR, Lexicographic, RedBlack, SmootherRecipe, SPAI0Sweeps
from .inverse.precond.adapters import AsMatrix, Reused, WithBorder
from .inverse.precond.deflation import Deflated
from .inverse.precond.incomplete import ILU, MIC
from .inverse.precond.jacobi import Jacobi
from .inverse.precond.saddle import BlockDiagonal, BlockTriangular
from .operators.base import Operator
from .operators.stencil import ONE_THREAD_BELOW
from .solvers.andersen import MinMapNewton
from .solvers.auto.active_set import ActiveSet
from .solvers.auto.banded import Banded, NarrowBand
from .solvers.auto.faces import Faces, FewDefinite
from .solvers.auto.projected_cg import Bare, ProjectedCG, WhileCheaper
from .solvers.base import Method
from .solvers.cascade import DenseRows, Factored, MethodCascade, in_turn
from .solvers.chentanez_muller.cycles import ChentanezMuller
from .solvers.chentanez_muller.projected_gs import ProjectedSOR
from .solvers.lai.fas import FAS
from .solvers.lai.penalty import Penalty
from .solvers.lai.policy import PolicyIteration
from .solvers.linear import LinearSolve
from .solvers.proximal import Proximal, Singular
from .solvers.saddle import SaddlePolicy
from .solvers.takahashi_batty.interior_point import InteriorPoint
from .solvers.takahashi_batty.mehrotra import Mehrotra
from .solvers.takahashi_batty.mprgp import MPRGP

# -- parts with a name of their own ---------------------------------------------------------------------------

#: Lai's two linear solvers. The multigrid is normalised and truncated to the free set; the literal one is the paper's.
LAI_PCG = CG(Deflated(ILU()), maxiter=20_000)
LAI_CYCLE = Multigrid(Geometric(), RedBlack(), V(2, 2))
LAI_MG = Richardson(Deflated(LAI_CYCLE), maxiter=200)
LAI_LITERAL_CYCLE = Multigrid(Geometric(normalise=False, truncate=False, split=False), Lexicographic(), V(2, 2))
LAI_LITERAL_MG = Richardson(Deflated(Assembled(LAI_LITERAL_CYCLE)), maxiter=200)

#: Smoothed aggregation, V-cycle, SPAI-0 sweeps: the SAAMG of Takahashi–Batty's tables.
SAAMG = Multigrid(Smoothed(), SPAI0Sweeps(), V(1, 1), smallest=300)


def _literal_fas(direct: bool = False, **transfers) -> FAS:
    """Lai's V(2,2) cycle without our additions, with one part changed."""
    return FAS(Geometric(split=False, **transfers), band=0, hold=None, direct=direct, maxiter=1000)


def aggregation_cycle(coarsening: Aggregation, visits: int) -> Recipe:
    """Takahashi–Batty's cycle over an aggregation: large levels one by one, the small ones in one compiled call."""
    bottom = Packed(coarsening, 1.2, visits)
    return Multigrid(coarsening, RBSSOR(1.2), Resmoothed(visits=visits), coarsest=bottom, smallest=ONE_THREAD_BELOW)


def tagiaamg(visits: int = 2, alpha: float = 0.55, literal: bool = False) -> Recipe:
    """Topology-aware aggregation; `visits` 2 is the paper's W-cycle, 1 its V-cycle.

    alpha is 0.55 in W-cycles too: the paper's 0.65 gives the same counts in open tanks and worse counts in mazes.
    `literal` merges all connected cells of a block, as the paper does, even through narrow doors.
    """
    return aggregation_cycle(TopologyAware(alpha, theta=0.0, cut=0.0) if literal else TopologyAware(alpha), visits)


def giaamg(visits: int = 2, alpha: float | None = None) -> Recipe:
    """Topology-oblivious aggregation, 2^d cells to one."""
    return aggregation_cycle(GIA(alpha or (0.55 if visits == 1 else 0.65)), visits)


TAGIAAMG = tagiaamg()
#: For the Newton systems of interior point, where slacks make rows unlike anyway: no search for weak cuts.
MERGED = tagiaamg(literal=True)
GIAAMG = giaamg()

#: Ours: blocks of cells on grids, coarse rows by Ruge and Stüben for bare matrices, in float32; bodies are deflated.
AMG = Multigrid(Algebraic(), cycle=V(1, 1), smallest=100)
CYCLE = Cascade((Multigrid(Blocks(0.65), RedBlack(), W(1, 1), dtype=np.float32), AMG, SAAMG))
#: Fourth-order or nearly singular matrices defeat every cycle; a few thousand unknowns are then factored.
FACTOR = Factor(shift=1e-14, most=10_000)
STRONG, SAFE = Deflated(Cascade((FACTOR, SAAMG))), Deflated(Cascade((FACTOR, Jacobi())))
#: Matrices unlike M-matrices are factored for every free set, as long as their factors are small.
VECTOR = Factor(shift=1e-13, operations=2e11)
#: Factors that cost less than the hierarchy of a vector problem.
CHEAP = Factor(shift=1e-13, operations=1e10)
#: Vector problems whose near-null vectors are known.
MODES = Multigrid(NearNull(), Lexicographic(), V(1, 1), smallest=300)
AUTO = ActiveSet(
    Cascade(
        (
            (Within(100), MODES),
            (Within(60), VECTOR),
            (Within(60), Deflated(CYCLE)),
            STRONG,
            SAFE,
        )
    )
)
#: Every policy by a factor, exactly: small problems, and matrices unlike M-matrices as long as that is cheap.
EXACT = in_turn(PolicyIteration(Direct(), maxiter=3_000, patience=20), AUTO)
#: Ours, for matrices that are not symmetric: incomplete factors where convection rules, coarse rows elsewhere.
ONE_WAY = Cascade(((Trial(), ILU()), AMG))
GENERAL = PolicyIteration(Cascade(((Within(300), BiCGStab(ONE_WAY)), Direct())), forcing=0.1, nested=True)

#: Few unknowns of any condition by faces, whose work has a bound.
SMALL = (FewDefinite(), Faces())
#: Bodies that nothing but their bounds holds.
HELD = Proximal(MethodCascade((SMALL, EXACT)))
#: What is set up for a bare symmetric matrix: factors where they are cheap or nothing else helps, else a hierarchy.
#: If much of A is null (Gram matrices of few features, duals of total variation), factors do not say where to go.
SET_UP = MethodCascade(
    (
        (Singular(VECTOR, CHEAP, part=0.05), in_turn(ProjectedCG(maxiter=5_000), HELD)),
        (DenseRows(operations=1e10), EXACT),
        (DenseRows(), AUTO),
        (Singular(VECTOR, CHEAP), HELD),
        (Factored(CHEAP), EXACT),
        AUTO,
    )
)
#: Symmetric or not, singular or not.
ANY = MethodCascade((SMALL, (Bare(), WhileCheaper(ProjectedCG(), SET_UP)), AUTO, GENERAL))


#: On arrays of any library: blocks of cells on grids; coarse rows for bare matrices, where cells are coupled along one
#: axis more than along another, and where blocks are too coarse.
ON_ROWS = ArrayActiveSet(rows=True)
ON_GRID = in_turn(ArrayActiveSet(maxiter=ARRAYS.grid), ON_ROWS)
ON_ARRAYS = MethodCascade(((WithBlocks(), ON_GRID), ON_ROWS))


def face_solver(A: Operator) -> Recipe:
    """What solves linear systems with A on a set of free rows: for the multipliers of linear constraints."""
    if not A.has_entries:
        return CG(Jacobi())
    return CG(Deflated(CYCLE)) if A.symmetric else GENERAL.inner


#: Incomplete Cholesky needs far more inner iterations than multigrid (§7.2.2: two, or up to 100).
FEW, MANY = 2, 100


def interior_point(M: Recipe, inner_maxiter: int = FEW) -> InteriorPoint:
    """IPM-PD over a preconditioner, from the solution of a coarser problem."""
    return InteriorPoint(CG(Deflated(M)), inner_maxiter, first=ActiveSet(Deflated(CYCLE), coarse_part=0.1))


def barrier_variant(**changes) -> InteriorPoint:
    """A barrier method of table 2: one start for all rows, three CG iterations a step."""
    return InteriorPoint(CG(Deflated(TAGIAAMG)), inner_maxiter=3, slack=1.0, multiplier=1.0, **changes)


def literal_interior_point(**changes) -> InteriorPoint:
    """Takahashi–Batty as printed: s = z = 1 in the units of the problem, two CG iterations over their aggregation."""
    recipe = CG(Deflated(tagiaamg(2, 0.65, literal=True)))
    return InteriorPoint(recipe, inner_maxiter=2, slack=1.0, multiplier=1.0, literal=True, **changes)


def face_multigrid(
    coarsening: FaceCoarsening, smoother: SmootherRecipe, bottom: Recipe | None = None, dtype: type = np.float32
) -> Recipe:
    """Aanjaneya's V(1,1) cycle over faces, by default with conjugate gradients at the bottom (§7).

    They stop at 1e-7, which is exact enough to keep the cycle symmetric.
    """
    cg = AsMatrix(CG(Jacobi(), rtol=1e-7))
    return Multigrid(coarsening, smoother, V(1, 1), coarsest=bottom or cg, smallest=4000, dtype=dtype)


def viscous(M: Recipe, then: Recipe | None = None) -> LinearSolve:
    """Conjugate gradients for a viscosity step, with or without bodies; `then` is a stronger preconditioner.

    M may fail: viscosity that jumps within a few cells, or rounding.
    """
    cg = CG(WithBorder(M))
    return unbounded(cg if then is None else Cascade(((Within(10, pace=0.5), cg), CG(WithBorder(then)))))


def unbounded(inner: Recipe, maxiter: int = 20_000) -> LinearSolve:
    """The solve of a linear system that has no bounds."""
    return LinearSolve(inner, maxiter, baseline=False, aim=1.0)


BOX_MG = face_multigrid(MeanVolumes(), BoxSweep())
#: Ours: averaged volumes, Chebyshev smoothing, single precision; no coarser level where the mass term dominates.
CHEBYSHEV_MG = Multigrid(
    MeanVolumes(negligible=0.02),
    Chebyshev(2, 5.0),
    V(1, 1),
    coarsest=ViscousBottom(600, negligible=0.02),
    smallest=600,
    dtype=np.float32,
)

#: The cycle of `visc-auto` with more steps and a larger bottom: a pressure cycle costs as much, so fewer iterations
#: pay here. Grids of the bottom's size have an exact velocity, so does what is long and thin.
STOKES_MG = WithBorder(
    replace(CHEBYSHEV_MG, smoother=Chebyshev(5, 16.0), coarsest=ViscousBottom(8000, negligible=0.02), smallest=8000)
)
STOKES_FACTOR = WithBorder(AsMatrix(Factor(1e-8, most=30_000)))
#: One viscosity cycle an iteration. Where it is weak (drops of 1e4 times the viscosity), a factor, or CG over it.
STOKES = Cascade(
    (
        (Within(5, pace=0.75), GMRES(BlockTriangular(STOKES_MG, CYCLE), single=True)),
        GMRES(BlockTriangular(Cascade((STOKES_FACTOR, CG(STOKES_MG, rtol=0.01, maxiter=60))), CYCLE), single=True),
    )
)

# -- the methods -------------------------------------------------------------------------------------------------

METHODS: dict[str, Method] = {
    # Lai 2020
    "no-lcp": LinearSolve(CG(Deflated(ILU()))),
    "pi-pcg": PolicyIteration(LAI_PCG, forcing=0.1),
    "pi-mg": PolicyIteration(LAI_MG, forcing=0.1),
    "pi-mg+literal": PolicyIteration(LAI_LITERAL_MG),
    "pe-pcg": Penalty(LAI_PCG),
    "pe-mg": Penalty(LAI_MG),
    "pe-mg+literal": Penalty(LAI_LITERAL_MG, spring=1e9),
    "fas-mg": in_turn(FAS(patience=10, progress=0.1), PolicyIteration(CG(LAI_CYCLE))),
    "fas-mg+literal": _literal_fas(),
    "fas-mg+trilinear": _literal_fas(scheme="trilinear"),
    "fas-mg+pwc": _literal_fas(scheme="constant"),
    "fas-mg+simple-boundary": _literal_fas(one_sided=False, normalise=False),
    "fas-mg+direct": _literal_fas(direct=True),
    # Chentanez–Müller 2011
    "fmg": in_turn(ChentanezMuller(), ProjectedSOR(omega=None)),
    "fmg+cm": ChentanezMuller(full_cycles=3, v_cycles=4, constrained_levels=3),
    "fmg+cm+literal": ChentanezMuller(full_cycles=3, v_cycles=4, constrained_levels=3, literal=True),
    "fmg+cm+no-lcp": ChentanezMuller(full_cycles=3, v_cycles=4, projected=False),
    "fmg+literal": ChentanezMuller(constrained_levels=3, literal=True),
    "pgs": ProjectedSOR(omega=1.0),
    "psor": ProjectedSOR(omega=None),
    # Andersen 2017
    "newton": MinMapNewton(CG(Deflated(ILU()))),
    "newton+mg": MinMapNewton(CG(Deflated(Cascade((Multigrid(Geometric(), RedBlack(), V(1, 1)), SAAMG))))),
    "newton+reused": MinMapNewton(CG(Reused(Deflated(ILU())))),
    "newton+paper": MinMapNewton.paper(CG(Deflated())),
    "newton+paper+ties": MinMapNewton.paper(CG(Deflated()), clamp_ties=True),
    # Takahashi–Batty
    "mic-cg": LinearSolve(CG(Deflated(MIC()))),
    "saamg-cg": LinearSolve(CG(Deflated(SAAMG))),
    "giaamg-cg": LinearSolve(CG(Deflated(GIAAMG))),
    "tagiaamg-cg": LinearSolve(CG(Deflated(TAGIAAMG))),
    "tagiaamg-cg+literal": LinearSolve(CG(Deflated(tagiaamg(2, 0.65, literal=True)))),
    "mic-mprgp": MPRGP(Deflated(MIC())),
    "saamg-mprgp": MPRGP(Deflated(SAAMG)),
    "tagiaamg-mprgp": MPRGP(Deflated(TAGIAAMG)),
    "mic-mprgp+literal": MPRGP(Deflated(MIC()), literal=True),
    "saamg-mprgp+literal": MPRGP(Deflated(SAAMG), literal=True),
    "ipm-pd": interior_point(MERGED),
    "ipm-pd+tagiaamg-cg": interior_point(MERGED),
    "ipm-pd+mic-cg": interior_point(MIC(), MANY),
    "ipm-pd+saamg-cg": interior_point(SAAMG),
    "ipm-pd+literal": literal_interior_point(),
    "ipm-pd+literal+stop": literal_interior_point(step_norm=100.0),
    "plb": barrier_variant(system="log-barrier"),
    "ipm-p": barrier_variant(system="primal"),
    "ipm-pd+hs": barrier_variant(step=0.5, patience=25),
    "ipm-pd+cab+ss": barrier_variant(adaptive=True),
    "ipm-pd+cab+ss+halves": barrier_variant(adaptive=True, halved=True, literal=True),
    "mehrotra": Mehrotra(CG(Deflated(TAGIAAMG))),
    # Aanjaneya 2019
    "visc-box-mg": viscous(BOX_MG),
    "visc-box-mg+literal": viscous(face_multigrid(Voxels(), BoxSweep())),
    "visc-box-mg+full": viscous(face_multigrid(MeanVolumes(), BoxSweep(full=True))),
    "visc-jacobi-mg": viscous(face_multigrid(Voxels(), BandJacobi(), Sweeps(BandJacobi(steps=0), 200))),
    "visc-jacobi-mg+cg": viscous(face_multigrid(Voxels(), BandJacobi())),
    "visc-jacobi-mg+mcadams": viscous(
        face_multigrid(Voxels(), BandJacobi(damping=2 / 3), Sweeps(BandJacobi(steps=0, damping=2 / 3), 200))
    ),
    "visc-cg": viscous(Jacobi()),
    "visc-mic-cg": unbounded(AsMatrix(CG(MIC()))),
    "visc-direct": unbounded(AsMatrix(Direct(shift=1e-10)), maxiter=20),
    "visc-auto": viscous(CHEBYSHEV_MG, BOX_MG),
    # pressure and viscosity in one step
    "stokes-auto": SaddlePolicy(STOKES),
    "stokes-minres": SaddlePolicy(MINRES(BlockDiagonal(STOKES_MG, CYCLE))),
    "stokes-direct": SaddlePolicy(Direct(), forcing=0.0),
    # ours
    "jacobi-mprgp": MPRGP(Jacobi()),
    "auto": MethodCascade(((NarrowBand(), in_turn(Banded(), ANY)), ANY)),
    "pi-direct": PolicyIteration(Direct()),
    "pi-bicgstab": GENERAL,
    "pi-gmres": PolicyIteration(Cascade(((Within(300), GMRES(ONE_WAY)), Direct())), forcing=0.1, nested=True),
    "auto-array": ON_ARRAYS,
    "newton-array": ArrayNewton(),
    "fmg-array": in_turn(ArrayCycles(), ON_ROWS),
    "mg-cg": replace(AUTO, bounded=False),
}


def on_arrays(name: str, array: str, device: str | None = None, dtype: str = "float64") -> Method:
    """The method of an `-array` name, or `auto`, on the arrays of a library and one of its devices.

    Examples
    --------
    >>> on_arrays("newton-array", "torch", "cpu")
    ArrayNewton(array='torch', device='cpu', dtype='float64', maxiter=20000, inner='cg', precond='ainv')
    """

    def moved(method: Any) -> Any:
        if isinstance(method, MethodCascade):
            return method.with_steps([(when, moved(part)) for when, part in method.pairs])
        if isinstance(method, ArrayMethod):
            return replace(method, array=array, device=device, dtype=dtype)
        known = ", ".join(repr(key) for key in METHODS if key.endswith("-array"))
        raise NonstickError(f"method {name!r} does not compute with arrays of {array}: take 'auto', {known}")

    return moved(METHODS["auto-array" if name == "auto" else name])


def device_first(array: str, device: str | None = None, dtype: str = "float64") -> Method:
    """`auto` for arrays on a device: solved there; by the processor what that refuses or does not solve."""
    there, here = on_arrays("auto", array, device, dtype), METHODS["auto"]
    return MethodCascade((in_turn(there, here), here))
