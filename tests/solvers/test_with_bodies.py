"""Box problems with rigid bodies: every method that can reaches the solution of a dense oracle."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import nonstick
from nonstick import NonstickError, registry
from nonstick.discretise.coupling import Body
from nonstick.discretise.pressure import PressureProblem
from nonstick.grid.mac import Grid
from nonstick.grid.shapes import Box
from nonstick.operators.masked import LowRank
from nonstick.solvers.auto.nearby import AroundBodies

CANNOT = {"pgs", "psor", "newton-array"}
COMPLETE = [name for name, entry in registry.entries().items() if entry.complete]
#: discretises the problem again on coarser grids, which a bare matrix cannot do
NEEDS_FIELDS = {"fmg"}
ABLE = [name for name in COMPLETE if name not in CANNOT | NEEDS_FIELDS and "literal" not in name]


def oracle(A, b, lower, upper):
    """min ½xᵀAx - bᵀx in a box as a dense least-squares problem, by a method that shares nothing with ours."""
    L = np.linalg.cholesky(A)
    scale = 1.0 / np.sqrt(np.diag(A))
    low, high = np.broadcast_to(lower, b.shape) / scale, np.broadcast_to(upper, b.shape) / scale
    done = lsq_linear(L.T * scale, np.linalg.solve(L, b), (low, high), method="bvls", tol=1e-14, max_iter=10_000)
    return done.x * scale


def random_problem(random_stencil, seed, shape=(5, 6), two_sided=False):
    """A stencil with random bodies, some of them very light, and random bounds: no M-matrix."""
    rng = np.random.default_rng(seed)
    base = random_stencil(shape, seed)
    bodies = int(rng.integers(1, 3))
    rows = np.sort(rng.choice(base.n, min(base.n, 12), replace=False))
    U, S = np.zeros((rows.size, 3 * bodies)), np.zeros((3 * bodies,) * 2)
    for k in range(bodies):
        mine = slice(3 * k, 3 * k + 3)
        part = slice(k * rows.size // bodies, (k + 1) * rows.size // bodies)
        U[part, mine] = rng.normal(size=U[part, mine].shape)
        root = rng.normal(size=(3, 3))
        S[mine, mine] = 10.0 ** rng.uniform(-2, 3) * (root @ root.T + 0.1 * np.eye(3))
    lower = np.where(rng.random(base.n) < 0.7, rng.normal(-0.2, 0.3, base.n), -np.inf)
    upper = np.full(base.n, np.inf)
    if two_sided:
        upper = np.where(rng.random(base.n) < 0.7, np.where(np.isfinite(lower), lower, 0) + rng.random(base.n), np.inf)
    return LowRank(base, rows, U, S), rng.normal(size=base.n), lower, upper


@pytest.mark.parametrize("method", ABLE)
@pytest.mark.parametrize("two_sided", [False, True], ids=["lower", "both"])
def test_every_able_method_finds_the_oracles_solution(make_stencil, method, two_sided):
    for seed in range(4):
        A, b, lower, upper = random_problem(make_stencil, seed, two_sided=two_sided)
        solution = nonstick.solve(A, b, lower, upper, method=method, rtol=1e-9)
        assert solution.converged, solution.message
        expected = oracle(A.matrix().toarray(), b, lower, upper)
        assert np.allclose(solution.x, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))


def test_auto_converges_on_many_random_bodies(make_stencil):
    """Off M-matrices sets may cycle; the safeguard decides."""
    for seed in range(100, 124):
        A, b, lower, upper = random_problem(
            make_stencil, seed, shape=(4, 3, 4) if seed % 2 else (6, 7), two_sided=seed % 3 == 0
        )
        solution = nonstick.solve(A, b, lower, upper, rtol=1e-10)
        assert solution.converged, (seed, solution.message)


@pytest.mark.parametrize("name", sorted(CANNOT))
def test_methods_on_stencils_refuse_in_a_sentence(make_tank, name):
    with pytest.raises(NonstickError, match="cannot treat rigid bodies"):
        make_tank(n=12).solve(name)


@pytest.mark.parametrize("d, ratio", [(2, 0.01), (2, 4.0), (3, 0.01)])
def test_liquid_and_bodies_against_the_oracle(make_tank, d, ratio):
    """Boxes that have been thrown up, cells around them may let go."""
    problem = make_tank(d, 12 if d == 2 else 8, ratio, walls="cut", depth=0.5)
    A, b, box = problem.matrix.toarray(), problem.rhs, problem.problem.box
    expected = oracle(A, b, box.lower, box.upper)
    for method in ("auto", "pi-pcg", "ipm-pd", "tagiaamg-mprgp", "fas-mg", "fmg"):
        solution = problem.solve(method, rtol=1e-10)
        assert solution.converged
        assert np.allclose(solution.x, expected, atol=1e-7 * np.abs(expected).max())


def test_sweeps_are_gauss_seidel_of_the_assembled_matrix(make_tank):
    """Relaxation never raises the objective, and its fixed point is the solution."""
    problem = make_tank(2, 16, 0.05, walls="cut", depth=0.5).problem
    A, b, box = problem.A, problem.b, problem.box
    near = AroundBodies(A)
    x = np.zeros(A.n)
    value = problem.objective(x)
    for _ in range(30):
        near.sweep(x, b, box.lower, box.upper, 1, None)
        new = problem.objective(x)
        assert new <= value + 1e-12 * abs(value)
        value = new
    solution = nonstick.solve(A, b, box.lower, box.upper, rtol=1e-12)
    x = solution.x.copy()
    near.sweep(x, b, box.lower, box.upper, 1, None)
    assert np.allclose(x, solution.x, atol=1e-9 * np.abs(x).max())


def test_prediction_from_a_coarser_problem_with_bodies(make_tank):
    """With many bounded rows auto starts from a coarser grid, bodies included."""
    problem = make_tank(2, 80, 0.1, walls="all", depth=0.6)
    assert problem.constrained.sum() > 2000
    solution = problem.solve("auto", rtol=1e-8)
    other = problem.solve("tagiaamg-mprgp", rtol=1e-9)
    assert solution.converged and np.allclose(solution.x, other.x, atol=1e-6 * other.x.max())


def pocket_tank(bodies, **options):
    grid = Grid((16, 12), 1 / 16)
    velocity = [np.zeros(grid.face_shape(a)) for a in range(2)]
    phi = np.full(grid.shape, -1.0)
    made = []
    for low, high, v, density in bodies:
        shape = Box(low, high)
        made.append(Body(shape.sample(grid.nodes()), 0.5 * (np.array(low) + high), np.array(v), 0.0, density))
    return PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.1, dx=grid.dx, bodies=made, **options)


@pytest.mark.parametrize("method", ["auto", "mg-cg", "pi-pcg", "ipm-pd", "fas-mg", "fmg"])
def test_a_tank_full_to_the_brim(method):
    """Constant pressure moves no submerged body: singular, compatible; the body is slowed by the liquid's inertia."""
    problem = pocket_tank([((0.31, 0.27), (0.52, 0.46), (1.0, 0.0), 500.0)], walls="none")
    solution = problem.solve(method, rtol=1e-9)
    assert solution.converged and solution.notes["pockets"] == {"compatible": 1}
    v = solution.bodies[0].velocity
    assert 0.1 < v[0] < 0.9 and abs(v[1]) < 0.5
    left = problem.divergence(solution.velocity, solution.bodies)
    assert np.abs(problem.rows.from_grid(left)).max() < 1e-7


def test_a_piston_between_two_pockets():
    """A body that divides a full tank cannot move along it: each side is a pocket, and its pressure stops the body."""
    problem = pocket_tank([((0.4, -0.2), (0.6, 1.0), (1.0, 0.0), None)], walls="none")
    heavy = pocket_tank([((0.4, -0.2), (0.6, 1.0), (1.0, 0.0), 500.0)], walls="none")
    assert problem.problem.A.components()[0] == 2
    solution = heavy.solve("auto", rtol=1e-9)
    assert solution.converged
    assert abs(solution.bodies[0].velocity[0]) < 1e-7
    apart = heavy.solve("fas-mg", rtol=1e-9)  # solves for the liquid alone, which a piston does not leave a solution
    assert apart.status == "breakdown" and "take 'auto'" in apart.message


@pytest.mark.parametrize("method", ["auto", "pi-pcg"])
def test_a_set_from_before_a_body_moved(make_tank, method):
    """Rows that were clamped and have no bound any more are free."""
    problem = make_tank(2, 24, 0.01, walls="cut", depth=0.5)
    old = np.where(np.arange(problem.rows.n) % 3 == 0, -1, 0).astype(np.int8)
    solution = problem.solve(method, active=old, rtol=1e-9)
    assert solution.converged and solution.iterations < (40 if method == "auto" else 400)
