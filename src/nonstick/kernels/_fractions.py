"""How much of a face is open, from the solid distance at its nodes (Batty, Bertails, Bridson 2007).

A face all of whose nodes lie in or on the solid is closed, so a wall that coincides with grid faces closes
them; otherwise a node is solid where phi < 0. Values within `eps` of zero count as zero, so that rounding
does not decide on which side of an aligned wall a node falls.
"""

from numba import prange

from . import inline, parallel, serial


@inline
def _solid_part(a, b):
    """The part of a segment with phi < 0, linear between its ends."""
    if a < 0.0:
        return 1.0 if b < 0.0 else a / (a - b)
    return b / (b - a) if b < 0.0 else 0.0


@inline
def _snap(a, eps):
    return 0.0 if abs(a) <= eps else a


@inline
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
    # a and c, across the square: the sign in the middle decides whether the solid or the gap is connected
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
    nx, ny, nz = phi.shape[0] - 1, phi.shape[1] - 1, phi.shape[2] - 1
    for i in prange(nx + 1):
        for j in range(ny + 1):
            for k in range(nz + 1):
                p = _snap(phi[i, j, k], eps)
                if j < ny and k < nz:
                    wu[i, j, k] = _open_square(
                        p,
                        _snap(phi[i, j + 1, k], eps),
                        _snap(phi[i, j + 1, k + 1], eps),
                        _snap(phi[i, j, k + 1], eps),
                    )
                if i < nx and k < nz:
                    wv[i, j, k] = _open_square(
                        p,
                        _snap(phi[i + 1, j, k], eps),
                        _snap(phi[i + 1, j, k + 1], eps),
                        _snap(phi[i, j, k + 1], eps),
                    )
                if i < nx and j < ny:
                    ww[i, j, k] = _open_square(
                        p,
                        _snap(phi[i + 1, j, k], eps),
                        _snap(phi[i + 1, j + 1, k], eps),
                        _snap(phi[i, j + 1, k], eps),
                    )
