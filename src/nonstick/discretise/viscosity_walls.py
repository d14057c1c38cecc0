"""No-slip walls between the faces of a staggered grid, by their true distance (after Gibou et al. 2002).

A wall crosses the line from a liquid face f to its solid neighbour g of the same component at a share θ of the way. The
shear there is (u_f − u_wall)/(θ dx). With solid and liquid faces alone it would be (u_f − u_g)/dx, and the wall would
lie at g, up to a cell too deep. The difference is a diagonal term of the energy,

    k (1/θ − c) (u_f − s_f)²,

where k is the coefficient of the stress sample between f and g, c = 1, and s_f the rigid motion of the solid, continued
to the liquid face. So the matrix keeps its stencil and stays symmetric and positive definite, and a rigid motion of
liquid and wall together makes no stress.

An edge has two differences. If the wall crosses both, their product should have the factor 1/θ of the one in some rows
and of the other in other rows, which no symmetric matrix has. The factor c = 1/max(θ₁, θ₂) for the whole edge is
right in the rows of the component that changes most across the wall, and leaves no term negative. At a tilted wall the
other rows are wrong by a share of the shear, on every grid, and the liquid slips by a fiftieth of a cell. `Tilt` is the
difference between the rows and the true ones. It is not symmetric, so it goes to the right-hand side, with a velocity
close to the solution: solve, correct, solve again.

The shear acts halfway between wall and face. So the mass of f ends there too: along the wall's normal it is the
part (1 + θ)/2 of a cell. A parabola over a wall along the grid is then exact wherever the wall lies.

The sides of the box are walls half a cell from the faces along them, or nearer, if a thin solid lies on them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..operators.faces import FaceGrid

#: a wall is at least this share of a cell away from a face, which bounds the entries of the matrix
NEAREST = 1e-3


@dataclass(frozen=True)
class Tilt:
    """The true rows at walls less those of the matrix, for edges that a wall crosses between f and g.

    The shear of f, ±(u_f − s_f)/θ, also acts on the two faces of the other component at the edge, high and low. The
    matrix has c times u_f − s_f there. Where both of these faces are solid, their difference is no shear in the matrix;
    the true one is that of a flow along the wall, n_a ∂u_b/∂n, which the faces beyond them show.
    """

    #: places of the entries in the arrays of `WallDrag`, and whether f is above g (1) or below (-1)
    entry: np.ndarray
    sign: np.ndarray
    #: places of the faces of the other component
    high: np.ndarray
    low: np.ndarray
    #: entries (places in `entry`) with two solid faces, with the coefficient of the edge times the difference of their
    #: distances; and for the two faces beyond them: their places, those of the solid faces, and their distances (0 in
    #: solids)
    shut: np.ndarray
    slope: np.ndarray
    beyond: np.ndarray
    before: np.ndarray
    distance: np.ndarray

    def stress(self, x: np.ndarray, pull: np.ndarray, drag: WallDrag, known: np.ndarray | None) -> np.ndarray:
        """What is missing on the left for the velocity x (a padded vector with the solids), on all faces.

        `pull` is strength times (u_f − s_f) for the entries of `WallDrag`, `known` the motion of the solids.
        """
        out = np.zeros(x.size)
        shear = self.sign * pull[self.entry]
        np.add.at(out, self.high, shear)
        np.add.at(out, self.low, -shear)
        solid = x[self.before] if known is None else known[self.beyond]
        way = self.distance.sum(axis=0)
        moved = ((x[self.beyond] - solid) * (self.distance > 0.0)).sum(axis=0)
        slope = np.divide(moved, way, out=np.zeros(way.size), where=way > 0.0)
        np.add.at(out, drag.face[self.entry[self.shut]], self.sign[self.shut] * self.slope * slope)
        return out


@dataclass(frozen=True)
class WallDrag:
    """The diagonal terms of walls. All places are indices into a padded vector of faces."""

    #: places of the liquid faces; a face next to several solid faces occurs several times
    face: np.ndarray
    #: places of the solid faces beyond the wall, and of the solid faces behind those (or again the first)
    solid: np.ndarray
    behind: np.ndarray
    strength: np.ndarray

    #: True if the solid faces belong to the grid, not to a side of the box
    inside: np.ndarray
    #: what is missing at walls that are not along the grid
    tilt: Tilt

    def speed(self, velocity: np.ndarray, known: np.ndarray | None = None) -> np.ndarray:
        """s_f: the motion of the solid faces of a padded vector, continued linearly to the liquid faces.

        `known` is the motion of the solids on all faces, if it is given: linear continuation needs two solid faces in a
        row, which a thin wall does not have.
        """
        speed = 2.0 * velocity[self.solid] - velocity[self.behind]
        return speed if known is None else np.where(self.inside, known[self.face], speed)


@dataclass
class _Crossings:
    """The wall between faces of one component that are neighbours along one axis."""

    #: places of the stress samples in their array, in increasing order
    sample: np.ndarray
    face: np.ndarray
    solid: np.ndarray
    theta: np.ndarray
    #: c, 1 unless the wall crosses both differences of an edge
    common: np.ndarray


def drag_at_walls(
    grid: FaceGrid, mass: np.ndarray, stress: np.ndarray, fluid: np.ndarray, distance: np.ndarray
) -> WallDrag:
    """The drag of the walls; shortens `mass` and scales `stress` in place. The drag is not added to the mass.

    Parameters
    ----------
    grid
        The grid.
    mass, stress
        (3, *padded) masses of faces, (4, *padded) coefficients of cells and edges.
    fluid
        (3, *padded) booleans: faces that are not solid.
    distance
        (3, *padded): distance of the faces to the solids, negative inside, in any unit. A solid face with a distance of
        zero or more holds its velocity in its middle; a liquid face with a negative one has left its wall.
    """
    flat = stress.reshape(len(stress), -1)
    parts: dict[tuple[int, int], _Crossings] = {}
    for a in grid.axes:
        for b in grid.axes:
            parts[a, b] = _crossings(grid, a, b, flat[_samples(a, b)], fluid, distance)
    for a in grid.axes:
        for b in grid.axes:
            if b > a:
                one, other = parts[a, b], parts[b, a]
                _, i, j = np.intersect1d(one.sample, other.sample, assume_unique=True, return_indices=True)
                one.common[i] = other.common[j] = 1.0 / np.maximum(one.theta[i], other.theta[j])
    strengths = [flat[_samples(a, b)][c.sample] * (1.0 / c.theta - c.common) for (a, b), c in parts.items()]
    tilt = _tilt(grid, parts, flat, fluid, distance)
    for (a, b), c in parts.items():
        if a < b:
            flat[_samples(a, b)][c.sample] *= c.common
    _shorten(mass.reshape(-1), parts)
    face, solid = (np.concatenate([getattr(c, name) for c in parts.values()]) for name in ("face", "solid"))
    behind = 2 * solid - face
    inside = _inside(grid).reshape(-1)
    known = ~fluid.reshape(-1)[behind] & inside[behind]
    return WallDrag(face, solid, np.where(known, behind, solid), np.concatenate(strengths), inside[solid], tilt)


def _tilt(grid: FaceGrid, parts: dict[tuple[int, int], _Crossings], flat, fluid, distance) -> Tilt:
    """What is missing in the rows; `flat` are the stress coefficients before they are scaled."""
    liquid, d = fluid.reshape(-1), distance.reshape(-1)
    columns: list[list[np.ndarray]] = [[] for _ in range(9)]
    start = count = 0
    for (a, b), c in parts.items():
        if a != b:
            sign = np.sign(c.face - c.solid).astype(float)
            high = b * grid.P + c.sample
            low = high - int(grid.strides[a])
            shut = np.flatnonzero(~liquid[high] & ~liquid[low] & (d[high] < 0.0) & (d[low] < 0.0))
            before = np.stack([high[shut], low[shut]])
            beyond = before + (sign[shut] * grid.strides[b]).astype(np.int64)
            way = np.maximum(d[beyond], 0.0)
            slope = flat[_samples(a, b)][c.sample[shut]] * (d[before[0]] - d[before[1]])
            entry = start + np.arange(c.face.size)
            for column, part in zip(columns, (entry, sign, high, low, count + shut, slope, beyond, before, way)):
                column.append(part)
            count += c.face.size
        start += c.face.size
    return Tilt(*(np.concatenate(column, axis=-1) for column in columns))


def _samples(a: int, b: int) -> int:
    """The array with the stress samples between faces of component a that are neighbours along axis b."""
    return 0 if a == b else 4 - a - b


def _inside(grid: FaceGrid) -> np.ndarray:
    """(3, *padded) booleans: faces of the grid."""
    out = np.zeros((3, *grid.padded), np.bool_)
    for a in grid.axes:
        out[a][grid.face_window(a)] = True
    return out


def _crossings(grid: FaceGrid, a: int, b: int, k: np.ndarray, fluid: np.ndarray, distance: np.ndarray) -> _Crossings:
    liquid, d = fluid[a].reshape(-1), distance[a].reshape(-1)
    step = int(grid.strides[b])
    high = np.flatnonzero(liquid[step:] != liquid[:-step]) + step
    face = np.where(liquid[high], high, high - step)
    solid = 2 * high - step - face
    sample = high - step if a == b else high
    near, far = d[face], d[solid]
    theta = np.ones(high.size)
    np.divide(near, near - far, out=theta, where=(near >= 0.0) & (far < 0.0))
    if a != b:
        window = np.zeros(grid.padded, np.bool_)
        window[grid.face_window(a)] = True
        side = np.flatnonzero(~window.reshape(-1)[solid])
        # a solid along the side may be thinner than half a cell: its surface lies where the distance, as it falls from
        # the face beyond to this one, becomes zero
        fall = d[2 * face[side] - solid[side]] - near[side]
        thin = near[side] < 0.5 * fall
        part = np.where(thin, 0.0, 0.5)
        theta[side] = np.divide(near[side], fall, out=part, where=thin & (near[side] > 0.0))
    theta = np.maximum(theta, NEAREST)
    keep = (theta < 1.0) & (k[sample] > 0.0)
    base = a * grid.P
    return _Crossings(sample[keep], base + face[keep], base + solid[keep], theta[keep], np.ones(int(keep.sum())))


def _shorten(mass: np.ndarray, parts: dict[tuple[int, int], _Crossings]) -> None:
    """Let the masses end halfway to the wall. The axes count by the square of the normal, which is as 1/θ."""
    faces, rows = np.unique(np.concatenate([c.face for c in parts.values()]), return_inverse=True)
    short, total = np.zeros(faces.size), np.zeros(faces.size)
    for b in {b for _, b in parts}:
        mine = np.concatenate([np.full(c.face.size, b == axis) for (_, axis), c in parts.items()])
        theta = np.concatenate([c.theta for c in parts.values()])[mine]
        weight = np.bincount(rows[mine], theta**-2, faces.size)
        short += weight * np.bincount(rows[mine], 0.5 * (1.0 - theta), faces.size)
        total += weight
    mass[faces] *= 1.0 - short / np.maximum(total, 1e-300)
