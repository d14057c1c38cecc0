"""Multigrid over face velocities: transfers, coarse systems, smoothers and whole cycles against dense twins."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest

from nonstick import ViscosityProblem
from nonstick.bench.problems import ball_in_a_box
from nonstick.compositions import BOX_MG, CHEBYSHEV_MG, face_multigrid
from nonstick.discretise import StokesProblem
from nonstick.inverse.multigrid.bottom import Sweeps
from nonstick.inverse.multigrid.faces.box import BoxSmoother, BoxSweep, BoxTable, full_box, stencil_box
from nonstick.inverse.multigrid.faces.coarsening import (
    AIR,
    FLUID,
    SOLID,
    FaceTransfer,
    MeanVolumes,
    Voxels,
    coarsen_volumes,
    coarsen_voxels,
)
from nonstick.inverse.multigrid.faces.smoothers import BandJacobi, Chebyshev, ViscousBottom
from nonstick.inverse.multigrid.level import OperatorLevel
from nonstick.kernels._faces import _faces_polynomial, _faces_scaled


def pool(cells, mu=0.02, seed=0, ball=True, variable=False):
    """A random velocity in a tilted pool with a ball in it; dx = 1/cells[0]."""
    rng = np.random.default_rng(seed)
    d, h = len(cells), 1 / cells[0]
    centres = np.meshgrid(*[(np.arange(n) + 0.5) * h for n in cells], indexing="ij")
    nodes = np.meshgrid(*[np.arange(n + 1) * h for n in cells], indexing="ij")
    middle = [0.45 * n * h for n in cells]
    phi = centres[0] + 0.3 * centres[1] - 0.8
    solid = np.sqrt(sum((x - m) ** 2 for x, m in zip(nodes, middle))) - (0.17 if ball else -1.0)
    velocity = [rng.standard_normal([n + (i == a) for i, n in enumerate(cells)]) for a in range(d)]
    viscosity = np.where(centres[1] < 0.4, mu, 100 * mu) if variable else mu
    return ViscosityProblem(
        velocity=velocity, viscosity=viscosity, dt=1.0, dx=h, rho=1.0, phi_liquid=phi, phi_solid=solid
    )


def dense(system, n, function):
    """The matrix of a function between compact vectors."""
    columns = []
    for i in range(n):
        e = np.zeros(n)
        e[i] = 1.0
        columns.append(function(e))
    return np.array(columns).T


@pytest.mark.parametrize("cells", [(8, 6), (7, 9), (5, 6, 7), (6, 4, 4)])
@pytest.mark.parametrize("coarsening", ["volumes", "voxels"])
def test_prolongation_is_the_scaled_transpose_of_restriction(cells, coarsening):
    fine = pool(cells).system
    if coarsening == "volumes":
        coarse = coarsen_volumes(fine)
    else:
        labels = np.full(fine.grid.cells, FLUID, np.int8)
        coarse = coarsen_voxels(fine.grid, labels, 1.0)
    assert coarse.n > 0
    transfer = FaceTransfer(fine, coarse)

    def restrict(x):
        return coarse.gather(transfer.restrict(fine.scatter(x), coarse.zeros()))

    def prolong(x):
        return fine.gather(transfer.prolong_add(coarse.scatter(x), fine.zeros()))

    R, P = dense(fine, fine.n, restrict), dense(coarse, coarse.n, prolong)
    np.testing.assert_allclose(P, 2 ** len(cells) * R.T, atol=1e-14)


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_liquid_slips_along_a_wall_on_every_level(first):
    """A uniform flow along a channel, wherever its walls lie among the coarse cells, is free of stress."""
    open_x = np.ones((25, 16))
    open_x[:, : 1 + first], open_x[:, 15 - first :] = 0.0, 0.0
    open_y = np.ones((24, 17))
    open_y[:, : 2 + first], open_y[:, 15 - first :] = 0.0, 0.0
    fine = StokesProblem(
        phi_liquid=-np.ones((24, 16)), velocity=(0 * open_x, 0 * open_y), viscosity=7.0, dt=1.0, dx=1.0, rho=1.0,
        weights=(open_x, open_y), slip=True,
    ).viscous.system  # fmt: skip
    for _ in range(2):
        coarse = coarsen_volumes(fine)
        flow = np.zeros((3, *coarse.grid.padded))
        flow[1] = coarse.active()[1]
        stress = (coarse.apply(flow.ravel(), coarse.zeros()) - coarse.m * flow.ravel()).reshape(3, *coarse.grid.padded)
        rows = coarse.active()[1]
        rows[:, :3], rows[:, -5:] = False, False  # the ends of the channel are closed
        assert rows.any()
        np.testing.assert_allclose(stress[1][rows], 0.0, atol=1e-13)
        fine = coarse


@pytest.mark.parametrize("d", [2, 3])
def test_restriction_has_the_stencils_of_the_paper(d):
    n = 8
    velocity = [np.zeros([n + (i == a) for i in range(d)]) for a in range(d)]
    problem = ViscosityProblem(velocity=velocity, viscosity=1.0, dt=1.0, dx=1.0, phi_liquid=-np.ones((n,) * d))
    fine = problem.system
    coarse = coarsen_volumes(fine)
    transfer = FaceTransfer(fine, coarse)
    for a in fine.grid.axes:
        probe = np.zeros((3, *coarse.grid.padded))
        centre = [3 if axis in fine.grid.axes else 1 for axis in range(3)]  # coarse face or cell 2 along each axis
        probe[(a, *centre)] = 1.0
        spread = transfer.prolong_add(probe.ravel(), fine.zeros()).reshape(3, *fine.grid.padded)[a] / 2**d
        expected = np.ones((1, 1, 1))
        for axis in range(3):
            line = np.zeros(fine.grid.padded[axis])
            if axis not in fine.grid.axes:
                line[1] = 1.0
            elif axis == a:
                line[4:7] = 0.25, 0.5, 0.25
            else:
                line[4:8] = 0.125, 0.375, 0.375, 0.125
            expected = expected * line.reshape([-1 if i == axis else 1 for i in range(3)])
        np.testing.assert_allclose(spread, expected, atol=1e-15)


@pytest.mark.parametrize(("n", "d"), [(40, 2), (18, 3), (26, 3)])
def test_unknowns_of_coarse_levels_have_an_equation(n, d):
    """The stress of an edge beside a coarse wall may vanish, and with it all that acted on a face."""
    fine = ball_in_a_box(n, d).system
    for _ in range(2):
        fine = coarsen_volumes(fine)
        assert fine.matrix().diagonal().min() > 0.0


def test_coarse_coefficients_are_exact_where_liquid_is_full():
    problem = pool((16, 12), ball=False)
    coarse = coarsen_volumes(problem.system)
    k = coarse.k.reshape(6, *coarse.grid.padded)
    assert k[4, 1, 2, 2] == pytest.approx(2 * problem.system.scale / 4, rel=1e-14)
    assert k[1, 1, 2, 2] == pytest.approx(problem.system.scale / 4, rel=1e-14)
    assert coarse.m.reshape(3, *coarse.grid.padded)[1, 1, 4, 3] == pytest.approx(1.0)  # away from walls


def test_coarse_stress_of_a_cell_is_what_interpolation_makes_of_it():
    """Energy of a coarse velocity, interpolated: where u changes along x only, τ_xx agrees exactly, whatever k is."""
    n = 8
    rng = np.random.default_rng(4)
    line = rng.random(n)  # viscosity of the columns
    velocity = [np.zeros((n + 1, n)), np.zeros((n, n + 1))]
    viscosity = np.repeat(line[:, None], n, axis=1)
    fluid = [np.ones(v.shape, bool) for v in velocity]
    problem = ViscosityProblem(
        velocity=velocity, viscosity=viscosity, dt=1.0, dx=1.0, rho=1.0, phi_liquid=-np.ones((n, n)), fluid=fluid
    )
    coarse = coarsen_volumes(problem.system)
    k = coarse.k.reshape(6, *coarse.grid.padded)[4, 1, 1:5, 2]
    np.testing.assert_allclose(k, 2 * line.reshape(4, 2).mean(axis=1) / 4, rtol=1e-13)


def test_voxels_coarsen_as_in_the_paper():
    """SOLID if any child is, else FLUID if any child is, else AIR; faces and edges follow section 6.1."""
    grid = pool((8, 4)).grid
    labels = np.full((1, 8, 4), AIR, np.int8)
    labels[0, :4, :] = FLUID
    labels[0, 4, 0] = FLUID
    labels[0, 0, 0] = SOLID
    coarse = coarsen_voxels(grid, labels, 8.0)
    np.testing.assert_array_equal(coarse.labels[0], [[SOLID, FLUID], [FLUID, FLUID], [FLUID, AIR], [AIR, AIR]])
    assert coarse.cell_stress == 2.0
    u, v = coarse.active()[1:][:, 1, 1:6, 1:4]
    # u faces 1 (beside SOLID) is no unknown in row 0; faces on the box are solid; face 3 touches FLUID in row 0
    np.testing.assert_array_equal(u[:, 0], [False, False, True, True, False])
    np.testing.assert_array_equal(u[:, 1], [False, True, True, True, False])
    np.testing.assert_array_equal(v[:4, 1], [False, True, True, True])
    np.testing.assert_array_equal(coarse.m[coarse.active().ravel()], 1.0)


@pytest.mark.parametrize("cells", [(9, 8), (5, 6, 5)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_polynomial_step_against_its_twin(cells, dtype):
    problem = pool(cells)
    S = problem.system
    A, d = problem.matrix, problem.operator.diagonal
    rng = np.random.default_rng(3)
    x, y, b = rng.standard_normal((3, S.n)).astype(dtype)
    out = S.scatter(y)
    _faces_polynomial(out, S.scatter(x), S.scatter(b), S.m, S.k, S.runs, S.plain, S.strides, S.P, 1.3, -0.2, 0.7)
    expected = 1.3 * x - 0.2 * y + 0.7 * (b - A @ x) / d
    np.testing.assert_allclose(S.gather(out), expected, atol=1e3 * np.finfo(dtype).eps)
    out = S.zeros(dtype)
    _faces_scaled(out, S.scatter(b), S.m, S.k, S.runs, S.plain, S.strides, S.P, 0.6)
    np.testing.assert_allclose(S.gather(out), 0.6 * b / d, rtol=10 * np.finfo(dtype).eps)


def test_chebyshev_smoother_is_its_polynomial():
    problem = pool((9, 8))
    S, A, d = problem.system, problem.matrix.toarray(), problem.operator.diagonal
    degree, ratio = 3, 5.0
    high = 4 / (1 + 1 / ratio)
    middle, half = 0.5 * (high + high / ratio), 0.5 * (high - high / ratio)
    values, vectors = np.linalg.eigh(A / np.sqrt(np.outer(d, d)))
    assert values.max() <= 4 + 1e-12
    T = np.polynomial.chebyshev.Chebyshev.basis(degree)
    damped = T((middle - values) / half) / T(middle / half)
    error = (vectors * damped) @ vectors.T / np.sqrt(d)[:, None] * np.sqrt(d)
    level = OperatorLevel(S, Chebyshev(degree, ratio).setup(S))
    exact = np.random.default_rng(0).standard_normal(S.n)
    S.scatter(A @ exact, level.b)
    level.smooth(1, from_zero=True)
    np.testing.assert_allclose(exact - S.gather(level.x), error @ exact, atol=1e-10)
    level.smooth_back(1)
    np.testing.assert_allclose(exact - S.gather(level.x), error @ (error @ exact), atol=1e-10)


def neighbourhood(problem, centre):
    """Unknowns at the places of the centre's stencil."""
    a, *at = problem.faces[centre]
    d, at = len(at), np.array(at)
    unit = np.eye(d, dtype=int)
    places = [(a, at)] + [(a, at + s * unit[i]) for i in range(d) for s in (-1, 1)]
    places += [(b, at + p * unit[b] - q * unit[a]) for b in range(d) if b != a for p in (0, 1) for q in (0, 1)]
    number = {tuple(f): n for n, f in enumerate(problem.faces.tolist())}
    return [number[k] for k in ((int(b), *p.tolist()) for b, p in places) if k in number]


@pytest.mark.parametrize("cells", [(11, 10), (9, 7, 9)])
@pytest.mark.parametrize(("variable", "stored"), [(False, 5000), (False, 0), (True, 500)])
def test_box_sweep_against_its_twin(cells, variable, stored):
    """Boxes solved one after the other with the assembled matrix, in the order of slabs, runs and colours."""
    problem = pool(cells, ball=not variable and len(cells) == 2, variable=variable)
    S, A = problem.system, problem.matrix.toarray()
    table = BoxTable(stencil_box())
    smoother = BoxSmoother(S, table, (stored, 0))
    assert smoother.runs[:, 3].any() != variable
    assert (smoother.kinds >= 0).any() == (stored > 0) and (smoother.kinds < 0).any() == (stored < 5000)
    number = np.full(3 * S.P, -1)
    number[S.positions()] = np.arange(S.n)
    b = np.random.default_rng(5).standard_normal(S.n)
    x = np.zeros(S.n)
    slabs = [smoother.runs[first:last] for first, last in zip(smoother.slabs[:-1], smoother.slabs[1:])]
    parts = [(run, c) for s in (*slabs[0::2], *slabs[1::2]) for run in s for c in range(table.colours)]
    line = S.grid.padded[2]
    order = [number[run[0] * S.P + t] for run, c in parts for t in range(*run[1:3]) if t % line % table.colours == c]
    assert sorted(order) == list(range(S.n))
    for sweep in (order, order[::-1]):
        for centre in sweep:
            box = neighbourhood(problem, centre)
            x[box] += np.linalg.solve(A[np.ix_(box, box)], b[box] - A[box] @ x)
        level = OperatorLevel(S, smoother)
        S.scatter(b, level.b)
        level.smooth(1, from_zero=True)
        if sweep is not order:
            level.smooth_back(1)
        np.testing.assert_allclose(S.gather(level.x), x, atol=2e-6 * np.abs(x).max())  # equal boxes are so to 2e-6


def test_boxes_have_the_sizes_of_the_paper():
    grid2, grid3 = pool((4, 4)).grid, pool((4, 4, 4)).grid
    for faces, flat, solid in ((stencil_box(), 9, 15), (full_box(), 17, 75)):
        table = BoxTable(faces)
        assert {table.members(grid2)[a].sum() for a in grid2.axes} == {flat}
        assert {table.members(grid3)[a].sum() for a in grid3.axes} == {solid}


def shallow(recipe):
    """The same cycle with a small bottom, so that small problems have several levels."""
    return replace(recipe, smallest=25)


RECIPES = {
    "auto": replace(shallow(CHEBYSHEV_MG), dtype=None, coarsest=ViscousBottom(25)),
    "box": shallow(BOX_MG),
    "full box": shallow(face_multigrid(MeanVolumes(), BoxSweep(full=True))),
    "jacobi": shallow(face_multigrid(Voxels(), BandJacobi())),
    "naive": shallow(face_multigrid(Voxels(), BandJacobi(), Sweeps(BandJacobi(steps=0), 200))),
}


@pytest.mark.parametrize(("name", "cells"), [(n, (7, 6)) for n in RECIPES] + [("auto", (5, 4, 4)), ("box", (5, 4, 4))])
def test_cycle_is_symmetric_and_positive(name, cells):
    problem = pool(cells, mu=0.5)
    S = problem.system
    cycle = RECIPES[name].setup(S)
    assert len(cycle.levels) > 1

    def apply(r):
        return S.gather(cycle.apply(S.scatter(r), S.zeros()))

    B = dense(S, S.n, apply)
    scale = np.abs(B).max()
    np.testing.assert_allclose(B, B.T, atol=1e-6 * scale)  # CG at the bottom stops at 1e-7
    assert np.linalg.eigvalsh(0.5 * (B + B.T)).min() > 0


def test_nothing_depends_on_the_number_of_threads():
    problem = pool((20, 18), mu=0.5)
    found = []
    before = numba.get_num_threads()
    try:
        for threads in {1, numba.config.NUMBA_NUM_THREADS}:
            numba.set_num_threads(threads)
            found.append([problem.solve(m, rtol=1e-8).x for m in ("visc-auto", "visc-box-mg")])
    finally:
        numba.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
