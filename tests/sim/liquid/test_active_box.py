"""The active box of a step: what it covers, that it changes nothing, and that a step costs what its liquid costs."""

import tracemalloc

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.grid.box import IndexBox
from nonstick.grid.faces import ends
from nonstick.sim.liquid import partition as module
from nonstick.sim.liquid.partition import active_box, cells_between
from nonstick.sim.liquid.settings import BoxSettings

BALL = {"shape": {"type": "ball", "centre": [0.45, 0.8], "radius": 0.12}, "velocity": [0.4, -1.0]}
WALL = {"shape": {"type": "box", "low": [0.9, -1.0], "high": [1.06, 9.0]}}
SLOPE = {"shape": {"type": "halfspace", "point": [0.3, 0.2], "normal": [-0.3, 1.0]}}
TAP = {"shape": {"type": "box", "low": [1.5, 0.7], "high": [1.6, 0.8]}, "velocity": [0.5, -0.5], "start": 0.05}
DRAIN = {"shape": {"type": "box", "low": [0.0, 0.0], "high": [2.0, 0.1]}}


def scene(size=(2.0, 1.2), n=96, **more):
    return Scene({"domain": {"size": list(size), "resolution": n}, "liquid": [BALL], **more})


def always_whole(monkeypatch):
    monkeypatch.setattr(module, "BOX", BoxSettings(most=0.0))


def test_the_box_is_aligned_and_seldom_the_domain():
    domain = (100, 60, 60)
    box = active_box([IndexBox((30, 20, 25), (40, 30, 31))], 6, domain)
    assert box == IndexBox((24, 8, 16), (48, 40, 40))
    assert active_box([], 6, domain) == IndexBox((0, 0, 0), (8, 8, 8))
    assert active_box([IndexBox((90, 50, 50), (100, 60, 60))], 6, domain).high == domain
    assert active_box([IndexBox((0, 0, 0), (90, 60, 60))], 6, domain) == IndexBox.whole(domain)
    assert cells_between([-np.inf, 3.5, 59.99], [np.inf, 3.6, 80.0], domain) == IndexBox((0, 3, 59), (100, 4, 60))


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"solid": [WALL, SLOPE], "inflow": [TAP], "outflow": [DRAIN], "force": [{"acceleration": [3.0, 0.0]}]},
        {"solid": [SLOPE], "physics": {"viscosity": 2.0}},
        {"solid": [SLOPE], "physics": {"viscosity": 2.0}, "solver": {"viscous": "split"}},
        {"particles": {"transfer": "flip", "even_out": False}, "walls": {"pressure": "none"}},
    ],
    ids=["air", "source", "stokes", "split", "flip"],
)
def test_a_run_is_the_same_in_its_box_and_in_the_domain(monkeypatch, more):
    inside = Simulation(scene(**more))
    boxes = set()
    for _ in range(12):
        inside.next_frame()
        boxes.add(inside.partition.held)
    assert len(boxes) > 1 and max(box.size for box in boxes) < 0.75 * inside.partition.own_box.size
    always_whole(monkeypatch)
    whole = Simulation(scene(**more))
    for _ in range(12):
        whole.next_frame()
    one, other = inside.particles, whole.particles
    assert np.array_equal(one.id, other.id)
    np.testing.assert_allclose(one.position, other.position, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(one.velocity, other.velocity, rtol=0.0, atol=1e-5)
    frame, same = inside.frame_arrays(), whole.frame_arrays()
    assert all(frame[name].shape == same[name].shape for name in same)
    np.testing.assert_allclose(frame["phi"], same["phi"], atol=1e-6)
    grid, same = inside.grid, whole.grid
    np.testing.assert_allclose(grid.pressure, same.pressure, atol=1e-3)
    np.testing.assert_allclose(grid.velocity[1], same.velocity[1], atol=1e-5)
    assert np.array_equal(grid.solid, same.solid)


def test_a_resumed_run_has_the_same_boxes():
    one = Simulation(scene(solid=[WALL, SLOPE], inflow=[TAP]))
    for _ in range(4):
        one.next_frame()
    other = Simulation(one.scene)
    other.next_frame()  # a box of its own
    other.restore({name: np.copy(values) for name, values in one.state().items()})
    for _ in range(4):
        one.next_frame()
        other.next_frame()
        assert one.partition.held == other.partition.held
    assert all(np.array_equal(a, other.state()[k]) for k, a in one.state().items())


def test_particles_faster_than_the_box_is_wide(monkeypatch):
    fast = {"liquid": [BALL | {"velocity": [20.0, 0.0]}], "physics": {"gravity": [0.0, 0.0]}}
    still = scene(time={"cfl": 1.0, "max_substeps": 1}, **fast)
    inside = Simulation(still)
    inside.step(1 / 60)  # sixteen cells
    always_whole(monkeypatch)
    whole = Simulation(still)
    whole.step(1 / 60)
    assert np.array_equal(inside.particles.position, whole.particles.position)


def test_a_scene_that_runs_empty_goes_on():
    drain = {"shape": {"type": "box", "low": [0.0, 0.0], "high": [2.0, 2.0]}}
    simulation = Simulation(scene(outflow=[drain]))
    for _ in range(3):
        simulation.next_frame()
    assert simulation.liquid.count == 0 and simulation.partition.held.size == 64
    assert np.all(simulation.grid.level_set > 0.0)


def test_particles_may_be_put_anywhere():
    simulation = Simulation(scene())
    simulation.next_frame()
    there = simulation.particles.position + np.array([0.9, 0.2])
    simulation.set_particles(position=there)
    assert simulation.particles.position == pytest.approx(there, abs=1e-12)
    wet = simulation.grid.liquid
    assert wet[:48].sum() == 0 and wet[60:].sum() > 50
    simulation.next_frame()
    assert simulation.particles.position.mean(0) == pytest.approx(there.mean(0), abs=0.03)


@pytest.mark.parametrize("more", [{}, {"physics": {"viscosity": 2.0}}], ids=["thin", "thick"])
def test_a_step_allocates_what_its_liquid_needs(more):
    """Four times the domain, the same ball: the arrays of a step are the same."""
    peaks = []
    for n, size in ((96, (2.0, 1.2)), (192, (4.0, 2.4))):
        simulation = Simulation(scene(size, n, solid=[SLOPE], **more))
        for _ in range(3):
            simulation.step(1 / 120)
        tracemalloc.start()
        simulation.step(1 / 120)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        largest = 8 * simulation.partition.own_box.size
    assert peaks[1] < 1.05 * peaks[0] and peaks[1] < 40 * largest


@pytest.mark.parametrize("more", [{}, {"solid": [SLOPE]}], ids=["empty", "slope"])
def test_walls_over_the_domain_take_memory_only_where_they_differ(more):
    simulation = Simulation(scene(size=(2.0, 1.25), **more))
    solids = simulation.liquid.solids
    names = ("nodes", "space", "room", "centre", "owner")
    before = {name: getattr(solids, name).copy() for name in names} | {"which": solids.chambers().which.copy()}
    opened = solids.open.copy()
    simulation.step(1 / 60)
    assert not simulation.partition.holds_all
    kept = [solids.everywhere(name) for name in names] + [*solids.everywhere("open").user]
    memory = sum(a.nbytes if any(a.strides) else a.itemsize for a in kept)
    assert (memory < 100) if not more else (memory > 8 * before["space"].size)
    for box in (simulation.partition.own_box, IndexBox((8, 8), (40, 32))):  # the whole domain, and a part
        solids.hold(box)
        for name in names:
            here = box.three().part(before[name], solids.whole.three)
            assert np.array_equal(getattr(solids, name), here), name
            assert getattr(solids, name).flags.writeable and getattr(solids, name).flags.c_contiguous
        assert np.array_equal(solids.chambers().which, box.three().part(before["which"], solids.whole.three))
        for axis, share in enumerate(solids.open.user):
            here = box.part(opened.user[axis], solids.whole.shape).copy()
            here[ends(axis)] = 0.0
            assert np.array_equal(share, here)
