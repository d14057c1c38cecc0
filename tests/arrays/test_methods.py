"""The methods on arrays: the same solutions as the compiled path, on every library; few questions to the device."""

import numpy as np
import pytest

import nonstick
from nonstick import NonstickError, cases
from nonstick.arrays import ArrayActiveSet, ArrayCycles, ArrayNewton, active_set
from nonstick.arrays.library import one_kind
from nonstick.arrays.problem import SETTINGS, Fields

STATIC = [(name, 32 if cases.dimension(name) == 2 else 16) for name in cases.names()]


@pytest.mark.parametrize("name, n", STATIC)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_static_case(name, n, dtype):
    problem = cases.build(name, n).problem
    expected = nonstick.solve_problem(problem, rtol=1e-11)
    found = nonstick.solve_problem(problem, ArrayActiveSet(dtype=dtype), rtol=1e-10)
    assert found.converged, found.message
    assert np.abs(found.x - expected.x).max() <= 1e-8 * np.abs(expected.x).max()
    assert found.iterations <= 2.5 * expected.iterations + 10


def test_every_library(library):
    problem = cases.build("circle2d", 16).problem
    expected = nonstick.solve_problem(problem, rtol=1e-11).x
    for method in (
        ArrayActiveSet(library),
        *([] if library == "jax" else [ArrayCycles(library), ArrayNewton(library)]),
    ):
        found = nonstick.solve_problem(problem, method, rtol=1e-10)
        assert found.converged and np.abs(found.x - expected).max() <= 1e-8 * np.abs(expected).max(), found.message


@pytest.mark.parametrize("method", ["auto-array", "newton-array", "fmg-array"])
def test_warm_starts(method):
    problem = cases.build("obstacle2d", 24).problem
    first = nonstick.solve_problem(problem, method, rtol=1e-8)
    again = nonstick.solve_problem(problem, method, x0=first.x, active=first.active, rtol=1e-8)
    assert first.converged and again.converged and again.iterations == 0


@pytest.mark.parametrize("jacobi", [False, True])
def test_cycles(jacobi):
    problem = cases.build("sphere3d", 12).problem
    found = nonstick.solve_problem(problem, ArrayCycles(jacobi=jacobi), rtol=1e-8)
    assert found.converged and found.iterations < 40, found.message


def test_a_device_is_asked_once_in_ten_steps(monkeypatch):
    """The same loop as on a device that is far away: questions are counted, and steps after the end change nothing."""
    problem = cases.build("maze2d", 32).problem
    asked = []
    plain = active_set._summary
    monkeypatch.setattr(active_set, "_summary", lambda s, tolerance: asked.append(0) or plain(s, tolerance))
    monkeypatch.setattr(active_set, "is_host", lambda x: False)
    found = nonstick.solve_problem(problem, ArrayActiveSet(), rtol=1e-8, criterion="papers")
    assert found.converged and len(asked) <= 2 + found.iterations / SETTINGS.stride


def test_refusals():
    for method in ("newton-array", "fmg-array"):
        with pytest.raises(NonstickError, match="pass the cells"):
            nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, 1.0], method=method)
    for method, words in (
        (ArrayActiveSet("torchh"), "unknown array library 'torchh'"),
        (ArrayActiveSet("numpy", "cuda:0"), "numpy has no device 'cuda:0' here"),
        (ArrayActiveSet("torch", "cuda:0"), "torch has no device 'cuda:0' here|torch is not installed"),
        (ArrayActiveSet("jax", "gpu:0"), "jax has no device 'gpu:0' here"),
        (ArrayActiveSet("cupy"), "cupy is not installed; get it with"),
    ):
        with pytest.raises(NonstickError, match=words) as caught:
            nonstick.solve_problem(cases.build("circle2d", 8).problem, method)
        assert "\n" not in str(caught.value)
    with pytest.raises(NonstickError, match="dtype must be float64 or float32"):
        ArrayActiveSet(dtype="float16")
    with pytest.raises(NonstickError, match="inner must be one of cg"):
        ArrayNewton(inner="sor")


def test_a_device_without_memory(monkeypatch):
    def full(*args, **more):
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB\nmore words")

    monkeypatch.setattr("nonstick.arrays.methods.solve_fields", full)
    with pytest.raises(NonstickError, match="has no memory left for this problem") as caught:
        nonstick.solve_problem(cases.build("circle2d", 8).problem, "auto-array")
    assert "\n" not in str(caught.value)


def test_one_library_one_device_one_precision():
    jnp = pytest.importorskip("jax.numpy")
    a, b = jnp.zeros(2, "float32"), jnp.zeros(2, "int32")
    assert one_kind(a=a, c=1.0)[::2] == ("jax", "float32")
    with pytest.raises(NonstickError, match="b is of int32"):
        one_kind(a=a, b=b)


@pytest.mark.parametrize("predicted", [True, False])
def test_a_batch_is_its_items(predicted):
    """Items with their own matrix, right-hand side and bounds, at once and one by one."""
    case = cases.build("circle2d", 16).problem
    from nonstick.arrays.methods import OnGrid
    from nonstick.arrays.stencil import Stencil

    A, place = case.A.stencil, OnGrid(case.A.stencil)
    rng, unknown = np.random.default_rng(6), place.field(1.0)
    b = np.stack([place.field(case.b + 0.2 * abs(case.b).max() * rng.standard_normal(case.n)) for _ in range(4)])
    b[2] = 0.0
    unit = A.diagonal.max() * np.array([1.0, 2.0, 0.5, 1.0])[:, None]
    stencil = Stencil.of(
        place.layout,
        tuple(place.field(w) / unit for w in A.weights[1:]),
        np.where(unknown > 0, place.field(A.diagonal, 1.0) / unit, 1.0),
    )
    lower, upper = place.field(case.box.lower) * np.ones((4, 1)), place.field(case.box.upper)
    scale = np.maximum(abs(b).max(axis=1, keepdims=True), 1e-30)
    start = {} if predicted else {"x0": 0 * b}
    batch = active_set.solve_fields(Fields(stencil, b, lower, upper, unknown, scale), 1e-9, **start)
    assert (batch.kkt <= 1e-9).all() and len(set(batch.iterations.ravel())) > 1
    for i in range(4):
        each = Stencil(place.layout, tuple(w[i] for w in stencil.weights), stencil.diagonal[i])
        one = {} if predicted else {"x0": 0 * b[i]}
        alone = active_set.solve_fields(Fields(each, b[i], lower[i], upper, unknown, scale[i]), 1e-9, **one)
        np.testing.assert_allclose(batch.x[i], alone.x, atol=1e-7 * abs(alone.x).max())
        assert abs(batch.iterations[i, 0] - alone.iterations[0]) <= 3
