"""Ids of particles: they stay with their particles, and none is given twice."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene, Simulation
from nonstick.grid import Grid
from nonstick.sim.liquid.particles.storage import Cloud

#: liquid enters at the left and leaves at the right
STREAM = {
    "name": "stream",
    "domain": {"size": [1.0, 0.5], "resolution": 16},
    "time": {"frames": 6, "fps": 10},
    "inflow": [{"shape": {"type": "box", "low": [0.0, 0.2], "high": [0.15, 0.4]}, "velocity": [1.5, 0.0]}],
    "outflow": [{"shape": {"type": "box", "low": [0.6, 0.0], "high": [1.0, 0.5]}}],
}


def frames(simulation, count):
    for _ in range(count):
        simulation.next_frame()
        yield simulation.frame_arrays()


@pytest.mark.parametrize("name", ["circle", "sphere"])
def test_an_id_stays_with_its_particle(name):
    """A column that nothing else moves goes along: the ids of the beginning, written into `mu`."""
    simulation = Simulation(Scene.load(name, {"domain.resolution": 12, "liquid.0.viscosity": 1e-9}))
    cloud = simulation.liquid.tracker.cloud
    cloud.thick, cloud.mu = True, cloud.id.astype(np.float32)
    for arrays in frames(simulation, 4):
        assert not np.array_equal(arrays["id"], np.arange(cloud.n))  # the order has changed
        np.testing.assert_array_equal(arrays["id"], cloud.mu)
        np.testing.assert_array_equal(np.sort(arrays["id"]), np.arange(arrays["born"]))


def test_births_get_new_ids_and_deaths_take_theirs_along():
    seen, last, dead, born = set(), set(), set(), 0
    for arrays in frames(Simulation(Scene(STREAM)), 12):
        now = set(arrays["id"].tolist())
        assert len(now) == len(arrays["id"]) == len(arrays["position"])
        assert now - last == {i for i in now if i >= born}  # new ones are those that the counter tells
        assert not now & dead
        dead |= last - now
        seen |= now
        last, born = now, int(arrays["born"])
        assert max(now) < born
    assert dead and len(seen) > len(last)


def test_a_resumed_simulation_goes_on_counting():
    one, other = Simulation(Scene(STREAM)), Simulation(Scene(STREAM))
    for _ in frames(one, 5):
        pass
    other.restore(one.state())
    for a, b in zip(frames(one, 3), frames(other, 3)):
        np.testing.assert_array_equal(a["id"], b["id"])
        assert a["born"] == b["born"]


def test_older_checkpoints_have_no_ids():
    one, other = Simulation(Scene(STREAM)), Simulation(Scene(STREAM))
    for _ in frames(one, 5):
        pass
    old = {name: array for name, array in one.state().items() if name not in ("id", "born")}
    other.restore(old)
    n = old["x"].shape[1]
    np.testing.assert_array_equal(np.sort(other.frame_arrays()["id"]), np.arange(n))
    for arrays in frames(other, 3):
        assert len(set(arrays["id"].tolist())) == len(arrays["id"])


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda s: s.update(id=s["id"][:-1]), "id has the shape"),
        (lambda s: s.update(id=s["id"].astype(np.int64)), "id has the type int64"),
        (lambda s: s.update(id=np.zeros_like(s["id"])), "id contains a number twice"),
        (lambda s: s.update(born=np.array(3)), "born contains values that are not between"),
        (lambda s: s.update(id=s["id"] + np.uint32(1)), "id contains values that are not between"),
        (lambda s: s.pop("born"), "born is missing"),
    ],
)
def test_damaged_ids_are_refused(change, sentence):
    simulation = Simulation(Scene.load("circle", {"domain.resolution": 12}))
    state = dict(simulation.state())
    change(state)
    with pytest.raises(NonstickError, match=sentence):
        simulation.restore(state)


def test_there_are_no_ids_left():
    cloud = Cloud(Grid((4, 4, 4), 1.0), affine=False)
    cloud.born = 2**32 - 1
    cloud.add(np.full((3, 1), 2.0), np.zeros((3, 1)))
    assert cloud.id.tolist() == [2**32 - 1]
    with pytest.raises(NonstickError, match="no ids left"):
        cloud.add(np.full((3, 1), 2.0), np.zeros((3, 1)))
