"""`prange`: the loop of a kernel that is shared among threads.

A kernel is compiled once, as a plain function. Where it comes to a `prange` loop, it calls itself once on each thread.
These calls run the same code, but of this loop only their own part, and nothing of other loops; the first call then
goes on behind the loop. So what stands outside of `prange` loops runs on every thread: it may compute numbers and take
views, but it must not write to arrays or make them, and a kernel returns nothing. A test reads every kernel for this.

The calls on threads differ from the first one in the place of the result, which a kernel that returns nothing does not
use: it is empty in the first call, and in the others it holds the address of three numbers, the `_PART`.

A second thread is started by `prange(first, last, work)` only where `work`, the number of unknowns that the whole loop
visits, is worth it: small levels of multigrid take less time than a thread takes to start.

Numba's threading layer runs the calls. In a child that was forked after GNU OpenMP was started, which ends there,
kernels run on one thread. The parts of a loop are independent, so results are the same to the last bit.
"""

from __future__ import annotations

import ctypes
import os
import threading

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, config, errors, types
from numba.extending import intrinsic
from numba.np.ufunc import parallel

#: below this many unknowns a second thread costs more time than it saves
ONE_THREAD_BELOW = 16_384

#: where compiled code finds the addresses of the layer's `parallel_for` and `get_num_threads`; empty: one thread
_SYMBOL = "nonstick_team"
_team = (ctypes.c_void_p * 2)()
_closed = threading.Event()
_one_at_a_time = threading.Lock()

_POINTER, _INT, _INT32 = ir.IntType(8).as_pointer(), ir.IntType(64), ir.IntType(32)
_TEAM = ir.ArrayType(_POINTER, 2)
#: a call on a thread is told which loop of the kernel it runs, which part of it, and of how many
_PART = ir.LiteralStructType([_INT, _INT, _INT])
_TASK = ir.FunctionType(ir.VoidType(), [_POINTER.as_pointer(), _INT.as_pointer(), _INT.as_pointer(), _POINTER])
_PARALLEL_FOR = ir.FunctionType(ir.VoidType(), [_TASK.as_pointer(), *_TASK.args, _INT, _INT, _INT32])
_GET_NUM_THREADS = ir.FunctionType(_INT32, [])


def start() -> None:
    """Start the threads, if it has not been done."""
    if _team[0] is None and not _closed.is_set():
        with _one_at_a_time:
            parallel._launch_threads()
            _team[1] = llvm.address_of_symbol("get_num_threads")
            _team[0] = llvm.address_of_symbol("numba_parallel_for")


def _after_fork() -> None:
    """GNU OpenMP cannot be used in a child of a process that has used it; other layers can."""
    if parallel._is_initialized and parallel._threading_layer == "omp":
        _closed.set()
        _team[0] = None


def install() -> None:
    """Let kernels find the team, and children run on one thread."""
    llvm.add_symbol(_SYMBOL, ctypes.addressof(_team))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)


@intrinsic
def prange(typingctx, first, last=None, work=None):
    """`prange(n)`, `prange(first, last)`, `prange(first, last, work)`: like `range`, shared among threads."""
    given = [type_ for type_ in (first, last, work) if not _left_out(type_)]
    if not all(isinstance(type_, types.Integer) for type_ in given):
        raise errors.TypingError("prange takes one, two or three integers")

    def lower(context, builder, signature, values):
        numbers = [context.cast(builder, values[k], type_, types.int64) for k, type_ in enumerate(given)]
        begin, end = _own_part(context, builder, *([_INT(0), *numbers] if len(numbers) == 1 else numbers))
        out = cgutils.create_struct_proxy(types.range_state64_type)(context, builder)
        out.start, out.stop, out.step = begin, end, _INT(1)
        return out._getvalue()

    rest = [types.none if type_ is None else type_ for type_ in (last, work)]
    return types.range_state64_type(first, *rest), lower


def _left_out(type_):
    return type_ is None or isinstance(type_, types.Omitted | types.NoneType)


if config.DISABLE_JIT:

    def prange(first, last=None, work=None):
        return range(first) if last is None else range(first, last)


def _own_part(context, builder, first, last, work=None):
    """Where the loop of this call begins and ends: all of it, one part, or nothing."""
    start()
    kernel = builder.function
    slot = kernel.args[0]
    if slot.type != _POINTER.as_pointer():
        raise errors.TypingError("a kernel with prange loops must return nothing")
    if not hasattr(kernel, "loops_met"):
        kernel.loops_met = cgutils.alloca_once(builder, _INT)  # 0 where the kernel begins
    loop = builder.load(kernel.loops_met)
    builder.store(builder.add(loop, _INT(1)), kernel.loops_met)
    begin, end = cgutils.alloca_once_value(builder, first), cgutils.alloca_once_value(builder, last)
    told = builder.load(slot)
    length = builder.sub(last, first)
    with builder.if_else(cgutils.is_null(builder, told)) as (first_call, call_on_thread):
        with first_call:
            team = context.get_c_value(builder, _TEAM, _SYMBOL)
            run = builder.load(cgutils.gep_inbounds(builder, team, 0, 0))
            with builder.if_then(cgutils.is_not_null(builder, run)):
                threads = builder.load(cgutils.gep_inbounds(builder, team, 0, 1))
                threads = builder.call(builder.bitcast(threads, _GET_NUM_THREADS.as_pointer()), [])
                threads = builder.sext(threads, _INT)
                parts = builder.select(builder.icmp_signed("<", length, threads), length, threads)
                if work is not None:
                    parts = builder.select(builder.icmp_signed("<", work, _INT(ONE_THREAD_BELOW)), _INT(1), parts)
                with builder.if_then(builder.icmp_signed(">", parts, _INT(1))):
                    _call_on_threads(builder, builder.bitcast(run, _PARALLEL_FOR.as_pointer()), loop, parts)
                    builder.store(last, begin)
        with call_on_thread:
            part = builder.bitcast(told, _PART.as_pointer())
            number, parts = (builder.load(cgutils.gep_inbounds(builder, part, 0, k)) for k in (1, 2))
            mine = builder.icmp_signed("==", builder.load(cgutils.gep_inbounds(builder, part, 0, 0)), loop)
            for place, k in ((begin, 0), (end, 1)):
                share = builder.sdiv(builder.mul(length, builder.add(number, _INT(k))), parts)
                builder.store(builder.select(mine, builder.add(first, share), last), place)
    return builder.load(begin), builder.load(end)


def _call_on_threads(builder, run, loop, parts):
    """Call the kernel on every thread; what one of the calls raises, this one raises."""
    kernel = builder.function
    frame_type = ir.LiteralStructType([_INT, _INT, _INT32, kernel.args[1].type.pointee, *kernel.type.pointee.args[2:]])
    frame = cgutils.alloca_once(builder, frame_type)
    status = _INT32(0)
    for k, value in enumerate([loop, parts, status, None, *kernel.args[2:]]):
        if value is not None:
            builder.store(value, cgutils.gep_inbounds(builder, frame, 0, k))
    task = _task(builder.module, kernel, frame_type)
    count, step = cgutils.alloca_once_value(builder, parts), cgutils.alloca_once_value(builder, _INT(1))
    base = cgutils.alloca_once(builder, _POINTER, zfill=True)
    threads = builder.trunc(parts, _INT32)
    builder.call(run, [task, base, count, step, builder.bitcast(frame, _POINTER), _INT(0), _INT(1), threads])
    status = builder.load(cgutils.gep_inbounds(builder, frame, 0, 2))
    with builder.if_then(builder.icmp_signed("!=", status, _INT32(0))):
        builder.store(builder.load(cgutils.gep_inbounds(builder, frame, 0, 3)), kernel.args[1])
        builder.ret(status)


def _task(module, kernel, frame_type):
    """The function that a thread runs: it calls the kernel for the parts that are given to it."""
    if hasattr(kernel, "task"):
        return kernel.task
    task = kernel.task = ir.Function(module, _TASK, f"{kernel.name}.task")
    task.linkage = "internal"
    builder = ir.IRBuilder(task.append_basic_block())
    places, counts, _steps, data = task.args
    frame = builder.bitcast(data, frame_type.as_pointer())
    loop, parts, _, _, *given = (
        builder.load(cgutils.gep_inbounds(builder, frame, 0, k)) for k in range(len(frame_type.elements))
    )
    begin = builder.ptrtoint(builder.load(places), _INT)  # it is counted from 0 in steps of 1
    with cgutils.for_range(builder, builder.load(counts)) as turn:
        part = cgutils.alloca_once(builder, _PART)
        for k, value in enumerate((loop, builder.add(begin, turn.index), parts)):
            builder.store(value, cgutils.gep_inbounds(builder, part, 0, k))
        slot = cgutils.alloca_once(builder, _POINTER)
        builder.store(builder.bitcast(part, _POINTER), slot)
        raised = cgutils.alloca_once(builder, frame_type.elements[3])
        status = builder.call(kernel, [slot, raised, *given], attrs=("noinline",))
        with builder.if_then(builder.icmp_signed("!=", status, _INT32(0))):
            builder.store(builder.load(raised), cgutils.gep_inbounds(builder, frame, 0, 3))
            builder.store(status, cgutils.gep_inbounds(builder, frame, 0, 2))
    builder.ret_void()
    return task
