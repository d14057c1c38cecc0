"""`nonstick.Solver`: one set-up, many solves, the answers of `nonstick.solve`."""

import threading
from weakref import WeakSet

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick import registry
from nonstick.errors import NonstickError
from nonstick.inverse import CG, MIC
from nonstick.inverse.base import Recipe
from nonstick.solver import keeping
from nonstick.solvers import Method, PolicyIteration


def grid(shape, seed=0, rough=0.0):
    """Conductances on the faces of a box, a little on the diagonal, and the cells in C order."""
    rng = np.random.default_rng(seed)
    cells = np.argwhere(np.ones(shape, bool))
    number = np.arange(len(cells)).reshape(shape)
    A = sp.lil_array((len(cells),) * 2)
    A.setdiag(0.02)
    for axis in range(len(shape)):
        for i, j in zip(np.delete(number, -1, axis).ravel(), np.delete(number, 0, axis).ravel()):
            w = 1.0 + rough * rng.random()
            A[i, i] += w
            A[j, j] += w
            A[i, j] = A[j, i] = -w
    return sp.csr_array(A), cells


A2, CELLS2 = grid((17, 13), rough=0.3)
RNG = np.random.default_rng(5)
LOADS = [np.cos(0.3 * CELLS2[:, 0] + 0.05 * k) - 0.4 * np.sin(0.5 * CELLS2[:, 1]) for k in range(4)]
BOUNDS = [(0.0, np.inf), (-0.5, 0.7), (None, 0.3), (np.linspace(-1, 0, len(CELLS2)), None)]


def optimal(A, b, lower, upper, x, rtol=1e-6):
    lower, upper = -np.inf if lower is None else lower, np.inf if upper is None else upper
    g, d = A @ x - b, A.diagonal()
    return np.abs(d * (x - np.clip(x - g / d, lower, upper))).max() <= rtol * np.abs(b).max() * 1.001


# Methods for viscosity solve systems on faces; those that need a coarser discretisation refuse every matrix.
TAKES_A_MATRIX = [
    name
    for name, entry in registry.entries().items()
    if entry.kind == "box" and entry.converges and not name.startswith("fmg")
]


@pytest.mark.parametrize("method", TAKES_A_MATRIX)
@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
def test_every_method_solves_one_problem_after_another(method, shuffled):
    order = RNG.permutation(len(CELLS2)) if shuffled else np.arange(len(CELLS2))
    A = sp.csr_array(A2[order][:, order])
    solver = nonstick.Solver(A, cells=CELLS2[order], method=method)
    for (lower, upper), b in zip(BOUNDS, LOADS):
        lower = lower[order] if np.ndim(lower) else lower
        solution = solver.solve(b[order], lower, upper)
        assert solution.converged and solution.method == method, solution.message
        assert optimal(A, b[order], lower, upper, solution.x)
        assert solution.kkt() <= 1e-6
        np.testing.assert_allclose(solution.dual, A @ solution.x - b[order], atol=1e-9)


UPDATED = [(name, cells) for name in ("auto", "pi-pcg", "tagiaamg-mprgp", "ipm-pd", "psor") for cells in (True, False)]


@pytest.mark.parametrize("method, with_cells", [*UPDATED, ("pi-mg", True)])
def test_update_changes_the_numbers_and_nothing_else(method, with_cells):
    solver = nonstick.Solver(A2, cells=CELLS2 if with_cells else None, method=method)
    first = solver.solve(LOADS[0])
    for factor, seed in ((1.0, 1), (40.0, 2)):  # a small change, and one for which the levels are chosen again
        B = sp.csr_array(grid((17, 13), seed, rough=0.3)[0] * factor)
        B = B + sp.diags_array(np.where(CELLS2[:, 0] < 5, 50.0, 0.0)) if seed == 2 else B
        solver.update(B)
        for b in LOADS:
            solution = solver.solve(b)
            assert solution.converged and optimal(B, b, 0.0, np.inf, solution.x)
    assert optimal(A2, LOADS[0], 0.0, np.inf, first.x) and first.kkt() <= 1e-6, "an old solution keeps its matrix"
    solver.update(A2.data)
    assert optimal(A2, LOADS[1], 0.0, np.inf, solver.solve(LOADS[1]).x)


@pytest.mark.parametrize("with_cells", [True, False], ids=["cells", "bare"])
def test_levels_are_filled_again_and_not_chosen_again(with_cells, monkeypatch):
    from nonstick.compositions import AUTO
    from nonstick.inverse.multigrid.algebraic.coarsening import AlgebraicHierarchy
    from nonstick.inverse.multigrid.grid.blocks import BlockHierarchy

    built = []
    kind, name = (BlockHierarchy, "_build") if with_cells else (AlgebraicHierarchy, "__init__")
    build = getattr(kind, name)
    monkeypatch.setattr(kind, name, lambda self, *parts: built.append(self) or build(self, *parts))
    A, cells = grid((30, 20))
    solver = nonstick.Solver(A, cells=cells if with_cells else None, method=AUTO)
    for factor in (1.0, 1.0, 3.0, 0.5):
        solver.update(factor * A)
        solution = solver.solve(factor * np.cos(0.4 * cells[:, 0]))
        assert solution.converged
    assert len(built) == 1
    solver.update(A + sp.diags_array(np.where(cells[:, 0] < 7, 20.0, 0.0)))
    assert solver.solve(np.cos(0.4 * cells[:, 0])).converged
    assert len(built) == 2


def test_a_refilled_hierarchy_is_that_of_a_new_one():
    from nonstick.compositions import CYCLE
    from nonstick.operators.stencil import as_operator

    A, cells = grid((33, 40), rough=0.1)
    B = sp.csr_array(A * 3.0 + 0.5 * sp.eye_array(A.shape[0]))
    old, new = as_operator(A, cells), as_operator(B, cells)
    fresh = CYCLE.setup(new)
    new.rows = old.rows
    refilled = CYCLE.setup(new, CYCLE.setup(old))
    assert refilled.A is new
    r = np.random.default_rng(1).standard_normal(A.shape[0])
    x, y = fresh.apply(r, np.empty_like(r)), refilled.apply(r, np.empty_like(r))
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6 * np.abs(x).max())


def test_set_ups_are_done_once():
    class Counting(Recipe):
        count = 0

        def setup(self, operator, reuse=None):
            if reuse is None:
                Counting.count += 1
            return MIC().setup(operator, reuse)

    solver = nonstick.Solver(A2, method=PolicyIteration(CG(Counting())))
    for b in LOADS:
        assert solver.solve(b).converged
    assert Counting.count == 1


def test_a_warm_solve_starts_where_the_last_one_ended():
    solver = nonstick.Solver(A2, cells=CELLS2)
    first = solver.solve(LOADS[0])
    again = solver.solve(LOADS[0])
    assert first.iterations > 0 and again.iterations == 0 and again.converged
    assert solver.solve(1.001 * LOADS[0]).iterations < first.iterations
    # A start that is worse than zero is not used: the same load with the other sign.
    cold = nonstick.Solver(A2, cells=CELLS2, warm=False)
    assert np.array_equal(solver.solve(-LOADS[0]).x, cold.solve(-LOADS[0]).x)
    solver.forget()
    assert solver.solve(LOADS[0]).iterations == first.iterations


def test_cold_solves_do_not_depend_on_those_before():
    solver = nonstick.Solver(A2, cells=CELLS2, warm=False)
    alone = [nonstick.solve(A2, b, cells=CELLS2).x for b in LOADS]
    for _ in range(2):
        for b, x in zip(LOADS, alone):
            np.testing.assert_allclose(solver.solve(b).x, x, atol=1e-5)


@pytest.mark.parametrize("method", ["auto", "pi-pcg", "mic-mprgp"])
def test_threads_get_the_right_answers(method):
    solver = nonstick.Solver(A2, cells=CELLS2, method=method)
    expected = [nonstick.solve(A2, b, cells=CELLS2, method=method, rtol=1e-9).x for b in LOADS]
    found: dict[tuple[int, int], np.ndarray] = {}

    def work(name: int) -> None:
        for turn in range(3):
            for k in np.random.default_rng(name).permutation(len(LOADS)):
                found[name, turn * 10 + k] = solver.solve(LOADS[k], rtol=1e-8).x

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 * 3 * len(LOADS)
    for (_, k), x in found.items():
        np.testing.assert_allclose(x, expected[k % 10], atol=1e-6)


def test_a_pocket_without_a_free_surface():
    """All rows sum to zero. The ground that a solve adds to such a matrix is not there in the next solve."""
    A, cells = grid((8, 8))
    A = sp.csr_array(A - 0.02 * sp.eye_array(64))
    lower, b = np.where(np.arange(64) % 2, 0.0, -np.inf), np.where(np.arange(64) < 32, -1.0, 0.5)
    solver = nonstick.Solver(A, cells=cells)
    for load in (b, 0.3 * b, b[::-1]):
        solution = solver.solve(load, lower)
        assert solution.converged and optimal(A, load, lower, None, solution.x)


def test_other_methods_and_mistakes():
    class Plain(Method):  # no dataclass: nothing to keep
        def solve(self, problem, start, monitor):
            while not monitor.check(start.x) and monitor.iterations < 5000:
                problem.box.project(start.x - problem.gradient(start.x) / 9.0, out=start.x)
                monitor.iterations += 1

    assert nonstick.Solver(A2, method=Plain()).solve(LOADS[0], rtol=1e-3).converged
    assert keeping(registry.get("psor"), WeakSet()) == registry.get("psor")
    solver = nonstick.Solver(A2, method="PSOR")
    assert solver.name == "psor"
    with pytest.raises(NonstickError, match="did you mean 'rtol'"):
        solver.solve(LOADS[0], tol=1e-3)
    with pytest.raises(NonstickError, match="warm must be True or False, not"):
        nonstick.Solver(np.eye(2), warm=np.ones(2))
    with pytest.raises(NonstickError, match="did you mean 'cells'"):
        nonstick.Solver(A2, cell=CELLS2)
    with pytest.raises(NonstickError, match="callback cannot use the Solver"):
        solver.solve(LOADS[0], callback=lambda monitor: solver.solve(LOADS[1]))
    assert solver.solve(LOADS[0]).converged, "it works after an error"
    with pytest.raises(NonstickError, match="pattern of A has changed"):
        solver.update(sp.eye_array(A2.shape[0]))
    with pytest.raises(NonstickError, match=r"values has shape \(3\)"):
        solver.update([1.0, 2.0, 3.0])
    with pytest.raises(NonstickError, match="must be finite"):
        solver.update(np.full(A2.nnz, np.nan))
    with pytest.raises(NonstickError, match="positive diagonal"):
        solver.update(-A2)
    assert optimal(A2, LOADS[2], 0.0, np.inf, solver.solve(LOADS[2]).x), "a refused update changes nothing"


def test_an_update_by_a_matrix_of_another_size_is_refused_before_it_is_converted():
    solver = nonstick.Solver([[2.0, -1.0], [-1.0, 2.0]])
    with pytest.raises(nonstick.NonstickError, match="shape of A has changed"):
        solver.update(sp.coo_array((10**12, 10**12)))


def test_an_update_by_a_sparse_vector():
    solver = nonstick.Solver([[2.0, -1.0], [-1.0, 2.0]])
    solver.update(sp.coo_array(np.array([4.0, -1.0, -1.0, 4.0])))
    assert solver.solve([2.0, -6.0]).x.round(6).tolist() == [0.5, 0.0]
    for vector in (sp.coo_array(np.ones(3)), sp.coo_array((10**12,))):
        with pytest.raises(NonstickError, match="values has shape"):
            solver.update(vector)


def test_the_next_preconditioner_of_a_cascade_is_kept_too():
    """A Solver whose multigrid is too weak goes on with the next recipe, and begins the next solve with it."""
    from nonstick.compositions import AUTO
    from nonstick.operators import Masked
    from nonstick.operators.stencil import as_operator

    A = as_operator(A2)
    cached = keeping(AUTO, WeakSet([A])).M
    following = cached.chosen(A).following(Masked(A), 0)
    assert following is not None and cached.cache.inverse is following
