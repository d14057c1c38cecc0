"""Gravity on masses, and the divergence of straight moves: kernels against slow twins, and flows known exactly."""

import itertools

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.discretise._pressure import LIGHTEST
from nonstick.grid.faces import FaceField
from nonstick.sim.liquid.flow._masses import HEAVIEST, RESOLVED, _add_weight, _folding, _loads
from nonstick.sim.liquid.flow.masses import folding

SHAPES = [(1, 7, 6), (5, 4, 6)]


def face_shape(shape, axis):
    return tuple(n + (a == axis) for a, n in enumerate(shape))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_weight_matches_the_twin(axis):
    """Carried liquid weighs what its shape weighs; faces at the surface tell how much is carried together.

    A face with hardly a particle has at least a sixth of what it carries as its mass.
    """
    shape, push, head = (5, 4, 6), -0.3, -7.0
    rng = np.random.default_rng(axis)
    faces = face_shape(shape, axis)
    pressure, fraction = rng.normal(30.0, 4.0, shape), rng.uniform(0.5, 1.0, shape)
    pressure -= 7.0 * np.indices(shape)[axis]
    liquid = (rng.random(shape) < 0.6).astype(np.int8)
    hat, opened, mass = rng.random(faces), np.maximum(rng.uniform(-0.3, 1.0, faces), 0.0), rng.uniform(0.0, 1.5, faces)
    hat[rng.random(faces) < 0.3] = 1.0
    mass[rng.random(faces) < 0.2] = 0.0
    u = rng.normal(size=faces)
    found, heavy = u.copy(), mass.copy()
    rises, weights = np.empty(faces), np.empty(faces)
    _loads(rises, weights, pressure, fraction, liquid, hat, opened, axis)
    _add_weight(found, push, rises, weights, hat, opened, heavy, head, axis)

    def load(f):
        """Rise of pressure and weight of the shape; None where no cell beside the face has a pressure."""
        low = tuple(k - (a == axis) for a, k in enumerate(f))
        if not 0 < f[axis] < shape[axis] or opened[f] == 0.0 or not (liquid[f] or liquid[low]):
            return None
        return opened[f] * (liquid[f] * pressure[f] * fraction[f] - liquid[low] * pressure[low] * fraction[low]), (
            opened[f] * hat[f]
        )

    kinds = set()
    for f in np.ndindex(faces):
        own, weighs = load(f), 1.0
        if opened[f] > 0.0:
            around = [f]
            if hat[f] < 1.0:
                around = [tuple(np.add(f, d) - 1) for d in np.ndindex(3, 3, 3)]
                around = [n for n in around if min(n) >= 0 and all(np.less(n, faces))]
                around = [n for n in around if own or n[axis] == f[axis]]
            loads = [one for one in map(load, around) if one]
            rise, weight = (sum(one[part] for one in loads) for part in (0, 1))
            carried = np.clip(rise / (head * weight), 0.0, 1.0) if weight else 0.0
            weight, moved = own[1] if own else 0.0, mass[f]
            if weight > 0.0:
                moved = max(mass[f], carried * weight / HEAVIEST, LIGHTEST * opened[f])
            weighs = (1.0 - carried) + (carried * weight / moved if weight > 0.0 else 0.0)
            assert heavy[f] == pytest.approx(moved, rel=1e-12)
            kinds.add((own is None, hat[f] == 1.0, mass[f] == 0.0, 0.0 < carried < 1.0))
        assert found[f] == pytest.approx(u[f] + push * weighs, rel=1e-12)
    assert {(False, False, False, True), (True, False, False, True), (False, True, False, True)} <= kinds
    assert (False, False, True, True) in kinds


def slope(values, c, axis, other, full):
    """Change over a cell along another axis, of the mean of the two faces of a cell; neighbours count if `full`."""

    def at(k):
        return tuple(k if a == other else x for a, x in enumerate(c))

    def centre(k):
        return 0.5 * (values[at(k)] + values[tuple(x + (a == axis) for a, x in enumerate(at(k)))])

    low, high = c[other], c[other]
    low -= low > 0 and full[at(low - 1)]
    high += high + 1 < full.shape[other] and full[at(high + 1)]
    return (centre(high) - centre(low)) / (high - low) if high > low else 0.0


@pytest.mark.parametrize("rate", [0.02, 0.1])
@pytest.mark.parametrize("shape", SHAPES)
def test_folding_matches_the_twin(shape, rate):
    rng = np.random.default_rng(7)
    first = int(shape[0] == 1)
    phi = rng.normal(-0.5, 1.0, shape)
    u = [rng.normal(size=face_shape(shape, a)) for a in range(3)]
    out, space = np.empty(shape), rng.uniform(0.0, 1.0, shape)
    full = (phi < 0.0) & (space > 0.25)
    _folding(out, phi, space, (*u,), first, rate)
    faded = 0
    for c in np.ndindex(shape):
        E = np.zeros((3, 3))
        for a, b in itertools.product(range(first, 3), repeat=2):
            high = tuple(x + (i == a) for i, x in enumerate(c))
            E[a, b] = u[a][high] - u[a][c] if a == b else slope(u[a], c, a, b, full)
        E *= rate
        E[range(first, 3), range(first, 3)] -= np.trace(E) / (3 - first)
        strain, turn = np.linalg.norm(0.5 * (E + E.T)), np.linalg.norm(0.5 * (E - E.T))
        keep = np.clip(2.0 - np.sqrt(strain * (strain + turn)) / RESOLVED, 0.0, 1.0)
        faded += keep < 1.0
        expected = space[c] * 0.5 * np.trace(E @ E) * keep if phi[c] < 0.0 else 0.0
        assert out[c] == pytest.approx(expected, abs=1e-14)
    assert (out != 0.0).any() and (faded > 0) == (rate > 0.05)


@pytest.mark.parametrize("kind", ["turn", "strain"])
def test_straight_moves_with_this_divergence_keep_volumes(kind):
    """A linear flow: det(I + dt grad v) = 1 up to the third order of the step, and not of the second."""
    n, dx = 9, 1.0 / 9
    G = {"turn": np.array([[0.0, -1.0], [1.0, 0.0]]), "strain": np.array([[1.0, 0.3], [0.3, -1.0]])}[kind]
    faces = FaceField([np.zeros((2, n, n)), *(np.zeros(face_shape((1, n, n), a)) for a in (1, 2))], range(1, 3))
    for axis, u in faces.each():
        x = np.meshgrid(
            *[dx * (np.arange(m) + 0.5 * (a + 1 != axis)) for a, m in enumerate(u.shape[1:])], indexing="ij"
        )
        u[0] = G[axis - 1, 0] * x[0] + G[axis - 1, 1] * x[1]
    phi = np.full((1, n, n), -1.0)
    for dt in (0.05, 0.025):
        out = np.empty(phi.shape)
        _folding(out, phi, np.ones(phi.shape), (*faces,), 1, dt / dx)
        wanted = out[0, 4, 4] / dt
        with_source = np.linalg.det(np.eye(2) * (1.0 + 0.5 * dt * wanted) + dt * G)
        assert abs(with_source - 1.0) < 1.1 * dt**4
        assert abs(np.linalg.det(np.eye(2) + dt * G) - 1.0) > 0.9 * dt**2


def test_straight_moves_in_a_turning_circle_need_no_volume():
    """What the turn of the liquid asks for comes through the bent wall: -(ω dt)² times the area, and as much back."""
    n, turn = 32, 0.035
    solid = {"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.45}, "container": True}
    liquid = {"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.55}}
    scene = Scene({"domain": {"size": [1.0, 1.0], "resolution": n}, "solid": [solid], "liquid": [liquid]})
    solids = Simulation(scene).liquid.solids
    velocity = solids.grid.still()
    for axis, sign in ((1, -1.0), (2, 1.0)):
        u = velocity[axis]
        across = np.arange(u.shape[3 - axis]) + 0.5 - 0.5 * n
        u += sign * (across[None, None, :] if axis == 1 else across[None, :, None])
    phi = np.full(solids.grid.three, -1.0)
    whole = folding(velocity, phi, solids, turn * scene.dx) * turn * scene.dx
    asked = -(turn**2) * np.pi * (0.45 * n) ** 2
    inside = np.empty(phi.shape)
    _folding(inside, phi, solids.space, (*velocity,), 1, turn)
    assert inside.sum() == pytest.approx(asked, rel=0.05)
    assert abs(whole.sum()) < 0.06 * abs(asked)


def test_liquid_that_turns_with_its_wall_keeps_its_place():
    """The rigid turn (R - I) x / dt has the divergence that is asked, in all cells."""
    n, degrees, dt = 24, 360.0, 0.02
    solid = {"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.41}, "container": True}
    solid["motion"] = {"spin": degrees, "about": [0.5, 0.5]}
    liquid = {"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.55}}
    scene = Scene({"domain": {"size": [1.0, 1.0], "resolution": n}, "solid": [solid], "liquid": [liquid]})
    solids = Simulation(scene).liquid.solids
    solids.update(dt, dt)
    velocity = solids.velocity
    phi = np.full(solids.grid.three, -1.0)
    asked = folding(velocity, phi, solids, dt) * dt
    divergence = sum(np.diff(u, axis=axis) for axis, u in velocity.each()) * dt / scene.dx
    cut = (solids.space > 0.0) & (solids.space < 1.0)
    assert np.allclose(divergence[0, 8:16, 8:16], 2.0 * (np.cos(np.radians(degrees) * dt) - 1.0))
    assert (
        np.abs(asked - divergence)[solids.space > 0.9].max() < 2e-4
        and np.abs(asked[cut] - divergence[cut]).max() < 2e-3
    )
