"""Random problems whose rows differ in scale, a reference solution of each, and what its condition explains."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

EPS = 2.0**-52


@dataclass
class Scaled:
    """One problem; `cells` are there if A is a five-point matrix on a grid."""

    A: sp.csr_array
    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    cells: np.ndarray | None
    what: str


def problem(rng: np.random.Generator, most: int) -> Scaled:
    """A random problem of at most so many unknowns."""
    n = int(np.exp(rng.uniform(0.0, np.log(most))))
    kind = rng.choice(["grid", "string", "graph", "biharmonic", "gram"])
    A, cells = _matrix(rng, kind, n)
    n = A.shape[0]
    what = [str(kind)]
    penalised = np.zeros(n, bool)
    if rng.random() < 0.4:  # rows held at a value by a stiff spring
        penalised[rng.integers(0, n, max(1, n // rng.integers(5, 100)))] = True
        spring = np.where(penalised, A.diagonal() * 10.0 ** rng.uniform(2, 11), 0.0)
        A = sp.csr_array(A + sp.diags_array(spring))
        what.append("penalty")
    b = A.diagonal().copy() * rng.standard_normal(n) * rng.choice([1.0, 0.01])
    if rng.random() < 0.3:
        b = np.where(rng.random(n) < 0.1, b, 0.0)
        what.append("sparse b")
    if rng.random() < 0.2:
        b[rng.integers(n)] *= 10.0 ** rng.uniform(2, 9)
        what.append("one large b")
    if rng.random() < 0.1:
        part = rng.random(n) < 0.5
        b = np.where(part & ~penalised, b * 1e-16, b)
        what.append("noise")
    lower, upper, bounds = _bounds(rng, n)
    what.append(bounds)
    if rng.random() < 0.6:  # other units for every unknown; rows and columns of A get a factor each
        decades = rng.choice([1.0, 4.0])
        scale = 10.0 ** rng.uniform(-decades, decades, n)
        if rng.random() < 0.3:
            scale = np.where(rng.random(n) < 0.5, 1.0, 10.0**decades)
        A, b = sp.csr_array(sp.diags_array(scale) @ A @ sp.diags_array(scale)), scale * b
        lower, upper = lower / scale, upper / scale
        what.append(f"units 1e±{2 * decades:g}")
    unit = 10.0 ** rng.uniform(-8, 8)
    return Scaled(sp.csr_array(A * unit), b * unit, lower, upper, cells, " ".join(what))


def _matrix(rng, kind, n):
    cells = None
    if kind in ("grid", "biharmonic"):
        nx = max(1, int(np.sqrt(n * rng.uniform(0.3, 3.0))))
        ny = max(1, n // nx)
        number = np.arange(nx * ny).reshape(nx, ny)
        i = np.concatenate([number[:-1].ravel(), number[:, :-1].ravel()])
        j = np.concatenate([number[1:].ravel(), number[:, 1:].ravel()])
        w = 10.0 ** (rng.choice([0.0, 3.0, 6.0]) * (rng.random(i.size) - 0.5))
        A = _laplacian(nx * ny, i, j, w, rng)
        if kind == "grid":
            return A, np.stack(np.divmod(np.arange(nx * ny), ny), axis=1)
        return sp.csr_array(A @ A), None
    if kind == "string":
        i = np.arange(n - 1)
        return _laplacian(n, i, i + 1, np.ones(n - 1), rng, ends=True), np.stack(
            [np.arange(n), 0 * np.arange(n)], axis=1
        )
    if kind == "graph":
        i, j = rng.integers(0, n, (2, 3 * n))
        keep = i != j
        return _laplacian(n, i[keep], j[keep], rng.random(keep.sum()) + 0.1, rng), cells
    n = min(n, 300)
    B = sp.random_array(
        (n, n), density=min(1.0, 4.0 / n), random_state=rng, data_sampler=lambda size: rng.standard_normal(size)
    )
    return sp.csr_array(B @ B.T + sp.diags_array(10.0 ** rng.uniform(-4, 0) * np.ones(n))), cells


def _laplacian(n, i, j, w, rng, ends=False):
    off = sp.coo_array((-w, (i, j)), shape=(n, n)).tocsr()
    off = off + off.T
    d = -np.asarray(off.sum(axis=1)).ravel()
    if ends:
        d[[0, -1]] += 1.0
    else:
        d += rng.choice([0.0, 1.0], n, p=[0.9, 0.1]) + 10.0 ** rng.uniform(-4, 0)
    return sp.csr_array(off + sp.diags_array(d))


def _bounds(rng, n):
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    kind = str(rng.choice(["lower", "two-sided", "one-sided", "narrow", "none", "fixed"]))
    if kind == "lower":
        low[:] = 0.0
    elif kind == "two-sided":
        low = np.where(rng.random(n) < 0.3, -np.inf, rng.uniform(-0.5, 0.0, n))
        high = np.where(rng.random(n) < 0.3, np.inf, rng.uniform(0.1, 0.6, n))
    elif kind == "one-sided":
        side = rng.integers(0, 3, n)
        low[side == 0] = rng.uniform(-0.2, 0.2, n)[side == 0]
        high[side == 1] = rng.uniform(-0.2, 0.2, n)[side == 1]
    elif kind == "narrow":
        low = rng.uniform(-0.5, 0.5, n) * (rng.random() < 0.5)
        high = low + 10.0 ** rng.uniform(-7, 0, n)
        free = rng.random(n) < 0.5
        low[free], high[free] = -np.inf, np.inf
    elif kind == "fixed":
        low[:] = 0.0
        held = rng.random(n) < 0.2
        low[held] = high[held] = rng.uniform(0.0, 1.0, n)[held]
    return low, high, kind


class Reference:
    """The solution by block principal pivoting (Portugal, Júdice, Vicente 1994) over sparse LU, in balanced units.

    It ends for every positive definite matrix: blocks are exchanged while that reduces the number of rows that violate
    a condition, else single rows by Murty's rule.
    """

    def __init__(self, p: Scaled, x: np.ndarray):
        self.root = np.sqrt(p.A.diagonal())
        inverse = sp.diags_array(1.0 / self.root)
        self.A = sp.csc_array(inverse @ p.A @ inverse)
        self.b, self.lower, self.upper = p.b / self.root, p.lower * self.root, p.upper * self.root
        self.y = self._solve(np.clip(x * self.root, self.lower, self.upper))
        self.x = np.clip(self.y / self.root, p.lower, p.upper)

    def _solve(self, y):
        g = self.A @ y - self.b
        side = (y - self.upper > g).astype(int) - (y - self.lower < g).astype(int)
        fewest, left = np.inf, 10
        for _ in range(20_000):
            y, g, slack = self._face(side)
            low, high = (side == 0) & (y < self.lower - slack), (side == 0) & (y > self.upper + slack)
            loose = ((side < 0) & (g < -slack)) | ((side > 0) & (g > slack))
            loose &= self.lower < self.upper
            wrong = low | high | loose
            count = int(wrong.sum())
            if not count:
                return y
            if count < fewest:
                fewest, left = count, 10
            else:
                left -= 1
            if left < 0:
                only = np.flatnonzero(wrong)[-1]
                keep = np.zeros_like(wrong)
                keep[only] = True
                low, high, loose = low & keep, high & keep, loose & keep
            side = np.where(loose, 0, side)
            side = np.where(low, -1, np.where(high, 1, side))
        raise AssertionError("the reference did not end")

    def _face(self, side):
        """y and g for a given set, refined, and what rounding leaves of them."""
        y = np.where(side < 0, self.lower, np.where(side > 0, self.upper, 0.0))
        free = np.flatnonzero(side == 0)
        size = np.abs(y)
        if free.size:
            factor = splu(self.A[free][:, free])
            for _ in range(3):
                y[free] += factor.solve((self.b - self.A @ y)[free])
        size = abs(self.A) @ np.abs(y) + np.abs(self.b)
        return y, self.A @ y - self.b, 100 * EPS * size


def allowance(p: Scaled, x: np.ndarray, rtol: float) -> np.ndarray:
    """What the row test lets pass in every row, in units of b."""
    d, g = p.A.diagonal(), p.A @ x - p.b
    terms = abs(p.A) @ np.abs(x)
    floor = 8 * EPS * np.minimum(d * np.abs(x).max(), np.sqrt(d) * (np.sqrt(d) * np.abs(x)).max())
    rounding = 8 * EPS * (terms + np.abs(p.b)) + floor
    step = rtol * np.minimum(terms, d * (p.upper - p.lower)) + 8 * EPS * d * np.abs(x) + floor
    return np.where(np.abs(g) <= rounding, np.maximum(rounding, step), step)


def natural_residual(p: Scaled, x: np.ndarray) -> np.ndarray:
    d, g = p.A.diagonal(), p.A @ x - p.b
    with np.errstate(invalid="ignore"):
        return d * (x - np.clip(x - g / d, p.lower, p.upper))


def explained(p: Scaled, allowed: np.ndarray) -> np.ndarray:
    """How far x may lie from the solution if row i of the natural residual is at most allowed_i.

    For an M-matrix every inverse of a face is below A⁻¹, entry by entry, so A⁻¹ allowed is a bound. For every other
    matrix, in units in which the diagonal is 1, |y - y*| <= (1 + largest eigenvalue)/(smallest) |residual| (Pang 1986).
    """
    off = p.A - sp.diags_array(p.A.diagonal())
    root = np.sqrt(p.A.diagonal())
    if off.nnz == 0 or off.data.max() <= 0.0:  # in balanced units: a factor of A itself may give negative bounds
        inverse = sp.diags_array(1.0 / root)
        return splu(sp.csc_array(inverse @ p.A @ inverse)).solve(allowed / root) / root
    values = np.linalg.eigvalsh((p.A / root[:, None] / root[None, :]).toarray())
    bound = (1.0 + values[-1]) / max(values[0], EPS) * np.linalg.norm(allowed / root)
    return bound / root
