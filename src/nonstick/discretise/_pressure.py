"""Rows of the pressure equation, and the velocity update that belongs to them.

Grids have three axes; a 2D grid has one cell along the first and closed faces there. Arrays are a slab of
planes along the first axis: `phi` has one more plane on either side, face arrays start at the slab's first
plane. There is no coupling across the edge of the grid, so the values of `phi` beyond it are not used.
"""

import numpy as np
from numba import prange

from ..kernels import inline, parallel


@inline
def _face(here, there, w, scale, least):
    """The terms of an open face: (weight to the neighbour if it is liquid, diagonal)."""
    if w <= 0.0:
        return 0.0, 0.0
    if there < 0.0:
        return w * scale, w * scale
    return 0.0, w * scale / max(here / (here - there), least)


@inline
def _flux(w, u, s):
    """Flux of a partly open face whose closed part moves with the solid; closed parts never read u."""
    if w <= 0.0:
        return s
    if w >= 1.0:
        return u
    return w * u + (1.0 - w) * s


@parallel
def _pressure_rows(
    w0, w1, w2, d, b, cells, begin, first, shape, phi, fu, fv, fw, u, v, w, su, sv, sw, scale, dx, least
):
    """Fill the rows begin <= t < begin + cells.size (their cells are listed from the slab's plane `first` on).

    Solids at rest need no face arrays: su, sv, sw are then single zeros.
    """
    nx, ny, nz = shape
    moving = 1 if su.size > 1 else 0
    for q in prange(cells.size):
        t = begin + q
        cell = cells[q]
        k = cell % nz
        j = (cell // nz) % ny
        x = cell // (nz * ny)
        i = x - first
        here = phi[i + 1, j, k]
        total = 0.0
        weight = 0.0
        if x + 1 < nx:
            weight, more = _face(here, phi[i + 2, j, k], fu[i + 1, j, k], scale, least)
            total += more
        w0[t] = weight
        weight = 0.0
        if j + 1 < ny:
            weight, more = _face(here, phi[i + 1, j + 1, k], fv[i, j + 1, k], scale, least)
            total += more
        w1[t] = weight
        weight = 0.0
        if k + 1 < nz:
            weight, more = _face(here, phi[i + 1, j, k + 1], fw[i, j, k + 1], scale, least)
            total += more
        w2[t] = weight
        if x > 0:
            weight, more = _face(here, phi[i, j, k], fu[i, j, k], scale, least)
            total += more
        if j > 0:
            weight, more = _face(here, phi[i + 1, j - 1, k], fv[i, j, k], scale, least)
            total += more
        if k > 0:
            weight, more = _face(here, phi[i + 1, j, k - 1], fw[i, j, k], scale, least)
            total += more
        d[t] = total
        m, n, o = moving * i, moving * j, moving * k
        out = _flux(fu[i + 1, j, k], u[i + 1, j, k], su[m + moving, n, o]) - _flux(fu[i, j, k], u[i, j, k], su[m, n, o])
        out += _flux(fv[i, j + 1, k], v[i, j + 1, k], sv[m, n + moving, o]) - _flux(
            fv[i, j, k], v[i, j, k], sv[m, n, o]
        )
        out += _flux(fw[i, j, k + 1], w[i, j, k + 1], sw[m, n, o + moving]) - _flux(
            fw[i, j, k], w[i, j, k], sw[m, n, o]
        )
        b[t] = -out / dx


@inline
def _face_update(out, p, phi, f, s, factor, least, o, i, k):
    """One face of `_pressure_update`."""
    n = p.shape[1]
    left = i > 0 and phi[o, i - 1, k] < 0.0
    right = i < n and phi[o, i, k] < 0.0
    if not (left or right):
        return
    if f[o, i, k] <= 0.0:
        out[o, i, k] = 0.0 if s.size == 1 else s[o, i, k]
    elif 0 < i < n:
        if left and right:
            step = p[o, i, k] - p[o, i - 1, k]
        elif left:
            a, b = phi[o, i - 1, k], phi[o, i, k]
            step = -p[o, i - 1, k] / max(a / (a - b), least)
        else:
            a, b = phi[o, i, k], phi[o, i - 1, k]
            step = p[o, i, k] / max(a / (a - b), least)
        out[o, i, k] -= factor * step


@parallel
def _pressure_update(out, p, phi, f, s, factor, least):
    """Faces along the middle axis of (outer, n, inner) views: out -= factor * (ghost-fluid gradient of p).

    `out` holds the velocity on entry. Closed faces that touch liquid take the solid velocity s; faces that do not touch
    liquid, and open faces on the edge of the grid, are not changed. Solids at rest: s is a single zero.
    """
    outer, n, inner = p.shape
    if inner == 1:  # the last axis: a loop of its own over the faces in a row takes half of the time
        for turn in prange(outer):
            for i in range(n + 1):
                _face_update(out, p, phi, f, s, factor, least, np.int64(turn), i, 0)
    elif outer > 1:
        for turn in prange(outer):
            o = np.int64(turn)
            for i in range(n + 1):
                for k in range(inner):
                    _face_update(out, p, phi, f, s, factor, least, o, i, k)
    else:
        for turn in prange(n + 1):
            for k in range(inner):
                _face_update(out, p, phi, f, s, factor, least, 0, np.int64(turn), k)
