"""Liquid fractions of cubes, first moments of cells, and hat masses of faces, from a level set at cell centres.

The hat mass of a face is the integral over the liquid of a function that falls linearly from 1 on the face to 0 on the
opposite faces of its two cells (the lowest Raviart–Thomas element). With ξ from 0 to 1 along the axis of the face,

    m_f = ∫_L ξ + ∫_R (1 − ξ)        L, R: the cells on the low and the high side of the face

The moments are exact for the surface of the fractions: the same octants, each of six tetrahedra with a linear level
set. Box fractions of half cells do not do in their place: liquid at rest under a tilted surface would move.

Fractions are those of the cubes around cells, faces and edges. Every cube is made of eight octants: cubes of half the
width with one corner at a cell centre and the opposite corner at a cell corner. φ is trilinear between cell centres;
inside an octant it is linear on each of six tetrahedra, whose negative part has a closed form. All control volumes are
sums of the same octants, so cells, faces and edges have the same total volume of liquid.

`phi` is padded by two layers on each side: cell (i, j, k) is phi[i + 2, j + 2, k + 2]. `state` (same shape) is
1 where a cell and its 26 neighbours are liquid, 0 where none is, 2 elsewhere. Outputs are padded by one.
"""

import numpy as np

from ..core import rounding
from ..grid.box import IndexBox
from ..grid.faces import FaceField
from ..kernels import merged, parallel, prange, serial

#: a smaller fraction is a rounding error (a surface through grid points), not liquid
TRACE = rounding.PIVOT


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


@serial
def _tetrahedron_moments(a, b, c, d, second, third):
    """(volume, x, y, z): integrals of 1, x, y and z over the negative part, for a tetrahedron of volume 1.

    Corners are bit masks of coordinates 0 or 1 (x is bit 0): 0, `second`, `third` and 7; a, b, c, d their values.
    """
    i, j, k, l = 0, second, third, 7
    if min(a, b, c, d) >= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    if a > b:
        a, b, i, j = b, a, j, i
    if c > d:
        c, d, k, l = d, c, l, k
    if a > c:
        a, c, i, k = c, a, k, i
    if b > d:
        b, d, j, l = d, b, l, j
    if b > c:
        b, c, j, k = c, b, k, j
    # integrals of the barycentric coordinates of the corners i, j, k, l
    if d < 0.0:
        volume = 1.0
        s = t = u = v = 0.25
    elif b >= 0.0:  # the corner at a
        ab, ac, ad = a / (a - b), a / (a - c), a / (a - d)
        volume = ab * ac * ad
        t, u, v = 0.25 * volume * ab, 0.25 * volume * ac, 0.25 * volume * ad
        s = volume - t - u - v
    elif c < 0.0:  # everything but the corner at d
        da, db, dc = d / (d - a), d / (d - b), d / (d - c)
        rest = da * db * dc
        s, t, u = 0.25 - 0.25 * rest * da, 0.25 - 0.25 * rest * db, 0.25 - 0.25 * rest * dc
        volume = 1.0 - rest
        v = volume - s - t - u
    else:  # a prism of three tetrahedra: (a, b, ac, ad), (b, ac, ad, bc), (b, ad, bc, bd)
        ac, ad, bc, bd = a / (a - c), a / (a - d), b / (b - c), b / (b - d)
        one, two, three = ac * ad, ad * bc * (1.0 - ac), bc * bd * (1.0 - ad)
        volume = one + two + three
        u = 0.25 * (one * ac + two * (ac + bc) + three * bc)
        v = 0.25 * (one * ad + two * ad + three * (ad + bd))
        s = 0.25 * (one * (3.0 - ac - ad) + two * (2.0 - ac - ad) + three * (1.0 - ad))
        t = volume - s - u - v
    x = s * (i & 1) + t * (j & 1) + u * (k & 1) + v * (l & 1)
    y = s * (i >> 1 & 1) + t * (j >> 1 & 1) + u * (k >> 1 & 1) + v * (l >> 1 & 1)
    z = s * (i >> 2) + t * (j >> 2) + u * (k >> 2) + v * (l >> 2)
    return volume, x, y, z


@serial
def _octant_moments(phi, i, j, k, p, q, r):
    """(volume, x, y, z) of an octant (`_octant`) of volume 1; coordinates from the cell's centre outwards."""
    f000, f100, f010, f001 = phi[i, j, k], phi[i + p, j, k], phi[i, j + q, k], phi[i, j, k + r]
    f110, f101, f011 = phi[i + p, j + q, k], phi[i + p, j, k + r], phi[i, j + q, k + r]
    f111 = phi[i + p, j + q, k + r]
    if min(f000, f100, f010, f001, f110, f101, f011, f111) >= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    if max(f000, f100, f010, f001, f110, f101, f011, f111) < 0.0:
        return 1.0, 0.5, 0.5, 0.5
    c000 = f000
    c100 = 0.5 * (f000 + f100)
    c010 = 0.5 * (f000 + f010)
    c001 = 0.5 * (f000 + f001)
    c110 = 0.25 * (f000 + f100 + f010 + f110)
    c101 = 0.25 * (f000 + f100 + f001 + f101)
    c011 = 0.25 * (f000 + f010 + f001 + f011)
    c111 = 0.125 * (f000 + f100 + f010 + f001 + f110 + f101 + f011 + f111)
    volume = x = y = z = 0.0
    for path in range(6):  # along two edges of the octant, then to its far corner
        b, second = (c100, 1) if path < 2 else (c010, 2) if path < 4 else (c001, 4)
        if path == 0 or path == 2:
            c, third = c110, 3
        elif path == 1 or path == 4:
            c, third = c101, 5
        else:
            c, third = c011, 6
        part = _tetrahedron_moments(c000, b, c, c111, second, third)
        volume += part[0]
        x += part[1]
        y += part[2]
        z += part[3]
    return volume / 6.0, x / 6.0, y / 6.0, z / 6.0


@parallel
def _cell_moments(volume, moment, phi, state):
    """Liquid fraction of cells, and the integrals of ξ along each axis, 0 at the low side and 1 at the high side."""
    for i in prange(2, phi.shape[0] - 2):
        for j in range(2, phi.shape[1] - 2):
            for k in range(2, phi.shape[2] - 2):
                kind = state[i, j, k]
                if kind == 0:  # air is not written, so its memory is never allocated
                    continue
                total, x, y, z = 1.0, 0.5, 0.5, 0.5
                if kind == 2:
                    total = x = y = z = 0.0
                    for p in range(-1, 2, 2):
                        for q in range(-1, 2, 2):
                            for r in range(-1, 2, 2):
                                part, dx, dy, dz = _octant_moments(phi, i, j, k, p, q, r)
                                total += 0.125 * part
                                x += 0.0625 * (part + p * dx)
                                y += 0.0625 * (part + q * dy)
                                z += 0.0625 * (part + r * dz)
                    if total < TRACE:
                        continue
                    if total > 1.0 - TRACE:
                        total, x, y, z = 1.0, 0.5, 0.5, 0.5
                volume[i - 1, j - 1, k - 1] = total
                moment[0, i - 1, j - 1, k - 1] = x
                moment[1, i - 1, j - 1, k - 1] = y
                moment[2, i - 1, j - 1, k - 1] = z


@merged
def _hat(moment, volume, axis, i, j, k):
    """The moment of a cell becomes the hat mass of its low face; that of the cell before it must be there still."""
    own = volume[i, j, k] - moment[axis, i, j, k]
    if axis == 0 and i > 0:
        own += moment[0, i - 1, j, k]
    if axis == 1 and j > 0:
        own += moment[1, i, j - 1, k]
    if axis == 2 and k > 0:
        own += moment[2, i, j, k - 1]
    if own != 0.0 or moment[axis, i, j, k] != 0.0:  # air is not written here either
        moment[axis, i, j, k] = own


@parallel
def _hats(moment, volume):
    """Moments of cells become hat masses of faces, in place; face i lies between the cells i - 1 and i."""
    nx, ny, nz = volume.shape
    for row in prange(ny):
        for i in range(nx - 1, -1, -1):
            for k in range(nz):
                _hat(moment, volume, 0, i, row, k)
    for plane in prange(nx):
        for j in range(ny - 1, -1, -1):
            for k in range(nz - 1, -1, -1):
                _hat(moment, volume, 1, plane, j, k)
                _hat(moment, volume, 2, plane, j, k)


@parallel
def _leave_out_closed(state, fu, fv, fw):
    """Cells that the surface cuts count as air if all their faces are closed: what is in them does not matter."""
    for i in prange(2, state.shape[0] - 2):
        for j in range(2, state.shape[1] - 2):
            for k in range(2, state.shape[2] - 2):
                if state[i, j, k] == 2:
                    a, b, c = i - 2, j - 2, k - 2
                    most = max(fu[a, b, c], fu[a + 1, b, c]) if fu.size > 2 else 0.0  # in 2D it is a dummy
                    most = max(most, max(fv[a, b, c], fv[a, b + 1, c]))
                    if max(most, max(fw[a, b, c], fw[a, b, c + 1])) <= 0.0:
                        state[i, j, k] = 0


def hat_masses(
    phi: np.ndarray, padded: tuple[int, int, int], open_faces: FaceField | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Cell fractions (*padded) and hat masses of the faces of three axes (3, *padded).

    `phi` has two layers of cells more than the box on all sides (`with_surroundings`). Faces on the sides of the box
    have the half that lies inside. Where `open_faces` are given, cells without one have no moments.
    """
    state = np.full(phi.shape, 2, np.int8)
    _cell_states(state, phi)
    if open_faces is not None:
        _leave_out_closed(state, *open_faces)
    volume, moment = np.zeros(padded), np.zeros((3, *padded))
    _cell_moments(volume, moment, phi, state)
    _hats(moment, volume)
    return volume, moment


def hat_fields(phi: np.ndarray, open_faces: FaceField | None = None) -> tuple[np.ndarray, FaceField]:
    """Liquid fractions of cells and hat masses of faces, on three axes, for a level set over 2D or 3D cells.

    With the open shares of faces, cells that the surface cuts and that have no open face count as empty.
    """
    first = 3 - phi.ndim
    i, j, k = (1,) * first + phi.shape
    volume, mass = hat_masses(with_surroundings(phi, IndexBox.whole(phi.shape)), (i + 2, j + 2, k + 2), open_faces)
    inner = [slice(1, -1)] * 3
    faces = (mass[a][(*inner[:a], slice(1, None), *inner[a + 1 :])] for a in range(first, 3))
    return np.ascontiguousarray(volume[tuple(inner)]), FaceField(map(np.ascontiguousarray, faces), range(first, 3))


def liquid_centres(phi: np.ndarray) -> np.ndarray:
    """Centres of mass of the liquid in cells (3, *cells), between 0 and 1 along each axis; ½ where there is none."""
    three = (1,) * (3 - phi.ndim) + phi.shape
    around, padded = with_surroundings(phi, IndexBox.whole(phi.shape)), tuple(n + 2 for n in three)
    state, volume, moment = np.full(around.shape, 2, np.int8), np.zeros(padded), np.zeros((3, *padded))
    _cell_states(state, around)
    _cell_moments(volume, moment, around, state)
    inner = (slice(None), *[slice(1, -1)] * 3)
    return np.divide(moment, volume, out=np.full(moment.shape, 0.5), where=volume > 0.0)[inner]
