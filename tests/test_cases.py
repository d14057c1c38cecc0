"""The static cases: they build at any size, and their liquid wants to leave a wall."""

import numpy as np
import pytest

from nonstick import NonstickError, cases, solve_problem
from nonstick.solvers.safeguards.pockets import find

LIQUID = [name for name in cases.names() if not name.startswith("obst")]


def test_the_contract_names_are_there():
    expected = "circle2d square2d maze2d sphere3d sphere-cuboid3d double-sphere3d box-dam3d rotated-box3d obstacle2d"
    assert set(expected.split()) <= set(cases.names())
    assert set(cases.describe()) == set(cases.names())
    assert set(cases.names(2)) | set(cases.names(3)) == set(cases.names())


@pytest.mark.parametrize("name", LIQUID)
def test_separation_is_active(name):
    case = cases.build(name, 48 if name.endswith("2d") else 20)
    problem = case.problem
    solution = solve_problem(problem, "pi-pcg", rtol=1e-9)
    assert solution.converged
    walls = problem.box.constrained
    clamped = (solution.x == 0) & (solution.dual > 1e-3 * problem.scale)
    assert 0 < clamped.sum() < walls.sum()
    sticky = solve_problem(cases.build(name, case.n, walls="none").problem, "pi-pcg", rtol=1e-9)
    assert sticky.x[walls].min() < -1e-3 * np.abs(sticky.x).max()  # sticky walls pull
    assert find(problem.A) == []


@pytest.mark.parametrize("name", LIQUID)
@pytest.mark.parametrize("n", [5, 11])
def test_odd_and_tiny_sizes_build(name, n):
    case = cases.build(name, n)
    assert case.n == n and case.name == name and np.isfinite(case.problem.b).all()


def test_left_half_of_the_ball_is_liquid():
    case = cases.build("sphere3d", 32)
    cells = (case.pressure_problem.cells + 0.5) / 32
    assert (cells[:, 0] < 0.5).all()
    volume = case.problem.n / 32**3
    assert volume == pytest.approx(2 / 3 * np.pi * 0.46**3, rel=0.2)


def test_fields_in_single_precision_give_the_same_problem():
    from nonstick.cases import first_step
    from nonstick.grid.mac import Grid
    from nonstick.grid.shapes import Ball, HalfSpace

    grid, tank = Grid.unit(20), ~Ball((0.5, 0.5, 0.5), 0.46)
    liquid = HalfSpace((0.49, 0.5, 0.5), (1.0, 0.1, 0.0))
    double, single = (first_step(grid, tank, liquid, dtype=t) for t in (np.float64, np.float32))
    np.testing.assert_array_equal(double.cells, single.cells)
    assert single.problem.A.diagonal.dtype == np.float64
    np.testing.assert_allclose(single.rhs, double.rhs, atol=1e-5 * np.abs(double.rhs).max())


@pytest.mark.parametrize(
    ("n", "mean", "largest"),
    [(9, 3.076e-3, 1.334e-2), (17, 2.707e-3, 1.428e-2)],
)
def test_obstacle_errors_are_the_published_ones(n, mean, largest):
    """PETSc's SNES tutorial ex9 prints these."""
    case = cases.build("obstacle2d", n)
    error = np.abs(solve_problem(case.problem, "pi-pcg", rtol=1e-10).x - case.exact)
    assert error.sum() / n**2 == pytest.approx(mean, rel=5e-4)
    assert error.max() == pytest.approx(largest, rel=5e-4)


def test_obstacle_in_three_dimensions_converges():
    error = []
    for n in (9, 17):
        case = cases.build("obstacle3d", n)
        error.append(np.abs(solve_problem(case.problem, "pi-pcg", rtol=1e-9).x - case.exact).max())
    assert error[1] < 0.4 * error[0]


@pytest.mark.parametrize(
    ("n", "value"), [(4, 0.753659753), (10, 1.397897560), (23, 1.678027027), (32, 1.748270031), (100, 1.88646121)]
)
def test_obstcla_values(n, value):
    """Optimal values listed with the CUTEst problem OBSTCLA, to the digits given."""
    case = cases.build("obstcla2d", n)
    solution = solve_problem(case.problem, "pi-pcg", rtol=1e-10)
    assert case.problem.objective(solution.x) == pytest.approx(value, abs=5e-9)


def test_bad_names_and_sizes_are_named():
    with pytest.raises(NonstickError, match="sphere3d"):
        cases.build("shpere3d", 8)
    with pytest.raises(NonstickError, match="size"):
        cases.build("sphere3d", 1)


@pytest.mark.parametrize("n", [9, 10, 12, 15])
def test_coarse_sheets_are_consistent(n):
    """A linear function solves the discrete problem on every level, whatever the distance of the boundary."""
    plane = lambda x, y: 1.0 + 2.0 * x - 3.0 * y  # noqa: E731
    sheet = cases._Sheet.of(n, 2, -1.0, 2.0, plane, lambda x, y: 0.0 * x * y - 100.0)
    while sheet.axis.size > 3:
        problem = sheet.problem()
        inner = sheet.axis[1:-1]
        exact = plane(inner[:, None], inner[None, :]).ravel()
        np.testing.assert_allclose(problem.A @ exact, problem.b, atol=1e-12)
        assert min(sheet.gap) > 0
        sheet = sheet.coarser()
