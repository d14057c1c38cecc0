"""Fields given to a discretisation: their checks, what follows from them, and the same on a grid twice as coarse.

Those of a viscosity problem lie on the padded grid: fractions, viscosity, solid faces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

import numpy as np

from ..core import validate
from ..errors import NonstickError, brief
from ..grid.box import IndexBox
from ..grid.faces import at_faces, between, ends, lower, upper
from ..grid.fractions import close_edges, closed_box, open_fractions, open_part
from ..operators.faces import FaceGrid, face_shift
from ._moments import control_volumes, with_surroundings

Faces = tuple[np.ndarray, ...]


def checked_array(name: str, value, shape: tuple[int, ...], finite: bool = True) -> np.ndarray:
    """An array of numbers of this shape, checked."""
    value = validate.numbers(value, name)
    if value.shape != shape:
        raise NonstickError(f"{name} has shape {value.shape}, expected {shape}")
    if finite and value.dtype != bool and not np.isfinite(value).all():
        raise NonstickError(f"{name} has values that are not finite")
    return value


def liquid_over_cells(phi_liquid) -> np.ndarray:
    """A level set over the cells of a 2D or 3D grid."""
    phi = validate.numbers(phi_liquid, "phi_liquid")
    if phi.ndim not in (2, 3) or min(phi.shape) < 1:
        raise NonstickError(f"phi_liquid must be a 2D or 3D array over cells, not of shape {phi.shape}")
    return phi


def face_arrays(name: str, arrays, shape: tuple[int, ...], finite: bool = False) -> Faces:
    """Face arrays of a grid of `shape` cells, checked."""
    out = sequence(name, arrays)
    if len(out) != len(shape):
        raise NonstickError(f"{name} needs {len(shape)} arrays, one for the faces along each axis of the grid")
    faces = (tuple(n + (b == axis) for b, n in enumerate(shape)) for axis in range(len(shape)))
    return tuple(checked_array(f"{name}[{axis}]", a, s, finite) for axis, (a, s) in enumerate(zip(out, faces)))


def sequence(name: str, arrays) -> Faces:
    """The arrays of real numbers that a tuple or a list holds."""
    if not isinstance(arrays, (tuple, list)) and np.ndim(arrays) < 2:
        raise NonstickError(f"{name} must be a tuple of arrays, one for each axis")
    return tuple(validate.numbers(a, f"{name}[{axis}]") for axis, a in enumerate(arrays))


def open_faces(phi_solid, weights, shape: tuple[int, ...]) -> Faces:
    """Open fractions, given or from the distance to the solid, checked."""
    if phi_solid is not None and weights is not None:
        raise NonstickError("give either phi_solid or weights, not both")
    if weights is not None:
        out = face_arrays("weights", weights, shape)
        for w in out:
            if not (w.size == 0 or (w.min() >= 0.0 and w.max() <= 1.0)):
                raise NonstickError("weights are open fractions: all of them must lie between 0 and 1")
        return out
    if phi_solid is None:
        return closed_box(shape)
    phi_solid = checked_array("phi_solid", phi_solid, tuple(n + 1 for n in shape), finite=False)
    return tuple(close_edges(w, axis) for axis, w in enumerate(open_fractions(phi_solid)))


def wall_area(weights: Faces) -> np.ndarray:
    """Area of the wall inside each cell over dx^(d-1), from the imbalance of the open fractions."""
    total = sum(np.diff(w, axis=axis) ** 2 for axis, w in enumerate(weights))
    return np.sqrt(np.asarray(total))


def open_cells(weights: Faces, shape: tuple[int, ...]) -> np.ndarray:
    """Cells with an open face inside the grid."""
    out = np.zeros(shape, bool)
    for axis, w in enumerate(weights):
        way = upper(lower(w, axis), axis) > 0
        for side in (lower, upper):
            np.logical_or(side(out, axis), way, out=side(out, axis))
    return out


def positive(value, name: str) -> float:
    """A finite number above zero."""
    number = np.asarray(value) if np.isscalar(value) or isinstance(value, np.ndarray) else np.empty(0)
    if number.ndim or number.dtype.kind not in "iuf" or not (np.isfinite(number) and number > 0):
        raise NonstickError(f"{name} must be a positive number, not {brief(value)}")
    return float(number)


def coefficient(dt: float, dx: float, rho: float) -> float:
    """dt/(rho dx²), the coefficient of every discretisation; positive numbers may be too small or too large for it."""
    try:
        out = dt / (rho * dx**2)
    except (OverflowError, ZeroDivisionError):
        out = 0.0 if dx > 1.0 else np.inf
    if not 1e-300 < out < 1e300:
        raise NonstickError(
            f"dt/(rho dx²) is too {'small' if out < 1 else 'large'} for a computer: dt is {dt:g}, dx {dx:g} and rho "
            f"{rho:g}; use SI units"
        )
    return out


# -- on a grid twice as coarse (Chentanez–Müller, algorithm 1 lines 1-7); odd sizes repeat their last layer ---------


def coarse_fluxes(weights: Faces, velocity: Faces, solid: Faces | None) -> tuple[Faces, Faces, Faces | None]:
    """Open fractions of the coarse faces, and velocities of liquid and solids that carry the same flux."""
    out_weights, out_velocity, out_solid = [], [], []
    for axis, w in enumerate(weights):
        w, u = np.asarray(w, dtype=np.float64), velocity[axis]
        mean = face_mean(w, axis)
        flux = face_mean(np.where(w > 0, w * u, 0.0), axis)
        out_weights.append(mean)
        out_velocity.append(np.divide(flux, mean, out=np.zeros_like(flux), where=mean > 0))
        if solid is not None:
            flux = face_mean((1.0 - w) * solid[axis], axis)
            out_solid.append(np.divide(flux, 1.0 - mean, out=np.zeros_like(flux), where=mean < 1))
    return tuple(out_weights), tuple(out_velocity), None if solid is None else tuple(out_solid)


def coarse_phi(phi: np.ndarray, weights: Faces, dx: float, keep_bubbles: bool) -> np.ndarray:
    """Mean distance of the children with an open face; to keep bubbles, of its children in air, if it has any."""
    part = children(np.asarray(phi, dtype=np.float64))
    open_child = children(open_part(weights) > 0)
    open_child |= ~open_child.any(axis=0)
    part = np.where(np.isfinite(part), part, dx * sum(phi.shape))
    count = open_child.sum(axis=0)
    mean = np.where(open_child, part, 0.0).sum(axis=0) / count
    if not keep_bubbles:
        return mean
    air = open_child & (part >= 0)
    airs = air.sum(axis=0)
    positive = np.where(air, part, 0.0).sum(axis=0) / np.maximum(airs, 1)
    return np.where((airs > 0) & (airs < count), positive, mean)


def children(a: np.ndarray) -> np.ndarray:
    """(2^d, *coarse shape): the children of every coarse cell."""
    a = _even(a, range(a.ndim))
    parts = [a]
    for axis in range(a.ndim):
        parts = [np.take(p, np.arange(s, p.shape[axis], 2), axis) for p in parts for s in (0, 1)]
    return np.stack(parts)


def face_mean(a: np.ndarray, axis: int) -> np.ndarray:
    """Mean over the fine faces that make up each coarse face normal to `axis`."""
    cells = a.shape[axis] - 1
    if cells % 2:  # the coarse grid extends one fine cell further: the border value is used there
        pad = [(0, int(x == axis)) for x in range(a.ndim)]
        a = np.pad(a, pad, mode="edge")
    a = np.take(a, np.arange(0, a.shape[axis], 2), axis)
    across = [x for x in range(a.ndim) if x != axis]
    a = _even(a, across)
    for x in across:
        even, odd = [slice(None)] * a.ndim, [slice(None)] * a.ndim
        even[x], odd[x] = slice(0, None, 2), slice(1, None, 2)
        a = 0.5 * (a[tuple(even)] + a[tuple(odd)])
    return a


def _even(a: np.ndarray, axes) -> np.ndarray:
    """Repeat the last layer along axes of odd length."""
    pad = [(0, a.shape[x] % 2 if x in axes else 0) for x in range(a.ndim)]
    return np.pad(a, pad, mode="edge") if any(p[1] for p in pad) else a


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
