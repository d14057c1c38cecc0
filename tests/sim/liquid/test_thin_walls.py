"""Solids thinner than the cells they lie in."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.sim.liquid.solids.on_grid import Solids
from nonstick.sim.liquid.solids.sides import find_colours

DEPTH, NU, DRIVE = 0.08, 0.04, 0.1


def film_on_the_floor(thick, low, cells=6, steps=50):
    """A film over a solid on the floor, both `thick` cells high; its mean velocity over the exact one, its slip."""
    dx = DEPTH / cells
    top, deep, length = thick * dx, thick * dx + DEPTH, 18 * DEPTH
    nx, middle = 20 * cells, 10 * DEPTH
    scene = {
        "domain": {"size": [nx * dx, 3 * DEPTH], "resolution": nx},
        "physics": {"viscosity": 1000.0 * NU, "gravity": [DRIVE, -DRIVE]},
        "walls": {"pressure": "none", "viscous": "no-slip"},
        "liquid": [{"shape": {"type": "box", "low": [middle - length / 2, -1], "high": [middle + length / 2, deep]}}],
        "solid": [{"shape": {"type": "box", "low": [-1, low], "high": [9, top]}}],
        "time": {"fps": steps * NU / (4 * DEPTH**2), "frames": steps},
        "solver": {"viscosity_rtol": 1e-6},
    }  # fmt: skip
    simulation = Simulation(Scene(scene))
    for _ in range(steps):
        simulation.next_frame()
    frame = simulation.frame_arrays()
    x, u = frame["position"].astype(float), frame["velocity"][:, 0].astype(float)
    near = np.abs(x[:, 0] - middle) < DEPTH
    y, u = x[near, 1] - top, u[near]
    depth = near.sum() * simulation.particles.volume / (2 * DEPTH)
    a, b, c = np.polyfit(y[y > dx], u[y > dx], 2)
    slip = (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
    return u.mean() / (DRIVE * depth**2 / (3 * NU)), slip / dx


@pytest.mark.parametrize(("thick", "low"), [(0.22, -0.5), (0.22, 0.0), (0.41, 0.0)])
def test_a_film_on_a_solid_in_the_first_half_cell_does_not_slip(thick, low):
    """It slipped by the thickness of the solid, and flowed 12 to 18 % too fast."""
    mean, slip = film_on_the_floor(thick, low)
    assert abs(mean - 1.0) < 0.02  # 1 % in twice as many cells
    assert abs(slip) < 0.01


@pytest.mark.parametrize("low", [0.0, -0.02, -3.0])
def test_a_solid_that_ends_on_a_side_of_the_domain_goes_on_beyond_it(low):
    """No liquid reaches its surface there; the open part of the first cells is right for any thickness."""
    top = 0.13
    scene = Scene(
        {
            "domain": {"size": [1.0, 1.0], "resolution": 5},
            "solid": [{"shape": {"type": "box", "low": [-1, low], "high": [3, top]}}],
        }
    )
    solids = Solids(scene)
    np.testing.assert_allclose(solids.user_nodes[2], 5 * (np.arange(6) / 5 - top), atol=1e-12)
    np.testing.assert_allclose(solids.space[0, :, 0], 1.0 - 5 * top, atol=1e-12)


def test_a_solid_away_from_the_sides_keeps_its_distance():
    ball = {"type": "ball", "centre": [0.5, 0.12], "radius": 0.1}
    scene = Scene({"domain": {"size": [1.0, 1.0], "resolution": 10}, "solid": [{"shape": ball}]})
    x, y = np.meshgrid(*[np.arange(11) / 10] * 2, indexing="ij")
    expected = 10 * (np.hypot(x - 0.5, y - 0.12) - 0.1)
    np.testing.assert_allclose(Solids(scene).user_nodes, expected, atol=1e-12)


# -- ends of walls ------------------------------------------------------------------------------------------------


def plate_with_a_slot(width, thick, x, y, cells, size, **more):
    """A plate with its lower side at y and a slot in it around x; lengths but `size` are in cells."""
    dx, left, right = 1.0 / cells, x - 0.5 * width, x + 0.5 * width
    spans = ((-99.0, left), (right, 199.0))
    boxes = [{"type": "box", "low": [a * dx, y * dx], "high": [b * dx, (y + thick) * dx]} for a, b in spans]
    domain = {"size": size, "resolution": round(max(size) * cells)}
    return Scene({"domain": domain, "solid": [{"shape": box} for box in boxes], **more})


@pytest.mark.parametrize("thick", [0.2, 0.7, 1.3])
@pytest.mark.parametrize("width", [2.6, 11.5])
def test_a_slot_in_a_thin_plate_is_as_wide_as_it_is(thick, width):
    """It had whole faces: half a cell too wide or too narrow, and a cell at worst."""
    for x, y in ((20.1, 20.1), (20.3, 19.6), (20.85, 20.35)):
        scene = plate_with_a_slot(width, thick, x, y, 40, [1.0, 1.0])
        rows = Solids(scene).open.user[1].sum(axis=0)[5:-5]
        assert rows.min() == pytest.approx(width, abs=2 / 16 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("x", [24.3, 24.5])
def test_discharge_of_a_slot_between_grid_lines(x):
    """Free streamline: 0.611 of the speed times the width. It was 0.65 and 0.75, by where the slot lay on the grid."""
    speed, low = math.sqrt(8.0), 5.5 + 1 / 12  # a force of 4 m/s² acts over a metre
    drive = {"type": "box", "low": [-1.0, low], "high": [9.0, low + 1.0]}
    scene = plate_with_a_slot(
        6.0, 0.4, x, 18.0, 6, [8.0, 9.0], physics={"gravity": [0.0, 0.0]},
        liquid=[{"shape": {"type": "box", "low": [0.0, 3.0 + 0.4 / 6], "high": [8.0, 8.0]}}],
        outflow=[{"shape": {"type": "box", "low": [0.0, -1.0], "high": [8.0, 0.7]}}],
        force=[{"acceleration": [0.0, -4.0], "shape": drive}],
        time={"fps": 6.0 * speed, "cfl": 1.0},
    )  # fmt: skip
    simulation, above = Simulation(scene), []
    for _ in range(84):
        simulation.next_frame()
        above.append((simulation.frame_arrays()["position"][:, 1] > 3.0).sum() * simulation.particles.volume)
    flow = (above[37] - above[-1]) / (46 / (6.0 * speed))
    assert flow / speed == pytest.approx(0.62, abs=0.03)


# -- walls with liquid on both sides ------------------------------------------------------------------------------


def tank(thick, angle, levels, cells=16, offset=0.37, dimension=2, keys=None):
    """A tank of 1 m divided by a wall that many cells thick, turned by an angle, with two levels of water."""
    dx, d = 1.0 / cells, dimension
    at, turn = [0.5 + offset * dx] + [0.5] * (d - 1), math.radians(angle)
    normal = [math.cos(turn), math.sin(turn), 0.0][:d]
    half = 0.5 * thick * dx
    wall = {"type": "box", "low": [at[0] - half] + [-2.0] * (d - 1), "high": [at[0] + half] + [3.0] * (d - 1)}
    wall |= {"rotate": angle, "about": at}
    if d == 3:
        wall["axis"] = [0, 0, 1]
    liquid = []
    for level, sign in zip(levels, (1.0, -1.0)):
        below = {"type": "box", "low": [-1] * d, "high": [9.0, level, 9.0][:d]}
        side = {"type": "halfspace", "point": at, "normal": [sign * n for n in normal]}
        if level:
            liquid.append({"shape": {"type": "intersection", "of": [below, side]}})
    scene = {"domain": {"size": [1.0] * d, "resolution": cells}, "liquid": liquid, "solid": [{"shape": wall}]}
    return Simulation(Scene(scene).replace(keys or {})), np.array(at), np.array(normal)


def sides_of(simulation, at, normal):
    """The side of every particle, by its id, and the least distance to the middle of the wall."""
    frame = simulation.frame_arrays()
    away = (frame["position"].astype(float) - at) @ normal
    order = np.argsort(frame["id"])
    return np.sign(away)[order], np.abs(away).min()


@pytest.mark.parametrize(("thick", "angle"), [(0.2, 0), (0.2, 26), (0.4, 17), (0.7, 45), (1.0, 33), (1.9, 11)])
def test_still_water_beside_a_thin_wall_stays_on_its_side_and_at_rest(thick, angle):
    """Half of it came through a wall of 0.4 cells at 17°, at 4 m/s."""
    simulation, at, normal = tank(thick, angle, (0.625, 0.25))
    before = sides_of(simulation, at, normal)[0]
    for _ in range(30):
        simulation.next_frame()
    after, nearest = sides_of(simulation, at, normal)
    np.testing.assert_array_equal(after, before)
    assert nearest > (0.5 * thick + 0.01) / 16
    # as much as in a tank whose wall is four cells thick: 0.03 to 0.1 m/s
    assert np.abs(simulation.frame_arrays()["velocity"]).max() < 0.12
    assert abs(simulation.liquid.ledger.error) < 2e-3 and np.abs(simulation.liquid.ledger.offsets).max() < 0.3


def test_a_thin_wall_in_3d_holds():
    simulation, at, normal = tank(0.4, 20, (0.6, 0.3), cells=10, dimension=3)
    before = sides_of(simulation, at, normal)[0]
    for _ in range(5):
        simulation.next_frame()
    after, nearest = sides_of(simulation, at, normal)
    np.testing.assert_array_equal(after, before)
    assert nearest > 0.21 / 10


def test_a_thin_wall_that_moves_pushes_its_liquid():
    moves = {"solid.0.motion": {"velocity": [0.3, 0.0]}}
    simulation, at, normal = tank(0.3, 15, (0.5, 0.3), keys=moves)
    before = sides_of(simulation, at, normal)[0]
    for _ in range(20):
        simulation.next_frame()
    way = np.array([0.3 * simulation.time, 0.0])
    after, nearest = sides_of(simulation, at + way, normal)
    np.testing.assert_array_equal(after, before)
    assert nearest > 0.16 / 16
    assert np.abs(simulation.liquid.ledger.offsets).max() < 0.3  # neither side is compressed
    # a resumed run finds the same sides
    state = simulation.liquid.state()
    other = tank(0.3, 15, (0.5, 0.3), keys=moves)[0]
    other.liquid.restore({name: np.array(value) for name, value in state.items()})
    for liquid in (simulation.liquid, other.liquid):
        liquid.step(0.01)
    mine, theirs = simulation.liquid.state(), other.liquid.state()
    for name in ("x", "vel", "pressure"):
        np.testing.assert_array_equal(mine[name], theirs[name])


@pytest.mark.parametrize(("thick", "low"), [(0.3, 0.35), (1.0, 0.3)])
def test_viscous_films_on_both_sides_of_a_thin_wall_do_not_slip(thick, low):
    """Without a stress of its own on each side, one film would drag the other."""
    cells, steps = 4, 25
    dx, nx, ny = DEPTH / cells, 12 * cells, 4 * cells
    low = (ny / 2 + low) * dx
    top, ends, middle = low + thick * dx, (1 * DEPTH, 11 * DEPTH), 6 * DEPTH
    films = [(top, top + DEPTH), (low - DEPTH, low)]
    scene = {
        "domain": {"size": [nx * dx, ny * dx], "resolution": nx},
        "physics": {"viscosity": 1000.0 * NU, "gravity": [DRIVE, 0.0]},
        "walls": {"pressure": "none", "viscous": "no-slip"},
        "liquid": [{"shape": {"type": "box", "low": [ends[0], a], "high": [ends[1], b]}} for a, b in films],
        "solid": [{"shape": {"type": "box", "low": [-1, low], "high": [9, top]}}],
        "time": {"fps": steps * NU / (4 * DEPTH**2), "frames": steps},
        "solver": {"viscosity_rtol": 1e-6},
    }  # fmt: skip
    simulation = Simulation(Scene(scene))
    for _ in range(steps):
        simulation.next_frame()
    frame = simulation.frame_arrays()
    x, u = frame["position"].astype(float), frame["velocity"][:, 0].astype(float)
    for sign, wall in ((1.0, top), (-1.0, low)):
        near = (np.abs(x[:, 0] - middle) < DEPTH) & (sign * (x[:, 1] - 0.5 * (low + top)) > 0.0)
        y, v = sign * (x[near, 1] - wall), u[near]
        depth = near.sum() * simulation.particles.volume / (2 * DEPTH)
        a, b, c = np.polyfit(y[y > dx], v[y > dx], 2)
        slip = (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a * dx)
        assert abs(slip) < 0.05  # 0.03 at a wall of three cells
        assert abs(v.mean() / (DRIVE * depth**2 / (3 * NU)) - 1.0) < 0.04


def plane(thick, angle, at):
    """The distance to an endless wall through a point, in cells, at points (d, n)."""
    turn = math.radians(angle)
    return lambda x: np.abs((x[0] - at[0]) * math.cos(turn) + (x[1] - at[1]) * math.sin(turn)) - 0.5 * thick


@pytest.mark.parametrize(("thick", "angle"), [(0.05, 0), (0.2, 17), (0.9, 33), (1.9, 45)])
def test_each_side_sees_the_wall_where_it_is(thick, angle):
    distance, n = plane(thick, angle, (8.37, 8.1)), 16
    x = np.indices((n + 1, n + 1)).astype(float)
    colours = find_colours(distance, distance(x), 3.0, None)
    assert colours.count == 2
    turn = math.radians(angle)
    signed = (x[0] - 8.37) * math.cos(turn) + (x[1] - 8.1) * math.sin(turn)
    found = set()
    for c in (1, 2):
        seen = colours.seen_from(c, distance(x))
        near = np.abs(signed) < 3.0
        off = [np.abs(seen - s)[near].max() for s in (signed - 0.5 * thick, -signed - 0.5 * thick)]
        assert min(off) < 1e-6
        found.add(int(np.argmin(off)))
    assert found == {0, 1}


def test_a_wall_has_no_sides_beyond_its_end():
    """A plate with a free end: sides up to the end, and one space around it."""

    def distance(x):
        p, q = np.abs(x[0] - 8.3) - 0.2, x[1] - 7.2
        return np.hypot(np.maximum(p, 0.0), np.maximum(q, 0.0)) + np.minimum(np.maximum(p, q), 0.0)

    colours = find_colours(distance, distance(np.indices((17, 17)).astype(float)), 3.0, None)
    centres = colours.centres
    assert colours.count == 2 and not centres[:, 8:].any()
    assert (centres[5:8, :6] == centres[7, 0]).all() and (centres[9:11, :6] == centres[9, 0]).all()
    assert centres[7, 0] != centres[9, 0]


def test_thick_walls_and_balls_have_no_layers():
    for shape in (
        {"type": "box", "low": [0.4, -1], "high": [0.7, 2], "rotate": 20},
        {"type": "ball", "centre": [0.5, 0.5], "radius": 0.2},
    ):
        scene = Scene({"domain": {"size": [1.0, 1.0], "resolution": 16}, "solid": [{"shape": shape}]})
        assert Solids(scene).layers is None


def test_a_thin_cup_holds_as_still_as_a_thick_one():
    """Its corners are those of two walls, and neither side sees the space behind both."""
    speeds = []
    for thick in (0.4, 3.5):
        low, high, t = 0.31, 0.69, thick / 24
        walls = [
            ([low - t, low - t], [low, 0.7]),
            ([low - t, low - t], [high + t, low]),
            ([high, low - t], [high + t, 0.7]),
        ]
        cup = {"type": "union", "of": [{"type": "box", "low": a, "high": b} for a, b in walls]}
        liquid = {"type": "box", "low": [low, low], "high": [high, 0.6]}
        data = {
            "domain": {"size": [1.0, 1.0], "resolution": 24},
            "solid": [{"shape": cup}],
            "liquid": [{"shape": liquid}],
        }
        simulation = Simulation(Scene(data))
        for _ in range(20):
            simulation.next_frame()
        frame = simulation.frame_arrays()
        speeds.append(float(np.abs(frame["velocity"]).max()))
        assert (frame["position"].min(axis=0) > low).all() and (frame["position"][:, 0] < high).all()
    assert speeds[0] < 1.3 * speeds[1] + 0.01


def test_no_particle_is_in_a_plate_that_liquid_falls_over():
    """At its free end a plate has no sides, and no node need lie in it."""
    plate = {"type": "box", "low": [0.505, -1], "high": [0.518, 0.5], "rotate": 25, "about": [0.5, 0.3]}
    liquid = [{"shape": {"type": "box", "low": [-1, -1], "high": [0.45, 0.8]}}]
    data = {"domain": {"size": [1.0, 1.0], "resolution": 24}, "solid": [{"shape": plate}], "liquid": liquid}
    simulation = Simulation(Scene(data))
    solids = simulation.liquid.solids
    for _ in range(25):
        simulation.next_frame()
        x = simulation.frame_arrays()["position"].astype(float)
        assert solids.placed(solids.list[0])(*x.T).min() > 0.0


def test_every_room_of_many_has_a_colour_of_its_own():
    """Rooms near each other need different colours, here all of them: more than the bits of a word and than a byte."""
    at = np.arange(1, 6) / 6
    low, high = (
        np.where(np.eye(3)[:, None], at[:, None] - 0.01, -1.0),
        np.where(np.eye(3)[:, None], at[:, None] + 0.01, 2.0),
    )
    ends = zip(low.reshape(-1, 3).tolist(), high.reshape(-1, 3).tolist())
    walls = [{"shape": {"type": "box", "low": a, "high": b}} for a, b in ends]
    layers = Solids(Scene({"domain": {"size": [1.0, 1.0, 1.0], "resolution": 12}, "solid": walls})).layers
    assert layers is not None and layers.colours.count > 127
    room = np.indices((6, 6, 6)).reshape(3, -1)
    colour = layers.of_points(2.0 * room + 1.1, np.zeros(216, np.int16))
    assert (colour > 0).all()
    near = (np.abs(room[:, :, None] - room[:, None]).max(axis=0) == 1) & (colour[:, None] == colour)
    assert not near.any()
    np.testing.assert_array_equal(layers.of_points(2.0 * room + 0.6, np.zeros(216, np.int16)), colour)
    np.testing.assert_array_equal(layers.of_points(2.0 * room + 1.1, colour), colour)


@pytest.mark.parametrize("cells", [24, 32])
def test_no_place_gets_a_colour_that_sees_it_in_a_wall(cells):
    """Where bands of walls meet round an end a side has no colour; particles there were taken to the other side."""
    solids = Simulation(Scene.load("maze", {"domain.resolution": cells})).liquid.tracker.solids
    layers = solids.layers
    x = np.random.default_rng(0).random((2, 20_000)) * cells
    x = x[:, layers._distance(x) > 0.02]
    x = np.concatenate([np.full((1, x.shape[1]), 0.5), x])
    for last in (-1, 0):
        side = layers.of_points(x, np.full(x.shape[1], last, np.int16))
        assert (side >= 0).all() and (side > 0).any()
        for c in range(1, len(layers.list)):
            assert seen_by(layers.list[c], x[1:, side == c]).min() > -0.1  # φ is rounded off in corners


def seen_by(layer, x):
    """The distance of a layer at points in cells."""
    from scipy.ndimage import map_coordinates

    return map_coordinates(layer.nodes[0], x, order=1)
