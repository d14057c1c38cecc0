"""Sampled meshes against exact ones: near the surface, far away, at sharp edges, on thin sheets. Needs [mesh]."""

import gc
from dataclasses import dataclass, replace

import numpy as np
import pytest
import trimesh
from scipy.interpolate import RegularGridInterpolator

from nonstick.grid import Ball, Mesh, Shape, sample_meshes
from nonstick.grid.shapes import sampled
from nonstick.grid.shapes._distance import _read_samples
from nonstick.grid.shapes.sampled import SETTINGS, SampledMesh, Samples

WIDTH = 1.0 / 24


def of(made):
    return Mesh(np.ascontiguousarray(made.vertices, float), np.ascontiguousarray(made.faces, np.int64))


def ring():
    return of(trimesh.creation.torus(0.2, 0.09, major_sections=48, minor_sections=24))


def turned_nodes(n=24):
    """The nodes of a grid that is turned against the axes of the mesh."""
    turn = trimesh.transformations.rotation_matrix(0.7, [1.0, 2.0, 0.5])[:3, :3]
    return np.stack(np.meshgrid(*[np.arange(n + 1) / n - 0.5] * 3, indexing="ij"), -1).reshape(-1, 3) @ turn


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("torus", trimesh.creation.torus(0.2, 0.09, major_sections=48, minor_sections=24)),
        ("box", trimesh.creation.box((0.4, 0.3, 0.35))),
        ("cone", trimesh.creation.cone(0.2, 0.4)),
    ],
)
def test_error_near_the_surface_and_far_from_it(name, made):
    mesh, points = of(made), turned_nodes()
    exact = mesh(*points.T)
    found = sample_meshes(mesh, WIDTH)(*points.T)
    near = np.abs(exact) < SETTINGS.tested * WIDTH
    error = np.abs(found - exact)
    assert near.sum() > 500
    assert error[near].max() < 0.08 * WIDTH and np.sqrt((error[near] ** 2).mean()) < 0.015 * WIDTH
    # no node changes sides, unless the surface passes through it
    assert (np.abs(exact[(found < 0) != (exact < 0)]) < 0.08 * WIDTH).all()
    assert (error < 0.08 * WIDTH + 0.25 * np.abs(exact)).all()


def test_beyond_the_box_the_distance_is_never_too_small():
    mesh = ring()
    points = np.random.default_rng(3).normal(0.0, 1.0, (2000, 3))
    low, high = mesh.bounds(3)
    beyond = ((points < low - SETTINGS.margin * WIDTH) | (points > high + SETTINGS.margin * WIDTH)).any(axis=1)
    exact, found = mesh(*points[beyond].T), sample_meshes(mesh, WIDTH)(*points[beyond].T)
    assert beyond.sum() > 1000
    assert (found > exact - 0.3 * WIDTH).all() and (found < 1.25 * exact + WIDTH).all()


@pytest.mark.parametrize("thickness", [0.2, 0.6, 1.2])
def test_a_thin_sheet_is_not_lost(thickness):
    """A sheet thinner than the samples keeps its exact distance: every node in it is found."""
    mesh, points = of(trimesh.creation.box((0.6, thickness * WIDTH, 0.5))), turned_nodes()
    exact, found = mesh(*points.T), sample_meshes(mesh, WIDTH)(*points.T)
    assert (exact < 0).sum() > 20
    deep = np.abs(exact) > 0.04 * WIDTH
    assert ((found < 0) == (exact < 0))[deep].all()


def test_reading_agrees_with_its_slow_twin():
    mesh = ring()
    samples = Samples.of(mesh, WIDTH)
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.uniform(-0.5, 0.5, (300, 3)), mesh.vertices[::4] + rng.normal(0, 0.01, (288, 3))])
    found = np.empty(len(points))
    s = samples
    _read_samples(found, points, s.origin, s.h, SETTINGS.side, s.coarse, s.brick, s.fine, s.doubtful)
    assert samples.doubtful.any() and (samples.brick < 0).any()
    assert np.allclose(found, [_slow(samples, p) for p in points], atol=1e-6, equal_nan=True)


def _slow(s, point):
    """One value from the samples, by SciPy."""
    width = SETTINGS.side * s.h
    corners = RegularGridInterpolator(
        [o + width * np.arange(n) for o, n in zip(s.origin, s.coarse.shape)],
        s.coarse,
        bounds_error=False,
        fill_value=None,
    )
    top = s.origin + width * np.array(s.brick.shape)
    inside = np.clip(point, s.origin, top)
    at = np.minimum(((inside - s.origin) / width).astype(int), np.array(s.brick.shape) - 1)
    if (inside != point).any():
        low = s.origin + width * at
        here = corners(inside)[0]
        # the gradient of the trilinear function: exact from its values at both ends of each axis
        slope = [
            (corners(_with(inside, a, low[a] + width))[0] - corners(_with(inside, a, low[a]))[0]) / width
            for a in range(3)
        ]
        foot = inside - here * np.array(slope) / np.linalg.norm(slope)
        return np.linalg.norm(point - foot)
    number = s.brick[tuple(at)]
    if number < 0:
        return corners(point)[0]
    low = s.origin + width * at
    cell = np.minimum(((point - low) / s.h).astype(int), SETTINGS.side - 1)
    if s.doubtful[(number, *cell)]:
        return np.nan
    axes = [o + s.h * np.arange(SETTINGS.side + 1) for o in low]
    return RegularGridInterpolator(axes, s.fine[number], bounds_error=False, fill_value=None)(point)[0]


def _with(point, axis, value):
    out = point.copy()
    out[axis] = value
    return out


def test_memory_has_a_limit_and_accuracy_stays(monkeypatch):
    mesh, points = of(trimesh.creation.box((0.4, 0.3, 0.35))), turned_nodes()
    full = Samples.of(mesh, WIDTH)
    monkeypatch.setattr(sampled, "SETTINGS", replace(SETTINGS, most=40_000))
    small = Samples.of(mesh, WIDTH)
    assert small.coarse.size + small.fine.size <= 40_000 < full.coarse.size + full.fine.size
    exact = mesh(*points.T)
    near = np.abs(exact) < SETTINGS.tested * WIDTH
    assert np.abs(small.read(mesh, points) - exact)[near].max() < 0.1 * WIDTH


def test_equal_meshes_share_their_samples_while_they_are_used():
    one, other = SampledMesh(ring(), WIDTH), SampledMesh(ring(), WIDTH)
    assert one.samples is other.samples
    assert SampledMesh(ring(), 2 * WIDTH).samples is not one.samples
    before = len(sampled._made)
    del one, other
    gc.collect()
    assert len(sampled._made) < before


def test_meshes_are_found_inside_other_shapes():
    mesh, ball = ring(), Ball((0.0, 0.0, 0.0), 0.1)
    whole = (mesh.move((0.1, 0.0, 0.0)).rotate(0.3) - ball) | ball
    found = sample_meshes(whole, WIDTH)
    assert type(found) is type(whole) and "SampledMesh" in repr(found)
    assert found.triangles() == whole.triangles() and np.allclose(found.bounds(3), whole.bounds(3))
    points = turned_nodes(12).T
    near = np.abs(whole(*points)) < WIDTH
    assert np.abs(found(*points) - whole(*points))[near].max() < 0.08 * WIDTH
    plain = ball | Ball((1.0, 0.0, 0.0), 0.5)
    assert sample_meshes(plain, WIDTH) is plain


def test_the_rest_of_a_mesh_stays_exact():
    mesh = ring()
    found = sample_meshes(mesh, WIDTH)
    assert found.moments(3).volume == mesh.moments(3).volume
    assert np.array_equal(found.probes(3).x, mesh.probes(3).x) and found.middle == mesh.middle
    assert found.triangles()[0] is mesh.vertices


def test_a_shape_that_is_no_dataclass_stays_as_it_is():
    class Own(Shape):
        def __init__(self, inner):
            self.inner = inner

        def distance(self, *x):
            return self.inner(*x)

    @dataclass(frozen=True)
    class Holder(Shape):
        inner: Shape

        def distance(self, *x):
            return self.inner(*x)

    own = Own(ring())
    assert sample_meshes(own, WIDTH) is own
    assert isinstance(sample_meshes(Holder(ring()), WIDTH).inner, SampledMesh)


def test_a_mesh_far_larger_than_the_grid_is_not_sampled():
    """Its box would hold more samples than memory has, and the domain sees few of its points."""
    mesh = ring()
    giant = Mesh(1e15 * mesh.vertices, mesh.faces)
    assert sample_meshes(giant, WIDTH) is giant
