"""A step that is exact in flight, keeps rotation, and leaves no bands of particles at floors."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene, Simulation
from nonstick.sim.liquid.particles.spacing import _centre
from nonstick.validation import Size, experiments


def scene(size=(1.0, 1.0), n=24, **more):
    return Scene({"domain": {"size": list(size), "resolution": n}, **more})


def ball(centre, radius, **more):
    return {"shape": {"type": "ball", "centre": centre, "radius": radius}, **more}


def test_flight_is_a_parabola_for_any_steps():
    simulation = Simulation(scene(liquid=[ball([0.4, 0.3], 0.15, velocity=[0.5, 3.0])]))
    cloud, dx = simulation.liquid.tracker.cloud, simulation.scene.dx
    tracker = simulation.liquid.tracker
    begin, energy, time = tracker.x.mean(axis=1), 0.0, 0.0
    for dt in (1 / 60, 1 / 60, 1 / 200, 1 / 90) * 5:
        simulation.step(dt)
        time += dt
        moved = (tracker.x.mean(axis=1) - begin)[1:] * dx
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
        tracker, dx = simulation.liquid.tracker, simulation.scene.dx
        begin = tracker.x[1].mean()
        for _ in range(steps):
            simulation.step(0.6 / steps)
        errors.append(abs((tracker.x[1].mean() - begin) * dx - 0.6**4))
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
    """Particles in half cells above the floor after a dam break, averaged over half a second."""
    column = {"shape": {"type": "box", "low": [0.0, 0.0], "high": [0.4, 0.4]}}
    simulation = Simulation(scene(n=40, liquid=[column]))
    tracker = simulation.liquid.tracker
    cloud, total, room = tracker.cloud, np.zeros(2), 0.0
    for frame in range(75):
        simulation.next_frame()
        if frame >= 45:
            deep = (tracker.phi[0][:, :4] < 0.0).all(axis=1)
            x = cloud.x[:, deep[cloud.x[1].astype(int)] & (cloud.x[2] < 1.0)]
            total += np.bincount((2.0 * x[2]).astype(int), minlength=2)
            room += deep.sum()
    assert room > 100 and np.abs(0.5 * total / room - 1.0).max() < 0.06


def test_short_steps_do_not_damp_a_wave():
    """Noise of the spacing once took energy in every step: with four times as many a wave was gone in a second."""
    slosh = experiments()["slosh"].measure
    scene = slosh.scene(slosh.names(Size(24, 4)))
    simulation = Simulation(scene)
    first = simulation.liquid.energy()[0]
    for _ in range(35):  # half a period
        simulation.next_frame()
    assert simulation.liquid.energy()[0] > 0.85 * first


def test_particles_of_wall_cells_are_centred():
    """Two cells over a floor a quarter of a cell up, and the same upside down: a gap of a fifth of the space closes."""
    for low in (True, False):
        way = 1.0 if low else -1.0
        share = np.ones((1, 1, 4))
        share[0, 0, 0 if low else 3] = 0.0
        space = np.ones((1, 1, 3))
        space[0, 0, 0 if low else 2] = 0.75
        y = 0.25 + 0.75 * (0.2 + 0.8 * (np.arange(4) + 0.5) / 4)  # above the floor
        x = np.zeros((3, 4))
        x[2] = y if low else 3.0 - y
        start = np.array([0, 4, 4, 4] if low else [0, 0, 0, 4])
        out = np.zeros((1, 1, 4))
        _centre(out, x, start, np.ones((1, 1, 3), np.int8), space, share, 2, 1.0, 9.0)
        at_face = -0.2 * way
        assert out[0, 0] == pytest.approx([at_face, 0.0, 0.0, 0.0] if low else [0.0, 0.0, 0.0, at_face])
        _centre(out, x, start, np.ones((1, 1, 3), np.int8), space, share, 2, 1.0, 0.1)
        assert abs(out).max() == 0.1
        out[:] = 0.0
        _centre(out, x, start, np.zeros((1, 1, 3), np.int8), space, share, 2, 1.0, 0.1)
        assert not out.any()
