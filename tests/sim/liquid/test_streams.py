"""Sources deliver velocity times area, whatever their shape, size and slant, out of the open and out of walls."""

import math
from itertools import pairwise

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.grid.shapes import Ball, Box
from nonstick.sim.liquid.sources.streamlines import Stream

STRAIGHT, SLANTED, STEEP = (1.0, 0.0, 0.0), (0.956, 0.292, 0.0), (0.3, -0.76, 0.52)
CORNER = np.array([3.1, 4.2, 5.05])


def box(width, velocity):
    """A box four cells long and `width` wide, and the flow through it."""
    d = len(velocity)
    size = np.full(d, width)
    size[0] = 4.0
    sides = [np.prod(np.delete(size, axis)) for axis in range(d)]
    return Box(tuple(CORNER[:d]), tuple(CORNER[:d] + size)), float(np.abs(velocity) @ sides)


def delivered(lines, speed, width, d, steps=200):
    """Volume of the particles that come in, per second, in steps of uneven length."""
    times = np.cumsum(0.2 + 0.6 * np.random.default_rng(1).random(steps)) / speed
    count = sum(int(lines.places(speed * b, speed * (b - a))[1].sum()) for a, b in pairwise(times))
    return count * width**d / (times[-1] - times[0])


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("velocity", [STRAIGHT, SLANTED, STEEP])
@pytest.mark.parametrize("size", [8.0, 8.3, 1.3])
def test_flow_is_velocity_times_area(d, velocity, size):
    velocity, width = velocity[:d], 0.5
    speed = max(map(abs, velocity))
    ball = Ball((5.03,) * d, 0.5 * size)
    round_area = size if d == 2 else 0.25 * math.pi * size**2
    for shape, flow in (box(size, velocity), (ball, float(np.linalg.norm(velocity)) * round_area)):
        stream = Stream(shape, velocity, width)
        lines = stream.lines()
        close = 0.003 if size > 2.0 else 0.015
        assert stream.shadow()[0] * speed == pytest.approx(flow, rel=close)
        assert delivered(lines, speed, width, d) == pytest.approx(flow, rel=2.0 * close)


def test_lines_fill_the_shadow_evenly_and_stay_in_it():
    stream = Stream(box(7.6, SLANTED[:2])[0], SLANTED[:2], 0.5)
    lines = stream.lines()
    feet = np.sort(lines.feet[1])
    low, high = CORNER[1] - 4.0 * SLANTED[1] / SLANTED[0], CORNER[1] + 7.6
    gap = (high - low) / feet.size
    np.testing.assert_allclose(feet, low + gap * (np.arange(feet.size) + 0.5), atol=0.01)
    assert gap == pytest.approx(0.5, rel=0.05)
    assert lines.pitch * gap == pytest.approx(0.25, rel=0.002)
    shape = stream.shape
    middle = lines.feet + 0.5 * (lines.entry + lines.end) * lines.way[:, None]
    assert (shape(*middle) < 0.0).all()
    for ends in (lines.entry, lines.end):
        np.testing.assert_allclose(shape(*(lines.feet + ends * lines.way[:, None])), 0.0, atol=1e-9)


def test_each_place_is_due_once_even_if_a_step_carries_it_through_the_source():
    """Lines through a corner were shorter than a step, and lost most of their particles: 12 % of the flow at 40°."""
    lines = Stream(box(8.0, SLANTED[:2])[0], SLANTED[:2], 0.5).lines()
    for step in (0.1, 0.5, 0.37, 6.0):
        seen = []
        for number in range(1, 30):
            x, due = lines.places(number * step, step)
            back = x[:, due] - number * step * lines.way[:, None]  # where the particle was at time 0
            seen.append(np.round(back, 6))
        seen = np.concatenate(seen, axis=1)
        assert np.unique(seen, axis=1).shape[1] == seen.shape[1]
        assert seen.shape[1] == pytest.approx(29 * step * lines.entry.size / lines.pitch, abs=lines.entry.size)


def test_processes_share_the_lines():
    lines = Stream(box(8.0, STEEP)[0], STEEP, 0.5).lines()
    parts = [lines.part(rank, 3).places(7.3, 0.4) for rank in range(3)]
    whole = lines.places(7.3, 0.4)
    np.testing.assert_array_equal(np.concatenate([x for x, _ in parts], axis=1), whole[0])
    np.testing.assert_array_equal(np.concatenate([due for _, due in parts]), whole[1])


#: the region, the velocity, the flow in m²/s; the domain is 1 m wide, a wall fills it up to x = 0.125
JETS = {
    "slanted": ([0.2, 0.213], [0.29, 0.387], [0.956, 0.292], 0.956 * 0.174 + 0.292 * 0.09),
    "out of a side": ([-0.5, 0.403], [0.09, 0.57], [1.0, 0.0], 0.167),
    "out of a wall": ([0.0, 0.403], [0.2, 0.57], [1.0, 0.0], 0.167),
    "along a wall": ([0.2, -0.2], [0.29, 0.167], [1.0, 0.0], 0.167),
}


@pytest.mark.parametrize("name", JETS)
def test_a_jet_delivers_its_flow_at_its_density(name):
    low, high, velocity, flow = JETS[name]
    simulation = Simulation(
        Scene(
            {
                "domain": {"size": [1.0, 1.0], "resolution": 46},
                "physics": {"gravity": [0.0, 0.0]},
                "solid": [{"shape": {"type": "box", "low": [-1.0, -1.0], "high": [0.125, 2.0]}}] * ("wall" in name),
                "inflow": [{"shape": {"type": "box", "low": low, "high": high}, "velocity": velocity}],
                "outflow": [{"shape": {"type": "box", "low": [0.8, -1.0], "high": [2.0, 2.0]}}],
            }
        )
    )
    times, volumes, between, counts = [], [], [], []
    for _ in range(72):
        simulation.next_frame()
        times.append(simulation.time)
        volumes.append(simulation.liquid.ledger.inflow / 46**2)
        x, y = simulation.particles.position.T
        between.append(np.count_nonzero((x > 0.45) & (x < 0.75)))
        core = abs(y - np.interp(x, [0.0, 1.0], np.polyval(np.polyfit(x, y, 1), [0.0, 1.0]))) < 0.05
        counts.append(np.histogram(x[core], np.arange(20, 35) / 46)[0])
    assert np.polyfit(times[5:], volumes[5:], 1)[0] == pytest.approx(flow, rel=0.005)
    # without gaps and crowds: as many particles in the jet as its volume has, everywhere
    jet = 0.3 * flow / velocity[0] / simulation.particles.volume
    assert np.mean(between[42:]) == pytest.approx(jet, rel=0.02)
    steady = np.array(counts[42:]) * simulation.particles.volume * 46 / 0.1
    assert np.abs(steady.mean(axis=0) - 1.0).max() < 0.07 and steady.min() > 0.4 and steady.max() < 1.6
