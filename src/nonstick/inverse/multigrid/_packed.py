"""All small levels of an aggregation hierarchy in one compiled call.

Levels lie one after the other in every array: level k owns rows first[k, 0] to first[k, -1], colour c of it those from
first[k, c] to first[k, c + 1]; `parent` and `indices` are numbers in the packed arrays. Compiled recursion spares a
Python call per level and visit, of which a W-cycle makes 2^levels.
"""

from ...kernels import inline, serial


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
def _packed_cycle(x, b, r, d, data, indices, indptr, parent, first, omega, visits, k):
    """One cycle from zero on level k and those below: x from b (see `multigrid.rbssor` for the passes)."""
    last = first.shape[1] - 2
    while last > 1 and first[k, last] == first[k, last + 1]:
        last -= 1  # trailing colours this level does not have
    low = first[k, 0]
    high = first[k, last + 1]
    if k == first.shape[0] - 1:
        for i in range(low, high):  # one unknown per connected part; a zero row is a part without an equation
            x[i] = b[i] / d[i] if d[i] > 0.0 else 0.0
        return
    for visit in range(visits):
        if visit == 0:
            for i in range(low, first[k, 1]):
                x[i] = omega * b[i] / d[i] if d[i] > 0.0 else 0.0
            for i in range(first[k, 1], high):
                x[i] = 0.0
            for c in range(1, last + 1):
                _rows(x, r, b, d, data, indices, indptr, first[k, c], first[k, c + 1], 0.0, omega, c == last)
            for c in range(last):
                _rows(x, r, b, d, data, indices, indptr, first[k, c], first[k, c + 1], 1.0, 0.0, True)
        else:
            for c in range(last + 1):
                keep, gain = 1.0 - omega, omega
                if c == last:  # there and back at once
                    keep, gain = (1.0 - omega) ** 2, (2.0 - omega) * omega
                _rows(x, r, b, d, data, indices, indptr, first[k, c], first[k, c + 1], keep, gain, False)
            for c in range(last - 1, -1, -1):
                _rows(x, r, b, d, data, indices, indptr, first[k, c], first[k, c + 1], 1.0 - omega, omega, c == 0)
            for c in range(1, last + 1):
                _rows(x, r, b, d, data, indices, indptr, first[k, c], first[k, c + 1], 1.0, 0.0, True)
        for i in range(high, first[k + 1, first.shape[1] - 1]):
            b[i] = 0.0
        for i in range(low, high):
            if parent[i] >= 0:
                b[parent[i]] += r[i]
        _packed_cycle(x, b, r, d, data, indices, indptr, parent, first, omega, visits, k + 1)
        for i in range(low, high):
            if parent[i] >= 0:
                x[i] += x[parent[i]]
    for c in range(last, -1, -1):
        _rows(x, r, b, d, data, indices, indptr, first[k, c], first[k, c + 1], 1.0 - omega, omega, False)


@serial
def _packed_shift(d, base, shift, parent, first, alpha):
    """Diagonals of all levels for a shift given on the first: base + shift, restricted with alpha downwards."""
    end = first.shape[1] - 1
    for k in range(first.shape[0]):
        if k > 0:
            for i in range(first[k, 0], first[k, end]):
                shift[i] = 0.0
            for i in range(first[k - 1, 0], first[k - 1, end]):
                if parent[i] >= 0:
                    shift[parent[i]] += alpha * shift[i]
        for i in range(first[k, 0], first[k, end]):
            d[i] = base[i] + shift[i]
