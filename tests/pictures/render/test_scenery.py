"""Triangles in pictures: lists of cells, hits of rays, facets of boxes, and thin sheets that the grid cannot see."""

import numpy as np
import pytest

from nonstick.grid.shapes import Ball, Box, rotated_box
from nonstick.pictures.render._blocks import _hit, _normal
from nonstick.pictures.render.scenery import Scenery, Triangles
from nonstick.pictures.render.space import Studio, Viewpoint


@pytest.mark.parametrize(
    "shape",
    [Box((0.2, 0.3, 0.1), (0.7, 0.5, 0.8)), rotated_box((0.5, 0.5, 0.5), (0.3, 0.2, 0.1), 0.6, (1.0, 2.0, 0.5))],
)
def test_facets_are_the_surface_seen_from_outside(shape):
    vertices, faces = shape.facets()
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    for point in (a, b, c, (a + b + c) / 3):
        np.testing.assert_allclose(shape(*point.T), 0.0, atol=1e-12)
    assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6 == pytest.approx(shape.moments(3).volume)
    assert Ball((0.5, 0.5, 0.5), 0.2).facets() is None


def test_every_ray_finds_the_triangle_that_all_triangles_give():
    box = rotated_box((0.5, 0.45, 0.55), (0.33, 0.21, 0.17), 0.6, (1.0, 2.0, 0.5))
    triangles = Triangles.of(box.facets(), 0.1, 3)
    shape = (10, 10, 10)
    lists = triangles.by_cell(shape)
    everything = np.concatenate([[2, 2 + len(triangles.corners)], np.arange(len(triangles.corners))]).astype(np.int32)
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        a, d = 10 * rng.random(3), rng.normal(size=3)
        d /= np.linalg.norm(d)
        far, which = _hit(everything, triangles.both, 0, *a, *d, 30.0)
        found = []
        for i, j, k in np.ndindex(*shape):
            found.append(_hit(lists, triangles.both, (i * 10 + j) * 10 + k, *a, *d, 30.0))
        near = min(found)
        if which >= 0 and all(0.01 < x < 9.99 for x in a + far * d):
            hits += 1
            assert near[0] == pytest.approx(far) and near[1] >= 0
            point = a + far * d
            assert abs(box(*(0.1 * point))) < 1e-9
            assert np.dot(_normal(triangles.both, which, *point), d) < 0.0
    assert hits > 20


def test_a_ray_that_starts_inside_leaves_without_a_hit():
    triangles = Triangles.of(Box((2.0, 2.0, 2.0), (8.0, 8.0, 8.0)).facets(), 1.0, 0)
    everything = np.concatenate([[2, 14], np.arange(12)]).astype(np.int32)
    assert _hit(everything, triangles.both, 0, 5.0, 5.0, 5.0, 1.0, 0.0, 0.0, 30.0)[1] == -1
    assert _hit(everything, triangles.both, 0, 1.0, 5.1, 5.2, 1.0, 0.0, 0.0, 30.0)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("as_body", [False, True])
def test_a_sheet_thinner_than_a_cell_is_seen(as_body):
    n, dx = 16, 0.1
    sheet = Box((0.3, 0.7, 0.3), (1.3, 0.71, 1.3))
    none = Scenery.of_shapes([], (n,) * 3, dx, 2)
    air = np.full((n,) * 3, 1.0)
    scenery = none if as_body else Scenery.of_shapes([(sheet, False)], (n,) * 3, dx, 2)
    view = Viewpoint(20.0, 50.0)
    empty = Studio(80, 80).draw(air, none, dx, view).astype(int)
    image = Studio(80, 80).draw(air, scenery, dx, view, bodies=[sheet] if as_body else []).astype(int)
    changed = np.abs(image - empty).max(axis=2) > 8
    assert 0.04 < changed.mean() < 0.6  # the sheet, which is as grey as the walls, and its shadow


def test_a_mesh_with_flat_sides_keeps_its_edges_and_a_fine_one_is_smooth():
    box = Triangles.of(Box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)).facets(), 1.0, 0)
    assert (np.sort(np.abs(box.slopes).reshape(-1, 3), axis=1) == [0.0, 0.0, 1.0]).all()
    turns = np.linspace(0.0, 2 * np.pi, 49)[:-1]
    ring = [np.stack([np.cos(turns), np.full(48, y), np.sin(turns)], axis=1) for y in (0.0, 1.0)]
    vertices = np.concatenate([*ring, [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    i, j = np.arange(48), (np.arange(48) + 1) % 48
    faces = np.concatenate([
        np.stack([i, i + 48, j], axis=1), np.stack([j, i + 48, j + 48], axis=1),
        np.stack([i, j, np.full(48, 96)], axis=1), np.stack([i + 48, np.full(48, 97), j + 48], axis=1),
    ])  # fmt: skip
    drum = Triangles.of((vertices, faces), 1.0, 0)
    flat = np.cross(drum.corners[:, 1] - drum.corners[:, 0], drum.corners[:, 2] - drum.corners[:, 0])
    outward = np.einsum("ij,ij->i", flat, drum.corners.mean(axis=1) - [0.0, 0.5, 0.0])
    assert (outward > 0).all()
