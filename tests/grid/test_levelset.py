"""Liquid continued into solids, and the fraction at the free surface."""

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.grid._levelset import STRAIGHT, _continue_linearly
from nonstick.grid.levelset import continue_linearly, extend_into_solids, theta


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


@pytest.mark.parametrize("anyway", [False, True])
@pytest.mark.parametrize("shape", [(1, 9, 8), (5, 6, 7)])
def test_a_layer_continued_linearly_matches_the_twin(shape, anyway):
    """The row counts whose first cell is farthest from walls."""
    rng = np.random.default_rng(2)
    phi, grade = rng.uniform(-1.4, 1.1, shape), (rng.random(shape) < 0.5).astype(np.int8)
    centre = rng.normal(size=shape)
    out, known = np.empty(shape), np.empty(shape, np.int8)
    _continue_linearly(out, known, phi, grade, centre, anyway)
    kinds = set()
    for c in np.ndindex(shape):
        expected, kind = phi[c], "known"
        if not grade[c]:
            rows, beside, kind = [], [], "kept"
            for axis, step in [(a, s) for a in range(3) for s in (-1, 1)]:
                a, b = (tuple(k + d * step * (m == axis) for m, k in enumerate(c)) for d in (1, 2))
                there = [n for n in (a, b) if min(n) >= 0 and all(np.less(n, shape)) and grade[n]]
                if a in there:
                    beside.append((centre[a], phi[a], "beside"))
                if len(there) == 2 and max(abs(phi[a]), abs(phi[b])) < STRAIGHT:
                    rows.append((centre[a], 2.0 * phi[a] - phi[b], "row"))
                elif len(there) == 2 and max(phi[a], phi[b]) <= -STRAIGHT:
                    rows.append((centre[a], phi[a], "deep"))
            found = rows or (beside if anyway else [])
            if found:
                _, expected, kind = max(found)
        assert out[c] == pytest.approx(expected, abs=1e-13) and known[c] == (kind != "kept")
        kinds.add(kind)
    assert {"known", "row", "deep", "kept"} <= kinds and ("beside" in kinds) == anyway


def test_a_plane_goes_on_through_two_layers():
    x, y = np.meshgrid(np.arange(12) + 0.5, np.arange(12) + 0.5, indexing="ij")
    exact = (0.1 * (x - 6.0) + 0.99 * (y - 6.2))[None]
    unknown = (2.0 * x + y < 15.0)[None]
    phi = continue_linearly(np.where(unknown, 5.0, np.clip(exact, -1.0, 1.5)), unknown, (2.0 * x + y - 15.0)[None])
    beside = unknown & (phi < 5.0) & (np.abs(exact) < 0.6)
    assert beside.sum() == 2
    np.testing.assert_allclose(phi[beside], exact[beside], atol=1e-12)
