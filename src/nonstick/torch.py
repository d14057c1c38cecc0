"""Solves with bounds in PyTorch, differentiable: `nonstick.torch.solve` and `nonstick.torch.project`.

The gradient is that of the solution, by one linear solve on the free rows with the same multigrid; nothing is unrolled.
At a tie (x on its bound, zero dual) a row counts as free. `nonstick.problem.derivative` has the formulas.

Under `torch.compile` these functions run as they are, outside of compiled graphs: how many steps a solve takes is known
only while it runs.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from .api import solve as solve_matrix
from .arrays.grid import GridProblem, all_converged, product, solve_grid
from .arrays.library import one_kind
from .arrays.pressure import project as project_by
from .core.optional import missing
from .errors import NonstickError

try:
    import torch
    from torch import Tensor
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(missing("torch", "torch"), name=error.name) from None


@torch.compiler.disable
def solve(
    A: Any,
    b: Tensor,
    lower: Any = 0.0,
    upper: Any = inf,
    *,
    rtol: float = 1e-8,
    x0: Tensor | None = None,
    active: Tensor | None = None,
    maxiter: int | None = None,
) -> Tensor:
    """x of `min ½ xᵀA x − bᵀx, lower ≤ x ≤ upper`, with gradients for A, b and the bounds.

    Parameters
    ----------
    A : (weights, diagonal), or a tensor
        A grid: weights of faces for each axis and the diagonal (`nonstick.arrays.GridProblem`), solved on the device of
        the tensors; or a square matrix, dense or sparse CSR, solved by `nonstick.solve`.
    b : Tensor
        Over the grid with any leading batch axes; or n numbers, or k × n.
    lower, upper : float or Tensor
        Bounds.
    rtol : float
        KKT residual to reach, and the tolerance of the linear solve of a gradient. Gradients of single-precision
        tensors need a larger one.
    x0, active : Tensor, optional
        A start, for example the x of an earlier solve, and its active set.
    maxiter : int, optional
        Limit of iterations: 1000 over a grid, that of `nonstick.solve` for a matrix.

    Examples
    --------
    >>> import torch, nonstick.torch
    >>> A = torch.tensor([[2.0, -1.0], [-1.0, 2.0]], dtype=torch.float64)
    >>> b = torch.tensor([1.0, -3.0], dtype=torch.float64, requires_grad=True)
    >>> x = nonstick.torch.solve(A, b)
    >>> x.sum().backward()
    >>> x.detach().numpy().round(6), b.grad.numpy().round(6)
    (array([0.5, 0. ]), array([0.5, 0. ]))
    """
    if not isinstance(b, Tensor):
        raise NonstickError(f"b must be a tensor of PyTorch, not {type(b).__name__}")
    options: dict[str, Any] = {"rtol": rtol, "x0": x0, "active": active, "maxiter": maxiter}
    if isinstance(A, Tensor):
        one_kind(A=A, b=b, lower=lower, upper=upper)
        low, high = (_full(v, b) for v in (lower, upper))
        if A.layout == torch.sparse_csr:
            pattern = A.crow_indices(), A.col_indices()
            return _Matrix.apply(A.values(), pattern, b, low, high, options)
        return _Matrix.apply(A, None, b, low, high, options)
    weights, diagonal = A
    options["maxiter"] = 1000 if maxiter is None else maxiter
    GridProblem(tuple(weights), diagonal, b, lower, upper).checked()
    return _Grid.apply(options, diagonal, b, _full(lower, b), _full(upper, b), *weights)


def project(
    phi_liquid: Tensor,
    velocity: tuple[Tensor, ...],
    *,
    dt: float,
    dx: float,
    rho: float = 1000.0,
    phi_solid: Tensor | None = None,
    weights: tuple[Tensor, ...] | None = None,
    solid_velocity: tuple[Tensor, ...] | None = None,
    walls: Any = "cut",
    rtol: float = 1e-8,
) -> tuple[tuple[Tensor, ...], Tensor]:
    """Velocity and pressure after one projection, with gradients for every tensor that goes in.

    Parameters are those of `nonstick.PressureProblem`, without masses and bodies; `walls` is "cut", "all", "none" or a
    boolean tensor. The set of liquid cells does not change with phi_liquid: its gradient is that of the distance to the
    surface in θ.

    Examples
    --------
    >>> import torch, nonstick.torch
    >>> phi = torch.full((4, 4), -1.0, dtype=torch.float64)
    >>> phi[:, -1] = 1.0
    >>> u, v = torch.zeros(5, 4, dtype=torch.float64), torch.full((4, 5), -0.1, dtype=torch.float64)
    >>> (u, v), p = nonstick.torch.project(phi, (u, v), dt=0.01, dx=0.25)
    >>> float(v[:, :-1].abs().max()) < 1e-8, float(p[0, 0]) > float(p[0, 2]) > 0
    (True, True)
    """
    step: dict[str, Any] = {"dt": dt, "dx": dx, "rho": rho, "solid_velocity": solid_velocity}
    given: dict[str, Any] = {"phi_solid": phi_solid, "weights": weights, "walls": walls, "rtol": rtol}
    return project_by(solve, phi_liquid, velocity, **given, **step)


def _full(bound: Any, b: Tensor) -> Tensor:
    return bound if isinstance(bound, Tensor) else torch.full_like(b.detach(), float(bound))


class _Grid(torch.autograd.Function):
    """A solve over a grid."""

    @staticmethod
    def forward(ctx: Any, options: dict, diagonal: Tensor, b: Tensor, lower: Tensor, upper: Tensor, *weights: Tensor):
        with torch.no_grad():
            result = solve_grid(GridProblem(weights, diagonal, b, lower, upper), **options)
            all_converged(result, options["rtol"])
        ctx.save_for_backward(diagonal, b, lower, upper, result.x, result.active, *weights)
        ctx.rtol = options["rtol"]
        return result.x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor):
        diagonal, b, lower, upper, x, active, *weights = ctx.saved_tensors
        (x_bar,) = gradients
        free = ((active == 0) & (diagonal > 0)).to(b.dtype)
        with torch.no_grad():
            # The free cells alone: clamped ones are no unknowns, so their diagonal is 0.
            on_free = GridProblem(tuple(weights), diagonal * free, x_bar * free, -inf, inf)
            adjoint = solve_grid(on_free, rtol=min(ctx.rtol, 1e-6))
            all_converged(adjoint, 100 * min(ctx.rtol, 1e-6))
        inputs = [t.detach().requires_grad_(True) for t in (diagonal, b, *weights)]
        with torch.enable_grad():
            # λᵀ(b - A x): its derivatives with λ and x fixed are those of x̄ᵀx
            left = inputs[1] - product(tuple(inputs[2:]), inputs[0], x)
            d_diagonal, d_b, *d_weights = torch.autograd.grad((adjoint.x * left).sum(), inputs)
        held = x_bar - product(tuple(weights), diagonal, adjoint.x)
        d_lower = torch.where((active < 0), held, 0 * held)
        d_upper = torch.where((active > 0), held, 0 * held)
        return None, d_diagonal, d_b, _like(d_lower, lower), _like(d_upper, upper), *d_weights


def _like(gradient: Tensor, given: Tensor) -> Tensor:
    """The gradient of a tensor that was broadcast."""
    return gradient.sum_to_size(given.shape)


class _Matrix(torch.autograd.Function):
    """A solve with a bare matrix by `nonstick.solve`, where its tensors are; b may be k × n."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, pattern: Any, b: Tensor, lower: Tensor, upper: Tensor, options: dict):
        given = {name: None if options[name] is None else _columns(options[name], b) for name in ("x0", "active")}
        given |= {"rtol": options["rtol"], "maxiter": options["maxiter"]}
        bounds = (_columns(v, b) for v in (lower, upper))
        found = solve_rows(_matrix(values, pattern, b), _columns(b, b), *bounds, **given)
        ctx.pattern, ctx.rtol = pattern, options["rtol"]
        x, active = (_rows(v, b) for v in (found.x, found.active))
        ctx.save_for_backward(values, lower, upper, x, active)
        return x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor):
        values, lower, upper, x, active = ctx.saved_tensors
        (x_bar,) = gradients
        rtol = min(ctx.rtol, 1e-6)
        # λ solves Aᵀ on the free rows: others are held at 0 by their bounds
        far = torch.where(active == 0, torch.inf, 0.0).to(x.dtype)
        transposed = _matrix(values, ctx.pattern, x).transpose(0, 1)
        columns = (_columns(v, x) for v in (x_bar, -far, far))
        adjoint = _rows(solve_rows(transposed, *columns, rtol=rtol).x, x)
        rows, points = adjoint.reshape(-1, x.shape[-1]), x.reshape(-1, x.shape[-1])
        if ctx.pattern is None:
            back, d_values = adjoint @ values, -rows.T @ points
        else:
            start, j = ctx.pattern
            i = torch.repeat_interleave(torch.arange(x.shape[-1], device=x.device), start.diff())
            back = torch.zeros_like(adjoint).index_add(-1, j, values * adjoint[..., i])
            d_values = -(rows[:, i] * points[:, j]).sum(0)
        held = x_bar - back
        d_lower, d_upper = (torch.where(at, held, 0 * held) for at in (active < 0, active > 0))
        return d_values, None, adjoint, _like(d_lower, lower), _like(d_upper, upper), None


def solve_rows(A: Tensor, b: Tensor, *bounds: Tensor, **options: Any) -> Any:
    """`nonstick.solve`, or an error with one sentence."""
    found = solve_matrix(A, b, *bounds, **options)
    for k, (converged, message) in enumerate(zip(np.atleast_1d(found.converged), np.atleast_1d(found.message))):
        if not converged:
            raise NonstickError(f"row {k} of b: {message}" if b.ndim == 2 and b.shape[1] > 1 else str(message))
    return found


def _matrix(values: Tensor, pattern: Any, like: Tensor) -> Tensor:
    values, n = values.detach(), like.shape[-1]
    if pattern is None:
        return values
    starts, columns = pattern
    return torch.sparse_csr_tensor(starts, columns, values, (n, n))


def _columns(v: Tensor, like: Tensor) -> Tensor:
    """A tensor of the shape of b, one column for each problem."""
    return v.detach().expand(like.shape).reshape(-1, like.shape[-1]).T.contiguous()


def _rows(columns: Tensor, like: Tensor) -> Tensor:
    """Columns, or the only one, in the shape of b."""
    return columns.reshape(like.shape[-1], -1).T.reshape(like.shape).contiguous()


__all__ = ["project", "solve"]
