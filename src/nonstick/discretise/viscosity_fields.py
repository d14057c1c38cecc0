"""The fields of a viscosity problem, as users give them, on the padded grid: fractions, viscosity, solid faces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

import numpy as np

from ..core import validate
from ..errors import NonstickError
from ..grid.box import IndexBox
from ..grid.faces import at_faces, between, ends
from ..operators.faces import FaceGrid, face_shift
from ._volumes import control_volumes, with_surroundings
from .fields import checked_array, face_arrays

#: cells without liquid that a window has around its liquid, where the grid goes on
MARGIN = 3
#: a window begins at a multiple of this, so that the cells of its five next coarser grids are those of the whole grid
ALIGNED = 32


def window_around(fields: Iterable[np.ndarray], grid: tuple[int, ...]) -> IndexBox:
    """The cells around all values that are not zero, so that the cost of a problem follows its liquid, not its domain.

    Fields are over cells, faces, edges or nodes.
    """
    boxes = [box for box in map(IndexBox.around, fields) if box is not None]
    if not boxes:
        return IndexBox((0,) * len(grid), (1,) * len(grid))
    box = reduce(IndexBox.union, boxes).grown(MARGIN, grid)
    return IndexBox(tuple(l // ALIGNED * ALIGNED for l in box.low), box.high)


def window_of_liquid(phi: np.ndarray) -> IndexBox:
    """The cells around the liquid of a level set at cell centres, which goes on linearly beyond the grid."""
    liquid = phi < 0.0
    axes = [axis for axis, n in enumerate(phi.shape) if n > 1]
    ends = [(axis, at, inner) for axis in axes for at, inner in ((0, 1), (-1, -2))]
    slopes = [np.abs(np.take(phi, at, axis) - np.take(phi, inner, axis)).max() for axis, at, inner in ends]
    # two layers further it may have changed by this much along every axis
    reach = 2.0 * phi.ndim * max(slopes, default=0.0)
    for axis, at, _ in ends:
        side = (slice(None),) * axis + (at,)
        liquid[side] |= phi[side] < reach
    return window_around([liquid], phi.shape)


def liquid_volumes(phi) -> tuple[tuple[np.ndarray, ...], np.ndarray, tuple[np.ndarray, ...]]:
    """(faces, cells, edges): liquid fractions from a level set at cell centres, as `volumes` is given."""
    phi = np.asarray(phi)
    window = window_of_liquid(checked_level_set(phi, phi.shape))
    grid = FaceGrid.of(window.shape)
    mass, stress = np.zeros((3, *grid.padded)), np.zeros((4, *grid.padded))
    volumes_from_level_set(grid, mass, stress, phi, window, (1.0, 1.0))
    faces = tuple(window.back(grid.user(mass[a][grid.face_window(a)]), phi.shape) for a in grid.axes)
    edges = tuple(window.back(grid.user(stress[1 + e][grid.edge_window(e)]), phi.shape) for e in grid.edges)
    return faces, window.back(grid.user(stress[0][grid.window()]), phi.shape), edges


def edge_volumes(phi: np.ndarray, window: IndexBox) -> tuple[np.ndarray, ...]:
    """The liquid fractions of edges alone; the window holds the liquid."""
    grid = FaceGrid.of(window.shape)
    outs = [np.zeros(grid.padded) for _ in grid.edges]
    samples = [grid.edge_shift(e) for e in grid.edges]
    if grid.dimension == 2:
        samples = [(0, 1, 1)]
    control_volumes(with_surroundings(phi, window), samples, [1.0] * len(outs), outs)
    return tuple(window.back(grid.user(out[grid.edge_window(e)]), phi.shape) for out, e in zip(outs, grid.edges))


def checked_level_set(phi, cells: tuple[int, ...]) -> np.ndarray:
    return checked_array("phi_liquid", phi, cells).astype(np.float64, copy=False)


def checked_viscosity(grid: FaceGrid, viscosity) -> np.ndarray:
    """An array over cells, or an array without axes if the viscosity is constant."""
    mu = validate.numbers(viscosity, "viscosity").astype(np.float64, copy=False)
    if not np.isfinite(mu).all() or mu.min(initial=0.0) < 0.0:
        raise NonstickError("viscosity must be finite and not negative")
    if mu.ndim:
        checked_array("viscosity", mu, grid.cells[3 - grid.dimension :])
        if mu.min() == mu.max():
            mu = np.asarray(mu.flat[0])
    return mu


def volumes_from_level_set(
    grid: FaceGrid, mass, stress, phi: np.ndarray, window: IndexBox, factors: tuple[float, float]
) -> None:
    """Fill mass and stress, which are those of a window; φ is that of the whole grid."""
    samples = [face_shift(a) for a in grid.axes] + [(0, 0, 0)] + [grid.edge_shift(e) for e in grid.edges]
    times = [1.0 for _ in grid.axes] + [factors[0]] + [factors[1] for _ in grid.edges]
    outs = [mass[a] for a in grid.axes] + [stress[0]] + [stress[1 + e] for e in grid.edges]
    control_volumes(with_surroundings(phi, window), samples, times, outs)


#: liquid fractions of faces, of cells and of edges
Volumes = tuple[list[np.ndarray], np.ndarray, list[np.ndarray]]


def checked_volumes(grid: FaceGrid, volumes) -> Volumes:
    """Volumes that a user gives."""
    try:
        faces, cells, edges = volumes
        faces, edges = list(faces), list(edges)
    except (TypeError, ValueError):
        raise NonstickError("volumes must be (faces, cells, edges): a tuple, an array and a tuple") from None
    if len(faces) != grid.dimension or len(edges) != len(grid.edges):
        raise NonstickError(f"volumes need {grid.dimension} face arrays and {len(grid.edges)} edge arrays")
    return (
        [_fractions(f"faces[{n}]", faces[n], grid, face_shift(a)) for n, a in enumerate(grid.axes)],
        _fractions("cells", cells, grid, (0, 0, 0)),
        [_fractions(f"edges[{n}]", edges[n], grid, grid.edge_shift(e)) for n, e in enumerate(grid.edges)],
    )


def _fractions(name: str, value, grid: FaceGrid, shift: tuple[int, int, int]) -> np.ndarray:
    shape = tuple(grid.cells[a] + shift[a] for a in grid.axes)
    value = checked_array(f"volumes: {name}", value, shape)
    if value.min(initial=0.0) < 0.0:
        raise NonstickError(f"volumes: {name} has negative fractions")
    return value


def volumes_as_given(grid: FaceGrid, mass, stress, volumes: Volumes, window: IndexBox, factors) -> None:
    """Fill mass and stress, which are those of a window; the volumes are those of the whole grid."""
    faces, cells, edges = volumes
    parts = [(cells, stress[0][grid.window()], factors[0])]
    parts += [(faces[n], mass[a][grid.face_window(a)], 1.0) for n, a in enumerate(grid.axes)]
    parts += [(edges[n], stress[1 + e][grid.edge_window(e)], factors[1]) for n, e in enumerate(grid.edges)]
    for value, out, factor in parts:
        np.multiply(window.part(value, cells.shape), factor, out=grid.user(out))


def times_viscosity(grid: FaceGrid, stress: np.ndarray, mu: np.ndarray, harmonic: bool = False) -> None:
    """Multiply stress coefficients for μ = 1 by this viscosity; at an edge, by the mean over its cells."""
    mu = mu.reshape(grid.cells)
    stress[0][grid.window()] *= mu
    if harmonic:
        mu = np.divide(1.0, mu, out=np.full(mu.shape, np.inf), where=mu > 0.0)
    around = np.pad(mu, 1, mode="edge")  # an edge on the boundary takes the mean over its cells inside the box
    for e in grid.edges:
        mean = around
        for axis in range(3):
            mean = np.take(mean, range(1, mean.shape[axis] - 1), axis) if axis == e else between(mean, axis)
        stress[1 + e][grid.edge_window(e)] *= 1.0 / mean if harmonic else mean


def fluid_faces(grid: FaceGrid, phi_solid, fluid) -> tuple[np.ndarray, ...]:
    cells = grid.cells[3 - grid.dimension :]
    if fluid is not None:
        return tuple(mask.astype(bool) for mask in face_arrays("fluid", fluid, cells, finite=True))
    if phi_solid is None:
        masks = [np.ones(tuple(n + (b == a) for b, n in enumerate(cells)), bool) for a in range(grid.dimension)]
    else:
        masks = [value >= 0.0 for value in face_means(grid, phi_solid)]
    for a, mask in enumerate(masks):  # the box is closed
        mask[ends(a)] = False
    return tuple(masks)


def face_means(grid: FaceGrid, phi_solid) -> Iterator[np.ndarray]:
    """A nodal field in the middles of the faces, component by component."""
    nodes = checked_array("phi_solid", phi_solid, tuple(n + 1 for n in grid.cells[3 - grid.dimension :]))
    nodes = nodes.astype(np.float64, copy=False)
    return (at_faces(nodes, a) for a in range(grid.dimension))


def unknown_faces(grid: FaceGrid, mass: np.ndarray, stress: np.ndarray, fluid: Sequence[np.ndarray]) -> np.ndarray:
    """(3, *padded) booleans: faces that are not solid, and have mass or touch a stress sample."""
    out = np.zeros((3, *grid.padded), np.bool_)
    for n, a in enumerate(grid.axes):
        window = grid.face_window(a)
        touched = mass[a][window] > 0
        touched |= stress[0][window] > 0
        touched |= stress[0][_shifted(window, a, -1)] > 0
        for e in grid.edges:
            if e != a:
                across = 3 - a - e
                touched |= stress[1 + e][window] > 0
                touched |= stress[1 + e][_shifted(window, across, 1)] > 0
        grid.user(out[a][window])[...] = grid.user(touched) & fluid[n]
    return out


def _shifted(window: tuple[slice, ...], axis: int, by: int) -> tuple[slice, ...]:
    return tuple(slice(w.start + by, w.stop + by) if i == axis else w for i, w in enumerate(window))
