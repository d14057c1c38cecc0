"""Every linear solver × preconditioner × form of operator reaches the one reference solution."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick.inverse.base import NoPreconditioner
from nonstick.inverse.krylov.bicgstab import BiCGStab
from nonstick.inverse.krylov.cg import CG
from nonstick.inverse.krylov.direct import Direct
from nonstick.inverse.krylov.gmres import GMRES
from nonstick.inverse.krylov.minres import CR
from nonstick.inverse.krylov.richardson import Richardson
from nonstick.inverse.precond.ainv import AINV
from nonstick.inverse.precond.incomplete import ILU, MIC
from nonstick.inverse.precond.jacobi import SPAI0, Jacobi
from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import Masked

KRYLOV = [CG, CR, BiCGStab, GMRES]
PRECONDITIONERS = [
    NoPreconditioner(),
    Jacobi(),
    SPAI0(),
    MIC(),
    ILU(),
    AINV(),
    AINV(scaled=True),
    AINV(drop=0.0, nonzeros=10, scaled=True),
]


def reference(operator, b):
    return np.linalg.solve(operator.matrix().toarray(), b)


def rhs(n, seed=0):
    return np.random.default_rng(seed).standard_normal(n)


@pytest.mark.parametrize("M", PRECONDITIONERS, ids=repr)
@pytest.mark.parametrize("solver", KRYLOV, ids=lambda s: s.__name__)
def test_reaches_the_reference(operator, solver, M):
    b = rhs(operator.n)
    x = rhs(operator.n, 1)
    result = solver(M, rtol=1e-11, maxiter=2000).setup(operator).solve(b, x)
    assert result.converged, result
    true = abs(b - operator @ x).max()
    assert true <= 2e-11 * abs(b).max()
    assert result.residual == result.history[-1] == pytest.approx(true, rel=0.5, abs=1e-12)
    expected = reference(operator, b)
    np.testing.assert_allclose(x, expected, atol=1e-8 * abs(expected).max())


@pytest.mark.parametrize("M", [Jacobi(damping=0.6), SPAI0(), ILU(), AINV(), AINV(scaled=True)], ids=repr)
def test_stationary_iteration_reaches_the_reference(operator, M):
    b, x = rhs(operator.n), np.zeros(operator.n)
    assert Richardson(M, rtol=1e-10).setup(operator).solve(b, x).converged
    expected = reference(operator, b)
    np.testing.assert_allclose(x, expected, atol=1e-7 * abs(expected).max())


def test_direct_reaches_the_reference(operator):
    b, x = rhs(operator.n), np.zeros(operator.n)
    result = Direct().setup(operator).solve(b, x)
    assert result.converged and result.iterations <= 3
    np.testing.assert_allclose(x, reference(operator, b), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("solver", [*KRYLOV, Richardson], ids=lambda s: s.__name__)
def test_apply_starts_from_zero(operator, solver):
    b = rhs(operator.n)
    inverse = solver(ILU(), rtol=1e-6).setup(operator)
    x = np.zeros(operator.n)
    inverse.solve(b, x)
    np.testing.assert_array_equal(inverse.apply(b, np.full(operator.n, np.nan)), x)


@pytest.mark.parametrize("solver", KRYLOV, ids=lambda s: s.__name__)
def test_history_and_limits(operator, solver):
    b, x = rhs(operator.n), np.zeros(operator.n)
    inverse = solver(Jacobi()).setup(operator)
    result = inverse.solve(b, x, maxiter=3)
    assert not result.converged and result.iterations == 3 and len(result.history) == 4
    assert result.history[0] == abs(b).max()
    done = inverse.solve(b, x, atol=10 * abs(b).max())  # already good enough
    assert done.converged and done.iterations == 0
    zero = np.zeros(operator.n)
    x = np.zeros(operator.n)
    assert inverse.solve(zero, x).converged and not x.any()


@pytest.mark.parametrize(
    "recipe",
    [*(s(M, rtol=1e-9) for s in KRYLOV for M in (NoPreconditioner(), ILU(), SPAI0())), Direct(rtol=1e-9)],
    ids=repr,
)
def test_consistent_singular_systems(make_stencil, recipe):
    """Two closed boxes, pure Neumann each, and one cell without an equation."""
    box = make_stencil((6, 5), fill=1.0, neumann=True).matrix()
    A = CSROperator(sp.block_diag([box, 1e3 * box, sp.csr_array((1, 1))]))
    b = A @ rhs(A.n)
    x = np.zeros(A.n)
    assert recipe.setup(A).solve(b, x).converged
    assert abs(A @ x - b).max() <= 2e-9 * abs(b).max()
    assert np.isfinite(x).all() and abs(x).max() < 1e3


@pytest.mark.parametrize("recipe", [*(s(ILU()) for s in KRYLOV), Direct()], ids=repr)
def test_inconsistent_or_bad_data_is_no_success(make_stencil, recipe):
    A = make_stencil((6, 5), fill=1.0, neumann=True)
    assert not recipe.setup(A).solve(np.ones(A.n), np.zeros(A.n), maxiter=50).converged
    assert not recipe.setup(A).solve(np.full(A.n, np.nan), np.zeros(A.n), maxiter=50).converged


@pytest.mark.parametrize("recipe", [*(s(MIC()) for s in KRYLOV), Richardson(ILU()), Direct()], ids=repr)
def test_shapes(grid_shape, recipe, make_stencil):
    A = make_stencil(grid_shape, fill=1.0)
    b, x = rhs(A.n), np.zeros(A.n)
    assert recipe.setup(A).solve(b, x).converged
    np.testing.assert_allclose(A @ x, b, atol=1e-7)


@pytest.mark.parametrize("solver", KRYLOV, ids=lambda s: s.__name__)
def test_refresh_after_the_mask_changed(make_stencil, solver):
    A = make_stencil((7, 8))
    rng = np.random.default_rng(2)
    masked = Masked(A, rng.random(A.n) < 0.5)
    recipe = solver(ILU(), rtol=1e-11)
    old = recipe.setup(masked)
    masked.update(rng.random(A.n) < 0.8)
    b, x = rhs(A.n), np.zeros(A.n)
    assert recipe.setup(masked, reuse=old).solve(b, x).converged
    np.testing.assert_allclose(x, reference(masked, b), atol=1e-8)


def test_gmres_and_cr_residuals_never_grow(make_stencil):
    """Unpreconditioned, both minimise the 2-norm of the residual over the Krylov space, hence agree."""
    A = make_stencil((9, 9))
    b = rhs(A.n)
    norms = {}
    for recipe in (CR(), GMRES(restart=200)):
        inverse = recipe.setup(A)
        found = []
        for k in range(1, 25):
            x = np.zeros(A.n)
            inverse.solve(b, x, maxiter=k)
            found.append(np.linalg.norm(b - A @ x))
        norms[type(recipe)] = np.array(found)
        assert np.all(np.diff(found) <= 1e-12)
    np.testing.assert_allclose(norms[CR], norms[GMRES], rtol=1e-8)


def test_gmres_restarts(make_stencil):
    A = make_stencil((9, 9))
    b, x = rhs(A.n), np.zeros(A.n)
    result = GMRES(Jacobi(), restart=5, rtol=1e-9).setup(A).solve(b, x)
    assert result.converged and result.iterations > 5 and len(result.history) == result.iterations + 1


def test_unsymmetric_systems():
    """GMRES and BiCGStab do not need symmetry."""
    rng = np.random.default_rng(0)
    A = sp.random_array((60, 60), density=0.1, random_state=rng).tocsr() + sp.diags_array(np.full(60, 5.0))
    b = rhs(60)
    for recipe in (GMRES(rtol=1e-11), BiCGStab(rtol=1e-11)):
        x = np.zeros(60)
        assert recipe.setup(CSROperator(A)).solve(b, x).converged
        np.testing.assert_allclose(x, np.linalg.solve(A.toarray(), b), atol=1e-9)


def test_conjugate_gradients_takes_n_steps(make_stencil):
    A = make_stencil((3, 4), fill=1.0)
    for solver in (CG, CR, GMRES):
        assert solver(rtol=1e-9).setup(A).solve(rhs(A.n), np.zeros(A.n)).iterations <= A.n


@pytest.mark.parametrize("solver", [CG, CR, BiCGStab, GMRES, Richardson], ids=lambda s: s.__name__)
@pytest.mark.parametrize("form", ["stencil", "masked"])
@pytest.mark.parametrize("M", [Jacobi(damping=0.5), ILU(), MIC()], ids=repr)
def test_iterations_allocate_nothing(make_stencil, solver, form, M):
    """After `setup` no iteration asks for memory of the order of a vector."""
    A = make_stencil((220, 220))  # NumPy's own buffers of fixed size are smaller than half a vector of this
    if form == "masked":
        A = Masked(A, np.random.default_rng(0).random(A.n) < 0.8)
    inverse = solver(M, rtol=0.0, maxiter=12).setup(A)
    b, x = rhs(A.n), np.zeros(A.n)
    inverse.solve(b, x)
    tracemalloc.start()
    inverse.solve(b, x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.5 * x.nbytes
