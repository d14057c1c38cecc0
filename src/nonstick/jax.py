"""Solves with bounds in JAX, differentiable in both modes: `nonstick.jax.solve` and `nonstick.jax.project`.

Over a grid they are pure JAX: they can be compiled, mapped over right-hand sides and over problems, and sharded. The
derivative is a linear solve on the free rows (`jax.lax.custom_linear_solve`), which JAX transposes for gradients;
nothing is unrolled. At a tie a row counts as free. What has not converged is NaN: a compiled function cannot raise.

JAX computes in single precision unless `jax.config.update("jax_enable_x64", True)` was called.
"""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

import numpy as np

from .api import solve as solve_on_host
from .arrays.active_set import advanced, prepared, register_trees
from .arrays.grid import GridProblem, _cut, _grown, product
from .arrays.library import one_kind
from .arrays.pressure import project as project_by
from .core.optional import missing

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(missing("jax", "jax"), name=error.name) from None

register_trees()


def solve(
    A: Any, b: Any, lower: Any = 0.0, upper: Any = inf, *, rtol: float | None = None, x0: Any = None, maxiter: int = 300
) -> jax.Array:
    """x of `min ½ xᵀA x − bᵀx, lower ≤ x ≤ upper`, with derivatives for A, b and the bounds.

    Parameters
    ----------
    A : (weights, diagonal), or a matrix
        A grid: weights of faces for each axis and the diagonal (`nonstick.arrays.GridProblem`); or a symmetric matrix,
        dense or BCOO, solved by `nonstick.solve` on the host.
    b : Array
        Over the grid; or n numbers. `jax.vmap` maps over more.
    lower, upper : float or Array
        Bounds.
    rtol : float, optional
        KKT residual to reach: 1e-8, or 1e-4 in single precision.
    x0 : Array, optional
        A start.
    maxiter : int
        Limit of iterations.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, nonstick.jax
    >>> A = jnp.array([[2.0, -1.0], [-1.0, 2.0]])
    >>> x_of = lambda b: nonstick.jax.solve(A, b)
    >>> x_of(jnp.array([1.0, -3.0])).round(4).tolist()
    [0.5, 0.0]
    >>> jax.grad(lambda b: x_of(b).sum())(jnp.array([1.0, -3.0])).round(4).tolist()
    [0.5, 0.0]
    """
    rtol = (1e-8 if b.dtype == jnp.float64 else 1e-4) if rtol is None else rtol
    low, high = (jnp.broadcast_to(jnp.asarray(v, b.dtype), b.shape) for v in (lower, upper))
    start = jnp.zeros_like(b) if x0 is None else x0
    if not isinstance(A, tuple | list):
        values, places = (A.data, A.indices) if hasattr(A, "indices") else (A, None)
        one_kind(A=values, b=b)
        return _solve_matrix(rtol, values, places, b, low, high, start)
    weights, diagonal = A
    GridProblem(tuple(weights), diagonal, b, low, high).checked()
    return _solve_grid(rtol, maxiter, x0 is not None, tuple(weights), diagonal, b, low, high, start)


def project(
    phi_liquid: Any,
    velocity: tuple[Any, ...],
    *,
    dt: float,
    dx: float,
    rho: float = 1000.0,
    phi_solid: Any = None,
    weights: tuple[Any, ...] | None = None,
    solid_velocity: tuple[Any, ...] | None = None,
    walls: Any = "cut",
    rtol: float | None = None,
) -> tuple[tuple[Any, ...], Any]:
    """Velocity and pressure after one projection, with derivatives for every array that goes in.

    As `nonstick.torch.project`.

    Examples
    --------
    >>> import jax.numpy as jnp, nonstick.jax
    >>> phi = jnp.full((4, 4), -1.0).at[:, -1].set(1.0)
    >>> u, v = jnp.zeros((5, 4)), jnp.full((4, 5), -0.1)
    >>> (u, v), p = nonstick.jax.project(phi, (u, v), dt=0.01, dx=0.25)
    >>> bool(abs(v[:, :-1]).max() < 1e-4), bool(p[0, 0] > p[0, 2] > 0)
    (True, True)
    """
    step: dict[str, Any] = {"dt": dt, "dx": dx, "rho": rho, "solid_velocity": solid_velocity}
    given: dict[str, Any] = {"phi_solid": phi_solid, "weights": weights, "walls": walls, "rtol": rtol}
    return project_by(solve, phi_liquid, velocity, **given, **step)


# -- over a grid -----------------------------------------------------------------------------------------------


@partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _solve_grid(rtol, maxiter, warm, *arrays):
    return _grid_state(rtol, maxiter, warm, *arrays)[0]


@partial(jax.jit, static_argnums=(0, 1, 2))
def _grid_state(rtol, maxiter, warm, *arrays):
    """x and the sides at which it is clamped; the arrays are weights, diagonal, b, lower, upper and x0."""
    weights, diagonal, b, lower, upper, x0 = arrays
    fields = GridProblem(weights, diagonal, b, lower, upper).fields()
    start = _grown(x0, fields.A.layout)
    M, s = prepared(fields, None, start, start, warm=warm, known=False)
    tolerance = jnp.full_like(s.kkt, rtol)
    s = advanced(fields, M, s, tolerance, maxiter)
    x = jnp.where(s.kkt <= tolerance, s.x, jnp.nan)
    return tuple(_cut(fields.A.layout, v, diagonal.shape[-len(weights) :]) for v in (x, s.side))


@_solve_grid.defjvp
def _solve_grid_jvp(rtol, maxiter, warm, primals, tangents):
    weights, diagonal, b, lower, upper, x0 = primals
    d_weights, d_diagonal, d_b, d_lower, d_upper, _ = tangents
    x, side = jax.lax.stop_gradient(_grid_state(rtol, maxiter, warm, *primals))
    free = ((side == 0) & (diagonal > 0)).astype(b.dtype)
    clamped = jnp.where(side < 0, d_lower, 0.0) + jnp.where(side > 0, d_upper, 0.0)
    right = free * (d_b - product(d_weights, d_diagonal, x) - product(weights, diagonal, clamped))

    def on_free(v):
        return free * product(weights, diagonal, free * v) + (1 - free) * v

    solution = jax.lax.custom_linear_solve(
        on_free, right, lambda _, r: free * _linear(min(rtol, 1e-6), weights, diagonal, free, free * r), symmetric=True
    )
    return x, solution + clamped


@partial(jax.jit, static_argnums=0)
def _linear(rtol, weights, diagonal, free, r):
    """A⁻¹ r on the free cells: the same loop without bounds."""
    fields = GridProblem(weights, diagonal * free, r, -jnp.inf, jnp.inf).fields()
    zero = jnp.zeros_like(fields.b)
    M, s = prepared(fields, None, zero, zero, warm=True, known=True)
    s = advanced(fields, M, s, jnp.full_like(s.kkt, rtol), 300)
    return _cut(fields.A.layout, s.x, diagonal.shape[-len(weights) :])


# -- a bare matrix, on the host ----------------------------------------------------------------------------------


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _solve_matrix(rtol, values, places, b, lower, upper, x0):
    """`places` are the rows and columns of the values of a BCOO matrix; None for a dense one."""
    return _on_host(rtol, values, places, b, lower, upper, x0)


@_solve_matrix.defjvp
def _solve_matrix_jvp(rtol, primals, tangents):
    values, places, b, lower, upper, _ = primals
    d_values, _, d_b, d_lower, d_upper, _ = tangents
    x = jax.lax.stop_gradient(_solve_matrix(rtol, *primals))
    g, d = _matrix_product(values, places, x) - b, _diagonal(values, places, b.shape[0])
    low, high = d * (x - lower) < g, d * (x - upper) > g
    free = (~(low | high)).astype(b.dtype)
    clamped = jnp.where(low, d_lower, 0.0) + jnp.where(high, d_upper, 0.0)
    right = free * (d_b - _matrix_product(d_values, places, x) - _matrix_product(values, places, clamped))

    def on_free(v):
        return free * _matrix_product(values, places, free * v) + (1 - free) * v

    def inverse(_, r):
        bound = jnp.where(free > 0, jnp.inf, 0.0)  # clamped rows stay at zero
        return _on_host(min(rtol, 1e-9), values, places, free * r, -bound, bound, jnp.zeros_like(b))

    return x, jax.lax.custom_linear_solve(on_free, right, inverse, symmetric=True) + clamped


def _matrix_product(values, places, x):
    if places is None:
        return values @ x
    row, column = places.T
    return jnp.zeros_like(x).at[row].add(values * x[column])


def _diagonal(values, places, n):
    if places is None:
        return jnp.diagonal(values)
    row, column = places.T
    return jnp.zeros(n, values.dtype).at[row].add(jnp.where(row == column, values, 0.0))


def _on_host(rtol, values, places, *vectors):
    """The solve of a bare matrix by `nonstick.solve`, from compiled code too."""
    b = vectors[0]
    shape = jax.ShapeDtypeStruct(b.shape, b.dtype)
    return jax.pure_callback(partial(_host_solve, rtol), shape, values, places, *vectors, vmap_method="sequential")


def _host_solve(rtol, values, places, b, lower, upper, x0):
    A, b, lower, upper, x0 = (np.asarray(v, float) for v in (values, b, lower, upper, x0))
    if places is not None:
        import scipy.sparse as sp

        row, column = np.asarray(places).T
        A = sp.csr_array((A, (row, column)), shape=(b.size, b.size))
    found = solve_on_host(A, b, lower, upper, x0=x0, rtol=rtol)
    return (found.x if found.converged else np.full(b.shape, np.nan)).astype(values.dtype)


__all__ = ["project", "solve"]
