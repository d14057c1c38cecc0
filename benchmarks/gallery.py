"""Matrices with bounds that `matrices.py` measures and the tests use: they need NumPy and SciPy, nothing else.

A problem is (A, b, lower, upper, whether the unknowns sit on a square grid in C order).
"""

import numpy as np
import scipy.sparse as sp


def chain(n):
    return sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))


def grid(n, weak=1.0):
    """Five points; the second axis is `weak`."""
    return sp.csr_array(sp.kron(chain(n), sp.eye_array(n)) + weak * sp.kron(sp.eye_array(n), chain(n)))


def bearing(n, width):
    """The journal bearing of MINPACK-2, eccentricity 0.5, on (0, 2π) × (0, width)."""
    hx, hy = 2 * np.pi / (n + 1), width / (n + 1)
    x = hx * np.arange(1, n + 1)
    film = [(1 + 0.5 * np.cos(x + s)) ** 3 for s in (-hx / 2, 0.0, hx / 2)]
    off = -film[2][:-1] * hy / hx
    along = sp.diags_array([off, (film[0] + film[2]) * hy / hx, off], offsets=[-1, 0, 1])
    A = sp.kron(along, sp.eye_array(n)) + sp.kron(sp.diags_array(film[1] * hx / hy), chain(n))
    return sp.csr_array(A), np.repeat(0.5 * np.sin(x) * hx * hy, n), 0.0, np.inf, True


def torsion(n):
    """An elastic-plastic bar: -u'' = c, |u| at most the distance to the boundary."""
    near = np.minimum(np.arange(1, n + 1), np.arange(n, 0, -1)) / (n + 1)
    distance = np.minimum.outer(near, near).ravel()
    return grid(n), np.full(n * n, 20.0 / n**2), -distance, distance, True


def waves(A, on_grid=False):
    """A load that pushes up and down, and x >= 0."""
    N = A.shape[0]
    n = round(N**0.5)
    i, j = np.divmod(np.arange(N), n)
    b = A.diagonal().mean() * 50 / n**2 * np.sin(2 * np.pi * i / n) * np.sin(3 * np.pi * j / n)
    return A, b, 0.0, np.inf, on_grid


def rotated(n, epsilon, angle):
    """Central differences of an anisotropy at an angle: nine points, positive couplings."""
    c, s = np.cos(angle), np.sin(angle)
    a, b, m = c * c + epsilon * s * s, s * s + epsilon * c * c, 0.5 * (1 - epsilon) * c * s
    A = sp.csr_array((n * n, n * n))
    for i, row in enumerate([[m, -a, -m], [-b, 2 * (a + b), -b], [-m, -a, m]]):
        for j, value in enumerate(row):
            A = A + value * sp.kron(sp.eye_array(n, k=i - 1), sp.eye_array(n, k=j - 1))
    return sp.csr_array(A)


def triangles(n, epsilon=1.0, angle=0.0):
    """Linear elements on a shaken grid: obtuse angles, and positive couplings with them."""
    from scipy.spatial import Delaunay

    t = np.linspace(0, 1, n + 2)
    P = np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1).reshape(-1, 2)
    inside = ((P > 0) & (P < 1)).all(axis=1)
    P[inside] += (np.random.default_rng(0).random((inside.sum(), 2)) - 0.5) * 0.7 / (n + 1)
    T = Delaunay(P).simplices
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, -s], [s, c]])
    k = R @ np.diag([1.0, epsilon]) @ R.T
    p = P[T]
    edge = np.stack([p[:, 2] - p[:, 1], p[:, 0] - p[:, 2], p[:, 1] - p[:, 0]], axis=1)
    area = 0.5 * np.abs(edge[:, 0, 0] * edge[:, 1, 1] - edge[:, 0, 1] * edge[:, 1, 0])
    good = area > 1e-12
    normal = np.stack([-edge[..., 1], edge[..., 0]], axis=-1)[good]
    local = np.einsum("tia,ab,tjb->tij", normal, k, normal) / (4 * area[good])[:, None, None]
    rows, columns = np.repeat(T[good], 3, axis=1).ravel(), np.tile(T[good], (1, 3)).ravel()
    A = sp.csr_array(sp.coo_array((local.ravel(), (rows, columns)), shape=(len(P),) * 2))
    return A[inside][:, inside]


def jumps(n, ratio=1e6):
    """Coefficients from 1 to `ratio`, different in every cell."""
    k = ratio ** np.random.default_rng(0).random((n + 1, n + 1))
    along, across = (2 / (1 / k[:-1] + 1 / k[1:]))[:, :n], (2 / (1 / k[:, :-1] + 1 / k[:, 1:]))[:n]
    number, out = np.arange(n * n).reshape(n, n), sp.csr_array((n * n, n * n))
    for w, i, j in ((along[:-1], number[:-1], number[1:]), (across[:, :-1], number[:, :-1], number[:, 1:])):
        W = sp.coo_array((w[: i.shape[0], : i.shape[1]].ravel(), (i.ravel(), j.ravel())), shape=out.shape)
        out = out - W - W.T
    return sp.csr_array(out + sp.diags_array(k[:n, :n].ravel() * 0.01 / n - np.asarray(out.sum(axis=1)).ravel()))


def rescaled(problem, powers=6.0):
    """The same with every unknown in units of its own."""
    A, b, lower, upper, _ = problem
    D = 10.0 ** np.random.default_rng(0).uniform(-powers, powers, b.size)
    return sp.diags_array(D) @ A @ sp.diags_array(D), D * b, lower / D, upper / D, False


def solid(n, weak):
    """Seven points in 3D, with about as many unknowns as the others; the second axis is `weak`."""
    m = round(n ** (2 / 3))
    one, T = sp.eye_array(m), chain(m)
    A = sp.kron(sp.kron(T, one), one) + weak * sp.kron(sp.kron(one, T), one) + sp.kron(sp.kron(one, one), T)
    b = np.sin(np.arange(m**3) * 14 * np.pi / m**3) * 100 / m**2
    return A, b, 0.0, np.inf, False


def elements(axes, nu=0.3, stiffness=1.0):
    """Elasticity (plane strain in 2D), E = `stiffness`, by bilinear or trilinear elements between the given coordinates
    of every axis: A, and the place of each node. Unknowns are stored node by node."""
    d, sizes = len(axes), [np.diff(axis) for axis in axes]
    lame, shear, gauss = nu / ((1 + nu) * (1 - 2 * nu)), 0.5 / (1 + nu), np.sqrt(1 / 3)
    turns = [(0, 1)] if d == 2 else [(1, 2), (2, 0), (0, 1)]
    law = np.diag([2 * shear] * d + [shear] * len(turns))
    law[:d, :d] += lame
    h = np.stack(np.meshgrid(*sizes, indexing="ij"), axis=-1).reshape(-1, d)
    corners = np.argwhere(np.ones((2,) * d, bool))
    sign = 2 * corners - 1

    def local(h):
        out = np.zeros((len(h), d * 2**d, d * 2**d))
        for point in gauss * sign:
            factor = 1 + sign * point
            slope = np.stack([sign[:, a] * np.delete(factor, a, axis=1).prod(axis=1) for a in range(d)]) / 2**d
            slope = slope[None] * (2 / h)[:, :, None]
            strain = np.zeros((len(h), d + len(turns), d * 2**d))
            for a in range(d):
                strain[:, a, a::d] = slope[:, a]
            for row, (i, j) in enumerate(turns, start=d):
                strain[:, row, i::d], strain[:, row, j::d] = slope[:, j], slope[:, i]
            out += np.einsum("eki,kl,elj,e->eij", strain, law, strain, h.prod(axis=1) / 2**d, optimize=True)
        return out

    stiffness = np.broadcast_to(stiffness, len(h))
    node = np.arange(int(np.prod([axis.size for axis in axes]))).reshape([axis.size for axis in axes])
    base = np.argwhere(np.ones([size.size for size in sizes], bool))
    corner = np.stack([node[tuple((base + c).T)] for c in corners], axis=-1)
    dof = (d * corner[..., None] + np.arange(d)).reshape(len(h), -1)
    A, shape = None, (d * node.size,) * 2
    for part in np.array_split(np.arange(len(h)), 1 + len(h) // 40_000):  # all at once would take ten times A
        at, entries = dof[part].astype(np.int32), local(h[part]) * stiffness[part, None, None]
        places = np.repeat(at, at.shape[1], axis=1).ravel(), np.tile(at, (1, at.shape[1])).ravel()
        more = sp.csr_array(sp.coo_array((entries.ravel(), places), shape=shape))
        A = more if A is None else A + more  # one part keeps entries that cancel to zero, a sum does not
    return A, np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)


def elasticity(nx, ny, length=4.0, height=1.0, nu=0.3, jump=1.0):
    """A rectangle, E from 1 to `jump` at random: A, the place of each node, and their numbers."""
    stiffness = jump ** np.random.default_rng(0).random(nx * ny)
    A, place = elements((np.linspace(0, length, nx + 1), np.linspace(0, height, ny + 1)), nu, stiffness)
    return A, place, np.arange((nx + 1) * (ny + 1)).reshape(nx + 1, ny + 1)


def solid_block(m, nu=0.3):
    """A cube of m³ cells: A, and the place of every node."""
    return elements((np.linspace(0, 1, m + 1),) * 3, nu)


def hertz(fine, d=2, nu=0.3, far=20.0):
    """A body with a round bottom, radius 1, pressed onto a rigid plane: contact of radius a = 0.05 by Hertz's theory.

    Elements of a / `fine` up to 1.5 a, then growing to a distance of `far` a; planes of symmetry hold it sideways, and
    the plane alone from below. Returns A, b, lower, upper, the contact nodes' distances from the axis and the areas
    that belong to them, their unknowns, and the load P on the whole body.
    """
    radius, a, modulus = 1.0, 0.05, 1 / (1 - nu**2)
    load = np.pi * modulus * a**2 / (4 * radius) if d == 2 else 4 * modulus * a**3 / (3 * radius)
    inner = np.linspace(0, 1.5, int(1.5 * fine) + 1) * a
    steps = a / fine * 1.3 ** np.arange(1, 60)
    outer = inner[-1] + np.cumsum(steps)
    axis = np.concatenate([inner, outer[: np.searchsorted(outer, far * a) + 1]])
    A, place = elements((axis,) * d, nu)
    width = np.zeros(axis.size)
    width[:-1] += np.diff(axis) / 2
    width[1:] += np.diff(axis) / 2
    share = width if d == 2 else np.outer(width, width).ravel()
    bottom, top = np.flatnonzero(place[:, -1] == 0), np.flatnonzero(place[:, -1] == axis[-1])
    lower, b = np.full(A.shape[0], -np.inf), np.zeros(A.shape[0])
    distance = np.linalg.norm(place[bottom, :-1], axis=1)
    lower[d * bottom + d - 1] = -(distance**2) / (2 * radius)
    b[d * top + d - 1] = -load / 2 ** (d - 1) * share / share.sum()
    free = np.ones(A.shape[0], bool)
    for side in range(d - 1):
        free[d * np.flatnonzero(place[:, side] == 0) + side] = False
    number = np.cumsum(free) - 1
    rows = number[d * bottom + d - 1]
    return A[free][:, free], b[free], lower[free], np.inf, distance, share, rows, (load, a)


def pressed_cube(m, nu=0.3):
    """A cube clamped behind, pressed onto a floor: A, b, lower, upper, and the places of its free nodes."""
    A, place = solid_block(m, nu)
    free = np.repeat(place[:, 0] > 0, 3)
    b, lower = np.zeros(A.shape[0]), np.full(A.shape[0], -np.inf)
    b[3 * np.flatnonzero(place[:, 2] == 1) + 2] = -0.05 / m**2
    lower[3 * np.flatnonzero(place[:, 2] == 0) + 2] = -0.02
    return A[free][:, free], b[free], lower[free], np.inf, place[place[:, 0] > 0]


def beam(nx, ny, **material):
    """Signorini: a beam clamped on the left, pressed from above onto a floor a little below it."""
    A, _, node = elasticity(nx, ny, **material)
    b, lower = np.zeros(A.shape[0]), np.full(A.shape[0], -np.inf)
    b[2 * node[:, -1] + 1], lower[2 * node[:, 0] + 1] = -8e-3 / nx, -0.02
    free = np.ones(A.shape[0], bool)
    free[2 * node[0]] = free[2 * node[0] + 1] = False
    return A[free][:, free], b[free], lower[free], np.inf, False


def block(m):
    """A square that nothing but contact holds: a bent floor below, walls beside it. A alone is singular."""
    A, place, node = elasticity(m, m, length=1.0)
    b, lower, upper = np.zeros(A.shape[0]), np.full(A.shape[0], -np.inf), np.full(A.shape[0], np.inf)
    b[2 * node[:, -1] + 1] = -1e-2 / m
    lower[2 * node[:, 0] + 1] = 2e-3 * np.abs(place[node[:, 0], 0] - 0.5)
    lower[2 * node[0]], upper[2 * node[-1]] = -0.01, 0.01
    return A, b, lower, upper, False


def plate(n):
    """Thirteen points of the biharmonic operator over a floor."""
    return sp.csr_array(grid(n) @ grid(n)), np.full(n * n, -130.0 / n**4), -0.05, np.inf, False


def random_couplings(n, each=5):
    """M Mᵀ + 0.1 with `each` random entries in a row of M: no mesh behind it."""
    rng = np.random.default_rng(0)
    M = sp.random_array((n, n), density=each / n, random_state=rng)
    return sp.csr_array(M @ M.T + 0.1 * sp.eye_array(n)), rng.standard_normal(n), 0.0, np.inf, False


def normal_equations(n):
    """Nonnegative least squares as JᵀJ: nearly dense."""
    rng = np.random.default_rng(1)
    J = sp.random_array((2 * n, n), density=0.02, random_state=rng)
    A = sp.csr_array(J.T @ J + 1e-6 * sp.eye_array(n))
    return A, J.T @ rng.standard_normal(2 * n), 0.0, np.inf, False


def blur(m):
    """A picture of m × m points, sharp again and not negative, from a blurred one with noise."""
    rng, t = np.random.default_rng(2), np.arange(m)
    G = np.exp(-(((t[:, None] - t) / 1.5) ** 2) / 2)
    G[G < 1e-3] = 0.0
    J = sp.csr_array(sp.kron(sp.csr_array(G / G.sum(axis=1).max()), sp.csr_array(G / G.sum(axis=1).max())))
    x = np.zeros((m, m))
    x[m // 4 : m // 2, m // 4 : m // 2], x[m // 2 :, m // 2] = 1.0, 2.0
    y = J @ x.ravel() + 0.01 * rng.standard_normal(m * m)
    return sp.csr_array(J.T @ J + 1e-4 * sp.eye_array(m * m)), J.T @ y, 0.0, np.inf, False


def string(n):
    """A string over a bumpy table: tridiagonal and symmetric."""
    t = np.linspace(0, 1, n)
    return sp.csr_array(chain(n)), np.full(n, -8.0 / n**2), 0.1 * np.sin(25 * t) - 0.3, np.inf, False


# -- the table of docs/how-to/choose.md: python benchmarks/gallery.py [--sizes 1 2 3] [--limit SECONDS] --------------

FAMILIES = {
    "obstacle, five points": [lambda n=n: waves(grid(n)) for n in (60, 120, 240)],
    "journal bearing": [lambda n=n: bearing(n, 10.0) for n in (60, 120, 240)],
    "elastic-plastic torsion": [lambda n=n: torsion(n) for n in (60, 120, 240)],
    "triangles, shaken": [lambda n=n: waves(triangles(n)) for n in (60, 120, 240)],
    "coefficients 1 to 10⁶": [lambda n=n: waves(jumps(n)) for n in (60, 120, 240)],
    "3D, seven points": [lambda n=n: solid(n, 1.0) for n in (60, 120, 240)],
    "string over a table": [lambda n=n: string(n) for n in (1_000, 10_000, 100_000)],
    "Signorini beam": [lambda m=m: beam(80 * m, 20 * m) for m in (1, 2, 3)],
    "block held by contact": [lambda m=m: block(m) for m in (28, 56, 84)],
    "cube pressed on a floor": [lambda m=m: (*pressed_cube(m)[:4], False) for m in (6, 10, 14)],
    "plate over a floor": [lambda n=n: plate(n) for n in (30, 60, 90)],
    "random couplings": [lambda n=n: random_couplings(n) for n in (1000, 3000, 9000)],
    "normal equations": [lambda n=n: normal_equations(n) for n in (500, 1000, 1500)],
    "deblurring": [lambda m=m: blur(m) for m in (24, 32, 40)],
}
WARM_UP = (
    lambda: waves(grid(40)),
    lambda: waves(triangles(40)),
    lambda: beam(32, 8),
    lambda: block(12),
    lambda: plate(20),
    lambda: string(200),
    lambda: blur(24),
    lambda: normal_equations(300),
)


def _kkt(A, b, lower, upper, x):
    """The residual of the design, computed here for every solver: max|d (x - clip(x - g/d))| / max|b|."""
    d = A.diagonal()
    x = np.clip(x, lower, upper)
    return float(np.abs(d * (x - np.clip(x - (A @ x - b) / d, lower, upper))).max() / np.abs(b).max())


def _ours(A, b, lower, upper, tight):
    import nonstick

    return nonstick.solve(A, b, lower, upper, rtol=max(tight, 1e-12)).x


def _load(A, b, lower, upper):
    """Load the kernels of methods that `auto` needs for larger problems of a family only."""
    import nonstick
    from nonstick.compositions import AUTO

    for method in ("pi-direct", AUTO):
        nonstick.solve(A, b, lower, upper, method=method)


def _lbfgsb(A, b, lower, upper, tight):
    from scipy.optimize import Bounds, minimize

    box = Bounds(np.broadcast_to(lower, b.shape), np.broadcast_to(upper, b.shape))
    options = {"maxiter": 20_000, "maxfun": 20_000, "gtol": tight * np.abs(b).max(), "ftol": 0.0}
    start = np.clip(np.zeros(b.size), lower, upper)
    value = lambda x: (0.5 * x @ (Ax := A @ x) - b @ x, Ax - b)  # noqa: E731
    return minimize(value, start, jac=True, method="L-BFGS-B", bounds=box, options=options).x


def _pyamg(A, b, lower, upper, tight):
    """Policy iteration over conjugate gradients that PyAMG preconditions: what a user of it would write."""
    import pyamg

    A, d = sp.csr_array(A), A.diagonal()
    lower, upper = (np.broadcast_to(v, b.shape).astype(float) for v in (lower, upper))
    x = np.clip(np.zeros(b.size), lower, upper)
    for _ in range(100):
        g = A @ x - b
        low, high = d * (x - lower) < g, d * (x - upper) > g
        x = np.where(low, lower, np.where(high, upper, x))
        free = np.flatnonzero(~low & ~high)
        if free.size:
            F = sp.csr_matrix(A[free][:, free])
            r = (b - A @ np.where(low, lower, np.where(high, upper, 0.0)))[free]
            x[free] = pyamg.smoothed_aggregation_solver(F).solve(r, tol=0.01 * tight, accel="cg", maxiter=500)
        if _kkt(A, b, lower, upper, x) <= tight:
            break
    return x


def _by_qpsolvers(name, words):
    def solve(A, b, lower, upper, tight):
        import qpsolvers

        box = (np.broadcast_to(v, b.shape).astype(float) for v in (lower, upper))
        options = {word: tight * scale for word, scale in words.items()}
        options |= {"max_iter": 100_000} if name == "osqp" else {}
        return qpsolvers.solve_qp(sp.csc_matrix(A), -b, None, None, None, None, *box, solver=name, **options)

    return solve


#: name → the module that must be there, and (A, b, lower, upper, tightness) ↦ x
PEERS = {
    "nonstick": ("nonstick", _ours),
    "L-BFGS-B": ("scipy", _lbfgsb),
    "PyAMG": ("pyamg", _pyamg),
    "PIQP": ("piqp", _by_qpsolvers("piqp", {"eps_abs": 1e-2, "eps_rel": 1e-2})),
    "Clarabel": ("clarabel", _by_qpsolvers("clarabel", {"tol_gap_rel": 1e-2, "tol_gap_abs": 1e-4, "tol_feas": 1e-2})),
    "OSQP": ("osqp", _by_qpsolvers("osqp", {"eps_abs": 1e-2, "eps_rel": 1e-2})),
    "ProxQP": ("proxsuite", _by_qpsolvers("proxqp", {"eps_abs": 1e-2})),
    "HiGHS": (
        "highspy",
        _by_qpsolvers("highs", {"primal_feasibility_tolerance": 1.0, "dual_feasibility_tolerance": 1.0}),
    ),
}


#: PETSc's gradient projection with incomplete Cholesky and with BoomerAMG; it runs in a Python of its own
TAO = {"TAO": "tao-gpcg@1", "TAO, hypre": "tao-gpcg-hypre@1"}


def _measure_tao(name, problem, limit, rtol):
    """As `measure`: the processor time of PETSc, and of making its matrix from the arrays of ours."""
    from nonstick import BoxProblem
    from nonstick.bench.peers import run_petsc

    A, b, lower, upper, _ = problem
    box = BoxProblem(A, b, *(np.broadcast_to(v, b.shape).astype(float) for v in (lower, upper)))
    for tight in (rtol, 1e-2 * rtol, 1e-4 * rtol):
        found = run_petsc(TAO[name], box, tight, limit - 50.0)
        if isinstance(found, str) or found["cpu_seconds"] > limit:
            return None
        if (residual := _kkt(*problem[:4], found["x"])) <= 10 * rtol:
            return float(found["cpu_seconds"] + found["making_seconds"]), residual, float(found["peak_bytes"]) / 2**20
    return None


#: processor seconds that are measured at least, by solves one after the other: some clocks count in steps of 4 ms
LEAST = 0.05


def _attempt(pipe, solve, problem, tight, limit):
    """In a process of its own: processor seconds, the residual, and the memory that the solve took."""
    import os
    import resource
    import time
    import warnings

    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    used = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + limit) + 1, int(used + limit) + 2))
    A, b, lower, upper, _ = problem
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, count = time.process_time(), 0
    while count == 0 or time.process_time() - began < LEAST:
        x, count = solve(A, b, lower, upper, tight), count + 1
    seconds = (time.process_time() - began) / count
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    pipe.send((seconds, np.inf if x is None else _kkt(A, b, lower, upper, x), memory))


def measure(solve, problem, limit, rtol=1e-6):
    """(processor seconds, residual, MB) of the first attempt with a residual of at most 10 rtol; None if there is none.

    A solver is asked for more until it reaches that. Solves are repeated for at least 0.05 s, attempts with solves of
    less than 0.3 s are made three times, and the shortest counts.
    """
    from multiprocessing import get_context

    if solve in TAO:
        return _measure_tao(solve, problem, limit, rtol)
    fork = get_context("fork")
    for tight in (rtol, 1e-2 * rtol, 1e-4 * rtol, 1e-6 * rtol):
        best = None
        for _ in range(3):
            ours, theirs = fork.Pipe(duplex=False)
            process = fork.Process(target=_attempt, args=(theirs, solve, problem, tight, limit))
            process.start()
            theirs.close()
            try:
                found = ours.recv()
            except EOFError:  # it failed, or the time was over
                found = None
            process.join()
            if found is None or not found[1] <= 10 * rtol:
                break
            best = found if best is None else min(best, found)
            if found[0] > 0.3:
                break
        if best is not None:
            return best
        if found is None:
            return None
    return None


def _cell(found, first):
    """Processor seconds, bold if they are the least, and MB above the problem."""
    if found is None:
        return "–"
    seconds = f"**{found[0]:.3f}**" if found[0] == first else f"{found[0]:.3f}"
    return f"{seconds} · {found[2]:.0f}"


def main():
    import argparse
    import json
    from importlib.util import find_spec

    from nonstick.bench.peers import petsc_version

    parser = argparse.ArgumentParser(description="Solve families of problems by nonstick and by installed peers.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--limit", type=float, default=10.0, help="processor seconds an attempt")
    parser.add_argument("--peers", nargs="+", default=[*PEERS, *TAO], help="which of them")
    parser.add_argument("--only", default="", help="families whose name has this in it")
    parser.add_argument("--json", default="", help="a file for the figures, with residuals and memory")
    options = parser.parse_args()

    peers = {name: solve for name, (module, solve) in PEERS.items() if name in options.peers and find_spec(module)}
    if petsc_version():
        peers |= {name: name for name in TAO if name in options.peers}
    for make in WARM_UP:
        problem = make()
        _load(*problem[:4])
        for name in ("nonstick", "L-BFGS-B", "OSQP", "PIQP"):  # what is compiled or loaded once
            if name in peers:
                try:
                    peers[name](*problem[:4], 1e-6)
                except Exception as error:
                    print(f"<!-- {name}: {type(error).__name__} -->")
    print("| problem | n |", " | ".join(peers), "|\n|---|---|" + "---|" * len(peers), flush=True)
    rows, late = [], set()
    for size in options.sizes:
        for name, sizes in FAMILIES.items():
            if options.only not in name:
                continue
            problem = sizes[size - 1]()
            found = {}
            for peer, solve in peers.items():  # who was too slow for the smaller problem is not asked again
                found[peer] = None if (name, peer) in late else measure(solve, problem, options.limit)
                if found[peer] is None:
                    late.add((name, peer))
            first = min((f[0] for f in found.values() if f), default=np.inf)
            text = [_cell(f, first) for f in found.values()]
            print(f"| {name} | {problem[1].size} |", " | ".join(text), "|", flush=True)
            rows.append({"problem": name, "n": problem[1].size, "found": found})
            if options.json:
                with open(options.json, "w", encoding="utf-8") as file:
                    json.dump(rows, file)


if __name__ == "__main__":
    main()
