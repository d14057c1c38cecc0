"""`time.order = 2`: SDIRK2 for pressure and viscosity together."""

from itertools import pairwise

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.discretise import StokesProblem
from nonstick.grid.faces import FaceField
from nonstick.sim.liquid.check import check
from nonstick.sim.liquid.flow.two_stages import GAMMA, Stage, two_stages

N, NU = 12, 0.02


def stokes(velocity: FaceField, dt: float) -> Stage:
    """A Stokes step of a closed box full of liquid, whose walls hold it."""
    problem = StokesProblem(phi_liquid=-np.ones((N, N)), velocity=velocity.user, viscosity=NU, dt=dt, dx=1 / N, rho=1.0)
    found = problem.solve("stokes-direct", rtol=1e-10)
    return Stage(None, found, found.pressure)


def fields() -> tuple[FaceField, FaceField]:
    """A flow without divergence, from a rough stream function, and a force with a curl."""
    rng = np.random.default_rng(3)
    psi = np.zeros((N + 1, N + 1))
    psi[1:-1, 1:-1] = rng.normal(size=(N - 1, N - 1))
    x = np.arange(N + 1) / N
    force = np.zeros((N + 1, N)), np.sin(np.pi * x[None, :]) * np.cos(np.pi * (x[:-1, None] + 0.5 / N))
    return FaceField.of((N * np.diff(psi, axis=1), -N * np.diff(psi, axis=0))), FaceField.of(force)


def after(steps: int, order: int, time: float = 0.5) -> tuple[np.ndarray, list[float]]:
    """The velocity at the end, and the energy after each step without a force."""
    u, force = fields()
    free, dt, energy = u, time / steps, []
    for _ in range(steps):
        if order == 1:
            u = FaceField.of(stokes(u + dt * force, dt).found.velocity)
            continue
        u, free = (
            FaceField.of(two_stages(lambda v: stokes(v, GAMMA * dt), w, w + dt * push).found.velocity)
            for w, push in ((u, force), (free, 0.0 * force))
        )
        energy.append(sum(float((a**2).sum()) for a in free.user))
    return np.concatenate([a.ravel() for a in u.user]), energy


def test_errors_fall_with_the_square_of_the_step():
    exact, _ = after(256, 2)
    errors = {order: [np.abs(after(n, order)[0] - exact).max() for n in (16, 32)] for order in (1, 2)}
    assert errors[2][0] / errors[2][1] == pytest.approx(4.0, rel=0.15)
    assert errors[1][0] / errors[1][1] == pytest.approx(2.0, rel=0.15)
    assert errors[2][1] < 0.1 * errors[1][1]


@pytest.mark.parametrize("steps", [2, 8, 32])
def test_energy_never_grows(steps):
    _, energy = after(steps, 2, time=200.0 / N)
    assert all(b <= a for a, b in pairwise(energy))


def test_a_steady_flow_is_steady_for_any_step():
    u, force = fields()
    for _ in range(6):  # steps of many decay times
        u = FaceField.of(stokes(u + 1e3 * force, 1e3).found.velocity)
    for dt in (1e-2, 1.0, 1e2):
        after = two_stages(lambda v, dt=dt: stokes(v, GAMMA * dt), u, u + dt * force).found.velocity
        assert all(np.allclose(a, b, atol=1e-7 * u.largest()) for a, b in zip(after, u.user))


def vortex(order: int, **more) -> Scene:
    """A vortex in a full box whose walls it slips along, too slow to move anything."""
    flow = ["1e-4*sin(pi*x)*cos(pi*y)", "-1e-4*cos(pi*x)*sin(pi*y)"]
    liquid = {"shape": {"type": "box", "low": [-1.0, -1.0], "high": [2.0, 2.0]}, "velocity": flow}
    scene = {
        "domain": {"size": [1.0, 1.0], "resolution": 16},
        "physics": {"viscosity": 200.0, "gravity": [0.0, 0.0]},
        "walls": {"pressure": "none", "viscous": "slip"},
        "particles": {"transfer": "flip", "flip": 1.0},
        "time": {"order": order},
        "liquid": [liquid],
    }
    return Scene(scene | more)


def rate(order: int, steps: int) -> float:
    """The rate at which the vortex decays over half a second."""
    simulation, energy = Simulation(vortex(order)), []
    for _ in range(steps):
        simulation.step(0.5 / steps)
        energy.append(simulation.liquid.energy()[0])
    assert all(b < a for a, b in pairwise(energy))
    return 0.5 * float(np.log(energy[0] / energy[-1])) * steps / (0.5 * (steps - 1))


def test_a_vortex_decays_at_its_rate_in_long_steps():
    fine = rate(2, 32)  # 2π²ν is 3.95; the grid of 16 cells and the particles make it 3.88
    assert rate(2, 4) == pytest.approx(fine, rel=0.01)
    assert rate(1, 4) < 0.85 * fine


def test_one_stage_where_liquid_lets_go_of_a_wall():
    """A blob falls off the ceiling: its steps are those of backward Euler, to the bit."""
    blob = {"shape": {"type": "ball", "centre": [0.5, 0.95], "radius": 0.25}}
    found = []
    for order in (1, 2):
        scene = vortex(order, liquid=[blob], physics={"viscosity": 1e3}, walls={"viscous": "separating"}, particles={})
        simulation = Simulation(scene)
        for _ in range(3):
            simulation.step(1 / 60)
        found.append(simulation.liquid.tracker.x)
    assert np.array_equal(*found)


def test_a_resumed_run_of_two_stages_is_the_same():
    def make():
        blob = {"shape": {"type": "ball", "centre": [0.4, 0.4], "radius": 0.2}}
        return Simulation(vortex(2, liquid=[blob], particles={}))

    one, other = make(), make()
    one.next_frame()
    other.restore(one.state())
    one.next_frame()
    other.next_frame()
    assert all(np.array_equal(a, other.state()[k]) for k, a in one.state().items())


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"physics": {"gravity": [0.0, 0.0]}}, "no liquid of the scene is viscous"),
        ({"solver": {"viscous": "split"}}, "solver.viscous is split"),
        ({"bodies": [{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.2}, "density": 500.0}]}, "bodies"),
        ({}, None),
    ],
)
def test_the_check_says_where_two_stages_do_nothing(more, why):
    found = [w for w in check(vortex(2, **more)).warnings if "time.order" in w]
    assert bool(found) == bool(why) and all(why in w for w in found)
