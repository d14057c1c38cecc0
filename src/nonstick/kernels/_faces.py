"""The viscosity operator on the faces of a padded staggered grid, run by run.

With m the mass of a face, k the coefficient `2 mu V dt/(rho dx²)` of a cell and `mu V dt/(rho dx²)` of
an edge, the row of a face of component a is (b, c the other two axes, s their strides)

    m x_a + k_cell differences along a
          + k_edge ((x_a - x_a[-s_b]) + (x_b - x_b[-s_a])) - the same one step further along b
          + the same for c.

Layout (see `nonstick.operators.faces`): a vector is one flat array of three padded components of P
entries; `k` holds the cells and then the edges along axes 0, 1, 2, also P each; if the coefficient of a cell differs
between components (coarse levels), those of components 1 and 2 follow. Faces that are not unknowns hold zero and are
never written. A run is a stretch of unknowns along the last axis: `runs[r] = (component, first t, last t + 1, plain,
position in the compact vector)`. A run is plain if all its rows have full volumes and one viscosity: its coefficients
are then constant (`plain[a] = (mass, cell, edge towards b, edge towards c)`) and are not loaded.

Two-dimensional grids have one cell along axis 0 and no unknowns of component 0.
Indices are unsigned: a signed index makes numba test for wrap-around, and the loop would not vectorise.
"""

import numpy as np

from . import merged, parallel, prange, serial

u64 = np.uint64


@merged
def _product(x, m, k, t, A, B, C, KA, KB, KC, sa, sb, sc):
    """(A x)_t with every coefficient loaded."""
    own = x[A + t]
    return (
        m[A + t] * own
        + (k[KA + t - sa] * (own - x[A + t - sa]) - k[KA + t] * (x[A + t + sa] - own))
        + (
            k[KB + t] * ((own - x[A + t - sb]) + (x[B + t] - x[B + t - sa]))
            - k[KB + t + sb] * ((x[A + t + sb] - own) + (x[B + t + sb] - x[B + t + sb - sa]))
        )
        + (
            k[KC + t] * ((own - x[A + t - sc]) + (x[C + t] - x[C + t - sa]))
            - k[KC + t + sc] * ((x[A + t + sc] - own) + (x[C + t + sc] - x[C + t + sc - sa]))
        )
    )


@merged
def _plain_neighbours(x, t, A, B, C, ka, kb, kc, sa, sb, sc):
    """The off-diagonal part of minus (A x)_t with constant coefficients."""
    return (
        ka * (x[A + t - sa] + x[A + t + sa])
        + kb * ((x[A + t - sb] + x[A + t + sb]) + ((x[B + t + sb] - x[B + t + sb - sa]) - (x[B + t] - x[B + t - sa])))
        + kc * ((x[A + t - sc] + x[A + t + sc]) + ((x[C + t + sc] - x[C + t + sc - sa]) - (x[C + t] - x[C + t - sa])))
    )


@serial
def _cells(a, P, size):
    """The start of the cells' coefficients for component a in a `k` of this size."""
    return (3 + a) * P if a > 0 and size > 4 * P else 0


@serial
def _bases(a, strides, P, size):
    """Offsets of the own and the two other components, of the cells and the two edge arrays, and the strides."""
    b, c = (a + 1) % 3, (a + 2) % 3
    return (
        u64(a * P), u64(b * P), u64(c * P), u64(_cells(a, P, size)), u64((1 + c) * P), u64((1 + b) * P),
        u64(strides[a]), u64(strides[b]), u64(strides[c]),
    )  # fmt: skip


@serial
def _apply_run(out, x, m, k, run, plain, strides, P):
    a = run[0]
    A, B, C, KA, KB, KC, sa, sb, sc = _bases(a, strides, P, k.size)
    if run[3]:
        ka, kb, kc = x.dtype.type(plain[a, 1]), x.dtype.type(plain[a, 2]), x.dtype.type(plain[a, 3])
        d = x.dtype.type(plain[a, 0]) + ka + ka + kb + kb + kc + kc
        for t in range(u64(run[1]), u64(run[2])):
            out[A + t] = d * x[A + t] - _plain_neighbours(x, t, A, B, C, ka, kb, kc, sa, sb, sc)
    else:
        for t in range(u64(run[1]), u64(run[2])):
            out[A + t] = _product(x, m, k, t, A, B, C, KA, KB, KC, sa, sb, sc)


@serial
def _residual_run(out, b, x, m, k, run, plain, strides, P):
    a = run[0]
    A, B, C, KA, KB, KC, sa, sb, sc = _bases(a, strides, P, k.size)
    R = A if b.size == x.size else u64(run[4]) - u64(run[1])  # b is padded, or compact
    if run[3]:
        ka, kb, kc = x.dtype.type(plain[a, 1]), x.dtype.type(plain[a, 2]), x.dtype.type(plain[a, 3])
        d = x.dtype.type(plain[a, 0]) + ka + ka + kb + kb + kc + kc
        for t in range(u64(run[1]), u64(run[2])):
            out[A + t] = (b[R + t] - d * x[A + t]) + _plain_neighbours(x, t, A, B, C, ka, kb, kc, sa, sb, sc)
    else:
        for t in range(u64(run[1]), u64(run[2])):
            out[A + t] = b[R + t] - _product(x, m, k, t, A, B, C, KA, KB, KC, sa, sb, sc)


@parallel
def _faces_apply(out, x, m, k, runs, plain, strides, P):
    """out = A x on the unknowns."""
    for r in prange(runs.shape[0]):
        _apply_run(out, x, m, k, runs[r], plain, strides, P)


@parallel
def _faces_apply_dot(out, partial, x, m, k, runs, plain, strides, P):
    """out = A x, and partial[r] = x . A x over run r."""
    for r in prange(runs.shape[0]):
        _apply_run(out, x, m, k, runs[r], plain, strides, P)
        base = runs[r, 0] * P
        s = 0.0
        for t in range(base + runs[r, 1], base + runs[r, 2]):
            s += x[t] * out[t]
        partial[r] = s


@parallel
def _faces_residual(out, b, x, m, k, runs, plain, strides, P):
    """out = b - A x on the unknowns; b may be compact."""
    for r in prange(runs.shape[0]):
        _residual_run(out, b, x, m, k, runs[r], plain, strides, P)


@parallel
def _faces_diagonal(out, m, k, runs, strides, P):
    """out = diag(A) on the unknowns."""
    for r in prange(runs.shape[0]):
        A, _, _, KA, KB, KC, sa, sb, sc = _bases(runs[r, 0], strides, P, k.size)
        for t in range(u64(runs[r, 1]), u64(runs[r, 2])):
            out[A + t] = (
                m[A + t] + k[KA + t - sa] + k[KA + t] + k[KB + t] + k[KB + t + sb] + k[KC + t] + k[KC + t + sc]
            )  # fmt: skip


@parallel
def _gather(compact, x, runs, P):
    """From the padded layout to the compact vector of unknowns."""
    for r in prange(runs.shape[0]):
        at = runs[r, 4] - runs[r, 1]
        base = runs[r, 0] * P
        for t in range(runs[r, 1], runs[r, 2]):
            compact[at + t] = x[base + t]


@parallel
def _scatter(x, compact, runs, P):
    """From the compact vector of unknowns to the padded layout."""
    for r in prange(runs.shape[0]):
        at = runs[r, 4] - runs[r, 1]
        base = runs[r, 0] * P
        for t in range(runs[r, 1], runs[r, 2]):
            x[base + t] = compact[at + t]


@parallel
def _copy_runs(out, x, factor, runs, P):
    """out = factor x on the runs."""
    for r in prange(runs.shape[0]):
        base = runs[r, 0] * P
        for t in range(u64(base + runs[r, 1]), u64(base + runs[r, 2])):
            out[t] = factor * x[t]


@serial
def _cut_runs(runs, active, plainness, shape, shortest):
    """Fill the run table, pencil by pencil; returns the number of runs. With no rows in `runs`, it only counts.

    `active` and `plainness` are (3, M0, M1, M2). A plain stretch shorter than `shortest` is merged with its neighbours:
    starting a loop costs more than loading coefficients.
    """
    count = 0
    write = runs.shape[0] > 0
    M0, M1, M2 = shape[0], shape[1], shape[2]
    kind = np.empty(M2, np.int8)
    for i in range(M0):
        for j in range(M1):
            row = (i * M1 + j) * M2
            for a in range(3):
                for q in range(M2):
                    kind[q] = 0
                    if active[a, i, j, q]:
                        kind[q] = 2 if plainness[a, i, j, q] else 1
                q = 0
                while q < M2:  # demote short plain stretches
                    e = q
                    while e < M2 and kind[e] == kind[q]:
                        e += 1
                    if kind[q] == 2 and e - q < shortest:
                        for f in range(q, e):
                            kind[f] = 1
                    q = e
                q = 0
                while q < M2:
                    e = q
                    while e < M2 and kind[e] == kind[q]:
                        e += 1
                    if kind[q] > 0:
                        if write:
                            runs[count, 0] = a
                            runs[count, 1] = row + q
                            runs[count, 2] = row + e
                            runs[count, 3] = 1 if kind[q] == 2 else 0
                        count += 1
                    q = e
    return count


@parallel
def _mark_plain(out, m, k, plain, active, shape):
    """out = 1 on unknowns whose row has the constant coefficients of `plain`."""
    M0, M1, M2 = shape[0], shape[1], shape[2]
    P = M0 * M1 * M2
    strides = (M1 * M2, M2, 1)
    for i in prange(M0):
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            sa, sb, sc = strides[a], strides[b], strides[c]
            KA, KB, KC = _cells(a, P, k.size), (1 + c) * P, (1 + b) * P
            for j in range(M1):
                for q in range(M2):
                    if active[a, i, j, q]:
                        t = (i * M1 + j) * M2 + q
                        out[a, i, j, q] = (
                            m[a * P + t] == plain[a, 0]
                            and k[KA + t] == plain[a, 1]
                            and k[KA + t - sa] == plain[a, 1]
                            and k[KB + t] == plain[a, 2]
                            and k[KB + t + sb] == plain[a, 2]
                            and k[KC + t] == plain[a, 3]
                            and k[KC + t + sc] == plain[a, 3]
                        )


@serial
def _polynomial_run(y, x, b, m, k, run, plain, strides, P, cx, cy, cr):
    """y = cx x + cy y + cr D⁻¹ (b - A x) on one run: a step of any three-term recurrence."""
    a = run[0]
    A, B, C, KA, KB, KC, sa, sb, sc = _bases(a, strides, P, k.size)
    cx, cy, cr = x.dtype.type(cx), x.dtype.type(cy), x.dtype.type(cr)
    if run[3]:
        ka, kb, kc = x.dtype.type(plain[a, 1]), x.dtype.type(plain[a, 2]), x.dtype.type(plain[a, 3])
        d = x.dtype.type(plain[a, 0]) + ka + ka + kb + kb + kc + kc
        cr = cr / d
        for t in range(u64(run[1]), u64(run[2])):
            r = (b[A + t] - d * x[A + t]) + _plain_neighbours(x, t, A, B, C, ka, kb, kc, sa, sb, sc)
            y[A + t] = cx * x[A + t] + (cy * y[A + t] + cr * r)
    else:
        for t in range(u64(run[1]), u64(run[2])):
            d = m[A + t] + k[KA + t - sa] + k[KA + t] + k[KB + t] + k[KB + t + sb] + k[KC + t] + k[KC + t + sc]
            r = b[A + t] - _product(x, m, k, t, A, B, C, KA, KB, KC, sa, sb, sc)
            y[A + t] = cx * x[A + t] + (cy * y[A + t] + cr * r / d)


@parallel
def _faces_polynomial(y, x, b, m, k, runs, plain, strides, P, cx, cy, cr):
    for r in prange(0, runs.shape[0], y.size):
        _polynomial_run(y, x, b, m, k, runs[r], plain, strides, P, cx, cy, cr)


@parallel
def _faces_scaled(x, b, m, k, runs, plain, strides, P, cr):
    """x = cr D⁻¹ b: the first step from zero."""
    for r in prange(runs.shape[0]):
        a = runs[r, 0]
        A, _, _, KA, KB, KC, sa, sb, sc = _bases(a, strides, P, k.size)
        f = x.dtype.type(cr)
        if runs[r, 3]:
            f = x.dtype.type(cr / (plain[a, 0] + 2 * (plain[a, 1] + plain[a, 2] + plain[a, 3])))
            for t in range(u64(runs[r, 1]), u64(runs[r, 2])):
                x[A + t] = f * b[A + t]
        else:
            for t in range(u64(runs[r, 1]), u64(runs[r, 2])):
                d = m[A + t] + k[KA + t - sa] + k[KA + t] + k[KB + t] + k[KB + t + sb] + k[KC + t] + k[KC + t + sc]
                x[A + t] = f * b[A + t] / d


@parallel
def _faces_dot(partial, x, y, runs, P):
    """partial[r] = x . y over run r, in float64."""
    for r in prange(runs.shape[0]):
        base = runs[r, 0] * P
        s = 0.0
        for t in range(u64(base + runs[r, 1]), u64(base + runs[r, 2])):
            s += x[t] * y[t]
        partial[r] = s


@parallel
def _faces_peak(partial, x, runs, P):
    """partial[r] = max|x| over run r, infinite if an entry is not a number."""
    for r in prange(runs.shape[0]):
        base = runs[r, 0] * P
        top = 0.0
        for t in range(u64(base + runs[r, 1]), u64(base + runs[r, 2])):
            top = max(top, abs(x[t]))
            if x[t] != x[t]:
                top = np.inf
        partial[r] = top


@parallel
def _cg_direction(p, z, beta, runs, P):
    """p = z + beta p"""
    for r in prange(runs.shape[0]):
        base = runs[r, 0] * P
        for t in range(u64(base + runs[r, 1]), u64(base + runs[r, 2])):
            p[t] = z[t] + beta * p[t]


@parallel
def _cg_update(x, r, low, peak, p, q, alpha, scale, runs, P):
    """x += alpha p, r -= alpha q, low = scale r (in the precision of the preconditioner), peak[run] = max|r|."""
    for n in prange(runs.shape[0]):
        base = runs[n, 0] * P
        top = 0.0
        for t in range(u64(base + runs[n, 1]), u64(base + runs[n, 2])):
            x[t] += alpha * p[t]
            new = r[t] - alpha * q[t]
            r[t] = new
            low[t] = scale * new
            top = max(top, abs(new))
            if new != new:  # a NaN must not hide in the maximum
                top = np.inf
        peak[n] = top
