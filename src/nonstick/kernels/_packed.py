"""All small levels of an aggregation hierarchy in one compiled call.

Levels lie one after the other in every array: level k owns rows first[k] to first[k + 1], its red ones first,
red[k] of them; `parent` and `indices` are numbers in the packed arrays. Compiled recursion spares a Python call per
level and visit, of which a W-cycle makes 2^levels.
"""

from . import inline, serial


@inline
def _rows(x, r, b, d, data, indices, indptr, low, high, keep, gain, with_r):
    for i in range(low, high):
        e = b[i]
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            if j != i:
                e -= data[q] * x[j]
        live = d[i] > 0.0
        new = keep * x[i] + gain * e / d[i] if live else 0.0
        x[i] = new
        if with_r:
            r[i] = e - d[i] * new if live else 0.0


@serial
def _packed_cycle(x, b, r, d, data, indices, indptr, parent, first, red, omega, visits, k):
    """One cycle from zero on level k and those below: x from b (see `kernels._rbssor` for the passes)."""
    low = first[k]
    mid = low + red[k]
    high = first[k + 1]
    if k == red.size - 1:
        for i in range(low, high):  # one unknown per connected part; a zero row is a part without an equation
            x[i] = b[i] / d[i] if d[i] > 0.0 else 0.0
        return
    for visit in range(visits):
        if visit == 0:
            for i in range(low, mid):
                x[i] = omega * b[i] / d[i] if d[i] > 0.0 else 0.0
            _rows(x, r, b, d, data, indices, indptr, mid, high, 0.0, omega, True)
            _rows(x, r, b, d, data, indices, indptr, low, mid, 1.0, 0.0, True)
        else:
            _rows(x, r, b, d, data, indices, indptr, low, mid, 1.0 - omega, omega, False)
            _rows(x, r, b, d, data, indices, indptr, mid, high, (1.0 - omega) ** 2, (2.0 - omega) * omega, False)
            _rows(x, r, b, d, data, indices, indptr, low, mid, 1.0 - omega, omega, True)
            _rows(x, r, b, d, data, indices, indptr, mid, high, 1.0, 0.0, True)
        for i in range(high, first[k + 2]):
            b[i] = 0.0
        for i in range(low, high):
            if parent[i] >= 0:
                b[parent[i]] += r[i]
        _packed_cycle(x, b, r, d, data, indices, indptr, parent, first, red, omega, visits, k + 1)
        for i in range(low, high):
            if parent[i] >= 0:
                x[i] += x[parent[i]]
    _rows(x, r, b, d, data, indices, indptr, mid, high, 1.0 - omega, omega, False)
    _rows(x, r, b, d, data, indices, indptr, low, mid, 1.0 - omega, omega, False)


@serial
def _packed_shift(d, base, shift, parent, first, red, alpha):
    """Diagonals of all levels for a shift given on the first: base + shift, restricted with alpha downwards."""
    for k in range(red.size):
        if k > 0:
            for i in range(first[k], first[k + 1]):
                shift[i] = 0.0
            for i in range(first[k - 1], first[k]):
                if parent[i] >= 0:
                    shift[parent[i]] += alpha * shift[i]
        for i in range(first[k], first[k + 1]):
            d[i] = base[i] + shift[i]
