"""Forked children: kernels run there on one thread.

GNU OpenMP cannot be used in a child of a process that has used it, and numba ends such a child on its first parallel
kernel. That is what everybody meets who uses `multiprocessing` on Linux, where children are forked by default. So in
a forked child parallel loops are handed to a function that runs all their pieces one after the other. Kernels are
linked again with it, from the cache. Their sums run over fixed pieces, so results are the same to the last bit.
"""

from __future__ import annotations

import os
from typing import Any

import llvmlite.binding as llvm
from numba.np.ufunc import parallel

#: calls the loop with all its pieces; the arguments are those of numba's `parallel_for`
_SERIAL_FOR = """
define void @nonstick_serial_for(void (i8**, i64*, i64*, i8*)* %loop, i8** %args, i64* %sizes, i64* %steps, i8* %data,
                                 i64 %inner, i64 %arrays, i32 %threads) {
  call void %loop(i8** %args, i64* %sizes, i64* %steps, i8* %data)
  ret void
}
"""

#: compiled functions with parallel loops
_kernels: list[Any] = []
_engines: list[Any] = []


def aware(kernel):
    """Note a parallel kernel, so that forked children find it."""
    if hasattr(kernel, "_reset_overloads"):  # not a plain function, as with NUMBA_DISABLE_JIT
        _kernels.append(kernel)
    return kernel


def _run_serially() -> None:
    if not parallel._is_initialized or parallel._threading_layer != "omp":
        return  # threads were never started, or are of a kind that survives a fork
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_SERIAL_FOR), machine)
    engine.finalize_object()
    _engines.append(engine)  # owns the code
    llvm.add_symbol("numba_parallel_for", engine.get_function_address("nonstick_serial_for"))
    for kernel in _kernels:
        kernel._reset_overloads()


def install() -> None:
    """Do so in every child forked from now on."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_run_serially)
