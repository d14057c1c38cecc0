"""Coarser pressure problems: exact weights, the rule for phi, odd sizes, constraints."""

import gc
import weakref

import numpy as np
import pytest

import nonstick
from nonstick import PressureProblem, cases

FIELDS = {"dt": 0.01, "dx": 0.1}


def make(shape, seed=0, **more):
    rng = np.random.default_rng(seed)
    faces = [tuple(n + (b == a) for b, n in enumerate(shape)) for a in range(len(shape))]
    weights = tuple(np.clip(rng.uniform(-0.2, 1.4, f), 0, 1) for f in faces)
    velocity = tuple(rng.normal(size=f) for f in faces)
    solid = tuple(rng.normal(size=f) for f in faces)
    phi = more.pop("phi_liquid", rng.normal(-0.4, 1, shape))
    return PressureProblem(phi_liquid=phi, weights=weights, velocity=velocity, solid_velocity=solid, **FIELDS, **more)


def pad(a, counts):
    return np.pad(a, [(0, c) for c in counts], mode="edge")


@pytest.mark.parametrize("shape", [(6, 4), (5, 7), (4, 6, 2), (3, 5, 7)])
def test_coarse_faces_average_their_parts(shape):
    problem = make(shape)
    coarse = problem.coarsen()
    assert coarse.shape == tuple(-(-n // 2) for n in shape) and coarse.dx == 2 * problem.dx
    for axis, (w, u) in enumerate(zip(problem.weights, problem.velocity)):
        odd = [n % 2 for n in shape]
        w, flux = pad(w, odd), pad(w * u, odd)
        for f in np.ndindex(coarse.weights[axis].shape):
            parts = tuple(slice(2 * i, 2 * i + 1) if a == axis else slice(2 * i, 2 * i + 2) for a, i in enumerate(f))
            assert np.isclose(coarse.weights[axis][f], w[parts].mean())
            through = coarse.weights[axis][f] * coarse.velocity[axis][f]
            assert np.isclose(through, flux[parts].mean())


def test_coarse_divergence_is_the_mean_of_the_fine():
    problem = make((8, 6, 4))
    fine = problem.divergence(problem.velocity)
    coarse = problem.coarsen()
    mean = fine.reshape(4, 2, 3, 2, 2, 2).mean(axis=(1, 3, 5))
    np.testing.assert_allclose(coarse.divergence(coarse.velocity), mean, atol=1e-12)


def test_a_coarse_source_is_the_mean_of_the_fine():
    """Only of cells that have an equation, so that coarse and fine grid add the same volume."""
    source = np.random.default_rng(5).normal(size=(8, 6))
    problem = make((8, 6), source=source)
    coarse = problem.coarsen()
    used = np.where(problem.rows.to_grid(np.ones(problem.rows.n)) > 0, source, 0.0)
    mean = used.reshape(4, 2, 3, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(coarse.source, mean, atol=1e-14)
    assert coarse.problem.scale == np.abs(coarse.rhs).max()
    assert coarse.coarsen().source.shape == (2, 2)


def test_bubbles_survive_two_levels_and_no_more():
    phi = np.full((16, 16), -1.0)
    phi[5, 6] = 0.25
    velocity = (np.zeros((17, 16)), np.zeros((16, 17)))
    problem = PressureProblem(phi_liquid=phi, velocity=velocity, **FIELDS)
    first = problem.coarsen()
    second = first.coarsen()
    third = second.coarsen()
    assert first.phi_liquid[2, 3] == 0.25 and (first.phi_liquid < 0).sum() == 63
    assert second.phi_liquid[1, 1] == 0.25 and (second.phi_liquid < 0).sum() == 15
    assert third.phi_liquid[0, 0] == np.mean([-1, -1, -1, 0.25])


def test_closed_children_have_no_say_in_phi():
    phi = np.full((4, 4), -1.0)
    phi[:2] = 5.0  # a solid that knows no liquid
    weights = [np.ones((5, 4)), np.ones((4, 5))]
    weights[0][:2] = 0
    weights[0][-1] = 0
    weights[1][0] = 0
    weights[1][:, [0, -1]] = 0
    phi[1] = -0.5
    velocity = (np.zeros((5, 4)), np.zeros((4, 5)))
    problem = PressureProblem(phi_liquid=phi, weights=tuple(weights), velocity=velocity, **FIELDS)
    np.testing.assert_array_equal(problem.coarsen().phi_liquid[0], -0.5)


@pytest.mark.parametrize("shape", [(7, 6), (5, 4, 6)])
def test_constrained_where_any_child_is(shape):
    rng = np.random.default_rng(3)
    mask = rng.random(shape) < 0.3
    problem = make(shape, phi_liquid=np.full(shape, -1.0), walls=mask, adhesion=rng.uniform(0, 5, shape))
    coarse = problem.coarsen()
    lower = pad(problem.rows.to_grid(problem.problem.box.lower, fill=-np.inf), [n % 2 for n in shape])
    for c, bound in zip(coarse.cells, coarse.problem.box.lower):
        assert bound == lower[tuple(slice(2 * i, 2 * i + 2) for i in c)].max()


def test_every_level_is_a_symmetric_m_matrix():
    problem = cases.build("sphere3d", 13).pressure_problem
    while min(problem.shape) > 2:
        problem = problem.coarsen()
        A = problem.matrix.toarray()
        np.testing.assert_array_equal(A, A.T)
        assert (A - np.diag(np.diag(A)) <= 0).all() and (A.sum(axis=1) > -1e-12 * np.diag(A)).all()
    assert problem.problem.n > 0


def test_box_problems_coarsen_through_the_geometry():
    case = cases.build("circle2d", 32)
    coarse = case.problem.coarsen()
    assert coarse.n == case.pressure_problem.coarsen().problem.n
    assert coarse.coarsen().n < coarse.n < case.problem.n


def test_a_problem_goes_when_nobody_needs_it():
    """No reference cycle: a simulation must not keep every step's arrays until the collector comes round."""
    n = 6
    faces = (np.zeros((n + 1, n)), np.full((n, n + 1), -1.0))
    problem = nonstick.PressureProblem(phi_liquid=np.full((n, n), -1.0), velocity=faces, dt=0.1, dx=1.0)
    inner = weakref.ref(problem.problem)
    gc.disable()
    try:
        del problem
        assert inner() is None
    finally:
        gc.enable()
