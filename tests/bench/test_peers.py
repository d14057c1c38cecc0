"""Peers solve the same problems: each reaches the solution our methods reach."""

import numpy as np
import pytest

from nonstick import api, cases
from nonstick.bench import peers
from nonstick.bench.peers import PEERS, names, rows_of, run
from nonstick.bench.registry import get
from nonstick.problem.box import BoxProblem

PROBLEMS = [("circle2d", 24), ("sphere3d", 10)]


@pytest.mark.parametrize("case, n", PROBLEMS)
@pytest.mark.parametrize("name", PEERS)
def test_a_peer_reaches_the_solution(name, case, n):
    _, method = PEERS[name]
    problem = cases.build(case, n).problem
    found = api.solve_problem(problem, method, rtol=1e-7)
    assert found.converged and found.iterations > 0
    ours = api.solve_problem(problem, "no-lcp" if method.linear else "psor", rtol=1e-9)
    assert np.abs(found.x - ours.x).max() <= 1e-4 * np.abs(ours.x).max()


def test_a_peer_that_is_not_installed_is_a_dash(monkeypatch):
    monkeypatch.setattr("nonstick.bench.peers.missing", lambda extra, package: f"{package} is not installed")
    monkeypatch.setattr("nonstick.bench.peers.petsc_version", lambda: None)
    rows = list(run(get("peers").plan((8,), ("psor",))))
    assert [row.method for row in rows] == ["psor", *names()]
    assert all("not installed" in row.reason for row in rows[1:])


@pytest.mark.skipif(peers.petsc_version() is None, reason=peers.ADVICE)
@pytest.mark.parametrize("name", [name for name in peers.petsc_names() if name.endswith("@1")])
def test_petsc_reaches_the_solution(name):
    problem = cases.build("sphere3d", 10).problem
    row = peers.measure_petsc("peers", 10, name, problem, 1e-6, 60.0)
    assert row.converged and row.iterations > 0 and row.seconds > 0, row.reason


@pytest.mark.skipif(peers.petsc_version() is None, reason=peers.ADVICE)
def test_petsc_on_two_ranks_with_two_bounds():
    problem = cases.build("circle2d", 24).problem
    top = np.where(problem.box.constrained, 0.5 * api.solve_problem(problem, "psor").x.max(), np.inf)
    both = BoxProblem(problem.A, problem.b, problem.box.lower, top)
    row = peers.measure_petsc("peers", 24, "petsc-rsls@2", both, 1e-6, 60.0)
    assert row.converged and row.threads == 2, row.reason


def test_a_peer_that_would_take_too_long_is_left_out():
    rows = list(rows_of("scipy-lbfgsb", get("peers").plan((8, 10_000), time_limit=5.0)))
    assert rows[0].converged and rows[1].seconds is None
    assert "omitted" in rows[1].reason
