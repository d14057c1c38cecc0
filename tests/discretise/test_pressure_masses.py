"""The pressure equation for liquid whose mass on faces is given: kernels against slow twins, and what it keeps."""

import itertools

import numpy as np
import pytest

from nonstick import NonstickError, PressureProblem
from nonstick.discretise._pressure import LIGHTEST, TRACE

SHAPES = [(7, 6), (6, 1), (5, 4, 6), (1, 5, 4)]


def fields(shape, seed=0, moving=True, empty=0.25):
    """A ragged liquid; a part of the faces has no mass, and a part of the cells only a trace of liquid."""
    rng = np.random.default_rng(seed)
    faces = [tuple(n + (b == a) for b, n in enumerate(shape)) for a in range(len(shape))]
    weights, mass = [], []
    for axis, f in enumerate(faces):
        w = np.clip(rng.uniform(-0.4, 1.4, f), 0, 1)
        np.moveaxis(w, axis, 0)[[0, -1]] = 0
        weights.append(w)
        mass.append(np.where(rng.random(f) < empty, 0.0, rng.uniform(0.0, 1.4, f)))
    fraction = np.clip(rng.uniform(-0.6, 1.4, shape), 0.0, 1.0)
    out = {
        "phi_liquid": rng.normal(-0.1, 1, shape),
        "fraction": np.where(rng.random(shape) < 0.1, 0.5 * TRACE, fraction),
        "weights": tuple(weights),
        "mass": tuple(mass),
        "velocity": tuple(rng.normal(size=f) for f in faces),
    }
    if moving:
        out["solid_velocity"] = tuple(rng.normal(size=f) for f in faces)
    return out | {"dt": 0.013, "dx": 0.21, "rho": 870.0}


def sides(c, shape):
    """(axis, sign, face, neighbour or None) of the sides of a cell."""
    for axis, side in itertools.product(range(len(shape)), (0, 1)):
        f = tuple(x + (side if a == axis else 0) for a, x in enumerate(c))
        n = tuple(x + ((2 * side - 1) if a == axis else 0) for a, x in enumerate(c))
        yield axis, 2 * side - 1, f, n if 0 <= n[axis] < shape[axis] else None


def unknowns(phi_liquid, fraction, weights, **_):
    """The twin of `_cells_with_liquid`."""
    out = np.zeros(phi_liquid.shape, bool)

    def behind(c):
        return [n for axis, _, f, n in sides(c, out.shape) if weights[axis][f] > 0.0]

    def to_air(c):
        return any(n is not None and fraction[n] <= TRACE for n in behind(c))

    for c in np.ndindex(out.shape):
        air = to_air(c) or any(n is not None and phi_liquid[n] >= 0.0 and to_air(n) for n in behind(c))
        out[c] = fraction[c] > TRACE and bool(behind(c)) and (phi_liquid[c] < 0.0 or air)
    return out


def assemble(phi_liquid, fraction, weights, mass, velocity, dt, dx, rho, solid_velocity=None):
    """The twin of `_mass_rows`: dense, one cell and one face at a time."""
    shape, liquid = phi_liquid.shape, unknowns(phi_liquid, fraction, weights)
    number = np.full(shape, -1)
    number[liquid] = np.arange(liquid.sum())
    A, b = np.zeros((liquid.sum(),) * 2), np.zeros(liquid.sum())
    for c in np.argwhere(liquid):
        c = tuple(c)
        for axis, sign, f, n in sides(c, shape):
            w, s = weights[axis][f], 0.0 if solid_velocity is None else solid_velocity[axis][f]
            b[number[c]] -= sign * ((w * velocity[axis][f] if w > 0 else 0.0) + (1 - w) * s) / dx
            if n is None or w == 0.0:
                continue
            k = w**2 / max(mass[axis][f], LIGHTEST * w) * dt / (rho * dx**2)
            A[number[c], number[c]] += k
            if liquid[n]:
                A[number[c], number[n]] -= k
    return A, b, liquid


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_matrix_and_rhs_match_the_twin(shape, moving):
    given = fields(shape, 1, moving)
    problem = PressureProblem(**given)
    A, b, liquid = assemble(**given)
    np.testing.assert_array_equal(problem.cells, np.argwhere(liquid))
    np.testing.assert_allclose(problem.matrix.toarray(), A, rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(problem.rhs, b, rtol=1e-12, atol=1e-13 * np.abs(b).max(initial=1))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_cells_of_every_kind_occur(shape):
    """Cells with a trace; above their liquid, with a face to air or without."""
    kinds = set()
    for seed in range(40):
        given = fields(shape, seed)
        liquid = unknowns(**given)
        np.testing.assert_array_equal(PressureProblem(**given).rows.to_grid(np.ones(liquid.sum())) > 0, liquid)
        kinds |= set(zip((given["fraction"] > TRACE).ravel(), (given["phi_liquid"] < 0).ravel(), liquid.ravel()))
    few = {(False, False, False), (False, True, False), (True, True, True), (True, False, True), (True, False, False)}
    assert few <= kinds


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_update_matches_the_twin(shape, moving):
    """-dt/rho times w/m times the rise of pressure times fraction; closed faces of the liquid move with the solid."""
    given = fields(shape, 2, moving)
    problem, liquid = PressureProblem(**given), unknowns(**given)
    pressure = np.random.default_rng(3).normal(size=shape)
    found = problem.update(pressure)
    p = np.where(liquid, pressure * given["fraction"], 0.0)
    expected = [u.copy() for u in given["velocity"]]
    for c in np.argwhere(liquid):
        for axis, sign, f, n in sides(tuple(c), shape):
            w = given["weights"][axis][f]
            if w == 0.0:
                expected[axis][f] = given["solid_velocity"][axis][f] if moving else 0.0
            elif n is not None:
                m = max(given["mass"][axis][f], LIGHTEST * w)
                rise = sign * (p[n] - p[tuple(c)])
                before = given["velocity"][axis][f]
                expected[axis][f] = before - given["dt"] / (given["rho"] * given["dx"]) * w / m * rise
    for u, e in zip(found, expected):
        np.testing.assert_allclose(u, e, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_divergence_after_the_update_is_the_dual(shape):
    problem = PressureProblem(**fields(shape, 4, empty=0.0))
    x = np.random.default_rng(3).normal(size=problem.problem.n)
    pressure = problem.rows.to_grid(x) / np.maximum(problem.fraction, TRACE)
    np.testing.assert_allclose(problem.unknowns_of(pressure), x, rtol=1e-12)
    divergence = problem.rows.from_grid(problem.divergence(problem.update(pressure)))
    np.testing.assert_allclose(divergence, problem.problem.gradient(x), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(12, 11), (7, 6, 8)])
def test_the_projection_is_orthogonal_in_the_given_masses(shape, seed):
    """The kinetic energy of what pressure takes and of what it leaves add up to the energy before."""
    given = fields(shape, seed, moving=False, empty=0.0)
    problem = PressureProblem(walls="none", **given)
    solution = problem.solve("auto", rtol=1e-12)
    energy = np.zeros(3)
    for axis, mass in enumerate(given["mass"]):
        m = np.where(given["weights"][axis] > 0.0, np.maximum(mass, LIGHTEST * given["weights"][axis]), 0.0)
        before, after = given["velocity"][axis], solution.velocity[axis]
        energy += [(m * u**2).sum() for u in (before, after, before - after)]
    assert energy[0] == pytest.approx(energy[1] + energy[2], rel=1e-8)
    assert energy[2] > 0.05 * energy[0]


def test_momentum_is_kept_in_free_space():
    """Liquid that touches no wall: whatever its masses are, pressure does not change their momentum."""
    n, rng = 16, np.random.default_rng(5)
    x, y = np.meshgrid(*[(np.arange(n) + 0.5) / n] * 2, indexing="ij")
    phi = np.hypot(x - 0.5, y - 0.48) - 0.3
    weights = (np.ones((n + 1, n)), np.ones((n, n + 1)))
    mass = tuple(rng.uniform(0.2, 1.5, w.shape) for w in weights)
    velocity = tuple(rng.normal(size=w.shape) for w in weights)
    problem = PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.01, dx=1 / n, weights=weights, mass=mass)
    solution = problem.solve("auto", rtol=1e-10)
    for m, before, after in zip(mass, velocity, solution.velocity):
        assert np.abs(after - before).max() > 0.5
        assert abs((m * (after - before)).sum()) < 1e-12 * (m * np.abs(before)).sum()


def test_ghost_fluid_is_the_case_of_masses_w_theta():
    """A plane surface, half way between a centre and the next face: mass 1 inside, and theta on the surface's faces."""
    n = 8
    y = np.broadcast_to((np.arange(n) + 0.5) / n, (n, n))
    phi = y - (4 + 0.75) / n  # theta = 0.25 above the centre of layer 4
    rng = np.random.default_rng(6)
    velocity = (rng.normal(size=(n + 1, n)), rng.normal(size=(n, n + 1)))
    mass = (np.ones((n + 1, n)), np.ones((n, n + 1)))
    mass[1][:, 5] = 0.25
    fraction = (phi < 0).astype(float)
    ghost = PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.01, dx=1 / n)
    given = PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.01, dx=1 / n, mass=mass, fraction=fraction)
    np.testing.assert_allclose(given.matrix.toarray(), ghost.matrix.toarray(), rtol=1e-12)
    np.testing.assert_array_equal(given.rhs, ghost.rhs)


def test_wrong_masses_are_one_sentence():
    given = fields((6, 6), 0)
    bad = tuple(m - 5.0 for m in given["mass"])
    with pytest.raises(NonstickError, match="mass must not be negative or NaN"):
        PressureProblem(**given | {"mass": bad})
    with pytest.raises(NonstickError, match=r"fraction must be an array over cells of shape \(6, 6\)"):
        PressureProblem(**given | {"fraction": np.ones((5, 6))})
