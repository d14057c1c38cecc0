"""No result depends on the order in which the parts of a shared loop run, nor on their number."""

import numpy as np
import pytest
from backwards import PARTS, last_part_first
from numba import njit

from nonstick import Scene, Simulation, cases, solve_problem
from nonstick.kernels import prange
from nonstick.scenes import builtin


@njit(nogil=True)
def _overwrite(out):
    """Two turns write each place: a fault."""
    for i in prange(out.size - 1):
        out[i] = i
        out[i + 1] = -i


def test_kernels_whose_turns_meet_are_found():
    found, expected = np.zeros(100), np.append(np.arange(99.0), -98.0)
    with last_part_first():
        _overwrite(found)
    assert np.count_nonzero(found != expected) == PARTS - 1


@pytest.mark.parametrize("name", [name for name in builtin() if name != "bunny-drop"])  # ten seconds: its meshes
def test_scenes_move_alike(name):
    def state():
        simulation = Simulation(Scene.load(name, {"domain.resolution": 12}))
        for _ in range(2):
            simulation.step(0.01)
        return simulation.state()

    expected = state()
    with last_part_first():
        found = state()
    assert all(np.array_equal(found[key], value) for key, value in expected.items())


@pytest.mark.parametrize(("name", "n"), [("sphere3d", 48), ("maze2d", 200), ("obstacle2d", 160)])
@pytest.mark.parametrize("method", ["auto", "fas-mg", "fmg", "tagiaamg-mprgp"])
def test_solves_of_more_than_one_thread_agree(name, n, method):
    problem = cases.build(name, n).problem
    expected = solve_problem(problem, method)
    with last_part_first():
        found = solve_problem(problem, method)
    assert found.iterations == expected.iterations
    np.testing.assert_array_equal(found.x, expected.x)
