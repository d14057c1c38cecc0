"""Energy of particles against the faces they hand it to, and giving back what was gained."""

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.sim.liquid._energy import _energy, _gains, _take_gains, _work_on_held

OFFSETS = ((0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))


def particles(three, n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random((3, n)) * np.array(three)[:, None]
    vel, aff = rng.normal(size=(3, n)).astype(np.float32), rng.normal(size=(9, n)).astype(np.float32)
    if three[0] == 1:
        vel[0] = aff[:3] = aff[[3, 6]] = 0.0
    return x, vel, aff


@pytest.mark.parametrize("three", [(1, 7, 5), (6, 9, 5)])
@pytest.mark.parametrize("affine", [True, False])
def test_energy_is_what_the_faces_get(three, affine):
    """Each particle as a cloud of point masses at the faces around it."""
    x, vel, aff = particles(three)
    first = int(three[0] == 1)
    expected = 0.0
    for a in range(first, 3):
        part = x - np.array(OFFSETS[a])[:, None]
        part -= np.floor(part)
        for bits in np.ndindex(2 - first, 2, 2):
            bits = np.array(bits)[:, None]
            weight, away = np.where(bits, part, 1 - part), bits - part
            if first:  # one cell along the first axis
                weight[0], away[0] = 1.0, 0.0
            value = vel[a] + ((aff[3 * a : 3 * a + 3] * away).sum(axis=0) if affine else 0.0)
            expected += 0.5 * (weight.prod(axis=0) * value.astype(float) ** 2).sum()
    g = np.array([0.0, -9.81, 0.5])
    kinetic, height = np.zeros(8), np.zeros(8)
    _energy(kinetic, height, x, vel, aff, affine, *g, -(-x.shape[1] // 8))
    assert kinetic.sum() == pytest.approx(expected, rel=1e-5)
    assert height.sum() == pytest.approx(-(g @ x).sum(), rel=1e-12)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_particles_give_back_a_share_of_what_they_gained(share):
    _, vel, aff = particles((6, 9, 5))
    old = particles((6, 9, 5), seed=1)[1]
    push, most = np.array([0.0, -0.1, 0.02]), 0.9
    v, o = vel.astype(float), old.astype(float)
    has = 0.5 * (v**2).sum(axis=0)
    gain = np.clip(has - 0.5 * (o**2).sum(axis=0) - push @ v, 0.0, most * has)
    parts = np.zeros(4)
    _gains(parts, vel, old, *push, most, 75)
    assert parts.sum() == pytest.approx(gain.sum(), rel=1e-10) and 0 < gain.sum() < has.sum()
    slowed, turned = vel.copy(), aff.copy()
    _take_gains(slowed, turned, old, *push, most, share)
    now = 0.5 * (slowed.astype(float) ** 2).sum(axis=0)
    np.testing.assert_allclose(now, has - share * gain, rtol=1e-5, atol=1e-7)
    factor = np.sqrt(now / has)
    np.testing.assert_allclose(turned, aff * factor, rtol=1e-4, atol=1e-6)


def test_work_on_what_does_not_fall():
    _, vel, _ = particles((6, 9, 5), 301)
    share, gain, work = np.random.default_rng(1).random(301).astype(np.float32), (0.3, -2.0, 0.1), np.empty(4)
    _work_on_held(work, vel, share, *gain, 100)
    each = (1.0 - share.astype(float)) * (np.array(gain) @ vel.astype(float))
    np.testing.assert_allclose(work, np.add.reduceat(each, [0, 100, 200, 300]), rtol=1e-5, atol=1e-5)


def test_particles_that_slow_down_lose_energy():
    """In still water the work of gravity on velocities of noise is larger than their kinetic energy."""
    simulation = Simulation(Scene.load("tilted-tank", {"domain.resolution": 16}))
    simulation.next_frame()
    cloud, liquid = simulation.liquid.tracker.cloud, simulation.liquid
    for chosen in (cloud.vel[2] > 0.0, cloud.vel[2] < 0.0):
        before = liquid.tracker._energies()[0]
        part = 0.5 * liquid.tracker.mass * float((cloud.vel[:, chosen].astype(float) ** 2).sum())
        cloud.vel[:, chosen] *= 0.5
        assert part > 0.0 and liquid.tracker._energies()[0] - before == pytest.approx(-0.75 * part, rel=1e-4)
