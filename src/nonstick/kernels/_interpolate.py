"""Trilinear interpolation on MAC grids: from eight entries to the point between them, and back.

Positions are in cells from the lower corner of the grid, a 2D grid has one cell along the first axis. Half of
the time of a substep is spent here, so the functions on faces work on flat arrays (`u.reshape(-1)`, made once by
the kernel) and share their indices among the three components. Most indices depend on the half of the cell in which a
point lies. This is computed by arithmetic, because a branch predictor cannot guess it. Unsigned indices avoid numba's
test for negative ones.

Sums into entries that follow each other in memory are vectors (`add_two`, `add_pairs`): LLVM does not join them,
because it cannot know that other entries are not the same.
"""

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from . import merged, serial

_NUMBER, _INT32, _FLAGS = ir.DoubleType(), ir.IntType(32), ("contract",)


def _vector(builder, *values):
    out = ir.Constant(ir.VectorType(_NUMBER, len(values)), ir.Undefined)
    for k, value in enumerate(values):
        out = builder.insert_element(out, value, _INT32(k))
    return out


def _place(context, builder, type_, flat, q):
    return builder.gep(context.make_array(type_)(context, builder, flat).data, [q])


def _add_vector(builder, place, vector):
    place = builder.bitcast(place, vector.type.as_pointer())
    last = builder.load(place, align=8)
    builder.store(builder.fadd(last, vector, flags=_FLAGS), place, align=8)


def _signature(flat, numbers):
    return types.void(flat, types.uintp, *[types.float64] * numbers)


@intrinsic
def add_two(typingctx, flat, q, weight, low, high):
    """flat[q : q + 2] += weight * (low, high)"""

    def lower(context, builder, signature, values):
        flat, q, weight, low, high = values
        both = builder.fmul(_vector(builder, weight, weight), _vector(builder, low, high), flags=_FLAGS)
        _add_vector(builder, _place(context, builder, signature.args[0], flat, q), both)
        return context.get_dummy_value()

    return _signature(flat, 3), lower


@intrinsic
def add_pairs(typingctx, flat, q, weight, value, low, high, near, far):
    """flat[q : q + 4] += weight * (low * (value + near), low, high * (value + far), high)"""

    def lower(context, builder, signature, values):
        flat, q, weight, value, low, high, near, far = values
        none, one = _NUMBER(0.0), _NUMBER(1.0)
        shares, more = _vector(builder, low, low, high, high), _vector(builder, near, one, far, one)
        more = builder.fmul(shares, more, flags=_FLAGS)
        first = builder.fmul(_vector(builder, *[value] * 4), _vector(builder, low, none, high, none), flags=_FLAGS)
        terms = builder.fadd(first, more, flags=_FLAGS)
        terms = builder.fmul(_vector(builder, *[weight] * 4), terms, flags=_FLAGS)
        _add_vector(builder, _place(context, builder, signature.args[0], flat, q), terms)
        return context.get_dummy_value()

    return _signature(flat, 6), lower


@intrinsic
def prefetch(typingctx, flat, q):
    """Load the line of memory with flat[q] into the cache, without waiting for it."""

    def lower(context, builder, signature, values):
        place = builder.bitcast(_place(context, builder, signature.args[0], *values), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [place.type, _INT32, _INT32, _INT32])
        builder.call(
            builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind), [place, *map(_INT32, (0, 3, 1))]
        )
        return context.get_dummy_value()

    return types.void(flat, types.uintp), lower


if config.DISABLE_JIT:

    def add_two(flat, q, weight, low, high):
        flat[q : q + 2] += weight * low, weight * high

    def add_pairs(flat, q, weight, value, low, high, near, far):
        add_two(flat, q, weight * low, value + near, 1.0)
        add_two(flat, q + 2, weight * high, value + far, 1.0)

    def prefetch(flat, q):
        pass


@serial
def _stride(n):
    """A step through the planes 0 … n - 1 that visits each plane once and spreads any stretch of turns over the grid.

    Each thread gets a stretch of turns; with the planes in order, one thread would get the liquid and another the air.
    """
    step = max(int(0.618 * n), 1)
    while True:
        a, b = n, step
        while b > 0:
            a, b = b, a % b
        if a == 1:
            return step
        step += 1


@merged
def _low(c, n):
    """Lower node of coordinate c among n nodes, clamped."""
    return min(max(int(np.floor(c)), 0), n - 1)


@merged
def _high(c, n):
    return min(max(int(np.floor(c)) + 1, 0), n - 1)


@merged
def _part(c):
    return c - np.floor(c)


@merged
def _sample(f, a, b, c):
    """Trilinear value of a nodal array at node coordinates (a, b, c), clamped at the border."""
    nx, ny, nz = f.shape
    i0, i1, fx = np.uintp(_low(a, nx)), np.uintp(_high(a, nx)), _part(a)
    j0, j1, fy = np.uintp(_low(b, ny)), np.uintp(_high(b, ny)), _part(b)
    k0, k1, fz = np.uintp(_low(c, nz)), np.uintp(_high(c, nz)), _part(c)
    f00, f01, f10, f11 = f[i0, j0, k0], f[i0, j1, k0], f[i1, j0, k0], f[i1, j1, k0]
    f00 += fz * (f[i0, j0, k1] - f00)
    f01 += fz * (f[i0, j1, k1] - f01)
    f10 += fz * (f[i1, j0, k1] - f10)
    f11 += fz * (f[i1, j1, k1] - f11)
    f00 += fy * (f01 - f00)
    f10 += fy * (f11 - f10)
    return f00 + fx * (f10 - f00)


@merged
def _between_faces(a, n):
    """Along an axis of n cells: the cell of coordinate a, its place there, clamped."""
    a = min(max(a, 0.0), float(n))
    i = min(int(a), n - 1)
    return i, a - i


@merged
def _between_centres(a, n):
    """Along an axis of n cells: the two centres around coordinate a, clamped, and the place between them."""
    a = min(max(a, 0.0), float(n)) + 0.5
    i = int(a)
    return max(i - 1, 0), min(i, n - 1), a - i


@merged
def _mix(f, q, si, sj, sk, fx, fy, fz):
    """Trilinear mean of eight entries of a flat array: q and the entries at the strides si, sj, sk from it."""
    f00, f01 = f[np.uintp(q)], f[np.uintp(q + sj)]
    f10, f11 = f[np.uintp(q + si)], f[np.uintp(q + si + sj)]
    f00 += fz * (f[np.uintp(q + sk)] - f00)
    f01 += fz * (f[np.uintp(q + sj + sk)] - f01)
    f10 += fz * (f[np.uintp(q + si + sk)] - f10)
    f11 += fz * (f[np.uintp(q + si + sj + sk)] - f11)
    f00 += fy * (f01 - f00)
    f10 += fy * (f11 - f10)
    return f00 + fx * (f10 - f00)


@merged
def _velocity(u, v, w, nx, ny, nz, a, b, c):
    """The MAC velocity at (a, b, c) on a grid of nx ny nz cells, from flat arrays.

    In 2D `u` is a dummy array of two entries, of which the first is read: a branch would prevent vectorisation.
    """
    i, fx = _between_faces(a, nx)
    j, fy = _between_faces(b, ny)
    k, fz = _between_faces(c, nz)
    i0, i1, gx = _between_centres(a, nx)
    j0, j1, gy = _between_centres(b, ny)
    k0, k1, gz = _between_centres(c, nz)
    di, dj, dk = i1 - i0, j1 - j0, k1 - k0
    t = min(u.size - 2, 1)
    u0 = _mix(u, t * ((i * ny + j0) * nz + k0), t * ny * nz, t * dj * nz, t * dk, fx, gy, gz)
    v0 = _mix(v, (i0 * (ny + 1) + j) * nz + k0, di * (ny + 1) * nz, nz, dk, gx, fy, gz)
    return u0, v0, _mix(w, (i0 * ny + j0) * (nz + 1) + k, di * ny * (nz + 1), dj * (nz + 1), 1, gx, gy, fz)


@merged
def _mix_slope(f, q, si, sj, sk, fx, fy, fz):
    """`_mix` and its slopes along the three axes, per cell."""
    f00, f01 = f[np.uintp(q)], f[np.uintp(q + sj)]
    f10, f11 = f[np.uintp(q + si)], f[np.uintp(q + si + sj)]
    d00, d01 = f[np.uintp(q + sk)] - f00, f[np.uintp(q + sj + sk)] - f01
    d10, d11 = f[np.uintp(q + si + sk)] - f10, f[np.uintp(q + si + sj + sk)] - f11
    f00 += fz * d00
    f01 += fz * d01
    f10 += fz * d10
    f11 += fz * d11
    d00 += fy * (d01 - d00)
    d10 += fy * (d11 - d10)
    e0, e1 = f01 - f00, f11 - f10
    f00 += fy * e0
    f10 += fy * e1
    return f00 + fx * (f10 - f00), f10 - f00, e0 + fx * (e1 - e0), d00 + fx * (d10 - d00)


@merged
def _add(mom, mass, q, weight, value):
    mom[np.uintp(q)] += weight * value
    mass[np.uintp(q)] += weight


@merged
def _splat(mom, mass, q, si, sj, sk, fx, fy, fz, value, near0, far0, near1, far1, near2, far2):
    """Add a particle with the given `value` to eight entries of flat arrays.

    near and far are the changes of the value towards the lower and the upper entry along each axis.
    """
    w00, w01, w10, w11 = (1.0 - fx) * (1.0 - fy), (1.0 - fx) * fy, fx * (1.0 - fy), fx * fy
    v00, v01 = value + near0 + near1, value + near0 + far1
    v10, v11 = value + far0 + near1, value + far0 + far1
    rest = 1.0 - fz
    _add(mom, mass, q, w00 * rest, v00 + near2)
    _add(mom, mass, q + sk, w00 * fz, v00 + far2)
    _add(mom, mass, q + sj, w01 * rest, v01 + near2)
    _add(mom, mass, q + sj + sk, w01 * fz, v01 + far2)
    q += si
    _add(mom, mass, q, w10 * rest, v10 + near2)
    _add(mom, mass, q + sk, w10 * fz, v10 + far2)
    _add(mom, mass, q + sj, w11 * rest, v11 + near2)
    _add(mom, mass, q + sj + sk, w11 * fz, v11 + far2)


@merged
def _lower_centre(a, n):
    """Along an axis of n cells: the lower of the two centres around coordinate a, clamped, and the place between."""
    a = min(max(a - 0.5, 0.0), n - 1.0)
    i = max(min(int(a), n - 2), 0)
    return i, a - i


@merged
def _splat_pairs(pairs, q, si, sj, fx, fy, fz, value, near0, far0, near1, far1, near2, far2):
    """`_splat` into one array, in which the two sums of an entry follow each other, and entries along the last axis."""
    q, si, sj = np.uintp(2 * q), np.uintp(2 * si), np.uintp(2 * sj)
    rest = 1.0 - fz
    add_pairs(pairs, q, (1.0 - fx) * (1.0 - fy), value + near0 + near1, rest, fz, near2, far2)
    add_pairs(pairs, q + sj, (1.0 - fx) * fy, value + near0 + far1, rest, fz, near2, far2)
    add_pairs(pairs, q + si, fx * (1.0 - fy), value + far0 + near1, rest, fz, near2, far2)
    add_pairs(pairs, q + si + sj, fx * fy, value + far0 + far1, rest, fz, near2, far2)


@merged
def _count(f, q, si, sj, fx, fy, fz):
    """Add the weights of a point to the eight entries around it, of which two follow each other."""
    q, si, sj = np.uintp(q), np.uintp(si), np.uintp(sj)
    add_two(f, q, (1.0 - fx) * (1.0 - fy), 1.0 - fz, fz)
    add_two(f, q + sj, (1.0 - fx) * fy, 1.0 - fz, fz)
    add_two(f, q + si, fx * (1.0 - fy), 1.0 - fz, fz)
    add_two(f, q + si + sj, fx * fy, 1.0 - fz, fz)
