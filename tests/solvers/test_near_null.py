"""Vector problems: near-null vectors, nodes and blocks, and smoothed aggregation that keeps all of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from gallery import beam, block, elasticity, grid, pressed_cube, solid_block

import nonstick
from nonstick import NonstickError
from nonstick.compositions import EXACT, MODES, SAFE, SET_UP
from nonstick.inverse import CG, Cascade, Lexicographic, Multigrid, NearNull, V, Within
from nonstick.inverse.multigrid.aggregation.near_null import NodeTransfer, node_links, tentative
from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import Masked
from nonstick.problem.box import BoxProblem
from nonstick.problem.given import Modes, rigid_body_modes
from nonstick.solvers import ActiveSet

#: `auto` without sparse factors, which small problems prefer
CYCLES = ActiveSet(Cascade(((Within(100), MODES), SAFE)))


@pytest.mark.parametrize("make", [lambda: elasticity(6, 4)[:2], lambda: solid_block(3)], ids=["plane", "space"])
def test_rigid_body_modes_strain_nothing(make):
    A, place = make()
    B = rigid_body_modes(place)
    assert B.shape[1] == {2: 3, 3: 6}[place.shape[1]] == np.linalg.matrix_rank(B)
    assert np.abs(A @ B).max() < 1e-12


def test_tentative_columns_are_orthonormal_and_keep_the_vectors():
    rng = np.random.default_rng(0)
    B, parent = rng.standard_normal((30, 3)), np.repeat([0, 1, 2, -1, 1], 6)
    B[12:18, 2] = 2.0 * B[12:18, 0]  # a dependent column
    T, R = tentative(B, parent, 3)
    inside = parent >= 0
    again = np.einsum("ik,ikl->il", T, R.reshape(3, 3, 3)[parent])
    np.testing.assert_allclose(again[inside], B[inside], atol=1e-12)
    grams = [T[parent == a].T @ T[parent == a] for a in range(3)]
    for gram in grams:
        np.testing.assert_allclose(gram, np.diag(np.diag(gram).round()), atol=1e-12)
    assert not T[20].any() and sum(np.trace(gram).round() for gram in grams) == 8


def test_the_cycle_is_symmetric_and_positive():
    A, place = elasticity(8, 6)[:2]
    operator = CSROperator(A + 0.01 * np.mean(A.diagonal()) * np.eye(A.shape[0]))
    operator.near_null, operator.node = Modes(nodes=place).vectors(A.shape[0])
    cycle = Multigrid(NearNull(), Lexicographic(), V(1, 1), smallest=20).setup(operator)
    M = np.stack([cycle.apply(e, np.empty(operator.n)).copy() for e in np.eye(operator.n)])
    np.testing.assert_allclose(M, M.T, atol=1e-10 * np.abs(M).max())
    assert np.linalg.eigvalsh(M).min() > 0


def free_sets(n, rng):
    """None, some rows clamped, others, none of a whole region, all again."""
    yield None
    for part in (0.01, 0.3):
        yield rng.random(n) > part
    yield np.arange(n) > n // 2
    yield np.ones(n, bool)


@pytest.mark.parametrize("make", [lambda: elasticity(12, 9)[:2], lambda: solid_block(5)], ids=["plane", "space"])
def test_coarse_matrices_are_those_of_the_free_rows(make):
    A, place = make()
    operator = CSROperator(A + 0.01 * sp.diags_array(A.diagonal()))
    operator.near_null, operator.node = Modes(nodes=place).vectors(operator.n)
    recipe, cycle = Multigrid(NearNull(), Lexicographic(), V(1, 1), smallest=20), None
    for free in free_sets(operator.n, np.random.default_rng(0)):
        cycle = recipe.setup(Masked(operator, free), cycle)
        M = operator.matrix() if free is None else sp.csr_array(operator.matrix() * np.outer(free, free))
        for level, coarse in zip(cycle.levels[:-1], cycle.levels[1:]):
            P = level.transfer.matrix().toarray()
            twin = P.T @ (M @ P)
            twin[np.diag(twin <= 0.0 * twin).nonzero() * 2] = 1.0
            np.testing.assert_allclose(coarse.A.matrix().toarray(), twin, atol=1e-12 * np.abs(twin).max())
            M = sp.csr_array(twin)


@pytest.mark.parametrize("make", [lambda: elasticity(12, 9)[:2], lambda: solid_block(5)], ids=["plane", "space"])
def test_interpolation_is_the_smoothed_aggregate(make):
    A, place = make()
    B, node = Modes(nodes=place).vectors(A.shape[0])
    width, k = place.shape[1], B.shape[1]
    squares = np.zeros((len(place), len(place)))
    np.add.at(squares, (node[:, None], node), (A.toarray() ** 2))
    links = node_links(A, width)
    np.testing.assert_allclose(links.toarray(), squares, rtol=1e-13)
    parent = np.arange(len(place), dtype=np.int32) // 9
    parent[-3:] = -1
    count = int(parent.max()) + 1
    T, _ = tentative(B, np.repeat(parent, width), count)
    step = np.random.default_rng(0).random(A.shape[0]) / A.diagonal()
    P = NodeTransfer(A, links, T, parent, count, step).matrix().toarray()
    wide = np.zeros_like(P)
    for row, a in enumerate(np.repeat(parent, width)):
        if a >= 0:
            wide[row, k * a : k * (a + 1)] = T[row]
    np.testing.assert_allclose(P, wide - step[:, None] * (A @ wide), atol=1e-12)


def counts(A, b, **options):
    solution = nonstick.solve(A, b, None, method=CYCLES, **options)
    assert solution.success and "near null" in solution.path and "left" not in solution.path, solution
    return solution.iterations


def test_iterations_are_flat_over_sizes():
    plane = []
    for m in (1, 2, 4):
        A, b, *_ = beam(30 * m, 8 * m)
        _, place, node = elasticity(30 * m, 8 * m)
        plane.append(counts(A, b, nodes=np.delete(place, node[0], axis=0)))
    assert max(plane) <= 20 and plane[-1] <= plane[0] + 6
    space = []
    for m in (5, 10):
        A, b, _, _, place = pressed_cube(m)
        space.append(counts(A, b, nodes=place))
    assert max(space) <= 20


@pytest.mark.parametrize("nu", [0.3, 0.45])
def test_contact_of_a_cube(nu):
    A, b, lower, upper, place = pressed_cube(8, nu)
    solution = nonstick.solve(A, b, lower, upper, nodes=place, method=CYCLES)
    assert solution.success and solution.iterations <= 25 and (solution.active != 0).any(), solution
    plain = nonstick.solve(A, b, lower, upper, method="pi-direct")
    np.testing.assert_allclose(solution.x, plain.x, atol=1e-5 * np.abs(plain.x).max())


def test_a_body_that_only_contact_holds():
    A, b, lower, upper, _ = block(24)
    place = elasticity(24, 24, length=1.0)[1]
    solution = nonstick.Solver(A, nodes=place, method=CYCLES).solve(b, lower, upper)
    assert solution.success and solution.iterations < 100, solution
    plain = nonstick.solve(A, b, lower, upper, rtol=1e-9)
    assert solution.fun == pytest.approx(plain.fun, rel=1e-5)  # it may slide a little between its walls
    up = slice(1, None, 2)
    np.testing.assert_allclose(solution.x[up], plain.x[up], atol=1e-4 * np.abs(plain.x).max())


def test_a_solver_keeps_its_modes_when_numbers_change():
    A, b, lower, upper, place = pressed_cube(5)
    solver = nonstick.Solver(A, nodes=place, method=CYCLES)
    first = solver.solve(b, lower, upper)
    solver.update(2.0 * A)
    again = solver.solve(2.0 * b, lower, upper)
    assert "near null" in again.path and np.abs(again.x - first.x).max() < 1e-5 * np.abs(first.x).max()


def test_blocks_alone_are_one_constant_for_each_component():
    B, node = Modes(block=2).vectors(6)
    assert (np.tile(np.eye(2), (3, 1)) == B).all() and node.tolist() == [0, 0, 1, 1, 2, 2]
    scalar = nonstick.solve(grid(30), np.ones(900), near_null=np.ones(900), rtol=1e-8, method=CYCLES)
    assert scalar.success and "near null" in scalar.path
    assert CG(Multigrid(NearNull())).fits(CSROperator(grid(3)))


@pytest.mark.parametrize(
    "options, words",
    [
        ({"near_null": np.ones((5, 2))}, "near_null has shape 5 × 2"),
        ({"nodes": np.ones((5, 2))}, "nodes has shape 5 × 2"),
        ({"nodes": np.ones((6, 2)), "block": 3}, "block is 3, but nodes have 2"),
        ({"block": 5}, "block must be the number of unknowns"),
        ({"block": 2, "cells": np.argwhere(np.ones((3, 4), bool))}, "belong to a matrix without cells"),
    ],
)
def test_mistakes_get_one_sentence(options, words):
    with pytest.raises(NonstickError, match=words):
        nonstick.solve(4.0 * np.eye(12), np.ones(12), **options)


def test_cheap_factors_come_before_a_hierarchy_of_known_modes():
    """A weak hierarchy takes up to eight times as long, and one of few iterations half as long at best."""
    A, b, lower, upper, places = pressed_cube(12)
    operator = CSROperator(A)
    operator.near_null, operator.node = Modes(nodes=places).vectors(A.shape[0])
    assert SET_UP.chosen(BoxProblem(operator, b, lower, upper)) == EXACT
