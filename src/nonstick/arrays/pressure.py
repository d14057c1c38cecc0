"""The pressure equation in arrays: face fractions, ghost-fluid rows, the velocity update (`discretise.pressure`).

All of it are array operations, so it is done on the device of the arrays, and libraries that differentiate can
differentiate it: with respect to the velocity, to the level sets, to open fractions and to the motion of walls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from ..errors import NonstickError
from ..grid.levelset import THETA_MIN
from .grid import GridProblem
from .library import Array, device_of, namespace, one_kind

Faces = tuple[Array, ...]


def _cells(face: Array, axis: int, side: int) -> Array:
    """The faces at the lower (0) or upper (1) side of every cell."""
    at: list[Any] = [slice(None)] * face.ndim
    at[axis] = slice(1, None) if side else slice(0, -1)
    return face[tuple(at)]


def _inner(face: Array, axis: int) -> Array:
    """The faces between two cells."""
    return _cells(_cells(face, axis, 1), axis, 0)


def _ratio(a: Array, b: Array) -> Array:
    """a/b, 0 where b is 0; its derivative is never NaN."""
    xp = namespace(a)
    return xp.where(b != 0, a / xp.where(b != 0, b, xp.ones_like(b)), xp.zeros_like(a))


def open_fractions(phi_solid: Array) -> Faces:
    """The open part of every face from the solid distance at nodes; faces on the edge of the grid are closed.

    Segments in 2D, marching squares in 3D, as `nonstick.grid.fractions`.
    """
    xp, d = namespace(phi_solid), phi_solid.ndim
    # Two computations of the distance to one plane may differ in the last digits by rounding.
    size = xp.abs(phi_solid)
    phi_solid = xp.where(size <= 16 * float(xp.finfo(phi_solid.dtype).eps) * xp.max(size), 0 * phi_solid, phi_solid)
    out = []
    for axis in range(d):
        corners = [phi_solid]
        for other in (a for a in range(d) if a != axis):
            corners = [_cells(c, other, side) for c in corners for side in (0, 1)]
        if d == 3:  # in cyclic order
            corners = [corners[0], corners[1], corners[3], corners[2]]
        w = _open_segment(*corners) if d == 2 else _open_square(*corners)
        n, place = w.shape[axis], xp.arange(w.shape[axis], device=device_of(w))
        at = xp.astype((place > 0) & (place < n - 1), w.dtype)
        out.append(w * xp.reshape(at, (1,) * axis + (n,) + (1,) * (d - axis - 1)))
    return tuple(out)


def _open_segment(a: Array, b: Array) -> Array:
    xp = namespace(a)
    zero, one = xp.zeros_like(a), xp.ones_like(a)
    part = xp.where(a < 0, xp.where(b < 0, one, _ratio(a, a - b)), xp.where(b < 0, _ratio(b, b - a), zero))
    return xp.where((a <= 0) & (b <= 0), zero, 1 - part)


def _open_square(*v: Array) -> Array:
    """Marching squares for corner values in cyclic order."""
    xp = namespace(v[0])
    zero, one = xp.zeros_like(v[0]), xp.ones_like(v[0])
    solid = [a < 0 for a in v]
    count = sum(xp.where(s, one, zero) for s in solid)
    cut_solid = cut_open = trapezium = zero
    for i in range(4):
        a, before, after = v[i], v[i - 1], v[(i + 1) % 4]
        corner = 0.5 * _ratio(a, a - before) * _ratio(a, a - after)
        alone = ~solid[i - 1] & ~solid[(i + 1) % 4]
        between = solid[i - 1] & solid[(i + 1) % 4]
        cut_solid = cut_solid + xp.where(solid[i] & alone, corner, zero)
        cut_open = cut_open + xp.where(~solid[i] & between, corner, zero)
        side = solid[i] & solid[(i + 1) % 4] & ~solid[i - 1] & ~solid[(i + 2) % 4]
        across = 0.5 * (_ratio(a, a - before) + _ratio(after, after - v[(i + 2) % 4]))
        trapezium = trapezium + xp.where(side, across, zero)
    opposite = (solid[0] & solid[2]) | (solid[1] & solid[3])
    two = xp.where(opposite, xp.where(sum(v) < 0, cut_open, 1 - cut_solid), 1 - trapezium)
    out = xp.where(count == 2, two, xp.where(count < 2, 1 - cut_solid, cut_open))
    closed = (v[0] <= 0) & (v[1] <= 0) & (v[2] <= 0) & (v[3] <= 0)
    return xp.where(closed, zero, out)


@dataclass(frozen=True)
class GridProjection:
    """One pressure projection in the arrays of the caller; parameters are those of `PressureProblem`."""

    phi_liquid: Array
    velocity: Faces
    weights: Faces
    dt: float
    dx: float
    rho: float = 1000.0
    solid_velocity: Faces | None = None

    def problem(self, walls: Any = "cut") -> GridProblem:
        """The rows of `PressureProblem`; `walls` is "cut", "all", "none" or a boolean array.

        Cells that are no unknown have diagonal 0.
        """
        phi, xp = self.phi_liquid, namespace(self.phi_liquid)
        zero, scale = xp.zeros_like(phi), self.dt / (self.rho * self.dx * self.dx)
        diagonal, couplings, narrow = zero, [], zero > 1
        for axis, weights in enumerate(self.weights):
            here, there = (_cells(phi, axis, side) for side in (0, 1))  # of the two cells at an inner face
            w = _inner(weights, axis)
            open_w = xp.where(w > 0, w * scale, xp.zeros_like(w))
            coupling = xp.where((here < 0) & (there < 0), open_w, xp.zeros_like(w))
            low = xp.where(here < 0, _conductance(open_w, here, there), xp.zeros_like(w))
            high = xp.where(there < 0, _conductance(open_w, there, here), xp.zeros_like(w))
            edge = _edge(phi, axis)
            couplings.append(xp.concat([coupling, edge], axis=axis))
            diagonal = diagonal + xp.concat([low, edge], axis=axis) + xp.concat([edge, high], axis=axis)
            narrow = narrow | (_cells(weights, axis, 0) < 1) | (_cells(weights, axis, 1) < 1)
        if isinstance(walls, str):
            masks = {"cut": narrow, "all": ~narrow | narrow, "none": narrow & ~narrow}
            if walls not in masks:
                raise NonstickError(f"walls of a problem in arrays must be cut, all, none or an array, not {walls!r}")
            walls = masks[walls]
        b = xp.where((phi < 0) & (diagonal > 0), -self._divergence() / self.dx, zero)
        return GridProblem(tuple(couplings), diagonal, b, xp.where(walls, zero, zero - inf), inf)

    def _divergence(self) -> Array:
        """Flux out of every cell: w u + (1 - w) u_solid, where closed faces do not read u."""
        total = 0.0
        for axis, (u, w) in enumerate(zip(self.velocity, self.weights)):
            xp = namespace(u)
            flux = xp.where(w > 0, w * u, xp.zeros_like(u))
            if self.solid_velocity is not None:
                flux = flux + (1 - w) * self.solid_velocity[axis]
            total = total + _cells(flux, axis, 1) - _cells(flux, axis, 0)
        return total

    def updated(self, pressure: Array) -> Faces:
        """u - dt/rho grad p with the ghost-fluid gradient, as `PressureProblem.update`."""
        phi, factor, out = self.phi_liquid, self.dt / (self.rho * self.dx), []
        for axis, (u, w) in enumerate(zip(self.velocity, self.weights)):
            xp = namespace(u)
            here, there = (_cells(phi, axis, side) for side in (0, 1))
            low, high = (_cells(pressure, axis, side) for side in (0, 1))
            zero, one = xp.zeros_like(here), xp.ones_like(here)
            to_air = -_conductance(one, here, there) * low
            from_air = _conductance(one, there, here) * high
            step = xp.where(here < 0, xp.where(there < 0, high - low, to_air), xp.where(there < 0, from_air, zero))
            edge = _edge(u, axis)
            step = xp.concat([edge, factor * step, edge], axis=axis)
            wet = xp.astype(phi < 0, u.dtype)
            touching = xp.concat([edge, wet], axis=axis) + xp.concat([wet, edge], axis=axis) > 0
            solid = xp.zeros_like(u) if self.solid_velocity is None else self.solid_velocity[axis]
            out.append(xp.where(touching, xp.where(w > 0, u - step, solid), u))
        return tuple(out)


def project(
    solve: Callable[..., Array],
    phi_liquid: Array,
    velocity: Faces,
    *,
    phi_solid: Array | None,
    weights: Faces | None,
    walls: Any,
    rtol: float | None,
    **step: Any,
) -> tuple[Faces, Array]:
    """Velocity and pressure after one projection, by a solver with derivatives (`nonstick.torch`, `nonstick.jax`)."""
    if phi_solid is not None and weights is not None:
        raise NonstickError("give either phi_solid or weights, not both")
    if phi_solid is None and weights is None:  # a closed box
        shape, kind = [n + 1 for n in phi_liquid.shape], {"dtype": phi_liquid.dtype, "device": device_of(phi_liquid)}
        phi_solid = namespace(phi_liquid).ones(tuple(shape), **kind)
    faces = {f"velocity[{a}]": u for a, u in enumerate(velocity)}
    faces |= {f"weights[{a}]": w for a, w in enumerate(weights or ())}
    one_kind(phi_liquid=phi_liquid, phi_solid=phi_solid, **faces)
    own = GridProjection(phi_liquid, velocity, open_fractions(phi_solid) if weights is None else weights, **step)
    problem = own.problem(walls)
    pressure = solve((problem.weights, problem.diagonal), problem.b, problem.lower, problem.upper, rtol=rtol)
    return own.updated(pressure), pressure


def _edge(field: Array, axis: int) -> Array:
    """Zeros with the shape of a field that is one cell long along an axis."""
    at = [slice(None)] * field.ndim
    at[axis] = slice(0, 1)
    return namespace(field).zeros_like(field[tuple(at)])


def _conductance(w: Array, here: Array, there: Array) -> Array:
    """w to liquid, w/θ to the surface."""
    xp = namespace(w)
    surface = there >= 0
    theta = xp.where(surface, _ratio(here, here - there), xp.ones_like(w))
    return w / xp.where(theta > THETA_MIN, theta, xp.zeros_like(w) + THETA_MIN)
