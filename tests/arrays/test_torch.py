"""`nonstick.torch`: gradients against finite differences, projections against the compiled path, errors."""

import os

import numpy as np
import pytest

from nonstick import NonstickError, cases

if not os.environ.get("NONSTICK_ARRAYS"):  # make test-arrays sets it: then PyTorch must be there
    pytest.importorskip("torch", reason="PyTorch's CPU build is not on the package index: make test-arrays")

import torch

import nonstick.torch as nt
from nonstick.arrays import GridProblem, active_set, solve_grid
from nonstick.arrays.multigrid import GridCycle
from nonstick.arrays.pressure import GridProjection, open_fractions

STEP = 1e-5


def tensor(a):
    return torch.tensor(np.array(a, dtype=float))


def check_gradient(function, inputs, seed=0):
    """The derivative along a random direction, by backward and by central differences."""
    rng = np.random.default_rng(seed)
    inputs = [i.clone().requires_grad_(True) for i in inputs]
    function(*inputs).backward()
    ways = [tensor(rng.standard_normal(tuple(i.shape))) for i in inputs]
    found = sum(float((i.grad * w).sum()) for i, w in zip(inputs, ways))
    with torch.no_grad():
        up, down = (float(function(*(i + s * STEP * w for i, w in zip(inputs, ways)))) for s in (1, -1))
    assert found == pytest.approx((up - down) / (2 * STEP), rel=1e-6)


def grid_inputs(shape, batch=(), seed=0):
    rng = np.random.default_rng(seed)
    weights = [tensor(rng.uniform(0.5, 1.5, shape)) for _ in shape]
    full = (*batch, *shape)
    b = tensor(rng.standard_normal(full))
    return [*weights, tensor(rng.uniform(7.0, 8.0, shape)), b, torch.full(full, -0.08), torch.full(full, 0.1)]


@pytest.mark.parametrize("shape, batch", [((9, 8), ()), ((5, 6, 4), ()), ((7, 6), (3,))])
def test_gradients_over_a_grid(shape, batch):
    inputs = [i.to(torch.float64) for i in grid_inputs(shape, batch)]
    d, factor = len(shape), tensor(np.random.default_rng(1).standard_normal((*batch, *shape)))

    def value(*v):
        return (factor * nt.solve((v[:d], v[d]), v[d + 1], v[d + 2], v[d + 3], rtol=1e-11)).sum()

    with torch.no_grad():
        x = nt.solve((inputs[:d], inputs[d]), *inputs[d + 1 :])
    assert (x == inputs[-2]).any() and (x == inputs[-1]).any()  # both bounds hold somewhere
    check_gradient(value, inputs)


@pytest.mark.parametrize("sparse", [False, True])
def test_gradients_of_a_bare_matrix(sparse):
    rng = np.random.default_rng(2)
    n = 12
    A = tensor(3.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    factor, b, low = (tensor(rng.standard_normal((2, n))) for _ in range(3))
    places = A.to_sparse_csr()

    def value(data, b, low):
        if sparse:
            M = torch.sparse_csr_tensor(places.crow_indices(), places.col_indices(), data, (n, n))
            return (factor * nt.solve(M, b, low, rtol=1e-11)).sum()
        return (factor * nt.solve(0.5 * (data + data.T), b, low, rtol=1e-11)).sum()

    if sparse:  # along symmetric directions only the sum of a pair counts, so the entries are changed alone elsewhere
        M = places.values().clone().requires_grad_(True)
        value(M, b, low).backward()
        dense = A.clone().requires_grad_(True)
        value_of = (factor * nt.solve(dense, b, low, rtol=1e-11)).sum()
        value_of.backward()
        there = dense.grad[A != 0]
        assert torch.allclose(M.grad, there, rtol=1e-8)
    else:
        check_gradient(value, [A, b, low])


@pytest.mark.parametrize("name, n", [("circle2d", 12), ("sphere3d", 8)])
def test_projection(name, n):
    """The compiled projection, and its derivatives by the velocity, the open fractions, walls that move, and φ."""
    given = cases.build(name, n).pressure_problem
    expected = given.solve(rtol=1e-11)
    step = {"dt": given.dt, "dx": given.dx, "rho": given.rho, "rtol": 1e-11}
    phi, velocity = tensor(given.phi_liquid), [tensor(u) for u in given.velocity]
    found, pressure = nt.project(phi, velocity, phi_solid=tensor(given.phi_solid), **step)
    np.testing.assert_allclose(pressure, expected.pressure, atol=1e-8 * expected.pressure.max())
    for u, v in zip(found, expected.velocity):
        np.testing.assert_allclose(u, v, atol=1e-9)
    weights = open_fractions(tensor(given.phi_solid))
    for w, v in zip(weights, given.weights):
        np.testing.assert_allclose(w, v, atol=1e-14)
    cut = [(w > 0.05) & (w < 0.95) for w in weights]
    rng, d = np.random.default_rng(3), len(weights)
    walls = [tensor(0.1 * rng.standard_normal(tuple(w.shape))) for w in weights]
    factors = [tensor(rng.standard_normal(tuple(u.shape))) for u in velocity]
    velocity = [u + 0.1 * tensor(rng.standard_normal(tuple(u.shape))) for u in velocity]

    def value(*v):
        u, w, s, phi = v[:d], v[d : 2 * d], v[2 * d : 3 * d], v[3 * d]
        w = [torch.where(c, a, f) for a, f, c in zip(w, weights, cut)]  # other faces are open or closed, and stay so
        out, _ = nt.project(phi, u, weights=w, solid_velocity=s, **step)
        return sum((f * o).sum() for f, o in zip(factors, out))

    check_gradient(value, [*velocity, *weights, *walls, phi + 0.2 * given.dx])


@pytest.mark.parametrize("name, n", [("circle2d", 16), ("sphere3d", 8)])
def test_nothing_leaves_its_device(name, n):
    """On `meta`, which knows shapes alone, reading a number or mixing in an array of the processor is an error."""
    given, there = cases.build(name, n).pressure_problem, lambda a: tensor(a).to("meta")
    weights = open_fractions(there(given.phi_solid))
    velocity = tuple(there(u) for u in given.velocity)
    projection = GridProjection(there(given.phi_liquid), velocity, weights, given.dt, given.dx)
    fields = projection.problem().fields()
    M = GridCycle.for_problem(fields)
    state = active_set.begin(fields, active_set.predict(fields, M))
    for settle in (True, False):
        state = active_set.step(fields, M, M.levels(state.free), state, 0 * state.kkt, settle)
    after = projection.updated(fields.A.layout.grid(state.x)[tuple(slice(k) for k in given.phi_liquid.shape)])
    assert all(u.device.type == "meta" for u in after)
    with pytest.raises(RuntimeError, match="device"):
        torch.ones(2) * there([1.0, 2.0])


def test_cost_of_a_gradient():
    """A gradient is one linear solve: no more iterations than the solve with bounds took."""
    from nonstick.arrays import active_set

    inputs = [i.to(torch.float64) for i in grid_inputs((24, 24))]
    inputs[3].requires_grad_(True)
    counts, plain = [], active_set.step
    active_set.step = lambda *a: counts.append(0) or plain(*a)
    try:
        x = nt.solve((inputs[:2], inputs[2]), *inputs[3:])
        forward = len(counts)
        x.sum().backward()
    finally:
        active_set.step = plain
    assert 0 < len(counts) - forward <= 1.5 * forward


def test_compile_leaves_the_solve_alone():
    """torch.compile runs the rest of a function, and the solve as it is."""
    inputs = [i.to(torch.float64) for i in grid_inputs((6, 6))]

    def value(b):
        return (2.0 * nt.solve((inputs[:2], inputs[2]), 1.5 * b, *inputs[4:])).sum()

    compiled = torch.compile(value, backend="eager")
    assert float(compiled(inputs[3])) == pytest.approx(float(value(inputs[3])))


def test_batches_have_a_status_each_and_warm_starts():
    inputs = [i.to(torch.float64) for i in grid_inputs((8, 8), (5,))]
    problem = GridProblem(tuple(inputs[:2]), inputs[2], inputs[3], *inputs[4:])
    first = solve_grid(problem, rtol=1e-8)
    assert first.converged.shape == (5,) and bool(first.converged.all()) and first.x.shape == (5, 8, 8)
    again = solve_grid(problem, rtol=1e-8, x0=first.x, active=first.active)
    assert int(again.iterations.max()) == 0
    short = solve_grid(problem, rtol=1e-8, maxiter=1)
    assert not bool(short.converged.any())


def test_errors_in_one_sentence():
    inputs = [i.to(torch.float64) for i in grid_inputs((6, 6))]
    for change, words in (
        ({"b": inputs[3].to(torch.float32)}, "b is of precision float32, and weights.0. of float64"),
        ({"b": inputs[3].to(torch.int64)}, "b is of int64"),
        ({"b": inputs[3].to("meta")}, "b is of device meta, and weights.0. of cpu"),
        ({"b": inputs[3][:4]}, "b must be over the grid"),
        ({"b": inputs[3].numpy()}, "b must be a tensor"),
    ):
        with pytest.raises(NonstickError, match=words) as caught:
            nt.solve((inputs[:2], inputs[2]), change["b"], *inputs[4:])
        assert "\n" not in str(caught.value)
    with pytest.raises(NonstickError, match="ended at a KKT residual of"):
        nt.solve((inputs[:2], inputs[2]), *inputs[3:], maxiter=1)
