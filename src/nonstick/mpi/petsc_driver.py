"""Runs under the Python that has petsc4py, on one or two ranks: `petsc_driver.py problem.npz result.npz NAME`.

Debian's petsc4py needs an older NumPy than ours, so this file imports nothing from nonstick. It reads a box problem in
CSR form, solves it, and writes x, seconds and iterations; the caller recomputes the residual and does not rely on
PETSc's.

The time is that of PETSc after the matrix is assembled: creating the solver, setting up, solving. Reading, assembling,
scaling and gathering are not included; making PETSc's objects from arrays is measured apart. The problem is scaled so
that diagonal and right-hand side have size 1, because PETSc's active sets compare with absolute numbers.

Each peer stops as soon as it reaches the residual that we use for all methods. SNES and TAO test it once per outer
iteration. A linear solve is repeated with a tighter 2-norm until the largest entry is small enough, and the last solve
counts.
"""

import sys
import time

import numpy as np

#: name → kind, options. Parallel incomplete factorisation is by blocks, one per rank.
PEERS = {
    "petsc-rsls": ("snes", {"pc_type": "bjacobi", "sub_pc_type": "icc"}),
    "petsc-rsls-hypre": ("snes", {"pc_type": "hypre"}),
    "tao-gpcg": ("tao", {"pc_type": "bjacobi", "sub_pc_type": "icc"}),
    "tao-gpcg-hypre": ("tao", {"pc_type": "hypre"}),
    "petsc-cg-icc": ("ksp", {"pc_type": "bjacobi", "sub_pc_type": "icc"}),
    "petsc-cg-gamg": ("ksp", {"pc_type": "gamg"}),
    "petsc-cg-hypre": ("ksp", {"pc_type": "hypre"}),
}

#: relative accuracy of the linear solves inside SNES and TAO: the fastest of 1e-1, 1e-2, 1e-3 at 64³ on one rank
INNER_RTOL = "1e-1"


def arrays(problem):
    """A `BoxProblem` as `Peer` takes it, in CSR form."""
    M, box = problem.A.matrix(), problem.box
    matrix = {"A_data": M.data, "A_indices": M.indices, "A_indptr": M.indptr, "diagonal": problem.A.diagonal}
    return {**matrix, "b": problem.b, "lower": box.lower, "upper": box.upper}


class Peer:
    """A scaled problem on the ranks that hold it."""

    def __init__(self, PETSc, data, rtol):
        self.PETSc, self.rtol = PETSc, rtol
        comm = PETSc.COMM_WORLD
        n = data["b"].size
        share = [n * r // comm.size for r in range(comm.size + 1)]
        low, high = share[comm.rank], share[comm.rank + 1]
        indptr, d = data["A_indptr"].astype(np.int32), data["diagonal"]
        # A x = b becomes (A/s)(x s/t) = b/t
        self.s, self.t = float(np.median(d)), float(np.abs(data["b"]).max()) or 1.0
        mine = slice(indptr[low], indptr[high])
        csr = (
            indptr[low : high + 1] - indptr[low],
            data["A_indices"][mine].astype(np.int32),
            data["A_data"][mine] / self.s,
        )
        self.A = PETSc.Mat().createAIJ(((high - low, n), (high - low, n)), csr=csr, comm=comm)
        self.A.setOption(PETSc.Mat.Option.SPD, True)
        self.A.assemble()
        self.b, self.d, self.lower, self.upper = (self.A.createVecRight() for _ in range(4))
        self.b.array[:] = data["b"][low:high] / self.t
        self.d.array[:] = d[low:high] / self.s
        for vec, key in ((self.lower, "lower"), (self.upper, "upper")):
            bound = data[key][low:high] * (self.s / self.t)
            vec.array[:] = np.clip(bound, PETSc.NINFINITY, PETSc.INFINITY)
        self.has_lower, self.has_upper = np.isfinite(data["lower"][low:high]), np.isfinite(data["upper"][low:high])
        self.iterations = 0

    def kkt(self, x, g):
        """The natural residual over max|b|."""
        v = g.array_r.copy()
        d, xs = self.d.array_r, x.array_r
        np.minimum(v, np.where(self.has_lower, d * (xs - self.lower.array_r), np.inf), out=v)
        np.maximum(v, np.where(self.has_upper, d * (xs - self.upper.array_r), -np.inf), out=v)
        work = self.b.duplicate()
        work.array[:] = v
        return work.norm(self.PETSc.NormType.INFINITY)

    def gradient(self, x, g):
        self.A.mult(x, g)
        g.axpy(-1.0, self.b)

    def snes(self, options):
        PETSc = self.PETSc
        _set(PETSc, {"snes_type": "vinewtonrsls", "ksp_type": "cg", "ksp_rtol": INNER_RTOL, "snes_max_it": 500,
                     "snes_linesearch_type": "basic", **options})  # fmt: skip
        x, g = self.b.duplicate(), self.b.duplicate()
        x.set(0.0)
        x.pointwiseMax(x, self.lower)
        x.pointwiseMin(x, self.upper)
        snes = PETSc.SNES().create()
        snes.setFunction(lambda snes, x, g: self.gradient(x, g), g)
        snes.setJacobian(lambda snes, x, J, P: None, self.A)
        snes.setVariableBounds(self.lower, self.upper)

        def test(snes, it, norms):
            return 2 if self.kkt(snes.getSolution(), snes.getFunction()[0]) <= self.rtol else 0

        snes.setFromOptions()
        snes.setConvergenceTest(test)  # after the type, which sets its own test
        snes.solve(None, x)
        self.iterations, self.outer = snes.getLinearSolveIterations(), snes.getIterationNumber()
        return x

    def tao(self, options):
        PETSc = self.PETSc
        _set(PETSc, {"tao_type": "gpcg", "tao_max_it": 2000, "ksp_rtol": INNER_RTOL, **options})
        x, g = self.b.duplicate(), self.b.duplicate()
        x.set(0.0)
        tao = PETSc.TAO().create()

        def energy(tao, x, g):
            self.A.mult(x, g)
            value = 0.5 * x.dot(g) - x.dot(self.b)
            g.axpy(-1.0, self.b)
            return value

        def test(tao):
            self.gradient(tao.getSolution(), g)
            if self.kkt(tao.getSolution(), g) <= self.rtol:
                tao.setConvergedReason(PETSc.TAO.Reason.CONVERGED_USER)

        tao.setObjectiveGradient(energy, None)
        tao.setHessian(lambda tao, x, H, P: None, self.A)
        tao.setVariableBounds((self.lower, self.upper))
        tao.setFromOptions()
        tao.setConvergenceTest(test)
        tao.solve(x)
        self.iterations = self.outer = tao.getIterationNumber()
        return x

    def ksp(self, options):
        """`goal` is for the 2-norm; `main` tightens it until the largest entry is small enough."""
        PETSc = self.PETSc
        _set(PETSc, {"ksp_type": "cg", "ksp_norm_type": "unpreconditioned", "ksp_max_it": 5000, **options})
        x = self.b.duplicate()
        ksp = PETSc.KSP().create()
        ksp.setOperators(self.A)
        ksp.setFromOptions()
        ksp.setTolerances(rtol=self.goal)
        ksp.solve(self.b, x)
        self.iterations = self.outer = ksp.getIterationNumber()
        return x


def _set(PETSc, options):
    table = PETSc.Options()
    for key in list(table.getAll()):
        table.delValue(key)
    for key, value in options.items():
        table[key] = value


def _resident(key):
    """VmRSS (now) or VmHWM (at most so far) of this rank in bytes; 0 where the kernel does not tell."""
    try:
        with open("/proc/self/status", encoding="utf-8") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))
    except (OSError, StopIteration):
        return 0


def _total(PETSc, value):
    """The sum over all ranks."""
    one = PETSc.Vec().createMPI((1, None), comm=PETSc.COMM_WORLD)
    one.set(value)
    return one.sum()


def timed(PETSc, peer, kind, options):
    PETSc.COMM_WORLD.barrier()
    began, cpu = time.perf_counter(), time.process_time()
    x = getattr(peer, kind)(options)
    PETSc.COMM_WORLD.barrier()
    return x, time.perf_counter() - began, time.process_time() - cpu


def main(source, target, name, rtol=1e-6):
    import petsc4py

    petsc4py.init([])
    from petsc4py import PETSc

    kind, options = PEERS[name]
    with np.load(source) as file:
        data = dict(file)
    making = np.inf
    for _ in range(3):
        began = time.process_time()
        peer = Peer(PETSc, data, rtol)
        making = min(making, time.process_time() - began)
    best, least, runs, goal = np.inf, np.inf, 0, rtol
    before = _resident("VmRSS")
    g = peer.b.duplicate()
    while runs == 0 or (runs < 3 and best < 1.0):
        peer.goal = goal
        x, seconds, cpu = timed(PETSc, peer, kind, options)
        if kind == "ksp":
            peer.gradient(x, g)
            if g.norm(PETSc.NormType.INFINITY) > rtol and goal > 1e-13:
                goal /= 2.0
                continue
        runs += 1
        best, least = min(best, seconds), min(least, cpu)
    peak = _total(PETSc, max(_resident("VmHWM") - before, 0))  # above their parts of the problem
    least = _total(PETSc, least)
    scatter, whole = PETSc.Scatter.toZero(x)
    scatter.scatter(x, whole)
    if PETSc.COMM_WORLD.rank == 0:
        np.savez(
            target,
            x=whole.array_r * (peer.t / peer.s),
            seconds=best,
            iterations=peer.iterations,
            outer_iterations=peer.outer,
            peak_bytes=int(peak),
            cpu_seconds=least,
            making_seconds=making,
            version=".".join(map(str, PETSc.Sys.getVersion())),
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]))
