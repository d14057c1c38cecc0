"""Liquid volume and first moments of cells, and the hat masses of faces, from a level set at cell centres.

The hat mass of a face is the integral over the liquid of a function that falls linearly from 1 on the face to 0 on the
opposite faces of its two cells (the lowest Raviart–Thomas element). With ξ from 0 to 1 along the axis of the face,

    m_f = ∫_L ξ + ∫_R (1 − ξ)        L, R: the cells on the low and the high side of the face

The moments are exact for the surface of `_volumes`: the same octants, each of six tetrahedra with a linear level set.
Box fractions of half cells do not do in their place: liquid at rest under a tilted surface would move.
Layouts are those of `_volumes`: `phi` and `state` are padded by two layers, outputs by one.
"""

import numpy as np

from ..grid.box import IndexBox
from ..grid.faces import FaceField
from ..kernels import merged, parallel, prange, serial
from ._volumes import TRACE, _cell_states, with_surroundings


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
    """(volume, x, y, z) of an octant (`_volumes._octant`) of volume 1; coordinates from the cell's centre outwards."""
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
