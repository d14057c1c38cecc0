"""What probes show where the answer is known: still water, steady flow, a linear profile."""

from types import SimpleNamespace

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.grid import Ball, Box, Grid, HalfSpace
from nonstick.sim.liquid.probes.meters import shear, wet_lengths
from nonstick.sim.liquid.probes.observed import Observed, side_patches, solid_patches

WEIGHT = 1000.0 * 9.81


def pool(d, n, probes, depth=0.5, track="grid", **more):
    """Water at rest in a unit box."""
    top = [2.0] * d  # beyond the sides, so that the distance to the surface is that of a flat one
    top[1] = depth
    return Simulation(
        Scene(
            {
                "domain": {"size": [1.0] * d, "resolution": n},
                "surface": {"track": track},
                "liquid": [{"shape": {"type": "box", "low": [-1.0] * d, "high": top}}],
                "probe": probes,
                **more,
            }
        )
    )


def last(simulation, frames=2):
    for _ in range(frames):
        simulation.next_frame()
    return {name: values[-1] for name, values in simulation.probe_table().items()}


@pytest.mark.parametrize("d, n, depth", [(2, 20, 0.5), (2, 20, 0.513), (3, 10, 0.5), (3, 10, 0.57)])
def test_pressure_under_still_water_is_exact(d, n, depth):
    """At points in the water, on the floor, just below the surface, in the air, and as a mean over a wall."""
    at = {"deep": 0.031, "floor": 0.0, "skin": depth - 0.01, "air": depth + 0.1}
    probes = [{"name": k, "type": "pressure", "at": [0.33, y, 0.21][:d]} for k, y in at.items()]
    probes += [{"name": "mean", "type": "pressure", "on": "bottom"}]
    probes += [{"name": "gauge", "type": "height", "at": [0.33, 0.0, 0.21][:d]}]
    seen = last(pool(d, n, probes, depth, solver={"rtol": 1e-9}), 1)
    assert seen["gauge.height"] == pytest.approx(depth, rel=1e-5)
    for name, y in at.items():
        assert seen[f"{name}.pressure"] == pytest.approx(max(WEIGHT * (depth - y), 0.0), abs=1e-5 * WEIGHT)
    assert seen["mean.pressure"] == pytest.approx(WEIGHT * depth, rel=1e-5)


@pytest.mark.parametrize("d, n", [(2, 20), (3, 10)])
def test_walls_carry_the_weight(d, n):
    probes = [{"name": s, "type": "force", "on": s} for s in ("bottom", "left", "right", "walls")]
    seen = last(pool(d, n, probes, solver={"rtol": 1e-9}))
    assert seen["bottom.fy"] == pytest.approx(-0.5 * WEIGHT, rel=1e-6)
    assert seen["walls.fy"] == pytest.approx(-0.5 * WEIGHT, rel=1e-6)
    side = 0.5 * WEIGHT * 0.5**2
    assert seen["right.fx"] == pytest.approx(side, rel=2e-3)
    assert seen["left.fx"] == pytest.approx(-side, rel=2e-3)
    # torque about the lower corner: the floor's weight in the middle, the side's push at a third of the depth
    turn = "torque" if d == 2 else "tz"
    assert seen[f"bottom.{turn}"] == pytest.approx(-0.25 * WEIGHT, rel=1e-6)
    assert seen[f"right.{turn}"] == pytest.approx(-side * 0.5 / 3, rel=1e-2)


def test_a_ball_is_lifted_by_the_water_it_displaces():
    """Second order: a fourth of the error on a grid twice as fine."""
    errors = []
    for n in (16, 32, 64):
        solid = {"name": "ball", "shape": {"type": "ball", "centre": [0.5, 0.25], "radius": 0.15}}
        probe = {"name": "f", "type": "force", "on": "ball", "about": [0.5, 0.25]}
        seen = last(pool(2, n, [probe], solid=[solid]))
        errors.append(abs(seen["f.fy"] / (WEIGHT * np.pi * 0.15**2) - 1))
        assert abs(seen["f.fx"]) + abs(seen["f.torque"]) < 1e-3 * WEIGHT * 0.15**2
    assert errors[-1] < 3e-3
    assert np.polyfit(np.log([16, 32, 64]), np.log(errors), 1)[0] < -1.7


@pytest.mark.parametrize("track, error", [("grid", 2e-3), ("particles", 6e-3)])
def test_walls_that_cut_the_cells_carry_the_weight(track, error):
    scene = Scene.load(
        "tilted-tank",
        {"domain.resolution": 40, "surface.track": track, "probe": [{"name": "f", "type": "force", "on": "walls"}]},
    )
    simulation = Simulation(scene)
    seen = last(simulation, 4)
    weight = WEIGHT * simulation.liquid.ledger.measured * scene.dx**2
    assert seen["f.fy"] == pytest.approx(-weight, rel=error)
    assert abs(seen["f.fx"]) < 0.01 * weight


def test_a_region_cuts_a_wall():
    half = {"type": "box", "low": [-1.0, -1.0], "high": [0.5, 0.1]}
    probes = [{"name": "f", "type": "force", "on": "bottom", "shape": half}]
    probes += [{"name": "p", "type": "pressure", "shape": half}]
    seen = last(pool(2, 20, probes))
    assert seen["f.fy"] == pytest.approx(-0.25 * WEIGHT, rel=1e-6)
    # the floor, and 0.1 m of the left side
    floor, side = 0.5 * 0.5, 0.1 * 0.45
    assert seen["p.pressure"] == pytest.approx(WEIGHT * (floor + side) / 0.6, rel=1e-5)


@pytest.mark.parametrize("motion", [{}, None])
def test_bodies_are_lifted_by_the_water_they_displace(motion):
    """A body that is held, and one as dense as water; its torque about another point follows from its force."""
    body = {"name": "cube", "shape": {"type": "box", "low": [0.35, 0.1], "high": [0.65, 0.4]}}
    body |= {"density": 1000.0} if motion is None else {"motion": motion}
    probes = [{"name": "f", "type": "force", "on": "cube"}]
    probes += [{"name": "g", "type": "force", "on": "cube", "about": [0.0, 0.0]}]
    simulation = pool(2, 20, probes, track="particles", bodies=[body])
    seen = last(simulation, 3)
    assert seen["f.fy"] == pytest.approx(WEIGHT * 0.3**2, rel=0.02)
    assert abs(seen["f.torque"]) < 0.01 * WEIGHT * 0.3**2
    assert seen["g.torque"] == pytest.approx(0.5 * seen["f.fy"], rel=0.02)


def channel(d, n, track="particles", tilt=0.0):
    wide = [0.3] * (d - 1)
    return Simulation(
        Scene(
            {
                "domain": {"size": [1.0, *wide], "resolution": n},
                "surface": {"track": track},
                "physics": {"gravity": [0.0] * d},
                "liquid": [
                    {
                        "shape": {"type": "box", "low": [0.0] * d, "high": [0.85, *wide]},
                        "velocity": [0.5, 0.0, 0.0][:d],
                    }
                ],
                "inflow": [
                    {
                        "shape": {"type": "box", "low": [-0.1] + [0.0] * (d - 1), "high": [0.1, *wide]},
                        "velocity": [0.5, 0.0, 0.0][:d],
                    }
                ],
                "outflow": [{"shape": {"type": "box", "low": [0.85] + [-1.0] * (d - 1), "high": [2.0] * d}}],
                "probe": [
                    {"name": "q", "type": "flow", "at": [0.5, 0.1, 0.1][:d], "normal": [1.0, tilt, 0.0][:d]},
                    {"name": "v", "type": "velocity", "at": [0.5, 0.1, 0.1][:d]},
                    {"name": "dry", "type": "velocity", "at": [0.95, 0.1, 0.1][:d]},
                ],
            }
        )
    )


@pytest.mark.parametrize("d, n, tilt", [(2, 20, 0.0), (2, 20, 0.7), (3, 20, 0.0)])
def test_flow_through_a_plane_is_what_the_ledger_says(d, n, tilt):
    simulation = channel(d, n, tilt=tilt)
    normal = np.array([1.0, tilt, 0.0][:d])

    def beyond():
        x = np.array(simulation.liquid.tracker.points()) - np.array([0.5, 0.1, 0.1][:d])[:, None]
        return np.count_nonzero(normal @ x >= 0.0) * simulation.liquid.tracker.worth * simulation.scene.dx**d

    first = beyond()
    seen = last(simulation, 20)
    out = simulation.liquid.ledger.outflow * simulation.scene.dx**d
    assert out > 0.0
    assert seen["q.volume"] == pytest.approx(beyond() - first + out, rel=1e-9)
    table = simulation.probe_table()
    steps = np.diff(np.append(0.0, table.time))
    exact = 0.5 * 0.3 ** (d - 1) * simulation.time
    assert steps @ table["q.flow"] == pytest.approx(exact, rel=1e-3)
    assert seen["q.volume"] == pytest.approx(exact, rel=0.08)
    assert seen["v.vx"] == pytest.approx(0.5, rel=1e-3) and np.isnan(seen["dry.vx"])


def test_flow_without_particles_is_added_up():
    simulation = channel(2, 20, "grid")
    assert last(simulation, 6)["q.volume"] == pytest.approx(0.15 * simulation.time, rel=1e-3)


@pytest.mark.parametrize("foot", [0.0, 0.21])
def test_height_of_a_tilted_surface_over_a_slope(foot):
    """Flat surface and flat floor, both across the cells: the length between them is exact."""
    solid = {"shape": {"type": "halfspace", "point": [0.0, 0.05], "normal": [-0.3, 1.0]}}
    simulation = pool(2, 20, [], solid=[solid])
    surface = HalfSpace((0.0, 0.6), (-0.2, 1.0))
    phi = surface.sample(simulation.liquid.solids.grid.cells())
    seen = Observed(simulation.liquid, None, phi=phi)
    x = np.array([0.123, 0.5, 0.777])
    floor, top = 0.05 + 0.3 * x, 0.6 + 0.2 * x
    found = wet_lengths(seen, np.stack([x, np.full(3, foot)], axis=1))
    assert found == pytest.approx(top - np.maximum(floor, foot), abs=2e-5)


def test_a_layer_of_air_is_not_counted():
    simulation = pool(2, 20, [])
    two = Box((-1.0, -1.0), (2.0, 0.2)) | Box((-1.0, 0.5), (2.0, 0.7))
    seen = Observed(simulation.liquid, None, phi=two.sample(simulation.liquid.solids.grid.cells()))
    assert wet_lengths(seen, np.array([[0.4, 0.0]]))[0] == pytest.approx(0.4, abs=1e-9)


@pytest.mark.parametrize("d, n", [(2, 24), (3, 16)])
def test_patches_cover_a_ball(d, n):
    """Areas of a closed surface add up to zero; their size is that of the ball, and so is their first moment."""
    grid = Grid.unit(n, d)
    ball = Ball((0.5, 0.47, 0.52)[:d], 0.3)
    found = solid_patches(grid, ball.sample(grid.nodes()))
    assert np.abs(found.area.sum(axis=0)).max() < 1e-12
    size = np.linalg.norm(found.area, axis=1).sum()
    assert size == pytest.approx(2 * np.pi * 0.3 if d == 2 else 4 * np.pi * 0.09, rel=0.02)
    # ∫ x·n dA is d times the volume; the normal points inwards
    volume = np.pi * 0.09 if d == 2 else 4 / 3 * np.pi * 0.027
    assert -(found.x * found.area).sum() / d == pytest.approx(volume, rel=0.03)
    assert np.abs(np.asarray(ball(*found.x.T))).max() < 0.2 * grid.dx


@pytest.mark.parametrize("d", [2, 3])
def test_a_side_is_counted_outside_solids(d):
    grid = Grid.unit(10, d)
    phi = Box((-1.0,) * d, (0.33, 0.5, 2.0)[:d]).sample(grid.nodes())
    floor = side_patches(grid, phi, 1, upper=False)
    assert floor.area.sum(axis=0) == pytest.approx([0.0, -0.67, 0.0][:d], abs=1e-9)
    assert floor.x[:, 0].min() > 0.33 and (floor.x[:, 1] == 0.0).all()
    assert side_patches(grid, None, 0, upper=True).area.sum(axis=0)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("mu", [3.0, np.full((1, 40, 40), 3.0)], ids=["one number", "of cells"])
@pytest.mark.parametrize("angle", [0.0, 17.0])
def test_shear_of_a_parabolic_film(angle, mu):
    """A Nusselt film over a plate: the drag on it is μ times the slope of the profile at the plate."""
    turn = np.radians(angle)
    along, up = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    grid = Grid((40, 40), 0.025)
    plate = HalfSpace((0.5, 0.2), tuple(up))

    def speed(axis):
        x, y = grid.faces(axis)
        s = (x - 0.5) * up[0] + (y - 0.2) * up[1]
        return along[axis] * (2.0 * s - 1.5 * s * s)

    solids = SimpleNamespace(viscous=["no-slip"], owner=np.zeros(grid.shape, int))
    liquid = SimpleNamespace(
        viscosity=SimpleNamespace(acts=True),
        solids=solids,
        scene=SimpleNamespace(dx=grid.dx),
        tracker=SimpleNamespace(viscosity=lambda: mu),
    )
    seen = Observed(liquid, None, velocity=[speed(0), speed(1)], phi=np.full(grid.shape, -1.0))
    found = solid_patches(grid, plate.sample(grid.nodes()))
    found = found.keep((found.x[:, 0] > 0.2) & (found.x[:, 0] < 0.8))
    drag = shear(seen, found, np.zeros(found.x.shape))
    length = np.linalg.norm(found.area, axis=1).sum()
    assert drag.sum(axis=0) @ along == pytest.approx(3.0 * 2.0 * length, rel=0.01)
    assert abs(drag.sum(axis=0) @ up) < 1e-9
    solids.viscous = ["slip"]
    assert not shear(seen, found, np.zeros(found.x.shape)).any()
