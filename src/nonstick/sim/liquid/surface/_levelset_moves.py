"""A level set moved on the grid: semi-Lagrangian advection, reinitialisation, and the same for velocities.

Lengths are in cells; a 2D grid has one cell along the first axis. Semi-Lagrangian steps trace back by
Ralston's third-order rule and interpolate linearly (Stam 1999; Chentanez–Müller track 2D surfaces this way).
"""

import numpy as np

from ....grid._levelset import _eikonal
from ....kernels import merged, parallel, prange, serial
from ....kernels._interpolate import _sample, _stride, _velocity


@merged
def _trace(u, v, w, nx, ny, nz, rate, a, b, c):
    """The position one step earlier of the liquid at (a, b, c)."""
    k10, k11, k12 = _velocity(u, v, w, nx, ny, nz, a, b, c)
    h = 0.5 * rate
    k20, k21, k22 = _velocity(u, v, w, nx, ny, nz, a - h * k10, b - h * k11, c - h * k12)
    h = 0.75 * rate
    k30, k31, k32 = _velocity(u, v, w, nx, ny, nz, a - h * k20, b - h * k21, c - h * k22)
    h = rate / 9.0
    return (
        a - h * (2.0 * k10 + 3.0 * k20 + 4.0 * k30),
        b - h * (2.0 * k11 + 3.0 * k21 + 4.0 * k31),
        c - h * (2.0 * k12 + 3.0 * k22 + 4.0 * k32),
    )


@serial
def _cubic(f, a, b, c):
    """Catmull–Rom value of a cell array at node coordinates, limited to the values of the eight neighbours."""
    nx, ny, nz = f.shape
    a, b, c = min(max(a, 0.0), nx - 1.0), min(max(b, 0.0), ny - 1.0), min(max(c, 0.0), nz - 1.0)
    i, j, k = min(int(a), max(nx - 2, 0)), min(int(b), max(ny - 2, 0)), min(int(c), max(nz - 2, 0))
    low, high = 1e30, -1e30
    for p in range(i, min(i + 2, nx)):
        for q in range(j, min(j + 2, ny)):
            for r in range(k, min(k + 2, nz)):
                low = min(low, f[p, q, r])
                high = max(high, f[p, q, r])
    if low == high:  # as in most cells, which are far from the surface
        return low
    x0, x1, x2, x3 = _weights(a - i)
    y0, y1, y2, y3 = _weights(b - j)
    z0, z1, z2, z3 = _weights(c - k)
    k0, k1, k2, k3 = max(k - 1, 0), k, min(k + 1, nz - 1), min(k + 2, nz - 1)
    total = 0.0
    for di in range(-1, 3):
        wi = x0 if di < 0 else x1 if di == 0 else x2 if di == 1 else x3
        if nx == 1:
            wi = 1.0 if di == 0 else 0.0
        if wi == 0.0:
            continue
        p = min(max(i + di, 0), nx - 1)
        for dj in range(-1, 3):
            w = wi * (y0 if dj < 0 else y1 if dj == 0 else y2 if dj == 1 else y3)
            q = min(max(j + dj, 0), ny - 1)
            total += w * z0 * f[p, q, k0]
            total += w * z1 * f[p, q, k1]
            total += w * z2 * f[p, q, k2]
            total += w * z3 * f[p, q, k3]
    return min(max(total, low), high)


@merged
def _weights(x):
    """Catmull–Rom weights of four nodes; x is the distance from the second."""
    return (
        0.5 * (-x + 2.0 * x * x - x * x * x),
        0.5 * (2.0 - 5.0 * x * x + 3.0 * x * x * x),
        0.5 * (x + 4.0 * x * x - 3.0 * x * x * x),
        0.5 * (-x * x + x * x * x),
    )


@parallel
def _advect_level(out, phi, u, v, w, first, rate, near, released):
    """φ carried along with the liquid; cells with |φ| > near keep their value.

    Beyond a side of the grid φ is constant, or, if the cell there has separated (`released`), it rises to ½ over the
    next cell: the side is then a free surface.
    """
    nx, ny, nz = phi.shape
    fu, fv, fw = u.reshape(-1), v.reshape(-1), w.reshape(-1)
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                if abs(phi[i, j, k]) > near:
                    out[i, j, k] = phi[i, j, k]
                    continue
                a, b, c = _trace(fu, fv, fw, nx, ny, nz, rate, i + 0.5, j + 0.5, k + 0.5)
                value = _cubic(phi, a - 0.5, b - 0.5, c - 0.5)
                over = max(max(0.5 - b, b - ny + 0.5), max(0.5 - c, c - nz + 0.5))
                if first == 0:
                    over = max(over, max(0.5 - a, a - nx + 0.5))
                if over > 0.0:
                    p = min(max(int(a), 0), nx - 1)
                    q = min(max(int(b), 0), ny - 1)
                    r = min(max(int(c), 0), nz - 1)
                    if released[p, q, r] == 1:
                        over = min(over, 1.0)
                        value = (1.0 - over) * max(value, -0.5) + 0.5 * over
                out[i, j, k] = value


@parallel
def _move_level(out, phi, u, v, w, rate, far):
    """φ moved with liquid that goes along straight lines for a step.

    What comes to y has left x with y = x + rate · u(x); two turns of x = y - rate · u(x) find it to second order.
    Where |φ| is at least `far`, no surface comes near in a step, and φ stays.
    """
    nx, ny, nz = phi.shape
    fu, fv, fw = u.reshape(-1), v.reshape(-1), w.reshape(-1)
    step = _stride(nx)
    for turn in prange(nx):
        i = np.int64(turn) * step % nx
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = phi[i, j, k]
                if abs(phi[i, j, k]) >= far:
                    continue
                u0 = 0.5 * (u[i, j, k] + u[i + 1, j, k]) if nx > 1 else 0.0
                u1, u2 = 0.5 * (v[i, j, k] + v[i, j + 1, k]), 0.5 * (w[i, j, k] + w[i, j, k + 1])
                if u0 == 0.0 and u1 == 0.0 and u2 == 0.0:
                    continue
                a, b, c = i + 0.5, j + 0.5, k + 0.5
                u0, u1, u2 = _velocity(fu, fv, fw, nx, ny, nz, a - rate * u0, b - rate * u1, c - rate * u2)
                out[i, j, k] = _cubic(phi, a - rate * u0 - 0.5, b - rate * u1 - 0.5, c - rate * u2 - 0.5)


@parallel
def _advect_faces(out, f, u, v, w, axis, first, rate):
    """One velocity component carried along with the liquid."""
    nx, ny, nz = f.shape
    cx, cy, cz = v.shape[0], w.shape[1], v.shape[2]
    fu, fv, fw = u.reshape(-1), v.reshape(-1), w.reshape(-1)
    s0 = 0.0 if axis == 0 else 0.5
    s1 = 0.0 if axis == 1 else 0.5
    s2 = 0.0 if axis == 2 else 0.5
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                a, b, c = _trace(fu, fv, fw, cx, cy, cz, rate, i + s0, j + s1, k + s2)
                out[i, j, k] = _sample(f, a - s0, b - s1, c - s2)


@serial
def _start_distance(out, fixed, phi, far, released):
    """Distances of the cells next to the surface, from where it crosses the grid lines; ±far elsewhere.

    At a side of the grid from which liquid has separated (`released`), the surface may lie between the last cell and
    the side, where there is no crossing: φ continues with slope one there.
    """
    nx, ny, nz = phi.shape
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                p = phi[i, j, k]
                inverse = 0.0
                for axis in range(3):
                    best = 1e30
                    for side in (-1, 1):
                        a = i + (side if axis == 0 else 0)
                        b = j + (side if axis == 1 else 0)
                        c = k + (side if axis == 2 else 0)
                        if a < 0 or b < 0 or c < 0 or a >= nx or b >= ny or c >= nz:
                            if released[i, j, k] == 1 and p < 0.0 and p > -0.5 and (axis > 0 or nx > 1):
                                best = min(best, -p)
                            continue
                        q = phi[a, b, c]
                        if (p < 0.0) != (q < 0.0):
                            best = min(best, p / (p - q))
                    if best < 1e29:
                        inverse += 1.0 / (best * best + 1e-12)
                fixed[i, j, k] = 1 if inverse > 0.0 else 0
                size = 1.0 / np.sqrt(inverse) if inverse > 0.0 else far
                out[i, j, k] = -size if p < 0.0 else size


@serial
def _sweep_distance(phi, fixed, rounds):
    """Fast sweeping (Zhao 2005) for |∇φ| = 1 away from the fixed cells; keeps the sign."""
    nx, ny, nz = phi.shape
    for _ in range(rounds):
        for code in range(8):
            i0, i1, si = (0, nx, 1) if code & 1 == 0 else (nx - 1, -1, -1)
            j0, j1, sj = (0, ny, 1) if code & 2 == 0 else (ny - 1, -1, -1)
            k0, k1, sk = (0, nz, 1) if code & 4 == 0 else (nz - 1, -1, -1)
            if nx == 1 and code & 1:
                continue
            for i in range(i0, i1, si):
                for j in range(j0, j1, sj):
                    for k in range(k0, k1, sk):
                        if fixed[i, j, k] == 1:
                            continue
                        x = min(abs(phi[max(i - 1, 0), j, k]), abs(phi[min(i + 1, nx - 1), j, k]))
                        if nx == 1:
                            x = 1e30
                        y = min(abs(phi[i, max(j - 1, 0), k]), abs(phi[i, min(j + 1, ny - 1), k]))
                        z = min(abs(phi[i, j, max(k - 1, 0)]), abs(phi[i, j, min(k + 1, nz - 1)]))
                        d = _eikonal(x, y, z)
                        if d < abs(phi[i, j, k]):
                            phi[i, j, k] = -d if phi[i, j, k] < 0.0 else d
