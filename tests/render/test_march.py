"""The ray marcher: skipping empty blocks changes nothing, shadows fall where they must, edges are where they are."""

import numpy as np
import pytest

from nonstick.render._march import _edges, _shadow
from nonstick.render._rays import _leap, _occupied, _through

NO_BODY = np.full((1, 1, 1), 1e3)


def ball(shape, centre, radius, shift=0.5):
    at = np.meshgrid(*[np.arange(n) + shift for n in shape], indexing="ij")
    return np.sqrt(sum((a - c) ** 2 for a, c in zip(at, centre))) - radius


def blocks(phi, solid, body=NO_BODY):
    full = np.empty(tuple(-(-n // 4) for n in phi.shape), np.int8)
    _occupied(full, phi, solid, body, 2.0)
    return full


@pytest.mark.parametrize("shape", [(24, 18, 13), (7, 30, 5)])
def test_skipping_empty_blocks_changes_nothing(shape):
    rng = np.random.default_rng(5)
    phi = np.minimum(ball(shape, [0.3 * n for n in shape], 2.0), 1.5)
    solid = ball([n + 1 for n in shape], [0.7 * n for n in shape], 2.5, 0.0)
    full = blocks(phi, solid)
    assert not full.all()
    everything = np.ones_like(full)
    kinds = set()
    for _ in range(200):
        a, b, c = rng.random(3) * shape
        d = rng.normal(size=3)
        d /= np.linalg.norm(d)
        one = _through(phi, solid, NO_BODY, 2.0, full, a, b, c, *d, False, 0.0)
        other = _through(phi, solid, NO_BODY, 2.0, everything, a, b, c, *d, False, 0.0)
        kinds.add(one[0])
        assert one[0] == other[0]
        np.testing.assert_allclose(one[1:4], other[1:4], atol=0.15)
    assert kinds == {0, 1, 2}


def test_a_leap_ends_at_the_end_of_the_block():
    full = np.zeros((3, 3, 3), np.int8)
    assert _leap(full, 5.0, 6.0, 7.0, 1.0, 0.0, 0.0) == (pytest.approx(3.0, abs=0.01), 0)
    full[1, 1, 1] = 2
    assert _leap(full, 5.0, 6.0, 7.0, 0.0, -1.0, 0.0) == (pytest.approx(2.0, abs=0.01), 2)
    full[1, 1, 1] = 1
    assert _leap(full, 5.0, 6.0, 7.0, 1.0, 0.0, 0.0) == (0.0, 1)


def test_crossing_deep_liquid_at_once_counts_the_same_way():
    phi = np.clip(ball((40, 40, 40), (20, 20, 20), 15.0), -1.5, 1.5)
    solid = np.full((41,) * 3, 50.0)
    full = blocks(phi, solid)
    assert (full == 2).any() and (full == 0).any()
    rng = np.random.default_rng(6)
    for _ in range(50):
        d = rng.normal(size=3)
        d /= np.linalg.norm(d)
        start = 20 - 14.9 * d
        for blocked in (full, np.ones_like(full)):
            way = _through(phi, solid, NO_BODY, 2.0, blocked, *start, *d, True, 1e9)[4]
            assert way == pytest.approx(29.9, abs=1.5)


def test_the_way_through_liquid_and_the_side_it_leaves_by():
    phi = ball((20, 20, 20), (10, 10, 10), 5.0)
    solid = np.full((21,) * 3, 50.0)
    what, a, b, c, wet = _through(
        phi, solid, NO_BODY, 2.0, blocks(phi, solid), 5.0, 10.0, 10.0, 1.0, 0.0, 0.0, True, 1e9
    )
    assert (what, b, c) == (0, 10.0, 10.0)
    assert a == pytest.approx(20.0) and wet == pytest.approx(10.0, abs=0.6)


def test_obstacles_cast_shadows_and_containers_do_not():
    phi, up = np.full((20, 20, 20), 1.5), np.array([0.0, 1.0, 0.0])
    under = (10.0, 2.0, 10.0)
    obstacle = ball((21,) * 3, (10, 10, 10), 3.0, 0.0)
    assert _shadow(phi, obstacle, NO_BODY, 2.0, blocks(phi, obstacle), *under, up, 5.0)[0] == 0.0
    container = -ball((21,) * 3, (10, 10, 10), 9.0, 0.0)
    assert _shadow(phi, container, NO_BODY, 2.0, blocks(phi, container), *under, up, 5.0) == (1.0, 1.0)
    wet = ball((20, 20, 20), (10, 10, 10), 4.0)
    free = np.full((21,) * 3, 50.0)
    dry, damp = _shadow(wet, free, NO_BODY, 2.0, blocks(wet, free), *under, up, 5.0)
    assert dry == 1.0 and damp == pytest.approx(0.45 + 0.55 * np.exp(-8 / 5), abs=0.05)


def test_edges_of_the_box_are_seen_where_they_bound_the_room():
    solid = np.full((11,) * 3, 50.0)
    eye = np.array([5.0, 5.0, 60.0])

    def toward(*point):
        d = np.array(point) - eye
        return d / np.linalg.norm(d)

    for corner in ((0.0, 5.0, 0.0), (5.0, 10.0, 10.0), (10.0, 0.0, 4.0)):
        assert _edges(1e30, eye, *toward(*corner), solid, 10, 10, 10, 1e-3) > 0.99
        assert _edges(1e30, eye, *toward(*corner), -solid, 10, 10, 10, 1e-3) == 0.0
    assert _edges(1e30, eye, *toward(5.0, 5.0, 0.0), solid, 10, 10, 10, 1e-3) == 0.0
    assert _edges(20.0, eye, *toward(0.0, 5.0, 0.0), solid, 10, 10, 10, 1e-3) == 0.0  # behind something nearer
