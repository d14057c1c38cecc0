"""Neighbouring numbers of a flat array as one vector, and memory that is asked for early.

LLVM does not join sums into neighbouring entries of an array, because it cannot know which of them follow each other.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_NUMBER, _INT32, _FLAGS = ir.DoubleType(), ir.IntType(32), ("contract",)


def _vector(builder, *values):
    out = ir.Constant(ir.VectorType(_NUMBER, len(values)), ir.Undefined)
    for k, value in enumerate(values):
        out = builder.insert_element(out, value, _INT32(k))
    return out


def _place(context, builder, type_, flat, q):
    return builder.gep(context.make_array(type_)(context, builder, flat).data, [q])


def _add(builder, place, vector):
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
        _add(builder, _place(context, builder, signature.args[0], flat, q), both)
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
        _add(builder, _place(context, builder, signature.args[0], flat, q), terms)
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
