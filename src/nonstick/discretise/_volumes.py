"""Liquid fraction of the cubes around cells, faces and edges, from a level set at cell centres.

Every cube is made of eight octants: cubes of half the width with one corner at a cell centre and the opposite corner at
a cell corner. φ is trilinear between cell centres; inside an octant it is linear on each of six tetrahedra, whose
negative part has a closed form. All control volumes are sums of the same octants, so cells, faces and edges have the
same total volume of liquid.

`phi` is padded by two layers on each side: cell (i, j, k) is phi[i + 2, j + 2, k + 2]. `state` (same shape) is
1 where a cell and its 26 neighbours are liquid, 0 where none is, 2 elsewhere. Outputs are padded by one.
"""

import numpy as np

from ..grid.box import IndexBox
from ..kernels import parallel, prange, serial

#: a smaller fraction is a rounding error (a surface through grid points), not liquid
TRACE = 1e-10


@serial
def _tetrahedron(a, b, c, d):
    """Fraction of a tetrahedron where the linear function with these corner values is negative."""
    if a > b:
        a, b = b, a
    if c > d:
        c, d = d, c
    if a > c:
        a, c = c, a
    if b > d:
        b, d = d, b
    if b > c:
        b, c = c, b
    if d < 0.0:
        return 1.0
    if a >= 0.0:
        return 0.0
    # products of quotients: products of three tiny or huge values could be zero or infinite
    if b >= 0.0:
        return (a / (a - b)) * (a / (a - c)) * (a / (a - d))
    if c < 0.0:
        return 1.0 - (d / (d - a)) * (d / (d - b)) * (d / (d - c))
    # two corners negative: a prism, cut into three tetrahedra
    ac, ad, bc, bd = a / (a - c), a / (a - d), b / (b - c), b / (b - d)
    return ac * ad + ad * bc * (1.0 - ac) + bc * bd * (1.0 - ad)


@serial
def _octant(phi, i, j, k, p, q, r):
    """Liquid fraction of the octant of cell (i, j, k) towards the cell's corner in direction (p, q, r) = ±1."""
    f000 = phi[i, j, k]
    f100 = phi[i + p, j, k]
    f010 = phi[i, j + q, k]
    f001 = phi[i, j, k + r]
    f110 = phi[i + p, j + q, k]
    f101 = phi[i + p, j, k + r]
    f011 = phi[i, j + q, k + r]
    f111 = phi[i + p, j + q, k + r]
    # the level set at the octant's corners: halfway to the neighbours
    c000 = f000
    c100 = 0.5 * (f000 + f100)
    c010 = 0.5 * (f000 + f010)
    c001 = 0.5 * (f000 + f001)
    c110 = 0.25 * (f000 + f100 + f010 + f110)
    c101 = 0.25 * (f000 + f100 + f001 + f101)
    c011 = 0.25 * (f000 + f010 + f001 + f011)
    c111 = 0.125 * (f000 + f100 + f010 + f001 + f110 + f101 + f011 + f111)
    return (
        _tetrahedron(c000, c100, c110, c111)
        + _tetrahedron(c000, c100, c101, c111)
        + _tetrahedron(c000, c010, c110, c111)
        + _tetrahedron(c000, c010, c011, c111)
        + _tetrahedron(c000, c001, c101, c111)
        + _tetrahedron(c000, c001, c011, c111)
    ) / 6.0


@parallel
def _cell_states(state, phi):
    for i in prange(1, phi.shape[0] - 1):
        for j in range(1, phi.shape[1] - 1):
            for k in range(1, phi.shape[2] - 1):
                wet = 0
                for p in range(-1, 2):
                    for q in range(-1, 2):
                        for r in range(-1, 2):
                            wet += phi[i + p, j + q, k + r] < 0.0
                state[i, j, k] = 1 if wet == 27 else (0 if wet == 0 else 2)


@parallel
def _control_volumes(out, phi, state, cells, s0, s1, s2, factor):
    """out = factor times the liquid fraction of the cube around a sample; padded index (i, j, k) is cell (i - 1, ...).

    s = 1 along an axis if the sample sits between cells i - 1 and i there (a face's own axis, an edge's two
    other axes), 0 if it sits at the cell's middle. `cells` is the extent of the grid in cells.
    """
    for i in prange(1, cells[0] + 1 + s0):
        for j in range(1, cells[1] + 1 + s1):
            for k in range(1, cells[2] + 1 + s2):
                total = 0.0
                for p in range(2):
                    for q in range(2):
                        for r in range(2):
                            # between cells: the near half of each cell; at the middle: both halves of one cell
                            ci = i + 1 - (s0 if p == 0 else 0)
                            cj = j + 1 - (s1 if q == 0 else 0)
                            ck = k + 1 - (s2 if r == 0 else 0)
                            kind = state[ci, cj, ck]
                            if kind == 2:
                                di = (1 - 2 * p) if s0 == 1 else (2 * p - 1)
                                dj = (1 - 2 * q) if s1 == 1 else (2 * q - 1)
                                dk = (1 - 2 * r) if s2 == 1 else (2 * r - 1)
                                total += _octant(phi, ci, cj, ck, di, dj, dk)
                            else:
                                total += kind
                total *= 0.125
                if total < TRACE:
                    total = 0.0
                elif total > 1.0 - TRACE:
                    total = 1.0
                if total > 0.0:  # air is not written, so its memory is never allocated
                    out[i, j, k] = factor * total


def control_volumes(
    phi: np.ndarray, samples: list[tuple[int, int, int]], factors: list[float], outs: list[np.ndarray]
) -> None:
    """Fill `outs[n]` (zeros, padded by one) with `factors[n]` times the liquid fractions of samples `samples[n]`.

    `phi` has two layers of cells more than the box on all sides (`with_surroundings`).
    """
    state = np.full(phi.shape, 2, np.int8)
    _cell_states(state, phi)
    cells = np.array([n - 4 for n in phi.shape], np.int64)
    for shift, factor, out in zip(samples, factors, outs):
        _control_volumes(out, phi, state, cells, *shift, factor)


def with_surroundings(phi: np.ndarray, window: IndexBox) -> np.ndarray:
    """φ in a box of cells and two layers of cells around it; beyond the grid it goes on linearly. Always three axes."""
    wide = window.grown(2, phi.shape)
    part, first = phi[wide.slices], 3 - phi.ndim
    part = part.reshape((1,) * first + part.shape)
    missing = [(2, 2)] * first
    missing += [(2 - (window.low[k] - wide.low[k]), 2 - (wide.high[k] - window.high[k])) for k in range(phi.ndim)]
    out = np.empty([n + before + after for n, (before, after) in zip(part.shape, missing)], part.dtype)
    inside = [slice(before, before + n) for n, (before, _) in zip(part.shape, missing)]
    out[tuple(inside)] = part
    for axis, known in enumerate(inside):
        rest = out[tuple([slice(None)] * (axis + 1) + inside[axis + 1 :])]
        _extend(np.moveaxis(rest, axis, 0), known.start, known.stop)
    return out


def _extend(phi: np.ndarray, low: int, high: int) -> None:
    """Fill the layers before `low` and from `high` on by linear extrapolation of those between."""
    inner = int(high - low > 1)
    for k in range(low - 1, -1, -1):
        phi[k] = 2 * phi[k + 1] - phi[k + 1 + inner]
    for k in range(high, len(phi)):
        phi[k] = 2 * phi[k - 1] - phi[k - 1 - inner]
