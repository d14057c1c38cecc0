"""`nonstick.solve` and `nonstick.lcp` on input in every shape a caller may have."""

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick.operators.csr import CSROperator
from nonstick.operators.stencil import StencilOperator


def poisson(shape):
    """The five- or seven-point matrix of a box in C order, and its cells."""
    eyes = [sp.eye_array(n) for n in shape]
    lines = [sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)) for n in shape]
    A = 0.01 * sp.eye_array(int(np.prod(shape)))
    for axis in range(len(shape)):
        factors = [lines[k] if k == axis else eyes[k] for k in range(len(shape))]
        product = factors[0]
        for factor in factors[1:]:
            product = sp.kron(product, factor)
        A = A + product
    return sp.csr_array(A), np.stack(np.unravel_index(np.arange(A.shape[0]), shape), axis=1)


def check(solution, A, b, lower, upper, rtol):
    """Optimality, from nothing but the data."""
    x, g, d = solution.x, A @ solution.x - b, A.diagonal()
    assert solution.converged and solution.status == "converged"
    np.testing.assert_allclose(solution.dual, g, atol=1e-12 * np.abs(b).max())
    residual = d * (x - np.clip(x - g / d, lower, upper))
    assert np.abs(residual).max() <= rtol * np.abs(b).max() * (1 + 1e-6)


@pytest.mark.parametrize("shape", [(7, 5), (3, 4, 5)])
@pytest.mark.parametrize("shuffle", [False, True])
def test_cells_in_any_order(shape, shuffle):
    rng = np.random.default_rng(3)
    A, cells = poisson(shape)
    n = A.shape[0]
    b = rng.normal(size=n)
    lower, upper = np.where(rng.random(n) < 0.3, -np.inf, -0.1), np.where(rng.random(n) < 0.3, np.inf, 0.3)
    order = rng.permutation(n) if shuffle else np.arange(n)
    P = A[order][:, order]
    seen = []
    solution = nonstick.solve(
        P, b[order], lower[order], upper[order], cells=cells[order] - 11, method="pgs", rtol=1e-9,
        x0=np.full(n, 0.1), callback=seen.append,
    )  # fmt: skip
    check(solution, P, b[order], lower[order], upper[order], 1e-9)
    # Either way the solver worked on the stencil form, not on the matrix.
    assert isinstance(seen[0].problem.A, StencilOperator)
    assert np.array_equal(solution.active, solution.problem.box.split(solution.x, solution.dual, P.diagonal()))
    reference = nonstick.solve(A, b, lower, upper, method="pgs", rtol=1e-11)
    np.testing.assert_allclose(solution.x, reference.x[order], atol=1e-7)


def test_cells_of_a_matrix_that_is_no_stencil():
    A, cells = poisson((6, 4))
    order = np.random.default_rng(0).permutation(24)
    wide = sp.csr_array(A @ A)[order][:, order]
    b = np.linspace(-1, 1, 24)
    seen = []
    solution = nonstick.solve(wide, b, cells=cells[order], method="pgs", rtol=1e-8, callback=seen.append)
    check(solution, wide, b, 0.0, np.inf, 1e-8)
    assert isinstance(seen[0].problem.A, CSROperator)
    assert np.array_equal(seen[0].problem.A.cells, cells)


@pytest.mark.parametrize(
    "form",
    [
        lambda A: A.tocoo(), lambda A: A.tocsc(), lambda A: sp.csr_matrix(A), lambda A: A.toarray(),
        lambda A: A.toarray().tolist(), CSROperator,
        lambda A: A.astype(np.float32), lambda A: (A * 100).astype(np.int64),
    ],
    ids=["coo", "csc", "csr_matrix", "ndarray", "list", "operator", "float32", "int"],
)  # fmt: skip
def test_matrices_in_every_form(form):
    A, _ = poisson((4, 5))
    M = form(A)
    solution = nonstick.solve(M, list(range(-10, 10)), method="pgs", rtol=1e-6)
    if isinstance(M, CSROperator):
        M = M.matrix()
    check(solution, sp.csr_array(M, dtype=float), np.arange(-10.0, 10.0), 0.0, np.inf, 1e-6)


@pytest.mark.parametrize("lower, upper", [(-np.inf, np.inf), (0, np.inf), (-np.inf, 0), (-0.5, 0.5), (2, 3), (1, 1)])
def test_scalar_bounds(lower, upper):
    A, _ = poisson((5, 5))
    b = np.sin(np.arange(25.0))
    solution = nonstick.solve(A, b, lower, upper, method="pgs", rtol=1e-8)
    check(solution, A, b, lower, upper, 1e-8)


@pytest.mark.parametrize("options", [{}, {"cells": np.zeros((0, 3), int)}, {"cells": np.zeros((0, 2))}])
def test_an_empty_system_is_solved(options):
    solution = nonstick.solve(sp.csr_array((0, 0)), [], method="pgs", **options)
    assert solution.converged and solution.x.shape == solution.dual.shape == (0,) and solution.kkt() == 0.0


@pytest.mark.parametrize("cells", [None, [[5]], [[0, 3]], [[1, 2, 3]]])
def test_a_single_unknown(cells):
    solution = nonstick.solve([[4.0]], [2.0], 0.0, 0.25, cells=cells, method="pgs")
    assert solution.x == pytest.approx([0.25]) and solution.dual == pytest.approx([-1.0])


def test_a_line_of_cells():
    A, cells = poisson((12,))
    solution = nonstick.solve(A, np.ones(12), cells=cells, method="pgs", rtol=1e-10)
    check(solution, A, np.ones(12), 0.0, np.inf, 1e-10)


def test_zero_right_hand_side_is_measured_against_the_bounds():
    A, _ = poisson((5, 5))
    lower = np.linspace(-1, 1, 25)
    for unit in (1e-12, 1.0, 1e12):
        solution = nonstick.solve(unit * A, np.zeros(25), lower, method="pgs", rtol=1e-9)
        assert solution.converged
        g = A @ solution.x
        np.testing.assert_allclose(np.minimum(solution.x - lower, g), 0.0, atol=1e-8)


def test_lcp_has_the_signs_of_its_definition():
    M = np.array([[2.0, -1.0], [-1.0, 2.0]])
    solution = nonstick.lcp(M, [-1.0, 3.0], method="pgs", rtol=1e-12)
    np.testing.assert_allclose(solution.x, [0.5, 0.0], atol=1e-10)
    np.testing.assert_allclose(solution.dual, M @ solution.x + [-1.0, 3.0], atol=1e-10)


def test_not_converging_is_a_status_with_advice():
    A, _ = poisson((20, 20))
    solution = nonstick.solve(A, np.ones(400), method="pgs", rtol=1e-12, maxiter=2)
    assert not solution.converged and solution.status == "maxiter"
    assert "raise maxiter" in solution.message and solution.kkt() > 1e-12
    assert len(solution.history) >= 1


def test_rtol_zero_with_atol():
    A, _ = poisson((4, 4))
    solution = nonstick.solve(A, 100 * np.ones(16), method="pgs", rtol=0.0, atol=1e-3)
    assert solution.converged and solution.kkt() <= 1e-5


def test_methods_lists_every_registered_name():
    from nonstick import registry

    assert nonstick.methods().keys() == registry.entries().keys()
    assert all(line and "\n" not in line for line in nonstick.methods().values())


@pytest.mark.parametrize("method", ["pi-mg", "pe-mg", "fas-mg", "fas-mg+pwc", "fas-mg+direct", "fmg"])
@pytest.mark.parametrize("n", [1, 5, 200])
def test_a_geometric_method_refuses_a_matrix_without_cells_whatever_its_size(method, n):
    A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    with pytest.raises(nonstick.NonstickError, match=r"cells|PressureProblem"):
        nonstick.solve(A, np.ones(n), method=method)


@pytest.mark.parametrize("method", ["auto", "mg-cg"])
def test_an_indefinite_matrix_is_not_answered_by_advice_to_go_on(method):
    A = np.array([[1.0, -0.9, -0.9], [-0.9, 1.0, -0.9], [-0.9, -0.9, 1.0]])
    solution = nonstick.solve(A, np.ones(3), method=method, cells=[[0, 0], [1, 0], [2, 0]])
    assert not solution.converged
    assert "raise maxiter" not in solution.message


@pytest.mark.parametrize("constraints", [None, (np.ones((1, 2)), 0.0, 1.0)])
def test_a_mistake_in_a_callback_is_not_hidden(constraints):
    with pytest.raises(ZeroDivisionError):
        nonstick.solve(np.diag([1.0, 2.0]), [1.0, 1.0], constraints=constraints, callback=lambda monitor: 1 / 0)


def test_unsigned_indices_are_no_matter(recwarn):
    A = sp.csr_array(np.diag([1.0, 2.0]))
    A.indices = A.indices.astype(np.uint8)
    assert nonstick.solve(A, [1.0, 1.0]).converged and not recwarn.list


def test_a_callback_that_cannot_be_called():
    with pytest.raises(nonstick.NonstickError, match="callback"):
        nonstick.solve([[1.0]], [1.0], callback=3)


def test_a_box_problem_takes_a_matrix_and_checks_it():
    A = sp.diags_array([-np.ones(4), np.full(5, 2.0), -np.ones(4)], offsets=[-1, 0, 1])
    problem = nonstick.BoxProblem(A, np.linspace(-1, 1, 5))
    np.testing.assert_allclose(nonstick.solve_problem(problem).x, nonstick.solve(A, np.linspace(-1, 1, 5)).x, atol=1e-6)
    with pytest.raises(nonstick.NonstickError, match="A must be square"):
        nonstick.BoxProblem(np.ones((2, 3)), np.ones(2))
    with pytest.raises(nonstick.NonstickError, match="b has shape"):
        nonstick.BoxProblem(A, np.ones(4))
