"""Gauss–Seidel on the rows that touch rigid bodies, where every row of a body is coupled to every other."""

from . import serial


@serial
def _relax_around_bodies(x, c, b, lower, upper, rows, near, weight, d, indptr, column, entry, image):
    """One projected sweep over `rows` of `B + U S Uᵀ`; c = S Uᵀ x is kept up to date.

    near, weight: (rows, 6) neighbours of each row and what couples them (0 where there is none); d the diagonal of
    the whole operator; indptr, column, entry: U by rows; image: U S, entry by entry.
    """
    for e in range(rows.size):
        t = rows[e]
        s = b[t]
        for q in range(6):
            s += weight[e, q] * x[near[e, q]]
        own = 0.0
        for p in range(indptr[e], indptr[e + 1]):
            s -= entry[p] * c[column[p]]
            own += entry[p] * image[p]
        # what the row's own x contributes through the body is part of its diagonal
        new = x[t] if d[t] <= 0.0 else (s + own * x[t]) / d[t]
        new = min(max(new, lower[t]), upper[t])
        step = new - x[t]
        if step != 0.0:
            for p in range(indptr[e], indptr[e + 1]):
                c[column[p]] += image[p] * step
            x[t] = new
