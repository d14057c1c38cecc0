"""φ half a cell and more from the surface follows from the φ of closer cells."""

import numpy as np
import pytest
from scipy.optimize import brentq

from nonstick.sim.liquid.surface._surface import FAR, NEAR, _straighten


def straightened(phi, centre=None):
    out = phi.copy()
    _straighten(out, phi, np.full(phi.shape, 1e3) if centre is None else centre)
    return out


def slowly(phi, centre):
    """The slow twin: solve max(x - t, 0)² + … = 1 for every cell by bisection."""
    out = phi.copy()
    for at in np.ndindex(phi.shape):
        if not NEAR < abs(phi[at]) < FAR or centre[at] < 0.0:
            continue
        sign, least = np.sign(phi[at]), []
        for axis in range(3):
            there = [tuple(np.add(at, s * np.eye(3, dtype=int)[axis])) for s in (-1, 1)]
            found = [sign * phi[n] for n in there if min(n) >= 0 and all(np.less(n, phi.shape)) and centre[n] >= 0.0]
            least.append(min(found, default=1e3))
        if min(least) < NEAR:
            x = brentq(lambda x, t=tuple(least): sum(max(x - s, 0.0) ** 2 for s in t) - 1.0, -9.0, 9.0, xtol=1e-12)
            out[at] = sign * np.clip(x, NEAR, FAR)
    return out


@pytest.mark.parametrize("three", [(1, 11, 12), (6, 7, 8)])
def test_as_its_slow_twin(three):
    rng = np.random.default_rng(3)
    phi, centre = rng.uniform(-1.2, 1.4, three), rng.uniform(-0.3, 1.0, three)
    found = straightened(phi, centre)
    np.testing.assert_allclose(found, slowly(phi, centre), atol=1e-9)
    assert (found != phi).any()
    # the volume that φ encloses stays: signs, and all that is closer than half a cell
    assert np.array_equal(np.clip(found, -NEAR, NEAR), np.clip(phi, -NEAR, NEAR))


@pytest.mark.parametrize("height", [5.25, 5.75])
@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.0, 0.6, 0.8), (0.36, 0.48, 0.8)])
def test_the_surface_lies_where_the_closer_of_two_centres_says(normal, height):
    three = (1 if normal[0] == 0.0 else 12, 12, 12)
    at = np.meshgrid(*(np.arange(n) + 0.5 for n in three), indexing="ij")
    exact = sum(n * (c - height) for n, c in zip(normal, at))
    wrong = exact - 0.3 * (exact - np.clip(exact, -NEAR, NEAR))
    inner = (slice(None) if three[0] == 1 else slice(3, -3), slice(3, -3), slice(3, -3))
    crossed = (exact[inner][..., :-1] < 0.0) & (exact[inner][..., 1:] >= 0.0)

    def place(phi):
        low, high = phi[inner][..., :-1], phi[inner][..., 1:]
        return (low / (low - high))[crossed]

    before, after = (np.abs(place(phi) - place(exact)).max() for phi in (wrong, straightened(straightened(wrong))))
    assert before > 0.01
    assert after < (1e-4 if normal[2] == 1.0 else 0.4 * before)
