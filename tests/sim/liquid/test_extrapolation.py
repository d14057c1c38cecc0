"""Velocities beyond the liquid and in solids, and what else a step asks of walls: kernels against slow twins."""

import itertools

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.grid._extrapolate import _extrapolate
from nonstick.grid._levelset import _normal
from nonstick.grid.faces import FaceField
from nonstick.kernels._interpolate import _sample
from nonstick.sim.liquid.flow._into_solids import SLIVER, _constrain, _continue_into_solids, _keep_closed, _put_found
from nonstick.sim.liquid.flow.extrapolation import LiquidFaces, extend
from nonstick.sim.liquid.flow.pressure import least_pressure
from nonstick.sim.liquid.settings import STEP
from nonstick.sim.liquid.solids.on_grid import Solids

SHAPES = [(1, 9, 8), (6, 5, 7)]


def neighbours(c, shape):
    for axis, step in itertools.product(range(3), (-1, 1)):
        n = tuple(x + step * (a == axis) for a, x in enumerate(c))
        if 0 <= n[axis] < shape[axis]:
            yield n, tuple(2 * b - a for a, b in zip(c, n))


def round_scene(dimension):
    ball = {"type": "ball", "centre": [0.5] * dimension, "radius": 0.37}
    return Scene(
        {
            "domain": {"size": [1.0] * dimension, "resolution": 10},
            "solid": [{"shape": ball, "container": True}],
            "liquid": [{"shape": {"type": "halfspace", "point": [0.5] * dimension, "normal": [0, 1, 0][:dimension]}}],
        }
    )


def parabola(x, points):
    """The value at x of the polynomial of degree 2 through three points."""
    return sum(y * np.prod([(x - o) / (at - o) for o, _ in points if o != at]) for at, y in points)


@pytest.mark.parametrize("clings", [False, True])
@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_continuing_into_solids_matches_the_twin(shape, moving, clings):
    own = 1
    rng = np.random.default_rng(1)
    u, opened = rng.normal(size=shape), np.where(rng.random(shape) < 0.6, 0.0, rng.random(shape))
    known, wall = (rng.random(shape) < 0.4).astype(np.int8), rng.normal(size=shape)
    distance = rng.normal(size=shape) if clings else np.zeros((1, 1, 1))
    u[known == 0] = 0.0
    bent = 0
    grade, queue = known.copy(), np.empty(u.size, np.int32)
    count = _extrapolate(u, known, queue, 3)
    expected, level = u.copy(), grade.copy()
    for _ in range(2):
        new = {}
        for t in queue[:count]:
            c = tuple(int(k) for k in np.unravel_index(t, shape))
            if opened[c] > SLIVER or level[c]:
                continue
            lines = []
            for n, f in neighbours(c, shape):
                if all(0 <= k < m for k, m in zip(f, shape)) and level[n] and level[f]:
                    more = expected[n] - expected[f]
                    if clings and distance[c] <= 0.0 and distance[n] >= -distance[c]:
                        y, s = distance[n] / (distance[n] - distance[c]), wall * moving
                        relative = [(0.0, 0.0), (y, expected[n] - s[n]), (y + 1.0, expected[f] - s[f])]
                        more = np.clip(parabola(y - 1.0, relative) + s[c] - expected[n], *sorted((0.0, 2.0 * more)))
                        bent += 1
                    faster = more * (expected[n] - wall[c] * moving) > 0.0
                    limited = faster and n[own] != c[own]  # along its own axis no velocity grows into a solid
                    lines.append(expected[n] + (0.0 if limited else more))
            if lines:
                new[c] = np.mean(lines)
        for c, value in new.items():
            expected[c], level[c] = value, 2
    faces = queue[: _keep_closed(queue, count, opened)]
    assert (opened.ravel()[faces] <= SLIVER).all() and 5 < faces.size < count
    values = np.empty(faces.size)
    for _ in range(2):
        _continue_into_solids(values, faces, u, grade, wall, moving, own, distance)
        _put_found(u, grade, faces, values)
    np.testing.assert_allclose(u, expected, rtol=1e-13, atol=1e-13)
    assert np.array_equal(grade, level) and (grade == 2).sum() > 5 and (bent > 0) == clings


@pytest.mark.parametrize("offset", [0.55, 0.75, 1.0])
def test_a_parabola_over_a_wall_goes_on_behind_it(offset):
    """Liquid that clings to a moving wall, which lies below the middle of a face by less than half a cell."""
    y = np.arange(6) - 1.0 + offset
    u = (0.3 + y * (9.0 - y)).reshape(1, 6, 1)
    grade, face = (y > 0.0).astype(np.int8).reshape(u.shape), np.zeros(1, np.int32)
    wall, value = np.full(u.shape, 0.3), np.empty(1)
    _continue_into_solids(value, face, u, grade, wall, True, 0, y.reshape(u.shape))
    assert value[0] == pytest.approx(u[0, 0, 0], rel=1e-12)
    thin = np.where(y > 0.0, 1.0, 0.3).reshape(u.shape)  # the boundary layer is thinner than a cell
    _continue_into_solids(value, face, thin, grade, wall, True, 0, y.reshape(u.shape))
    assert value[0] == 1.0


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("three", SHAPES)
def test_what_walls_allow_matches_the_twin(three, moving):
    """The twin interpolates normal and velocities at the middle of each face, and removes what points into the wall."""
    rng = np.random.default_rng(6)
    shapes = [tuple(n + (a == b) for b, n in enumerate(three)) for a in range(3)]
    first = 1 if three[0] == 1 else 0
    solid = rng.normal(size=[n + 1 for n in three])
    solid[1:] = solid[:1] if first else solid[1:]
    u, wall = ([rng.normal(size=s) for s in shapes] for _ in range(2))
    sticky = rng.integers(0, 2, three).astype(np.int8)
    for axis in range(first, 3):
        queue = rng.permutation(u[axis].size)[:60].astype(np.int32)
        values = np.empty(queue.size)
        _constrain(values, queue, axis, *u, solid, *wall, moving, sticky, first)
        for t, value in zip(queue, values):
            c = np.unravel_index(t, shapes[axis])
            own, hold = u[axis][c], sticky[tuple(min(k, n - 1) for k, n in zip(c, three))]
            if c[axis] in (0, three[axis]):
                inwards = max(own, 0.0) if c[axis] == 0 else min(own, 0.0)
                assert value == (0.0 if hold else inwards)
                continue
            middle = np.array(c) + 0.5 * (np.arange(3) != axis)
            at = [middle - 0.5 * (np.arange(3) != a) for a in range(3)]
            flow = [_sample(u[a], *at[a]) - (_sample(wall[a], *at[a]) if moving else 0.0) for a in range(3)]
            flow[0] = 0.0 if first else flow[0]
            normal = _normal(solid, *middle)
            into = float(np.dot(normal, flow))
            assert value == pytest.approx(own - into * normal[axis] if into < 0.0 or hold else own, abs=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_rotation_goes_on_in_the_wall(dimension):
    """In a full ball: all faces that a particle may touch have the velocity of the rotation, also inside the wall."""
    solids = Solids(round_scene(dimension))
    grid, first = solids.grid, solids.grid.axes.start
    cells = grid.three
    velocity, exact = [], []
    for axis in range(3):
        shape = tuple(n + (a == axis) for a, n in enumerate(cells)) if axis >= first else (2, 1, 1)
        x = np.meshgrid(*[np.arange(n) + 0.5 * (a != axis) - 5.0 for a, n in enumerate(shape)], indexing="ij")
        turn = x[1] if axis == 2 else (-x[2] if axis == 1 else np.zeros(shape))
        exact.append(turn.copy())
        velocity.append(np.where(solids.open[axis] > SLIVER, turn, 0.0) if axis >= first else turn)
    velocity = FaceField(velocity, grid.axes)
    mass = velocity.zeros()
    extend(velocity, mass, np.full(cells, -1.0), solids, LiquidFaces(solids.open), np.ones(cells, np.int8), 4)
    for axis in (1, 2):
        middle = solids.nodes
        for other in {0, 1, 2} - {axis}:
            low, high = (np.take(middle, range(k, middle.shape[other] - 1 + k), other) for k in (0, 1))
            middle = 0.5 * (low + high)
        near = (middle > -0.9) & (np.abs(velocity[axis]) > 0.0)
        error = np.abs(velocity[axis] - exact[axis])[near]
        assert near.sum() > 20 and error.max() < 0.35 and error.mean() < 0.02


def test_pressed_is_what_exceeds_rounding_errors():
    scene = round_scene(2)
    partition, gravity = Solids(scene).partition, np.array([0.0, 3.0, -4.0])
    weight = 5.0 * scene.model.physics.density * scene.dx  # of a layer of one cell
    flying, still = np.array([0.0, -1e-9]) * weight, np.array([0.5, 100.0]) * weight
    assert least_pressure(flying, scene, gravity, partition, 0.01) == pytest.approx(STEP.light * weight)
    assert (
        least_pressure(still, scene, gravity, partition, 0.01) < still[0]
    )  # liquid one cell deep presses on the floor
    assert least_pressure(-1e6 * still, scene, gravity, partition, 0.01) == pytest.approx(STEP.error * 1e8 * weight)
    assert least_pressure(np.empty(0), scene, gravity, partition, 0.01) == pytest.approx(STEP.light * weight)
    floating = least_pressure(flying, scene, np.zeros(3), partition, 0.01)
    assert floating == pytest.approx(max(1000.0 * STEP.error * (scene.dx / 0.01) ** 2, STEP.error * flying.max()))


@pytest.mark.parametrize("depth", [3.1, 3.25, 3.4, 3.9])
@pytest.mark.parametrize("dimension", [2, 3])
def test_liquid_has_its_depth_between_layers_of_the_lattice(dimension, depth):
    n = 16
    high = [2.0, depth / n, 2.0][:dimension]
    box = {"type": "box", "low": [-1.0] * dimension, "high": high}
    size = [1.0, 0.5, 1.0][:dimension]
    simulation = Simulation(
        Scene({"domain": {"size": size, "resolution": n}, "liquid": [{"shape": box}], "particles": {"jitter": 0.0}})
    )
    cloud, per_cell = simulation.liquid.tracker.cloud, simulation.liquid.tracker.per_cell
    columns = n ** (dimension - 1)
    y = cloud.x[simulation.liquid.grid.axes.start + 1]
    assert y.size / per_cell / columns == pytest.approx(depth, abs=0.03)
    assert y.mean() == pytest.approx(0.5 * depth, abs=0.03) and y.max() < depth
    # the kept cubes are spread: no quarter of the tank has more than its share
    along = cloud.x[2 if dimension == 2 else 0] if dimension == 3 else cloud.x[1]
    top = along[y > 0.5 * np.floor(2.0 * depth)]
    counts = np.histogram(top, 4, (0.0, n))[0]
    assert np.ptp(counts) <= 0.12 * counts.sum() + 1
