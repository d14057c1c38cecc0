"""The pressure equation against a cell-by-cell assembly, and what its solution does to the velocity."""

import itertools

import numpy as np
import pytest
import scipy.sparse.linalg as spl

import nonstick
from nonstick import NonstickError, PressureProblem
from nonstick.grid.mac import Grid
from nonstick.grid.shapes import HalfSpace, rotated_box

SHAPES = [(7, 5), (6, 6), (1, 4), (5, 4, 3), (3, 7, 4), (2, 1, 5)]


def random_fields(shape, seed, open_edges=False):
    rng = np.random.default_rng(seed)
    faces = [tuple(n + (b == a) for b, n in enumerate(shape)) for a in range(len(shape))]
    weights = []
    for axis, f in enumerate(faces):
        w = np.clip(rng.uniform(-0.4, 1.4, f), 0, 1)
        if not open_edges:
            np.moveaxis(w, axis, 0)[[0, -1]] = 0
        weights.append(w)
    return {
        "phi_liquid": rng.normal(-0.3, 1, shape),
        "weights": tuple(weights),
        "velocity": tuple(rng.normal(size=f) for f in faces),
        "solid_velocity": tuple(rng.normal(size=f) for f in faces),
        "dt": 0.013,
        "dx": 0.21,
        "rho": 870.0,
    }


def assemble(phi_liquid, weights, velocity, solid_velocity, dt, dx, rho):
    """The twin: dense matrix and right-hand side over the whole grid, one cell and one face at a time."""
    phi, shape = phi_liquid, phi_liquid.shape
    number = np.arange(phi.size).reshape(shape)
    A, b = np.zeros((phi.size, phi.size)), np.zeros(phi.size)
    unknown = np.zeros(shape, bool)
    for c in np.ndindex(shape):
        if not phi[c] < 0:
            continue
        for axis, side in itertools.product(range(phi.ndim), (0, 1)):
            f = tuple(x + (side if a == axis else 0) for a, x in enumerate(c))
            n = tuple(x + ((2 * side - 1) if a == axis else 0) for a, x in enumerate(c))
            w = weights[axis][f]
            sign = 2 * side - 1
            b[number[c]] -= sign * (w * velocity[axis][f] + (1 - w) * solid_velocity[axis][f]) / dx
            if not 0 <= n[axis] < shape[axis] or w == 0:
                continue
            unknown[c] = True
            k = w * dt / (rho * dx**2)
            if phi[n] < 0:
                A[number[c], number[c]] += k
                A[number[c], number[n]] -= k
            else:
                A[number[c], number[c]] += k / max(phi[c] / (phi[c] - phi[n]), 0.01)
    keep = unknown.ravel()
    return A[keep][:, keep], b[keep], np.argwhere(unknown)


@pytest.mark.parametrize("open_edges", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_matrix_and_rhs_match_the_twin(shape, open_edges):
    fields = random_fields(shape, 1, open_edges)
    problem = PressureProblem(**fields)
    A, b, cells = assemble(**fields)
    np.testing.assert_array_equal(problem.cells, cells)
    np.testing.assert_allclose(problem.matrix.toarray(), A, rtol=1e-13, atol=1e-18)
    np.testing.assert_allclose(problem.rhs, b, rtol=1e-12, atol=1e-13 * np.abs(b).max(initial=1))
    np.testing.assert_allclose(problem.problem.A @ np.ones(len(b)), A @ np.ones(len(b)), atol=1e-15)


@pytest.mark.parametrize("shape", SHAPES)
def test_divergence_after_the_update_is_the_dual(shape):
    problem = PressureProblem(**random_fields(shape, 2))
    x = np.random.default_rng(3).normal(size=problem.problem.n)
    velocity = problem.update(problem.rows.to_grid(x))
    after = problem.rows.from_grid(problem.divergence(velocity))
    np.testing.assert_allclose(after, problem.problem.gradient(x), rtol=1e-10, atol=1e-11)


def test_update_rules_per_face():
    fields = random_fields((6, 5), 4)
    problem = PressureProblem(**fields)
    new = problem.update(problem.rows.to_grid(np.random.default_rng(5).normal(size=problem.problem.n)))
    phi, w = fields["phi_liquid"], fields["weights"][0]
    liquid = np.pad(phi < 0, ((1, 1), (0, 0)))
    touches = liquid[1:] | liquid[:-1]
    np.testing.assert_array_equal(new[0][~touches], fields["velocity"][0][~touches])
    closed = touches & (w == 0)
    assert closed.any()
    np.testing.assert_array_equal(new[0][closed], fields["solid_velocity"][0][closed])


def test_nan_behind_closed_faces_is_never_read():
    fields = random_fields((6, 5), 7)
    poisoned = tuple(np.where(w == 0, np.nan, u) for w, u in zip(fields["weights"], fields["velocity"]))
    clean = PressureProblem(**fields)
    np.testing.assert_array_equal(PressureProblem(**{**fields, "velocity": poisoned}).rhs, clean.rhs)
    with pytest.raises(NonstickError, match="velocity"):
        PressureProblem(**{**fields, "velocity": tuple(np.full_like(u, np.nan) for u in fields["velocity"])})


def test_walls_choose_the_constrained_cells():
    fields = random_fields((8, 7), 8)
    w = fields["weights"]
    narrow = (w[0][1:] < 1) | (w[0][:-1] < 1) | (w[1][:, 1:] < 1) | (w[1][:, :-1] < 1)
    make = lambda walls: PressureProblem(**fields, walls=walls)  # noqa: E731
    rows = make("all").rows
    assert make("all").constrained.all() and not make("none").constrained.any()
    np.testing.assert_array_equal(make("cut").constrained, rows.from_grid(narrow))
    mean = (w[0][1:] + w[0][:-1] + w[1][:, 1:] + w[1][:, :-1]) / 4
    np.testing.assert_array_equal(make("solid").constrained, rows.from_grid(mean < 0.5))
    mask = np.random.default_rng(9).random((8, 7)) < 0.5
    np.testing.assert_array_equal(make(mask).constrained, rows.from_grid(mask))
    with pytest.raises(NonstickError, match="did you mean 'solid'"):
        make("solids")
    with pytest.raises(NonstickError, match="boolean"):
        make(mask.T)


def test_edges_join_unknowns_across_the_wall():
    n, dx = 12, 1 / 12
    x, y = np.meshgrid(np.arange(n + 1) * dx, np.arange(n + 1) * dx, indexing="ij")
    phi_solid = 0.37 - np.hypot(x - 0.5, y - 0.5)
    fields = {"phi_liquid": -np.ones((n, n)), "velocity": (np.zeros((n + 1, n)), np.zeros((n, n + 1)))}
    problem = PressureProblem(**fields, dt=0.1, dx=dx, phi_solid=phi_solid, walls="edge")
    edges = problem.problem.edges
    assert edges.count > 20 and not problem.constrained.any()
    a, b = problem.cells[edges.a], problem.cells[edges.b]
    assert (np.abs(a - b).sum(axis=1) == 1).all()
    wall = (a + 0.5) * dx + edges.theta[:, None] * (b - a) * dx
    distance = np.abs(np.hypot(*(wall - 0.5).T) - 0.37)
    assert distance.max() < 0.1 * dx


def test_adhesion_lowers_the_bound_and_separation_moves_the_rhs():
    fields = random_fields((6, 7), 10)
    plain = PressureProblem(**fields)
    sticky = PressureProblem(**fields, adhesion=12.0)
    np.testing.assert_array_equal(sticky.problem.box.lower, np.where(plain.constrained, -12.0, -np.inf))
    pushed = PressureProblem(**fields, separation=0.5)
    w = fields["weights"]
    area = np.hypot(w[0][1:] - w[0][:-1], w[1][:, 1:] - w[1][:, :-1])
    expected = np.where(plain.constrained, 0.5 * plain.rows.from_grid(area) / fields["dx"], 0.0)
    np.testing.assert_allclose(pushed.rhs - plain.rhs, expected, atol=1e-12)


def test_a_source_is_the_divergence_after_the_update():
    fields = random_fields((7, 6), 11)
    plain = PressureProblem(**fields, walls="none")
    source = np.random.default_rng(12).normal(size=(7, 6))
    problem = PressureProblem(**fields, walls="none", source=source)
    expected = problem.rows.from_grid(source)
    np.testing.assert_allclose(problem.rhs - plain.rhs, expected, atol=1e-12)
    x = np.random.default_rng(13).normal(size=problem.problem.n)
    after = problem.divergence(problem.update(problem.rows.to_grid(x)))
    np.testing.assert_allclose(
        problem.rows.from_grid(after), problem.problem.gradient(x) + expected, atol=1e-11 * np.abs(after).max()
    )


def test_a_large_source_sets_the_scale_of_the_residual():
    """The tolerance and the reported residual are relative to max|b| of the equation that is solved."""
    fields = random_fields((9, 8), 14)
    source = np.full((9, 8), 1e4)
    problem = PressureProblem(**fields, source=source)
    b = problem.rhs
    assert problem.problem.scale == np.abs(b).max() > 10 * PressureProblem(**fields).problem.scale
    solution = problem.solve("psor", rtol=1e-4)
    assert solution.converged
    g, d = problem.matrix @ solution.x - b, problem.matrix.diagonal()
    residual = np.where(problem.constrained, np.minimum(d * solution.x, g), g)
    assert solution.kkt() == pytest.approx(np.abs(residual).max() / np.abs(b).max(), rel=1e-6)


def test_nothing_liquid_is_an_empty_problem():
    shape = (4, 5, 3)
    velocity = tuple(np.zeros(tuple(n + (b == a) for b, n in enumerate(shape))) for a in range(3))
    problem = PressureProblem(phi_liquid=np.ones(shape), velocity=velocity, dt=0.1, dx=0.1)
    assert problem.problem.n == 0 and problem.matrix.shape == (0, 0) and problem.cells.shape == (0, 3)
    solution = problem.solve("auto")
    assert solution.converged and solution.pressure.shape == shape and not solution.pressure.any()


def test_a_single_liquid_cell():
    phi = np.ones((3, 3))
    phi[1, 1] = -0.5
    velocity = (np.zeros((4, 3)), np.zeros((3, 4)))
    velocity[0][1, 1] = 0.3  # inflow
    problem = PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.1, dx=0.1, walls=np.ones((3, 3), int))
    solution = problem.solve("auto", rtol=1e-10)
    k = 0.1 / (1000 * 0.1**2) / (1 / 3)
    assert solution.pressure[1, 1] == pytest.approx(3.0 / (4 * k))
    assert np.abs(problem.divergence(solution.velocity)[1, 1]) < 1e-9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dt": 0.0}, "dt must be"),
        ({"rho": np.nan}, "rho must be"),
        ({"phi_liquid": np.full((6, 5), np.nan)}, "phi_liquid"),
        ({"phi_liquid": np.ones(5)}, "2D or 3D"),
        ({"velocity": (np.zeros((6, 5)),) * 2}, "velocity"),
        ({"weights": (np.full((7, 5), 1.5), np.ones((6, 6)))}, "between 0 and 1"),
        ({"phi_solid": np.zeros((7, 6))}, "not both"),
        ({"source": np.ones(3)}, "source must be a number or an array over cells"),
        ({"source": np.nan}, "source must not be infinite or NaN"),
        ({"adhesion": -1.0}, "adhesion must not be negative"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(NonstickError, match=message):
        PressureProblem(**{**random_fields((6, 5), 0), **change})


def hydrostatic(problem, surface):
    p = spl.spsolve(problem.matrix.tocsc(), problem.rhs)
    depth = surface - (problem.cells[:, 1] + 0.5) * problem.dx
    return p, problem.rho * 9.81 * depth


@pytest.mark.parametrize("dimension", [2, 3])
def test_still_water_in_an_upright_tank_is_exact(dimension):
    n = 9
    dx = 1 / n
    shape = (n, n, 4)[:dimension]
    y = (np.arange(n) + 0.5) * dx
    phi = np.broadcast_to((y - 0.63).reshape((1, n, 1)[:dimension]), shape)
    velocity = tuple(
        np.full(tuple(m + (b == a) for b, m in enumerate(shape)), -9.81 * 0.02 if a == 1 else 0.0)
        for a in range(dimension)
    )
    problem = PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.02, dx=dx)
    p, exact = hydrostatic(problem, 0.63)
    np.testing.assert_allclose(p, exact, rtol=1e-11)
    for u in problem.update(problem.rows.to_grid(p)):
        assert np.abs(u[:, : int(0.63 * n) + 1]).max() < 1e-12


@pytest.mark.parametrize("dimension", [2, 3])
def test_still_water_in_a_tilted_tank_is_exact(dimension):
    grid = Grid.unit(13, dimension)
    tank = ~rotated_box((0.5,) * dimension, (0.36, 0.3, 0.33)[:dimension], 0.4, (1.0, 2.0, 3.0))
    normal = (0.0, 1.0, 0.0)[:dimension]
    velocity = tuple(np.full(grid.face_shape(a), -9.81 * 0.02 if a == 1 else 0.0) for a in range(dimension))
    problem = PressureProblem(
        phi_liquid=HalfSpace((0.52,) * dimension, normal).sample(grid.cells()),
        velocity=velocity,
        dt=0.02,
        dx=grid.dx,
        phi_solid=tank.sample(grid.nodes()),
    )
    p, exact = hydrostatic(problem, 0.52)
    np.testing.assert_allclose(p, exact, rtol=1e-9)
    new = problem.update(problem.rows.to_grid(p))
    assert np.abs(problem.rows.from_grid(problem.divergence(new))).max() < 1e-10


@pytest.mark.parametrize("kind", ["PressureProblem", "ViscosityProblem"])
@pytest.mark.parametrize("key", ["dt", "dx", "rho"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, "a", None, [1.0], True])
def test_scalars_that_are_no_positive_number(kind, key, value):
    given = {"phi_liquid": -np.ones((3, 4)), "velocity": (np.zeros((4, 4)), np.zeros((3, 5))), "dt": 0.1, "dx": 0.1}
    more = {"viscosity": 1.0} if kind == "ViscosityProblem" else {}
    with pytest.raises(nonstick.NonstickError, match=f"{key} must be a positive number"):
        getattr(nonstick, kind)(**{**given, **more, key: value})
