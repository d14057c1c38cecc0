"""The box smoother of Aanjaneya §6.3: around every face, solve for the faces of its stencil, with all others fixed.

A box is a list of local faces, given relative to its centre by role (0: the centre's own component a, 1 and 2: the
components b, c that follow it) and offsets along the axes a, b, c. Its matrix is a sum over the stress samples that
touch it: `sample[s] = (kind, offsets)`, kinds 0, 4, 5 a cell for role 0, 1, 2, kinds 1 2 3 the edges between roles
0-1, 0-2, 1-2; the faces
of sample s and their signs are entries ptr[s]..ptr[s+1]. Boxes whose rows are all plain share one inverse.

Colours: the grid is cut into slabs four cells thick along its first axis; every second slab is independent of the
others (a box writes at most two cells away and reads at most three), so the result does not depend on the number of
threads. Inside a slab faces are visited in order, or in reverse, which makes the second sweep the adjoint of the first.
"""

import numpy as np

from ....kernels import parallel, prange, serial
from ....kernels._faces import _bases, _cells, _plain_neighbours, _product


@serial
def _assemble_box(A, t, a, m, k, where, strides, P, sample, ptr, local, sign):
    """The matrix of the box at face t of component a; rows of absent faces (where < 0) become the identity."""
    n = where.size
    A[:n, :n] = 0.0
    sa, sb, sc = strides[a], strides[(a + 1) % 3], strides[(a + 2) % 3]
    bases = (
        _cells(a, P, k.size), (1 + (a + 2) % 3) * P, (1 + (a + 1) % 3) * P, (1 + a) * P,
        _cells((a + 1) % 3, P, k.size), _cells((a + 2) % 3, P, k.size),
    )  # fmt: skip
    for s in range(sample.shape[0]):
        value = k[bases[sample[s, 0]] + t + sample[s, 1] * sa + sample[s, 2] * sb + sample[s, 3] * sc]
        if value != 0.0:
            for e in range(ptr[s], ptr[s + 1]):
                if where[local[e]] >= 0:
                    for f in range(ptr[s], ptr[s + 1]):
                        if where[local[f]] >= 0:
                            A[local[e], local[f]] += value * sign[e] * sign[f]
    for q in range(n):
        if where[q] >= 0:
            A[q, q] += m[where[q]]
        else:
            A[q, q] = 1.0


@serial
def _cholesky_solve(A, r):
    """r := A⁻¹ r, A overwritten by its factor. If a pivot vanishes (semidefinite matrix), its unknown is unchanged."""
    n = r.size
    for i in range(n):
        d = A[i, i]
        small = 1e-12 * d
        for q in range(i):
            d -= A[i, q] * A[i, q]
        if d > small:
            inv = 1.0 / np.sqrt(d)
            A[i, i] = inv
            for j in range(i + 1, n):
                s = A[j, i]
                for q in range(i):
                    s -= A[i, q] * A[j, q]
                A[j, i] = s * inv
        else:
            A[i, i] = 0.0
            for j in range(i + 1, n):
                A[j, i] = 0.0
    for i in range(n):
        s = r[i]
        for q in range(i):
            s -= A[i, q] * r[q]
        r[i] = s * A[i, i]
    for i in range(n - 1, -1, -1):
        s = r[i]
        for q in range(i + 1, n):
            s -= A[q, i] * r[q]
        r[i] = s * A[i, i]


@serial
def _box_at(x, b, t, a, m, k, kind, plain, strides, P, role, offset, sample, ptr, local, sign, inverse, A, r, z, where):
    """Solve one box and add the correction."""
    n = role.size
    sa, sb, sc = strides[a], strides[(a + 1) % 3], strides[(a + 2) % 3]
    same = kind[a * P + t] == 2
    for q in range(n):
        c = (a + role[q]) % 3
        u = t + offset[q, 0] * sa + offset[q, 1] * sb + offset[q, 2] * sc
        where[q] = c * P + u if kind[c * P + u] > 0 else -1
        r[q] = 0.0
        if where[q] >= 0:
            C0, C1, C2, K0, K1, K2, s0, s1, s2 = _bases(c, strides, P, k.size)
            v = np.uint64(u)
            if same:
                k0, k1, k2 = plain[c, 1], plain[c, 2], plain[c, 3]
                d = plain[c, 0] + 2 * (k0 + k1 + k2)
                r[q] = (b[C0 + v] - d * x[C0 + v]) + _plain_neighbours(x, v, C0, C1, C2, k0, k1, k2, s0, s1, s2)
            else:
                r[q] = b[C0 + v] - _product(x, m, k, v, C0, C1, C2, K0, K1, K2, s0, s1, s2)
    if same:
        for q in range(n):
            s = 0.0
            for e in range(n):
                s += inverse[a, q, e] * r[e]
            z[q] = s
        for q in range(n):
            if where[q] >= 0:
                x[where[q]] += z[q]
    else:
        _assemble_box(A, t, a, m, k, where, strides, P, sample, ptr, local, sign)
        _cholesky_solve(A, r)
        for q in range(n):
            if where[q] >= 0:
                x[where[q]] += r[q]


@parallel
def _box_sweep(
    x, b, m, k, kind, runs, slabs, colour, backward, plain, strides, P, role, offset, sample, ptr, local, sign, inverse
):
    """All boxes of the slabs of one colour; slabs[s] is the first run of slab s."""
    count = (slabs.size - 1 - colour + 1) // 2
    for h in prange(count):
        s = 2 * h + colour
        n = role.size
        A, r, z, where = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n, np.int64)
        first, last = slabs[s], slabs[s + 1]
        for e in range(first, last):
            run = runs[last - 1 - (e - first)] if backward else runs[e]
            for f in range(run[1], run[2]):
                t = run[2] - 1 - (f - run[1]) if backward else f
                _box_at(
                    x, b, t, run[0], m, k, kind, plain, strides, P,
                    role, offset, sample, ptr, local, sign, inverse, A, r, z, where,
                )  # fmt: skip


@parallel
def _mark_boxes(kind, active, constant, shape, member, role, offset):
    """kind = 0 not an unknown, 1 an unknown, 2 an unknown with a complete box whose rows are all plain."""
    M0, M1, M2 = shape[0], shape[1], shape[2]
    P = M0 * M1 * M2
    strides = (M1 * M2, M2, 1)
    for i in prange(M0):
        for a in range(3):
            for w in range(M1 * M2):
                t = i * M1 * M2 + w
                if active[a * P + t]:
                    whole = True
                    for q in range(role.size):
                        if member[a, q] and whole:
                            u = t
                            for axis in range(3):
                                u += offset[q, axis] * strides[(a + axis) % 3]
                            c = (a + role[q]) % 3
                            whole = 0 <= u < P and active[c * P + u] and constant[c * P + u]
                    kind[a * P + t] = 2 if whole else 1
