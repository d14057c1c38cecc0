"""The liquid surface from particles on samples finer than the grid.

`φ(c) = T(|c - x̄|)`, x̄ the mean of the particles within `reach` of c with weights (1 - s²)³, s = distance/reach (Zhu &
Bridson 2005), and T the function that makes φ the distance for a flat surface over evenly filled space. The mean of two
bodies of liquid with a gap between them lies in the gap, so that alone it would fill every gap narrower than twice the
reach; φ is therefore at least the distance to the nearest particle less `largest`. Where there are few particles φ is
at most the distance to the nearest one less `drop`. All lengths are in cells of the simulation.

Masks are over cells of the simulation: a box of them, `margin` wider on every side than that of the samples without
their `pad`. Nothing is computed in cells where φ is constant, so that the cost follows the surface and not the volume.

Walls and the surface: mirror images of particles, φ that ends behind walls, and vertices brought out of them.
"""

import numpy as np
from numba import njit

from ...grid._levelset import _normal, _slope, _tabulated, _towards_image
from ...kernels import merged, parallel, prange, serial
from ...kernels._interpolate import _sample

# Sums may be reordered, for SIMD.
_sums = njit(cache=True, nogil=True, forceinline=True, fastmath={"contract", "reassoc", "nnan", "nsz"})

#: shares of a full neighbourhood of particles: of one particle alone, of a film, and of samples in a body of liquid
#: only
FEW, SOME, CORE = 0.12, 0.3, 0.58


@serial
def _survey(count, wall, side, x, nodes, near, reach):
    """Particles (n, 3) in cells: how many are in each cell, zero on entry, and lists of those at walls and sides.

    `nodes` is the distance to walls in cells. Particles in cells with a node nearer than `near` are listed in `wall`,
    those nearer than the reach to a side of the domain in `side`; returns the lengths of both lists.
    """
    nx, ny, nz = count.shape
    mx, my, mz = nodes.shape
    low, walls, sides = np.float32(reach), 0, 0
    high0, high1, high2 = np.float32(nx - reach), np.float32(ny - reach), np.float32(nz - reach)
    for p in range(len(x)):
        a, b, c = x[p, 0], x[p, 1], x[p, 2]
        i = np.uintp(min(max(int(a), 0), nx - 1))
        j = np.uintp(min(max(int(b), 0), ny - 1))
        k = np.uintp(min(max(int(c), 0), nz - 1))
        count[i, j, k] += 1
        if nodes[min(i, np.uintp(mx - 1)), min(j, np.uintp(my - 1)), min(k, np.uintp(mz - 1))] < near:
            wall[walls] = p
            walls += 1
        if a < low or b < low or c < low or a > high0 or b > high1 or c > high2:
            side[sides] = p
            sides += 1
    return walls, sides


@merged
def _cell(x, first, n):
    """The cell of a coordinate in cells among n of them, clamped."""
    return min(max(int(np.floor(x)) - first, 0), n - 1)


@serial
def _count(count, x, first):
    """Add particles (n, 3), in cells, to the number of those in each cell; the box begins with the cell `first`."""
    nx, ny, nz = count.shape
    for p in range(len(x)):
        i, j, k = _cell(x[p, 0], first[0], nx), _cell(x[p, 1], first[1], ny), _cell(x[p, 2], first[2], nz)
        count[i, j, k] += 1


@serial
def _begin(end, count, needed):
    """Where the particles of each needed cell begin, cell after cell; returns how many there are."""
    flat, counts, mask = end.reshape(-1), count.reshape(-1), needed.reshape(-1)
    total = 0
    for q in range(flat.size):
        flat[q] = total
        total += counts[q] if mask[q] else 0
    return total


@serial
def _sort(out, end, x, corner, margin, count, needed, per_cell):
    """Particles (n, 3) in cells as columns (4, n) in the order of the needed cells.

    Places are relative to the cell `corner`, and cells begin `margin` before it. The last row is their weight: the
    particles of a crowded cell weigh together as much as those of a full one. `end` of a cell is where its next
    particle goes, and grows with each.
    """
    nx, ny, nz = end.shape
    first0, first1, first2 = corner[0] - margin, corner[1] - margin, corner[2] - margin
    a, b, c = np.float32(corner[0]), np.float32(corner[1]), np.float32(corner[2])
    most = np.float32(per_cell)
    for p in range(len(x)):
        x0, x1, x2 = x[p, 0], x[p, 1], x[p, 2]
        i, j, k = _cell(x0, first0, nx), _cell(x1, first1, ny), _cell(x2, first2, nz)
        if needed[i, j, k]:
            q = end[i, j, k]
            end[i, j, k] = q + 1
            out[0, q], out[1, q], out[2, q] = x0 - a, x1 - b, x2 - c
            out[3, q] = min(np.float32(1.0), most / np.float32(count[i, j, k]))


@_sums
def _pull(x, count, a, b, c):
    """Sums over `count` particles as seen from (a, b, c): weight, and weight times place from there.

    Rows are the place, 1 less its square, and the weight, in reaches from the middle of a cell. With them the share
    1 - s² is linear in the place. The last number is the largest share. It is found among the bits, which have the
    same order: the largest of floating-point numbers is not found by SIMD, and would make the whole loop slow.
    """
    none = np.float32(0.0)
    total, m0, m1, m2, best = none, none, none, none, np.int32(0)
    twice0, twice1, twice2, square = a + a, b + b, c + c, a * a + b * b + c * c
    for p in range(np.uintp(count)):  # unsigned: no test for indices from the end
        x0, x1, x2 = x[0, p], x[1, p], x[2, p]
        t = max(x[3, p] - square + twice0 * x0 + twice1 * x1 + twice2 * x2, none)
        best = max(best, np.float32(t).view(np.int32))
        t = t * t * t * x[4, p]
        total += t
        m0 += t * x0
        m1 += t * x1
        m2 += t * x2
    return total, m0 - a * total, m1 - b * total, m2 - c * total, np.int32(best).view(np.float32)


@parallel
def _particle_distance(
    phi, core, band, solid, x, end, kind, margin, refine, pad, reach, largest, limit, drop, table, full
):
    """φ in cells at samples `refine` times as fine as cells, between ±limit; +limit on entry.

    `core` marks cells with a sample deep in a body of liquid, and `band` those with one nearer to the surface than the
    limit; both zero on entry. `end[i, j, k]` is one past the last particle of a cell. `kind` of a cell is 0 where no
    particle is near and 2 where all samples are inside. Samples deeper in the `solid` than two of them are cut away
    later, and not looked at. The samples of a cell share a list of the particles that may reach one of them.
    """
    nx, ny, nz = phi.shape
    mx, my, mz = end.shape
    half = 0.5 - 0.5 / refine  # samples of a cell lie this far from its centre at most
    steps, least = np.float32(table.size - 1), np.float32(1e-30)
    for slab in prange(mx):
        room = np.empty((5, 1024), np.float32)
        i0, i1 = max((slab - margin) * refine + pad, 0), min((slab - margin + 1) * refine + pad, nx)
        for row in range(my):
            j0, j1 = max((row - margin) * refine + pad, 0), min((row - margin + 1) * refine + pad, ny)
            for cell in range(mz):
                here = kind[slab, row, cell]
                if here == 0:
                    continue
                k0, k1 = max((cell - margin) * refine + pad, 0), min((cell - margin + 1) * refine + pad, nz)
                if here == 2:
                    core[slab, row, cell] = 1
                    for i in range(i0, i1):
                        for j in range(j0, j1):
                            for k in range(k0, k1):
                                phi[i, j, k] = -limit
                    continue
                listed = -1
                for i in range(i0, i1):
                    for j in range(j0, j1):
                        for k in range(k0, k1):
                            if solid[i, j, k] * refine < -2.0:
                                continue
                            if listed < 0:
                                # without the rim of the reach, where particles weigh less than 1e-4
                                room, listed = _list(room, x, end, slab, row, cell, half, 0.98 * reach, reach, margin)
                            a = np.float32(((i - pad + 0.5) / refine - (slab - margin + 0.5)) / reach)
                            b = np.float32(((j - pad + 0.5) / refine - (row - margin + 0.5)) / reach)
                            c = np.float32(((k - pad + 0.5) / refine - (cell - margin + 0.5)) / reach)
                            total, m0, m1, m2, best = _pull(room, listed, a, b, c)
                            core[slab, row, cell] |= total > CORE * full
                            value = reach
                            if total > least:
                                at = min(np.sqrt(m0 * m0 + m1 * m1 + m2 * m2) / total, np.float32(1.0)) * steps
                                value = reach * _tabulated(table, at)
                                nearest = reach * np.sqrt(max(1.0 - best, 0.0))
                                value = max(value, nearest - largest)
                                # few particles are drops: balls that samples cannot miss
                                few = min(max((SOME - total / full) / (SOME - FEW), 0.0), 1.0)
                                value = min(value, nearest - few * drop)
                            phi[i, j, k] = min(max(value, -limit), limit)
                            band[slab, row, cell] |= abs(value) < limit


@merged
def _list(room, x, end, slab, row, cell, half, near, reach, margin):
    """Put the particles of cells that reach samples of a cell into `room`; returns it, or a larger one, and how many.

    The rows of `room` are those that `_pull` takes. Samples lie up to `half` from the middle of their cell. Rows of
    cells are taken as far as `near` goes in them.
    """
    mx, my, mz = end.shape
    ends = end.reshape(-1)
    wide = int(np.ceil(near + half - 0.5))
    scale, one = np.float32(1.0 / reach), np.float32(1.0)
    a = np.float32(slab - margin + 0.5)
    b, c = np.float32(row - margin + 0.5), np.float32(cell - margin + 0.5)
    listed = 0
    for i in range(max(slab - wide, 0), min(slab + wide + 1, mx)):
        for j in range(max(row - wide, 0), min(row + wide + 1, my)):
            away0, away1 = max(abs(i - slab) - 0.5 - half, 0.0), max(abs(j - row) - 0.5 - half, 0.0)
            left = near * near - away0 * away0 - away1 * away1
            if left <= 0.0:
                continue
            far = int(np.ceil(np.sqrt(left) + half - 0.5))
            line = (i * my + j) * mz
            first = line + max(cell - far, 0) - 1
            begin = ends[first] if first >= 0 else 0
            count = ends[line + min(cell + far, mz - 1)] - begin
            if listed + count > room.shape[1]:
                wider = np.empty((5, 2 * (listed + count)), np.float32)
                wider[:, :listed] = room[:, :listed]
                room = wider
            for p in range(count):
                x0, x1 = (x[0, begin + p] - a) * scale, (x[1, begin + p] - b) * scale
                x2 = (x[2, begin + p] - c) * scale
                room[0, listed + p], room[1, listed + p], room[2, listed + p] = x0, x1, x2
                room[3, listed + p] = one - (x0 * x0 + x1 * x1 + x2 * x2)
                room[4, listed + p] = x[3, begin + p]
            listed += count
    return room, listed


@merged
def _filtered(out, room, f, at, count, sx, sy):
    """The ¼-½-¼ filter along every axis for `count` samples of a row that begins at f[at]; `sx`, `sy`: steps in f."""
    two, four = np.float32(2.0), np.float32(4.0)
    for q in range(np.uintp(count + 2)):
        c = at - np.uintp(1) + q
        side = f[c - sx] + f[c + sx] + f[c - sy] + f[c + sy]
        room[q] = four * f[c] + two * side + (f[c - sx - sy] + f[c - sx + sy] + f[c + sx - sy] + f[c + sx + sy])
    for q in range(np.uintp(count)):
        out[q] = (room[q] + two * room[q + np.uintp(1)] + room[q + np.uintp(2)]) * np.float32(1.0 / 64.0)


@merged
def _run(mask, slab, row, cell):
    """The next run of cells of a row in the mask, from `cell` on: first, and one past the last."""
    mz = mask.shape[2]
    while cell < mz and not mask[slab, row, cell]:
        cell += 1
    first = cell
    while cell < mz and mask[slab, row, cell]:
        cell += 1
    return first, cell


def _smooth(phi, here, margin, refine, pad, passes):
    """Passes of a ¼-½-¼ filter along every axis at the samples of the cells `here`, in place; not at the rim of φ."""
    start = np.zeros(phi.shape[0] + 1, np.int64)
    _count_samples(start, phi, here, margin, refine, pad)
    start = np.cumsum(start)
    value = np.empty(start[-1], np.float32)
    for _ in range(passes):
        for back in (False, True):
            _smooth_pass(phi, value, start, here, margin, refine, pad, back)


@parallel
def _count_samples(start, phi, here, margin, refine, pad):
    """start[i + 1] = room for the samples of slab i."""
    nx, ny, nz = phi.shape
    mx, my, mz = here.shape
    for i in prange(1, nx - 1):
        slab, count = (i - pad) // refine + margin, 0
        if 0 <= slab < mx:
            for j in range(1, ny - 1):
                row = (j - pad) // refine + margin
                if 0 <= row < my:
                    for cell in range(mz):
                        count += here[slab, row, cell] != 0
        start[i + 1] = count * refine


@parallel
def _smooth_pass(phi, value, start, here, margin, refine, pad, back):
    """value = φ filtered; with `back`, φ = value."""
    nx, ny, nz = phi.shape
    my, mz = here.shape[1:]
    flat, sx, sy = phi.reshape(-1), np.uintp(ny * nz), np.uintp(nz)
    for i in prange(1, nx - 1):
        slab, n, room = (i - pad) // refine + margin, start[i], np.empty(nz + 2, np.float32)
        if start[i] == start[i + 1]:
            continue
        for j in range(1, ny - 1):
            row, cell = (j - pad) // refine + margin, 0
            while 0 <= row < my and cell < mz:
                first, cell = _run(here, slab, row, cell)
                k0, k1 = max((first - margin) * refine + pad, 1), min((cell - margin) * refine + pad, nz - 1)
                if k0 < k1:
                    at = (i * ny + j) * nz + k0
                    if back:
                        flat[at : at + k1 - k0] = value[n : n + k1 - k0]
                    else:
                        _filtered(value[n : n + k1 - k0], room, flat, np.uintp(at), k1 - k0, sx, sy)
                    n += k1 - k0


@merged
def _span(cell, margin, refine, pad, n):
    """The samples of a cell along an axis with n of them: first, and one past the last."""
    first = (cell - margin) * refine + pad
    return min(max(first, 0), n), min(max(first + refine, 0), n)


@parallel
def _room_by_level(out, phi, solid, bulk, plain, margin, refine, pad, span):
    """Of every slab of cells: the room outside walls of its bulk samples, by φ from -span to span in equal steps.

    The first entry has all samples with φ ≤ -span, as have all in `plain` cells. Zero on entry.
    """
    nx, ny, nz = phi.shape
    mx, my, mz = bulk.shape
    scale = 0.5 * (out.shape[1] - 1) / span
    for slab in prange(mx):
        i0, i1 = _span(slab, margin, refine, pad, nx)
        for row in range(my):
            j0, j1 = _span(row, margin, refine, pad, ny)
            for cell in range(mz):
                k0, k1 = _span(cell, margin, refine, pad, nz)
                if not bulk[slab, row, cell] or i0 == i1 or j0 == j1 or k0 == k1:
                    continue
                # a distance changes by at most √3 over a cell
                if plain[slab, row, cell] and solid[i0, j0, k0] > 1.75 + 0.5 / refine:
                    out[slab, 0] += (i1 - i0) * (j1 - j0) * (k1 - k0)
                    continue
                for i in range(i0, i1):
                    for j in range(j0, j1):
                        for k in range(k0, k1):
                            room = 0.5 + solid[i, j, k] * refine
                            if phi[i, j, k] < span and room > 0.0:
                                level = 0 if phi[i, j, k] <= -span else 1 + int((phi[i, j, k] + span) * scale)
                                out[slab, min(level, out.shape[1] - 1)] += min(room, 1.0)


@parallel
def _add(phi, cells, margin, refine, pad, shift):
    """Add a number to φ at the samples of some cells, in place."""
    nx, ny, nz = phi.shape
    mx, my, mz = cells.shape
    for slab in prange(mx):
        i0, i1 = _span(slab, margin, refine, pad, nx)
        for row in range(my):
            j0, j1 = _span(row, margin, refine, pad, ny)
            for cell in range(mz):
                if cells[slab, row, cell]:
                    k0, k1 = _span(cell, margin, refine, pad, nz)
                    for i in range(i0, i1):
                        for j in range(j0, j1):
                            for k in range(k0, k1):
                                phi[i, j, k] += shift


@parallel
def _mirror(image, good, x, nodes, reach, up):
    """Images of particles (n, 3) in walls nearer than the reach; `good` where there is one, which lies in the wall."""
    for p in prange(len(x)):
        a, b, c = x[p, 0], x[p, 1], x[p, 2]
        good[p] = False
        s = _sample(nodes, a, b, c)
        if s <= 0.0 or s >= reach:
            continue
        n0, n1, n2 = _normal(nodes, a, b, c)
        n0, n1, n2 = _towards_image(n0, n1, n2, up)
        a, b, c = a - 2.0 * s * n0, b - 2.0 * s * n1, c - 2.0 * s * n2
        image[p, 0], image[p, 1], image[p, 2] = a, b, c
        good[p] = _sample(nodes, a, b, c) < 0.0


@parallel
def _cut_behind(phi, solid, behind, blocked):
    """φ that ends one sample (`behind`, in cells) behind walls, in place.

    Where two walls meet the distance to both is zero in the seam. Samples there count as behind a wall too, with φ =
    `blocked`, unless one of the 26 next to them is not in a wall.
    """
    nx, ny, nz = phi.shape
    deep = np.float32(-1.75) * behind  # a distance changes by at most √3 samples to the next one
    none, far, most = np.float32(0.0), np.float32(-1e30), max(np.float32(0.75) * behind, blocked)
    for i in prange(nx):
        for j in range(ny):
            row, walls, near = phi[i, j], solid[i, j], 0
            for k in range(nz):  # without a branch, so that many samples are done at once
                s = walls[k]
                near += s >= deep and s <= none and row[k] < most
                row[k] = max(row[k], -s - behind if s > none else (blocked if s < deep else far))
            if near == 0:
                continue
            for k in range(nz):
                if deep <= walls[k] <= none and row[k] < most:
                    row[k] = max(row[k], -walls[k] - behind if _next_to_open(solid, i, j, k) else blocked)


@merged
def _next_to_open(solid, i, j, k):
    """Is one of the 26 samples around not in a wall?"""
    nx, ny, nz = solid.shape
    for a in range(max(i - 1, 0), min(i + 2, nx)):
        for b in range(max(j - 1, 0), min(j + 2, ny)):
            for c in range(max(k - 1, 0), min(k + 2, nz)):
                if solid[a, b, c] > 0.0:
                    return True
    return False


@parallel
def _bring_out(x, seam, solid, scale):
    """Points (n, 3) in walls brought to the nearest point of the wall, in samples; `solid` times `scale` is in samples.

    `seam` marks points after which there is another wall.
    """
    for p in prange(len(x)):
        a, b, c = x[p, 0], x[p, 1], x[p, 2]
        seam[p] = False
        # most points are far from walls; a distance changes by at most √3 samples to the next one
        if scale * solid[np.uintp(a), np.uintp(b), np.uintp(c)] > 1.75 or _sample(solid, a, b, c) >= 0.0:
            continue
        g0, g1, g2 = 0.0, 0.0, 0.0
        steep = 1.0
        for _ in range(3):
            g0, g1, g2 = _slope(solid, a, b, c)
            g0, g1, g2 = scale * g0, scale * g1, scale * g2
            steep = max(g0 * g0 + g1 * g1 + g2 * g2, 0.25)
            s = min(scale * _sample(solid, a, b, c), 0.0)
            a, b, c = a - s * g0 / steep, b - s * g1 / steep, c - s * g2 / steep
        step = 0.3 / np.sqrt(steep)
        seam[p] = _sample(solid, a + step * g0, b + step * g1, c + step * g2) <= 0.0
        if not seam[p]:
            x[p, 0], x[p, 1], x[p, 2] = a, b, c
