"""nonstick inside other packages, each tested against the package itself where it is installed."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from gallery import beam, elasticity, grid
from scipy.sparse.linalg import cg

import nonstick
from nonstick import integrations


def count(A, b, **options):
    steps = []
    x, failed = cg(A, b, rtol=1e-8, callback=steps.append, **options)
    assert not failed and np.abs(A @ x - b).max() < 1e-6 * np.abs(b).max()
    return len(steps)


def test_a_cycle_is_a_preconditioner_for_scipy():
    A = grid(60)
    b = np.ones(3600)
    plain = count(A, b)
    assert count(A, b, M=integrations.aspreconditioner(A)) < plain / 5
    order = np.random.default_rng(0).permutation(3600)
    cells = np.argwhere(np.ones((60, 60), bool))[order]
    S = A[order][:, order]
    assert count(S, b, M=integrations.aspreconditioner(S, cells=cells)) < plain / 5
    assert count(A, b, M=integrations.aspreconditioner(A, nonstick.inverse.MIC())) < plain


def test_rigid_body_modes_for_scipy():
    A, b, *_ = beam(40, 10)
    _, place, node = elasticity(40, 10)
    M = integrations.aspreconditioner(A, nodes=np.delete(place, node[0], axis=0))
    assert count(A, b, M=M) < 25


def test_pyamg_takes_it():
    pyamg = pytest.importorskip("pyamg")
    A = grid(40)
    residuals = []
    pyamg.krylov.cg(A, np.ones(1600), tol=1e-8, M=integrations.aspreconditioner(A), residuals=residuals)
    assert len(residuals) < 20


def test_a_solver_for_scikit_fem():
    skfem = pytest.importorskip("skfem")
    from skfem.models.poisson import laplace, unit_load

    mesh = skfem.MeshTri().refined(4)
    basis = skfem.Basis(mesh, skfem.ElementTriP1())
    A, b = laplace.assemble(basis), unit_load.assemble(basis)
    fixed = basis.get_dofs()
    plain = skfem.solve(*skfem.condense(A, b, D=fixed))
    ours = skfem.solve(*skfem.condense(A, b, D=fixed), solver=integrations.skfem_solver(rtol=1e-10))
    np.testing.assert_allclose(ours, plain, atol=1e-8)
    bounded = skfem.solve(*skfem.condense(A, b, D=fixed), solver=integrations.skfem_solver(upper=0.03))
    assert bounded.max() == pytest.approx(0.03) and bounded.min() >= 0.0
    with pytest.raises(nonstick.NonstickError, match="was not solved"):
        skfem.solve(A, b, solver=integrations.skfem_solver(maxiter=1))


def program(rng):
    n = int(rng.integers(2, 12))
    M, x = rng.standard_normal((n, n)), rng.standard_normal(n)
    G, A = rng.standard_normal((int(rng.integers(1, 2 * n)), n)), rng.standard_normal((1, n))
    box = (x - rng.random(n), x + rng.random(n))
    return M @ M.T + 0.1 * np.eye(n), rng.standard_normal(n), G, G @ x + rng.random(len(G)), A, A @ x, *box


def test_a_back_end_of_qpsolvers():
    qpsolvers = pytest.importorskip("qpsolvers")
    integrations.register_qpsolvers()
    integrations.register_qpsolvers()
    assert qpsolvers.available_solvers.count("nonstick") == 1
    rng = np.random.default_rng(0)
    peer = next(
        name
        for name in ("piqp", "clarabel", "osqp", *qpsolvers.available_solvers)
        if name in qpsolvers.available_solvers
    )
    accurate = {"eps_abs": 1e-10, "eps_rel": 1e-10} if peer in ("piqp", "osqp") else {}
    for _ in range(20):
        parts = program(rng)
        found = qpsolvers.solve_problem(qpsolvers.Problem(*parts), solver="nonstick")
        assert found.found and found.is_optimal(1e-6)
        np.testing.assert_allclose(found.x, qpsolvers.solve_qp(*parts, solver=peer, **accurate), atol=1e-5)
        bounds = qpsolvers.Problem(*parts[:2], lb=parts[6], ub=parts[7])
        assert qpsolvers.solve_problem(bounds, solver="nonstick").is_optimal(1e-5)
    infeasible = qpsolvers.Problem(np.eye(1), np.zeros(1), np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0]))
    assert not qpsolvers.solve_problem(infeasible, solver="nonstick").found
    bounded = qpsolvers.solve_qp(sp.csc_matrix(np.eye(2)), np.ones(2), lb=np.zeros(2), solver="nonstick")
    assert bounded.tolist() == [0, 0]


def test_the_problems_that_qpsolvers_tests_its_solvers_with():
    """x, and the multipliers where they are unique; qpsut02 and qpsut04 have many."""
    qpsolvers = pytest.importorskip("qpsolvers")
    problems = pytest.importorskip("qpsolvers.problems")
    integrations.register_qpsolvers()
    makers = [getattr(problems, name) for name in dir(problems) if name.startswith("get_qp")]
    assert len(makers) > 4
    for make in makers:
        made = make()
        problem, known = made if isinstance(made, tuple) else (made, None)
        found = qpsolvers.solve_problem(problem, solver="nonstick")
        assert found.found and found.is_optimal(1e-6), make.__name__
        if known is not None and known.obj is not None:
            assert found.obj == pytest.approx(known.obj, rel=1e-6)
        many = make.__name__ in ("get_qpsut02", "get_qpsut04")
        for name in ("x",) if many else ("x", "y", "z", "z_box"):
            ours, theirs = getattr(found, name), getattr(known, name, None)
            if theirs is not None and len(theirs) and len(ours):
                np.testing.assert_allclose(ours, theirs, atol=1e-5, err_msg=f"{make.__name__}: {name}")


def test_the_programs_that_cvxpy_tests_its_solvers_with():
    pytest.importorskip("cvxpy")
    theirs = pytest.importorskip("cvxpy.tests.test_qp_solvers")
    tests = theirs.TestQp("test_all_solvers")
    tests.setUp()
    tests.solvers = [integrations.cvxpy_solver()]
    tests.test_all_solvers()
    more = getattr(theirs, "StandardTestQPs", None)  # since CVXPY 1.7
    for name in dir(more):
        if name.startswith("test_qp"):
            getattr(more, name)(solver=tests.solvers[0])


def test_a_custom_solver_of_cvxpy():
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(1)
    M, y = rng.standard_normal((30, 8)), rng.standard_normal(30)
    x = cp.Variable(8, bounds=[-0.1, 0.2])
    total = cp.sum(x) == 0.3
    problem = cp.Problem(cp.Minimize(cp.sum_squares(M @ x - y)), [total, x[0] + x[1] <= 0.05])
    value = problem.solve(solver=integrations.cvxpy_solver())
    mine, multiplier = x.value.copy(), total.dual_value
    assert problem.status == "optimal"
    peer = problem.solve(solver=cp.CLARABEL)
    assert value == pytest.approx(peer, abs=1e-6)
    np.testing.assert_allclose(mine, x.value, atol=1e-5)
    np.testing.assert_allclose(multiplier, total.dual_value, atol=1e-4)
    impossible = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1.0])
    impossible.solve(solver=integrations.cvxpy_solver())
    assert impossible.status == "infeasible"


def of_petsc(A, ranks=1):
    """What `petsc4py.PETSc.Mat` offers, as far as it is used."""
    A = sp.csr_array(A)
    return SimpleNamespace(
        getComm=lambda: SimpleNamespace(getSize=lambda: ranks),
        getSize=lambda: A.shape,
        getValuesCSR=lambda: (A.indptr, A.indices, A.data),
    )


def test_a_matrix_of_petsc():
    A, b = [[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0]
    np.testing.assert_allclose(nonstick.solve(of_petsc(A), b).x, [0.5, 0.0], atol=1e-9)
    with pytest.raises(nonstick.NonstickError, match="PETSc matrix of 3 ranks"):
        nonstick.solve(of_petsc(A, 3), b)


def test_a_matrix_that_petsc_made():
    try:
        from petsc4py import PETSc
    except (ImportError, ValueError) as error:  # Debian's wants NumPy 1
        pytest.skip(f"no PETSc for this NumPy: {error}")
    rows = [0, 2, 4], [0, 1, 0, 1], [2.0, -1.0, -1.0, 2.0]
    A = PETSc.Mat().createAIJ([2, 2], csr=rows, comm=PETSc.COMM_SELF)
    np.testing.assert_allclose(nonstick.solve(A, [1.0, -3.0]).x, [0.5, 0.0], atol=1e-9)
