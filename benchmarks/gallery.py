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


def elasticity(nx, ny, length=4.0, height=1.0, nu=0.3, jump=1.0):
    """Plane strain, bilinear elements, E from 1 to `jump` at random: A, the place of each node, and their numbers."""
    hx, hy = length / nx, height / ny
    lame, shear = nu / ((1 + nu) * (1 - 2 * nu)), 0.5 / (1 + nu)
    law = np.array([[lame + 2 * shear, lame, 0.0], [lame, lame + 2 * shear, 0.0], [0.0, 0.0, shear]])
    local, gauss = np.zeros((8, 8)), np.sqrt(1 / 3)
    for s in (-gauss, gauss):
        for t in (-gauss, gauss):
            slope = np.array([[t - 1, 1 - t, 1 + t, -1 - t], [s - 1, -1 - s, 1 + s, 1 - s]]) / 4
            slope *= np.array([[2 / hx], [2 / hy]])
            strain = np.zeros((3, 8))
            strain[0, 0::2] = strain[2, 1::2] = slope[0]
            strain[1, 1::2] = strain[2, 0::2] = slope[1]
            local += strain.T @ law @ strain * hx * hy / 4
    node = np.arange((nx + 1) * (ny + 1)).reshape(nx + 1, ny + 1)
    corner = np.stack([node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]], axis=-1).reshape(-1, 4)
    dof = np.stack([2 * corner, 2 * corner + 1], axis=-1).reshape(-1, 8)
    values = local * (jump ** np.random.default_rng(0).random(len(corner)))[:, None, None]
    places = np.repeat(dof, 8, axis=1).ravel(), np.tile(dof, (1, 8)).ravel()
    A = sp.csr_array(sp.coo_array((values.ravel(), places), shape=(2 * node.size,) * 2))
    x, y = np.linspace(0, length, nx + 1), np.linspace(0, height, ny + 1)
    return A, np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2), node


def solid_block(m, nu=0.3):
    """Trilinear elements on a cube of m³ cells, E = 1: A, and the place of every node."""
    lame, shear, gauss = nu / ((1 + nu) * (1 - 2 * nu)), 0.5 / (1 + nu), np.sqrt(1 / 3)
    law = np.diag([2 * shear] * 3 + [shear] * 3)
    law[:3, :3] += lame
    corners = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    sign, local = 2 * corners - 1, np.zeros((24, 24))
    for point in gauss * sign:
        factor = 1 + sign * point
        slope = np.stack([sign[:, a] * factor[:, (a + 1) % 3] * factor[:, (a + 2) % 3] / 8 for a in range(3)]) * 2 * m
        strain = np.zeros((6, 24))
        for a in range(3):
            strain[a, a::3] = slope[a]
            i, j = (a + 1) % 3, (a + 2) % 3
            strain[3 + a, i::3], strain[3 + a, j::3] = slope[j], slope[i]
        local += strain.T @ law @ strain / (2 * m) ** 3
    node = np.arange((m + 1) ** 3).reshape((m + 1,) * 3)
    base = np.argwhere(np.ones((m, m, m), bool))
    corner = np.stack([node[tuple((base + c).T)] for c in corners], axis=-1)
    dof = (3 * corner[..., None] + np.arange(3)).reshape(-1, 24)
    places = np.repeat(dof, 24, axis=1).ravel(), np.tile(dof, (1, 24)).ravel()
    A = sp.csr_array(sp.coo_array((np.tile(local.ravel(), len(dof)), places), shape=(3 * node.size,) * 2))
    return A, np.argwhere(np.ones((m + 1,) * 3, bool)) / m


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
    M = sp.random_array((n, n), density=each / n, rng=rng)
    return sp.csr_array(M @ M.T + 0.1 * sp.eye_array(n)), rng.standard_normal(n), 0.0, np.inf, False


def normal_equations(n):
    """Nonnegative least squares as JᵀJ: nearly dense."""
    rng = np.random.default_rng(1)
    J = sp.random_array((2 * n, n), density=0.02, rng=rng)
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


# -- the table of docs/how-to/choose.md: python benchmarks/gallery.py [--sizes 1 2 3] [--limit SECONDS] --------------

FAMILIES = {
    "obstacle, five points": [lambda n=n: waves(grid(n)) for n in (60, 120, 240)],
    "journal bearing": [lambda n=n: bearing(n, 10.0) for n in (60, 120, 240)],
    "elastic-plastic torsion": [lambda n=n: torsion(n) for n in (60, 120, 240)],
    "triangles, shaken": [lambda n=n: waves(triangles(n)) for n in (60, 120, 240)],
    "coefficients 1 to 10⁶": [lambda n=n: waves(jumps(n)) for n in (60, 120, 240)],
    "3D, seven points": [lambda n=n: solid(n, 1.0) for n in (60, 120, 240)],
    "Signorini beam": [lambda m=m: beam(80 * m, 20 * m) for m in (1, 2, 3)],
    "block held by contact": [lambda m=m: block(m) for m in (28, 56, 84)],
    "plate over a floor": [lambda n=n: plate(n) for n in (30, 60, 90)],
    "random couplings": [lambda n=n: random_couplings(n) for n in (1000, 3000, 9000)],
    "normal equations": [lambda n=n: normal_equations(n) for n in (500, 1000, 1500)],
    "deblurring": [lambda m=m: blur(m) for m in (24, 32, 40)],
}


def _kkt(A, b, lower, upper, x):
    """The residual of the design, computed here for every solver: max|d (x - clip(x - g/d))| / max|b|."""
    d = A.diagonal()
    x = np.clip(x, lower, upper)
    return float(np.abs(d * (x - np.clip(x - (A @ x - b) / d, lower, upper))).max() / np.abs(b).max())


def _peers(limit):
    """Solvers that are installed: name → (A, b, lower, upper, tightness) ↦ x."""
    from importlib.util import find_spec

    import nonstick

    def ours(A, b, lower, upper, tight):
        return nonstick.solve(A, b, lower, upper, time_limit=limit).x

    def lbfgsb(A, b, lower, upper, tight):
        from scipy.optimize import Bounds, minimize

        box = Bounds(np.broadcast_to(lower, b.shape), np.broadcast_to(upper, b.shape))
        options = {"maxiter": 20_000, "maxfun": 20_000, "gtol": tight * np.abs(b).max(), "ftol": 0.0}
        start = np.clip(np.zeros(b.size), lower, upper)
        value = lambda x: (0.5 * x @ (Ax := A @ x) - b @ x, Ax - b)  # noqa: E731
        return minimize(value, start, jac=True, method="L-BFGS-B", bounds=box, options=options).x

    def by_qpsolvers(name, words):
        def solve(A, b, lower, upper, tight):
            import qpsolvers

            box = (np.broadcast_to(v, b.shape).astype(float) for v in (lower, upper))
            options = {word: tight * scale for word, scale in words.items()}
            limits = {"time_limit": limit} if name in ("osqp", "highs") else {}
            return qpsolvers.solve_qp(
                sp.csc_matrix(A), -b, None, None, None, None, *box, solver=name, **options, **limits
            )

        return solve

    words = {
        "piqp": {"eps_abs": 1e-2, "eps_rel": 1e-2},
        "clarabel": {"tol_gap_rel": 1e-2, "tol_feas": 1e-2},
        "osqp": {"eps_abs": 1e-2, "eps_rel": 1e-2},
        "proxqp": {"eps_abs": 1e-2},
    }
    modules = {"proxqp": "proxsuite"}
    there = [name for name in words if find_spec("qpsolvers") and find_spec(modules.get(name, name))]
    return {"nonstick": ours, "L-BFGS-B": lbfgsb} | {name: by_qpsolvers(name, words[name]) for name in there}


def _measure(solve, problem, limit, rtol=1e-6):
    """Processor seconds and the residual: each solver is asked for more until its residual is at most 10 rtol."""
    import time
    import warnings

    A, b, lower, upper, _ = problem
    best = (np.inf, np.inf)
    for tight in (rtol, 1e-2 * rtol, 1e-4 * rtol):
        began = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                x = solve(A, b, lower, upper, tight)
            error = _kkt(A, b, lower, upper, x) if x is not None else np.inf
        except Exception:  # a peer that gives up
            error = np.inf
        seconds = time.process_time() - began
        if error <= 10 * rtol:
            return seconds, error
        best = min(best, (error, seconds))
        if seconds > limit:
            break
    return np.inf, best[0]


def main():
    import argparse
    import signal

    parser = argparse.ArgumentParser(description="Solve families of problems by nonstick and by installed peers.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--limit", type=float, default=20.0, help="seconds a solve, where the solver can be told")
    parser.add_argument("--only", default="")
    options = parser.parse_args()

    def late(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    peers = _peers(options.limit)
    for make in (lambda: waves(grid(20)), lambda: beam(16, 4), lambda: block(8), lambda: plate(12), lambda: blur(24)):
        _measure(peers["nonstick"], make(), options.limit)  # kernels are compiled before the clock starts
    print("| problem | n |", " | ".join(peers), "|\n|---|---|" + "---|" * len(peers), flush=True)
    for name, sizes in FAMILIES.items():
        for size in options.sizes if options.only in name else ():
            problem = sizes[size - 1]()
            cells = []
            for solve in peers.values():
                signal.alarm(int(2 * options.limit) + 1)
                try:
                    seconds, error = _measure(solve, problem, options.limit)
                except TimeoutError:
                    seconds, error = np.inf, np.inf
                signal.alarm(0)
                cells.append((seconds, error))
            first = min(s for s, _ in cells)
            text = ["–" if s == np.inf else f"**{s:.2f}**" if s == first else f"{s:.2f}" for s, _ in cells]
            print(f"| {name} | {problem[1].size} |", " | ".join(text), "|", flush=True)


if __name__ == "__main__":
    main()
