"""Bodies in the pressure equation: against a face-by-face twin, and the identities that hold exactly."""

import itertools

import numpy as np
import pytest

from nonstick import NonstickError, PressureProblem
from nonstick.discretise.coupling import Body, Coupling
from nonstick.grid.fractions import closed_box, cover, open_fractions
from nonstick.grid.mac import Grid
from nonstick.grid.shapes import Ball, Box

G = 9.81


def tilted_box(d, centre, size):
    centre, size = np.asarray(centre), np.asarray(size)
    box = Box(tuple(centre - size / 2), tuple(centre + size / 2))
    return box.rotate(0.4, *(((0.0, 0.0, 1.0),) if d == 2 else ((1.0, 2.0, 0.5),)), tuple(centre))


def make(d, n=12, density=400.0, centre=None, velocity=None, spin=None, shape=None, **options):
    grid = Grid.unit(n, d)
    centre = np.full(d, 0.49) if centre is None else np.asarray(centre)
    shape = tilted_box(d, centre, [0.4, 0.3, 0.35][:d]) if shape is None else shape
    spin = (0.0 if d == 2 else np.zeros(3)) if spin is None else spin
    velocity = np.zeros(d) if velocity is None else np.asarray(velocity)
    return grid, Body(shape.sample(grid.nodes()), centre, velocity, spin, density, **options)


def faces(grid, value=0.0):
    return [np.full(grid.face_shape(a), value) for a in range(grid.dimension)]


def everywhere(grid):
    """Liquid in every cell, every face of the box open: no walls."""
    return np.full(grid.shape, -1.0), tuple(np.ones(grid.face_shape(a)) for a in range(grid.dimension))


def cross(a, b):
    return np.cross(a, b) if len(a) == 3 else np.array([a[0] * b[1] - a[1] * b[0]])


def kinematics(body, grid, axis, face):
    """k of one face, by the cross product."""
    r = np.array([grid.dx * (f + (0.0 if a == axis else 0.5)) for a, f in enumerate(face)]) - body.centre
    unit = np.eye(grid.dimension)[axis]
    return np.append(unit, cross(r, unit))


def twin_of_cover(phi):
    """Four pieces a cell along each axis, filled by their distance, summed over the cube around each face."""
    d = phi.ndim
    cells = np.array(phi.shape) - 1
    pieces = np.zeros(tuple(4 * cells))
    for piece in np.ndindex(*pieces.shape):
        at = (np.array(piece) + 0.5) / 4
        low = at.astype(int)
        part, s = at - low, 0.0
        nodes = phi[tuple(slice(i, i + 2) for i in low)]
        for corner in np.ndindex(*(2,) * d):
            s += nodes[corner] * np.prod([p if c else 1 - p for p, c in zip(part, corner)])
        pieces[piece] = np.clip(0.5 - 4 * s, 0, 1)
    out = []
    for axis in range(d):
        share = np.zeros(cells + (np.arange(d) == axis))
        for face in np.ndindex(*share.shape):
            cube = [slice(max(4 * f - 2, 0), 4 * f + 2) if a == axis else slice(4 * f, 4 * f + 4)
                    for a, f in enumerate(face)]  # fmt: skip
            share[face] = pieces[tuple(cube)].sum() / 4**d
        out.append(share)
    return out


@pytest.mark.parametrize("d", [2, 3])
def test_what_a_body_covers_does_not_depend_on_where_it_lies(d):
    """Moved through the grid, a box of six cells displaces the same volume but for its edges, along all axes alike."""
    grid = Grid.unit(16, d)
    volumes = []
    for shift in np.linspace(0, grid.dx, 7):
        box = Box((0.2 + shift,) * d, (0.6 + shift,) * d)
        volumes += [s.sum() * grid.dx**d / 0.4**d for s in cover(box.sample(grid.nodes()) / grid.dx)]
    assert np.ptp(volumes) < 0.04 and 0.94 < min(volumes) <= max(volumes) < 1.0
    flat = Box((-1.0,) * d, (2.0, 0.55, 2.0)[:d])  # a wall without edges is exact
    assert cover(flat.sample(grid.nodes()) / grid.dx)[1].sum() * grid.dx**d == pytest.approx(0.55)


def test_rounding_decides_nothing():
    """A box with its sides in planes of the grid: a symmetric one is covered symmetrically."""
    grid = Grid.unit(20, 2)
    for share in cover(Box((0.3, 0.115), (0.7, 0.315)).sample(grid.nodes()) / grid.dx):
        assert np.allclose(share, share[::-1], atol=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_coupling_term_against_a_twin(d):
    """G and M summed face by face, and the assembled system with them."""
    grid, body = make(d, n=7, velocity=[0.3, -0.2, 0.1][:d], spin=0.7 if d == 2 else np.array([0.2, -0.5, 0.7]))
    rng = np.random.default_rng(3)
    phi = rng.normal(-0.7, 1, grid.shape)
    velocity = tuple(rng.normal(size=u.shape) for u in faces(grid))
    problem = PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.02, dx=grid.dx, walls="none", bodies=[body])
    share = twin_of_cover(body.phi / grid.dx)
    dofs = 3 if d == 2 else 6
    flux, M = np.zeros((*grid.shape, dofs)), np.zeros((dofs, dofs))
    for axis in range(d):
        for face in np.ndindex(*share[axis].shape):
            k, s = kinematics(body, grid, axis, face), share[axis][face]
            M += body.density * grid.dx**d * s * np.outer(k, k)
            below = tuple(f - (a == axis) for a, f in enumerate(face))
            if below[axis] >= 0:
                flux[below] += s * k / grid.dx
            if face[axis] < grid.shape[axis]:
                flux[face] -= s * k / grid.dx
    # every face the body covers lies inside the grid, so nothing of it is taken by the closed sides
    U = problem.rows.from_grid(np.arange(phi.size).reshape(grid.shape))
    U = flux.reshape(-1, dofs)[U]
    V = np.append(body.velocity, body.spin)
    bare = PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.02, dx=grid.dx, walls="none",
                           weights=problem.weights)  # fmt: skip
    expected = bare.matrix.toarray() + 0.02 * grid.dx**d * U @ np.linalg.solve(M, U.T)
    assert np.allclose(problem.coupling.free[0].mass, M)
    assert np.allclose(problem.matrix.toarray(), expected, rtol=1e-10, atol=1e-12 * expected.max())
    assert np.allclose(problem.rhs, bare.rhs - U @ V)


@pytest.mark.parametrize("d", [2, 3])
def test_constant_pressure_neither_pushes_nor_turns(d):
    grid, body = make(d)
    phi, open_faces = everywhere(grid)
    problem = PressureProblem(
        phi_liquid=phi, velocity=faces(grid), dt=0.1, dx=grid.dx, weights=open_faces, bodies=[body]
    )
    (moved,) = problem.moved(np.full(grid.shape, 1e5))
    assert np.abs(moved.impulse).max() < 1e-9 * 1e5 and np.abs(moved.angular_impulse).max() < 1e-9 * 1e5


@pytest.mark.parametrize("d, ratio", list(itertools.product([2, 3], [0.25, 1.0, 2.0])))
def test_hydrostatic_pressure_lifts_by_the_displaced_liquid(d, ratio):
    """Any shape, any angle: the acceleration is (1/ratio - 1) g upwards, without spin; ratio 1 hovers."""
    grid, body = make(d, density=1000.0 * ratio)
    phi, open_faces = everywhere(grid)
    problem = PressureProblem(
        phi_liquid=phi, velocity=faces(grid), dt=0.1, dx=grid.dx, weights=open_faces, bodies=[body]
    )
    depth = np.broadcast_to(1.0 - grid.cells()[1], grid.shape)
    (moved,) = problem.moved(1000.0 * G * depth)
    lift = np.zeros(d)
    lift[1] = 0.1 * G / ratio
    assert np.allclose(moved.velocity, lift, atol=1e-10)
    assert np.abs(moved.spin).max() < 1e-9
    displaced = 1000.0 * grid.dx**d * problem.coupling.covered[0].shares[1].sum()
    assert moved.impulse[1] == pytest.approx(0.1 * G * displaced)


def momentum(problem, velocity, V):
    """Of liquid (mass ρ w dx^d on faces) and bodies, with the angular momentum about the origin."""
    d, dx = problem.dimension, problem.dx
    total = np.zeros(3 if d == 2 else 6)
    for axis, (u, w) in enumerate(zip(velocity, problem.weights)):
        for face in np.argwhere(w > 0):
            face = tuple(face)
            r = np.array([dx * (f + (0.0 if a == axis else 0.5)) for a, f in enumerate(face)])
            unit = np.eye(d)[axis]
            total += problem.rho * dx**d * w[face] * u[face] * np.append(unit, cross(r, unit))
    for c, motion in zip(problem.coupling.covered, V):
        own = c.mass @ motion
        total[:d] += own[:d]
        total[d:] += own[d:] + cross(c.body.centre, own[:d])
    return total


def blob(d, seed=0):
    """A drop of liquid with two bodies in it, far from the sides of the grid; no gravity, no walls."""
    n = 24 if d == 2 else 14
    grid = Grid.unit(n, d)
    rng = np.random.default_rng(seed)
    phi = Ball((0.5,) * d, 0.37).sample(grid.cells())
    bodies = []
    for x, density in ((0.36, 200.0), (0.66, 3000.0)):
        centre = np.array([x, 0.5, 0.52][:d])
        shape = tilted_box(d, centre, [0.2, 0.24, 0.2][:d])
        spin = rng.normal() if d == 2 else rng.normal(size=3)
        bodies.append(Body(shape.sample(grid.nodes()), centre, rng.normal(size=d), spin, density))
    velocity = tuple(rng.normal(size=u.shape) for u in faces(grid))
    return PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.01, dx=grid.dx, walls="none", bodies=bodies)


@pytest.mark.parametrize("d", [2, 3])
def test_momentum_is_conserved_and_energy_does_not_grow(d):
    problem = blob(d)
    solution = problem.solve("mg-cg", rtol=1e-12)
    # the mass of a face at the free surface is its wet part: the ghost fluid's theta
    wet = surface_shares(problem)
    before = [c.motion for c in problem.coupling.covered]
    after = [np.append(m.velocity, m.spin) for m in solution.bodies]
    problem.weights = tuple(w * t for w, t in zip(problem.weights, wet))
    old, new = (momentum(problem, u, V) for u, V in ((problem.velocity, before), (solution.velocity, after)))
    assert np.allclose(old, new, atol=1e-8 * np.abs(old).max())
    energy = []
    for u, V in ((problem.velocity, before), (solution.velocity, after)):
        liquid = sum(float((w * a**2).sum()) for w, a in zip(problem.weights, u))
        own = sum(float(v @ c.mass @ v) for c, v in zip(problem.coupling.covered, V))
        energy.append(0.5 * problem.rho * problem.dx**d * liquid + 0.5 * own)
    assert energy[1] < energy[0]


def surface_shares(problem):
    """θ on faces between liquid and air, 1 between liquid cells, 0 between air cells and on the sides."""
    phi, out = problem.phi_liquid, []
    for axis in range(problem.dimension):
        share = np.zeros(problem.weights[axis].shape)
        for face in np.ndindex(*share.shape):
            if 0 < face[axis] < problem.shape[axis]:
                a, b = phi[tuple(f - (k == axis) for k, f in enumerate(face))], phi[face]
                a, b = min(a, b), max(a, b)
                share[face] = 1.0 if b < 0 else 0.0 if a >= 0 else max(a / (a - b), 0.01)
        out.append(share)
    return out


@pytest.mark.parametrize("d", [2, 3])
def test_result_is_free_of_divergence_with_the_new_motion(d):
    problem = blob(d, seed=5)
    solution = problem.solve("auto", rtol=1e-11)
    left = problem.rows.from_grid(problem.divergence(solution.velocity, solution.bodies))
    assert np.abs(left).max() < 1e-9 * np.abs(problem.rhs).max()
    assert np.allclose(left, solution.dual, atol=1e-9 * np.abs(problem.rhs).max())


@pytest.mark.parametrize("d", [2, 3])
def test_a_body_of_the_liquids_density_hovers(d):
    """In a closed tank with a free surface: one step of gravity leaves it at rest to solver tolerance."""
    grid, body = make(d, density=1000.0, velocity=[0.0, -G * 0.01, 0.0][:d])
    velocity = faces(grid)
    velocity[1] -= G * 0.01
    phi = np.broadcast_to(grid.cells()[1] - 0.86, grid.shape)
    problem = PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.01, dx=grid.dx, walls="cut", bodies=[body])
    solution = problem.solve("auto", rtol=1e-11)
    assert np.abs(solution.bodies[0].velocity).max() < 1e-10
    assert np.abs(solution.bodies[0].spin).max() < 1e-9
    wet = [s > 0 for s in surface_shares(problem)]
    assert max(np.abs(u[(w > 0) & t]).max() for u, w, t in zip(solution.velocity, problem.weights, wet)) < 1e-8


def test_windows_are_as_good_as_whole_grids():
    grid, body = make(2, n=16)
    low, high = (3, 4), (14, 14)
    window = body.phi[low[0] : high[0], low[1] : high[1]]
    part = Body(window, body.centre, body.velocity, body.spin, body.density, corner=low)
    rng = np.random.default_rng(0)
    fields = {"phi_liquid": rng.normal(-1, 1, grid.shape), "velocity": faces(grid), "dt": 0.1, "dx": grid.dx}
    one, two = (PressureProblem(**fields, bodies=[b]) for b in (body, part))
    assert np.allclose(one.matrix.toarray(), two.matrix.toarray(), rtol=1e-12, atol=0)


def test_faces_are_shared_where_solids_meet():
    """Open and covered shares of a face sum to one, static solids first, and nothing is counted twice."""
    grid = Grid((10, 8), 0.1)
    first = Body(
        Box((0.2, 0.2), (0.52, 0.6)).sample(grid.nodes()), np.array([0.36, 0.4]), np.array([1.0, 0.0]), 0.0, 10.0
    )
    other = Body(
        Box((0.48, 0.2), (0.8, 0.6)).sample(grid.nodes()), np.array([0.64, 0.4]), np.array([3.0, 0.0]), 0.0, 10.0
    )
    floor = open_fractions(Box((-1.0, -1.0), (2.0, 0.25)).sample(grid.nodes()))
    coupling = Coupling([first, other], floor, None, grid.shape, grid.dx)
    for axis in range(2):
        covered = np.zeros(grid.face_shape(axis))
        for c in coupling.covered:
            covered[c.window(axis)] += c.beta[axis]
        assert np.allclose(coupling.weights[axis] + covered + 1.0 - floor[axis], 1.0)
        assert all((c.beta[axis] <= c.shares[axis] + 1e-15).all() for c in coupling.covered)
        assert coupling.weights[axis].min() >= 0.0
    u = coupling.solid_velocity()[0]
    assert u[5, 4] == pytest.approx(2.0) and u[3, 4] == pytest.approx(1.0) and u[3, 0] == 0.0


def test_prescribed_bodies_move_as_they_are_told():
    grid, body = make(2, density=None, velocity=[0.5, 0.0])
    phi = np.broadcast_to(grid.cells()[1] - 0.8, grid.shape)
    moving = PressureProblem(phi_liquid=phi, velocity=faces(grid), dt=0.1, dx=grid.dx, bodies=[body])
    solution = moving.solve(rtol=1e-10)
    assert solution.bodies[0].velocity.tolist() == [0.5, 0.0]
    (there,) = moving.coupling.covered
    speed = faces(grid)
    speed[0][there.window(0)] = 0.5 * (there.shares[0] > 0)
    fields = {"phi_liquid": phi, "velocity": faces(grid), "dt": 0.1, "dx": grid.dx}
    solid = PressureProblem(**fields, weights=moving.weights, solid_velocity=speed)
    assert np.allclose(solution.pressure, solid.solve(rtol=1e-10).pressure, atol=1e-7 * solution.pressure.max())


def test_tiny_bodies_and_bodies_half_outside_use_their_exact_mass():
    grid = Grid.unit(8, 2)
    speck = Ball((0.55, 0.55), 0.02)
    exact = {"mass": 2.0, "inertia": 0.01}
    _, body = make(2, n=8, shape=speck, centre=[0.55, 0.55], **exact)
    coupling = Coupling([body], closed_box(grid.shape), None, grid.shape, grid.dx)
    assert np.allclose(coupling.free[0].mass, np.diag([2.0, 2.0, 0.01]))
    shape = Box((-0.2, 0.3), (0.1, 0.6))
    _, body = make(2, n=8, shape=shape, centre=[-0.05, 0.45], mass=400 * 0.09, inertia=1.0)
    coupling = Coupling([body], closed_box(grid.shape), None, grid.shape, grid.dx)
    assert np.allclose(coupling.free[0].mass, np.diag([36.0, 36.0, 1.0]))
    _, body = make(2, n=8, shape=speck, centre=[0.55, 0.55])
    with pytest.raises(NonstickError, match="smaller than the cells of the grid"):
        Coupling([body], closed_box(grid.shape), None, grid.shape, grid.dx)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"velocity": np.zeros(3)}, "velocity of 2 numbers"),
        ({"velocity": np.array([np.nan, 0.0])}, "NaN"),
        ({"density": -1.0}, "density"),
        ({"density": None, "mass": 1.0}, "inertia"),
        ({"density": None, "mass": 1.0, "inertia": 0.0}, "positive"),
        ({"corner": (3, 0)}, "nodes of the grid"),
    ],
)
def test_bad_bodies_are_refused(change, words):
    grid, body = make(2)
    fields = {"phi": body.phi, "centre": body.centre, "velocity": body.velocity, "density": 400.0} | change
    phi = np.full(grid.shape, -1.0)
    with pytest.raises(NonstickError, match=words):
        PressureProblem(phi_liquid=phi, velocity=faces(grid), dt=0.1, dx=grid.dx, bodies=[Body(**fields)])
