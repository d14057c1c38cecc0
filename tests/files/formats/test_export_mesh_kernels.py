"""Kernels that work on meshes, walls and text of exported files against slow twins; marching cubes."""

import numpy as np
import pytest
from scipy.ndimage import map_coordinates, maximum_filter

from nonstick.files.formats import _cubes, _surface, obj
from nonstick.files.formats.frame import _means, at_points
from nonstick.files.formats.mesh import TriangleMesh, of_level_set


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
    _surface._cut_behind(phi, solid, np.float32(1.0), np.float32(0.5))
    np.testing.assert_array_equal(phi, twin)


def test_normals():
    rng = np.random.default_rng(0)
    mesh = TriangleMesh(rng.normal(size=(20, 3)).astype(np.float32), rng.integers(0, 19, (40, 3)).astype(np.int32))
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces].astype(float), 1, 0)
    total = np.zeros((20, 3))
    for corner in range(3):
        np.add.at(total, mesh.faces[:, corner], np.cross(b - a, c - a))
    size = np.linalg.norm(total, axis=1, keepdims=True)
    twin = np.where(size > 1e-12, total / np.maximum(size, 1e-300), [0.0, 1.0, 0.0])
    np.testing.assert_allclose(mesh.normals(), twin, atol=1e-4)


def test_lines_of_many_blocks(monkeypatch):
    monkeypatch.setattr(obj, "BLOCK", 7)
    values = np.random.default_rng(0).normal(size=(50, 3))
    text = b"".join(obj.rows("v %.9f %.9f %.9f\n", values)).decode()
    np.testing.assert_allclose([[float(v) for v in line.split()[1:]] for line in text.splitlines()], values, atol=1e-9)


def test_mirror_images_in_a_slanted_wall():
    """Through a plane the image is known: along its normal, or along the horizontal where it is steep."""
    rng = np.random.default_rng(0)
    up, reach = np.array([0.0, 1.0, 0.0]), 1.26
    for normal in ([1.0, 0.2, 0.0], [0.1, 1.0, 0.2]):
        normal = np.array(normal) / np.linalg.norm(normal)
        at = np.stack(np.meshgrid(*[np.arange(13.0)] * 3, indexing="ij"), axis=-1)
        nodes = ((at - 6.0) @ normal).astype(np.float32)
        x = rng.uniform(3.0, 9.0, (400, 3)).astype(np.float32)
        image, good = np.empty_like(x), np.empty(len(x), bool)
        _surface._mirror(image, good, x, nodes, reach, up)
        s = (x.astype(float) - 6.0) @ normal
        np.testing.assert_array_equal(good, (s > 0) & (s < reach))
        assert 20 < good.sum() < len(x)
        way = normal
        if normal[1] ** 2 < 0.75:  # level: as far along the horizontal as to the same depth in the wall
            way = (normal - normal[1] * up) / (1 - normal[1] ** 2)
        np.testing.assert_allclose(image[good], (x - 2 * s[:, None] * way)[good], atol=1e-4)


def test_points_are_brought_out_of_a_ball():
    """To the nearest point of it; those out of it stay. Distances are in cells of two samples."""
    rng = np.random.default_rng(0)
    at = np.stack(np.meshgrid(*[np.arange(25.0)] * 3, indexing="ij"), axis=-1) - 12.0
    solid = ((np.linalg.norm(at, axis=-1) - 8.0) / 2.0).astype(np.float32)
    way = rng.normal(size=(300, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    radius = rng.uniform(6.8, 9.5, (300, 1))
    x = (12.0 + radius * way).astype(np.float32)
    before, seam = x.copy(), np.empty(300, bool)
    _surface._bring_out(x, seam, solid, 2.0)
    assert not seam.any()
    deep = radius[:, 0] < 7.95
    np.testing.assert_array_equal(x[radius[:, 0] > 8.05], before[radius[:, 0] > 8.05])
    np.testing.assert_allclose(x[deep], (12.0 + 8.0 * way)[deep], atol=0.06)


def test_a_point_before_another_wall_is_a_seam():
    """Two walls that touch: the slope of the distance leads from one into the other."""
    x = np.arange(25.0)
    solid = np.broadcast_to(-np.abs(x - 12.0)[:, None, None].astype(np.float32), (25, 25, 25)).copy()
    points = np.array([[11.4, 12.0, 12.0], [13.0, 7.5, 6.0]], np.float32)
    before, seam = points.copy(), np.empty(2, bool)
    _surface._bring_out(points, seam, solid, 1.0)
    assert seam.all()
    np.testing.assert_array_equal(points, before)


@pytest.mark.parametrize("shape", [(6, 7, 8), (1, 9, 8)], ids=["3D", "2D"])
def test_velocity_of_cells(shape):
    rng = np.random.default_rng(0)
    d = 3 if shape[0] > 1 else 2
    x = rng.uniform(-0.1, 1.1, (300, d)).astype(np.float32)
    v = rng.normal(size=(300, 3)).astype(np.float32)
    out, count = np.zeros((3, *shape), np.float32), np.zeros(shape, np.int32)
    _means(out, count, np.pad(x, ((0, 0), (3 - d, 0))), v, np.float32(7.0))
    cells = np.clip((x * np.float32(7.0)).astype(int), 0, np.array(shape[-d:]) - 1)
    where = tuple(cells.T) if d == 3 else (np.zeros(300, int), *cells.T)
    twin, number = np.zeros((3, *shape)), np.zeros(shape)
    np.add.at(number, where, 1)
    for axis in range(3):
        np.add.at(twin[axis], where, v[:, axis])
    np.testing.assert_array_equal(count, number)
    np.testing.assert_allclose(out, twin / np.maximum(number, 1), atol=1e-5)


@pytest.mark.parametrize("d", [2, 3])
def test_values_at_points(d):
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(d, *(6, 7, 8)[:d])).astype(np.float32)
    points = rng.uniform(-0.1, 1.0, (200, d))
    twin = [map_coordinates(f.astype(float), points.T * 8.0 - 0.5, order=1, mode="nearest") for f in cells]
    np.testing.assert_allclose(at_points(cells, points, 0.125), np.stack(twin, axis=1), atol=1e-5)


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
