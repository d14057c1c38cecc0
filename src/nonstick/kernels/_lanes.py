"""Eight numbers of single precision that kernels treat as one: a vector register.

LLVM makes such vectors of loops by itself, but not of loops over eight, which it writes out first. In Python, as with
`NUMBA_DISABLE_JIT`, eight numbers are an array of NumPy. Vectors do not leave a kernel.
"""

import operator

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

LANES = 8

_NUMBER, _INT32, _FLAGS = ir.FloatType(), ir.IntType(32), ("contract",)
_VECTOR = ir.VectorType(_NUMBER, LANES)


class _Lanes(types.Type):
    def __init__(self):
        super().__init__("lanes")


lanes = _Lanes()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, type_):
        super().__init__(manager, type_, _VECTOR)


def _arithmetic(function, name):
    @type_callable(function)
    def _typed(context):
        return lambda a, b: lanes if a is lanes and b is lanes else None

    @lower_builtin(function, lanes, lanes)
    def _lower(context, builder, signature, values):
        return getattr(builder, name)(*values, flags=_FLAGS)


for _function, _name in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
    _arithmetic(_function, _name)


def _pointer(context, builder, type_, flat, q):
    place = builder.gep(context.make_array(type_)(context, builder, flat).data, [q])
    return builder.bitcast(place, _VECTOR.as_pointer())


@intrinsic
def spread(typingctx, number):
    """The same number, rounded, in all lanes."""

    def lower(context, builder, signature, values):
        number = context.cast(builder, values[0], signature.args[0], types.float32)
        one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, _INT32(0))
        return builder.shuffle_vector(
            one, ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES)
        )

    return lanes(number), lower


@intrinsic
def load(typingctx, flat, q):
    """flat[q : q + LANES]"""

    def lower(context, builder, signature, values):
        return builder.load(_pointer(context, builder, signature.args[0], *values), align=4)

    return lanes(flat, types.uintp), lower


@intrinsic
def store(typingctx, flat, q, vector):
    """flat[q : q + LANES] = vector"""

    def lower(context, builder, signature, values):
        flat, q, vector = values
        builder.store(vector, _pointer(context, builder, signature.args[0], flat, q), align=4)
        return context.get_dummy_value()

    return types.void(flat, types.uintp, lanes), lower


@intrinsic
def choose(typingctx, side, below, above):
    """`below` in lanes where `side` is negative, `above` in the others."""

    def lower(context, builder, signature, values):
        side, below, above = values
        return builder.select(builder.fcmp_ordered("<", side, ir.Constant(_VECTOR, [0.0] * LANES)), below, above)

    return lanes(lanes, lanes, lanes), lower


if config.DISABLE_JIT:

    def spread(number):
        return np.full(LANES, number, np.float32)

    def load(flat, q):
        return flat[q : q + LANES].copy()

    def store(flat, q, vector):
        flat[q : q + LANES] = vector

    def choose(side, below, above):
        return np.where(side < 0.0, below, above)
