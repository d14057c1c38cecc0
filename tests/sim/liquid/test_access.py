"""Reading and setting particles and fields in metres, without knowing the layout of the simulator."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene, Simulation


def still(d=2, n=12, **more):
    name = "still" if d == 2 else "ball-box"
    return Simulation(Scene.load(name, {"domain.resolution": n, **more}))


@pytest.mark.parametrize("d", [2, 3])
def test_particles_are_those_of_the_frame(d):
    simulation = still(d)
    simulation.next_frame()
    frame, own = simulation.frame_arrays(), simulation.particles
    assert own.position.astype(np.float32) == pytest.approx(frame["position"])
    assert np.array_equal(own.velocity, frame["velocity"]) and np.array_equal(own.id, frame["id"])
    volume = simulation.liquid.ledger.initial * simulation.scene.dx**d
    assert own.volume * len(own.id) == pytest.approx(volume)
    own.position[:] = 0.0  # a copy
    assert simulation.particles.position.max() > 0.0


@pytest.mark.parametrize("d", [2, 3])
def test_positions_and_velocities_can_be_set(d):
    simulation = still(d)
    own = simulation.particles
    shift = np.full(d, 0.01)
    simulation.set_particles(position=np.clip(own.position + shift, 0.0, 1.0), velocity=np.ones((len(own.id), d)))
    now = simulation.particles
    assert now.position == pytest.approx(np.clip(own.position + shift, 0.0, 1.0))
    assert (now.velocity == 1.0).all()
    assert all(row["converged"] for row in simulation.next_frame())


def test_a_velocity_with_its_gradient_is_a_rotation():
    """The same motion as a scene with a spin; without the gradient the first transfer loses a part of it."""
    ball = {"type": "ball", "centre": [0.5, 0.5], "radius": 0.3}
    table = {"domain": {"size": [1.0, 1.0], "resolution": 16}, "physics": {"gravity": [0.0, 0.0]}}
    one = Simulation(Scene({**table, "liquid": [{"shape": ball, "spin": 180.0}]}))
    two = Simulation(Scene({**table, "liquid": [{"shape": ball}]}))
    W = np.pi * np.array([[0.0, -1.0], [1.0, 0.0]])
    x = two.particles.position - 0.5
    two.set_particles(velocity=x @ W.T, gradient=np.broadcast_to(W, (len(x), 2, 2)))
    for simulation in (one, two):
        simulation.next_frame()
    assert one.particles.position == pytest.approx(two.particles.position, abs=1e-6)


@pytest.mark.parametrize("track", ["particles", "grid"])
def test_the_grid_has_coordinates(track):
    simulation = still(2, 16, **{"surface.track": track})
    simulation.next_frame()
    grid = simulation.grid
    x, y = grid.cells
    assert x.shape == y.shape == (16,) and grid.dx == pytest.approx(1 / 16)
    X, Y = np.meshgrid(x, y, indexing="ij")
    near = np.abs(Y - 0.5) < 1.1 * grid.dx
    assert grid.level_set[near] == pytest.approx((Y - 0.5)[near], abs=0.1 * grid.dx)
    assert np.array_equal(grid.liquid, Y < 0.5)
    assert grid.pressure[grid.liquid] == pytest.approx(9810 * (0.5 - Y)[grid.liquid], rel=0.1)
    assert [len(c) for c in grid.faces(1)] == list(grid.velocity[1].shape) == [16, 17]
    assert grid.faces(1)[1][-1] == pytest.approx(1.0)
    assert grid.centre_velocity.shape == (2, 16, 16)


def test_the_grid_shows_what_was_set():
    """Also before the first step, and the run after it is the same as without looking."""
    simulation = still(2, 16)
    assert np.count_nonzero(simulation.grid.liquid) == 16 * 8
    position = simulation.particles.position
    simulation.set_particles(position=np.stack([position[:, 0], 1.0 - position[:, 1]], axis=1))
    grid = simulation.grid
    assert np.array_equal(grid.liquid, np.broadcast_to(grid.cells[1] > 0.5, (16, 16)))
    one, two = still(), still()
    for _ in range(3):
        _ = one.grid, one.particles
        one.next_frame()
        two.next_frame()
    assert np.array_equal(one.particles.position, two.particles.position)


def test_solids_are_shown():
    grid = Simulation(Scene.load("circle", {"domain.resolution": 16})).grid
    X, Y = np.meshgrid(*grid.cells, indexing="ij")
    assert grid.solid == pytest.approx(0.9 - np.hypot(X - 1.0, Y - 1.0), abs=0.01 + 0.2 * grid.dx)


def test_mistakes_are_sentences():
    simulation = still()
    n = len(simulation.particles.id)
    with pytest.raises(NonstickError, match=r"position has the shape \(3, 2\), and \(\d+, 2\) is needed"):
        simulation.set_particles(position=np.zeros((3, 2)))
    with pytest.raises(NonstickError, match=r"position has 288 points outside the domain, the first at \(5, 5\) m"):
        simulation.set_particles(position=np.full((n, 2), 5.0))
    with pytest.raises(NonstickError, match="velocity contains NaN"):
        simulation.set_particles(velocity=np.full((n, 2), np.nan))
    with pytest.raises(NonstickError, match="give both"):
        simulation.set_particles(gradient=np.zeros((n, 2, 2)))
    with pytest.raises(NonstickError, match=r"no particles with surface\.track = grid"):
        _ = still(2, 12, **{"surface.track": "grid"}).particles
