"""The liquid surface from particles on samples finer than the grid.

`φ(c) = T(|c - x̄|)`, x̄ the mean of the particles within `reach` of c with weights (1 - s²)³, s = distance/reach (Zhu &
Bridson 2005), and T the function that makes φ the distance for a flat surface over evenly filled space. The mean of two
bodies of liquid with a gap between them lies in the gap, so that alone it would fill every gap narrower than twice the
reach; φ is therefore at least the distance to the nearest particle less `largest`. Where there are few particles φ is
at most the distance to the nearest one less `drop`. All lengths are in cells of the simulation.
"""

import numpy as np
from numba import njit, prange

from ..kernels import merged, parallel, parallel_sum, serial

# Sums may be reordered, for SIMD.
_sums = njit(cache=True, nogil=True, forceinline=True, fastmath={"contract", "reassoc", "nnan", "nsz"})

#: shares of a full neighbourhood of particles: of one particle alone, of a film, and of samples in a body of liquid
#: only
FEW, SOME, CORE = 0.12, 0.3, 0.58
#: shares that are whole numbers are parts of this
ONE = 2**23


@serial
def _sort(out, end, x, margin, per_cell):
    """Particles (n, 3) in cells as columns (4, n) in the order of the cells of a box, `margin` wider on every side.

    The last row is their weight: the particles of a crowded cell weigh together as much as those of a full one. `end`
    of a cell, zero on entry, becomes one past its last particle.
    """
    nx, ny, nz = end.shape
    flat = end.reshape(-1)
    cell = np.empty(len(x), np.int32)
    for p in range(len(x)):
        i = min(max(int(np.floor(x[p, 0])) + margin, 0), nx - 1)
        j = min(max(int(np.floor(x[p, 1])) + margin, 0), ny - 1)
        k = min(max(int(np.floor(x[p, 2])) + margin, 0), nz - 1)
        cell[p] = (i * ny + j) * nz + k
        flat[cell[p]] += 1
    share = np.empty(flat.size, np.float32)
    total = 0
    for q in range(flat.size):
        count = flat[q]
        share[q] = min(1.0, per_cell / max(count, 1))
        flat[q] = total
        total += count
    for p in range(len(x)):
        q = flat[cell[p]]
        out[0, q], out[1, q], out[2, q] = x[p, 0], x[p, 1], x[p, 2]
        out[3, q] = share[cell[p]]
        flat[cell[p]] = q + 1


@_sums
def _pull(x, count, a, b, c, scale):
    """Sums over `count` particles (rows: place and weight) as seen from (a, b, c): weight, and weight times place.

    The last number is the largest share 1 - s² in parts of ONE. It is whole, because the largest of floating-point
    numbers is not found by SIMD, and would make the whole loop five times as slow.
    """
    one, none, parts = np.float32(1.0), np.float32(0.0), np.float32(ONE)
    total, m0, m1, m2, best = none, none, none, none, np.int32(0)
    for p in range(np.uintp(count)):  # unsigned: no test for indices from the end
        d0, d1, d2 = x[0, p] - a, x[1, p] - b, x[2, p] - c
        t = max(one - (d0 * d0 + d1 * d1 + d2 * d2) * scale, none)
        best = max(best, np.int32(t * parts))
        t = t * t * t * x[3, p]
        total += t
        m0 += t * d0
        m1 += t * d1
        m2 += t * d2
    return total, m0, m1, m2, best


@parallel
def _particle_distance(
    phi, core, band, solid, x, end, kind, margin, refine, pad, reach, largest, limit, drop, table, full
):
    """φ in cells at samples `refine` times as fine as cells, between ±limit.

    `core` marks samples deep in a body of liquid, and `band` those for which particles were looked at.
    `end[i, j, k]` is one past the last particle of a cell. `kind` of a cell is 0 where no particle is near and 2 where
    all samples are inside. Samples deeper in the `solid` than two of them are cut away later, and not looked at. The
    samples of a cell share a list of the particles that may reach one of them.
    """
    nx, ny, nz = phi.shape
    mx, my, mz = end.shape
    scale = np.float32(1.0 / (reach * reach))
    half = 0.5 - 0.5 / refine  # samples of a cell lie this far from its centre at most
    for slab in prange(mx):
        room = np.empty((4, 1024), np.float32)
        i0, i1 = max((slab - margin) * refine + pad, 0), min((slab - margin + 1) * refine + pad, nx)
        for row in range(my):
            j0, j1 = max((row - margin) * refine + pad, 0), min((row - margin + 1) * refine + pad, ny)
            for cell in range(mz):
                k0, k1 = max((cell - margin) * refine + pad, 0), min((cell - margin + 1) * refine + pad, nz)
                here = kind[slab, row, cell]
                for i in range(i0, i1):
                    for j in range(j0, j1):
                        for k in range(k0, k1):
                            phi[i, j, k] = -limit if here == 2 else limit
                            core[i, j, k] = here == 2
                if here != 1:
                    continue
                listed = -1
                for i in range(i0, i1):
                    for j in range(j0, j1):
                        for k in range(k0, k1):
                            if solid[i, j, k] * refine < -2.0:
                                continue
                            if listed < 0:
                                # without the rim of the reach, where particles weigh less than 1e-4
                                room, listed = _list(room, x, end, slab, row, cell, half, 0.98 * reach)
                            a = np.float32((i - pad + 0.5) / refine)
                            b = np.float32((j - pad + 0.5) / refine)
                            c = np.float32((k - pad + 0.5) / refine)
                            total, m0, m1, m2, best = _pull(room, listed, a, b, c, scale)
                            band[i, j, k] = 1
                            core[i, j, k] = total > CORE * full
                            value = reach
                            if total > 0.0:
                                at = np.sqrt(m0 * m0 + m1 * m1 + m2 * m2) / total / reach * (table.size - 1)
                                q = min(int(at), table.size - 2)
                                value = reach * (table[q] + (at - q) * (table[q + 1] - table[q]))
                                nearest = reach * np.sqrt(1.0 - best / ONE)
                                value = max(value, nearest - largest)
                                # few particles are drops: balls that samples cannot miss
                                few = min(max((SOME - total / full) / (SOME - FEW), 0.0), 1.0)
                                value = min(value, nearest - few * drop)
                            phi[i, j, k] = min(max(value, -limit), limit)


@merged
def _list(room, x, end, slab, row, cell, half, reach):
    """Put the particles of cells that reach samples of a cell into `room`; returns it, or a larger one, and how many.

    Samples lie up to `half` from the centre of their cell. Rows of cells are taken as far as the reach goes in them.
    """
    mx, my, mz = end.shape
    ends = end.reshape(-1)
    wide = int(np.ceil(reach + half - 0.5))
    listed = 0
    for i in range(max(slab - wide, 0), min(slab + wide + 1, mx)):
        for j in range(max(row - wide, 0), min(row + wide + 1, my)):
            away0, away1 = max(abs(i - slab) - 0.5 - half, 0.0), max(abs(j - row) - 0.5 - half, 0.0)
            left = reach * reach - away0 * away0 - away1 * away1
            if left <= 0.0:
                continue
            far = int(np.ceil(np.sqrt(left) + half - 0.5))
            line = (i * my + j) * mz
            first = line + max(cell - far, 0) - 1
            begin = ends[first] if first >= 0 else 0
            count = ends[line + min(cell + far, mz - 1)] - begin
            if listed + count > room.shape[1]:
                wider = np.empty((4, 2 * (listed + count)), np.float32)
                wider[:, :listed] = room[:, :listed]
                room = wider
            for a in range(4):
                for p in range(count):
                    room[a, listed + p] = x[a, begin + p]
            listed += count
    return room, listed


@parallel
def _smooth(phi, here, passes):
    """Passes of a ¼-½-¼ filter along every axis at the samples `here`, in place.

    Only the samples of a plane that the filter changes are kept aside, so that the cost follows their number.
    """
    nx, ny, nz = phi.shape
    start = np.zeros(nx + 1, np.int64)
    for i in prange(nx):
        count = 0
        if 0 < i < nx - 1:
            for j in range(1, ny - 1):
                for k in range(1, nz - 1):
                    count += here[i, j, k] != 0
        start[i + 1] = count
    start = np.cumsum(start)
    place, value = np.empty(start[nx], np.int32), np.empty(start[nx], np.float32)
    for i in prange(1, nx - 1):
        n = start[i]
        for j in range(1, ny - 1):
            for k in range(1, nz - 1):
                if here[i, j, k]:
                    place[n] = j * nz + k
                    n += 1
    for _ in range(passes):
        for i in prange(1, nx - 1):
            for n in range(start[i], start[i + 1]):
                j, k = place[n] // nz, place[n] % nz
                total = 0.0
                for a in range(-1, 2):
                    for b in range(-1, 2):
                        ends = phi[i + a, j + b, k - 1] + phi[i + a, j + b, k + 1]
                        total += (2 - abs(a)) * (2 - abs(b)) * (ends + 2 * phi[i + a, j + b, k])
                value[n] = total / 64.0
        for i in prange(1, nx - 1):
            for n in range(start[i], start[i + 1]):
                phi[i, place[n] // nz, place[n] % nz] = value[n]


@parallel
def _add(phi, mask, shift):
    """Add a number to φ at the samples of a mask, in place."""
    nx, ny, nz = phi.shape
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                phi[i, j, k] += shift if mask[i, j, k] else np.float32(0.0)


@parallel
def _weigh(deep, near, phi, solid, bulk, refine, span):
    """Of every plane: the room outside walls of bulk samples with φ ≤ -span, and how many others have φ < span."""
    nx, ny, nz = phi.shape
    for i in prange(nx):
        total, count = 0.0, 0
        for j in range(ny):
            for k in range(nz):
                if bulk[i, j, k] and phi[i, j, k] < span:
                    room = 0.5 + solid[i, j, k] * refine
                    if room > 0.0:
                        if phi[i, j, k] <= -span:
                            total += min(room, 1.0)
                        else:
                            count += 1
        deep[i], near[i] = total, count


@parallel
def _collect(value, room, start, phi, solid, bulk, refine, span):
    """φ and room of the samples that `_weigh` counts as near; `start` of a plane is where its own begin."""
    nx, ny, nz = phi.shape
    for i in prange(nx):
        n = start[i]
        for j in range(ny):
            for k in range(nz):
                if bulk[i, j, k] and -span < phi[i, j, k] < span:
                    here = 0.5 + solid[i, j, k] * refine
                    if here > 0.0:
                        value[n], room[n] = phi[i, j, k], min(here, 1.0)
                        n += 1


@parallel_sum
def _volume(parts, value, room, shift, refine):
    """Of batches of samples: the volume, in samples, where φ is `value` plus a shift and `room` is outside walls."""
    size = -(-len(value) // len(parts))
    half, none, one = np.float32(0.5), np.float32(0.0), np.float32(1.0)
    for batch in prange(len(parts)):
        total = 0.0
        for n in range(batch * size, min((batch + 1) * size, len(value))):
            total += room[n] * min(max(half - (value[n] + shift) * refine, none), one)
        parts[batch] = total


@parallel
def _count_in(inside, x, mask, refine, pad):
    """Of batches of particles (n, 3) in cells: how many lie in samples of the mask."""
    nx, ny, nz = mask.shape
    size = -(-len(x) // len(inside))
    for batch in prange(len(inside)):
        count = 0
        for p in range(batch * size, min((batch + 1) * size, len(x))):
            i = min(max(int(x[p, 0] * refine) + pad, 0), nx - 1)
            j = min(max(int(x[p, 1] * refine) + pad, 0), ny - 1)
            k = min(max(int(x[p, 2] * refine) + pad, 0), nz - 1)
            count += mask[i, j, k] != 0
        inside[batch] = count
