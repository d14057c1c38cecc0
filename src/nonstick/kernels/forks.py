"""Forked children: kernels run there on one thread.

GNU OpenMP cannot be used in a child of a process that has used it, and numba ends such a child on its first parallel
kernel. That is what everybody meets who uses `multiprocessing` on Linux, where children are forked by default. So
parallel loops go through a switch: a function that calls numba's own, or in a forked child one that runs all pieces of
a loop one after the other. The switch is in place before the first kernel is linked, so a child changes one pointer
and nothing is loaded again. Sums run over fixed pieces, so results are the same to the last bit.
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from numba.np.ufunc import parallel

#: the arguments are those of numba's `parallel_for`; `serial_for` calls the loop with all its pieces
_SWITCH = """
@nonstick_chosen_for = global i8* null

define void @nonstick_parallel_for(void (i8**, i64*, i64*, i8*)* %loop, i8** %args, i64* %sizes, i64* %steps, i8* %data,
                                   i64 %inner, i64 %arrays, i32 %threads) {
  %chosen = load i8*, i8** @nonstick_chosen_for
  %run = bitcast i8* %chosen to void (void (i8**, i64*, i64*, i8*)*, i8**, i64*, i64*, i8*, i64, i64, i32)*
  call void %run(void (i8**, i64*, i64*, i8*)* %loop, i8** %args, i64* %sizes, i64* %steps, i8* %data, i64 %inner,
                 i64 %arrays, i32 %threads)
  ret void
}

define void @nonstick_serial_for(void (i8**, i64*, i64*, i8*)* %loop, i8** %args, i64* %sizes, i64* %steps, i8* %data,
                                 i64 %inner, i64 %arrays, i32 %threads) {
  call void %loop(i8** %args, i64* %sizes, i64* %steps, i8* %data)
  ret void
}
"""
_NUMBAS = "numba_parallel_for"

#: the engine that owns the code of the switch, once threads are started; None if there is no need for one
_engines: list[Any] = []
_one_at_a_time = threading.Lock()


def aware(kernel):
    """Let the loops of a parallel kernel go through the switch; it is asked for before a kernel is linked."""
    _watch_threads()
    return kernel


@cache
def _watch_threads() -> None:
    """Put the switch in place as soon as numba has started its threads, which it does before it links a kernel."""
    launch = parallel._launch_threads

    def launch_and_switch() -> None:
        launch()
        if not _engines:
            with _one_at_a_time:
                _put_switch()

    parallel._launch_threads = launch_and_switch
    if parallel._is_initialized:  # by kernels of other packages
        _put_switch()


def _put_switch() -> None:
    if _engines:
        return
    if parallel._threading_layer != "omp":
        _engines.append(None)  # threads of a kind that survives a fork
        return
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_SWITCH), machine)
    engine.finalize_object()
    _choose(engine, llvm.address_of_symbol(_NUMBAS))
    llvm.add_symbol(_NUMBAS, engine.get_function_address("nonstick_parallel_for"))
    _engines.append(engine)


def _choose(engine: Any, function: int | None) -> None:
    """Let the switch call the function at this address."""
    place = engine.get_global_value_address("nonstick_chosen_for")
    ctypes.c_void_p.from_address(place).value = function


def _run_serially() -> None:
    if _engines and _engines[0] is not None:
        _choose(_engines[0], _engines[0].get_function_address("nonstick_serial_for"))


def install() -> None:
    """Make the choice in every child that is forked from now on."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_run_serially)
