"""Deep liquid without particles: kernels against slow twins, and runs against those where all liquid has some."""

import numpy as np
import pytest
from scipy.ndimage import distance_transform_cdt
from tests.kernels.backwards import last_part_first

from nonstick import NonstickError, Scene, Simulation
from nonstick.sim.liquid import partition
from nonstick.sim.liquid.particles import _deep
from nonstick.sim.liquid.settings import BoxSettings

CORNER = np.array([3, 8, 16])
SHAPE = (9, 12, 10)


def blob(shape=SHAPE):
    cells = np.zeros(shape, np.int8)
    cells[tuple(slice(3, n - 3) if n > 1 else slice(None) for n in shape)] = 1
    cells[shape[0] // 2, 3, 3] = 0
    return cells


def layers(inside, most, edge=False, first=0):
    out, along, across = (np.empty(inside.shape, np.int8) for _ in range(3))
    _deep._layers(out, along, across, inside, most, edge, first)
    return out


@pytest.mark.parametrize("shape", [SHAPE, (1, 13, 11)])
@pytest.mark.parametrize("edge", [False, True])
def test_layers_are_distances_along_the_longest_axis(shape, edge):
    first = int(shape[0] == 1)
    inside = (np.random.default_rng(1).random(shape) < 0.97).astype(np.int8)
    padded = np.pad(inside, [(0, 0)] * first + [(1, 1)] * (3 - first), constant_values=int(edge))
    if edge:  # beyond the grid all is inside, however far
        padded = np.pad(inside, [(0, 0)] * first + [(9, 9)] * (3 - first), constant_values=1)
    wide = 9 if edge else 1
    right = distance_transform_cdt(padded, "chessboard")
    right = right[tuple(slice(None) if n == 1 else slice(wide, -wide) for n in shape)]
    np.testing.assert_array_equal(layers(inside, 4, edge, first), np.minimum(right, 4))


def flow(shape, gradient, shift):
    """Faces of the velocity shift + gradient · x, which trilinear interpolation gives back exactly."""
    out = []
    for axis in range(3):
        faces = tuple(n + (a == axis) for a, n in enumerate(shape))
        at = [i + 0.5 * (a != axis) for a, i in enumerate(np.indices(faces))]
        out.append(shift[axis] + sum(g * x for g, x in zip(gradient[axis], at)))
    return out


GRADIENT = np.array([[0.03, -0.05, 0.02], [0.04, -0.02, 0.03], [-0.06, 0.05, -0.01]])
SHIFT = np.array([0.4, -0.3, 0.2])
RATE = 0.9


def origin(y):
    """Two steps of the iteration of `_origin` in this flow."""
    x = y
    for _ in range(2):
        x = y - RATE * (SHIFT[:, None] + GRADIENT @ x)
    return x


@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
@pytest.mark.parametrize("way", [(0.0, 0.0, 0.0), (0.3, -0.75, 1.2)])
def test_shares_are_the_hats_over_deep_cells_where_they_have_moved_to(axis, way):
    cells = blob()
    moved = np.empty((3, *SHAPE), np.float32)
    moved[:] = np.array(way, np.float32)[:, None, None, None]
    shape = tuple(n + (a == axis) for a, n in enumerate(SHAPE))
    out = np.empty(shape, np.float32)
    _deep._shares(out, cells, layers(cells, 4), layers(1 - cells, 4, True), 4, moved, axis, 0, CORNER)
    # the sum over many points in every cell, each with the hats of the transfer
    fine = 8
    points = (np.indices([n * fine for n in SHAPE]).reshape(3, -1) + 0.5) / fine
    points = points[:, cells[tuple(points.astype(int))] > 0] + np.array(way)[:, None]
    right = np.zeros(shape)
    low = points - 0.5 * (np.arange(3) != axis)[:, None]
    base = np.floor(low).astype(int)
    for corner in np.ndindex(2, 2, 2):
        far = low - base
        weight = np.prod([f if bit else 1.0 - f for f, bit in zip(far, corner)], axis=0)
        np.add.at(right, tuple(base + np.array(corner)[:, None]), weight / fine**3)
    np.testing.assert_allclose(out, right, atol=6e-3)
    assert out.sum() == pytest.approx(cells.sum(), rel=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_velocity_comes_from_where_the_liquid_was_and_cubics_are_exact(axis):
    cells = blob()
    shape = tuple(n + (a == axis) for a, n in enumerate(SHAPE))
    share = np.zeros(shape, np.float32)
    share[3:-3, 3:-3, 3:-3] = 1.0
    half = 0.5 * (np.arange(3) != axis)

    def cubic(x, y, z):
        return 1.0 + x * y * z - 0.1 * x**3 + 0.2 * y**2 * z**3 - x**2 * y**3 + z

    def scaled(at):
        return cubic(*((at - 5.0) / 5.0))

    at = np.indices(shape).reshape(3, -1) + half[:, None]
    values, out = scaled(at).reshape(shape), np.empty(shape, np.float32)
    _deep._carry(out, share, values, *flow(SHAPE, GRADIENT, SHIFT), cells, RATE, axis, CORNER)
    right = np.where(share.ravel() > 0.0, scaled(origin(at)), 0.0).reshape(shape)
    np.testing.assert_allclose(out, right, atol=2e-6)


def test_liquid_remembers_how_far_it_has_moved():
    cells = np.flatnonzero(blob())
    first = np.array([0.5, -0.25, 1.0])
    moved = np.broadcast_to(first[:, None, None, None], (3, *SHAPE)).astype(np.float32)
    out = np.empty((3, cells.size), np.float32)
    _deep._drift(out, cells, moved, *flow(SHAPE, GRADIENT, SHIFT), RATE, CORNER)
    at = np.array(np.unravel_index(cells, SHAPE)) + 0.5
    np.testing.assert_allclose(out, at - origin(at) + first[:, None], atol=1e-6)


@pytest.mark.parametrize("per_axis", [2, 3])
def test_particles_come_out_of_deep_liquid_as_if_they_had_been_in_it(per_axis):
    deep, u = blob(), flow(SHAPE, GRADIENT, SHIFT)
    moved = np.full((3, *SHAPE), 0.25, np.float32)
    where = np.arange(deep.size)
    count, places = np.empty(where.size, np.int64), np.empty(where.size, np.uint64)
    way = _deep.Way(RATE, per_axis, 0, CORNER, 7)
    _deep._arrivals(count, places, where, deep, moved, tuple(u), way)
    right, x = np.zeros_like(count), []
    for q, cell in enumerate(np.ndindex(SHAPE)):
        for place in range(per_axis**3):
            y = np.array(_deep._place.py_func(*cell, place, per_axis, per_axis, CORNER, 7))
            assert (np.floor(y) == cell).all()
            then = np.floor(origin(y[:, None])[:, 0] - 0.25).astype(int)
            if (then >= 0).all() and (then < SHAPE).all() and deep[tuple(then)]:
                right[q] += 1
                x.append(y)
    np.testing.assert_array_equal(count, right)
    n = int(count.sum())
    found, vel, aff = np.empty((3, n)), np.empty((3, n), np.float32), np.empty((9, n), np.float32)
    begin = np.cumsum(count) - count
    _deep._bear((found, vel, aff), where, places, begin, tuple(u), way, True, SHAPE)
    x = np.array(x).T
    np.testing.assert_allclose(found, x, atol=1e-12)
    np.testing.assert_allclose(vel, SHIFT[:, None] + GRADIENT @ origin(x), atol=1e-6)
    np.testing.assert_allclose(aff, np.repeat(GRADIENT.reshape(9, 1), n, axis=1), atol=1e-6)


def test_sums_of_deep_liquid():
    rng = np.random.default_rng(3)
    share, velocity = rng.random((2, 4, 5, 6)).astype(np.float32)
    share[share < 0.5] = 0.0
    pairs, before = np.ones((4, 5, 6, 2)), np.ones((4, 5, 6, 2))
    _deep._add_deep(pairs, share, velocity, 8.0)
    mass = 8.0 * share.astype(float)
    np.testing.assert_allclose(pairs - before, np.stack([mass * velocity, mass], axis=-1), rtol=1e-12)
    squares, sums = np.empty(4), np.empty(4)
    _deep._deep_energy(squares, sums, share, velocity)
    np.testing.assert_allclose(squares, (share.astype(float) * velocity * velocity).sum(axis=(1, 2)), rtol=1e-6)
    np.testing.assert_allclose(sums, (share.astype(float) * velocity).sum(axis=(1, 2)), rtol=1e-6)
    there = np.zeros(5, np.int8)
    _deep._occupy(there, np.array([3, 1, 3], np.int32))
    assert there.tolist() == [0, 1, 0, 1, 0]


def volume(simulation):
    """Particles, those that deep cells stand for, and those that are owed."""
    tracker = simulation.liquid.tracker
    deep = tracker.deep
    return tracker.cloud.n + (tracker.per_cell * deep.count + deep.owed if deep else 0)


def pair(name, frames, **keys):
    """The last rows of two runs, without and with a band, and the simulation with it."""
    rows = []
    for band in (0, 4):
        simulation = Simulation(Scene.load(name, {"particles.band": band, **keys}))
        before = volume(simulation)
        rows += [simulation.next_frame()[-1] for _ in range(frames)]
        assert volume(simulation) == before
    return rows[frames - 1], rows[-1], simulation


def test_still_water_stays_still():
    plain, deep, simulation = pair("still", 30, **{"domain.resolution": 40})
    assert simulation.liquid.tracker.deep.count > 300 and simulation.liquid.tracker.cloud.born == 40 * 20 * 4
    assert float(deep["max_speed"]) < 1.2 * float(plain["max_speed"]) + 1e-3
    assert abs(float(deep["volume_error"])) < 1e-3


@pytest.mark.slow
def test_a_sloshing_tank_keeps_its_period_and_energy():
    """Half a period from one side to the other: as much kinetic energy in the middle, as little at the end."""
    keys = {"domain.resolution": 48}
    middle = pair("slosh", 18, **keys)
    assert float(middle[1]["kinetic"]) == pytest.approx(float(middle[0]["kinetic"]), rel=0.02)
    end = pair("slosh", 36, **keys)
    assert float(end[1]["kinetic"]) < 0.05 * float(middle[0]["kinetic"])
    whole = [float(row["kinetic"]) + float(row["potential"]) for row in end[:2]]
    assert whole[1] == pytest.approx(whole[0], rel=3e-3)


@pytest.mark.slow
def test_the_front_of_a_dam_break_is_where_it_is_with_particles_alone():
    plain, deep, simulation = pair("martin-moyce", 30, **{"domain.resolution": 90})
    assert simulation.liquid.tracker.deep.count > 0
    assert float(deep["kinetic"]) == pytest.approx(float(plain["kinetic"]), rel=0.01)
    other = Simulation(Scene.load("martin-moyce", {"domain.resolution": 90}))
    for _ in range(30):
        other.next_frame()
    front = [float(s.particles.position[:, 0].max()) / s.scene.dx for s in (other, simulation)]
    assert abs(front[0] - front[1]) < 1.0


SPIN = {
    "domain": {"size": [1.0, 1.0], "resolution": 40},
    "physics": {"gravity": [0.0, 0.0]},
    "liquid": [{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.4}, "spin": 360.0}],
    "solid": [{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.4}, "container": True}],
    "particles": {"band": 4},
    "time": {"fps": 60.0, "min_substeps": 2},
}


def test_liquid_that_turns_goes_on_turning():
    """The deep liquid of a closed circle turns as a whole: in half a turn its rate changes by less than a percent."""
    simulation = Simulation(Scene(SPIN))
    deep = simulation.liquid.tracker.deep
    assert deep.count > 300
    before = volume(simulation)
    for _ in range(30):
        simulation.next_frame()
    assert volume(simulation) == before
    at = simulation.grid.cells
    x, y = at[0][:, None] - 0.5, at[1][None, :] - 0.5
    u, v = simulation.grid.centre_velocity
    inside = x * x + y * y < 0.25**2
    rate = float((x * v - y * u)[inside].sum() / (x * x + y * y)[inside].sum())
    assert rate == pytest.approx(2.0 * np.pi, rel=0.01)


MORE = {
    "domain": {"size": [1.5, 1.0], "resolution": 48},
    "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [0.7, 0.6]}, "velocity": [0.3, 0.0]}],
    "particles": {"band": 4},
}
TAP = {"shape": {"type": "box", "low": [0.1, 0.3], "high": [0.2, 0.4]}, "velocity": [1.0, 0.0]}
DRAIN = {"shape": {"type": "box", "low": [0.0, 0.0], "high": [0.1, 0.1]}}
BALL = {"shape": {"type": "ball", "centre": [0.35, 0.75], "radius": 0.1}, "density": 3000.0}
PADDLE = {
    "shape": {"type": "box", "low": [-0.2, 0.0], "high": [0.02, 1.0]},
    "motion": {"type": "oscillation", "amplitude": [0.05, 0.0], "frequency": 2.0},
}
KINDS = {
    "plain": {},
    "source": {"inflow": [TAP], "outflow": [DRAIN]},
    "body": {"bodies": [BALL]},
    "viscous": {"physics": {"viscosity": 5.0}},
    "flip": {"particles": {"band": 4, "transfer": "flip"}},
}


def same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_has_the_same_bits_whatever_the_order_of_threads(kind):
    scene = Scene(MORE | KINDS[kind])
    one = Simulation(scene)
    for _ in range(4):
        one.next_frame()
    state = {name: np.array(values) for name, values in one.state().items()}
    for _ in range(4):
        one.next_frame()
    assert state["deep"].size > 80 and one.liquid.tracker.cloud.born > one.liquid.ledger.initial * 4
    other = Simulation(scene)
    other.restore(state)
    with last_part_first():
        for _ in range(4):
            other.next_frame()
    same(one.state(), other.state())


def test_the_active_box_changes_nothing(monkeypatch):
    keys = {"liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [0.5, 0.5]}}]}
    scene = Scene(MORE | keys)
    inside = Simulation(scene)
    monkeypatch.setattr(partition, "BOX", BoxSettings(most=0.0))
    whole = Simulation(scene)
    monkeypatch.undo()
    for _ in range(6):
        inside.next_frame()
    assert inside.partition.held != inside.partition.own_box
    monkeypatch.setattr(partition, "BOX", BoxSettings(most=0.0))
    for _ in range(6):
        whole.next_frame()
    same(inside.frame_arrays(), whole.frame_arrays())


def test_a_run_goes_on_without_a_band_and_with_one():
    scene = Scene(MORE)
    with_band, without = Simulation(scene), Simulation(Scene(MORE | {"particles": {"band": 0}}))
    count = with_band.liquid.count
    without.restore(with_band.state())
    without.next_frame()
    assert without.liquid.tracker.deep.count == 0 and without.liquid.count > 1.5 * count
    assert volume(without) == volume(with_band)
    back = Simulation(scene)
    back.restore(without.state())
    back.next_frame()
    assert back.liquid.tracker.deep.count > 100


def test_what_is_not_possible_is_refused():
    for keys, words in (
        ({"particles.band": 3}, "at least 4 layers"),
        ({"surface.track": "grid"}, "surface.track = particles"),
        ({"liquid.0.viscosity": 2.0}, "one physics.viscosity"),
    ):
        with pytest.raises(NonstickError, match=words):
            Scene.load("still", {"domain.resolution": 24, "particles.band": 4} | keys)
    thin = [{"shape": {"type": "box", "low": [0.5, 0.0], "high": [0.52, 0.5]}}]
    with pytest.raises(NonstickError, match="thinner than two cells"):
        Simulation(Scene(MORE | {"solid": thin}))
    simulation = Simulation(Scene(MORE))
    with pytest.raises(NonstickError, match="a part of the liquid has no particles"):
        simulation.set_particles(velocity=np.zeros((simulation.liquid.count, 2)))
    state = simulation.state()
    for name, bad in (("deep", state["deep"][::-1]), ("deep_velocity", state["deep_velocity"][1:])):
        with pytest.raises(NonstickError, match="deep"):
            Simulation(Scene(MORE)).restore(state | {name: bad})


@pytest.mark.slow
def test_surfaces_of_frames_have_no_hole_in_the_deep(tmp_path):
    from nonstick.files.formats.shot import Shot
    from nonstick.files.formats.surface import liquid_mesh
    from nonstick.sim.run import run

    areas = []
    for band in (0, 4):
        scene = Scene({
            "domain": {"size": [1.0, 1.0, 1.0], "resolution": 20}, "particles": {"band": band},
            "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0, 0.0], "high": [1.0, 0.8, 1.0]}}],
            "time": {"frames": 1}, "output": {"movie": False},
        })  # fmt: skip
        run(scene, tmp_path / str(band))
        shot = Shot(tmp_path / str(band))
        frame = shot.frame(1)
        assert (frame.deep.size > 100) == (band > 0)
        mesh = liquid_mesh(shot, frame)
        corners = mesh.vertices[mesh.faces].astype(float)
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        areas.append(0.5 * np.linalg.norm(normals, axis=1).sum())
    assert areas[1] == pytest.approx(areas[0], rel=1e-3)
