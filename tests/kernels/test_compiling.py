"""The log tells when kernels are compiled: once in a sentence, then kernel by kernel."""

import gc
import logging
import types

import numba
import numpy as np
import pytest
from numba.core import event

from nonstick import kernels
from nonstick.kernels import compiling


@pytest.fixture
def listener():
    """A log that has said nothing yet."""
    own = compiling.CompilationLog()
    event.register("numba:compile", own)
    yield own
    event.unregister("numba:compile", own)


def kernel(module="nonstick.somewhere"):
    """Two functions that are not compiled yet; one calls the other."""

    def inner(x):
        return x + 1

    inner.__module__ = module
    inner = numba.njit(inner)

    def outer(x):
        return inner(x) * 2

    outer.__module__ = module
    return numba.njit(outer)


def test_one_sentence_and_a_count(listener, caplog):
    caplog.set_level(logging.DEBUG, "nonstick")
    double, again = kernel(), kernel()
    assert double(1) == 4
    told = [record for record in caplog.records if record.levelno == logging.INFO]
    assert any("compiling kernels for their first use" in record.getMessage() for record in told)
    assert listener.kernels == 2 and listener.seconds > 0
    before = len(caplog.records)
    assert double(2) == 6 and len(caplog.records) == before  # compiled already
    again(1)
    assert listener.kernels == 4
    assert not [r for r in caplog.records[before:] if r.levelno == logging.INFO]
    last = caplog.records[-1]
    assert last.getMessage().startswith("compiled nonstick.somewhere.") and last.unfinished == 0


def test_time_of_kernels_inside_others_counts_once(listener):
    with event.install_timer("numba:compile", lambda seconds: None) as timer:
        kernel()(1)
    assert listener.seconds <= timer.duration + 0.01


def test_other_packages_are_not_counted(listener, caplog):
    caplog.set_level(logging.DEBUG, "nonstick")
    kernel("elsewhere")(1)
    assert listener.kernels == 0 and not [r for r in caplog.records if r.name.startswith("nonstick")]


def made_by_exec():
    names = {}
    exec("def function(x):\n    return x + 1", names)
    return names["function"]


def named(module):
    def function(x):
        return x + 1

    function.__module__ = module
    return function


def built_from_code():
    return types.FunctionType((lambda x: x + 1).__code__, {"__builtins__": {}}, None)


FOREIGN = {
    "made by exec": made_by_exec,
    "without a module": lambda: named(None),
    "built from its code": built_from_code,
    "a lambda": lambda: lambda x: x + 1,
}
WAYS = {
    "njit": numba.njit,
    "object mode": lambda f: numba.jit(f, forceobj=True),
    "parallel": lambda f: numba.njit(f, parallel=True),
    "vectorize": numba.vectorize,
    "cfunc": lambda f: numba.cfunc("float64(float64)")(f).ctypes,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", FOREIGN)
def test_functions_of_others_are_compiled_as_if_we_were_not_there(listener, caplog, kind, way):
    caplog.set_level(logging.DEBUG, "nonstick")
    assert WAYS[way](FOREIGN[kind]())(1.0) == 2.0
    assert listener.kernels == 0 and not [r for r in caplog.records if r.name.startswith("nonstick")]


def test_events_that_name_no_function_are_passed_over(listener):
    for data in ({}, {"dispatcher": None}, {"dispatcher": object()}):
        with event.trigger_event("numba:compile", data):
            pass
    assert listener.kernels == 0


@pytest.mark.parametrize("collects", [True, False])
def test_no_garbage_is_collected_while_a_kernel_is_compiled(collects):
    own, seen, before = compiling.NoCollection(), [], gc.isenabled()

    class Watch(event.Listener):
        def on_start(self, event):
            seen.append(gc.isenabled())

        on_end = on_start

    watch = Watch()
    (gc.enable if collects else gc.disable)()
    for listener in (own, watch):
        event.register("numba:compile", listener)
    try:
        assert kernel()(1) == 4
        assert seen == [False, False, False, collects]  # outer, inner, inner, outer
        assert gc.isenabled() is collects
        kernel("elsewhere")(1)
        assert seen[4:] == [collects] * 4
    finally:
        for listener in (own, watch):
            event.unregister("numba:compile", listener)
        (gc.enable if before else gc.disable)()


@kernels.merged
def _larger(x, y):
    return max(x, y) * 2


@kernels.serial
def _largest(x):
    top = x[0]
    for value in x:
        top = _larger(top, value) / 2
    return top


def test_python_runs_a_function_that_only_loops_call():
    assert _largest(np.array([3.0, 7.0, 5.0])) == 7.0
    _larger.compile((numba.int64, numba.int64))
    assert _larger(3, 4) == 8
