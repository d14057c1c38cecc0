"""Mass and inertia against closed forms and quadrature, poses, state."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nonstick import NonstickError
from nonstick.bodies import rotation
from nonstick.bodies.body import RigidBody
from nonstick.grid import shapes as sd
from nonstick.grid.shapes.base import integrate

FLAT = {
    "disc": sd.Ball((0.3, -0.2), 0.4),
    "box": sd.Box((-0.1, 0.2), (0.7, 0.5)),
    "capsule": sd.Capsule((0.0, 0.0), (0.6, 0.3), 0.2),
    "annulus": sd.Torus((0.1, 0.2), 0.5, 0.15),
    "turned": sd.Box((-0.1, 0.2), (0.7, 0.5)).rotate(0.7, centre=(0.1, 0.1)).move((0.2, -0.3)),
}
SPACE = {
    "ball": sd.Ball((0.3, -0.2, 0.1), 0.4),
    "box": sd.Box((-0.1, 0.2, 0.0), (0.7, 0.5, 0.6)),
    "capsule": sd.Capsule((0.0, 0.0, 0.1), (0.6, 0.3, 0.4), 0.2),
    "torus": sd.Torus((0.1, 0.2, 0.3), 0.5, 0.2, (0.0, 1.0, 1.0)),
    "turned": sd.Capsule((0.0, 0.0, 0.1), (0.6, 0.3, 0.4), 0.2).rotate(0.7, (1.0, 2.0, 0.0), (0.1, 0.1, 0.0)),
}


@pytest.mark.parametrize(
    "shape, d", [(s, 2) for s in FLAT.values()] + [(s, 3) for s in SPACE.values()], ids=[*FLAT, *SPACE]
)
def test_exact_moments_agree_with_quadrature(shape, d):
    exact, approximate = shape.moments(d), integrate(shape, d)
    assert approximate.volume == pytest.approx(exact.volume, rel=2e-3)
    assert np.allclose(approximate.centre, exact.centre, atol=1e-3)
    assert np.allclose(approximate.second, exact.second, rtol=1e-2, atol=5e-3 * exact.second.max())
    low, high = shape.bounds(d)
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (d, 20000))
    inside = x[:, shape(*x) < 0]
    assert (inside > low[:, None]).all() and (inside < high[:, None]).all()


def test_inertia_of_ball_and_box():
    ball = RigidBody(sd.Ball((0.0, 0.0, 0.0), 0.5), 1000.0)
    assert np.allclose(ball.inertia, 0.4 * ball.mass * 0.25 * np.eye(3))
    box = RigidBody(sd.Box((0.0, 0.0), (2.0, 1.0)), 10.0)
    assert box.inertia.shape == (1, 1) and box.inertia[0, 0] == pytest.approx(20.0 * 5 / 12)


def test_mesh_moments_are_those_of_its_solid():
    import trimesh

    mesh = trimesh.creation.box((0.4, 0.6, 1.0))
    mesh.apply_translation([1.0, 2.0, 3.0])
    for faces in (mesh.faces, mesh.faces[:, ::-1]):
        found = sd.Mesh(np.array(mesh.vertices), np.array(faces)).moments(3)
        exact = sd.Box((0.8, 1.7, 2.5), (1.2, 2.3, 3.5)).moments(3)
        assert found.volume == pytest.approx(exact.volume)
        assert np.allclose(found.centre, exact.centre) and np.allclose(found.second, exact.second)


def test_union_and_difference():
    two = sd.Box((0.0, 0.0), (1.0, 1.0)) | sd.Box((1.0, 0.0), (3.0, 1.0))
    found = two.moments(2)
    assert found.volume == pytest.approx(3.0, rel=5e-3) and np.allclose(found.centre, [1.5, 0.5], atol=2e-3)
    ring = sd.Ball((0.0, 0.0), 1.0) - sd.Ball((0.0, 0.0), 0.5)
    assert ring.moments(2).volume == pytest.approx(0.75 * np.pi, rel=1e-3)


@pytest.mark.parametrize("shape, words", [
    (sd.HalfSpace((0.0, 0.0), (0.0, 1.0)), "bounded shape"),
    (~sd.Ball((0.0, 0.0), 1.0), "bounded shape"),
    (sd.Ball((0.0, 0.0), 0.3) & sd.Ball((1.0, 0.0), 0.3), "empty"),
    (sd.Ball((0.0, 0.0), 0.3) - sd.Ball((0.0, 0.0), 0.3), "empty"),  # a surface without an inside
])  # fmt: skip
def test_shapes_without_mass_are_refused(shape, words):
    with pytest.raises(NonstickError, match=words):
        RigidBody(shape, 1000.0)


def test_pose_carries_distance_and_velocity():
    body = RigidBody(sd.Box((0.0, 0.0, 0.0), (0.4, 0.2, 0.6)), 800.0, velocity=(1.0, 0.0, 0.0), spin=(0.0, 0.0, 2.0))
    body.centre = np.array([1.0, 2.0, 3.0])
    body.orientation = rotation.from_vector(np.array([0.0, 0.0, np.pi / 2]))
    # a quarter turn about z brings the x axis (half extent 0.2) to y
    assert body.phi(np.array(1.0), np.array(2.3), np.array(3.0)) == pytest.approx(0.1)
    assert body.phi(np.array(1.2), np.array(2.0), np.array(3.0)) == pytest.approx(0.1)
    v = body.velocity_at(np.array(1.0), np.array(2.5), np.array(3.0))
    assert np.allclose(v, [0.0, 0.0, 0.0])
    assert np.allclose(body.inertia, body.rotation @ body.own_inertia @ body.rotation.T)
    assert body.placed().sample(tuple(np.ix_(np.zeros(2), np.zeros(3), np.zeros(4)))).shape == (2, 3, 4)


def test_state_survives():
    for shape, v, w in ((FLAT["box"], (1.0, 2.0), 3.0), (SPACE["box"], (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))):
        body = RigidBody(shape, 100.0, v, w)
        saved = body.state()
        other = RigidBody(shape, 100.0)
        other.restore(saved)
        assert np.array_equal(other.state(), saved)
        other.velocity += 1.0
        assert np.array_equal(body.state(), saved)
        with pytest.raises(NonstickError, match="numbers"):
            other.restore(saved[:-1])


def test_wrong_numbers_of_components():
    with pytest.raises(NonstickError, match="components"):
        RigidBody(FLAT["box"], 100.0, velocity=(1.0, 2.0, 3.0))
    with pytest.raises(NonstickError, match="density"):
        RigidBody(FLAT["box"], -1.0)


def test_rotations():
    rng = np.random.default_rng(1)
    for _ in range(20):
        a, b = rng.normal(size=(2, 3))
        p, q = rotation.from_vector(a), rotation.from_vector(b)
        twin_p, twin_q = Rotation.from_rotvec(a), Rotation.from_rotvec(b)
        assert np.allclose(rotation.matrix(p), twin_p.as_matrix(), rtol=0, atol=1e-14)
        assert np.allclose(rotation.matrix(rotation.product(p, q)), (twin_p * twin_q).as_matrix(), rtol=0, atol=1e-14)
        assert np.allclose(rotation.matrix(rotation.turned(p, b)), (twin_q * twin_p).as_matrix(), rtol=0, atol=1e-14)
        r = rng.normal(size=3)
        assert np.allclose(rotation.cross(a, r), np.cross(a, r))
    assert np.allclose(rotation.from_vector(np.zeros(3)), [1, 0, 0, 0])


def test_a_body_needs_a_shape():
    with pytest.raises(NonstickError, match="shape must be a Shape"):
        RigidBody(None, 1000.0)
