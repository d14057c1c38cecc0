"""Liquid continued into solids, and the fraction at the free surface."""

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.grid.levelset import extend_into_solids, theta


def twin(phi, solid):
    out = phi.copy()
    for c in np.ndindex(phi.shape):
        if not solid[c] or phi[c] < 0:
            continue
        found = {}
        for d in np.ndindex((3,) * phi.ndim):
            n = tuple(a + b - 1 for a, b in zip(c, d))
            if all(0 <= a < s for a, s in zip(n, phi.shape)) and not solid[n] and phi[n] < 0:
                found.setdefault(sum(b != 1 for b in d), []).append(phi[n])
        if found:
            out[c] = np.mean(found[min(found)])
    return out


@pytest.mark.parametrize("shape", [(7, 6), (5, 6, 4)])
def test_extension_matches_the_twin(shape):
    rng = np.random.default_rng(0)
    phi, solid = rng.normal(size=shape), rng.random(shape) < 0.4
    new = extend_into_solids(phi, solid)
    np.testing.assert_allclose(new, twin(phi, solid), rtol=1e-14)
    np.testing.assert_array_equal(new[~solid], phi[~solid])


def test_released_liquid_is_not_continued():
    phi = np.array([[1.0, -0.4, 1.0], [1.0, -0.6, 1.0]])
    solid = np.array([[True, False, False], [True, False, False]])
    released = np.array([[False, True, False], [False, True, False]])
    assert (extend_into_solids(phi, solid)[:, 0] < 0).all()
    np.testing.assert_allclose(extend_into_solids(phi, solid, released=released)[:, 0], [0.4, 0.6])
    away = extend_into_solids(phi, solid, released=released, solid_distance=np.full(phi.shape, -0.2))
    np.testing.assert_allclose(away[:, 0], 0.2)
    released[1] = False  # held by one neighbour, the cell stays liquid
    assert (extend_into_solids(phi, solid, released=released)[:, 0] < 0).all()


def test_theta_is_clamped():
    np.testing.assert_allclose(theta(np.array([-1.0, -1e-9, -2.0]), np.array([3.0, 1.0, 0.0])), [0.25, 0.01, 1.0])


def test_shapes_must_agree():
    with pytest.raises(NonstickError, match="solid"):
        extend_into_solids(np.zeros((3, 3)), np.zeros((3, 4), bool))
