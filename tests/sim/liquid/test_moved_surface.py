"""The surface that moves with the liquid, and what particles correct of it."""

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.kernels._interpolate import _velocity
from nonstick.sim.liquid.surface._levelset_moves import _cubic, _move_level
from nonstick.sim.liquid.surface._surface import (
    FARTHEST,
    INSIDE,
    OUTSIDE,
    RADIUS,
    _continue_at_walls,
    _correct,
    _eikonal,
    _widen,
)

SHAPES = [(1, 9, 8), (5, 6, 7)]


@pytest.mark.parametrize("three", [(1, 30, 12), (5, 9, 7)])
def test_the_correction_matches_its_twin(three):
    rng = np.random.default_rng(4)
    phi, unsure = rng.uniform(INSIDE - 0.3, OUTSIDE + 0.3, three), 0.2
    phi[rng.random(three) < 0.1] = INSIDE
    moved = phi + rng.uniform(-1.4, 1.4, three)
    moved[rng.random(three) < 0.1] = np.nan
    low, up = three[1] * 2 // 3, np.array([0.0, 0.8, -0.6])
    phi[:, :low] = -np.abs(phi[:, :low])
    moved[:, :low] = np.where(rng.random(phi[:, :low].shape) < 0.03, 0.2, -np.abs(moved[:, :low]))
    centre, pressure = (
        rng.uniform(-1.0, 4.0, three),
        np.where(rng.random(three) < 0.05, rng.uniform(0.1, 0.4, three), 0.5),
    )
    sticky = (rng.random(three) < 0.3).astype(np.int8)
    found = phi.copy()
    _correct(found, moved, centre, sticky, pressure, 0.2, up, unsure)
    kinds = set()
    for c in np.ndindex(three):
        inside = all(0 < k < n - 1 for k, n in zip(c, three) if n > 1)
        around = tuple(slice(max(k - 1, 0), k + 2) for k in c)
        wall = not inside or centre[c] < RADIUS
        liquid = (moved[around] < 0.0) & (centre[around] >= 0.0)
        above = sum(u * (np.indices(three)[m][around] - k) for m, (u, k) in enumerate(zip(up, c))) > 0.0
        air = bool(((moved[around] >= 0.0) & ((centre[around] >= 0.0) | above)).any())
        press = np.clip(pressure[around][liquid].min(initial=1.0) / 0.2 - 1.0, 0.0, 1.0)
        press = 1.0 if sticky[c] else press
        most = 3.0 * press * unsure if wall else unsure
        more, expected, kind = moved[c] - phi[c], phi[c], "particles"
        if centre[c] < 0.0:
            kind = "in a wall"
        elif wall and press == 1.0 and phi[c] < 0.0 and moved[c] < 0.0:
            expected, kind = (moved[c], "deep") if air or more < 0.0 else (phi[c], "rolled over")
        elif INSIDE <= phi[c] < OUTSIDE and abs(more) < most:
            expected, kind = moved[c], "moved"
        elif INSIDE <= phi[c] < OUTSIDE and abs(more) < 2.0 * most:
            expected, kind = phi[c] + np.sign(more) * (2.0 * most - abs(more)), "fades"
        assert found[c] == pytest.approx(expected, abs=1e-12)
        kinds.add((kind, wall))
    assert {("deep", True), ("rolled over", True), ("particles", False)} <= kinds
    assert {("moved", False), ("moved", True), ("fades", True)} <= kinds


def test_a_front_that_rolls_over_a_floor_leaves_no_film_of_air():
    """It stayed half a cell above the floor, where thick liquid stands still, and fronts were up to 5 % too fast."""
    scene = {
        "domain": {"size": [0.36, 0.12], "resolution": 36},
        "physics": {"density": 1000.0, "viscosity": 100.0, "gravity": [0.0, -9.81]},
        "walls": {"viscous": "no-slip", "left": {"viscous": "slip"}},
        "liquid": [{"shape": {"type": "box", "low": [-1.0, -1.0], "high": [0.1, 0.1]}}],
        "time": {"fps": 10.0, "min_substeps": 2},
    }
    simulation = Simulation(Scene(scene))
    for _ in range(30):
        simulation.next_frame()
    phi = simulation.liquid.tracker.phi[0]
    run_over = np.arange(12, np.flatnonzero(phi[:, 0] < 0.0)[-1] - 3)
    assert run_over.size >= 5
    assert phi[run_over, 0].max() < -0.9


@pytest.mark.parametrize("three", SHAPES)
def test_what_is_continued_counts_as_far_as_liquid_presses(three):
    rng = np.random.default_rng(7)
    phi, liquid, centre = rng.normal(size=three), rng.normal(size=three), rng.normal(size=three)
    continued = np.where(rng.random(three) < 0.2, np.nan, rng.normal(size=three))
    pressure, sticky = rng.uniform(0.2, 0.5, three), (rng.random(three) < 0.3).astype(np.int8)
    found, shares = phi.copy(), []
    _continue_at_walls(found, continued, liquid, centre, sticky, pressure, 0.2)
    for c in np.ndindex(three):
        expected = phi[c]
        if centre[c] < 0.0 and not np.isnan(continued[c]):
            around = tuple(slice(max(k - 1, 0), k + 2) for k in c)
            before = pressure[around][(liquid[around] < 0.0) & (centre[around] >= 0.0)]
            press = 1.0 if sticky[c] else np.clip(before.min(initial=0.4) / 0.2 - 1.0, 0.0, 1.0)
            expected = (1.0 - press) * phi[c] + press * continued[c]
            shares.append(press)
        assert found[c] == pytest.approx(expected, abs=1e-12)
    assert min(shares) < 0.2 and max(shares) == 1.0


@pytest.mark.parametrize("three", SHAPES)
def test_the_wide_distance_matches_its_twin(three):
    rng = np.random.default_rng(5)
    phi, centre = rng.uniform(-3.0, 3.0, three), rng.uniform(-0.3, 1.0, three)
    found = phi.copy()
    _widen(found, phi, centre)
    for c in np.ndindex(three):
        expected = phi[c]
        if abs(phi[c]) >= -INSIDE and centre[c] >= 0.0:
            sign, least = np.sign(phi[c]), []
            for axis in range(3):
                there = [tuple(np.add(c, s * np.eye(3, dtype=int)[axis])) for s in (-1, 1)]
                there = [n for n in there if min(n) >= 0 and all(np.less(n, three)) and centre[n] >= 0.0]
                least.append(min((sign * phi[n] for n in there), default=1e3))
            expected = sign * FARTHEST
            if min(least) < FARTHEST - 1.0:
                expected = sign * np.clip(_eikonal(*least), -INSIDE, FARTHEST)
        assert found[c] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("three", SHAPES)
def test_what_comes_to_a_place_has_left_another_one(three):
    rng = np.random.default_rng(6)
    phi = rng.normal(size=three)
    u, v, w = (0.5 * rng.normal(size=tuple(n + (a == k) for k, n in enumerate(three))) for a in range(3))
    if three[0] == 1:
        u = np.zeros((1, 1, 2))
    out, rate, flat = np.empty(three), 0.7, [a.ravel() for a in (u, v, w)]
    _move_level(out, phi, u, v, w, rate, 1.5)
    assert (np.abs(phi) >= 1.5).any()
    for c in np.ndindex(three):
        if abs(phi[c]) >= 1.5:
            assert out[c] == phi[c]
            continue
        y = np.array(c) + 0.5
        x = y - rate * np.array(_velocity(*flat, *three, *y))
        x = y - rate * np.array(_velocity(*flat, *three, *x))
        assert out[c] == pytest.approx(_cubic(phi, *(x - 0.5)), abs=1e-12)


def test_a_wave_of_many_steps_is_where_its_liquid_is():
    """A flow that is known everywhere carries the surface as it carries points, to 1 %."""
    n, height, k = 32, 22.4, 2.0 * np.pi / 32
    j, z = np.meshgrid(np.arange(n + 1), np.arange(n) + 0.5, indexing="ij")
    v = -0.3 * np.sin(k * j) * np.exp(k * (z - height))
    j, z = np.meshgrid(np.arange(n) + 0.5, np.arange(n + 1), indexing="ij")
    w = 0.3 * np.cos(k * j) * np.exp(k * (z - height))
    phi = np.clip(np.broadcast_to(np.arange(n) + 0.5 - height, (1, n, n)), -FARTHEST, FARTHEST)
    points = np.array([np.linspace(0.0, n, 400, endpoint=False), np.full(400, height)])
    for _ in range(12):
        out = np.empty(phi.shape)
        _move_level(out, phi, np.zeros((1, 1, 2)), v[None], w[None], 32 / 120, np.inf)
        phi = np.clip(out, -FARTHEST, FARTHEST)
        a, b = points
        growth = 0.3 * 32 / 120 * np.exp(k * (b - height))
        points = np.array([a - growth * np.sin(k * a), b + growth * np.cos(k * a)])
    columns, last = np.arange(n) + 0.5, np.argmax(phi[0] >= 0.0, axis=1) - 1
    low, high = phi[0][np.arange(n), last], phi[0][np.arange(n), last + 1]
    exact = np.interp(columns, *points[:, np.argsort(points[0])], period=n)
    found = last + 0.5 + low / (low - high)
    wave = np.cos(k * columns)
    assert found @ wave == pytest.approx(exact @ wave, rel=0.01)
