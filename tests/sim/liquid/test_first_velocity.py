"""Initial velocities given by formulas of the place."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene, Simulation
from nonstick.sim import check


def scene(velocity, d=2, n=16, **more):
    ball = {"type": "ball", "centre": [0.5] * d, "radius": 0.35}
    return Scene(
        {
            "domain": {"size": [1.0] * d, "resolution": n},
            "physics": {"gravity": [0.0] * d},
            "liquid": [{"shape": ball, "velocity": velocity, **more}],
        }
    )


@pytest.mark.parametrize("track", ["particles", "grid"])
def test_a_formula_for_a_rotation_is_a_spin(track):
    turn = 90.0
    formulas = [f"-{np.radians(turn)}*(y - 0.5)", f"{np.radians(turn)}*(x - 0.5)"]
    one = Simulation(scene(formulas).replace({"surface.track": track}))
    two = Simulation(scene([0.0, 0.0], spin=turn).replace({"surface.track": track}))
    for _ in range(3):
        one.next_frame()
        two.next_frame()
    a, b = one.frame_arrays(), two.frame_arrays()
    assert a["position"] == pytest.approx(b["position"], abs=1e-6)
    assert a["velocity"] == pytest.approx(b["velocity"], abs=1e-5)


def test_formulas_numbers_and_spin_add_up():
    simulation = Simulation(scene(["2*y", 0.5, "x - z"], d=3, n=10, spin=180.0))
    position, velocity = simulation.frame_arrays()["position"], simulation.frame_arrays()["velocity"]
    x, y, z = position.T
    exact = np.stack([2 * y - np.pi * (y - 0.5), 0.5 + np.pi * (x - 0.5), x - z], axis=1)
    assert velocity == pytest.approx(exact, abs=1e-5)
    cloud = simulation.liquid.tracker.cloud
    gradient = np.array([[0.0, 2 - np.pi, 0.0], [np.pi, 0.0, 0.0], [1.0, 0.0, -1.0]])
    assert cloud.aff.T.reshape(-1, 3, 3) == pytest.approx(np.broadcast_to(gradient * 0.1, (cloud.n, 3, 3)), abs=1e-6)


@pytest.mark.parametrize("velocity", [["y - 0.5", "0"], ["x - 0.5", "0.5 - y"], ["-(y - 0.5)", "x - 0.5"]])
def test_a_free_drop_keeps_shear_strain_and_curl(velocity):
    """The first step is short, and the flow has no divergence: the particles keep the gradient they were given.

    A drop resists shear and strain by its pressure (the pressure of a free drop in strain is not zero); the rotation
    part stays.
    """
    simulation = Simulation(scene(velocity, n=32))
    before = simulation.frame_arrays()
    simulation.step(1e-4)
    after = simulation.frame_arrays()

    def curl(frame):
        x, v = frame["position"].astype(float) - 0.5, frame["velocity"].astype(float)
        return (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]).sum()

    assert curl(after) == pytest.approx(curl(before), abs=0.01 * abs(curl(before)) + 1e-3)


def test_mistakes_name_the_key():
    with pytest.raises(NonstickError, match=r"liquid\.0\.velocity.*unknown name 'z'; known: x, y, pi, e"):
        scene(["z", "0"])
    with pytest.raises(NonstickError, match=r"liquid\.0\.velocity.*unknown name 't'"):
        scene(["t", "0"])
    with pytest.raises(NonstickError, match=r"liquid\.0\.velocity has 3 coordinates"):
        scene(["y", "0", "0"])
    for make in (Simulation, check):
        with pytest.raises(NonstickError, match=r"liquid\.0\.velocity: the formula 'log\(x - 0.5\)' has no finite"):
            make(scene(["log(x - 0.5)", "0"]))


def test_check_knows_how_fast_a_formula_is():
    with pytest.raises(NonstickError, match="lower the velocities"):
        check(scene(["1e14*x", "0"]))
