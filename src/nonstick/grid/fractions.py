"""Open fractions of grid faces, the part of each face that liquid can pass; and the cells at walls, by name.

2D: the part of the segment between two nodes with phi_solid >= 0. 3D: the area outside the solid by marching
squares on the four nodes; if two opposite corners are solid, the mean of the four nodes decides whether they are
connected (Batty, Bertails, Bridson 2007).

A face is closed if all its nodes lie in or on the solid, so a wall that coincides with grid faces closes them;
otherwise a node is solid if phi < 0. Values within `eps` of zero count as zero, so that rounding does not decide on
which side of an aligned wall a node falls.

The cells in which liquid may separate from walls:

- `cut`    cells that lie in both liquid and solid: some face is not fully open (Lai, figure 3.1, grey)
- `solid`  unknowns whose centre lies in the solid (Chentanez–Müller, eq. 17)
- `edge`   no cell; the pressure is constrained at the wall itself, on edges between cells (Chentanez–Müller §3.1)
- `all`    every cell
- `none`   no cell: sticky walls
"""

from __future__ import annotations

import numpy as np

from ..errors import NonstickError, brief, did_you_mean
from ..kernels import merged, parallel, prange, serial
from ..kernels._components import _label
from .faces import between, ends, lifted, lower, upper


def open_fractions(phi_solid: np.ndarray, largest: float | None = None) -> tuple[np.ndarray, ...]:
    """Open fraction of every face, one array per axis, from the solid distance at the nodes.

    `largest` is the largest size of the distance, if these nodes are only some of those of a larger grid.
    """
    phi = np.asarray(phi_solid)
    if phi.ndim not in (2, 3) or min(phi.shape) < 2:
        raise NonstickError(f"phi_solid must be a 2D or 3D array of nodes, not of shape {phi.shape}")
    dtype = np.float32 if phi.dtype == np.float32 else np.float64
    phi = np.ascontiguousarray(phi, dtype=dtype)
    largest = max(float(phi.max()), -float(phi.min()), largest or 0.0)
    if not np.isfinite(largest):
        raise NonstickError("phi_solid holds NaN or infinite values")
    # Two computations of the distance to one plane may differ in the last digits by rounding.
    eps = dtype(largest * 16 * np.finfo(dtype).eps)
    out = tuple(np.empty(tuple(n - (b != a) for b, n in enumerate(phi.shape)), dtype) for a in range(phi.ndim))
    (_open_2d if phi.ndim == 2 else _open_3d)(*out, phi, eps)
    return out


def closed_box(shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Fractions of an empty box: every face is open except those on the edge of the grid."""
    shapes = (tuple(n + (a == axis) for a, n in enumerate(shape)) for axis in range(len(shape)))
    return tuple(close_edges(np.ones(s), axis) for axis, s in enumerate(shapes))


def close_edges(w: np.ndarray, axis: int) -> np.ndarray:
    """Close the faces on the edge of the grid, in place."""
    w[ends(axis)] = 0.0
    return w


def centre_distance(phi_solid: np.ndarray) -> np.ndarray:
    """Solid distance at cell centres: the mean of the cell's nodes."""
    out = np.asarray(phi_solid)
    for axis in range(out.ndim):
        out = between(out, axis)
    return out


def open_part(weights: tuple[np.ndarray, ...]) -> np.ndarray:
    """Mean open fraction of the faces of each cell: below one half the cell counts as solid."""
    total = sum(upper(w, a) + lower(w, a) for a, w in enumerate(weights))
    return np.asarray(total) / (2 * len(weights))


def cover(phi: np.ndarray) -> tuple[np.ndarray, ...]:
    """Share of the cube of one cell around every face in which phi < 0 (at nodes, in cells), one array per axis.

    The body covers nothing outside the given nodes.
    """
    if not np.isfinite(phi).all():
        raise NonstickError("the distance of a body holds NaN or infinite values")
    d = phi.ndim
    lifted = np.ascontiguousarray(phi if d == 3 else np.repeat(phi[None], 2, axis=0), dtype=np.float64)
    halves = np.empty(tuple((1 if d == 2 and a == 0 else 2) * (n - 1) for a, n in enumerate(lifted.shape)))
    _cover(halves, lifted)
    halves = halves.reshape(halves.shape[3 - d :])
    out = []
    for axis in range(d):
        part = halves
        for a in range(d):
            if a == axis:  # the half-cubes below and above the face
                part = np.pad(part, [(1, 1) if b == a else (0, 0) for b in range(d)])
            even, odd = [slice(None)] * d, [slice(None)] * d
            even[a], odd[a] = slice(0, None, 2), slice(1, None, 2)
            part = 0.5 * (part[tuple(even)] + part[tuple(odd)])
        out.append(part)
    return tuple(out)


@merged
def _solid_part(a, b):
    """The part of a segment with phi < 0, linear between its ends."""
    if a < 0.0:
        return 1.0 if b < 0.0 else a / (a - b)
    return b / (b - a) if b < 0.0 else 0.0


@merged
def _snap(a, eps):
    return 0.0 if abs(a) <= eps else a


@merged
def _corner(a, b, c):
    """Area of the triangle cut off at corner a, between the corner's neighbours b and c (opposite signs to a)."""
    return 0.5 * (a / (a - b)) * (a / (a - c))


@serial
def _open_square(a, b, c, d):
    """Open fraction of a square with corner values a, b, c, d in cyclic order: marching squares."""
    if a <= 0.0 and b <= 0.0 and c <= 0.0 and d <= 0.0:
        return 0.0
    n = (a < 0.0) + (b < 0.0) + (c < 0.0) + (d < 0.0)
    if n == 0:
        return 1.0
    # Turn the square until the pattern starts with its solid (n = 1, 2) or its only open (n = 3) corner.
    for _ in range(4):
        if n == 3:
            if a >= 0.0:
                break
        elif a < 0.0 and (n == 1 or d >= 0.0):
            break
        a, b, c, d = b, c, d, a
    if n == 1:
        return 1.0 - _corner(a, b, d)
    if n == 3:
        return _corner(a, b, d)
    if b < 0.0:  # a and b are solid: a trapezium along the side ab
        return 1.0 - 0.5 * (a / (a - d) + b / (b - c))
    # a and c are opposite corners: the sign in the middle decides whether the solid or the gap is connected
    if a + b + c + d < 0.0:
        return _corner(b, a, c) + _corner(d, a, c)
    return 1.0 - _corner(a, b, d) - _corner(c, b, d)


@serial
def _open_2d(wu, wv, phi, eps):
    nx, ny = phi.shape[0] - 1, phi.shape[1] - 1
    for i in range(nx + 1):
        for j in range(ny + 1):
            p = _snap(phi[i, j], eps)
            if j < ny:
                q = _snap(phi[i, j + 1], eps)
                wu[i, j] = 0.0 if p <= 0.0 and q <= 0.0 else 1.0 - _solid_part(p, q)
            if i < nx:
                q = _snap(phi[i + 1, j], eps)
                wv[i, j] = 0.0 if p <= 0.0 and q <= 0.0 else 1.0 - _solid_part(p, q)


@parallel
def _open_3d(wu, wv, ww, phi, eps):
    """The three faces at the lower corner of every cell share eight nodes; most cells have no wall there."""
    nx, ny, nz = phi.shape[0] - 1, phi.shape[1] - 1, phi.shape[2] - 1
    for i in prange(nx + 1):
        i1 = min(i + 1, nx)
        for j in range(ny + 1):
            j1 = min(j + 1, ny)
            a, b, c, d = phi[i, j, 0], phi[i, j1, 0], phi[i1, j1, 0], phi[i1, j, 0]
            for k in range(nz + 1):
                k1 = min(k + 1, nz)
                e, f, g, h = phi[i, j, k1], phi[i, j1, k1], phi[i1, j1, k1], phi[i1, j, k1]
                x = y = z = 1.0
                if not min(min(min(a, b), min(c, d)), min(min(e, f), min(g, h))) > eps:
                    if max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h))) <= eps:
                        x = y = z = 0.0
                    else:
                        p, q, r, s = _snap(a, eps), _snap(b, eps), _snap(c, eps), _snap(d, eps)
                        t, u, v = _snap(e, eps), _snap(f, eps), _snap(h, eps)
                        x = _open_square(p, q, u, t)
                        y = _open_square(p, s, v, t)
                        z = _open_square(p, s, r, q)
                if j < ny and k < nz:
                    wu[i, j, k] = x
                if i < nx and k < nz:
                    wv[i, j, k] = y
                if i < nx and j < ny:
                    ww[i, j, k] = z
                a, b, c, d = e, f, g, h


@parallel
def _cover(out, phi):
    """Share of every half cell (2^d to a cell; a 2D grid has one cell and one half along the first axis) with phi < 0.

    phi is the distance at the nodes in cells. A cell is cut into 4^d pieces, each filled by clip(½ - 4·distance, 0, 1)
    at its middle; a cell whose nodes all lie at least an eighth of a cell on one side is full or empty without this
    computation.
    """
    nx, ny, nz = phi.shape[0] - 1, phi.shape[1] - 1, phi.shape[2] - 1
    hx = out.shape[0] // nx
    px = 1 if hx == 1 else 4
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                low = high = phi[i, j, k]
                for di in range(2):
                    for dj in range(2):
                        for dk in range(2):
                            s = phi[i + di, j + dj, k + dk]
                            low = min(low, s)
                            high = max(high, s)
                full = 1.0 if high <= -0.125 else 0.0
                for a in range(hx):
                    for b in range(2):
                        for c in range(2):
                            out[hx * i + a, 2 * j + b, 2 * k + c] = full
                if low >= 0.125 or high <= -0.125:
                    continue
                part = 1.0 / (px // hx * 4)
                for a in range(px):
                    x = (a + 0.5) / px
                    for b in range(4):
                        y = (b + 0.5) / 4
                        for c in range(4):
                            z = (c + 0.5) / 4
                            s = 0.0
                            for di in range(2):
                                wx = x if di else 1.0 - x
                                for dj in range(2):
                                    wy = wx * (y if dj else 1.0 - y)
                                    for dk in range(2):
                                        s += wy * (z if dk else 1.0 - z) * phi[i + di, j + dj, k + dk]
                            share = min(max(0.5 - 4.0 * s, 0.0), 1.0)
                            out[hx * i + a * hx // px, 2 * j + b // 2, 2 * k + c // 2] += share * part


WALLS = ("cut", "solid", "edge", "all", "none")


def cut_cells(weights: tuple[np.ndarray, ...]) -> np.ndarray:
    """Cells with a face that is not fully open. Walls that coincide with faces and the edge of the grid count too."""
    narrow = [w < 1.0 for w in weights]
    return np.logical_or.reduce([lower(m, axis) | upper(m, axis) for axis, m in enumerate(narrow)])


def wall_cells(walls, weights: tuple[np.ndarray, ...], centre: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    """Boolean array over the grid: the cells constrained by `walls`, a name or a mask.

    `centre` is the signed solid distance (or any value of that sign) at cell centres, which "solid" needs.
    """
    if isinstance(walls, str):
        if walls == "cut":
            return cut_cells(weights)
        if walls == "solid":
            assert centre is not None
            return centre < 0
        if walls == "all":
            return np.ones(shape, bool)
        if walls in ("none", "edge"):
            return np.zeros(shape, bool)
        hint = did_you_mean(walls, WALLS, most=1, cutoff=0.6)
        raise NonstickError(
            f"unknown walls {brief(walls)}{hint}; choose one of {', '.join(WALLS)} or pass a boolean array"
        )
    mask = np.asarray(walls)
    if mask.shape != tuple(shape) or not (mask.dtype == bool or np.isin(mask, (0, 1)).all()):
        raise NonstickError(
            f"walls must be a name or a boolean array of shape {tuple(shape)}, not {mask.dtype} of shape {mask.shape}"
        )
    return mask.astype(bool)


def connected_parts(mask: np.ndarray) -> tuple[np.ndarray, int]:
    """The number of the part of each cell, from 1 in the order of first cells and 0 outside, and the number of parts.

    Examples
    --------
    >>> connected_parts(np.array([[True, False, True], [True, False, False]]))
    (array([[1, 0, 2],
           [1, 0, 0]], dtype=int32), 2)
    """
    cells = lifted(np.ascontiguousarray(mask, bool))
    label = np.empty(cells.shape, np.int32)
    count = _label(label, np.empty(cells.size, np.int32), cells)
    return label.reshape(mask.shape), int(count)
