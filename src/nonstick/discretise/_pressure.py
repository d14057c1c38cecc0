"""Rows of the pressure equation, and the velocity update that belongs to them.

Grids have three axes; a 2D grid has one cell along the first and closed faces there. There is no coupling across the
edge of the grid.
"""

from dataclasses import dataclass

import numpy as np

from ..kernels import merged, parallel, prange


@dataclass(frozen=True)
class LiquidSettings:
    """Which liquid the pressure acts on, where masses are given, and in a Stokes step."""

    #: least liquid of a cell with a pressure, as a share of its volume (in a Stokes step with 1e-2, still water under a
    #: tilted surface moves with 2e-3 g dt, with 1e-3: 4e-5 g dt)
    trace: float = 1e-3
    #: least mass of an open face: lighter ones carry no particle
    lightest: float = 1e-4


SETTINGS = LiquidSettings()
TRACE, LIGHTEST = SETTINGS.trace, SETTINGS.lightest


@merged
def _face(here, there, w, scale, least):
    """The terms of an open face: (weight to the neighbour if it is liquid, diagonal)."""
    if w <= 0.0:
        return 0.0, 0.0
    if there < 0.0:
        return w * scale, w * scale
    return 0.0, w * scale / max(here / (here - there), least)


@merged
def _flux(w, u, s):
    """Flux of a partly open face whose closed part moves with the solid; closed parts never read u."""
    if w <= 0.0:
        return s
    if w >= 1.0:
        return u
    return w * u + (1.0 - w) * s


@merged
def _outflow(f, u, s, i, j, k, a, b, c):
    """Flux out of a cell through its two faces along the axis (a, b, c); s is a single zero for solids at rest."""
    moving = 1 if s.size > 1 else 0
    m, n, o = moving * i, moving * j, moving * k
    e, g, h = m + moving * a, n + moving * b, o + moving * c
    return _flux(f[i + a, j + b, k + c], u[i + a, j + b, k + c], s[e, g, h]) - _flux(f[i, j, k], u[i, j, k], s[m, n, o])


@parallel
def _pressure_rows(weights, d, b, cells, phi, shares, velocity, solid, scale, dx, least):
    """The rows of the unknowns, which lie in `cells`.

    `weights`, the open `shares` and the two velocities have one array for each axis. Solids at rest need no face
    arrays: those of `solid` are then single zeros.
    """
    nx, ny, nz = phi.shape
    w0, w1, w2 = weights
    fu, fv, fw = shares
    u, v, w = velocity
    su, sv, sw = solid
    for turn in prange(cells.size):
        t = np.int64(turn)
        cell = cells[t]
        k = cell % nz
        j = (cell // nz) % ny
        i = cell // (nz * ny)
        here = phi[i, j, k]
        total = 0.0
        weight = 0.0
        if i + 1 < nx:
            weight, more = _face(here, phi[i + 1, j, k], fu[i + 1, j, k], scale, least)
            total += more
        w0[t] = weight
        weight = 0.0
        if j + 1 < ny:
            weight, more = _face(here, phi[i, j + 1, k], fv[i, j + 1, k], scale, least)
            total += more
        w1[t] = weight
        weight = 0.0
        if k + 1 < nz:
            weight, more = _face(here, phi[i, j, k + 1], fw[i, j, k + 1], scale, least)
            total += more
        w2[t] = weight
        if i > 0:
            weight, more = _face(here, phi[i - 1, j, k], fu[i, j, k], scale, least)
            total += more
        if j > 0:
            weight, more = _face(here, phi[i, j - 1, k], fv[i, j, k], scale, least)
            total += more
        if k > 0:
            weight, more = _face(here, phi[i, j, k - 1], fw[i, j, k], scale, least)
            total += more
        d[t] = total
        out = _outflow(fu, u, su, i, j, k, 1, 0, 0)
        out += _outflow(fv, v, sv, i, j, k, 0, 1, 0)
        out += _outflow(fw, w, sw, i, j, k, 0, 0, 1)
        b[t] = -out / dx


@merged
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


# -- liquid whose mass on faces is given ------------------------------------------------------------------------


@merged
def _has_air_beside(fraction, fu, fv, fw, i, j, k):
    """Whether a cell has an open face to a cell without liquid."""
    nx, ny, nz = fraction.shape
    air = i > 0 and fu[i, j, k] > 0.0 and fraction[i - 1, j, k] <= TRACE
    air = air or (i + 1 < nx and fu[i + 1, j, k] > 0.0 and fraction[i + 1, j, k] <= TRACE)
    air = air or (j > 0 and fv[i, j, k] > 0.0 and fraction[i, j - 1, k] <= TRACE)
    air = air or (j + 1 < ny and fv[i, j + 1, k] > 0.0 and fraction[i, j + 1, k] <= TRACE)
    air = air or (k > 0 and fw[i, j, k] > 0.0 and fraction[i, j, k - 1] <= TRACE)
    return air or (k + 1 < nz and fw[i, j, k + 1] > 0.0 and fraction[i, j, k + 1] <= TRACE)


@merged
def _gives_air(fraction, phi, fu, fv, fw, i, j, k):
    """Whether the air of a cell, with its centre in air, may leave it to a cell without liquid."""
    return phi[i, j, k] >= 0.0 and _has_air_beside(fraction, fu, fv, fw, i, j, k)


@parallel
def _cells_with_liquid(out, fraction, phi, fu, fv, fw):
    """1 in cells whose liquid keeps its volume: those with an open face and more than a trace of liquid.

    A cell whose centre is in air may fill up: its air leaves through an open face to a cell without liquid, or through
    a cell beside it that has one, as under a wall that leans over the surface. A cell without such a way is constrained
    only if its centre is liquid: otherwise liquid would stop short of a ceiling, by the air below it.
    """
    nx, ny, nz = out.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = 0
                if fraction[i, j, k] <= TRACE:
                    continue
                a, b = fu[i, j, k] > 0.0, fu[i + 1, j, k] > 0.0
                c, d = fv[i, j, k] > 0.0, fv[i, j + 1, k] > 0.0
                e, f = fw[i, j, k] > 0.0, fw[i, j, k + 1] > 0.0
                if not (a or b or c or d or e or f):
                    continue
                if phi[i, j, k] < 0.0:
                    out[i, j, k] = 1
                    continue
                air = _has_air_beside(fraction, fu, fv, fw, i, j, k)
                air = air or (a and i > 0 and _gives_air(fraction, phi, fu, fv, fw, i - 1, j, k))
                air = air or (b and i + 1 < nx and _gives_air(fraction, phi, fu, fv, fw, i + 1, j, k))
                air = air or (c and j > 0 and _gives_air(fraction, phi, fu, fv, fw, i, j - 1, k))
                air = air or (d and j + 1 < ny and _gives_air(fraction, phi, fu, fv, fw, i, j + 1, k))
                air = air or (e and k > 0 and _gives_air(fraction, phi, fu, fv, fw, i, j, k - 1))
                air = air or (f and k + 1 < nz and _gives_air(fraction, phi, fu, fv, fw, i, j, k + 1))
                out[i, j, k] = air


@merged
def _lightness(w, mass):
    """Open share over mass: how much faster than inside the liquid a pressure accelerates a face."""
    return w / max(mass, LIGHTEST * w) if w > 0.0 else 0.0


@parallel
def _mass_rows(weights, d, b, cells, liquid, shares, mass, velocity, solid, scale, dx):
    """The rows of B M⁻¹ Bᵀ: a face couples its cells by w²/m; -b is the divergence of the velocity.

    `liquid` is the mask of `_cells_with_liquid`, and `cells` its entries. The other arrays are those of
    `_pressure_rows`.
    """
    nx, ny, nz = liquid.shape
    w0, w1, w2 = weights
    fu, fv, fw = shares
    mu, mv, mw = mass
    u, v, w = velocity
    su, sv, sw = solid
    for turn in prange(cells.size):
        t = np.int64(turn)
        cell = cells[t]
        k = cell % nz
        j = (cell // nz) % ny
        i = cell // (nz * ny)
        a, c = fu[i, j, k], fu[i + 1, j, k]
        low = a * _lightness(a, mu[i, j, k]) if i > 0 else 0.0
        high = c * _lightness(c, mu[i + 1, j, k]) if i + 1 < nx else 0.0
        total = low + high
        w0[t] = scale * high if i + 1 < nx and liquid[i + 1, j, k] else 0.0
        a, c = fv[i, j, k], fv[i, j + 1, k]
        low = a * _lightness(a, mv[i, j, k]) if j > 0 else 0.0
        high = c * _lightness(c, mv[i, j + 1, k]) if j + 1 < ny else 0.0
        total += low + high
        w1[t] = scale * high if j + 1 < ny and liquid[i, j + 1, k] else 0.0
        a, c = fw[i, j, k], fw[i, j, k + 1]
        low = a * _lightness(a, mw[i, j, k]) if k > 0 else 0.0
        high = c * _lightness(c, mw[i, j, k + 1]) if k + 1 < nz else 0.0
        total += low + high
        w2[t] = scale * high if k + 1 < nz and liquid[i, j, k + 1] else 0.0
        d[t] = scale * total
        out = _outflow(fu, u, su, i, j, k, 1, 0, 0)
        out += _outflow(fv, v, sv, i, j, k, 0, 1, 0)
        out += _outflow(fw, w, sw, i, j, k, 0, 0, 1)
        b[t] = -out / dx


@parallel
def _mass_update(out, p, liquid, f, mass, s, factor, axis):
    """Faces of one axis: out -= factor · w/m · (p_high - p_low); `out` holds the velocity on entry.

    p is 0 outside `liquid`. Closed faces that touch it take the solid velocity s (a single zero for solids at rest);
    faces that do not touch it, and open faces on the edge of the grid, are not changed.
    """
    nx, ny, nz = out.shape
    cx, cy, cz = liquid.shape
    for turn in prange(nx * ny):
        row = np.int64(turn)
        i, j = row // ny, row % ny
        for k in range(nz):
            a, b, c = i - (axis == 0), j - (axis == 1), k - (axis == 2)
            below, above = a >= 0 and b >= 0 and c >= 0, i < cx and j < cy and k < cz
            left = below and liquid[a, b, c] != 0
            right = above and liquid[i, j, k] != 0
            if not (left or right):
                continue
            w = f[i, j, k]
            if w <= 0.0:
                out[i, j, k] = 0.0 if s.size == 1 else s[i, j, k]
            elif below and above:
                step = (p[i, j, k] if right else 0.0) - (p[a, b, c] if left else 0.0)
                out[i, j, k] -= factor * _lightness(w, mass[i, j, k]) * step
