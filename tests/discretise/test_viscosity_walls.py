"""No-slip walls by their true distance: a slow twin, exact flows, tilted walls, rigid motions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from places import faces_of, nodes_of

from nonstick import NonstickError, ViscosityProblem
from nonstick.discretise.fields import liquid_volumes
from nonstick.discretise.viscosity_walls import NEAREST
from nonstick.grid.fractions import open_fractions


def full(cells, velocity, phi_solid, mu=1.0, dt=1.0, **more):
    """A box full of liquid around solids."""
    fields = dict(velocity=velocity, viscosity=mu, dt=dt, dx=1.0, rho=1.0, phi_liquid=-np.ones(cells))
    return ViscosityProblem(**fields, phi_solid=phi_solid, **more)


def twin(problem, d_faces, volumes):
    """The dense matrix and the drag towards walls, difference by difference; all faces outside `number` are solid."""
    masses, cells_k, edges_k = volumes
    d = len(d_faces)
    number = {tuple(f): n for n, f in enumerate(problem.faces)}
    A = np.zeros((problem.n, problem.n))
    length = np.ones((problem.n, d, 2))

    def share(a, at, b, step):
        """θ towards the neighbour, or None if it is liquid."""
        to = list(at)
        to[b] += step
        if (a, *to) in number:
            return None
        if any(i < 0 or i >= n for i, n in zip(to, d_faces[a].shape)):
            inner = list(at)
            inner[b] -= step
            here = d_faces[a][tuple(at)]
            fall = d_faces[a][tuple(inner)] - here
            return 1.0 if a == b else max(here / fall, NEAREST) if here < 0.5 * fall else 0.5
        near, far = d_faces[a][tuple(at)], d_faces[a][tuple(to)]
        return max(near / (near - far), NEAREST) if far < 0 <= near else 1.0

    def pair(a, high, b, k):
        """Rows and signs of the liquid faces of a difference, and θ."""
        low = list(high)
        low[b] -= 1
        found = [(number[a, *at], sign) for at, sign in ((high, 1.0), (low, -1.0)) if (a, *at) in number]
        if len(found) == 2:
            return found, 1.0
        if not found:
            return found, None
        row, sign = found[0]
        theta = share(a, high if sign > 0 else low, b, -1 if sign > 0 else 1)
        if k > 0:
            length[row, b, 0 if sign > 0 else 1] = theta
        return found, theta

    def add(found, k):
        for (i, s), (j, t) in itertools.product(found, found):
            A[i, j] += k * s * t

    for a in range(d):
        for at in np.ndindex(*cells_k.shape):
            k = 2 * cells_k[at]
            high = list(at)
            high[a] += 1
            found, theta = pair(a, high, a, k)
            add(found, k / (theta or 1.0))
    for e, (a, b) in zip(range(len(edges_k)), [(0, 1)] if d == 2 else [(1, 2), (0, 2), (0, 1)]):
        for at in np.ndindex(*edges_k[e].shape):
            k = edges_k[e][at]
            one, theta = pair(a, list(at), b, k)
            two, other = pair(b, list(at), a, k)
            c = 1.0
            if theta is not None and other is not None and max(theta, other) < 1.0:
                c = 1.0 / max(theta, other)
            add(one + two, k * c)
            for part, t in ((one, theta), (two, other)):
                if t is not None and len(part) == 1:
                    A[part[0][0], part[0][0]] += k * (1.0 / t - c)
    for (a, *at), n in number.items():
        weight = [sum(t**-2 for t in length[n, b] if t < 1.0) for b in range(d)]
        mean = [length[n, b].mean() for b in range(d)]
        A[n, n] += masses[a][tuple(at)] * (np.dot(weight, mean) / sum(weight) if sum(weight) else 1.0)
    return A


@pytest.mark.parametrize("cells", [(9, 8), (6, 5, 7)])
def test_matrix_against_its_twin(cells):
    """A tilted wall and a ball, a surface with fractions."""
    rng = np.random.default_rng(0)
    x = nodes_of(cells)
    solid = np.minimum(x[1] - 0.3 * x[0] - 0.7, np.sqrt(sum((q - 4.1) ** 2 for q in x)) - 1.3)
    centre = np.meshgrid(*[np.arange(n) + 0.5 for n in cells], indexing="ij")
    volumes = liquid_volumes(centre[1] - 0.2 * centre[0] - 3.9)
    velocity = [rng.standard_normal(f[0].shape) for f in faces_of(cells)]
    problem = ViscosityProblem(
        velocity=velocity, viscosity=1.0, dt=1.0, dx=1.0, rho=1.0, volumes=volumes, phi_solid=solid
    )
    distance = []
    for a in range(len(cells)):
        d = solid
        for axis in range(len(cells)):
            if axis != a:
                d = 0.5 * (np.delete(d, 0, axis) + np.delete(d, -1, axis))
        distance.append(d)
    expected = twin(problem, distance, volumes)
    np.testing.assert_allclose(problem.matrix.toarray(), expected, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_array_equal(problem.matrix.toarray(), problem.matrix.toarray().T)
    assert np.linalg.eigvalsh(expected)[0] > 1e-6
    masks = ViscosityProblem(
        velocity=velocity, viscosity=1.0, dt=1.0, dx=1.0, rho=1.0, volumes=volumes, fluid=problem.fluid,
        distance=distance,
    )  # fmt: skip
    np.testing.assert_array_equal(masks.matrix.toarray(), problem.matrix.toarray())
    np.testing.assert_array_equal(masks.rhs, problem.rhs)


@pytest.mark.parametrize("along", [0, 1])
@pytest.mark.parametrize("offset", [0.0, 0.25, 0.5, 0.75, 0.999])
@pytest.mark.parametrize("speed", [0.0, 0.7])
def test_a_parabola_over_a_wall_along_the_grid_is_exact(along, offset, speed):
    """Driven flow between two plates, one of them moving; wherever the plates lie in their cells."""
    cells = (7, 13) if along == 0 else (13, 7)
    across = 1 - along
    low, high = 1.0 + offset, 10.3 + offset
    y = faces_of(cells)[along][across]
    exact = 0.5 * (y - low) * (high - y) + speed * (high - y) / (high - low)
    exact[y <= low], exact[y >= high] = speed, 0.0
    x = nodes_of(cells)[across]
    dt = 1e3
    velocity = [np.zeros(f[0].shape) for f in faces_of(cells)]
    velocity[along] = exact + dt * ((y > low) & (y < high))
    for end in (0, -1):  # the ends of the box are solid faces: they move as the flow does
        index = (end, slice(None)) if along == 0 else (slice(None), end)
        velocity[along][index] = exact[index]
    problem = full(cells, velocity, np.minimum(x - low, high - x), dt=dt)
    found = sla.spsolve(problem.matrix.tocsc(), problem.rhs)
    solved = problem.with_unknowns(found)[along]
    np.testing.assert_allclose(solved, exact, atol=1e-8 * dt if offset != 0.5 else 5 * NEAREST)


def test_sides_of_the_box_are_walls():
    """A channel from side to side: 0 at the sides, not half a cell beyond."""
    cells, dt = (40, 6), 1e4
    u, v = np.full((41, 6), dt), np.zeros((40, 7))
    y = np.arange(6) + 0.5
    u[0] = u[-1] = 0.5 * y * (6 - y)
    problem = full(cells, (u, v), np.ones((41, 7)), dt=dt)
    found = problem.with_unknowns(sla.spsolve(problem.matrix.tocsc(), problem.rhs))[0]
    np.testing.assert_allclose(found[20], 0.5 * y * (6 - y), rtol=1e-3)


@pytest.mark.parametrize("thick", [0.1, 0.33, 0.45])
def test_a_solid_thinner_than_half_a_cell_along_a_side_is_a_wall_at_its_own_place(thick):
    """A channel whose floor and ceiling are thin solids on the sides; the faces in the first cells are liquid."""
    cells, dt = (40, 6), 1e4
    low, high = thick, 6.0 - 0.7 * thick
    y = faces_of(cells)[0][1]
    exact = 0.5 * (y - low) * (high - y)
    u, v = np.full((41, 6), dt), np.zeros((40, 7))
    u[0] = u[-1] = exact[0]
    nodes = nodes_of(cells)[1]
    problem = full(cells, (u, v), np.minimum(nodes - low, high - nodes), dt=dt)
    found = problem.with_unknowns(sla.spsolve(problem.matrix.tocsc(), problem.rhs))[0]
    np.testing.assert_allclose(found[20], exact[20], rtol=1e-3)


def test_a_solid_across_a_side_does_not_bring_the_side_nearer():
    """A wall at a right angle to a side, 0.1 cells beside a face in its first cell."""
    cells = (6, 5)
    u, v = np.zeros((7, 5)), np.zeros((6, 6))
    drag = full(cells, (u, v), nodes_of(cells)[0] - 1.9).drag  # the face at x = 2 is 0.1 cells away from it
    np.testing.assert_allclose(drag.strength[~drag.inside], 1.0)


def tilted_shear(n, angle, shift):
    """Couette flow between tilted plates n cells apart, far from the ends: its slip length at the lower plate."""
    size = round(7 * n)
    cells = (size, size)
    t, normal = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    middle = 0.5 * size + shift

    def height(x):
        return normal[0] * (x[0] - middle) + normal[1] * (x[1] - middle) + 0.5 * n

    velocity = []
    for a, x in enumerate(faces_of(cells)):
        velocity.append(np.clip(height(x), 0.0, n) * t[a])
    h = height(nodes_of(cells))
    problem = full(cells, velocity, np.minimum(h, n - h), dt=1e6)
    main = int(angle > 0.25 * np.pi)  # the component along the plates
    solved = problem.with_unknowns(sla.spsolve(problem.matrix.tocsc(), problem.rhs))[main]
    x = faces_of(cells)[main]
    near = (np.abs(x[main] - middle) < n) & (height(x) > 0.25 * n) & (height(x) < 0.75 * n)
    slope, start = np.polyfit(height(x)[near], solved[near] / t[main], 1)
    return start / slope


@pytest.mark.parametrize("degrees", [5.0, 17.0, 30.0, 45.0, 73.0])
def test_tilted_walls_do_not_slip(degrees):
    """Below 0.02 cells at every angle; faces that are solid or not, without distances, slip by 0.3 cells."""
    slips = [tilted_shear(10, np.radians(degrees), shift) for shift in (0.0, 0.3)]
    assert max(map(abs, slips)) < 0.02, slips


@pytest.mark.parametrize("cells", [(13, 12), (11, 10, 12)])
def test_liquid_that_turns_with_its_walls_is_left_alone(cells):
    """A rigid motion makes no stress at walls that cut the cells."""
    d = len(cells)
    rng = np.random.default_rng(1)
    W = rng.standard_normal((d, d))
    W -= W.T
    shift = rng.standard_normal(d)
    velocity = [sum(W[a, i] * x[i] for i in range(d)) + shift[a] for a, x in enumerate(faces_of(cells))]
    x = nodes_of(cells)
    solid = 3.4 - np.sqrt(sum((q - 0.5 * n) ** 2 for q, n in zip(x, cells)))
    problem = full(cells, velocity, solid, mu=50.0)
    found = problem.with_unknowns(sla.spsolve(problem.matrix.tocsc(), problem.rhs))
    for a in range(d):
        np.testing.assert_allclose(found[a], velocity[a], atol=1e-10)


def stokes_drag(radius, shift=0.3):
    """Drag of a cylinder that moves in the middle of a square tank 12 radii wide, over μ and its speed."""
    n = 12 * radius
    x = nodes_of((n, n))
    solid = np.hypot(x[0] - 0.5 * n - shift, x[1] - 0.5 * n - 0.6 * shift) - radius
    middle = 0.5 * (solid[1:] + solid[:-1])
    u, v = np.zeros((n + 1, n)), (middle < 0).astype(float)
    dt = 1e8
    problem = full((n, n), (u, v), solid, dt=dt)
    number = [np.full(f.shape, -1) for f in (u, v)]
    for row, (a, *at) in enumerate(problem.faces):
        number[a][tuple(at)] = row
    cell, rows, columns, values, flux = np.arange(n * n).reshape(n, n), [], [], [], np.zeros((n, n))
    near = (np.zeros(u.shape), (middle < 3.0).astype(float))  # the body's velocity
    for a, share in enumerate(open_fractions(solid)):
        for side, sign in ((slice(0, n), -1.0), (slice(1, n + 1), 1.0)):
            at = (side, slice(None)) if a == 0 else (slice(None), side)
            free = number[a][at] >= 0
            rows.append(cell[free])
            columns.append(number[a][at][free])
            values.append(sign * share[at][free])
            flux += sign * np.where(free, (1.0 - share[at]) * near[a][at], (u, v)[a][at])
    D = sp.csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), (n * n, problem.n))
    live = np.flatnonzero(abs(D).sum(axis=1) > 0)
    saddle = sp.block_array([[problem.matrix / dt, -D[live].T], [D[live], -1e-9 * sp.eye_array(live.size)]])
    found = sla.spsolve(saddle.tocsc(), np.concatenate([problem.rhs / dt, -flux.ravel()[live]]))[: problem.n]
    moving = problem._pad([v * ~f for v, f in zip(problem.velocity, problem.fluid)])
    padded = problem._pad(problem.with_unknowns(found))
    heat = 0.0  # what the drag does per second is what the stress turns into heat
    for offsets, k in problem.system._samples():
        at = np.flatnonzero(k)
        heat += k[at] @ sum(sign * padded[at + shift] for shift, sign in offsets) ** 2
    heat += problem.drag.strength @ (padded[problem.drag.face] - problem.drag.speed(moving)) ** 2
    return heat / dt


def test_drag_of_a_cylinder_converges_fast():
    """8 cells over the diameter are enough for half a percent; 13.911 at 32 cells. Solid faces alone: 8 % less."""
    drags = [stokes_drag(radius) for radius in (4, 6, 8)]
    np.testing.assert_allclose(drags, 13.911, rtol=0.006)
    assert abs(drags[2] - 13.911) < abs(drags[0] - 13.911)


def test_a_face_that_left_its_wall_is_free():
    """A liquid face inside a solid has no wall; a solid face outside of it holds its velocity in its middle."""
    cells = (8, 8)
    velocity = [np.random.default_rng(2).standard_normal(f[0].shape) for f in faces_of(cells)]
    fluid = [np.ones(f[0].shape, bool) for f in faces_of(cells)]
    fluid[0][3:5, 3] = False
    fields = dict(velocity=velocity, viscosity=1.0, dt=1.0, dx=1.0, volumes=liquid_volumes(-np.ones(cells)))
    plain = ViscosityProblem(**fields, fluid=fluid)
    for value in (1.0, -1.0):
        distance = [np.where(f, value, abs(value)) for f in fluid]
        other = ViscosityProblem(**fields, fluid=fluid, distance=distance)
        here, there = (p.matrix.toarray() for p in (plain, other))
        sides = np.any(np.isin(plain.faces[:, 1:], (0, 7)), axis=1)  # the sides of the box are walls now
        np.testing.assert_array_equal(here[~sides][:, ~sides], there[~sides][:, ~sides])


def test_faulty_distances():
    cells = (4, 4)
    velocity = [np.zeros(f[0].shape) for f in faces_of(cells)]
    fluid = [np.ones(f[0].shape, bool) for f in faces_of(cells)]
    fields = dict(velocity=velocity, viscosity=1.0, dt=1.0, dx=1.0, phi_liquid=-np.ones(cells))
    with pytest.raises(NonstickError, match="distance belongs to fluid masks"):
        ViscosityProblem(**fields, distance=velocity)
    with pytest.raises(NonstickError, match="distance needs 2 arrays"):
        ViscosityProblem(**fields, fluid=fluid, distance=velocity[:1])
    with pytest.raises(NonstickError, match=r"distance\[1\] has shape"):
        ViscosityProblem(**fields, fluid=fluid, distance=[velocity[0], velocity[0]])


def test_a_thin_wall_that_turns_makes_no_stress():
    """Liquid and a round wall, one face thick at the sides of the grid, turn together: nothing changes."""
    n, dx = 12, 1.0 / 12
    nodes = np.linspace(0.0, 1.0, n + 1) - 0.5
    middles = nodes[:-1] + 0.5 * dx
    u = np.broadcast_to(-middles, (n + 1, n)).copy()
    v = np.broadcast_to(middles[:, None], (n, n + 1)).copy()
    wall = 0.44 - np.hypot(nodes[:, None], nodes[None, :])
    distance = (0.5 * (wall[:, 1:] + wall[:, :-1]), 0.5 * (wall[1:] + wall[:-1]))
    fluid = [d > 0.0 for d in distance]
    for a, mask in enumerate(fluid):
        mask[(slice(None),) * a + (0,)] = mask[(slice(None),) * a + (-1,)] = False
    given = {"viscosity": 10.0, "dt": 0.1, "dx": dx, "phi_liquid": -np.ones((n, n)), "fluid": fluid}

    def change(**more):
        problem = ViscosityProblem(velocity=(u, v), distance=distance, **given, **more)
        found = problem.solve(rtol=1e-10).velocity
        return max(float(np.abs(f - g).max()) for f, g in zip(found, (u, v)))

    assert change(solid_velocity=(u, v)) < 1e-6
    assert change() > 1e-3  # continued from a single solid face it is wrong by a cell
    with pytest.raises(NonstickError, match="solid_velocity needs 2 arrays"):
        change(solid_velocity=(u,))


@pytest.mark.parametrize("cells", [(14, 13), (10, 9, 11)])
@pytest.mark.parametrize("moving", [False, True])
def test_shear_over_a_tilted_wall_is_exact_with_the_correction(cells, moving):
    """The rows of the matrix alone are wrong by a share of the shear; a rigid motion of all changes nothing."""
    d = len(cells)
    rng = np.random.default_rng(5)
    normal = np.array([-0.3, 0.9, 0.42])[:d]
    normal /= np.linalg.norm(normal)
    shear = rng.standard_normal(d)
    shear -= normal * (normal @ shear)
    spin, push = rng.standard_normal((d, d)), rng.standard_normal(d)
    spin -= spin.T
    exact, fluid, distance, solids = [], [], [], []
    for a, x in enumerate(faces_of(cells)):
        here = sum(n * (c - 0.4 * m) for n, c, m in zip(normal, x, cells))
        rim = np.ones(here.shape, bool)
        rim[(slice(2, -2),) * d] = False
        solid = push[a] + sum(spin[a, i] * c for i, c in enumerate(x)) if moving else np.zeros(here.shape)
        exact.append(solid + shear[a] * np.maximum(here, 0.0))
        fluid.append((here > 0.0) & ~rim)
        distance.append(here)
        solids.append(solid)
    problem = ViscosityProblem(
        velocity=exact, viscosity=1.0, dt=1.0, dx=1.0, rho=1.0, fluid=fluid, distance=distance, solid_velocity=solids,
        phi_liquid=-np.ones(cells),
    )  # fmt: skip
    symmetric = problem.rhs
    before = np.abs(problem.problem.gradient(problem.advected())).max()
    assert before > 0.1
    assert problem.correct_walls(exact) > 1e-4
    wrong = np.abs(problem.problem.gradient(problem.advected()))
    assert np.count_nonzero(wrong > 1e-9 * before) <= 0.02 * wrong.size  # a few faces beside the rim
    problem.correct_walls(solids)
    np.testing.assert_allclose(problem.rhs, symmetric, atol=1e-9)
