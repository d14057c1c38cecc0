"""One rank's part of a simulation: particles that cross borders, parts of space, and the same liquid on all ranks."""

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.parallel.halo import Boxes
from nonstick.sim.liquid.distributed import first_boxes, obstacle, part_of, simulate
from nonstick.sim.liquid.particles.storage import Cloud
from nonstick.sim.liquid.partition import ParticlePartition, ghost_layers

SHAPES = [(24, 20), (18, 16, 14)]


def thrown(part, shape, rng):
    """A cloud with this rank's share of particles that are the same on all ranks."""
    layout = part.grid
    x = np.full((3, 400), 0.5)
    x[3 - len(shape) :] = rng.random((len(shape), 400)) * np.array(shape)[:, None]
    cloud = Cloud(layout, True)
    mine = np.flatnonzero(part.mine(x))
    cloud.add(part.here(x[:, mine]), rng.normal(size=(3, 400))[:, mine], places=mine, count=400)
    return cloud, x


@pytest.mark.parametrize("shape", SHAPES)
def test_no_particle_is_lost_at_borders(comm, shape):
    """Particles are shot across several boxes, many times, and onto the borders themselves."""
    part = ParticlePartition(comm, Boxes.regular(shape, comm.size, 2), 0.1)
    rng = np.random.default_rng(7)
    cloud, x = thrown(part, shape, rng)
    first, size = 3 - len(shape), np.array(shape, float)[:, None]
    for turn in range(6):
        part.surround(cloud)
        cloud.sort()
        part.release(cloud)
        where = np.floor(rng.random((len(shape), 400)) * size * 1024) / 1024  # any place, the same on all ranks
        if turn % 2:
            where = np.floor(where)  # the corner of a cell, where boxes meet
        cloud.x[first:] = where[:, cloud.id] - np.array(part.grid.first, float)[:, None]
        part.migrate(cloud)
        assert part.mine(part.position(cloud.x)).all()
        ids = np.sort(np.concatenate(comm.gathered(cloud.id)))
        np.testing.assert_array_equal(ids, np.arange(400))
        np.testing.assert_array_equal(part.position(cloud.x)[first:], where[:, cloud.id])


@pytest.mark.parametrize("shape", SHAPES)
def test_ghost_particles_are_those_of_the_ghost_cells(comm, shape):
    part = ParticlePartition(comm, Boxes.regular(shape, comm.size, 2), 0.1)
    cloud, x = thrown(part, shape, np.random.default_rng(8))
    part.surround(cloud)
    first = 3 - len(shape)
    low = np.array(part.grid.first)[:, None]
    near = np.all((x[first:] >= low) & (x[first:] < low + np.array(part.grid.shape)[:, None]), axis=0)
    np.testing.assert_array_equal(np.sort(cloud.id), np.flatnonzero(near))
    own = part.own_particles(cloud)
    assert comm.total(own.n) == 400 and cloud.n >= own.n


@pytest.mark.parametrize("shape", SHAPES)
def test_parts_of_space_reach_over_boxes(comm, shape):
    from scipy.ndimage import label

    part = ParticlePartition(comm, Boxes.regular(shape, comm.size, 2), 0.1, 2)
    space = (np.random.default_rng(9).random(shape) < 0.45).astype(float)
    true, count = label(space > 0.0)
    here = tuple(slice(f, f + n) for f, n in zip(part.grid.first, part.grid.shape))
    found, number = part.parts(np.ascontiguousarray(space[here]))
    assert number == count
    pairs = np.unique(np.stack([true[here].ravel(), found.ravel()]), axis=1)
    every = np.unique(np.concatenate(comm.gathered(pairs.T)), axis=0)
    assert len(every) == count + 1 == len(np.unique(every[:, 0])) == len(np.unique(every[:, 1]))


#: built-in scenes and their size here
#: the ramp of the fountain is a thin wall below 41 cells, and on ranks thin walls are as nodes show them
SCENES = {
    "sphere": 12, "dam-break-box": 12, "moving-sphere": 12, "fountain": 48, "bobbing-ball": 14, "stirrer": 12,
    "viscous-drop": 16, "varying-block": 12, "honey": 16,
}  # fmt: skip


SPLIT = {"solver.viscous": "split"}
TWO_STAGES = {"time.order": 2}


@pytest.mark.parametrize(
    "name, size, keys",
    [(name, size, {}) for name, size in SCENES.items()]
    + [("varying-block", 12, SPLIT), ("honey", 16, SPLIT), ("honey", 16, TWO_STAGES)],
)
def test_a_frame_is_that_of_one_process(comm, name, size, keys):
    if comm.size == 1:
        pytest.skip("one process has nobody to agree with: mpiexec -n 2 pytest tests/mpi")
    scene = Scene.load(name, {"domain.resolution": size, "solver.viscosity_rtol": 1e-9, **keys})
    on_ranks, alone = simulate(scene, comm), Simulation(scene)
    first, filled = on_ranks.state(), alone.state()
    assert comm.total(len(first["id"])) == len(filled["id"])
    np.testing.assert_array_equal(first["x"], filled["x"][:, np.argsort(filled["id"])[first["id"]]])  # every bit
    for mine, true in zip(on_ranks.next_frame(), alone.next_frame(), strict=True):
        assert mine["converged"] and true["converged"]
        for key in ("unknowns", "particles", "contacts"):
            assert mine[key] == true[key], key
        for key in ("volume", "kinetic", "potential"):
            assert mine[key] == pytest.approx(true[key], rel=1e-5, abs=1e-9), key
        for key in ("body_kinetic", "body_potential") if alone.bodies else ():
            assert mine[key] == pytest.approx(true[key], rel=1e-5), key
    for mine, true in zip(on_ranks.bodies, alone.bodies):
        np.testing.assert_allclose(mine.centre, true.centre, rtol=0, atol=1e-3 * scene.dx)
    state, whole = on_ranks.state(), alone.state()
    order = np.argsort(whole["id"])
    at = order[np.searchsorted(whole["id"][order], state["id"])]
    np.testing.assert_array_equal(whole["id"][at], state["id"])
    np.testing.assert_allclose(state["x"], whole["x"][:, at], atol=1e-3)
    here = tuple(map(slice, on_ranks.partition.own_box.low, on_ranks.partition.own_box.high))
    mine, true = on_ranks.liquid.phi(), alone.liquid.phi()[here]
    near = np.minimum(np.abs(mine), np.abs(true)) < 0.9 * scene.dx  # farther away φ is only known to be large
    np.testing.assert_allclose(mine[near], true[near], atol=1e-3)
    assert np.array_equal(mine[~near] < 0.0, true[~near] < 0.0)


def test_what_cannot_run_is_refused():
    assert "bodies in viscous" in obstacle(Scene.load("body-drop"))
    assert "grid" in obstacle(Scene.load("circle", {"surface.track": "grid"}))
    for name in ("sphere", "floating-box", "honey"):
        assert not obstacle(Scene.load(name)), name


def test_a_cut_into_other_boxes_loses_nothing(comm):
    if comm.size == 1:
        pytest.skip("one process has one box: mpiexec -n 2 pytest tests/mpi")
    scene = Scene.load("dam-break-box", {"domain.resolution": 12})
    boxes = Boxes.regular(scene.shape, comm.size, 2)
    state = simulate(scene, comm).state()
    part = part_of(scene, comm, first_boxes(scene, comm))
    moved = part.moved(state, boxes)
    there = ParticlePartition(comm, boxes, scene.dx, ghost_layers(2.0))
    assert there.mine(moved["x"]).all() and moved["pressure"].shape == boxes[comm.rank].shape
    ids = np.sort(np.concatenate(comm.gathered(moved["id"])))
    np.testing.assert_array_equal(ids, np.arange(len(ids)))
    assert len(ids) == comm.total(len(state["id"]))
