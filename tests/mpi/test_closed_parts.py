"""Liquid without a free surface that reaches over several ranks: the answer of one process."""

import numpy as np
import pytest

from nonstick import PressureProblem, Scene, Simulation, solve_problem
from nonstick.inverse.multigrid.grid import level
from nonstick.mpi.shared import Shared, solve_shared
from nonstick.parallel.halo import Boxes
from nonstick.sim.liquid.distributed import simulate
from nonstick.solvers.safeguards.pockets import find


def chambers(shape, walls, push, held=None):
    """Random flow in two chambers: the first one is full, the second one has a free surface.

    `push` is the mean divergence of the first one.
    """
    rng = np.random.default_rng(5)
    d, middle = len(shape), shape[0] // 2  # an even number: no 2×2×2 block lies in both chambers
    phi = np.full(shape, -1.0)
    phi[middle:, ..., shape[-1] // 2 :] = 1.0
    velocity, weights = [], []
    for axis in range(d):
        size = tuple(n + (a == axis) for a, n in enumerate(shape))
        u, w = rng.normal(size=size), np.ones(size)
        np.moveaxis(w, axis, 0)[[0, -1]] = 0.0
        if axis == 0:
            w[middle] = 0.0
        velocity.append(u), weights.append(w)
    source = np.zeros(shape)
    source[:middle] = push
    here = tuple(map(slice, held.low, held.high)) if held else (slice(None),) * d
    faces = [
        tuple(slice(s.start, s.stop + (a == axis)) if s.stop is not None else s for a, s in enumerate(here))
        for axis in range(d)
    ]
    return PressureProblem(
        phi_liquid=phi[here].copy(), velocity=[u[f].copy() for u, f in zip(velocity, faces)], dt=0.01, dx=0.1,
        weights=[w[f].copy() for w, f in zip(weights, faces)], walls=walls, source=source[here].copy(),
    )  # fmt: skip


@pytest.fixture(params=[60, 20_000])
def size(request, monkeypatch):
    """With several shared levels, and with one."""
    monkeypatch.setattr(level, "GATHERED", request.param)


@pytest.mark.parametrize("shape", [(20, 14), (16, 10, 12)])
@pytest.mark.parametrize(
    "walls, push, kind", [("none", 0.0, "compatible"), ("all", -0.3, "expanding"), ("all", 0.3, "infeasible")]
)
def test_a_full_chamber_is_solved_as_in_one_process(comm, size, shape, walls, push, kind):
    boxes = Boxes.regular(shape, comm.size, align=4)
    held = boxes[comm.rank].grown(2, shape)
    shared = Shared(comm, boxes, held, chambers(shape, walls, push, held).problem)
    whole = chambers(shape, walls, push)
    assert len(find(whole.problem.A)) == len(find(shared.problem.A)) == 1
    true, solution = solve_problem(whole.problem, rtol=1e-9), solve_shared(shared, rtol=1e-9)
    assert solution.status == true.status == ("infeasible" if kind == "infeasible" else "converged")
    assert solution.notes["pockets"] == true.notes["pockets"] == {kind: 1}
    own = shared.piece.owned
    cells = shared.piece.cells[own][:, 3 - len(shape) :]
    expected = whole.rows.to_grid(true.x)[tuple(cells.T)]
    np.testing.assert_allclose(solution.x[own], expected, atol=1e-6 * np.abs(true.x).max())
    assert solution.iterations <= 1.3 * true.iterations + 2


@pytest.mark.parametrize("name", ["neumann-maze", "ball in a full tank"])
def test_a_full_tank_runs_on_many_ranks(comm, name):
    if name == "neumann-maze":
        scene = Scene.load(name, {"domain.resolution": 12})
    else:
        ball = {"type": "ball", "centre": [0.4, 0.5], "radius": 0.15}
        scene = Scene(
            {
                "domain": {"size": [1.0, 1.0], "resolution": 16},
                "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 1.0]}}],
                "solid": [{"shape": ball, "motion": {"amplitude": [0.2, 0.0], "frequency": 1.0}}],
            }
        )
    on_ranks, alone = simulate(scene, comm), Simulation(scene)
    for _ in range(2):
        for mine, true in zip(on_ranks.next_frame(), alone.next_frame(), strict=True):
            for key in ("converged", "unknowns", "particles"):
                assert mine[key] == true[key], key
            for key in ("kinetic", "volume"):
                assert mine[key] == pytest.approx(true[key], rel=1e-5, abs=1e-12), key
    assert true["kinetic"] > 0.0
