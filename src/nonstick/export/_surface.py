"""The liquid surface from particles on samples finer than the grid.

`φ(c) = T(|c - x̄|)`, x̄ the mean of the particles within `reach` of c with weights (1 - s²)³, s = distance/reach (Zhu &
Bridson 2005), and T the function that makes φ the distance for a flat surface over evenly filled space. The mean of two
bodies of liquid with a gap between them lies in the gap, so that alone it would fill every gap narrower than twice the
reach; φ is therefore at least the distance to the nearest particle less `largest`. Where there are few particles φ is
at most the distance to the nearest one less `drop`. All lengths are in cells of the simulation.
"""

import numpy as np
from numba import njit, prange

from ..kernels import merged, parallel, serial
from ..kernels._interpolate import _sample

# Sums may be reordered; there are no infinities, so that a largest value can be found by SIMD as well.
_sums = njit(cache=True, nogil=True, forceinline=True, fastmath={"contract", "reassoc", "nnan", "nsz"})

#: shares of a full neighbourhood of particles: of one particle alone, and of a film
FEW, SOME = 0.12, 0.3


def flat_distance(size: int = 257) -> np.ndarray:
    """T as a table over δ/reach in [0, 1], in units of the reach, in 3D.

    A slice of the kernel at height z weighs (1 - z²)⁴. If the liquid fills z > τ, the mean height of the weight there
    is δ(τ) = (1 - τ²)⁵ / 10 / ∫_τ¹ (1 - z²)⁴ dz.
    """
    tau = np.linspace(-1.0, 1.0, 20001)
    f = (1.0 - tau**2) ** 4
    tail = np.concatenate([np.cumsum((0.5 * (f[1:] + f[:-1]))[::-1])[::-1] * (tau[1] - tau[0]), [0.0]])
    inner = slice(1, -200)  # the quotient is 0/0 at τ = 1, where δ = τ
    delta = (1.0 - tau[inner] ** 2) ** 5 / 10.0 / tail[inner]
    delta, tau = np.concatenate([[0.0], delta, [1.0]]), np.concatenate([[-1.0], tau[inner], [1.0]])
    return np.interp(np.linspace(0.0, 1.0, size), delta, tau)


@serial
def _sort(order, start, x, margin):
    """Particles (n, 3), in cells, by cell of a box with `margin` more cells on every side; start has cells + 1."""
    nx, ny, nz = start.shape[0], start.shape[1], start.shape[2]
    flat = start.reshape(-1)
    cell = np.empty(len(x), np.int64)
    for p in range(len(x)):
        i = min(max(int(np.floor(x[p, 0])) + margin, 0), nx - 1)
        j = min(max(int(np.floor(x[p, 1])) + margin, 0), ny - 1)
        k = min(max(int(np.floor(x[p, 2])) + margin, 0), nz - 1)
        cell[p] = (i * ny + j) * nz + k
        flat[cell[p]] += 1
    total = 0
    for q in range(flat.size):
        count = flat[q]
        flat[q] = total
        total += count
    for p in range(len(x)):
        order[flat[cell[p]]] = p
        flat[cell[p]] += 1
    # every entry is now the end of its cell, which is the beginning of the next one


@_sums
def _pull(x, weight, begin, end, a, b, c, scale):
    """Sums over particles begin … end as seen from (a, b, c): weight, weight times place; and the largest weight."""
    one, none = np.float32(1.0), np.float32(0.0)
    total, m0, m1, m2, best = none, none, none, none, none
    for p in range(np.uintp(begin), np.uintp(end)):  # unsigned: no test for indices from the end
        d0, d1, d2 = x[0, p] - a, x[1, p] - b, x[2, p] - c
        t = max(one - (d0 * d0 + d1 * d1 + d2 * d2) * scale, none)
        best = max(best, t)
        t = t * t * t * weight[p]
        total += t
        m0 += t * d0
        m1 += t * d1
        m2 += t * d2
    return total, m0, m1, m2, best


@parallel
def _particle_distance(phi, share, solid, x, weight, end, kind, margin, refine, pad, reach, largest, drop, table, full):
    """φ in cells at samples `refine` times as fine as cells, and the share of a full neighbourhood of particles there.

    `end[i, j, k]` is one past the last particle of a cell. `kind` of a cell is 0 where no particle is near and 2 where
    all samples are inside. Samples deeper in the `solid` than two of them are cut away later, and not looked at.
    """
    nx, ny, nz = phi.shape
    mx, my, mz = end.shape
    ends = end.reshape(-1)
    scale = np.float32(1.0 / (reach * reach))
    for i in prange(nx):
        a = (i - pad + 0.5) / refine
        i0 = max(int(np.floor(a - reach)) + margin, 0)
        i1 = min(int(np.floor(a + reach)) + margin, mx - 1)
        ci = min(max(int(np.floor(a)) + margin, 0), mx - 1)
        for j in range(ny):
            b = (j - pad + 0.5) / refine
            j0 = max(int(np.floor(b - reach)) + margin, 0)
            j1 = min(int(np.floor(b + reach)) + margin, my - 1)
            cj = min(max(int(np.floor(b)) + margin, 0), my - 1)
            for k in range(nz):
                c = (k - pad + 0.5) / refine
                ck = min(max(int(np.floor(c)) + margin, 0), mz - 1)
                here = kind[ci, cj, ck]
                if here != 1 or solid[i, j, k] * refine < -2.0:
                    phi[i, j, k] = -reach if here == 2 else reach
                    share[i, j, k] = 0.5 * here
                    continue
                k0 = max(int(np.floor(c - reach)) + margin, 0)
                k1 = min(int(np.floor(c + reach)) + margin, mz - 1)
                total, m0, m1, m2 = 0.0, 0.0, 0.0, 0.0
                best = np.float32(0.0)
                for ii in range(i0, i1 + 1):
                    for jj in range(j0, j1 + 1):
                        row = (ii * my + jj) * mz
                        begin = ends[row + k0 - 1] if row + k0 > 0 else 0
                        t, e0, e1, e2, near = _pull(
                            x, weight, begin, ends[row + k1], np.float32(a), np.float32(b), np.float32(c), scale
                        )
                        total += t
                        m0 += e0
                        m1 += e1
                        m2 += e2
                        best = max(best, near)
                share[i, j, k] = min(total / full, 1.0)
                value = reach
                if total > 0.0:
                    at = np.sqrt(m0 * m0 + m1 * m1 + m2 * m2) / total / reach * (table.size - 1)
                    q = min(int(at), table.size - 2)
                    value = reach * (table[q] + (at - q) * (table[q + 1] - table[q]))
                    nearest = reach * np.sqrt(1.0 - best)
                    value = max(value, nearest - largest)
                    # few particles are drops: balls that samples cannot miss
                    few = min(max((SOME - total / full) / (SOME - FEW), 0.0), 1.0)
                    value = min(value, nearest - few * drop)
                phi[i, j, k] = value


@parallel
def _smooth(out, phi, bulk):
    """One pass of a ¼-½-¼ filter along every axis where `bulk` says so; it would wear drops and films away."""
    nx, ny, nz = phi.shape
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = phi[i, j, k]
                if bulk[i, j, k] and 0 < i < nx - 1 and 0 < j < ny - 1 and 0 < k < nz - 1:
                    total = 0.0
                    for a in range(-1, 2):
                        for b in range(-1, 2):
                            for c in range(-1, 2):
                                total += phi[i + a, j + b, k + c] * (2 - abs(a)) * (2 - abs(b)) * (2 - abs(c))
                    out[i, j, k] = total / 64.0


@merged
def _slope(field, a, b, c):
    """Central difference of a field at (a, b, c), per sample."""
    g0 = _sample(field, a + 0.5, b, c) - _sample(field, a - 0.5, b, c)
    g1 = _sample(field, a, b + 0.5, c) - _sample(field, a, b - 0.5, c)
    g2 = _sample(field, a, b, c + 0.5) - _sample(field, a, b, c - 0.5)
    return g0, g1, g2


@parallel
def _mirror(image, good, x, nodes, reach, up):
    """Images of particles (n, 3) in walls nearer than the reach; `good` where there is one, which lies in the wall.

    Taken along the horizontal where the wall is steep, so that a level surface stays level up to the wall.
    """
    for p in prange(len(x)):
        a, b, c = x[p, 0], x[p, 1], x[p, 2]
        s = _sample(nodes, a, b, c)
        good[p] = False
        if s <= 0.0 or s >= reach:
            continue
        n0, n1, n2 = _slope(nodes, a, b, c)
        size = max(np.sqrt(n0 * n0 + n1 * n1 + n2 * n2), 1e-9)
        n0, n1, n2 = n0 / size, n1 / size, n2 / size
        rise = n0 * up[0] + n1 * up[1] + n2 * up[2]
        level = 1.0 - rise * rise
        if level > 0.25:
            n0, n1, n2 = (n0 - rise * up[0]) / level, (n1 - rise * up[1]) / level, (n2 - rise * up[2]) / level
        a, b, c = a - 2.0 * s * n0, b - 2.0 * s * n1, c - 2.0 * s * n2
        image[p, 0], image[p, 1], image[p, 2] = a, b, c
        good[p] = _sample(nodes, a, b, c) < 0.0


@parallel
def _bring_out(x, seam, solid):
    """Points (n, 3) in walls brought to the nearest point of the wall, in samples; `solid` is the distance in samples.

    `seam` marks points after which there is another wall.
    """
    for p in prange(len(x)):
        a, b, c = x[p, 0], x[p, 1], x[p, 2]
        seam[p] = False
        s = _sample(solid, a, b, c)
        if s >= 0.0:
            continue
        g0, g1, g2 = 0.0, 0.0, 0.0
        steep = 1.0
        for _ in range(3):
            g0, g1, g2 = _slope(solid, a, b, c)
            steep = max(g0 * g0 + g1 * g1 + g2 * g2, 0.25)
            s = min(_sample(solid, a, b, c), 0.0)
            a, b, c = a - s * g0 / steep, b - s * g1 / steep, c - s * g2 / steep
        step = 0.3 / np.sqrt(steep)
        seam[p] = _sample(solid, a + step * g0, b + step * g1, c + step * g2) <= 0.0
        if not seam[p]:
            x[p, 0], x[p, 1], x[p, 2] = a, b, c
