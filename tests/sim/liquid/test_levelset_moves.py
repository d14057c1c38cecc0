"""A level set on the grid: carried exactly by uniform flow, and made a distance again."""

import numpy as np
import pytest

from nonstick.sim.liquid.surface._levelset_moves import _advect_faces, _advect_level, _start_distance, _sweep_distance


def ball(three, centre, radius):
    at = np.meshgrid(*(np.arange(n) + 0.5 for n in three), indexing="ij")
    first = int(three[0] == 1)
    return np.sqrt(sum((a - c) ** 2 for a, c in list(zip(at, centre))[first:])) - radius


@pytest.mark.parametrize("three", [(1, 24, 24), (18, 18, 18)])
def test_reinitialisation_gives_the_distance(three):
    centre = [n / 2 + 0.2 for n in three]
    exact = ball(three, centre, 5.3)
    bent = exact * (1.2 + 0.2 * np.sin(exact))
    out, fixed = np.empty(three), np.empty(three, np.int8)
    _start_distance(out, fixed, bent, 8.0, np.zeros(three, np.int8))
    _sweep_distance(out, fixed, 1)
    near = np.abs(exact) < 2
    assert np.abs(out - exact)[near].max() < 0.35
    assert ((out < 0) == (exact < 0)).all()


@pytest.mark.parametrize("three", [(1, 24, 24), (16, 16, 16)])
def test_uniform_flow_carries_the_shape(three):
    first = int(three[0] == 1)
    faces = [tuple(n + (a == b) for b, n in enumerate(three)) for a in range(3)]
    u = [np.full(s, v) for s, v in zip(faces, (0.0, 1.0, 0.5))]
    start = ball(three, [n / 2 for n in three], 4.0)
    out = np.empty(three)
    _advect_level(out, start, *u, first, 1.5, 8.0, np.zeros(three, np.int8))
    moved = ball(three, [three[0] / 2, three[1] / 2 + 1.5, three[2] / 2 + 0.75], 4.0)
    near = np.abs(moved) < 2
    assert np.abs(out - moved)[near].max() < 0.15
    carried = np.empty(faces[1])
    _advect_faces(carried, u[1], *u, 1, first, 1.5)
    np.testing.assert_allclose(carried, 1.0)
