"""The ray marcher: skipping what is alike changes nothing, shadows fall where they must, edges are where they are."""

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

from nonstick.kernels import serial
from nonstick.pictures.render import _blocks, _light, _march, _rays
from nonstick.pictures.render._blocks import LIQUID, SOLID, WALL, WET, _classify, _wall_code
from nonstick.pictures.render._light import _casts, shade_of
from nonstick.pictures.render._rays import _slope
from nonstick.pictures.render.scenery import Scenery
from nonstick.pictures.render.space import Studio, Viewpoint

NO_BODY = np.full((1, 1, 1), 1e3, np.float32)
NO_TRIANGLES = np.zeros((0, 6, 3))
# merged functions are inlined into their callers, so tests call them through these
through, shadow, edges, step, enter = _rays._through, _light._shadow, _march._edges, _blocks._step, _march._enter


@serial
def _call_through(scene, a, b, c, d0, d1, d2, in_liquid, enough):
    return through(scene, a, b, c, d0, d1, d2, in_liquid, enough)


@serial
def _call_shadow(scene, a, b, c, sun, soak):
    return shadow(scene, a, b, c, sun, soak)


@serial
def _call_enter(scene, a, b, c, d0, d1, d2):
    return enter(scene, a, b, c, d0, d1, d2)


@serial
def _call_edges(scene, t, eye, d0, d1, d2, wide):
    return edges(scene, t, eye, d0, d1, d2, wide)


def ray_scene(**given):
    """The arrays that a test gives, and small ones for the others."""
    none = {name: NO_BODY for name in ("phi", "wall", "rock", "body", "shade")}
    none |= {"dye": np.zeros((1, 1, 1, 3), np.float32), "wall_fine": 1.0, "body_fine": 2.0, "casts": True}
    none |= {"owner": np.zeros((1, 1, 1), np.int16), "whose": np.zeros(0, np.int16), "paint": np.zeros((1, 3))}
    none |= {"cell": np.zeros((1, 1, 1), np.uint8), "block": np.zeros((1, 1, 1), np.int16)}
    none |= {"lists": np.zeros(2, np.int32), "tri": NO_TRIANGLES}
    return _rays.RayScene(**(none | given))


def _try_through(phi, wall, body, cell, block, lists, tri, *rest):
    given = ray_scene(phi=phi, wall=wall, body=body, cell=cell, block=block, lists=lists, tri=tri)
    return _call_through(given, *rest)


def _try_shadow(shade, wall, body, cell, block, lists, tri, *rest):
    given = ray_scene(shade=shade, wall=wall, body=body, cell=cell, block=block, lists=lists, tri=tri)
    return _call_shadow(given, *rest)


def _try_enter(phi, wall, rock, cell, block, *rest):
    return _call_enter(ray_scene(phi=phi, wall=wall, rock=rock, cell=cell, block=block), *rest)


def _try_edges(phi, wall, rock, *rest):
    return _call_edges(ray_scene(phi=phi, wall=wall, rock=rock), *rest)


@serial
def _try_step(block, cell, a, b, c, d0, d1, d2):
    return step(block, cell, a, b, c, d0, d1, d2, 1.0 / d0, 1.0 / d1, 1.0 / d2)


def ball(shape, centre, radius, shift=0.5):
    at = np.meshgrid(*[np.arange(n) + shift for n in shape], indexing="ij")
    return (np.sqrt(sum((a - c) ** 2 for a, c in zip(at, centre))) - radius).astype(np.float32)


def stage(phi, wall):
    """What rays need, and the same where no block is uniform."""
    stone = np.empty(phi.shape, np.uint8)
    _wall_code(stone, wall, 1)
    cell, block = np.empty(phi.shape, np.uint8), np.empty(tuple(-(-n // 4) for n in phi.shape), np.int16)
    _classify(cell, block, phi, stone)
    lists = np.full(phi.size + 1, phi.size + 1, np.int32)
    return [(phi, wall, NO_BODY, cell, b, lists, NO_TRIANGLES) for b in (block, np.zeros_like(block))]


def _unit(v):
    return v / np.linalg.norm(v)


def open_space(n):
    return np.full((n + 1,) * 3, 50.0, np.float32)


@pytest.mark.parametrize("shape", [(24, 18, 13), (7, 30, 5)])
def test_codes_of_cells_follow_from_the_values_around_them(shape):
    phi = np.minimum(ball(shape, [0.3 * n for n in shape], 2.0), 1.5)
    wall = ball([n + 1 for n in shape], [0.7 * n for n in shape], 2.5, 0.0)
    (_, _, _, cell, block, *_), _ = stage(phi, wall)
    for i, j, k in np.ndindex(*shape):
        near = phi[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2, max(k - 1, 0) : k + 2] < 0
        corners = wall[i : i + 2, j : j + 2, k : k + 2] < 0
        want = SOLID if corners.all() else (
            (LIQUID if near.any() and not near.all() else WET * near.all()) | WALL * corners.any()
        )  # fmt: skip
        assert cell[i, j, k] == want
        if block[i // 4, j // 4, k // 4]:
            assert block[i // 4, j // 4, k // 4] // 64 * 16 == want


def test_a_leap_ends_where_something_changes():
    rng = np.random.default_rng(3)
    phi = np.where(rng.random((40, 32, 24)) < 0.0004, -1.0, 1.0).astype(np.float32)
    (_, _, _, cell, block, *_), _ = stage(phi, np.full([n + 1 for n in phi.shape], 9.0, np.float32))
    assert (block % 64).max() > 2 and (block == 0).any()
    for _ in range(300):
        at, d = rng.random(3) * phi.shape, rng.normal(size=3)
        d /= np.linalg.norm(d)
        way, code = _try_step(block, cell, *at, *d)
        for t in np.linspace(0.0, way - 2e-3, 20):
            i, j, k = np.minimum((at + t * d).astype(int), np.array(phi.shape) - 1)
            assert cell[i, j, k] == code


@pytest.mark.parametrize("shape", [(24, 18, 13), (7, 30, 5)])
def test_skipping_alike_blocks_changes_nothing(shape):
    rng = np.random.default_rng(5)
    phi = np.minimum(ball(shape, [0.3 * n for n in shape], 2.0), 1.5)
    wall = ball([n + 1 for n in shape], [0.7 * n for n in shape], 2.5, 0.0)
    fast, slow = stage(phi, wall)
    kinds = set()
    for _ in range(200):
        a, b, c = rng.random(3) * shape
        d = rng.normal(size=3)
        d /= np.linalg.norm(d)
        one, other = (_try_through(*s, a, b, c, *d, False, 0.0) for s in (fast, slow))
        kinds.add(one[0])
        assert one[0] == other[0]
        np.testing.assert_allclose(one[1:4], other[1:4], atol=0.15)
    assert kinds == {0, 1, 2}


def test_crossing_deep_liquid_at_once_counts_the_same_way():
    phi = np.clip(ball((40, 40, 40), (20, 20, 20), 15.0), -1.5, 1.5)
    rng = np.random.default_rng(6)
    for _ in range(50):
        d = rng.normal(size=3)
        d /= np.linalg.norm(d)
        for s in stage(phi, open_space(40)):
            assert _try_through(*s, *(20 - 14.9 * d), *d, True, 1e9)[4] == pytest.approx(29.9, abs=1.5)


def test_the_way_through_liquid_and_the_side_it_leaves_by():
    phi = ball((20, 20, 20), (10, 10, 10), 5.0)
    what, a, b, c, wet, _ = _try_through(*stage(phi, open_space(20))[0], 5.0, 10.0, 10.0, 1.0, 0.0, 0.0, True, 1e9)
    assert what == 0 and b == pytest.approx(10.0) and c == pytest.approx(10.0)
    assert a == pytest.approx(20.0) and wet == pytest.approx(10.0, abs=0.6)


def test_obstacles_cast_shadows_and_containers_do_not():
    dry, up = np.full((20, 20, 20), 1.5, np.float32), np.array([0.0, 1.0, 0.0])
    under, light = (10.0, 2.0, 10.0), np.zeros((20, 20, 20), np.float32)
    obstacle, room = ball((21,) * 3, (10, 10, 10), 3.0, 0.0), -ball((21,) * 3, (10, 10, 10), 9.0, 0.0)
    for wall, share in ((obstacle, 0.0), (room, 1.0), (open_space(20), 1.0)):
        _, _, body, cell, block, lists, tri = stage(dry, wall)[0]
        assert _try_shadow(light, wall, body, cell, block, lists, tri, *under, up, 5.0) == (share, 1.0)
        assert _casts(wall, 1.0, body, cell, block, lists, tri, up) == (share == 0.0)
    wet = ball((20, 20, 20), (10, 10, 10), 4.0)
    _, wall, *rest = stage(wet, open_space(20))[0]
    shade = shade_of(wet, np.zeros(wet.shape, np.uint8), up)
    light, damp = _try_shadow(shade, wall, *rest, *under, up, 5.0)
    assert light == 1.0 and damp == pytest.approx(0.45 + 0.55 * np.exp(-8 / 5), abs=0.05)


@pytest.mark.parametrize("sun", [(0.3, 0.8, 0.5), (-0.9, 0.1, -0.2), (0.2, -0.4, 0.9), (1.0, 1.0, 0.0)])
def test_shade_is_the_way_through_liquid_to_the_sun(sun):
    shape, sun = (22, 18, 26), np.array(sun) / np.linalg.norm(sun)
    phi, solid = ball(shape, (11, 8, 13), 6.0), np.zeros(shape, np.uint8)
    shade = shade_of(phi, solid, sun)
    grid = [np.arange(n) + 0.5 for n in shape]
    field = RegularGridInterpolator(grid, phi, bounds_error=False, fill_value=9.0)
    errors = []
    for at in np.random.default_rng(1).integers(1, np.array(shape) - 1, (120, 3)):
        way = np.arange(0.0, 45.0, 0.05)
        want = 0.05 * (field(at + 0.5 + way[:, None] * sun) < 0.0).sum()
        errors.append(abs(shade[tuple(at)] - want))
    assert shade.max() > 8.0 and np.mean(errors) < 0.3 and max(errors) < 4.0  # edges are soft
    solid[phi < 1.0] = SOLID
    assert not shade_of(phi, solid, sun).any()


@pytest.mark.parametrize("shape", [(24, 18, 13), (9, 30, 11)])
def test_rays_enter_the_room_where_they_first_meet_open_space(shape):
    rng, middle = np.random.default_rng(9), 0.5 * np.array(shape)
    radius, dry = 0.35 * min(shape), np.ones(shape, np.float32)
    room = -ball([n + 1 for n in shape], middle, radius, 0.0)
    _, wall, rock, cell, block, *_ = stage(dry, room)[0]
    missed = 0
    for _ in range(100):
        eye, to = middle + 60.0 * _unit(rng.normal(size=3)), middle + 0.8 * radius * rng.normal(size=3)
        d = _unit(to - eye)
        near = d @ (middle - eye)
        off2 = (middle - eye) @ (middle - eye) - near**2
        found = _try_enter(dry, wall, rock, cell, block, *eye, *d)
        if off2 > (radius + 0.3) ** 2:
            missed += 1
            assert found == -1.0
        elif off2 < (radius - 0.7) ** 2:  # the room on the grid is a little smaller than the ball
            assert found == pytest.approx(near - np.sqrt(radius**2 - off2), abs=0.6)
    assert 10 < missed < 90


@pytest.mark.parametrize("wall", [-ball((17,) * 3, (8, 8, 8), 7.0, 0.0), open_space(16)])
def test_what_a_studio_keeps_of_a_place_changes_no_picture(wall):
    shape, scenery, kept = (16, 16, 16), Scenery.of_nodes(wall, 1.0), Studio(40, 30)
    views = [Viewpoint(azimuth=a) for a in (20.0, 20.0, 60.0, 20.0)]
    for k, view in enumerate(views):
        phi = ball(shape, (8, 5 + k, 8), 5.0)
        fresh = Studio(40, 30).draw(phi, scenery, 1.0, view)
        np.testing.assert_array_equal(kept.draw(phi, scenery, 1.0, view), fresh)
    assert np.isfinite(kept._entry).any() and not np.array_equal(fresh, kept.draw(phi, scenery, 1.0, views[2]))


def test_slopes_are_central_differences_over_one_node():
    rng = np.random.default_rng(2)
    f = rng.normal(size=(7, 9, 6)).astype(np.float32)
    field = RegularGridInterpolator([np.arange(n) for n in f.shape], f.astype(float))
    for _ in range(50):
        at = 1.0 + rng.random(3) * (np.array(f.shape) - 3.001)
        want = [(field(at + e) - field(at - e))[0] for e in np.eye(3)]
        np.testing.assert_allclose(_slope(f, *at), _unit(np.array(want)), atol=1e-4)


def test_edges_of_the_box_are_seen_where_they_bound_the_room():
    phi, eye = np.ones((10, 10, 10), np.float32), np.array([5.0, 5.0, 60.0])

    def seen(t, wall, *point):
        d = np.array(point) - eye
        return _try_edges(phi, wall, NO_BODY, t, eye, *(d / np.linalg.norm(d)), 1e-3)

    for corner in ((0.0, 5.0, 0.0), (5.0, 10.0, 10.0), (10.0, 0.0, 4.0)):
        assert seen(1e30, open_space(10), *corner) > 0.99
        assert seen(1e30, -open_space(10), *corner) == 0.0
    assert seen(1e30, open_space(10), 5.0, 5.0, 0.0) == 0.0
    assert seen(20.0, open_space(10), 0.0, 5.0, 0.0) == 0.0  # behind something nearer
