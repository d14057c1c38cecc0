"""The extrapolation of values beyond where they are known, layer by layer."""

import numpy as np

from ..kernels import parallel, prange


def _extrapolate(u, known, queue, layers):
    """Fill unknown values layer by layer with the mean of their known neighbours.

    `known` is 1 where u holds a value and 0 elsewhere, and is 1 on the filled band afterwards. `queue`
    receives the linear indices of the filled entries, layer by layer; returns their number.
    A layer reads only values of earlier layers, so the result does not depend on the order.
    """
    first = np.empty(u.shape[0] * u.shape[1] + 1, np.int64)
    mark = np.empty(u.shape, np.int8)
    end = 0
    for _layer in range(layers):
        first[0] = end
        _mark_layer(first, mark, known)
        np.cumsum(first, out=first)
        begin, end = end, int(first[-1])
        _list_layer(queue, first, mark)
        _fill_layer(u, known, queue, begin, end)
        _know_layer(known, queue, begin, end)
    return end


@parallel
def _mark_layer(first, mark, known):
    """mark = 1 on unknown entries with a known neighbour; first[row + 1] counts them along rows of the last axis.

    Whole rows of bytes are compared as vectors, which is cheaper than following a front.
    """
    nx, ny, nz = known.shape
    have, new = known.reshape(-1), mark.reshape(-1)
    for row in prange(nx * ny):
        i, j = row // ny, row % ny
        here = row * nz
        below = here - ny * nz if i > 0 else here
        above = here + ny * nz if i + 1 < nx else here
        left = here - nz if j > 0 else here
        right = here + nz if j + 1 < ny else here
        for k in range(nz):
            new[np.uintp(here + k)] = (
                have[np.uintp(below + k)]
                | have[np.uintp(above + k)]
                | have[np.uintp(left + k)]
                | have[np.uintp(right + k)]
            )
        for k in range(nz - 1):
            new[np.uintp(here + k)] |= have[np.uintp(here + k + 1)]
        for k in range(1, nz):
            new[np.uintp(here + k)] |= have[np.uintp(here + k - 1)]
        count = 0
        for k in range(nz):
            one = new[np.uintp(here + k)] & ~have[np.uintp(here + k)]
            new[np.uintp(here + k)] = one
            count += one
        first[row + 1] = count


@parallel
def _list_layer(queue, first, mark):
    """The linear indices of marked entries; those of a row begin at queue[first[row]]."""
    nz, new = mark.shape[2], mark.reshape(-1)
    for row in prange(first.size - 1):
        at = first[row]
        if first[row + 1] > at:
            for t in range(row * nz, (row + 1) * nz):
                if new[np.uintp(t)] != 0:
                    queue[at] = t
                    at += 1


@parallel
def _fill_layer(u, known, queue, begin, end):
    """u on entries begin…end of the queue: the mean of their known neighbours."""
    nx, ny, nz = u.shape
    flat, have = u.reshape(-1), known.reshape(-1)
    for q in prange(begin, end):
        t = np.int64(queue[q])
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


@parallel
def _know_layer(known, queue, begin, end):
    have = known.reshape(-1)
    for q in prange(begin, end):
        have[queue[q]] = 1
