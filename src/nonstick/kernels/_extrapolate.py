"""Values continued beyond where they are known, layer by layer."""

import numpy as np
from numba import prange

from . import parallel


@parallel
def _extrapolate(u, known, queue, layers):
    """Fill unknown values layer by layer with the mean of their known neighbours.

    `known` is 1 where u holds a value and 0 elsewhere, and is 1 on the filled band afterwards. `queue`
    receives the linear indices of the filled entries, layer by layer; returns their number.
    A layer reads only values settled before it, so the result does not depend on the order.
    """
    nx, ny, nz = u.shape
    flat, have = u.reshape(-1), known.reshape(-1)
    rows = nx * ny
    first = np.empty(rows + 1, np.int64)
    mark = np.empty(u.size, np.int8)
    end = 0
    for _layer in range(layers):
        # Whole rows of bytes, found by comparing vectors: cheaper than to follow a front.
        first[0] = end
        for turn in prange(rows):
            row = np.int64(turn)
            i, j = row // ny, row % ny
            here = row * nz
            below = here - ny * nz if i > 0 else here
            above = here + ny * nz if i + 1 < nx else here
            left = here - nz if j > 0 else here
            right = here + nz if j + 1 < ny else here
            for k in range(nz):
                mark[np.uintp(here + k)] = (
                    have[np.uintp(below + k)]
                    | have[np.uintp(above + k)]
                    | have[np.uintp(left + k)]
                    | have[np.uintp(right + k)]
                )
            for k in range(nz - 1):
                mark[np.uintp(here + k)] |= have[np.uintp(here + k + 1)]
            for k in range(1, nz):
                mark[np.uintp(here + k)] |= have[np.uintp(here + k - 1)]
            count = 0
            for k in range(nz):
                new = mark[np.uintp(here + k)] & ~have[np.uintp(here + k)]
                mark[np.uintp(here + k)] = new
                count += new
            first[row + 1] = count
        for row in range(rows):
            first[row + 1] += first[row]
        begin, end = end, first[rows]
        for turn in prange(rows):
            row = np.int64(turn)
            at = first[row]
            if first[row + 1] > at:
                for t in range(row * nz, (row + 1) * nz):
                    if mark[np.uintp(t)] != 0:
                        queue[at] = t
                        at += 1
        for step in prange(end - begin):
            t = np.int64(queue[begin + np.int64(step)])
            k = t % nz
            j = (t // nz) % ny
            i = t // (nz * ny)
            total, count = 0.0, 0
            if i > 0 and have[t - ny * nz] == 1:
                total += flat[t - ny * nz]
                count += 1
            if i + 1 < nx and have[t + ny * nz] == 1:
                total += flat[t + ny * nz]
                count += 1
            if j > 0 and have[t - nz] == 1:
                total += flat[t - nz]
                count += 1
            if j + 1 < ny and have[t + nz] == 1:
                total += flat[t + nz]
                count += 1
            if k > 0 and have[t - 1] == 1:
                total += flat[t - 1]
                count += 1
            if k + 1 < nz and have[t + 1] == 1:
                total += flat[t + 1]
                count += 1
            flat[t] = total / count
        for step in prange(end - begin):
            have[queue[begin + np.int64(step)]] = 1
    return end
