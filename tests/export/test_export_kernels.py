"""Kernels of the exporters against slow twins."""

import numpy as np
import pytest
from scipy.ndimage import map_coordinates, maximum_filter, minimum_filter

from nonstick.export import _cubes, _surface, _walls
from nonstick.export._masks import widen
from nonstick.export._text import rows
from nonstick.export.mesh import Mesh, of_level_set
from nonstick.export.surface import SHIFT, _beside, _kinds, _shift
from nonstick.grid.flat import flat_distance


@pytest.mark.parametrize("r", [1, 2, 4])
@pytest.mark.parametrize("shape", [(9, 8, 11), (1, 8, 7)], ids=str)
def test_widen_is_a_maximum_filter(r, shape):
    mask = np.random.default_rng(r).random(shape) < 0.05
    for outside in (False, True):
        twin = maximum_filter(mask, 2 * r + 1, mode="constant", cval=outside)
        np.testing.assert_array_equal(widen(mask, r, outside), twin)


def test_kinds_of_cells():
    count = np.random.default_rng(0).poisson(6.0, (12, 13, 14)) * (np.arange(12) < 8)[:, None, None]
    near = maximum_filter(count > 0, 3, mode="constant")
    full = minimum_filter(count >= 4, 3, mode="constant")
    np.testing.assert_array_equal(_kinds(count, 8), near.astype(int) + full)


@pytest.mark.parametrize("refine", [1, 2, 3])
def test_distance_is_that_of_the_formula(refine):
    """Every sample of the band, with all particles and not only those of a list."""
    rng = np.random.default_rng(refine)
    n, margin, pad, per_cell, reach, largest, limit, drop = 5, 2, 3, 8, 1.26, 0.75, 0.6, 0.45
    x = rng.uniform(0.5, 4.5, (150, 3)).astype(np.float32)
    x[100:] = rng.uniform(2.0, 2.4, (50, 3))  # a crowded place
    end = np.zeros((n + 2 * margin,) * 3, np.int64)
    columns = np.empty((4, len(x)), np.float32)
    _surface._sort(columns, end, x, margin, per_cell)
    count = np.diff(end.ravel(), prepend=0).reshape(end.shape)
    twin_count = np.histogramdd(x, bins=[np.arange(-margin, n + margin + 1)] * 3)[0]
    np.testing.assert_array_equal(count, twin_count)
    shape = (n * refine + 2 * pad,) * 3
    phi, core, band = np.full(shape, reach, np.float32), np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    solid = rng.uniform(-3.0 / refine, 1.0, shape).astype(np.float32)
    kind, table = np.ones(end.shape, np.uint8), flat_distance(3)
    full = per_cell * 64.0 / 315.0 * np.pi * reach**3
    _surface._particle_distance(
        phi, core, band, solid, columns, end, kind, margin, refine, pad, reach, largest, limit, drop, table, full
    )
    weight = np.minimum(1.0, per_cell / twin_count[tuple(np.floor(x).astype(int).T + margin)])
    for at in np.argwhere(band)[::7]:
        away = x - (at - pad + 0.5) / refine
        t = np.maximum(1.0 - (away**2).sum(axis=1) / reach**2, 0.0)
        w = t**3 * weight
        value = reach
        if w.sum() > 0:
            mean = np.linalg.norm((w[:, None] * away).sum(axis=0)) / w.sum() / reach
            value = reach * np.interp(mean, np.linspace(0, 1, table.size), table)
            nearest = reach * np.sqrt(1.0 - t.max())
            few = np.clip((_surface.SOME - w.sum() / full) / (_surface.SOME - _surface.FEW), 0.0, 1.0)
            value = min(max(value, nearest - largest), nearest - few * drop)
            if w.sum() > 1e-3:
                assert phi[tuple(at)] == pytest.approx(np.clip(value, -limit, limit), abs=2e-3)
        assert core[tuple(at)] == (w.sum() > _surface.CORE * full) or abs(w.sum() / full - _surface.CORE) < 1e-4
    np.testing.assert_array_equal(band != 0, (solid * refine >= -2.0) & _covered(shape, n, margin, refine, pad))


def _covered(shape, n, margin, refine, pad):
    """Samples in the box of cells."""
    inside = np.abs((np.arange(shape[0]) - pad + 0.5) / refine - n / 2) < n / 2 + margin
    return inside[:, None, None] & inside[:, None] & inside


@pytest.mark.parametrize("passes", [1, 2])
def test_the_filter(passes):
    rng = np.random.default_rng(0)
    phi, here = rng.normal(size=(8, 9, 10)).astype(np.float32), rng.random((8, 9, 10)) < 0.5
    inner = np.zeros(phi.shape, bool)
    inner[1:-1, 1:-1, 1:-1] = True
    twin = phi.astype(float)
    for _ in range(passes):
        wide = twin
        for axis in range(3):
            wide = 0.25 * np.roll(wide, 1, axis) + 0.5 * wide + 0.25 * np.roll(wide, -1, axis)
        twin = np.where(here & inner, wide, twin)
    _surface._smooth(phi, here.view(np.uint8), passes)
    np.testing.assert_allclose(phi, twin, atol=1e-6)


def test_a_shift_of_some_samples():
    rng = np.random.default_rng(0)
    phi, mask = rng.normal(size=(4, 5, 6)).astype(np.float32), rng.random((4, 5, 6)) < 0.5
    twin = phi + np.where(mask, np.float32(0.25), np.float32(0.0))
    _surface._add(phi, mask.view(np.uint8), np.float32(0.25))
    np.testing.assert_array_equal(phi, twin)


def test_particles_beside_the_sides():
    x = np.random.default_rng(0).uniform(-1, 7, (200, 3)).astype(np.float32)
    size = np.array([6.0, 5.0, 4.0], np.float32)
    twin = ((x < 1.25) | (x > size - np.float32(1.25))).any(axis=1)
    np.testing.assert_array_equal(_beside(x, 1.25, size), twin)
    assert 0 < twin.sum() < len(x)


def test_the_shift_gives_the_volume():
    x = np.linspace(-1, 1, 40)
    phi = (10 * (np.sqrt(x[:, None, None] ** 2 + x[:, None] ** 2 + x**2) - 0.6)).astype(np.float32)
    solid = np.broadcast_to((8 * x).astype(np.float32), phi.shape).copy()
    bulk = np.ones(phi.shape, np.uint8)
    room = np.clip(0.5 + 2.0 * solid, 0.0, 1.0)
    for asked in (-0.2, 0.0, 0.1):
        target = float((room * np.clip(0.5 - 2.0 * (phi + asked), 0.0, 1.0)).sum())
        assert _shift(phi, solid, bulk, target, 2) == pytest.approx(asked, abs=2e-4)
    assert _shift(phi, solid, bulk, 0.0, 2) == pytest.approx(SHIFT, abs=1e-3)


@pytest.mark.parametrize("count", [0, 5, 500])
def test_volume_of_samples(count):
    rng = np.random.default_rng(0)
    value, room = rng.normal(size=count).astype(np.float32), rng.random(count).astype(np.float32)
    parts = np.empty(64)
    _surface._volume(parts, value, room, np.float32(0.2), np.float32(2))
    assert parts.sum() == pytest.approx((room * np.clip(0.5 - 2.0 * (value + 0.2), 0.0, 1.0)).sum(), rel=1e-5)


def test_particles_in_a_mask_are_counted():
    rng = np.random.default_rng(0)
    x, mask = rng.uniform(0, 6, (500, 3)).astype(np.float32), rng.random((18, 18, 18)) < 0.4
    inside = np.empty(7, np.int64)
    _surface._count_in(inside, x, mask, 2, 3)
    assert inside.sum() == mask[tuple((x * 2).astype(int).T + 3)].sum()


def test_phi_ends_behind_walls():
    rng = np.random.default_rng(0)
    x = np.arange(12.0)
    # a wall from both sides that meet in a seam of distance zero
    solid = np.minimum(np.abs(x[:, None, None] - 5.0) - 2.0, 4.0 - np.abs(x[:, None] - 6.0)).astype(np.float32)
    solid = np.broadcast_to(solid, (12, 12, 12)).copy()
    solid[2] = 0.0
    phi = rng.uniform(-3, 3, solid.shape).astype(np.float32)
    near = maximum_filter(solid > 0, 3)
    twin = np.maximum(phi, np.where(near, -solid - np.float32(1.0), np.float32(0.5)))
    _walls._cut_behind(phi, solid, np.float32(1.0), np.float32(0.5))
    np.testing.assert_array_equal(phi, twin)


def test_normals():
    rng = np.random.default_rng(0)
    mesh = Mesh(rng.normal(size=(20, 3)).astype(np.float32), rng.integers(0, 19, (40, 3)).astype(np.int32))
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces].astype(float), 1, 0)
    total = np.zeros((20, 3))
    for corner in range(3):
        np.add.at(total, mesh.faces[:, corner], np.cross(b - a, c - a))
    size = np.linalg.norm(total, axis=1, keepdims=True)
    twin = np.where(size > 1e-12, total / np.maximum(size, 1e-300), [0.0, 1.0, 0.0])
    np.testing.assert_allclose(mesh.normals(), twin, atol=1e-4)


@pytest.mark.parametrize("decimals", [0, 1, 4, 9])
def test_text_is_that_of_python(decimals):
    values = np.random.default_rng(decimals).normal(scale=100.0, size=(50, 3)) * [1e-4, 1.0, 1e4]
    values[0] = [0.0, -0.5, 9.9999999999]
    values = np.rint(values * 10**decimals) / 10**decimals
    lines = [" ".join(["v", *(f"{v + 0.0:.{decimals}f}" for v in row)]) for row in values]  # + 0.0: no -0
    assert rows("v", values, decimals).decode().splitlines() == lines


# -- marching cubes ---------------------------------------------------------------------------------------


def test_every_edge_that_is_cut_is_used_and_no_other():
    tables = _cubes.table()
    for signs in range(256):
        cut = {
            e
            for e, (axis, corner) in enumerate(_cubes.EDGES)
            if signs >> _cubes.CORNERS.index(corner) & 1
            != signs >> _cubes.CORNERS.index(tuple(c + (k == axis) for k, c in enumerate(corner))) & 1
        }
        entries = 2 ** int((tables.faces[signs] >= 0).sum())
        for entry in range(tables.first[signs], tables.first[signs] + entries):
            used = set(tables.triangles[tables.begin[entry] : tables.begin[entry + 1]].ravel().tolist())
            assert used - {_cubes.MIDDLE} == cut
            assert (_cubes.MIDDLE in used) == tables.middle[entry]


def test_vertices_lie_where_phi_is_zero():
    phi = np.random.default_rng(3).normal(size=(12, 11, 13)).astype(np.float32)
    x, faces = _cubes.extract(phi, 1e-6)
    assert len(np.unique(faces)) == len(x)
    on_edge = (x != np.floor(x)).sum(axis=1) == 1
    assert on_edge.mean() > 0.95
    value = map_coordinates(phi.astype(float), x[on_edge].T, order=1)
    assert np.abs(value).max() < 1e-5
    cuts = sum(int(((phi < 0) != np.roll(phi < 0, -1, a)).take(range(n - 1), a).sum()) for a, n in enumerate(phi.shape))
    assert cuts == on_edge.sum()


def test_the_saddle_decides_whether_liquid_is_joined():
    """Two liquid corners across a face, near enough to be joined or not."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    for depth, parts in ((-2.0, 1), (-0.5, 2)):
        phi = np.ones((4, 4, 4), np.float32)
        phi[1, 1, 1] = phi[1, 2, 2] = depth
        mesh = of_level_set(phi, 1.0, (0, 0, 0))
        assert mesh.open_edges() == 0
        n, f = len(mesh.vertices), mesh.faces
        links = coo_matrix((np.ones(2 * len(f)), (np.r_[f[:, 0], f[:, 1]], np.r_[f[:, 1], f[:, 2]])), (n, n))
        assert connected_components(links, directed=False)[0] == parts


def test_nothing_to_cut_is_an_empty_mesh():
    for value in (1.0, -1.0):
        x, faces = _cubes.extract(np.full((5, 5, 5), value, np.float32), 1e-6)
        assert x.shape == (0, 3) and faces.shape == (0, 3)
