"""Objects of the API made and used with arguments of every kind of wrong: an answer or one sentence, nothing else."""

import random
import warnings
from collections import Counter

import numpy as np
import scipy.sparse as sp
from bounds import answered, none_broke, seeds
from problems import grid_cells, laplacian
from test_api_fuzz import ARRAYS, MATRICES

import nonstick
from nonstick import registry

METHODS = [name for name, entry in registry.entries().items() if entry.kind != "viscosity"]
SCALARS = [0.0, -1.0, 1.0, 1e-300, 1e300, np.nan, np.inf, -np.inf, None, "1", "x" * 5000, True, [], [1.0], {}, 3 + 0j,
           np.zeros(50), np.float32(0.5), np.array(0.5), 10**400, b"1", object(), np.float16(0.5), np.longdouble(0.5),
           np.complex64(1), -(10**400), sp.coo_array(np.ones(4))]  # fmt: skip
NUMBERS = [0.0, -0.0, 1.0, -1.0, 1e-300, -1e300, 1e300, np.inf, -np.inf, np.nan, 5e-324, 1e16]
LIMITS = [1e-3, 0.0, np.nan, "1e-6", np.float16(1e-3), np.longdouble(1e-3), np.complex64(1), 10**400, True, [1e-3]]
STOPS = {"rtol": LIMITS, "atol": LIMITS, "maxiter": [1, 0, 2.5, 10**400, np.int8(3)],
         "time_limit": [-1.0, "x", *LIMITS],
         "criterion": ["papers", "x", 3, np.zeros(2)], "method": ["pgs", "AUTO", "x" * 3000, 3, None, np.zeros(9)],
         "tol": [1e-3], "x0": SCALARS, "active": SCALARS}  # fmt: skip


def spoilt(rng, value):
    """An argument with one thing wrong: an array, a tuple of arrays or a number."""
    if isinstance(value, tuple) and value and rng.randrange(4):
        if not rng.randrange(4):
            return rng.choice([value[:-1], (*value, *value[:1]), list(value), np.zeros(len(value)), value[:1]])
        where = rng.randrange(len(value))
        return (*value[:where], spoilt(rng, value[where]), *value[where + 1 :])
    if isinstance(value, np.ndarray) and rng.randrange(4):
        with np.errstate(all="ignore"):
            return ARRAYS[rng.choice(list(ARRAYS))](value.copy(), rng.randrange(10**6), rng.choice(NUMBERS))
    return rng.choice(SCALARS)


def altered(rng, given):
    """Keyword arguments, some of them spoilt, missing or unknown."""
    out = dict(given)
    for _ in range(rng.choice([0, 1, 1, 2])):
        name = rng.choice(list(out) or ["b"])
        if rng.randrange(20):
            out[name] = spoilt(rng, given.get(name, 1.0))
        else:
            out[rng.choice(["velocty", "x"])] = out.pop(name, None)
    return out


def stops(rng):
    return {"maxiter": 50} | {
        name: rng.choice(STOPS[name]) for name in rng.sample(sorted(STOPS), rng.choice([0, 0, 1]))
    }


def shape(rng):
    return tuple(rng.randrange(1, 6) for _ in range(rng.choice([2, 3])))


def faces(rng, cells, width=1.0):
    random = np.random.default_rng(rng.randrange(10**6))
    return tuple(
        width * random.standard_normal(tuple(n + (a == axis) for a, n in enumerate(cells)))
        for axis in range(len(cells))
    )


def level(rng, size):
    return np.random.default_rng(rng.randrange(10**6)).standard_normal(size)


def nodes(cells):
    return tuple(n + 1 for n in cells)


def pressure(rng):
    cells = shape(rng)
    given = {"phi_liquid": level(rng, cells), "velocity": faces(rng, cells), "dt": 0.01, "dx": 0.1, "rho": 1000.0}
    more = {
        "phi_solid": level(rng, nodes(cells)), "weights": tuple(np.clip(f, 0, 1) for f in faces(rng, cells)),
        "solid_velocity": faces(rng, cells), "walls": rng.choice(["cut", "solid", "edge", "all", "none", "x"]),
        "adhesion": abs(level(rng, cells)), "separation": 0.1, "source": level(rng, cells), "bodies": (),
    }  # fmt: skip
    given |= {name: more[name] for name in rng.sample(sorted(more), rng.choice([0, 1, 2]))}
    problem = nonstick.PressureProblem(**altered(rng, given))
    repr(problem), problem.matrix, problem.rhs, problem.cells, problem.constrained
    return problem.solve(**stops(rng))


def viscosity(rng):
    cells = shape(rng)
    given = {"velocity": faces(rng, cells), "viscosity": 3.0, "dt": 0.01, "dx": 0.1, "rho": 1000.0,
             "phi_liquid": level(rng, cells)}  # fmt: skip
    more = {
        "viscosity": abs(level(rng, cells)), "phi_solid": level(rng, nodes(cells)),
        "fluid": tuple(f > 0 for f in faces(rng, cells)), "distance": faces(rng, cells), "volumes": faces(rng, cells),
    }  # fmt: skip
    given |= {name: more[name] for name in rng.sample(sorted(more), rng.choice([0, 1, 2]))}
    solution = nonstick.ViscosityProblem(**altered(rng, given)).solve(**stops(rng))
    assert all(np.isfinite(u).all() for u in solution.velocity)
    return solution


def diffusion(rng):
    cells = shape(rng)
    given = {"temperature": level(rng, cells), "alpha": rng.choice([0.1, 1e9, np.inf])}
    more = {
        "inside": level(rng, cells) < 1, "phi": level(rng, cells), "fixed": level(rng, cells) > 1,
        "lower": -0.2, "upper": abs(level(rng, cells)),
    }  # fmt: skip
    given |= {name: more[name] for name in rng.sample(sorted(more), rng.choice([0, 1, 2]))}
    return nonstick.DiffusionProblem(**altered(rng, given)).solve(**stops(rng))


def vectors(rng, n):
    random = np.random.default_rng(rng.randrange(10**6))
    return {
        "b": random.standard_normal(n), "lower": np.where(random.random(n) < 0.7, 0.0, -np.inf),
        "upper": np.where(random.random(n) < 0.3, 1.0, np.inf), "x0": random.standard_normal(n),
        "active": random.integers(-1, 2, n),
    }  # fmt: skip


def star(n, rng):
    """One unknown is coupled with all others."""
    A = sp.lil_array(np.eye(n))
    A[0, 1:] = A[1:, 0] = rng.choice([-0.9, 0.5]) / max(np.sqrt(n - 1), 1.0)
    return sp.csr_array(A)


def matrix(rng):
    size = shape(rng)[:2]
    A = laplacian(*size, rng.randrange(99), rng.choice([0.0, 3.0]))
    if not rng.randrange(4):  # couplings that are not a grid's, which the cells of `size` do not fit
        A = A + star(A.shape[0], rng)
    if rng.randrange(2):
        return A, A, size
    with np.errstate(all="ignore"):
        return MATRICES[rng.choice(list(MATRICES))](A, rng.randrange(10**6), rng.choice(NUMBERS)), A, size


def solver(rng):
    given, A, size = matrix(rng)
    cells = grid_cells(*size) if rng.randrange(2) else None
    made = nonstick.Solver(
        given,
        **altered(rng, {"cells": cells, "warm": True} if rng.randrange(2) else {}),
        **({"method": rng.choice(METHODS)} if rng.randrange(2) else {}),
    )
    solution = None
    for _ in range(3):
        arguments = altered(rng, vectors(rng, A.shape[0]))
        stop = {name: value for name, value in stops(rng).items() if name not in ("method", *arguments)}
        solution = made.solve(**arguments, **stop)
        if rng.randrange(2):
            made.update(rng.choice([2.0 * A, A.data, spoilt(rng, A.data), matrix(rng)[0]]))
    return solution


def box(rng):
    given, A, _ = matrix(rng)
    arguments = altered(rng, {k: v for k, v in vectors(rng, A.shape[0]).items() if k in ("b", "lower", "upper")})
    return nonstick.solve_problem(nonstick.BoxProblem(given, **arguments), **stops(rng))


def constrained(rng):
    given, A, _ = matrix(rng)
    n = A.shape[0]
    C = np.random.default_rng(rng.randrange(10**6)).standard_normal((rng.randrange(1, 3), n))
    limits = (C, np.zeros(C.shape[0]), rng.choice([None, np.ones(C.shape[0])]))
    arguments = vectors(rng, n) | {"constraints": limits if rng.randrange(2) else spoilt(rng, limits[:2])}
    return nonstick.solve(
        given,
        **{k: v for k, v in arguments.items() if k != "active"},
        **{k: v for k, v in stops(rng).items() if k not in arguments},
    )


def program(rng):
    """A quadratic program, or least squares, with some of the arguments it may have."""
    given, A, _ = matrix(rng)
    n, random = A.shape[0], np.random.default_rng(rng.randrange(10**6))
    lsq = rng.randrange(2)
    start = {"J": given, "y": random.standard_normal(n)} if lsq else {"P": given, "q": random.standard_normal(n)}
    more = {
        "bounds": (np.zeros(n), np.ones(n)), "regularise": rng.choice([0.1, np.ones(n), 1e300]),
    } if lsq else {
        "G": matrix(rng)[0] if rng.randrange(4) == 0 else random.standard_normal((2, n)), "h": random.random(2),
        "A": random.standard_normal((1, n)), "b": random.random(1), "lb": np.full(n, -1.0), "ub": np.full(n, 2.0),
    }  # fmt: skip
    chosen = rng.sample(sorted(more), rng.randrange(len(more) + 1))
    arguments = altered(rng, start | {name: more[name] for name in chosen})
    stop = {name: value for name, value in stops(rng).items() if name not in ("method", "active", *arguments)}
    return (nonstick.lsq if lsq else nonstick.qp)(**arguments, **stop)


def columns(rng):
    """Several right-hand sides at once."""
    given, A, _ = matrix(rng)
    v, k = vectors(rng, A.shape[0]), rng.randrange(4)
    right = np.random.default_rng(rng.randrange(10**6)).standard_normal((A.shape[0], k))
    v |= {"b": rng.choice([right, sp.csr_array(right), MATRICES[rng.choice(list(MATRICES))](A, 5, 1.0)])}
    found = nonstick.solve(given, **altered(rng, {name: v[name] for name in ("b", "lower", "x0")}), maxiter=50)
    return found[-1] if isinstance(found, nonstick.Batch) else found


def derivative(rng):
    """A sound solution, asked for derivatives in odd words."""
    _, A, _ = matrix(rng)
    v, n = vectors(rng, A.shape[0]), A.shape[0]
    held = {"constraints": (np.ones((1, n)), 0.0, 0.5)} if rng.randrange(3) == 0 else {}
    solution = nonstick.solve(A, v["b"], v["lower"], v["upper"], **held)
    odd = MATRICES[rng.choice(list(MATRICES))](A, rng.randrange(10**6), rng.choice(NUMBERS))
    change = {"b": v["b"], "lower": v["b"], "A": odd, "C": (rng.choice([None, np.ones((1, n)), odd]), 0.1)}
    chosen = rng.sample(sorted(change), rng.choice([0, 1, 2]))
    solution.jvp(**{name: rng.choice([change[name], spoilt(rng, change[name])]) for name in chosen})
    gradient = solution.vjp(spoilt(rng, v["b"]) if rng.randrange(2) else v["b"])
    gradient.matrix(odd)
    gradient.constraint_matrix(odd)
    return solution


def files(rng, folder):
    given, A, size = matrix(rng)
    arguments = {k: v for k, v in vectors(rng, A.shape[0]).items() if k in ("b", "lower", "upper")}
    arguments["cells"] = grid_cells(*size)
    path = rng.choice([folder / "p.npz", folder / "p.mtx", folder / "p.txt", folder / "no" / "p.npz", str(folder)])
    nonstick.save_problem(path, given, **altered(rng, arguments))
    return nonstick.solve_problem(nonstick.load_problem(path), maxiter=50)


WAYS = [pressure, viscosity, diffusion, solver, box, constrained, program, columns, derivative, files]


def test_every_object_is_answered(tmp_path):
    tried = Counter()
    for seed in seeds(150):
        rng = random.Random(seed)
        way = rng.choice(WAYS)
        tried[way.__name__] += 1
        with answered(seed, way.__name__), warnings.catch_warnings():
            warnings.simplefilter("error", category=RuntimeWarning)
            solution = way(rng, tmp_path) if way is files else way(rng)
            assert np.isfinite(solution.x).all() and solution.status and repr(solution)
            tried["solved"] += 1
    print(dict(tried))
    none_broke()
