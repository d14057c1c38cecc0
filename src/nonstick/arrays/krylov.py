"""Krylov methods whose numbers stay on the device: the sub-solvers of minimum-map Newton.

They solve `a⊗A(a⊗v) + f⊗v = rhs` (Andersen eq. 39) on the enforced rows a, from zero, until max|residual| <= goal.
Steps after that change nothing, so a device is asked once in ten steps. A division by zero gives zero.
"""

from __future__ import annotations

from collections.abc import Callable

from .library import Array, namespace, to_numpy
from .problem import SETTINGS
from .stencil import Stencil

Map = Callable[[Array], Array]
#: a solver: (product, preconditioner, right-hand side, goal, most steps, steps between questions) -> (v, steps)
Krylov = Callable[[Map, Map, Array, float, int, int], tuple[Array, int]]


def _dot(x: Array, y: Array) -> Array:
    return namespace(x).sum(x * y)


def _ratio(a: Array, b: Array) -> Array:
    xp = namespace(a)
    return xp.where(b != 0, a / xp.where(b != 0, b, xp.ones_like(b)), xp.zeros_like(a))


def _peak(x: Array) -> Array:
    xp = namespace(x)
    return xp.max(xp.abs(x))


def _steps(state: tuple, step: Callable, goal: float, most: int, every: int) -> tuple[Array, int]:
    """Repeat `step` on states (v, r, ..., steps so far); states at their goal stay. Returns v and the steps taken."""
    xp = namespace(state[0])
    while True:
        left, done = (float(n) for n in to_numpy(xp.stack([_peak(state[1]), state[-1]])))
        if not left > goal or done >= most:
            return state[0], int(done)
        for _ in range(min(every, max(1, int(most - done)))):
            live = _peak(state[1]) > goal
            new = step(*state[:-1])
            state = (*(xp.where(live, n, o) for n, o in zip(new, state)), state[-1] + xp.astype(live, state[-1].dtype))


def on_rows(solve: Krylov, A: Map, M: Map, most: Callable[[], int], every: int) -> Callable:
    """The sub-solver of `minimum_map_newton`: (rows a, right-hand side, goal) -> (v, steps); M is masked by eq. 42."""

    def subsolve(a: Array, rhs: Array, goal: float) -> tuple[Array, int]:
        xp = namespace(rhs)

        def masked(function: Map) -> Map:
            return lambda v: xp.where(a, function(xp.where(a, v, 0 * v)), v)

        return solve(masked(A), masked(M), rhs, goal, most(), every)

    return subsolve


def _none(rhs: Array) -> Array:
    return 0.0 * namespace(rhs).sum(rhs)


def conjugate_gradients(A: Map, M: Map, rhs: Array, goal: float, most: int, every: int) -> tuple[Array, int]:
    """Preconditioned CG."""

    def step(v: Array, r: Array, p: Array, rho: Array) -> tuple:
        z = M(r)
        new = _dot(r, z)
        p = z + _ratio(new, rho) * p
        q = A(p)
        alpha = _ratio(new, _dot(p, q))
        return v + alpha * p, r - alpha * q, p, new

    zero = 0.0 * rhs
    return _steps((zero, rhs, zero, _none(rhs), _none(rhs)), step, goal, most, every)


def conjugate_residuals(A: Map, M: Map, rhs: Array, goal: float, most: int, every: int) -> tuple[Array, int]:
    """Preconditioned conjugate residuals: the smallest residual in the norm of M."""

    def step(v: Array, r: Array, z: Array, p: Array, q: Array, rho: Array) -> tuple:
        Az = A(z)
        new = _dot(z, Az)
        beta = _ratio(new, rho)
        p, q = z + beta * p, Az + beta * q
        Mq = M(q)
        alpha = _ratio(new, _dot(q, Mq))
        return v + alpha * p, r - alpha * q, z - alpha * Mq, p, q, new

    zero = 0.0 * rhs
    return _steps((zero, rhs, M(rhs), zero, zero, _none(rhs), _none(rhs)), step, goal, most, every)


def bicgstab(A: Map, M: Map, rhs: Array, goal: float, most: int, every: int) -> tuple[Array, int]:
    """BiCGStab, for matrices that are not symmetric too."""
    shadow = rhs

    def step(v: Array, r: Array, p: Array, q: Array, rho: Array, alpha: Array, omega: Array) -> tuple:
        new = _dot(shadow, r)
        beta = _ratio(new, rho) * _ratio(alpha, omega)
        p = r + beta * (p - omega * q)
        y = M(p)
        q = A(y)
        alpha = _ratio(new, _dot(shadow, q))
        s = r - alpha * q
        z = M(s)
        t = A(z)
        omega = _ratio(_dot(t, s), _dot(t, t))
        return v + alpha * y + omega * z, s - omega * t, p, q, new, alpha, omega

    zero, none = 0.0 * rhs, _none(rhs)
    return _steps((zero, rhs, zero, zero, none, none, none, none), step, goal, most, every)


def gmres(A: Map, M: Map, rhs: Array, goal: float, most: int, every: int) -> tuple[Array, int]:
    """GMRES with the preconditioner on the right, begun again after `restart` steps.

    A vector is orthogonal to all before it by two matrix products, and the small least squares are solved by normal
    equations of A M Q, on the device too.
    """
    xp, v, count = namespace(rhs), 0.0 * rhs, 0
    r = rhs
    while True:
        size = float(_peak(r))
        if not size > goal or count >= most:
            return v, count
        Q: list[Array] = []
        images: list[Array] = []
        q = r
        for _ in range(min(SETTINGS.restart, most - count)):
            for before in Q + Q:
                q = q - _dot(before, q) * before
            length = xp.sqrt(_dot(q, q))
            q = q * _ratio(xp.ones_like(length), length)
            Q.append(q)
            q = A(M(q))
            images.append(q)
        count += len(Q)
        v = v + M(_combined(Q, _least_squares(images, r)))
        r = rhs - A(v)


def _least_squares(images: list[Array], r: Array) -> list[Array]:
    """Coefficients c that make r - sum c_k images_k smallest, by orthogonalising the images."""
    xp = namespace(r)
    made: list[Array] = []
    rows: list[list[Array]] = []
    left, target = r, []
    for image in images:
        own: list[Array] = []
        for before in made:
            part = _dot(before, image)
            image = image - part * before
            own.append(part)
        length = xp.sqrt(_dot(image, image))
        image = image * _ratio(xp.ones_like(length), length)
        made.append(image)
        rows.append([*own, length])
        part = _dot(image, left)
        left = left - part * image
        target.append(part)
    out: list[Array] = [xp.zeros_like(target[0])] * len(images)
    for k in reversed(range(len(images))):
        total = target[k]
        for later in range(k + 1, len(images)):
            total = total - rows[later][k] * out[later]
        out[k] = _ratio(total, rows[k][k])
    return out


def _combined(vectors: list[Array], factors: list[Array]) -> Array:
    total = 0.0 * vectors[0]
    for vector, factor in zip(vectors, factors):
        total = total + factor * vector
    return total


SOLVERS: dict[str, Krylov] = {
    "cg": conjugate_gradients,
    "cr": conjugate_residuals,
    "bicgstab": bicgstab,
    "gmres": gmres,
}


# -- preconditioners that are array operations ------------------------------------------------------------------


def jacobi(A: Stencil) -> Map:
    """The inverse diagonal."""
    xp = namespace(A.diagonal)
    inverse = _ratio(xp.ones_like(A.diagonal), A.diagonal)
    return lambda r: inverse * r


def chebyshev(A: Stencil, degree: int = 4) -> Map:
    """A polynomial of the diagonally scaled operator, for eigenvalues from 1/10 of a bound of the largest on."""
    inverse = jacobi(A)
    xp = namespace(A.diagonal)
    largest = xp.max(inverse(A.diagonal + A.sums()))
    middle, half = 0.55 * largest, 0.45 * largest

    def apply(r: Array) -> Array:
        sigma = middle / half
        rho = 1.0 / sigma
        d = inverse(r) / middle
        v, left = d, r
        for _ in range(degree - 1):
            left = left - A @ d
            new = 1.0 / (2.0 * sigma - rho)
            d = rho * new * d + 2.0 * new / half * inverse(left)
            v, rho = v + d, new
        return v

    return apply


def ainv(A: Stencil) -> Map:
    """Bridson's factored approximate inverse WᵀD⁻¹W in the pattern of the stencil: W = I + L/d, L the couplings to
    cells before a cell. It is the static variant; with a fixed pattern, that of the scaled operator is the same."""
    layout, xp = A.layout, namespace(A.diagonal)
    inverse = jacobi(A)(xp.ones_like(A.diagonal))
    factors, pivot = [], A.diagonal
    for axis, stride in enumerate(layout.strides):
        w = A.lower(axis)
        factor = w * layout.shifted(layout.padded(inverse), -stride)  # to the cell before
        factors.append((stride, factor, layout.padded(factor)))
        pivot = pivot - factor * w
    inverse_pivot = _ratio(xp.ones_like(pivot), xp.where(pivot > 0, pivot, A.diagonal))

    def apply(r: Array) -> Array:
        wide, y = layout.padded(r), r
        for stride, factor, _ in factors:
            y = y + factor * layout.shifted(wide, -stride)
        y = inverse_pivot * y
        wide, z = layout.padded(y), y
        for stride, _, padded in factors:
            z = z + layout.shifted(padded, stride) * layout.shifted(wide, stride)
        return z

    return apply


PRECONDITIONERS: dict[str, Callable[[Stencil], Map]] = {"jacobi": jacobi, "chebyshev": chebyshev, "ainv": ainv}
