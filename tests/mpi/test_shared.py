"""One solve on many ranks gives what one process gives, in as many iterations."""

from dataclasses import replace

import numpy as np
import pytest

import nonstick
from nonstick import NonstickError, cases
from nonstick.inverse.multigrid.grid import level
from nonstick.mpi.shared import AUTO, Shared, solve_shared, static_case
from nonstick.parallel.halo import Boxes
from nonstick.problem.monitor import Monitor
from nonstick.solvers.safeguards.descent import face_descent


@pytest.fixture
def deep(monkeypatch):
    """Small problems with several shared levels."""
    monkeypatch.setattr(level, "GATHERED", 60)


def whole(comm, shared, values):
    """A vector over all ranks, in C order of the cells."""
    own = shared.piece.owned
    cells, values = comm.joined(shared.piece.cells[own]), comm.joined(values[own])
    return values[np.lexsort(cells.T[::-1])]


def same(comm, shared, solution, reference):
    """Pressures to the tolerance, and the same contact set."""
    x = whole(comm, shared, solution.x)
    assert np.abs(x - reference.x).max() < 1e-6 * np.abs(reference.x).max()
    np.testing.assert_array_equal(whole(comm, shared, solution.active), reference.active)


@pytest.mark.parametrize("name, n", [("circle2d", 26), ("sphere3d", 20), ("box-dam3d", 18)])
def test_every_rank_finds_its_part_of_the_solution(comm, deep, name, n):
    shared = static_case(comm, name, n)
    problem = cases.build(name, n).problem
    assert shared.problem.A.unknowns == problem.n
    assert shared.problem.scale == pytest.approx(problem.scale)
    method = replace(AUTO, large=100, many=10)  # starts from coarser problems, also on shared levels
    solution = solve_shared(shared, method=method)
    reference = nonstick.solve_problem(problem)
    assert solution.converged
    assert solution.kkt() <= 1e-6
    assert solution.iterations <= 1.3 * reference.iterations + 2
    same(comm, shared, solution, reference)


def test_the_operator_and_its_sums_are_those_of_one_process(comm, deep):
    shared = static_case(comm, "sphere3d", 14)
    problem = cases.build("sphere3d", 14).problem
    x = np.random.default_rng(0).standard_normal(problem.n)
    own = shared.piece.owned
    cells = comm.joined(shared.piece.cells[own])
    order = np.lexsort(cells.T[::-1])
    at = np.empty(problem.n, int)
    at[order] = np.arange(problem.n)
    start = sum(comm.gathered(own.size)[: comm.rank])
    mine = shared.problem.A.zeros()
    mine[own] = x[at[start : start + own.size]]
    image = shared.problem.A @ mine
    np.testing.assert_allclose(whole(comm, shared, image), problem.A @ x, rtol=1e-13, atol=1e-13 * np.abs(x).max())
    assert shared.problem.A.energy(mine, image) == pytest.approx(problem.A.energy(x, np.empty_like(x)), rel=1e-13)
    assert shared.problem.A.peak(image) == pytest.approx(problem.A.peak(problem.A @ x), rel=1e-13)


def test_a_solve_starts_from_the_last_one(comm, deep):
    shared = static_case(comm, "sphere3d", 16)
    first = solve_shared(shared)
    if comm.rank == 0:  # one rank alone may print
        assert "converged" in repr(first)
    again = solve_shared(shared, x0=shared.leave(first.x), active=shared.leave(first.active))
    assert again.converged
    assert again.iterations == 0


def test_exact_policy_iteration_and_the_last_safeguard(comm, deep):
    shared = static_case(comm, "sphere3d", 12)
    reference = nonstick.solve_problem(cases.build("sphere3d", 12).problem)
    same(comm, shared, solve_shared(shared, method=replace(AUTO, patience=0)), reference)
    x, monitor = np.zeros(shared.problem.n), Monitor(shared.problem)
    from nonstick.inverse import CG

    face_descent(shared.problem, x, CG(AUTO.M), monitor, 500)
    assert monitor.status == "converged"
    assert np.abs(whole(comm, shared, x) - reference.x).max() < 1e-5 * np.abs(reference.x).max()


def test_a_rank_without_liquid_takes_part(comm, deep):
    """Boxes by volume: ranks of the right half have nothing."""
    n = 16
    boxes = Boxes.regular((n,) * 3, comm.size, align=4)
    held = boxes[comm.rank].grown(2, boxes.shape)
    local = cases.build("sphere3d", n, window=(held.low, held.high)).problem
    shared = Shared(comm, boxes, held, local)
    if comm.size > 1:
        assert min(comm.gathered(shared.piece.owned.size)) == 0
    solution = solve_shared(shared)
    assert solution.converged
    same(comm, shared, solution, nonstick.solve_problem(cases.build("sphere3d", n).problem))


def test_limits_stop_all_ranks(comm, deep):
    shared = static_case(comm, "sphere3d", 14)
    assert solve_shared(shared, maxiter=1).status == "maxiter"
    assert solve_shared(shared, time_limit=1e-9).status == "time"


def test_what_many_ranks_cannot_do_is_refused(comm):
    with pytest.raises(NonstickError, match="not made from shapes"):
        static_case(comm, "obstacle2d", 20)
    boxes = Boxes.regular((8, 8), comm.size)
    held = boxes[comm.rank].grown(2, boxes.shape)
    local = cases.build("circle2d", 8, window=(held.low, held.high)).problem
    with pytest.raises(NonstickError, match="multiples of 2, 4, 8"):
        Shared(comm, boxes, held, local)
