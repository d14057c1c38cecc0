"""The box smoother of Aanjaneya §6.3: around every face, solve for the faces of its stencil, with all others fixed.

A box is a list of local faces, given relative to its centre by role (0: the centre's own component a, 1 and 2: the
components b, c that follow it) and offsets along the axes a, b, c. Its matrix is a sum over the stress samples that
touch it: `sample[s] = (kind, offsets)`, kinds 0, 4, 5 a cell for role 0, 1, 2, kinds 1 2 3 the edges between roles
0-1, 0-2, 1-2; the faces of sample s and their signs are entries ptr[s]..ptr[s+1].

Boxes with the same coefficients have the same inverse, which is computed once: one for all boxes inside the liquid, and
one for every other kind (`kinds`); a wall along the grid has a few. The rarest ones are factored in every sweep if
there are too many kinds to store.

Order: the grid is cut into slabs four cells thick along its first axis; every second slab is independent of the others
(a box writes at most two cells away and reads at most three), so the result does not depend on the number of threads.
Inside a slab runs of faces are visited in order. In a run every C-th box is independent of the others, so these are
solved together, in loops over neighbouring numbers: x is packed by colour, first the entries 0, C, 2C … of a line, then
1, C + 1 … In reverse, all this is the adjoint sweep.
"""

from typing import NamedTuple

import numpy as np

from ....kernels import parallel, prange, serial
from ....kernels._faces import _bases, _cells

u64 = np.uint64


class FaceCoefficients(NamedTuple):
    """The system that boxes are taken from: mass and stress coefficients, unknown faces, strides, size of a part."""

    m: np.ndarray
    k: np.ndarray
    active: np.ndarray
    strides: np.ndarray
    P: int


class BoxFaces(NamedTuple):
    """The faces of a box and its stress samples, as above."""

    role: np.ndarray
    offset: np.ndarray
    sample: np.ndarray
    ptr: np.ndarray
    local: np.ndarray
    sign: np.ndarray


class PackedLines(NamedTuple):
    """Where the faces of boxes are in packed lines.

    Colours of a line begin at `starts`. `members[a]` are the faces of a box of component a, ended by -1, `shift[a, q]`
    their places relative to the box; near[a, c, q, s] is the same for entry s of row q, in a line of colour c.
    """

    starts: np.ndarray
    members: np.ndarray
    shift: np.ndarray
    near: np.ndarray


class BoxInverses(NamedTuple):
    """Of boxes: `shared` inside the liquid, `stored` of the other `kinds`; -1 is a kind that is not stored."""

    shared: np.ndarray
    stored: np.ndarray
    kinds: np.ndarray


_PRIME = u64(1099511628211)


@serial
def _assemble_box(A, t, a, m, k, where, strides, P, sample, ptr, local, sign):
    """The matrix of the box at face t of component a; rows of absent faces (where < 0) become the identity."""
    n = where.size
    A[:n, :n] = 0.0
    for s in range(sample.shape[0]):
        value = k[_sample_at(t, a, k.size, strides, P, sample[s])]
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
def _sample_at(t, a, size, strides, P, sample):
    """Where the coefficient of a stress sample of the box at face t is in `k`."""
    b, c, kind = (a + 1) % 3, (a + 2) % 3, sample[0]
    if kind == 0 or kind > 3:
        base = _cells((a + max(kind - 3, 0)) % 3, P, size)
    else:
        base = (1 + (c if kind == 1 else b if kind == 2 else a)) * P
    return base + t + sample[1] * strides[a] + sample[2] * strides[b] + sample[3] * strides[c]


@serial
def _places(where, t, a, active, strides, P, role, offset):
    """Where the faces of the box at face t are in a vector; -1 if a face is absent."""
    for q in range(role.size):
        c, u = (a + role[q]) % 3, t
        for axis in range(3):
            u += offset[q, axis] * strides[(a + axis) % 3]
        where[q] = c * P + u if active[c * P + u] else -1


@serial
def _factor(A):
    """A := its Cholesky factor, with inverses on the diagonal; 0 where a pivot vanishes (semidefinite matrix)."""
    n = A.shape[0]
    for i in range(n):
        d = A[i, i]
        small = 1e-12 * d
        for q in range(i):
            d -= A[i, q] * A[i, q]
        inv = 1.0 / np.sqrt(d) if d > small else 0.0
        A[i, i] = inv
        for j in range(i + 1, n):
            s = A[j, i]
            for q in range(i):
                s -= A[i, q] * A[j, q]
            A[j, i] = s * inv


@serial
def _substitute(A, r):
    """r := (L Lᵀ)⁻¹ r; the unknown of a vanished pivot becomes 0."""
    n = r.size
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


@parallel
def _invert_boxes(out, centres, faces, box):
    """out[e] = the inverse of the box at centres[e] = component · P + t, 0 in rows and columns of absent faces."""
    m, k, active, strides, P = faces
    role, offset, sample, ptr, local, sign = box
    for e in prange(centres.size):
        n = role.size
        A, V, where = np.empty((n, n)), np.empty((n, n)), np.empty(n, np.int64)
        a, t = centres[e] // P, centres[e] % P
        _places(where, t, a, active, strides, P, role, offset)
        _assemble_box(A, t, a, m, k, where, strides, P, sample, ptr, local, sign)
        _factor(A)
        for q in range(n):  # V = L⁻ᵀ, and the inverse is V Vᵀ
            V[q, q] = A[q, q]
            for i in range(q + 1, n):
                s = 0.0
                for p in range(q, i):
                    s -= A[i, p] * V[q, p]
                V[q, i] = s * A[i, i]
        for q in range(n):
            for p in range(q + 1):
                s = 0.0
                if where[p] >= 0 and where[q] >= 0:
                    for i in range(q, n):
                        s += V[p, i] * V[q, i]
                out[e, p, q] = s
                out[e, q, p] = s


@parallel
def _box_keys(keys, runs, faces, box):
    """A number for every box in a run that is not plain; equal numbers mean equal coefficients, to 2e-6."""
    m, k, active, strides, P = faces
    role, offset, sample = box.role, box.offset, box.sample
    for run in prange(runs.shape[0]):
        if not runs[run, 3]:
            a = runs[run, 0]
            where = np.empty(role.size, np.int64)
            for t in range(runs[run, 1], runs[run, 2]):
                key = u64(a)
                _places(where, t, a, active, strides, P, role, offset)
                for q in range(role.size):
                    key = (key ^ _digits(m[where[q]] if where[q] >= 0 else -1.0)) * _PRIME
                for s in range(sample.shape[0]):
                    key = (key ^ _digits(k[_sample_at(t, a, k.size, strides, P, sample[s])])) * _PRIME
                    key ^= key >> u64(29)
                keys[runs[run, 4] + t - runs[run, 1]] = key


@serial
def _digits(value):
    """The leading digits of a number, as an integer."""
    return u64(np.float32(value).view(np.uint32) >> np.uint32(4))


# -- sweeps ------------------------------------------------------------------------------------------------------


@parallel
def _pack(packed, x, rows, length, starts):
    """Lines of x, sorted by colour."""
    for r in prange(rows.size):
        C = starts.size
        for colour in range(C):
            at, out = u64(rows[r] + colour), u64(rows[r] + starts[colour])
            for e in range(u64((length - colour + C - 1) // C)):
                packed[out + e] = x[at + u64(C) * e]


@parallel
def _unpack(x, packed, rows, length, starts):
    """The reverse of `_pack`; the packed lines are set to zero."""
    for r in prange(rows.size):
        C = starts.size
        for colour in range(C):
            at, out = u64(rows[r] + colour), u64(rows[r] + starts[colour])
            for e in range(u64((length - colour + C - 1) // C)):
                x[at + u64(C) * e] = packed[out + e]
                packed[out + e] = 0.0


@serial
def _plain_row(R, q, x, b, near, a, c, at, place, lanes, of, plain):
    """R[q, e] = the residual of row q of every box e, a plain row of component `of`."""
    number, end, step = x.dtype.type, u64(lanes), u64(near.shape[1])
    ka, kb, kc = number(plain[of, 1]), number(plain[of, 2]), number(plain[of, 3])
    d = number(plain[of, 0]) + ka + ka + kb + kb + kc + kc
    for e in range(end):
        R[q, e] = b[u64(place) + step * e]
    o0, o1, o2 = u64(at + near[a, c, q, 0]), u64(at + near[a, c, q, 1]), u64(at + near[a, c, q, 2])
    o3, o4 = u64(at + near[a, c, q, 3]), u64(at + near[a, c, q, 4])
    for e in range(end):
        R[q, e] += (ka * (x[o1 + e] + x[o2 + e]) - d * x[o0 + e]) + kb * (x[o3 + e] + x[o4 + e])
    o0, o1 = u64(at + near[a, c, q, 7]), u64(at + near[a, c, q, 8])
    o2, o3 = u64(at + near[a, c, q, 9]), u64(at + near[a, c, q, 10])
    for e in range(end):
        R[q, e] += kb * ((x[o2 + e] - x[o3 + e]) - (x[o0 + e] - x[o1 + e]))
    o0, o1 = u64(at + near[a, c, q, 11]), u64(at + near[a, c, q, 12])
    o2, o3 = u64(at + near[a, c, q, 13]), u64(at + near[a, c, q, 14])
    o4, o5 = u64(at + near[a, c, q, 5]), u64(at + near[a, c, q, 6])
    for e in range(end):
        R[q, e] += kc * ((x[o4 + e] + x[o5 + e]) + ((x[o2 + e] - x[o3 + e]) - (x[o0 + e] - x[o1 + e])))


@serial
def _general_rows(R, e, x, b, m, k, near, shift, members, role, place, strides):
    """R[q, e] = the residual of every row q of one box, with every coefficient loaded; 0 outside of the grid.

    The `place` of the box: its component, its colour, and where it is in a packed line and in the grid.
    """
    a, c, at, t, size = place
    P, outside = m.size // 3, strides[0] + strides[1]
    for n in range(size):
        q = members[a, n]
        of = (a + role[q]) % 3
        u = shift[a, q] + t - of * P
        if u < outside or u + outside >= P:
            R[q, e] = 0.0
            continue
        v = u64(u)
        A, _, _, KA, KB, KC, sa, sb, sc = _bases(of, strides, P, k.size)
        own = x[u64(at + near[a, c, q, 0])]
        s = m[A + v] * own
        s += k[KA + v - sa] * (own - x[u64(at + near[a, c, q, 1])])
        s -= k[KA + v] * (x[u64(at + near[a, c, q, 2])] - own)
        across = x[u64(at + near[a, c, q, 7])] - x[u64(at + near[a, c, q, 8])]
        s += k[KB + v] * ((own - x[u64(at + near[a, c, q, 3])]) + across)
        across = x[u64(at + near[a, c, q, 9])] - x[u64(at + near[a, c, q, 10])]
        s -= k[KB + v + sb] * ((x[u64(at + near[a, c, q, 4])] - own) + across)
        across = x[u64(at + near[a, c, q, 11])] - x[u64(at + near[a, c, q, 12])]
        s += k[KC + v] * ((own - x[u64(at + near[a, c, q, 5])]) + across)
        across = x[u64(at + near[a, c, q, 13])] - x[u64(at + near[a, c, q, 14])]
        s -= k[KC + v + sc] * ((x[u64(at + near[a, c, q, 6])] - own) + across)
        R[q, e] = b[A + v] - s


@serial
def _multiply(Z, R, inverse, kind, members, a, size, first, last):
    """Z = inverse R for the boxes from first to last, fifteen faces at a time: starting a loop costs much."""
    first, last = u64(first), u64(last)
    for k in range(0, R.shape[0], 15):
        for n in range(size):
            p = members[a, n]
            w0, w1, w2 = inverse[kind, p, k], inverse[kind, p, k + 1], inverse[kind, p, k + 2]
            w3, w4, w5 = inverse[kind, p, k + 3], inverse[kind, p, k + 4], inverse[kind, p, k + 5]
            w6, w7, w8 = inverse[kind, p, k + 6], inverse[kind, p, k + 7], inverse[kind, p, k + 8]
            w9, w10, w11 = inverse[kind, p, k + 9], inverse[kind, p, k + 10], inverse[kind, p, k + 11]
            w12, w13, w14 = inverse[kind, p, k + 12], inverse[kind, p, k + 13], inverse[kind, p, k + 14]
            for e in range(first, last):
                s = (
                    ((w0 * R[k, e] + w1 * R[k + 1, e]) + (w2 * R[k + 2, e] + w3 * R[k + 3, e]))
                    + ((w4 * R[k + 4, e] + w5 * R[k + 5, e]) + (w6 * R[k + 6, e] + w7 * R[k + 7, e]))
                    + ((w8 * R[k + 8, e] + w9 * R[k + 9, e]) + (w10 * R[k + 10, e] + w11 * R[k + 11, e]))
                    + ((w12 * R[k + 12, e] + w13 * R[k + 13, e]) + w14 * R[k + 14, e])
                )
                Z[p, e] = s if k == 0 else Z[p, e] + s


@parallel
def _box_sweep(x, b, faces, runs, slabs, colour, backward, plain, lines, box, inverses):
    """All boxes of the slabs of one colour; slabs[s] is the first run of slab s, x is packed."""
    m, k, active, strides, P = faces
    starts, members, shift, near = lines
    role, offset, sample, ptr, local, sign = box
    shared, stored, kinds = inverses
    for h in prange((slabs.size - 1 - colour + 1) // 2):
        n, C, line = role.size, starts.size, strides[1]
        wide = line // C + 1
        R, Z = np.zeros((n, wide), x.dtype), np.zeros((n, wide), x.dtype)
        A, r, where = np.empty((n, n)), np.empty(n), np.empty(n, np.int64)
        first, last = slabs[2 * h + colour], slabs[2 * h + colour + 1]
        for g in range(first, last):
            g = last - 1 - (g - first) if backward else g
            a, begin, is_plain = runs[g, 0], runs[g, 1] - runs[g, 1] % line, runs[g, 3] > 0
            size = 0
            while size < n and members[a, size] >= 0:
                size += 1
            for c in range(C):
                c = C - 1 - c if backward else c
                low = (runs[g, 1] - begin - c + C - 1) // C
                lanes = (runs[g, 2] - begin - c + C - 1) // C - low
                at, t = begin + low, begin + C * low + c
                if lanes > 0 and is_plain:
                    for j in range(size):
                        q = members[a, j]
                        _plain_row(R, q, x, b, near, a, c, at, shift[a, q] + t, lanes, (a + role[q]) % 3, plain)
                    _multiply(Z, R, shared, a, members, a, size, 0, lanes)
                else:
                    number = runs[g, 4] + t - runs[g, 1]
                    for e in range(lanes):
                        _general_rows(
                            R, e, x, b, m, k, near, shift, members, role, (a, c, at + e, t + C * e, size), strides
                        )
                    e = 0
                    while e < lanes:
                        kind, f = kinds[number + C * e], e + 1
                        if kind >= 0:
                            while f < lanes and kinds[number + C * f] == kind:
                                f += 1
                            _multiply(Z, R, stored, kind, members, a, size, e, f)
                        else:
                            _places(where, t + C * e, a, active, strides, P, role, offset)
                            _assemble_box(A, t + C * e, a, m, k, where, strides, P, sample, ptr, local, sign)
                            _factor(A)
                            for q in range(n):
                                r[q] = R[q, e] if where[q] >= 0 else 0.0
                            _substitute(A, r)
                            for q in range(n):
                                Z[q, e] = r[q]
                        e = f
                for j in range(size):
                    q = members[a, j]
                    o = u64(at + near[a, c, q, 0])
                    for e in range(u64(max(lanes, 0))):
                        x[o + e] += Z[q, e]


@parallel
def _mark_boxes(whole, active, constant, shape, member, role, offset):
    """True for an unknown with a complete box whose rows are all plain."""
    M0, M1, M2 = shape[0], shape[1], shape[2]
    P = M0 * M1 * M2
    strides = (M1 * M2, M2, 1)
    for i in prange(M0):
        for a in range(3):
            for w in range(M1 * M2):
                t = i * M1 * M2 + w
                if active[a * P + t]:
                    good = True
                    for q in range(role.size):
                        if member[a, q] and good:
                            u = t
                            for axis in range(3):
                                u += offset[q, axis] * strides[(a + axis) % 3]
                            c = (a + role[q]) % 3
                            good = 0 <= u < P and active[c * P + u] and constant[c * P + u]
                    whole[a * P + t] = good
