"""Peers solve the same problems: each reaches the solution our methods reach."""

import numpy as np
import pytest

from nonstick import api, cases
from nonstick.bench.peers import PEERS, run
from nonstick.bench.registry import get

PROBLEMS = [("circle2d", 24), ("sphere3d", 10)]


@pytest.mark.parametrize("case, n", PROBLEMS)
@pytest.mark.parametrize("name", PEERS)
def test_a_peer_reaches_the_solution(name, case, n):
    package, method = PEERS[name]
    pytest.importorskip(package)
    problem = cases.build(case, n).problem
    found = api.solve_problem(problem, method, rtol=1e-7)
    assert found.converged and found.iterations > 0
    ours = api.solve_problem(problem, "no-lcp" if method.linear else "psor", rtol=1e-9)
    assert np.abs(found.x - ours.x).max() <= 1e-4 * np.abs(ours.x).max()


def test_a_peer_that_is_not_installed_is_a_dash(monkeypatch):
    monkeypatch.setattr("nonstick.bench.peers.find_spec", lambda package: None)
    rows = list(run(get("peers").plan((8,), ("psor",))))
    assert [row.method for row in rows] == ["psor", *PEERS]
    assert all("not installed" in row.reason for row in rows[1:])
