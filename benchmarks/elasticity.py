"""Elasticity in contact: iterations, set changes, processor seconds and memory over sizes, ν, aspect and jumps.

Signorini's beam (2D) of size n has 40 n × 10 n cells, or 160 n × 3 n where it is 50 times as long as high; with jumps E
is 1 to 10⁴ at random. Triangles (P1, P2, by scikit-fem) cut the same cells in two, twice as large for P2. The cube
(3D), clamped at one side and pressed onto a floor, has (7 n)³ cells, whole or cut in tetrahedra. Each solve is its own
process; the peak of memory is that of the whole process, in which the matrix is assembled too. `--methods` takes
peers of the gallery too (PIQP, Clarabel …), which get no points and are asked for the same residual.
"""

from __future__ import annotations

import itertools
import multiprocessing
import resource
import time

import numpy as np
from common import Rows, options, progress, show
from gallery import PEERS, beam, elasticity, measure, pressed_cube

import nonstick
from nonstick.compositions import AUTO

BEAMS = {
    "beam": {},
    "beam, ν = 0.45": {"nu": 0.45},
    "beam, ν = 0.499": {"nu": 0.499},
    "beam, jumps": {"jump": 1e4},
    "beam, 1 : 50": {"length": 50.0},
}
CUBES = {"cube": 0.3, "cube, ν = 0.45": 0.45, "cube, ν = 0.49": 0.49}
SIMPLICES = {
    f"{degree}, {name}": {"degree": degree, **material}
    for degree in ("P1", "P2")
    for name, material in (*BEAMS.items(), ("beam, ν = 0.49", {"nu": 0.49}))
} | {"P1, cube": {"degree": "P1"}}
CASES = (*BEAMS, *CUBES, *SIMPLICES)


def simplices(axes, degree: str, nu=0.3, jump=1.0, **_):
    """A, b, lower, upper and places: a beam or a cube of triangles or tetrahedra."""
    import skfem
    from skfem.models.elasticity import lame_parameters, linear_elasticity

    d = len(axes)
    mesh = (skfem.MeshTri if d == 2 else skfem.MeshTet).init_tensor(*axes)
    scalar = {"P1": (skfem.ElementTriP1, skfem.ElementTetP1)[d - 2], "P2": skfem.ElementTriP2}[degree]()
    element = skfem.ElementVector(scalar)
    young = jump ** np.random.default_rng(0).random(mesh.t.shape[1])
    basis = skfem.Basis(mesh, element)
    unit = linear_elasticity(*lame_parameters(1.0, nu))
    stiff = basis.with_element(skfem.ElementTriP0() if d == 2 else skfem.ElementTetP0()).interpolate(young)
    A = skfem.BilinearForm(lambda u, v, w: w.young * unit.form(u, v, w)).assemble(basis, young=stiff)
    x, height = basis.doflocs, axes[-1][-1]
    top = mesh.facets_satisfying(lambda p: np.isclose(p[-1], height))
    load = skfem.LinearForm(lambda v, w: -(0.05 if d == 3 else 8e-3 / axes[0][-1]) * v[d - 1])
    b, lower = load.assemble(basis.boundary(top)), np.full(basis.N, -np.inf)
    lower[np.flatnonzero(x[-1, d - 1 :: d] == 0) * d + d - 1] = -0.02
    free = x[0] > 0
    return A.tocsr()[free][:, free], b[free], lower[free], np.inf, x.T[free][::d]


def problem(name: str, size: int):
    """A, b, lower, upper and the places of the nodes."""
    if name in CUBES:
        return pressed_cube(7 * size, CUBES[name])
    if name == "P1, cube":
        return simplices((np.linspace(0, 1, 7 * size + 1),) * 3, "P1")
    material = BEAMS.get(name) or SIMPLICES.get(name, {})
    nx, ny = (160 * size, 3 * size) if "length" in material else (40 * size, 10 * size)
    if name in SIMPLICES:
        coarser, long = (2 if material["degree"] == "P2" else 1), material.get("length", 4.0)
        axes = np.linspace(0, long, nx // coarser + 1), np.linspace(0, 1, max(ny // coarser, 1) + 1)
        return simplices(axes, **material)
    _, place, node = elasticity(nx, ny, **BEAMS[name])
    return *beam(nx, ny, **BEAMS[name])[:4], np.delete(place, node[0], axis=0)


def _solve(name: str, size: int, method: str, pipe) -> None:
    *small, places = problem(name, 1)
    for way in (method, "pi-direct", AUTO):  # so that kernels are loaded
        nonstick.solve(*small, nodes=places, method=way)
    A, b, lower, upper, nodes = problem(name, size)
    begun = time.process_time()
    solution = nonstick.solve(A, b, lower, upper, nodes=nodes, method=method)
    seconds = time.process_time() - begun
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts = {"iterations": solution.iterations, "outer_iterations": solution.outer_iterations}
    end = {"kkt": solution.kkt(), "converged": solution.converged, "path": solution.path, "message": solution.message}
    pipe.send({"unknowns": A.shape[0], **counts, "seconds": seconds, "peak_bytes": peak, **end})


def _row(name: str, size: int, method: str, time_limit: float) -> dict:
    """A solve of ours, or the best of a peer that reaches the same residual."""
    if method in PEERS:
        PEERS[method][1](*problem(name, 1)[:4], 1e-6)  # what is imported once
        *given, _ = problem(name, size)
        found = measure(PEERS[method][1], (*given, False), time_limit)
        row = {"unknowns": given[0].shape[0], "converged": found is not None, "path": "" if found else "no answer"}
        return row | ({"seconds": found[0], "kkt": found[1]} if found else {})
    receiver, sender = multiprocessing.Pipe(False)
    child = multiprocessing.get_context("fork").Process(target=_solve, args=(name, size, method, sender))
    child.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return {"converged": False, "path": "no answer"}
    finally:
        child.join()


def main(out="benchmarks/results", sizes=(1, 2), only=CASES, methods=("auto",), time_limit=60.0):
    rows = Rows(out, "elasticity", ("case", "size", "method"))
    with progress("elasticity", len(sizes) * len(only) * len(methods)) as step:
        for name, size, method in itertools.product(only, sizes, methods):
            step(f"{name} at {size}: {method}")
            rows.add({"case": name, "size": size, "method": method, **_row(name, size, method, time_limit)})
    heads = ["case", "unknowns", "method", "iterations", "set changes", "s", "MB", "converged", "path"]
    lines = [
        [r["case"], r.get("unknowns"), r["method"], r.get("iterations"), r.get("outer_iterations"), r.get("seconds"),
         r.get("peak_bytes", 0) / 1e6, r["converged"], r["path"][:60]]
        for r in rows
    ]  # fmt: skip
    show("elasticity in contact", heads, lines)
    return rows


if __name__ == "__main__":
    main(**options(__doc__, sizes=(2, 4, 8), only=CASES, methods=("auto",), time_limit=60.0))
