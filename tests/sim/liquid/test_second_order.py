"""A step that is exact in flight, keeps rotation, and leaves no bands of particles at floors."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene, Simulation
from nonstick.sim.liquid.particles._spacing import _spread, _wall_cells
from nonstick.validation import Size, experiments


def scene(size=(1.0, 1.0), n=24, **more):
    return Scene({"domain": {"size": list(size), "resolution": n}, **more})


def ball(centre, radius, **more):
    return {"shape": {"type": "ball", "centre": centre, "radius": radius}, **more}


def test_flight_is_a_parabola_for_any_steps():
    simulation = Simulation(scene(liquid=[ball([0.4, 0.3], 0.15, velocity=[0.5, 3.0])]))
    cloud, dx = simulation.liquid.tracker.cloud, simulation.scene.dx
    begin, energy, time = cloud.x.mean(axis=1), 0.0, 0.0
    for dt in (1 / 60, 1 / 60, 1 / 200, 1 / 90) * 5:
        simulation.step(dt)
        time += dt
        moved = (cloud.x.mean(axis=1) - begin)[1:] * dx
        assert moved == pytest.approx([0.5 * time, 3.0 * time - 0.5 * 9.81 * time**2], abs=1e-6)
        middle = time - 0.5 * dt  # velocities are those of the middle of the step
        assert cloud.vel[1:].mean(axis=1) == pytest.approx([0.5, 3.0 - 9.81 * middle], abs=1e-5)
        # heights are measured in the middle of the chord, which is (g dt)²/8 below that of the parabola
        now = sum(simulation.liquid.energy()) + simulation.liquid.tracker.mass * cloud.n * (9.81 * dt) ** 2 / 8
        energy = energy or now
        assert now == pytest.approx(energy, rel=1e-6)


def test_a_resumed_flight_is_the_same_flight():
    def make():
        return Simulation(scene(liquid=[ball([0.4, 0.5], 0.15)]))

    one, other = make(), make()
    one.next_frame()
    other.restore(one.state())
    one.next_frame()
    other.next_frame()
    assert all(np.array_equal(a, other.state()[k]) for k, a in one.state().items())


def test_gravity_changes_with_time():
    """x'' = 12 t² from rest gives t⁴; the error falls with the square of the step."""
    errors = []
    for steps in (8, 16):
        simulation = Simulation(scene(physics={"gravity": ["12*t**2", 0.0]}, liquid=[ball([0.3, 0.5], 0.15)]))
        cloud, dx = simulation.liquid.tracker.cloud, simulation.scene.dx
        begin = cloud.x[1].mean()
        for _ in range(steps):
            simulation.step(0.6 / steps)
        errors.append(abs((cloud.x[1].mean() - begin) * dx - 0.6**4))
    assert errors[0] < 3e-3 and errors[1] < errors[0] / 3.5


def test_a_wrong_formula_of_gravity_is_one_sentence():
    with pytest.raises(NonstickError, match=r"physics\.gravity"):
        scene(physics={"gravity": ["sin(", 0.0]})


def test_a_viscous_disc_keeps_turning():
    """One turn in 60 steps: it keeps its momentum, and straight moves do not make it larger."""
    simulation = Simulation(
        scene(
            physics={"gravity": [0.0, 0.0], "viscosity": 1e3}, time={"cfl": 20.0},
            liquid=[ball([0.5, 0.5], 0.3, spin=360.0)],
        )
    )  # fmt: skip
    cloud = simulation.liquid.tracker.cloud

    def momentum():
        r = cloud.x[1:] - cloud.x[1:].mean(axis=1, keepdims=True)
        return float((r[0] * cloud.vel[2] - r[1] * cloud.vel[1]).sum()), float((r**2).sum())

    begin, size = momentum()
    for _ in range(60):
        simulation.step(1 / 60)
    end, grown = momentum()
    assert end == pytest.approx(begin, rel=0.012)
    assert grown == pytest.approx(size, rel=0.01)


def test_no_bands_above_a_floor():
    """Particles in quarter cells above the floor after a dam break, averaged over half a second."""
    column = {"shape": {"type": "box", "low": [0.0, 0.0], "high": [0.4, 0.4]}}
    simulation = Simulation(scene(n=40, liquid=[column]))
    tracker = simulation.liquid.tracker
    cloud, total, room = tracker.cloud, np.zeros(4), 0.0
    for frame in range(75):
        simulation.next_frame()
        if frame >= 45:
            deep = (tracker.phi[0][:, :4] < 0.0).all(axis=1)
            x = cloud.x[:, deep[cloud.x[1].astype(int)] & (cloud.x[2] < 1.0)]
            total += np.bincount((4.0 * x[2]).astype(int), minlength=4)
            room += deep.sum()
    assert room > 100 and np.abs(total / room - 1.0).max() < 0.15


# -- kernels ------------------------------------------------------------------------------------------


def test_particles_at_walls_take_layers():
    """Four columns of five cells, with a floor half a cell up and a ceiling."""
    shape = (1, 4, 5)
    space = np.ones(shape)
    space[:, :, 0] = 0.5
    w1, w2 = np.ones((1, 5, 5)), np.ones((1, 4, 6))
    w1[:, :, 0] = 0.5
    w2[:, :, 0] = w2[:, :, -1] = 0.0
    args = space, np.zeros((2, 1, 1)), w1, w2, 1, 0.1
    n = _wall_cells(np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.bool_), np.empty(0), *args)
    cells = (np.empty(n, np.int64), np.empty(n, np.int8), np.empty(n, np.bool_), np.empty(n))
    _wall_cells(*cells, *args)
    assert cells[0].tolist() == [0, 4, 5, 9, 10, 14, 15, 19] and set(cells[1].tolist()) == {2}
    assert cells[2].tolist() == [True, False] * 4 and cells[3].tolist() == [0.5, 1.0] * 4

    x = np.array([[0.5] * 5, [0.2, 0.4, 0.6, 0.8, 0.5], [0.9, 0.95, 0.99, 1.01, 1.8]])
    counts = np.zeros(20, np.int64)
    counts[:2] = 3, 2
    start = np.concatenate([[0], np.cumsum(counts)])
    floor = (np.array([0]), np.array([0.5]), 2, True)
    phi, pressure = np.full(shape, -1.0), np.full(shape, 5.0)

    def spread(least=1.0):
        y, moved = x.copy(), np.empty(1)
        _spread(moved, y, start, *floor, phi, pressure, least, 1.0, 0.02)
        assert np.array_equal(y[:2], x[:2]) and moved[0] == pytest.approx((y - x).sum())
        return y[2]

    # the r-th of five from the floor at 0.5 goes near the middle of the r-th layer, 0.3 high, unless it is there
    assert spread() == pytest.approx([0.71, 0.95, 1.19, 1.49, 1.8])
    assert np.array_equal(spread(least=10.0), x[2])
    phi[:, 0, 2] = 1.0  # a surface above
    assert np.array_equal(spread(), x[2])


def test_short_steps_do_not_damp_a_wave():
    """Noise of the spacing once took energy in every step: with four times as many a wave was gone in a second."""
    slosh = experiments()["slosh"].measure
    scene = slosh.scene(slosh.names(Size(24, 4)))
    simulation = Simulation(scene)
    first = simulation.liquid.energy()[0]
    for _ in range(35):  # half a period
        simulation.next_frame()
    assert simulation.liquid.energy()[0] > 0.85 * first
