"""Energy of particles against the faces they give it to, and scenes whose energy does not grow."""

import numpy as np
import pytest

from nonstick.sim.liquid.accounts import _energy

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
    back = 0.03  # heights are those of the place where a particle was before
    _energy(kinetic, height, x, vel, aff, affine, *g, back, -(-x.shape[1] // 8))
    assert kinetic.sum() == pytest.approx(expected, rel=1e-5)
    assert height.sum() == pytest.approx(-(g @ (x - back * vel.astype(float))).sum(), rel=1e-10)
