"""What the papers' algorithms do exactly as printed, beside ours: every number that the docs quote about that.

Sixteen studies: `cycles` (Chentanez–Müller's seven cycles), `repairs` (each of our five repairs of their full cycles
alone, and all but one), `volumes` (the same with walls by their equations, not ours), `ties` (Andersen's eq. 26),
`units` (Lai's literal multigrid, Takahashi–Batty's constants), `warm` (Lai's start from the last policy, after
gravity has turned by three degrees), `coarse` (direct discretisation against R A P), `jacobi` (the damping of
Aanjaneya's baseline), `walls` and `walls3d` (its test problem with walls where solid faces are), `interior` (interior
point beside its printed form), `springs` (the quadratic penalty and the augmented Lagrangian that Takahashi–Batty
tried, §7.3), `random` (matrices that make policies repeat and the search on θ fail), `price` (what projections cost
inside the colours and after each sweep), `accuracy` (what Newton's method leaves on finer grids), `stops` (interior
point with two CG iterations a step, as Takahashi and Batty have them, and looser stops). `price` and `interior` are
about seconds too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from common import options, run_studies

import nonstick
from nonstick import cases, registry
from nonstick.bench.problems import ball, first_of, liquid_maze, sampled, snapshots
from nonstick.compositions import CYCLE, face_multigrid, viscous
from nonstick.discretise.fields import children
from nonstick.inverse import CG, Direct
from nonstick.inverse.multigrid.bottom import Sweeps
from nonstick.inverse.multigrid.faces.coarsening import Voxels
from nonstick.inverse.multigrid.faces.smoothers import BandJacobi
from nonstick.inverse.multigrid.grid.geometric import Geometric
from nonstick.operators.masked import Masked
from nonstick.problem.box import BoxProblem
from nonstick.solvers import ChentanezMuller, MinMapNewton, PolicyIteration
from nonstick.solvers.chentanez_muller.cycles import ProjectedLevel

STRENGTHS = (1e-3, 3e-3, 1e-2, 0.1)


def solved(problem, method, **options):
    return nonstick.solve_problem(problem, method, criterion="papers", **options)


def error(x, exact) -> float:
    return float(np.abs(x - exact).max() / np.abs(exact).max())


def cycles(sizes):
    """KKT and error of p after 3 full and 4 V-cycles, repaired and as printed, and where literal cycles end."""
    for name, n in [("circle2d", 2 * n) for n in sizes] + [("sphere3d", n) for n in sizes]:
        exact = solved(cases.build(name, n).problem, "auto", rtol=1e-11).x
        for method in ("fmg+cm", "fmg+cm+literal", "fmg+literal"):
            s = solved(cases.build(name, n).problem, method)
            yield {"case": name, "n": n, "method": method, "kkt": s.kkt(), "error": error(s.x, exact)}


#: our repairs of the printed cycle: rows pressed against a bound stay out of transfers, projection inside the colours,
#: bounds on all levels, interpolation on one side of a wall, corrections cut to the box and damped
REPAIRS = ("held", "colours", "levels", "one-sided", "cut")


class Level(ProjectedLevel):
    """A level of the printed cycle with some of the repairs."""

    repairs: frozenset[str] = frozenset()

    def smooth(self, count):
        self.kind = "projected" if "colours" in self.repairs else "literal"
        super().smooth(count)

    def measure(self):
        self.kind = "projected" if "held" in self.repairs else "literal"
        super().measure()

    def connect(self, coarse, one_sided):
        super().connect(coarse, one_sided="one-sided" in self.repairs)


@dataclass(frozen=True)
class Repaired(ChentanezMuller):
    """The printed full cycles with some of the repairs, until they converge or stagnate."""

    literal: bool = True
    repairs: frozenset[str] = frozenset()

    def ascend(self, levels, k):
        ChentanezMuller.ascend(self.cycle(), levels, k)

    def solve_bottom(self, level):
        ChentanezMuller.solve_bottom(self.cycle(), level)

    def cycle(self):
        return replace(self, literal=False) if "cut" in self.repairs else self

    def level(self, A, edges=None):
        made = Level(A, edges=edges)
        made.repairs = self.repairs
        return made


def repairs(sizes):
    """Full cycles to KKT 1e-6 with one repair or two, with all but one, with none and with all."""
    chosen = {"as printed": (), "all": REPAIRS}
    chosen |= {f"only {name}": (name,) for name in REPAIRS}
    chosen |= {f"colours and {name}": ("colours", name) for name in ("held", "cut")}
    chosen |= {f"without {name}": tuple(set(REPAIRS) - {name}) for name in REPAIRS}
    for case, n in [("circle2d", 2 * n) for n in sizes] + [("sphere3d", n) for n in sizes]:
        for label, names in chosen.items():
            of = frozenset(names)
            method = Repaired(constrained_levels=None if "levels" in of else 3, repairs=of, maxiter=300)
            s = solved(cases.build(case, n).problem, method)
            count = {"iterations": s.iterations, "converged": s.converged}
            yield {"case": case, "n": n, "method": label, "kkt": s.kkt(), **count}


def around(sub: np.ndarray, axis: int) -> np.ndarray:
    """Means of the 2ᵈ parts around every face along an axis; nothing is open outside of the grid."""
    sub = np.pad(sub, [(1, 1) if a == axis else (0, 0) for a in range(sub.ndim)])
    for a in range(sub.ndim):
        sub = 0.5 * (np.take(sub, range(0, sub.shape[a], 2), a) + np.take(sub, range(1, sub.shape[a], 2), a))
    return sub


class Volumes(nonstick.PressureProblem):
    """Walls as Chentanez and Müller print them: by the open volume around each face (equations 6, 9, 10, 15, 16).

    `sub` are the open parts of half cells. The half cells of a coarser level are the cells of this one.
    """

    def __init__(self, sub: np.ndarray, **fields):
        self.sub = sub
        super().__init__(weights=tuple(around(sub, axis) for axis in range(sub.ndim)), **fields)

    def coarsen(self):
        out = super().coarsen()
        out.sub = children(self.sub).mean(axis=0)
        out.weights = tuple(around(out.sub, axis) for axis in range(out.sub.ndim))
        out._build()
        return out


def volumes(sizes):
    """The cycles as printed and repaired, with walls by areas and by volumes, bounds in cut cells or by equation 17."""
    for name, n in [("circle2d", 2 * n) for n in sizes] + [("sphere3d", n) for n in sizes]:
        for bounded in ("cut", "solid"):
            p = cases.build(name, n, walls=bounded).pressure_problem
            d = p.phi_liquid.ndim
            middles = np.meshgrid(*[(np.arange(2 * n) + 0.5) / (2 * n) - 0.5] * d, indexing="ij")
            depth = 0.46 - np.sqrt(sum(x**2 for x in middles))
            fields = {"phi_liquid": p.phi_liquid, "velocity": p.velocity, "dt": p.dt, "dx": p.dx, "rho": p.rho}
            for case, problem in (
                (f"{name}, areas, {bounded}", p.problem),
                (
                    f"{name}, volumes, {bounded}",
                    Volumes(np.clip(0.5 + 2 * n * depth, 0, 1), walls=bounded, **fields).problem,
                ),
            ):
                exact = solved(problem, "auto", rtol=1e-11).x
                for method in ("fmg", "fmg+cm+literal", "fmg+literal"):
                    s = solved(problem, method)
                    count = {"error": error(s.x, exact), "iterations": s.iterations, "converged": s.converged}
                    yield {"case": case, "n": n, "method": method, "kkt": s.kkt(), **count}


def ties(sizes):
    """All cells constrained, as the tie rule shows itself there."""
    for name in ("circle2d", "maze2d"):
        problem = cases.build(name, 100).problem
        everywhere = BoxProblem(problem.A, problem.b, np.zeros(problem.n))
        for method in ("newton", "newton+paper", "newton+paper+ties"):
            s = solved(everywhere, method)
            yield {"case": name, "n": 100, "method": method, "kkt": s.kkt(), "outer_iterations": s.outer_iterations}


def units(sizes):
    """Counts when A and b (Lai) or b alone (interior point) are scaled: they should not change."""
    problem = cases.build("circle2d", 64).problem
    A, b, box, cells = problem.A.matrix(), problem.b, problem.box, problem.A.cells
    for k in (1e-2, 1.0, 1e4):
        for method, of, by in (("pi-mg+literal", k, 1.0), ("ipm-pd", 1.0, k), ("ipm-pd+literal", 1.0, k)):
            s = nonstick.solve(
                of * A, of * by * b, by * box.lower, by * box.upper, cells=cells, method=method, criterion="papers"
            )
            yield {
                "case": f"circle2d × {k:g}", "n": 64, "method": method, "kkt": s.kkt(), "iterations": s.iterations,
                "outer_iterations": s.outer_iterations,
            }  # fmt: skip
    for n in sizes:
        for method in ("ipm-pd", "ipm-pd+literal"):
            s = solved(cases.build("sphere3d", n).problem, method)
            yield {
                "case": "sphere3d", "n": n, "method": method, "kkt": s.kkt(), "iterations": s.iterations,
                "outer_iterations": s.outer_iterations,
            }  # fmt: skip


def turned(n, degrees):
    """The half-filled sphere at rest after a step of gravity that is turned about z."""
    p = cases.build("sphere3d", n).pressure_problem
    fall = cases.GRAVITY * cases.DT
    along = (fall * np.sin(np.radians(degrees)), -fall * np.cos(np.radians(degrees)), 0.0)
    velocity = [np.full_like(v, u, dtype=float) for v, u in zip(p.velocity, along)]
    return nonstick.PressureProblem(
        phi_liquid=p.phi_liquid, velocity=velocity, dt=p.dt, dx=p.dx, rho=p.rho, weights=p.weights, walls=p.walls
    ).problem


def warm(sizes):
    """Policy and penalty methods from zero, and from the policy of the same liquid under upright gravity."""
    for n in sizes:
        for method in ("pi-mg", "pe-mg"):
            upright = solved(turned(n, 0.0), method)
            for start, active in (("from zero", None), ("from the last policy", upright.active)):
                s = solved(turned(n, 3.0), method, active=active)
                count = {"iterations": s.iterations, "outer_iterations": s.outer_iterations}
                yield {"case": f"sphere3d {start}", "n": n, "method": method, "kkt": s.kkt(), **count}


def coarse(sizes):
    """How much stiffer rows of R A P are than those of the coarser discretisation: largest ratio, rows above 1.9."""
    for n in sizes:
        fine = cases.build("sphere3d", n).problem
        rough = fine.coarsen()
        transfer = Geometric().between(fine.A, rough.A)
        P, Pt = transfer.whole()
        ratio = transfer.scale * (Pt @ fine.A.matrix() @ P).diagonal() / rough.A.diagonal
        count = {"iterations": f"{ratio.max():.0f}", "failed": f"{int((ratio > 1.9).sum())} of {rough.n}"}
        yield {"case": "sphere3d", "n": n, "method": "R A P ÷ direct discretisation", **count}


def jacobi(sizes):
    """The viscosity test problem of §7 by the multigrid baseline, damped by 1/2 and by 2/3."""
    for n in sizes:
        for strength in STRENGTHS:
            for method in ("visc-jacobi-mg", "visc-jacobi-mg+mcadams", "visc-box-mg"):
                s = nonstick.solve_problem(ball(n, 3, strength=strength), method, maxiter=80, criterion="papers")
                case = f"μΔt/ρ = {strength:g}"
                count = {"iterations": s.iterations, "converged": s.converged}
                yield {"case": case, "n": n, "method": method, "kkt": s.kkt(), **count}


def _tent(sizes, d, others=()):
    """The test problem of §7 with μΔt/ρ = 1e-2 and walls at solid faces."""
    methods = (
        ("visc-box-mg", 1e-6), ("visc-jacobi-mg", 1e-6), ("visc-jacobi-mg+cg", 1e-6), *others, ("visc-cg", 1e-6),
        ("visc-cg", 1e-10), ("visc-auto", 1e-6), ("visc-mic-cg", 1e-6),
    )  # fmt: skip
    for n in sizes:
        for method, rtol in methods:
            if method == "visc-mic-cg" and n**d > 128**3:  # 24 GB at 256³
                continue
            problem = ball(n, d, strength=1e-2, walls=False)
            s = nonstick.solve_problem(problem, method, rtol=rtol, criterion="papers")
            count = {"iterations": s.iterations, "converged": s.converged}
            yield {"case": f"walls at solid faces, to {rtol:g}", "n": n, "method": method, "kkt": s.kkt(), **count}


def walls(sizes):
    """The test problem of §7 in 2D: μΔt/ρ = 1e-2 and walls at solid faces, which give the counts of the paper."""
    yield from _tent(sizes, 2)


def walls3d(sizes):
    """The same in 3D, and what larger damping factors do to Jacobi's method."""
    yield from _tent(sizes, 3, (("visc-jacobi-mg+mcadams", 1e-6),))
    for n in sizes:
        for damping in (1 / 3, 0.6, 0.64):
            smoother = BandJacobi(damping=damping)
            method = viscous(face_multigrid(Voxels(), smoother, Sweeps(replace(smoother, steps=0), 200)))
            s = nonstick.solve_problem(ball(n, 3, strength=1e-2, walls=False), method, criterion="papers")
            count = {"iterations": s.iterations, "converged": s.converged}
            yield {"case": "damping", "n": n, "method": f"Jacobi damped by {damping:.2g}", "kkt": s.kkt(), **count}


def interior(sizes):
    """`ipm-pd` beside the method as printed: Newton steps, CG iterations, the shortest processor time in turns."""
    problems = [(name, 4 * n, [partial(_case, name, 4 * n)]) for name in cases.names(2) for n in sizes]
    problems += [(name, n, [partial(_case, name, n)]) for name in cases.names(3) for n in sizes]
    problems += [("liquid maze", n, [partial(liquid_maze, n)]) for n in sizes]
    for walls, label in (("cut", "non-splashy"), ("all", "splashy")):
        for n in sizes:
            run = snapshots("double-dam-break", n, 40, **{"walls.pressure": walls, "time.cfl": 3.0})
            problems.append((f"double dam break, {label}", n, [step.build for step in sampled(run, 40, 4)]))
    for case, n, builds in problems:
        for method, found in _in_turns(builds, ("ipm-pd", "ipm-pd+literal"), 3).items():
            yield {"case": case, "n": n, "method": method, **found}


def _case(name, n):
    return cases.build(name, n).problem


def _in_turns(builds, methods, times):
    """Means over problems of each method's counts and of its shortest processor time."""
    found = {}
    for build in builds:
        took = dict.fromkeys(methods, np.inf)
        for method in times * methods:
            problem, began = build(), time.process_time()
            s = solved(problem, method)
            took[method] = min(took[method], time.process_time() - began)
            found.setdefault(method, {})[build] = s
        for method in methods:
            found[method][build] = (found[method][build], took[method])
    return {
        method: {
            "kkt": max(s.kkt() for s, _ in each.values()),
            "iterations": float(np.mean([s.iterations for s, _ in each.values()])),
            "outer_iterations": float(np.mean([s.outer_iterations for s, _ in each.values()])),
            "seconds": round(float(np.mean([seconds for _, seconds in each.values()])), 5),
        }
        for method, each in found.items()
    }


def augmented(problem, strength, multipliers, updates=30):
    """x and the solves of the (augmented) penalty method: no clamping, one active set of springs after another.

    minimise f(x) + ½ Σ ρ max(0, lower − x + λ/ρ)², ρ = strength · diagonal; then λ ← ρ max(0, lower − x + λ/ρ), up to
    `updates` times, or λ = 0 throughout. Linear systems are solved by CG over our multigrid to 1e-10.
    """
    A, b, lower = problem.A, problem.b, problem.box.lower
    bound = np.isfinite(lower)
    low = np.where(bound, lower, 0.0)
    rho = np.where(bound, strength * A.diagonal, 0.0)
    x, force, masked, count = np.zeros(problem.n), np.zeros(problem.n), Masked(A), 0
    for _ in range(updates if multipliers else 1):
        pulled = bound & (rho * (low - x) + force > 0.0)
        for _ in range(50):
            spring = np.where(pulled, rho, 0.0)
            inverse = CG(CYCLE).setup(masked.update(None, spring))
            inverse.solve(b + spring * low + np.where(pulled, force, 0.0), x, rtol=1e-10, maxiter=200)
            count += 1
            now = bound & (rho * (low - x) + force > 0.0)
            if np.array_equal(now, pulled):
                break
            pulled = now
        before, force = force, np.where(pulled, rho * (low - x) + force, 0.0)
        if np.abs(force - before).max(initial=0.0) <= 1e-8 * np.abs(b).max():
            break
    return x, count


def springs(sizes):
    """KKT that is left, and linear solves, for springs of 1 to 1e12 diagonals; without and with multipliers."""
    for n in sizes:
        for strength in (1.0, 1e2, 1e4, 1e8, 1e12):
            for label, multipliers in (("penalty", False), ("augmented Lagrangian", True)):
                problem = cases.build("sphere3d", n).problem
                x, count = augmented(problem, strength, multipliers)
                case = f"springs of {strength:g} diagonals"
                yield {"case": case, "n": n, "method": label, "kkt": problem.kkt(x), "outer_iterations": count}


def random(sizes):
    """A = G Gᵀ + I/10 with G of half the rank, bounds on some rows: how often plain methods fail."""
    rng = np.random.default_rng(0)
    repeated = failed = slowest = 0
    count = 1000
    plain = MinMapNewton(Direct(), safeguarded=False, maxiter=100)
    for _ in range(count):
        n = int(rng.integers(3, 25))
        G = rng.normal(size=(n, max(n // 2, 1)))
        A, b = G @ G.T + 0.1 * np.eye(n), rng.normal(size=n)
        lower = np.where(rng.random(n) < 0.7, 0.0, -np.inf)
        upper = np.where(rng.random(n) < 0.3, 1.0, np.inf)
        policy = nonstick.solve(A, b, lower, upper, method=PolicyIteration(Direct()), rtol=1e-8, criterion="papers")
        repeated += "finished_by" in policy.notes
        failed += not nonstick.solve(A, b, lower, upper, method=plain, rtol=1e-8, criterion="papers").converged
        ours = nonstick.solve(A, b, lower, upper, method=MinMapNewton(Direct()), rtol=1e-8, criterion="papers")
        assert policy.converged and ours.converged
        slowest = max(slowest, ours.outer_iterations)
    yield {"case": f"{count} random", "n": 24, "method": "policy iteration: a policy repeated", "failed": repeated}
    yield {"case": f"{count} random", "n": 24, "method": "Newton without safeguard: not converged", "failed": failed}
    yield {"case": f"{count} random", "n": 24, "method": "newton: most steps", "outer_iterations": slowest}


def price(sizes):
    """Processor time of 3 full and 4 V-cycles without set-up, over that of the same cycles without projection."""
    methods = ("fmg+cm+no-lcp", "fmg+cm", "fmg+cm+literal")
    for scene, n in [(scene, n) for scene in ("rotated-box", "dam-break-sphere") for n in sizes]:
        step = first_of(scene, n, 9, **{"walls.pressure": "cut"})
        took, setups = dict.fromkeys(methods, np.inf), []
        for method in 12 * methods:  # in turns, and the shortest counts: other work can only slow a solve down
            problem, began = step.build(), time.process_time()
            s = solved(problem, method, rtol=1e-14)
            seconds = time.process_time() - began
            took[method] = min(took[method], seconds)
            setups.append(seconds * s.setup_seconds / s.seconds)
        setup = float(np.median(setups))  # the same for all three
        for method, seconds in took.items():
            slower = round(100 * ((seconds - setup) / (took["fmg+cm+no-lcp"] - setup) - 1), 1)
            yield {"case": scene, "n": n, "method": method, "slower_percent": slower}


def accuracy(sizes):
    """KKT that Newton's method leaves in frame 20 of `andersen-2`, with the paper's settings and with ours."""
    for n in sizes:
        step = first_of("andersen-2", n, 20)
        for method in ("newton", "newton+paper"):
            s = solved(step.build(), method)
            count = {"iterations": s.iterations, "outer_iterations": s.outer_iterations}
            yield {"case": "andersen-2", "n": n, "method": method, "kkt": s.kkt(), **count}


def stops(sizes):
    """`ipm-pd` in five frames of the double dam break, with three and two CG iterations a step, to 1e-6 and 1e-3.

    And as printed: two CG iterations, until the Newton step of x, s and z is below a number, in Pa. s and z exist on
    constrained rows only, so with more constraints the same number asks for more.
    """
    for case, walls, n in [(*pair, n) for pair in (("non-splashy", "cut"), ("splashy", "all")) for n in sizes]:
        steps = sampled(snapshots("double-dam-break", n, 40, **{"walls.pressure": walls, "time.cfl": 3.0}), 40, 5)
        for inner, rtol in ((3, 1e-6), (2, 1e-6), (3, 1e-3), (2, 1e-3)):
            method = replace(registry.get("ipm-pd"), inner_maxiter=inner)
            yield {"case": case, "n": n, "method": f"{inner} CG iterations, {rtol:g}", **_means(steps, method, rtol)}
        for norm in (1e2, 1.0):
            method = replace(registry.get("ipm-pd+literal+stop"), step_norm=norm)
            yield {"case": case, "n": n, "method": f"as printed, steps below {norm:g}", **_means(steps, method, 1e-6)}


def _means(steps, method, rtol):
    """Iterations in the mean, and the largest residual."""
    found = [solved(step.build(), method, rtol=rtol) for step in steps]
    keys = ("iterations", "outer_iterations")
    count = {key: float(np.mean([getattr(s, key) for s in found])) for key in keys}
    return {"kkt": max(s.kkt() for s in found), **count}


CHOICE = {
    "cycles": cycles, "repairs": repairs, "volumes": volumes, "ties": ties, "units": units, "warm": warm,
    "coarse": coarse, "jacobi": jacobi, "walls": walls, "walls3d": walls3d, "springs": springs,
    "random": random, "price": price, "accuracy": accuracy, "stops": stops, "interior": interior,
}  # fmt: skip
STUDIES = tuple(CHOICE)


def main(out="benchmarks/results", sizes=(32, 64), studies=STUDIES):
    heads = ("kkt", "error", "iterations", "outer_iterations", "failed", "converged", "slower_percent", "seconds")
    return run_studies(out, "as_printed", {name: CHOICE[name] for name in studies}, sizes, heads)


if __name__ == "__main__":
    main(**options(__doc__, sizes=(32, 64), studies=STUDIES))
