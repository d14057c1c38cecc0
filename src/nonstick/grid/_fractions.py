"""The open part of a face, from the solid distance at its nodes (Batty, Bertails, Bridson 2007).

A face is closed if all its nodes lie in or on the solid, so a wall that coincides with grid faces closes them;
otherwise a node is solid if phi < 0. Values within `eps` of zero count as zero, so that rounding does not decide on
which side of an aligned wall a node falls.
"""

from ..kernels import inline, parallel, prange, serial


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
