"""Matrices with bounds that `matrices.py` measures and the tests use: they need NumPy and SciPy, nothing else.

A problem is (A, b, lower, upper, whether the unknowns sit on a square grid in C order).
"""

import numpy as np
import scipy.sparse as sp


def chain(n):
    return sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))


def grid(n, weak=1.0):
    """Five points; the second axis is `weak`."""
    return sp.csr_array(sp.kron(chain(n), sp.eye_array(n)) + weak * sp.kron(sp.eye_array(n), chain(n)))


def bearing(n, width):
    """The journal bearing of MINPACK-2, eccentricity 0.5, on (0, 2π) × (0, width)."""
    hx, hy = 2 * np.pi / (n + 1), width / (n + 1)
    x = hx * np.arange(1, n + 1)
    film = [(1 + 0.5 * np.cos(x + s)) ** 3 for s in (-hx / 2, 0.0, hx / 2)]
    off = -film[2][:-1] * hy / hx
    along = sp.diags_array([off, (film[0] + film[2]) * hy / hx, off], offsets=[-1, 0, 1])
    A = sp.kron(along, sp.eye_array(n)) + sp.kron(sp.diags_array(film[1] * hx / hy), chain(n))
    return sp.csr_array(A), np.repeat(0.5 * np.sin(x) * hx * hy, n), 0.0, np.inf, True


def torsion(n):
    """An elastic-plastic bar: -u'' = c, |u| at most the distance to the boundary."""
    near = np.minimum(np.arange(1, n + 1), np.arange(n, 0, -1)) / (n + 1)
    distance = np.minimum.outer(near, near).ravel()
    return grid(n), np.full(n * n, 20.0 / n**2), -distance, distance, True


def waves(A, on_grid=False):
    """A load that pushes up and down, and x >= 0."""
    N = A.shape[0]
    n = round(N**0.5)
    i, j = np.divmod(np.arange(N), n)
    b = A.diagonal().mean() * 50 / n**2 * np.sin(2 * np.pi * i / n) * np.sin(3 * np.pi * j / n)
    return A, b, 0.0, np.inf, on_grid


def rotated(n, epsilon, angle):
    """Central differences of an anisotropy at an angle: nine points, positive couplings."""
    c, s = np.cos(angle), np.sin(angle)
    a, b, m = c * c + epsilon * s * s, s * s + epsilon * c * c, 0.5 * (1 - epsilon) * c * s
    A = sp.csr_array((n * n, n * n))
    for i, row in enumerate([[m, -a, -m], [-b, 2 * (a + b), -b], [-m, -a, m]]):
        for j, value in enumerate(row):
            A = A + value * sp.kron(sp.eye_array(n, k=i - 1), sp.eye_array(n, k=j - 1))
    return sp.csr_array(A)


def triangles(n, epsilon=1.0, angle=0.0):
    """Linear elements on a shaken grid: obtuse angles, and positive couplings with them."""
    from scipy.spatial import Delaunay

    t = np.linspace(0, 1, n + 2)
    P = np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1).reshape(-1, 2)
    inside = ((P > 0) & (P < 1)).all(axis=1)
    P[inside] += (np.random.default_rng(0).random((inside.sum(), 2)) - 0.5) * 0.7 / (n + 1)
    T = Delaunay(P).simplices
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, -s], [s, c]])
    k = R @ np.diag([1.0, epsilon]) @ R.T
    p = P[T]
    edge = np.stack([p[:, 2] - p[:, 1], p[:, 0] - p[:, 2], p[:, 1] - p[:, 0]], axis=1)
    area = 0.5 * np.abs(edge[:, 0, 0] * edge[:, 1, 1] - edge[:, 0, 1] * edge[:, 1, 0])
    good = area > 1e-12
    normal = np.stack([-edge[..., 1], edge[..., 0]], axis=-1)[good]
    local = np.einsum("tia,ab,tjb->tij", normal, k, normal) / (4 * area[good])[:, None, None]
    rows, columns = np.repeat(T[good], 3, axis=1).ravel(), np.tile(T[good], (1, 3)).ravel()
    A = sp.csr_array(sp.coo_array((local.ravel(), (rows, columns)), shape=(len(P),) * 2))
    return A[inside][:, inside]


def jumps(n, ratio=1e6):
    """Coefficients from 1 to `ratio`, different in every cell."""
    k = ratio ** np.random.default_rng(0).random((n + 1, n + 1))
    along, across = (2 / (1 / k[:-1] + 1 / k[1:]))[:, :n], (2 / (1 / k[:, :-1] + 1 / k[:, 1:]))[:n]
    number, out = np.arange(n * n).reshape(n, n), sp.csr_array((n * n, n * n))
    for w, i, j in ((along[:-1], number[:-1], number[1:]), (across[:, :-1], number[:, :-1], number[:, 1:])):
        W = sp.coo_array((w[: i.shape[0], : i.shape[1]].ravel(), (i.ravel(), j.ravel())), shape=out.shape)
        out = out - W - W.T
    return sp.csr_array(out + sp.diags_array(k[:n, :n].ravel() * 0.01 / n - np.asarray(out.sum(axis=1)).ravel()))


def rescaled(problem, powers=6.0):
    """The same with every unknown in units of its own."""
    A, b, lower, upper, _ = problem
    D = 10.0 ** np.random.default_rng(0).uniform(-powers, powers, b.size)
    return sp.diags_array(D) @ A @ sp.diags_array(D), D * b, lower / D, upper / D, False


def solid(n, weak):
    """Seven points in 3D, with about as many unknowns as the others; the second axis is `weak`."""
    m = round(n ** (2 / 3))
    one, T = sp.eye_array(m), chain(m)
    A = sp.kron(sp.kron(T, one), one) + weak * sp.kron(sp.kron(one, T), one) + sp.kron(sp.kron(one, one), T)
    b = np.sin(np.arange(m**3) * 14 * np.pi / m**3) * 100 / m**2
    return A, b, 0.0, np.inf, False
