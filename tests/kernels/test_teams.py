"""Loops shared among threads: every turn once, the same for any number of threads; kernels keep their rules."""

import ast
from pathlib import Path

import numpy as np
import pytest
from numba import get_num_threads, get_thread_id, njit, set_num_threads

import nonstick
from nonstick.kernels import prange, teams

SOURCE = Path(nonstick.__file__).parent


@njit(nogil=True)
def _count(turns, first, last):
    for i in prange(first, last):
        turns[i] += 1


@njit(nogil=True)
def _count_small(turns, work, number):
    for i in prange(0, turns.size, work):
        turns[i] += 1
        number[i] = get_thread_id()


@njit(nogil=True)
def _phases(x, room, bad):
    """The second loop needs all of the first one, and the next round all of the second."""
    for turn in range(3):
        for i in prange(x.size):
            room[i] = x[x.size - 1 - i] + turn
        for i in prange(x.size):
            x[i] = 2.0 * room[i]
            if i == bad:
                raise ValueError("a bad row")


@pytest.fixture(params=[1, 2])
def threads(request):
    before = get_num_threads()
    if request.param > before:
        pytest.skip("there are fewer threads")
    set_num_threads(request.param)
    yield request.param
    set_num_threads(before)


def test_every_turn_runs_once(threads):
    for n, first, last in ((0, 0, 0), (1, 0, 1), (2, 0, 2), (7, 2, 6), (9, 5, 3), (100_003, 1, 100_002)):
        turns, expected = np.zeros(n, np.int64), np.zeros(n, np.int64)
        _count(turns, first, last)
        expected[first : max(first, last)] = 1
        np.testing.assert_array_equal(turns, expected)


def test_little_work_runs_on_one_thread(threads):
    for work, most in ((teams.ONE_THREAD_BELOW - 1, 1), (teams.ONE_THREAD_BELOW, threads)):
        turns, number = np.zeros(1000, np.int64), np.zeros(1000, np.int64)
        _count_small(turns, work, number)
        assert (turns == 1).all()
        assert len(np.unique(number)) == most


def test_loops_run_one_after_the_other(threads):
    x = np.random.default_rng(0).standard_normal(10_001)
    expected = x.copy()
    for turn in range(3):
        expected = 2.0 * (expected[::-1] + turn)
    _phases(x, np.empty(x.size), -1)
    np.testing.assert_array_equal(x, expected)


def test_what_a_thread_raises_is_raised(threads):
    with pytest.raises(ValueError, match="a bad row"):
        _phases(np.zeros(100), np.empty(100), 99)


def test_without_a_team_a_kernel_runs_on_one_thread(monkeypatch):
    teams.start()
    run = teams._team[0]
    try:
        teams._team[0] = None
        turns = np.zeros(1000, np.int64)
        _count(turns, 0, 1000)
    finally:
        teams._team[0] = run
    assert (turns == 1).all()


def test_kernels_that_return_something_are_refused():
    @njit
    def kernel(n):
        for _ in prange(n):
            pass
        return n

    with pytest.raises(Exception, match="must return nothing"):
        kernel(3)


def _is_shared(node):
    return (
        isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", "") == "prange"
    )


def _outside(node):
    """All nodes of a kernel that are not in a loop over `prange`."""
    for child in ast.iter_child_nodes(node):
        if not _is_shared(child):
            yield child
            yield from _outside(child)


def faults(kernel: ast.FunctionDef):
    """What stands outside of the shared loops of a kernel, runs on every thread, and must not."""
    for node in _outside(ast.Module(kernel.body, [])):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield f"line {node.lineno} writes to an array"
        if isinstance(node, ast.Return) and node.value is not None:
            yield f"line {node.lineno} returns something"
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if name in ("np.empty", "np.zeros", "np.ones", "np.full", "np.cumsum") or name.endswith(("_like", ".copy")):
            yield f"line {node.lineno} makes an array"
    names = [node for node in _outside(ast.Module(kernel.body, [])) if isinstance(node, ast.Name)]
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    for loop in filter(_is_shared, ast.walk(kernel)):
        for node in ast.walk(loop):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in stored:
                yield f"line {node.lineno} sums over the turns of a shared loop"


def test_nothing_but_numbers_and_views_outside_of_shared_loops():
    found, kernels = [], 0
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [getattr(d, "id", "") for d in getattr(node, "decorator_list", [])]
            if isinstance(node, ast.FunctionDef) and {"parallel", "parallel_sum"} & set(names):
                kernels += 1
                found += [f"{path.relative_to(SOURCE)}: {node.name}: {fault}" for fault in faults(node)]
    assert kernels > 100
    assert not found, "\n".join(found)


def test_the_faults_are_found():
    loop = "for i in prange(3):\n    out[i] = 1\n    s += i"
    text = f"def k(out, x):\n  a = np.empty(3)\n  s = 0\n  {loop}\n  out[0] = 2\n  return s"
    assert len(list(faults(ast.parse(text).body[0]))) == 4
