"""Bodies in the viscosity step: dense assembly, conservation, limits of mass, inputs at the edge."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg as sla
from places import faces_of

from nonstick import NonstickError, ViscosityProblem
from nonstick.discretise.viscosity_bodies import ViscosityWithBodies, ViscousBody

METHODS = ("visc-auto", "visc-box-mg", "visc-cg", "visc-mic-cg", "visc-direct")


def scene(cells, mu=1.0, mass=None, walls=True, seed=0, bodies=1, radius=0.16, **more):
    """Balls in a drop (or in a box full of liquid with `walls`), everything moving at random."""
    rng = np.random.default_rng(seed)
    d, h = len(cells), 1.0 / cells[0]
    centres = np.meshgrid(*[(np.arange(n) + 0.5) * h for n in cells], indexing="ij")
    middle = np.array([0.5 * n * h for n in cells])
    phi = -np.ones(cells) if walls else np.sqrt(sum((x - m) ** 2 for x, m in zip(centres, middle))) - 0.42
    owner = [np.full([n + (i == a) for i, n in enumerate(cells)], -1) for a in range(d)]
    made = []
    for i in range(bodies):
        c = middle + 0.03 + (0.3 * i if walls else 0.0)
        for a, x in enumerate(faces_of(cells, h)):
            owner[a][np.sqrt(sum((p - q) ** 2 for p, q in zip(x, c))) < radius] = i
        m = 3.0 * h**d * 40 if mass is None else mass
        made.append(
            ViscousBody(
                centre=c,
                velocity=rng.standard_normal(d),
                spin=rng.standard_normal(1 if d == 2 else 3),
                mass=m,
                inertia=0.4 * m * radius**2 * (1.0 if d == 2 else np.diag([1.0, 0.7, 1.3])),
            )
        )
    velocity = [rng.standard_normal(o.shape) for o in owner]
    return ViscosityWithBodies(
        velocity=velocity, viscosity=mu, dt=0.7, dx=h, rho=2.0, phi_liquid=phi, bodies=made, body_of_face=owner, **more
    ), dict(velocity=velocity, viscosity=mu, dt=0.7, dx=h, rho=2.0, phi_liquid=phi), owner  # fmt: skip


def rigid(a, x, centre, d):
    """kᵀ by the cross product."""
    r = np.stack([p - c for p, c in zip(x, centre)], axis=-1)
    if d == 2:
        e = np.eye(2)[a]
        return np.concatenate([e, [r[0] * e[1] - r[1] * e[0]]])
    return np.concatenate([np.eye(3)[a], np.cross(r, np.eye(3)[a])])


@pytest.mark.parametrize("cells", [(11, 10), (8, 7, 9)])
@pytest.mark.parametrize("bodies", [1, 2])
def test_matrix_against_a_dense_assembly(cells, bodies):
    """The matrix of liquid that fills the bodies too, with owned faces' columns combined to motions."""
    d, h = len(cells), 1 / cells[0]
    coupled, same, owner = scene(cells, bodies=bodies)
    whole = ViscosityProblem(**same)
    mass = whole.system.gather(whole.system.m)
    stress = whole.matrix.toarray() - np.diag(mass)
    owners = np.array([owner[f[0]][tuple(f[1:])] for f in whole.faces])
    liquid = np.flatnonzero(owners < 0)
    dofs = 3 if d == 2 else 6
    T = np.zeros((whole.n, liquid.size + dofs * bodies))
    T[liquid, np.arange(liquid.size)] = 1.0
    for n in np.flatnonzero(owners >= 0):
        a, *at = whole.faces[n]
        x = [(i + (0.0 if axis == a else 0.5)) * h for axis, i in enumerate(at)]
        first = liquid.size + dofs * owners[n]
        T[n, first : first + dofs] = rigid(a, x, coupled.bodies[owners[n]].centre, d)
    M = np.zeros((T.shape[1], T.shape[1]))
    M[: liquid.size, : liquid.size] = np.diag(mass[liquid])
    V = np.concatenate([whole.advected()[liquid], *[b.motion(d) for b in coupled.bodies]])
    for i, body in enumerate(coupled.bodies):
        at = slice(liquid.size + dofs * i, liquid.size + dofs * (i + 1))
        M[at, at] = body.mass_matrix(d) / (2.0 * h**d)
    unit = np.concatenate([np.ones(liquid.size), coupled.unit])
    expected = (T.T @ stress @ T + M) * np.outer(unit, unit)
    np.testing.assert_array_equal(whole.faces[liquid], coupled.liquid.faces)
    np.testing.assert_allclose(coupled.matrix.toarray(), expected, atol=1e-12 * np.abs(expected).max())
    walls = T.T @ (whole.rhs - mass * whole.advected())
    np.testing.assert_allclose(coupled.rhs, unit * (M @ V + walls), atol=1e-12 * np.abs(walls).max())
    rng = np.random.default_rng(1)
    x = rng.standard_normal(coupled.n)
    np.testing.assert_allclose(coupled.operator @ x, expected @ x, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cells", [(24, 22), (10, 9, 11)])
def test_methods_agree_with_a_direct_solve(method, cells):
    for mu, mass in ((1e-3, 1e-4), (1.0, None), (1e3, 1e-4), (1e3, 1e3)):
        coupled, *_ = scene(cells, mu=mu, mass=mass, bodies=2)
        exact = sla.spsolve(coupled.matrix.tocsc(), coupled.rhs)
        solution = coupled.solve(method, rtol=1e-10)
        assert solution.converged, (mu, mass, solution.message)
        np.testing.assert_allclose(solution.x * _units(coupled), exact * _units(coupled), atol=1e-6)


def _units(coupled):
    return np.concatenate([np.ones(coupled.liquid.n), coupled.unit])


@pytest.mark.parametrize("cells", [(20, 20), (12, 12, 12)])
@pytest.mark.parametrize("mu", [1e-2, 1e2])
def test_momentum_of_drop_and_body_is_conserved(cells, mu):
    """A body in a free drop: linear and angular momentum of the two stay, energy falls."""
    d, h = len(cells), 1 / cells[0]
    coupled, same, owner = scene(cells, mu=mu, walls=False)
    solution = coupled.solve(rtol=1e-13)
    weight = coupled.liquid.system.gather(coupled.liquid.system.m) * 2.0 * h**d
    places = faces_of(cells, h)

    def total(u, motions):
        out, energy = np.zeros(3 if d == 2 else 6), 0.5 * weight @ u**2
        for f, m, v in zip(coupled.liquid.faces, weight, u):
            out += m * v * rigid(f[0], [x[tuple(f[1:])] for x in places[f[0]]], np.zeros(d), d)
        for body, (v, spin) in zip(coupled.bodies, motions):
            c, V = body.centre, np.concatenate([v, np.atleast_1d(spin)])
            P = body.mass_matrix(d) @ V
            energy += 0.5 * V @ P
            out += P
            if d == 2:
                out[2] += c[0] * P[1] - c[1] * P[0]
            else:
                out[3:] += np.cross(c, P[:3])
        return out, energy

    motions = [(b.velocity, b.spin) for b in coupled.bodies]
    before, energy = total(coupled.liquid.advected(), motions)
    after, less = total(solution.x[: coupled.liquid.n], solution.motions)
    np.testing.assert_allclose(after, before, atol=1e-10)
    assert less < energy


@pytest.mark.parametrize("cells", [(16, 15), (9, 10, 9)])
def test_a_body_that_turns_with_its_drop_is_left_alone(cells):
    d, h = len(cells), 1 / cells[0]
    coupled, same, owner = scene(cells, mu=10.0, walls=False)
    V = np.random.default_rng(3).standard_normal(3 if d == 2 else 6)
    origin = np.zeros(d)
    velocity = []
    for a, x in enumerate(faces_of(cells, h)):
        flat = [p.ravel() for p in x]
        rows = np.array([rigid(a, point, origin, d) for point in zip(*flat)])
        velocity.append((rows @ V).reshape(x[0].shape))
    body = coupled.bodies[0]
    c = body.centre
    v = V[:d] + (V[2] * np.array([-c[1], c[0]]) if d == 2 else np.cross(V[3:], c))
    moving = ViscousBody(c, v, V[d:], body.mass, body.inertia)
    solution = ViscosityWithBodies(**{**same, "velocity": velocity}, bodies=[moving], body_of_face=owner).solve(
        rtol=1e-13
    )
    for u, w in zip(solution.velocity, velocity):
        np.testing.assert_allclose(u, w, atol=1e-10)
    np.testing.assert_allclose(solution.motions[0][0], v, atol=1e-10)
    np.testing.assert_allclose(solution.motions[0][1], V[d:], atol=1e-10)


def test_heavy_bodies_are_walls_and_light_ones_follow():
    cells = (24, 24)
    heavy, same, owner = scene(cells, mu=5.0, mass=1e9)
    V = heavy.bodies[0]
    prescribed = ViscosityWithBodies(
        **same, bodies=[ViscousBody(V.centre, V.velocity, V.spin)], body_of_face=owner
    ).solve(rtol=1e-10)  # fmt: skip
    found = heavy.solve(rtol=1e-10)
    for u, w in zip(found.velocity, prescribed.velocity):
        np.testing.assert_allclose(u, w, atol=1e-6)
    np.testing.assert_array_equal(prescribed.motions[0][0], V.velocity)
    light, lighter = (scene(cells, mu=5.0, mass=mass)[0].solve(rtol=1e-10) for mass in (1e-7, 1e-9))
    assert light.converged and lighter.converged  # without mass a body is where the stress on it vanishes
    np.testing.assert_allclose(light.motions[0][0], lighter.motions[0][0], atol=1e-5)


def test_bodies_cost_few_iterations():
    for mu in (1e-2, 1.0, 1e3):
        coupled, same, _ = scene((48, 48), mu=mu, mass=1e-3, bodies=2)
        alone = ViscosityProblem(**same).solve().iterations
        assert coupled.solve().iterations <= 1.5 * alone + 3


def test_a_stronger_preconditioner_takes_over_with_bodies_too():
    """Layers of other viscosity: `visc-auto` goes on with the box smoother."""
    cells = (64, 60)
    layers = np.broadcast_to(np.where((np.arange(60) // 4) % 2 == 0, 1.0, 1e-4), cells)
    coupled, same, _ = scene(cells, mu=layers)
    solution = coupled.solve()
    assert solution.converged
    assert "switched_at" in ViscosityProblem(**same).solve().notes
    assert 10 <= solution.notes["switched_at"] < solution.iterations <= 40
    assert solution.notes["levels"] == 2  # those of the second


def test_walls_keep_their_faces_and_move_bodies():
    """A face in a wall and a body is the wall's; walls that move drag the body along."""
    cells = (12, 12)
    coupled, same, owner = scene(cells, mu=1e5)
    fluid = [np.zeros(o.shape, bool) for o in owner]
    for f in fluid:
        f[1:-1, 1:-1] = True
    owner[0][0, :] = 0  # claims part of a wall
    velocity = [np.ones(owner[0].shape), np.zeros(owner[1].shape)]
    body = ViscousBody(coupled.bodies[0].centre, np.zeros(2), 0.0, 0.01, 1e-4)
    solution = ViscosityWithBodies(
        **{**same, "velocity": velocity}, bodies=[body], body_of_face=owner, fluid=fluid
    ).solve(rtol=1e-12)  # fmt: skip
    np.testing.assert_array_equal(solution.velocity[0][0], 1.0)
    np.testing.assert_allclose(solution.motions[0][0], [1.0, 0.0], atol=1e-4)


def test_no_bodies_no_liquid_and_faulty_input():
    cells = (8, 7)
    _, same, owner = scene(cells)
    none = [np.full(o.shape, -1) for o in owner]
    alone = ViscosityProblem(**same).solve(rtol=1e-10)
    same_again = ViscosityWithBodies(**same, bodies=[], body_of_face=none).solve(rtol=1e-10)
    np.testing.assert_allclose(same_again.velocity[0], alone.velocity[0], atol=1e-8)
    body = ViscousBody(np.array([0.5, 0.5]), np.array([1.0, 2.0]), 3.0, 1.0, 0.1)
    dry = ViscosityWithBodies(**{**same, "phi_liquid": np.ones(cells)}, bodies=[body], body_of_face=owner).solve()
    assert dry.converged
    np.testing.assert_allclose(dry.motions[0][0], [1.0, 2.0])
    with pytest.raises(NonstickError, match="body_of_face"):
        ViscosityWithBodies(**same, bodies=[], body_of_face=owner)
    with pytest.raises(NonstickError, match="inertia"):
        ViscosityWithBodies(**same, bodies=[ViscousBody(np.zeros(2), np.zeros(2), 0.0, 1.0)], body_of_face=owner)
    with pytest.raises(NonstickError, match="finite"):
        bad = ViscousBody(np.zeros(2), np.array([np.nan, 0.0]), 0.0, 1.0, 1.0)
        ViscosityWithBodies(**same, bodies=[bad], body_of_face=owner)
