"""The viscosity problem against a dense assembly that shares no code with it, and against known flows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nonstick import NonstickError, ViscosityProblem


def face_shapes(cells):
    return [tuple(n + (i == a) for i, n in enumerate(cells)) for a in range(len(cells))]


def edge_shapes(cells):
    """2D: nodes; 3D: edges along x, y, z."""
    if len(cells) == 2:
        return [(cells[0] + 1, cells[1] + 1)]
    return [tuple(n + (i != e) for i, n in enumerate(cells)) for e in range(3)]


def random_problem(cells, seed, variable=True, moving=True):
    rng = np.random.default_rng(seed)

    def fractions(shape):
        v = rng.random(shape)
        v[rng.random(shape) < 0.3] = 0.0
        v[rng.random(shape) < 0.3] = 1.0
        return v

    given = {
        "velocity": [rng.standard_normal(s) for s in face_shapes(cells)],
        "viscosity": rng.random(cells) + 0.1 if variable else 0.7,
        "dt": 0.03,
        "dx": 0.2,
        "rho": 1.7,
        "volumes": (
            [fractions(s) for s in face_shapes(cells)],
            fractions(cells),
            [fractions(s) for s in edge_shapes(cells)],
        ),
        "fluid": [rng.random(s) > 0.25 for s in face_shapes(cells)],
    }
    if not moving:
        given["velocity"] = [v * f for v, f in zip(given["velocity"], given["fluid"])]
    return given


def dense_reference(g):
    """Loop over samples; every sample adds a rank-one matrix over all faces; then solid faces are eliminated."""
    velocity, (faces, cell_volume, edges) = g["velocity"], g["volumes"]
    cells = cell_volume.shape
    d = len(cells)
    mu = np.broadcast_to(g["viscosity"], cells)
    index = {}
    for a, shape in enumerate(face_shapes(cells)):
        for ijk in itertools.product(*map(range, shape)):
            index[a, ijk] = len(index)
    n = len(index)
    K, touched = np.zeros((n, n)), np.zeros(n, bool)

    def add(entries, coefficient, volume):
        row = np.zeros(n)
        for key, sign in entries:
            if key in index:
                row[index[key]] += sign / g["dx"]
                touched[index[key]] |= volume > 0
        nonlocal K
        K += coefficient * volume * np.outer(row, row)

    def step(ijk, axis, by):
        return tuple(x + by * (i == axis) for i, x in enumerate(ijk))

    for ijk in itertools.product(*map(range, cells)):
        for a in range(d):
            add([((a, step(ijk, a, 1)), 1), ((a, ijk), -1)], 2 * mu[ijk], cell_volume[ijk])
    for e, volume in enumerate(edges):
        a, b = (0, 1) if d == 2 else [x for x in range(3) if x != e]
        for ijk in itertools.product(*map(range, volume.shape)):
            around = [step(step(ijk, a, -p), b, -q) for p in (0, 1) for q in (0, 1)]
            inside = [c for c in around if all(0 <= x < m for x, m in zip(c, cells))]
            value = np.mean([mu[c] for c in inside])
            entries = [((a, ijk), 1), ((a, step(ijk, b, -1)), -1), ((b, ijk), 1), ((b, step(ijk, a, -1)), -1)]
            add(entries, value, volume[ijk])
    mass = np.concatenate([f.ravel() for f in faces])
    fluid = np.concatenate([f.ravel() for f in g["fluid"]])
    u = np.concatenate([v.ravel() for v in velocity])
    A = np.diag(mass) + g["dt"] / g["rho"] * K
    unknown = fluid & ((mass > 0) | touched)
    rhs = mass[unknown] * u[unknown] - A[np.ix_(unknown, ~fluid)] @ u[~fluid]
    where = [(a, *ijk) for (a, ijk), i in index.items() if unknown[i]]
    return A[np.ix_(unknown, unknown)], rhs, np.array(where)


@pytest.mark.parametrize("cells", [(5, 7), (4, 4), (1, 6), (3, 4, 5), (5, 3, 2)])
@pytest.mark.parametrize("variable", [False, True])
def test_matrix_and_right_hand_side_match_a_dense_assembly(cells, variable):
    given = random_problem(cells, seed=sum(cells) + variable, variable=variable)
    problem = ViscosityProblem(**given)
    A, b, faces = dense_reference(given)
    np.testing.assert_array_equal(problem.faces, faces)
    scale = np.abs(A).max()
    np.testing.assert_allclose(problem.matrix.toarray(), A, atol=1e-12 * scale, rtol=0)
    np.testing.assert_allclose(problem.rhs, b, atol=1e-12 * np.abs(b).max(), rtol=0)
    x = np.random.default_rng(1).standard_normal(problem.n)
    np.testing.assert_allclose(problem.operator @ x, A @ x, atol=1e-12 * scale, rtol=0)
    np.testing.assert_allclose(problem.operator.diagonal, np.diag(A), atol=1e-12 * scale, rtol=0)


def test_plain_runs_give_the_same_product_as_loaded_coefficients():
    n = 20
    x = (np.arange(n) + 0.5) / n
    phi = np.hypot(*np.meshgrid(x - 0.5, x - 0.5, indexing="ij")) - 0.45
    velocity = [np.zeros(s) for s in face_shapes((n, n))]
    problem = ViscosityProblem(velocity=velocity, viscosity=2.0, dt=0.1, dx=1 / n, phi_liquid=phi)
    assert problem.system.runs[:, 3].any()
    v = np.random.default_rng(0).standard_normal(problem.n)
    np.testing.assert_allclose(problem.operator @ v, problem.matrix @ v, rtol=0, atol=1e-12 * np.abs(v).max())


@pytest.mark.parametrize("d", [2, 3])
def test_control_volumes_of_a_ball(d):
    radius = 0.31
    exact = np.pi * radius**2 if d == 2 else 4 / 3 * np.pi * radius**3
    errors = []
    for n in (16, 32):
        x = (np.arange(n) + 0.5) / n
        grids = np.meshgrid(*[x] * d, indexing="ij")
        phi = np.sqrt(sum((g - 0.48) ** 2 for g in grids)) - radius
        velocity = [np.zeros(s) for s in face_shapes((n,) * d)]
        p = ViscosityProblem(velocity=velocity, viscosity=1.0, dt=1.0, dx=1.0, rho=1.0, phi_liquid=phi)
        mass, stress = p.system.m.reshape(3, -1), p.system.k.reshape(4, -1)
        samples = [mass[a] for a in p.grid.axes] + [stress[0] / 2] + [stress[1 + e] for e in p.grid.edges]
        sums = np.array([s.sum() / n**d for s in samples])
        np.testing.assert_allclose(sums, sums[0], rtol=1e-12)  # every kind of sample sees the same liquid
        errors.append(abs(sums[0] / exact - 1))
    assert errors[1] < 6e-3
    assert errors[0] / errors[1] > 3.5


def test_control_volumes_are_exact_for_a_plane():
    cells = (6, 7, 5)
    grids = np.meshgrid(*[np.arange(n) + 0.5 for n in cells], indexing="ij")
    phi = grids[1] - 3.3
    velocity = [np.zeros(s) for s in face_shapes(cells)]
    p = ViscosityProblem(velocity=velocity, viscosity=1.0, dt=1.0, dx=1.0, rho=1.0, phi_liquid=phi)
    mass = p.system.m.reshape(3, *p.grid.padded)
    u = mass[0][p.grid.face_window(0)]
    v = mass[1][p.grid.face_window(1)]
    np.testing.assert_allclose(u[2, :, 2], [1, 1, 1, 0.3, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(v[2, :, 2], [1, 1, 1, 0.8, 0, 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_rigid_motion_of_a_free_drop_is_untouched(d):
    n = 17
    h = 1 / n
    x = (np.arange(n) + 0.5) * h
    grids = np.meshgrid(*[x] * d, indexing="ij")
    phi = np.sqrt(sum((g - 0.47) ** 2 for g in grids)) - 0.3
    spin = np.array([[0, -1.0, 0.4], [1.0, 0, -0.7], [-0.4, 0.7, 0]])[:d, :d]
    velocity = []
    for a, shape in enumerate(face_shapes((n,) * d)):
        at = [np.arange(s) * h if i == a else (np.arange(s) + 0.5) * h for i, s in enumerate(shape)]
        P = np.meshgrid(*at, indexing="ij")
        velocity.append(0.3 + sum(spin[a, i] * (P[i] - 0.5) for i in range(d)))
    problem = ViscosityProblem(velocity=velocity, viscosity=1e4, dt=1.0, dx=h, phi_liquid=phi)
    solution = problem.solve(rtol=1e-12)
    for before, after in zip(velocity, solution.velocity):
        assert np.abs(after - before).max() < 1e-10


def test_bad_input_is_said_in_a_sentence():
    good = random_problem((4, 5), 0)
    for change in (
        {"dt": -1.0},
        {"viscosity": -1.0},
        {"viscosity": np.ones((5, 4))},
        {"phi_liquid": np.ones((4, 5))},
        {"phi_solid": np.ones((5, 6))},
        {"velocity": good["velocity"][:1]},
        {"velocity": [np.full_like(v, np.nan) for v in good["velocity"]]},
        {"volumes": None},
        {"volumes": (1, 2, 3)},
        {"fluid": [np.ones((5, 5), bool)]},
    ):
        with pytest.raises(NonstickError):
            ViscosityProblem(**{**good, **change})
