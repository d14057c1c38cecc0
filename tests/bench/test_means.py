"""Averages over a run, and quartiles of residuals, on data whose answer is known."""

import numpy as np
import pytest

from nonstick.bench import Row
from nonstick.bench.row import mean_row, quartiles


def row(iterations, outer=1, seconds=1.0, converged=True, **more):
    return Row("c", 8, 100, "m", iterations, outer, seconds, 0.25, 1e-7, converged, **more)


def test_quartiles_of_five_curves():
    traces = [[(0, 1.0), (1, 10.0 ** -(k + 1)), (2, 10.0 ** -(2 * k + 2))] for k in range(5)]
    at, values = quartiles(traces)
    assert at.tolist() == [0, 1, 2]
    np.testing.assert_allclose(values[:, 0], 1.0)
    np.testing.assert_allclose(values[:, 1], [1e-5, 1e-4, 1e-3, 1e-2, 1e-1])
    np.testing.assert_allclose(values[:, 2], [1e-10, 1e-8, 1e-6, 1e-4, 1e-2])


def test_a_residual_holds_until_the_next_and_after_the_end():
    # one solve reports at 0, 4, 8, the other has ended at 2
    at, values = quartiles([[(0, 1.0), (4, 0.5), (8, 0.1)], [(0, 2.0), (2, 0.2)]])
    assert at.tolist() == [0, 2, 4, 8]
    np.testing.assert_allclose(values[0], [1.0, 0.2, 0.2, 0.1])
    np.testing.assert_allclose(values[4], [2.0, 1.0, 0.5, 0.2])
    np.testing.assert_allclose(values[2], [1.5, 0.6, 0.35, 0.15])


def test_quartiles_of_nothing():
    at, values = quartiles([[], []])
    assert at.size == 0 and values.shape == (5, 0)


def test_means():
    got = mean_row("c", 8, "m", [row(4, 1, 1.0, peak_bytes=7), row(7, 2, 3.0)])
    assert (got.iterations, got.outer_iterations, got.seconds, got.peak_bytes) == (5.5, 1.5, 2.0, 7)
    assert got.converged and got.reason is None and not got.missed


def test_a_solve_that_missed_is_told():
    got = mean_row("c", 8, "m", [row(4), row(7, converged=False, reason="why")])
    assert not got.converged and got.missed and got.reason == "1 of 2 solves did not converge"


def test_a_problem_without_solution_is_told_but_is_no_failure():
    got = mean_row("c", 8, "m", [row(4), row(7, converged=False, must_converge=False, reason="compressed")])
    assert got.converged and not got.missed and "1 of 2 problems hold a compressed pocket" in got.reason


def test_an_ablation_may_miss():
    got = mean_row("c", 8, "m", [row(4, must_converge=False), row(7, converged=False, must_converge=False)])
    assert not got.converged and not got.missed and got.reason == "1 of 2 solves did not converge"


@pytest.mark.parametrize(
    "rows, reason", [([], "no problem to solve"), ([Row("c", 8, 1, "m", reason="cannot")], "cannot")]
)
def test_nothing_to_average(rows, reason):
    got = mean_row("c", 8, "m", rows)
    assert got.iterations is None and got.reason == reason and not got.missed
