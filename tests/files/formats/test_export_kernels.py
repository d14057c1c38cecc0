"""Kernels of the exporters against slow twins."""

import numpy as np
import pytest
from scipy.ndimage import maximum_filter, minimum_filter

from nonstick.files.formats import _surface
from nonstick.files.formats.frame import widen
from nonstick.files.formats.surface import PAD, SETTINGS, _kinds, _shift
from nonstick.grid.box import IndexBox
from nonstick.grid.levelset import flat_distance


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


def test_the_box_around_a_mask():
    mask = np.random.default_rng(0).random((20, 21, 22)) < 0.001
    at = np.argwhere(mask)
    box = IndexBox.around(mask).grown(2, mask.shape)
    assert box.low == tuple(np.maximum(at.min(axis=0) - 2, 0))
    assert box.high == tuple(np.minimum(at.max(axis=0) + 3, mask.shape))
    assert IndexBox.around(np.zeros((4, 5))) is None


def test_particles_are_counted_and_those_at_walls_and_sides_are_listed():
    rng = np.random.default_rng(0)
    x, reach = rng.uniform(-0.4, 8.0, (300, 3)).astype(np.float32), 1.25
    shape = (8, 7, 6)
    nodes = rng.uniform(0.0, 6.0, (9, 8, 7)).astype(np.float32)
    count = np.zeros(shape, np.int32)
    wall, side = np.empty(300, np.int32), np.empty(300, np.int32)
    n, m = _surface._survey(count, wall, side, x, nodes, np.float32(3.0), reach)
    cells = np.clip(np.floor(x).astype(int), 0, np.array(shape) - 1)
    twin = np.zeros(shape, int)
    np.add.at(twin, tuple(cells.T), 1)
    np.testing.assert_array_equal(count, twin)
    np.testing.assert_array_equal(wall[:n], np.flatnonzero(nodes[tuple(cells.T)] < 3.0))
    beside = ((x < reach) | (x > np.array(shape) - reach)).any(axis=1)
    np.testing.assert_array_equal(side[:m], np.flatnonzero(beside))
    _surface._count(count, x, np.zeros(3, np.int64))
    np.testing.assert_array_equal(count, 2 * twin)


def sorted_particles(x, n, margin, per_cell, needed=None):
    """Columns in the order of cells, the ends of cells, and their numbers; the box begins with the cell (1, 0, 0)."""
    corner = np.array([1, 0, 0])
    count = np.zeros((n + 2 * margin,) * 3, np.int32)
    _surface._count(count, x + corner.astype(np.float32), corner - margin)
    needed = np.ones(count.shape, np.uint8) if needed is None else needed
    end = np.empty(count.shape, np.int32)
    columns = np.empty((4, _surface._begin(end, count, needed)), np.float32)
    points = (x + corner).astype(np.float32)
    _surface._sort(columns, end, points, corner, margin, count, needed, per_cell)
    return columns, end, count


def test_particles_in_the_order_of_needed_cells():
    rng = np.random.default_rng(0)
    n, margin, per_cell = 4, 2, 8
    x = rng.uniform(0.1, 3.9, (400, 3)).astype(np.float32)
    needed = (rng.random((8, 8, 8)) < 0.6).view(np.uint8)
    columns, end, count = sorted_particles(x, n, margin, per_cell, needed)
    cell = np.floor(x).astype(int) + margin
    np.testing.assert_array_equal(count, np.histogramdd(x, bins=[np.arange(-margin, n + margin + 1)] * 3)[0])
    begin = 0
    for at in np.ndindex(end.shape):
        mine = np.flatnonzero((cell == at).all(axis=1)) if needed[at] else []
        assert end[at] - begin == len(mine)
        np.testing.assert_allclose(columns[:3, begin : end[at]].T, x[mine], atol=1e-6)
        np.testing.assert_allclose(columns[3, begin : end[at]], min(1.0, per_cell / max(count[at], 1)))
        begin = end[at]
    assert begin == columns.shape[1]


@pytest.mark.parametrize("refine", [1, 2, 3])
def test_distance_is_that_of_the_formula(refine):
    """Every sample, with all particles and not only those of a list."""
    rng = np.random.default_rng(refine)
    n, margin, pad, per_cell, reach, largest, limit, drop = 5, 2, 3, 8, 1.26, 0.75, 0.6, 0.45
    x = rng.uniform(0.5, 4.5, (150, 3)).astype(np.float32)
    x[100:] = rng.uniform(2.0, 2.4, (50, 3))  # a crowded place
    columns, end, count = sorted_particles(x, n, margin, per_cell)
    shape = (n * refine + 2 * pad,) * 3
    phi, core, band = np.full(shape, 9.0, np.float32), np.zeros(end.shape, np.uint8), np.zeros(end.shape, np.uint8)
    solid = rng.uniform(-3.0 / refine, 1.0, shape).astype(np.float32)
    kind, table = np.ones(end.shape, np.uint8), flat_distance(3)
    kind[0], kind[-1] = 0, 2
    full = per_cell * 64.0 / 315.0 * np.pi * reach**3
    _surface._particle_distance(
        phi, core, band, solid, columns, end, kind, margin, refine, pad, reach, largest, limit, drop, table, full
    )
    cells = cells_of(shape, end.shape, margin, refine, pad)
    sort = np.where((cells >= 0).all(axis=0), kind[tuple(np.maximum(cells, 0))], 0)
    looked = (sort == 1) & (solid * refine >= -2.0)
    np.testing.assert_array_equal(phi != 9.0, looked | (sort == 2))
    assert (phi[sort == 2] == np.float32(-limit)).all() and core[-1].all()
    weight = np.minimum(1.0, per_cell / count[tuple(np.floor(x).astype(int).T + margin)])
    twin_core, twin_band = np.zeros_like(core), np.zeros_like(band)
    twin_core[-1] = 1
    for at in np.argwhere(looked):
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
        cell = tuple(cells[(slice(None), *at)])
        twin_core[cell] |= w.sum() > _surface.CORE * full
        twin_band[cell] |= abs(phi[tuple(at)]) < np.float32(limit)
    np.testing.assert_array_equal(core, twin_core)
    np.testing.assert_array_equal(band, twin_band)


def cells_of(shape, cells, margin, refine, pad):
    """The cell [axis, i, j, k] of every sample; -1 beyond the box of cells."""
    one = [(np.arange(n) - pad) // refine + margin for n in shape]
    one = [np.where((c >= 0) & (c < m), c, -1) for c, m in zip(one, cells)]
    return np.stack(np.meshgrid(*one, indexing="ij"))


def of_cells(mask, shape, margin, refine, pad):
    """A mask over cells as one over samples."""
    cells = cells_of(shape, mask.shape, margin, refine, pad)
    return (cells >= 0).all(axis=0) & (mask[tuple(np.maximum(cells, 0))] != 0)


#: number of cells, their margin, samples a cell, samples around the inner cells
GRIDS = [(6, 2, 2, 3), (5, 2, 1, 3), (5, 1, 3, 2)]


@pytest.mark.parametrize("cells, margin, refine, pad", GRIDS)
@pytest.mark.parametrize("passes", [1, 2])
def test_the_filter(cells, margin, refine, pad, passes):
    rng = np.random.default_rng(0)
    phi = rng.normal(size=[n * refine + 2 * pad for n in (cells, cells - 1, cells + 1)]).astype(np.float32)
    mask = rng.random([n + 2 * margin for n in (cells, cells - 1, cells + 1)]) < 0.5
    here = of_cells(mask, phi.shape, margin, refine, pad)
    inner = np.zeros(phi.shape, bool)
    inner[1:-1, 1:-1, 1:-1] = True
    twin = phi.astype(float)
    for _ in range(passes):
        wide = twin
        for axis in range(3):
            wide = 0.25 * np.roll(wide, 1, axis) + 0.5 * wide + 0.25 * np.roll(wide, -1, axis)
        twin = np.where(here & inner, wide, twin)
    _surface._smooth(phi, mask.view(np.uint8), margin, refine, pad, passes)
    np.testing.assert_allclose(phi, twin, atol=2e-6)


@pytest.mark.parametrize("cells, margin, refine, pad", GRIDS)
def test_a_shift_of_some_samples(cells, margin, refine, pad):
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(cells * refine + 2 * pad,) * 3).astype(np.float32)
    mask = rng.random((cells + 2 * margin,) * 3) < 0.5
    twin = phi + np.where(of_cells(mask, phi.shape, margin, refine, pad), np.float32(0.25), np.float32(0.0))
    _surface._add(phi, mask.view(np.uint8), margin, refine, pad, np.float32(0.25))
    np.testing.assert_array_equal(phi, twin)


def test_the_shift_gives_the_volume():
    n, margin = 17, 2
    x = (np.arange(2 * n + 2 * PAD) - PAD + 0.5) / 2 - n / 2  # samples in cells from the middle
    span = SETTINGS.shift + 0.25
    phi = np.sqrt(x[:, None, None] ** 2 + x[:, None] ** 2 + x**2) - 5.0
    phi = np.clip(phi, -span, span).astype(np.float32)
    solid = np.broadcast_to(x.astype(np.float32) + 2.0, phi.shape).copy()
    rng = np.random.default_rng(0)
    bulk = rng.random((n + 2 * margin,) * 3) < 0.8
    middle = np.arange(n + 2 * margin) - margin + 0.5 - n / 2
    far = np.sqrt(middle[:, None, None] ** 2 + middle[:, None] ** 2 + middle**2)
    plain = (far < 3.0) & (rng.random(far.shape) < 0.9)
    room = np.clip(0.5 + 2.0 * solid, 0.0, 1.0) * of_cells(bulk, phi.shape, margin, 2, PAD)
    for asked in (-0.2, 0.0, 0.1):
        target = float((room * np.clip(0.5 - 2.0 * (phi + asked), 0.0, 1.0)).sum())
        shift = _shift(phi, solid, bulk.view(np.uint8), plain, margin, target, 2)
        assert shift == pytest.approx(asked, abs=2e-4)
    assert _shift(phi, solid, bulk.view(np.uint8), plain, margin, 0.0, 2) == pytest.approx(SETTINGS.shift, abs=1e-3)


@pytest.mark.parametrize("cells, margin, refine, pad", GRIDS)
def test_room_outside_walls_by_level(cells, margin, refine, pad):
    rng, span, steps = np.random.default_rng(0), np.float32(0.5), 8
    phi = rng.uniform(-0.7, 0.7, (cells * refine + 2 * pad,) * 3).astype(np.float32)
    solid = rng.uniform(-1.0, 1.0, phi.shape).astype(np.float32)
    mask = rng.random((cells + 2 * margin,) * 3) < 0.5
    room = np.clip(0.5 + solid * refine, 0.0, 1.0) * of_cells(mask, phi.shape, margin, refine, pad)
    out, plain = np.zeros((len(mask), 1 + steps)), np.zeros(mask.shape, bool)
    _surface._room_by_level(out, phi, solid, mask.view(np.uint8), plain, margin, refine, pad, span)
    twin = [
        room[phi <= -span].sum(),
        *np.histogram(phi, steps, (-span, span), weights=np.where(phi > -span, room, 0))[0],
    ]
    np.testing.assert_allclose(out.sum(axis=0), twin, rtol=1e-5)
