"""Bodies whose distance the viscosity step knows: momentum, rigid motions, heavy bodies."""

from __future__ import annotations

import numpy as np
import pytest
from places import faces_of

from nonstick.discretise.viscosity_bodies import ViscosityWithBodies, ViscousBody


def ball_in_drop(cells, seed=0, mass=120.0):
    """A ball in a free drop, its distance known; everything in units of cells."""
    rng = np.random.default_rng(seed)
    d = len(cells)
    middle = np.array([0.5 * n for n in cells])
    phi = np.sqrt(sum((np.asarray(x) - m) ** 2 for x, m in zip(np.meshgrid(
        *[np.arange(n) + 0.5 for n in cells], indexing="ij"), middle))) - 0.42 * cells[0]  # fmt: skip
    centre, radius = middle + 0.31, 0.19 * cells[0]
    distance = [np.sqrt(sum((p - q) ** 2 for p, q in zip(x, centre))) - radius for x in faces_of(cells)]
    owner = [np.where(r < 0, 0, -1) for r in distance]
    inertia = 0.4 * mass * radius**2 * (1.0 if d == 2 else np.diag([1.0, 0.7, 1.3]))
    body = ViscousBody(centre, rng.standard_normal(d), rng.standard_normal(1 if d == 2 else 3), mass, inertia)
    velocity = [rng.standard_normal(r.shape) for r in distance]
    fields = dict(
        velocity=velocity, viscosity=30.0, dt=0.7, dx=1.0, rho=2.0, phi_liquid=phi, body_of_face=owner,
        fluid=[np.ones(r.shape, bool) for r in distance], distance=distance,
    )  # fmt: skip
    return body, fields


def rigid_rows(cells, a, x, origin):
    """Rows kᵀ of all faces of a component."""
    r = np.stack([p.ravel() - o for p, o in zip(x, origin)], axis=1)
    e = np.eye(len(cells))[a]
    turn = (r[:, 0] * e[1] - r[:, 1] * e[0])[:, None] if len(cells) == 2 else np.cross(r, e)
    return np.concatenate([np.broadcast_to(e, (len(r), len(cells))), turn], axis=1)


@pytest.mark.parametrize("cells", [(16, 16), (9, 9, 9)])
def test_drag_on_a_body_conserves_momentum(cells):
    d = len(cells)
    body, fields = ball_in_drop(cells)
    coupled = ViscosityWithBodies(bodies=[body], **fields)
    liquid = coupled.liquid
    A = coupled.matrix.toarray()
    np.testing.assert_allclose(A, A.T, atol=1e-12 * np.abs(A).max())
    if d == 2:
        assert np.linalg.eigvalsh(A)[0] > -1e-12 * np.abs(A).max()
    solution = coupled.solve(rtol=1e-13)
    assert solution.converged
    inertia = np.zeros(3 * liquid.grid.P)
    inertia += liquid.system.m
    np.subtract.at(inertia, liquid.drag.face, liquid.drag.strength)
    weight = 2.0 * liquid.system.gather(inertia)
    assert np.count_nonzero(weight < 1.999 * (weight > 0)) > 0
    rows = np.concatenate([rigid_rows(cells, a, x, np.zeros(d)) for a, x in enumerate(faces_of(cells))])
    start = np.cumsum([0] + [f[0].size for f in faces_of(cells)])
    number = [start[f[0]] + np.ravel_multi_index(tuple(f[1:]), faces_of(cells)[f[0]][0].shape) for f in liquid.faces]

    def total(u, v, spin):
        P = body.mass_matrix(d) @ np.concatenate([v, np.atleast_1d(spin)])
        c = body.centre
        P[d:] += c[0] * P[1] - c[1] * P[0] if d == 2 else np.cross(c, P[:3])
        return rows[number].T @ (weight * u) + P

    before = total(liquid.advected(), body.velocity, body.spin)
    after = total(solution.x[: liquid.n], *solution.motions[0])
    np.testing.assert_allclose(after, before, atol=1e-9 * np.abs(before).max())
    assert np.abs(solution.motions[0][0] - body.velocity).max() > 0.05


@pytest.mark.parametrize("cells", [(16, 16), (9, 9, 9)])
def test_a_body_that_turns_with_its_drop_feels_no_drag(cells):
    d = len(cells)
    body, fields = ball_in_drop(cells)
    V = np.concatenate([body.velocity, body.spin])
    velocity = [(rigid_rows(cells, a, x, body.centre) @ V).reshape(x[0].shape) for a, x in enumerate(faces_of(cells))]
    solution = ViscosityWithBodies(bodies=[body], **{**fields, "velocity": velocity}).solve(rtol=1e-13)
    for u, w in zip(solution.velocity, velocity):
        np.testing.assert_allclose(u, w, atol=1e-9)
    np.testing.assert_allclose(np.append(*solution.motions[0]), V, atol=1e-9)
    assert d == len(solution.motions[0][0])


def test_a_heavy_body_is_a_wall():
    body, fields = ball_in_drop((20, 20), mass=1e10)
    walls = ViscousBody(body.centre, body.velocity, body.spin)
    free, held = (ViscosityWithBodies(bodies=[b], **fields).solve(rtol=1e-11) for b in (body, walls))
    for u, w in zip(free.velocity, held.velocity):
        np.testing.assert_allclose(u, w, atol=1e-6)
