"""Every viscosity method against a direct solve; flows with known answers; inputs at the edge."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg as sla

import nonstick
from nonstick import NonstickError, ViscosityProblem

METHODS = [name for name in nonstick.methods() if name.startswith("visc-")]


def shapes(cells):
    return [tuple(n + (i == a) for i, n in enumerate(cells)) for a in range(len(cells))]


def pool(cells, mu, seed=0, jump=1.0):
    rng = np.random.default_rng(seed)
    h = 1 / cells[0]
    centres = np.meshgrid(*[(np.arange(n) + 0.5) * h for n in cells], indexing="ij")
    nodes = np.meshgrid(*[np.arange(n + 1) * h for n in cells], indexing="ij")
    middle = [0.45 * n * h for n in cells]
    phi = centres[0] + 0.31 * np.sin(3 * centres[1]) - 0.77
    solid = np.sqrt(sum((x - m) ** 2 for x, m in zip(nodes, middle))) - 0.17
    velocity = [rng.standard_normal(s) for s in shapes(cells)]
    viscosity = mu if jump == 1.0 else np.where(centres[1] < 0.52, mu, mu / jump)
    return ViscosityProblem(
        velocity=velocity, viscosity=viscosity, dt=1.0, dx=h, rho=1.0, phi_liquid=phi, phi_solid=solid
    )


@pytest.mark.parametrize("cells", [(21, 18), (8, 7, 9)])
@pytest.mark.parametrize("name", METHODS)
def test_methods_agree_with_a_direct_solve(name, cells):
    for mu, jump in ((0.01, 1.0), (10.0, 1.0), (1.0, 1e4)):
        problem = pool(cells, mu, jump=jump)
        exact = sla.spsolve(problem.matrix.tocsc(), problem.rhs)
        solution = problem.solve(name, rtol=1e-9)
        assert solution.converged, (name, mu, jump, solution.message)
        assert solution.kkt() <= 1e-9
        heavy = problem.system.gather(problem.system.m) > 1e-3
        error = np.abs(solution.x - exact)[heavy].max()
        assert error < 1e-4 * np.abs(exact).max()


def test_default_is_auto_and_velocity_replaces_only_unknowns():
    problem = pool((12, 11), 1.0)
    solution = problem.solve()
    assert solution.method == "visc-auto"
    unknown = np.zeros(shapes((12, 11))[0], bool)
    u_faces = problem.faces[problem.faces[:, 0] == 0]
    unknown[tuple(u_faces[:, 1:].T)] = True
    np.testing.assert_array_equal(solution.velocity[0][~unknown], problem.velocity[0][~unknown])
    np.testing.assert_array_equal(solution.velocity[0][unknown], solution.x[: len(u_faces)])


@pytest.mark.parametrize("d", [2, 3])
def test_iterations_stay_flat(d):
    """Ceilings a little above what is measured; a lost digit of convergence rate breaks them."""
    sizes = (32, 64, 128) if d == 2 else (16, 24)
    for n in sizes:
        thin = pool((n,) * d, 1e-3)
        thick = pool((n,) * d, 1e3)
        assert thin.solve("visc-auto").iterations <= 11
        assert thick.solve("visc-auto").iterations <= 14
    for problem in (thin, thick):
        assert problem.solve("visc-box-mg", x0=np.zeros(problem.n)).iterations <= 6


@pytest.mark.parametrize("jump", [100.0, 1e4])
def test_a_jump_of_viscosity_costs_at_most_three_times_the_iterations(jump):
    constant = pool((64, 64), 1.0).solve("visc-auto").iterations
    assert pool((64, 64), 1.0, jump=jump).solve("visc-auto").iterations <= 3 * constant


@pytest.mark.parametrize("cells", [(64, 60), (20, 21, 19)])
@pytest.mark.parametrize("jump", [100.0, 1e4])
def test_layers_and_drops_of_other_viscosity(cells, jump):
    """Structures of a few cells: `visc-auto` takes the box smoother where its own cycle goes slowly."""
    plain = pool(cells, 1.0)
    n = np.meshgrid(*[np.arange(m) for m in cells], indexing="ij", sparse=True)
    layers = (n[1] // 4) % 2 == 0
    blocks = np.logical_and.reduce(np.broadcast_arrays(*[(i // 4) % 2 == 0 for i in n]))
    h = 1 / cells[0]
    phi = np.broadcast_to(((n[0] + 0.5) * h - 0.77), cells)
    for where in (layers, blocks):
        problem = ViscosityProblem(
            velocity=plain.velocity, viscosity=np.broadcast_to(np.where(where, 1.0, 1.0 / jump), cells), dt=1.0, dx=h,
            rho=1.0, phi_liquid=phi,
        )  # fmt: skip
        solution = problem.solve(rtol=1e-6)
        assert solution.converged
        assert solution.iterations <= 3 * plain.solve(rtol=1e-6).iterations


def test_liquid_without_viscosity():
    """None at all: the velocity comes back. In a part of it: that part keeps its velocity away from the rest."""
    nothing = pool((14, 12), 0.0).solve()
    assert nothing.converged
    for v, w in zip(nothing.velocity, pool((14, 12), 0.0).velocity):
        np.testing.assert_allclose(v, w, atol=1e-9)
    for cells in ((30, 28), (11, 12, 10)):
        base = pool(cells, 1.0)
        mu = np.zeros(cells)
        mu[:, : cells[1] // 2] = 5.0
        for name in ("visc-auto", "visc-box-mg", "visc-jacobi-mg+cg", "visc-cg"):
            half = ViscosityProblem(
                velocity=base.velocity, viscosity=mu, dt=1.0, dx=base.dx, rho=1.0, phi_liquid=-np.ones(cells)
            )
            solution = half.solve(name, rtol=1e-8)
            assert solution.converged, name
            still = tuple([slice(1, -1), slice(cells[1] // 2 + 1, -1)] + [slice(1, -1)] * (len(cells) - 2))
            np.testing.assert_allclose(solution.velocity[0][still], base.velocity[0][still], atol=1e-6)


def test_sheets_drops_and_lone_cells():
    """Sheets one cell thick, single cells and slivers, on odd extents: every method finds what a factor finds."""
    rng = np.random.default_rng(7)
    for cells in ((17, 5), (9, 13), (7, 5, 11)):
        for thick in (0.02, 1.0):
            phi = np.ones(cells)
            phi[rng.random(cells) < 0.15] = -thick
            phi[:, 2] = -thick
            velocity = [rng.standard_normal(s) for s in shapes(cells)]
            problem = ViscosityProblem(velocity=velocity, viscosity=3.0, dt=1.0, dx=0.1, rho=1.0, phi_liquid=phi)
            reference = problem.solve("visc-direct", rtol=1e-11)
            heavy = problem.system.gather(problem.system.m) > 1e-3
            for name in ("visc-auto", "visc-box-mg", "visc-cg"):
                solution = problem.solve(name, rtol=1e-9)
                assert solution.converged, (name, cells, thick)
                np.testing.assert_allclose(solution.x[heavy], reference.x[heavy], atol=1e-4)


def test_poiseuille_flow_at_second_order():
    """Steady flow between plates under a force f: u = f (d² - y²)/(2ν). A large step from the exact profile plus
    f dt must give the profile back. Plates: rows of solid faces, whose middles are the walls."""
    nu, force, dt, errors = 0.3, 1.0, 7.0, []
    for n in (8, 16, 32):
        cells, h = (4, n + 1), 1 / n
        y = np.arange(n + 1) * h - 0.5  # middles of the u faces: the walls are the first and the last
        steady = force * (0.25 - y**2) / (2 * nu)
        start = 0.3 * np.cos(np.pi * y)  # any profile with the right boundary values
        # implicit step: u - start = dt (ν u'' + f): manufactured so that the exact answer is known
        modes = [(np.pi, 0.3)]
        exact = steady * 0.0
        for k, amplitude in modes:
            exact = exact + amplitude * np.cos(k * y) / (1 + dt * nu * k**2)
        u = np.tile(start, (5, 1))
        v = np.zeros((4, n + 2))
        fluid_u, fluid_v = np.ones(u.shape, bool), np.zeros(v.shape, bool)
        fluid_u[:, [0, -1]] = False
        fluid_u[[0, -1]] = False
        u[[0, -1]] = exact  # in- and outflow carry the exact answer
        problem = ViscosityProblem(
            velocity=(u, v), viscosity=nu, dt=dt, dx=h, rho=1.0, phi_liquid=-np.ones(cells), fluid=(fluid_u, fluid_v)
        )
        solution = problem.solve(rtol=1e-11)
        errors.append(np.abs(solution.velocity[0][2] - exact).max())
        # and the steady profile with its force is a fixed point, exactly: differences of a parabola are exact
        u = np.tile(steady + force * dt, (5, 1))
        u[:, [0, -1]] = 0.0
        u[[0, -1]] = steady
        fixed = ViscosityProblem(
            velocity=(u, v), viscosity=nu, dt=dt, dx=h, rho=1.0, phi_liquid=-np.ones(cells), fluid=(fluid_u, fluid_v)
        ).solve(rtol=1e-12)
        np.testing.assert_allclose(fixed.velocity[0][2], steady, atol=1e-9)
        assert steady.max() == pytest.approx(force * 0.5**2 / (2 * nu), rel=1e-12)
    order = -np.polyfit(np.log([8, 16, 32]), np.log(errors), 1)[0]
    assert order > 1.9


def test_taylor_green_decays_at_second_order():
    """u = sin kx cos ky, v = -cos kx sin ky decays by 1/(1 + 2 ν k² dt) in an implicit step."""
    nu, dt, k, errors = 0.05, 0.8, 2 * np.pi, []
    for n in (8, 16, 32):
        h = 1 / n
        face, cell = np.arange(n + 1) * h, (np.arange(n) + 0.5) * h
        u = np.sin(k * face)[:, None] * np.cos(k * cell)[None, :]
        v = -np.cos(k * cell)[:, None] * np.sin(k * face)[None, :]
        factor = 1 / (1 + 2 * nu * k**2 * dt)
        fluid = [np.zeros(u.shape, bool), np.zeros(v.shape, bool)]
        fluid[0][1:-1, 1:-1] = True
        fluid[1][1:-1, 1:-1] = True
        given = [np.where(f, x, factor * x) for f, x in zip(fluid, (u, v))]
        problem = ViscosityProblem(
            velocity=given, viscosity=nu, dt=dt, dx=h, rho=1.0, phi_liquid=-np.ones((n, n)), fluid=fluid
        )
        after = problem.solve(rtol=1e-10).velocity
        errors.append(max(np.abs(a - factor * x)[f].max() for a, x, f in zip(after, (u, v), fluid)))
    order = -np.polyfit(np.log([8, 16, 32]), np.log(errors), 1)[0]
    assert order > 1.9


def test_a_rotating_solid_drags_the_liquid_along():
    """All walls rotate rigidly: so does the liquid, whatever it did before."""
    n = 12
    h = 1 / n
    face, cell = np.arange(n + 1) * h - 0.5, (np.arange(n) + 0.5) * h - 0.5
    u, v = np.tile(-cell, (n + 1, 1)), np.tile(cell[:, None], (1, n + 1))
    fluid = [np.zeros(u.shape, bool), np.zeros(v.shape, bool)]
    fluid[0][2:-2, 2:-2] = True
    fluid[1][2:-2, 2:-2] = True
    given = [np.where(f, 0.0, x) for f, x in zip(fluid, (u, v))]
    problem = ViscosityProblem(
        velocity=given, viscosity=1e6, dt=1.0, dx=h, rho=1.0, phi_liquid=-np.ones((n, n)), fluid=fluid
    )
    after = problem.solve(rtol=1e-12).velocity
    for a, x in zip(after, (u, v)):
        np.testing.assert_allclose(a, x, atol=1e-5)
    assert face.size == n + 1


@pytest.mark.parametrize("name", METHODS)
def test_massless_faces(name):
    """A drop of stress without mass beside liquid: semidefinite, consistent, and the same answer each time."""
    cells = (9, 8)
    rng = np.random.default_rng(2)
    face, cell, node = [np.zeros(s) for s in shapes(cells)], np.zeros(cells), np.zeros((10, 9))
    cell[1:4, 1:6] = 1.0
    face[0][2:4, 1:6] = 1.0
    face[1][1:4, 2:6] = 1.0
    node[2:4, 2:6] = 1.0
    cell[6, 4] = 0.5  # touches four faces that have no mass
    problem = ViscosityProblem(
        velocity=[rng.standard_normal(s) for s in shapes(cells)],
        viscosity=3.0, dt=1.0, dx=0.1, rho=1.0, volumes=(face, cell, (node,)),
    )  # fmt: skip
    A = problem.matrix.toarray()
    assert np.linalg.eigvalsh(A)[0] < 1e-12
    first, second = problem.solve(name, rtol=1e-8), problem.solve(name, rtol=1e-8)
    assert first.converged
    np.testing.assert_array_equal(first.x, second.x)
    heavy = problem.system.gather(problem.system.m) > 0
    reference = np.linalg.lstsq(A, problem.rhs, rcond=1e-12)[0]
    np.testing.assert_allclose(first.x[heavy], reference[heavy], atol=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_no_liquid_one_cell_and_rest(name):
    empty = ViscosityProblem(
        velocity=[np.ones(s) for s in shapes((4, 5))], viscosity=1.0, dt=1.0, dx=1.0, phi_liquid=np.ones((4, 5))
    )
    solution = empty.solve(name)
    assert empty.n == 0 and solution.converged
    np.testing.assert_array_equal(solution.velocity[0], 1.0)
    single = ViscosityProblem(
        velocity=[np.full(s, 2.0) for s in shapes((1, 1, 1))], viscosity=1.0, dt=1.0, dx=1.0,
        phi_liquid=-np.ones((1, 1, 1)), fluid=[np.ones(s, bool) for s in shapes((1, 1, 1))],
    )  # fmt: skip
    assert single.n == 6 and single.solve(name).converged
    rest = pool((6, 7), 1.0)
    still = ViscosityProblem(
        velocity=[0 * v for v in rest.velocity], viscosity=1.0, dt=1.0, dx=1.0, phi_liquid=-np.ones((6, 7))
    ).solve(name)
    assert still.converged and not still.x.any()


def test_they_refuse_other_problems():
    A = np.diag([2.0, 3.0])
    with pytest.raises(NonstickError, match="ViscosityProblem"):
        nonstick.solve(A, np.ones(2), method="visc-auto")


def test_maxiter_is_a_status():
    solution = pool((20, 20), 1.0).solve("visc-cg", maxiter=3)
    assert not solution.converged and solution.status == "maxiter" and solution.iterations == 3


@pytest.mark.parametrize("name", METHODS)
def test_every_iteration_is_told_once(name):
    told = []
    solution = pool((14, 13), 1.0).solve(name, callback=lambda monitor: told.append((monitor.iterations, monitor.kkt)))
    assert [k for k, _ in told] == list(range(solution.iterations + 1))
    assert solution.outer_iterations == solution.iterations == len(solution.history) - 1
    assert solution.history[:-1] == [kkt for _, kkt in told][:-1]
    assert solution.history[-1] == pytest.approx(solution.kkt(), rel=1e-3)  # the true residual at the end


def test_a_callback_may_stop_it():
    solution = pool((20, 20), 1.0).solve(
        "visc-cg", callback=lambda monitor: monitor.iterations == 4 and monitor.stop("maxiter", "enough")
    )
    assert solution.iterations == 4 and solution.message.startswith("enough")


def test_old_names_are_deprecated():
    problem = pool((6, 5), 1.0)
    with pytest.warns(DeprecationWarning, match="problem"):
        assert problem.box.n == problem.problem.n
    with pytest.warns(DeprecationWarning, match="velocity"):
        assert problem.given is problem.velocity


def test_pressure_baselines_solve_it_too():
    """They take the compact vectors, and ignore bounds that are not there."""
    problem = pool((14, 13), 1.0)
    expected = problem.solve("visc-direct", rtol=1e-10)
    for name in ("no-lcp", "mic-cg"):
        found = problem.solve(name, rtol=1e-10)
        assert found.converged and "ignored" not in found.message
        np.testing.assert_allclose(found.x, expected.x, atol=1e-6)
