"""The Stokes step against a dense twin, closed forms, and its own optimality conditions."""

import itertools

import numpy as np
import pytest
from numba import config, set_num_threads

import nonstick
from nonstick.discretise import StokesProblem
from nonstick.errors import NonstickError

UNITS = {"dt": 1.0, "dx": 1.0, "rho": 1.0}


def face_shapes(shape):
    return [tuple(n + (a == b) for b, n in enumerate(shape)) for a in range(len(shape))]


def noise(shape, seed=0):
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=s) for s in face_shapes(shape))


def centres(shape):
    return np.stack(np.meshgrid(*(np.arange(n) + 0.5 for n in shape), indexing="ij"))


def at_faces(shape, function):
    """A vector field sampled at the middles of the faces: function(a, x, y[, z])."""
    out = []
    for a, s in enumerate(face_shapes(shape)):
        x = np.meshgrid(*(np.arange(n) + (0.0 if b == a else 0.5) for b, n in enumerate(s)), indexing="ij")
        out.append(np.broadcast_to(function(a, *x), s).astype(float))
    return tuple(out)


def tank(shape, level=0.6, tilt=0.3):
    x = centres(shape)
    return (x[-1] - level * shape[-1]) + tilt * (x[0] - shape[0] / 2)


# -- the system -------------------------------------------------------------------------------------------------


def energy(problem, mu, phi, faces):
    """½uᵀA u of a 2D step on slip walls, by loops over cells and nodes."""
    (u, v), (nx, ny) = faces, problem.shape
    total = 0.5 * sum((m * f**2).sum() for m, f in zip(problem.mass, faces))
    nodes = nonstick.discretise.fields.liquid_volumes(phi)[2][0]
    for i, j in np.ndindex(nx, ny):
        if problem.cells[i, j]:
            strain = (u[i + 1, j] - u[i, j]) ** 2 + (v[i, j + 1] - v[i, j]) ** 2
            total += mu[i, j] * problem.volume[i, j] * strain
    for i, j in itertools.product(range(1, nx), range(1, ny)):
        U, V = problem.unknown
        around = mu[i - 1 : i + 1, j - 1 : j + 1]
        if U[i, j] and U[i, j - 1] and V[i, j] and V[i - 1, j] and around.min() > 0:
            shear = u[i, j] - u[i, j - 1] + v[i, j] - v[i - 1, j]
            total += 0.5 * nodes[i, j] * shear**2 / (1 / around).mean()
    return total


@pytest.mark.parametrize("viscosity", ["constant", "varying"])
def test_the_solution_is_that_of_a_dense_twin(viscosity):
    shape = (7, 6)
    phi = tank(shape)
    rng = np.random.default_rng(4)
    mu = np.full(shape, 3.0) if viscosity == "constant" else rng.choice([0.0, 1e-2, 1.0, 50.0], shape)
    star = noise(shape)
    problem = StokesProblem(phi_liquid=phi, velocity=star, viscosity=mu, slip=True, **UNITS)
    places = [(a, *at) for a, f in enumerate(problem.unknown) for at in np.argwhere(f)]
    basis = []
    for a, i, j in places:
        faces = [np.zeros(s) for s in face_shapes(shape)]
        faces[a][i, j] = 1.0
        basis.append(faces)
    single = np.array([energy(problem, mu, phi, e) for e in basis])
    n = len(places)
    A = np.empty((n, n))
    for k, l in itertools.product(range(n), range(n)):
        both = [x + y for x, y in zip(basis[k], basis[l])]
        A[k, l] = energy(problem, mu, phi, both) - single[k] - single[l]
    cells = np.argwhere(problem.cells)
    B = np.zeros((len(cells), n))
    for c, (i, j) in enumerate(cells):
        for k, (a, p, q) in enumerate(places):
            B[c, k] = ((p, q) == (i + (a == 0), j + (a == 1))) - float((p, q) == (i, j))
    b = np.array([problem.mass[a][i, j] * star[a][i, j] for a, i, j in places])
    K = np.block([[A, -B.T], [B, np.zeros((len(cells),) * 2)]])
    x = np.linalg.solve(K, np.concatenate([b, np.zeros(len(cells))]))
    np.testing.assert_allclose(problem.matrix.toarray(), K, atol=1e-12 * np.abs(K).max())
    for method in nonstick.methods("stokes"):
        solution = problem.solve(method, rtol=1e-10)
        assert solution.converged
        np.testing.assert_allclose(solution.x, x, atol=1e-8 * np.abs(x).max())
        found = np.array([solution.velocity[a][i, j] for a, i, j in places])
        np.testing.assert_allclose(found, x[:n], atol=1e-8)
        pressure = np.array([solution.pressure[i, j] * problem.volume[i, j] for i, j in cells])
        np.testing.assert_allclose(pressure, x[n:], atol=1e-8 * np.abs(x).max())


# -- closed forms -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(20, 18), (11, 12, 10)])
@pytest.mark.parametrize("mu", [0.0, 1.0, 1e4])
def test_a_rigid_motion_stays_as_it_is(shape, mu):
    x = centres(shape)
    middle = np.array(shape) / 2 + 0.3
    phi = np.sqrt(((x.T - middle).T ** 2).sum(axis=0)) - 0.35 * min(shape)

    def turning(a, *x):
        r = [c - m for c, m in zip(x, middle)]
        return 0.7 + (-r[1], r[0], 0 * r[0])[a] * 0.2

    star = at_faces(shape, turning)
    problem = StokesProblem(phi_liquid=phi, velocity=star, viscosity=mu, **UNITS)
    solution = problem.solve(rtol=1e-10)
    assert solution.converged
    for new, old, free in zip(solution.velocity, star, problem.unknown):
        np.testing.assert_allclose(new[free], old[free], atol=1e-8)
    assert np.abs(solution.pressure).max() < 1e-6 * (1 + mu)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mu", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(24, 24), (12, 12, 12)])
def test_liquid_under_a_tilted_surface_stays_at_rest(shape, mu, seed):
    rng = np.random.default_rng(seed)
    g = rng.normal(size=len(shape))
    g /= np.linalg.norm(g)
    x = centres(shape)
    phi = -np.tensordot(g, x - shape[0] / 2, 1) + 0.3 * seed
    star = at_faces(shape, lambda a, *x: g[a])
    problem = StokesProblem(phi_liquid=phi, velocity=star, viscosity=mu, **UNITS)
    solution = problem.solve("stokes-direct", rtol=1e-11)
    assert solution.converged
    for u, m in zip(solution.velocity, problem.mass):
        assert np.abs(u[m > 0.02]).max() < 3e-3
    deep = phi < -2
    np.testing.assert_allclose(solution.pressure[deep], -phi[deep], atol=1e-2)


def test_water_at_rest_around_a_solid_disc():
    shape = (32, 32)
    nodes = np.stack(np.meshgrid(np.arange(33.0), np.arange(33.0), indexing="ij"))
    solid = np.hypot(nodes[0] - 15.3, nodes[1] - 14.2) - 6.3
    phi = centres(shape)[1] - 22.4 + 0.25 * (centres(shape)[0] - 16)
    g = -np.array([0.25, 1.0]) / np.hypot(0.25, 1)
    for slip in (True, False):
        star = at_faces(shape, lambda a, *x: g[a])
        problem = StokesProblem(phi_liquid=phi, velocity=star, viscosity=0.01, phi_solid=solid, slip=slip, **UNITS)
        solution = problem.solve(rtol=1e-9)
        assert solution.converged
        assert max(np.abs(u[m > 0.02]).max() for u, m in zip(solution.velocity, problem.mass)) < 3e-3


@pytest.mark.parametrize("offset", [0.0, 0.3, 0.7])
def test_a_hanging_slab_stretches_with_four_times_the_viscosity(offset):
    shape, width, mu = (24, 44), 6.0, 1e4
    x, y = centres(shape)
    length = 30.0 - offset
    phi = np.maximum(np.abs(x - 12 - offset) - width / 2, (shape[1] - length) - y)
    star = at_faces(shape, lambda a, *x: -1.0 * (a == 1))
    solution = StokesProblem(phi_liquid=phi, velocity=star, viscosity=mu, slip=True, **UNITS).solve(rtol=1e-8)
    tip = solution.velocity[1][12, int(shape[1] - length) + 3]
    way = length - 3 + (int(shape[1] - length) - (shape[1] - length))
    exact = -(length * way - way**2 / 2) / (4 * mu)
    assert solution.converged
    assert tip == pytest.approx(exact, rel=0.01)


def disc_errors(n, mu=1.0):
    """ψ = 2xy(1 − r²/3) has no traction on r = 1 with p = μx(1 − r²); the step that keeps it."""
    shape, h = (n, n), 2.6 / n
    middle = np.array([1.31, 1.27])

    def exact(a, X, Y):
        x, y = X * h - middle[0], Y * h - middle[1]
        return 2 * x * (1 - x**2 / 3 - y**2) if a == 0 else -2 * y * (1 - x**2 - y**2 / 3)

    def before(a, X, Y):
        x, y = X * h - middle[0], Y * h - middle[1]
        push = mu * (1 - 3 * x**2 - y**2) + 8 * mu * x if a == 0 else -2 * mu * x * y - 8 * mu * y
        return exact(a, X, Y) + push

    x = centres(shape) * h
    phi = np.hypot(x[0] - middle[0], x[1] - middle[1]) - 1.0
    problem = StokesProblem(
        phi_liquid=phi, velocity=at_faces(shape, before), viscosity=mu, dt=1.0, dx=h, rho=1.0, slip=True
    )
    solution = problem.solve(rtol=1e-8)
    assert solution.converged
    true = at_faces(shape, exact)
    off = np.concatenate([(u - t)[m > 0.1] for u, t, m in zip(solution.velocity, true, problem.mass)])
    return np.sqrt((off**2).mean())


def test_a_disc_without_traction_converges_with_order_two():
    errors = [disc_errors(n) for n in (20, 40, 80)]
    order = -np.polyfit(np.log([20, 40, 80]), np.log(errors), 1)[0]
    assert order > 1.75
    assert errors[-1] < 5e-3


# -- walls ------------------------------------------------------------------------------------------------------


def test_a_solid_and_its_liquid_that_turn_together_go_on_turning():
    shape = (24, 24)

    def turning(a, x, y):
        return -(y - 12.0) if a == 0 else x - 12.0

    nodes = np.stack(np.meshgrid(np.arange(25.0), np.arange(25.0), indexing="ij"))
    solid = 8.3 - np.hypot(nodes[0] - 12, nodes[1] - 12)
    motion = at_faces(shape, turning)
    problem = StokesProblem(
        phi_liquid=-np.ones(shape), velocity=motion, viscosity=2.0, phi_solid=solid, solid_velocity=motion, **UNITS
    )
    solution = problem.solve(rtol=1e-9)
    for new, old, free in zip(solution.velocity, motion, problem.unknown):
        np.testing.assert_allclose(new[free], old[free], atol=1e-6)


@pytest.mark.parametrize("floor", [0.0, 1.25, 1.75])
def test_a_film_is_a_parabola_wherever_its_floor_lies(floor):
    depth, mu = 6.3, 1e6
    shape = (46, int(floor + depth) + 4)
    solid = np.arange(shape[1] + 1.0) - floor + np.zeros((shape[0] + 1, 1))
    weights = list(nonstick.grid.fractions.open_fractions(solid))
    distance = tuple((lower + upper) / 2 for lower, upper in ((solid[:, 1:], solid[:, :-1]), (solid[1:], solid[:-1])))
    weights[1][:, [0, -1]] = 0.0
    y = np.arange(shape[1]) + 0.5 - floor
    parabola = np.where((y > 0) & (y < depth + 0.5), y * (2 * depth - y) / (2 * mu), 0.0)
    u = np.ones((shape[0] + 1, shape[1]))  # a step of a force along the floor
    u[[0, -1]] = parabola  # the ends are open
    problem = StokesProblem(
        phi_liquid=centres(shape)[1] - floor - depth, velocity=(u, np.zeros((shape[0], shape[1] + 1))), viscosity=mu,
        weights=tuple(weights), fluid=tuple(d >= 0 for d in distance), distance=distance, **UNITS,
    )  # fmt: skip
    wet = (y > 0) & (y < depth)
    wrong = (problem.solve(rtol=1e-9).velocity[0][23] - parabola)[wet]
    assert abs(wrong.mean()) < 0.01 * parabola[wet].mean()


@pytest.mark.parametrize("shape", [(24, 20), (9, 10, 8)])
@pytest.mark.parametrize("mu", [0.0, 1.0, 1e4])
@pytest.mark.parametrize("adhesion", [None, 0.4])
def test_bounds_hold_and_agree_with_the_direct_method(shape, mu, adhesion):
    x = centres(shape)
    phi = np.maximum(np.sqrt(((x.T - np.array(shape) / 2).T ** 2).sum(axis=0)) - 0.6 * shape[0], tank(shape, 0.8))
    problem = StokesProblem(
        phi_liquid=phi, velocity=noise(shape), viscosity=mu, walls="cut", adhesion=adhesion, **UNITS
    )
    direct = problem.solve("stokes-direct", rtol=1e-10)
    assert (direct.contact < 0).any() and direct.kkt() < 1e-9
    for method in ("stokes-auto", "stokes-minres"):
        solution = problem.solve(method, rtol=1e-8)
        assert solution.converged
        np.testing.assert_array_equal(solution.contact, direct.contact)
        for u, v in zip(solution.velocity, direct.velocity):
            np.testing.assert_allclose(u, v, atol=1e-6)
    tension = adhesion or 0.0
    assert (direct.pressure[problem.cells] >= -tension - 1e-9).sum() >= (direct.contact < 0).sum()
    flux = sum(np.diff(u * (w > 0), axis=a) for a, (u, w) in enumerate(zip(direct.velocity, problem.weights)))
    apart = direct.contact < 0
    assert (flux[apart] >= -1e-9).all()
    np.testing.assert_allclose(flux[problem.cells & ~apart], 0.0, atol=1e-8)
    np.testing.assert_allclose(direct.pressure[apart], -tension, atol=1e-9)


def test_liquid_leaves_a_ceiling_unless_adhesion_holds_it():
    shape = (12, 12)
    phi = 4.0 - centres(shape)[1]
    star = at_faces(shape, lambda a, *x: -0.1 * (a == 1))
    common = {"phi_liquid": phi, "velocity": star, "viscosity": 5.0, "slip": True, "walls": "cut", **UNITS}
    first = StokesProblem(**common).solve()
    falls = StokesProblem(released=first.contact < 0, **common).solve(
        x0=(first.velocity, first.pressure), active=first.contact
    )
    assert falls.velocity[1][6, 8] == pytest.approx(-0.1)
    assert (falls.contact[1:-1, -1] == -1).all() and not falls.contact[1:-1, :-1].any()  # beside the sides: ties
    held = StokesProblem(adhesion=10.0, **common).solve()
    assert held.velocity[1][6, 8] == pytest.approx(0.0, abs=1e-6)


def test_a_warm_start_takes_fewer_iterations():
    shape = (32, 32)
    phi = np.maximum(tank(shape, 0.8), np.hypot(*(centres(shape) - 16)) - 19)
    common = {"phi_liquid": phi, "viscosity": 10.0, "walls": "cut", **UNITS}
    first = StokesProblem(velocity=noise(shape), **common)
    cold = first.solve()
    star = tuple(u + 0.01 * v for u, v in zip(noise(shape), noise(shape, 1)))
    second = StokesProblem(velocity=star, **common)
    warm = second.solve(x0=(cold.velocity, cold.pressure), active=cold.contact)
    again = second.solve()
    assert warm.converged and warm.iterations < again.iterations
    exact = first.solve(x0=(cold.velocity, cold.pressure), active=cold.contact)
    assert exact.iterations <= 1


def test_liquid_gains_what_its_source_gives():
    shape = (16, 16)
    source = np.zeros(shape)
    source[8, 4] = 0.05
    problem = StokesProblem(
        phi_liquid=tank(shape, tilt=0.0),
        velocity=tuple(0 * v for v in noise(shape)),
        viscosity=1.0,
        source=source,
        **UNITS,
    )
    solution = problem.solve(rtol=1e-9)
    flux = sum(np.diff(u, axis=a) for a, u in enumerate(solution.velocity))
    np.testing.assert_allclose(flux[problem.cells], source[problem.cells], atol=1e-7)


def test_an_open_face_on_the_edge_lets_its_velocity_in():
    shape = (12, 16)
    weights = [w.copy() for w in nonstick.grid.fractions.closed_box(shape)]
    weights[0][0, 4:6] = 1.0
    star = [0 * v for v in noise(shape)]
    star[0][0, 4:6] = 0.3
    problem = StokesProblem(
        phi_liquid=tank(shape, tilt=0.0), velocity=star, viscosity=1.0, weights=tuple(weights), **UNITS
    )
    solution = problem.solve(rtol=1e-9)
    assert solution.velocity[0][0, 4] == 0.3
    flux = sum(np.diff(u, axis=a) for a, u in enumerate(solution.velocity))
    np.testing.assert_allclose(flux[problem.cells], 0.0, atol=1e-7)


# -- special cases ----------------------------------------------------------------------------------------------


def test_masses_may_be_given():
    shape = (12, 10)
    common = {"phi_liquid": tank(shape), "velocity": noise(shape), "viscosity": 1.0, **UNITS}
    one = StokesProblem(**common)
    other = StokesProblem(mass=one.mass, **common)
    np.testing.assert_array_equal(one.solve().x, other.solve().x)


def test_a_row_under_a_ceiling_can_fill_up():
    """Cells that are not joined to air and whose centre is air have no pressure."""
    shape = (10, 10)
    phi = centres(shape)[1] - 9.3
    problem = StokesProblem(phi_liquid=phi, velocity=noise(shape), viscosity=1.0, **UNITS)
    assert problem.cells[:, :9].all() and not problem.cells[:, 9].any()


def test_no_liquid_is_no_work():
    solution = StokesProblem(phi_liquid=np.ones((5, 4)), velocity=noise((5, 4)), viscosity=1.0, **UNITS).solve()
    assert solution.converged and solution.x.size == 0
    assert not solution.pressure.any()
    np.testing.assert_array_equal(solution.velocity[0][1:-1], noise((5, 4))[0][1:-1])


@pytest.mark.parametrize("shape", [(5, 5), (5, 5, 5)])
def test_a_single_wet_cell(shape):
    phi = np.ones(shape)
    phi[(2,) * len(shape)] = -0.3
    problem = StokesProblem(phi_liquid=phi, velocity=noise(shape), viscosity=1.0, **UNITS)
    for method in nonstick.methods("stokes"):
        assert problem.solve(method).converged


@pytest.mark.parametrize("mu", [0.0, 3.0])
def test_a_closed_box_full_of_liquid(mu):
    shape = (12, 10)
    problem = StokesProblem(phi_liquid=-np.ones(shape), velocity=noise(shape), viscosity=mu, **UNITS)
    found = [problem.solve(method, rtol=1e-8) for method in nonstick.methods("stokes")]
    for solution in found:
        assert solution.converged
        assert solution.pressure.mean() == pytest.approx(0.0, abs=1e-6)
        for u, v in zip(solution.velocity, found[-1].velocity):
            np.testing.assert_allclose(u, v, atol=1e-6)


def test_a_closed_box_that_is_squeezed_has_no_solution_and_says_so():
    shape = (8, 8)
    common = {"phi_liquid": -np.ones(shape), "velocity": noise(shape), "viscosity": 1.0, **UNITS}
    solution = StokesProblem(source=0.1, **common).solve()
    assert solution.status == "infeasible" and "free surface" in solution.message
    apart = StokesProblem(source=-0.1, walls="cut", **common).solve(rtol=1e-8)
    assert apart.converged and (apart.contact < 0).any()


def test_jumps_of_viscosity_leave_a_solution():
    shape = (32, 32)
    rng = np.random.default_rng(0)
    mu = 10.0 ** rng.choice([-2.0, 2.0], (4, 4)).repeat(8, 0).repeat(8, 1)
    solution = StokesProblem(phi_liquid=tank(shape), velocity=noise(shape), viscosity=mu, **UNITS).solve()
    assert solution.converged and solution.iterations < 60


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"phi_liquid": np.full((6, 6), np.nan)}, "phi_liquid"),
        ({"velocity": (np.full((7, 6), np.nan), np.zeros((6, 7)))}, "NaN"),
        ({"viscosity": -1.0}, "viscosity"),
        ({"viscosity": np.full((6, 6), np.nan)}, "viscosity"),
        ({"adhesion": -1.0, "walls": "cut"}, "adhesion"),
        ({"source": np.nan}, "source"),
        ({"dt": 0.0}, "dt"),
        ({"velocity": (np.zeros((6, 6)), np.zeros((6, 7)))}, "velocity"),
        ({"slip": True, "fluid": (np.ones((7, 6), bool), np.ones((6, 7), bool))}, "slip"),
        ({"viscsity": 1.0}, "did you mean 'viscosity'"),
    ],
)
def test_wrong_input_ends_in_a_sentence(change, words):
    given = {"phi_liquid": -np.ones((6, 6)), "velocity": noise((6, 6)), "viscosity": 1.0, **UNITS}
    with pytest.raises(NonstickError, match=words):
        StokesProblem(**(given | change))


def test_other_methods_refuse_a_stokes_step_and_stokes_methods_refuse_others():
    problem = StokesProblem(phi_liquid=tank((6, 6)), velocity=noise((6, 6)), viscosity=1.0, **UNITS)
    for method in ("auto", "visc-auto", "no-lcp", "pgs"):
        with pytest.raises(NonstickError, match="stokes-auto"):
            problem.solve(method)
    with pytest.raises(NonstickError, match="StokesProblem"):
        nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, 1.0], method="stokes-auto")


@pytest.mark.skipif(config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_the_result_does_not_depend_on_threads():
    shape = (40, 40)
    problem = StokesProblem(phi_liquid=tank(shape), velocity=noise(shape), viscosity=10.0, walls="cut", **UNITS)
    found = []
    for threads in (1, 2):
        set_num_threads(threads)
        found.append(problem.solve().x)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("mu", [1e-3, 1.0, 1e2, 1e4, 1e6])
def test_iterations_do_not_grow_with_the_grid(mu):
    counts = []
    for n in (32, 64):
        x, y = centres((n, n))
        phi = y - (0.55 * n + 0.08 * n * np.cos(np.pi * x / n))
        problem = StokesProblem(phi_liquid=phi, velocity=noise((n, n)), viscosity=mu, **UNITS)
        counts.append(problem.solve().iterations)
    assert max(counts) <= 22
    assert counts[1] <= counts[0] + 4


def test_a_rope_takes_few_iterations():
    """Its bending modes are far softer than its faces: a cycle with a small bottom takes 39, an exact velocity 9."""
    shape = (12, 50, 12)
    x, y, z = centres(shape)
    round_the_middle = np.hypot(x - 6.3 - 0.8 * np.sin(np.pi * y / 23), z - 6.3) - 2.6
    phi = np.maximum(round_the_middle, np.abs(y - 25) - 23)
    problem = StokesProblem(phi_liquid=phi, velocity=noise(shape), viscosity=1e3, **UNITS)
    solution = problem.solve()
    assert solution.converged and solution.iterations <= 15
