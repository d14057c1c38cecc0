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

from .api import solve as solve_on_host
from .arrays.grid import GridProblem, all_converged, solve_grid
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
    maxiter: int = 1000,
) -> Tensor:
    """x of `min ½ xᵀA x − bᵀx, lower ≤ x ≤ upper`, with gradients for A, b and the bounds.

    Parameters
    ----------
    A : (weights, diagonal), or a tensor
        A grid: weights of faces for each axis and the diagonal (`nonstick.arrays.GridProblem`), solved on the device of
        the tensors; or a square matrix, dense or sparse CSR, solved by `nonstick.solve` on the host.
    b : Tensor
        Over the grid with any leading batch axes; or n numbers, or k × n.
    lower, upper : float or Tensor
        Bounds.
    rtol : float
        KKT residual to reach, and the tolerance of the linear solve of a gradient. Gradients of single-precision
        tensors need a larger one.
    x0, active : Tensor, optional
        A start, for example the x of an earlier solve, and its active set.
    maxiter : int
        Limit of iterations.

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
    options = {"rtol": rtol, "x0": x0, "active": active, "maxiter": maxiter}
    if isinstance(A, Tensor):
        one_kind(A=A, b=b, lower=lower, upper=upper)
        low, high = (_full(v, b) for v in (lower, upper))
        if A.layout == torch.sparse_csr:
            pattern = A.crow_indices(), A.col_indices()
            return _Matrix.apply(A.values(), pattern, b, low, high, options)
        return _Matrix.apply(A, None, b, low, high, options)
    weights, diagonal = A
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


def product(weights: tuple[Tensor, ...], diagonal: Tensor, x: Tensor) -> Tensor:
    """A x over a grid."""
    out = diagonal * x
    for a, w in enumerate(weights):
        axis, n = a - len(weights), x.shape[a - len(weights)]
        low, high = x.narrow(axis, 0, n - 1), x.narrow(axis, 1, n - 1)
        inner = w.narrow(axis, 0, n - 1)
        shape = list(out.shape)
        shape[axis] = 1
        edge = out.new_zeros(shape)
        out = out - torch.cat([inner * high, edge], axis) - torch.cat([edge, inner * low], axis)
    return out


class _Matrix(torch.autograd.Function):
    """A solve with a bare matrix, by the compiled methods on the host; b may be k × n."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, pattern: Any, b: Tensor, lower: Tensor, upper: Tensor, options: dict):
        A = _host_matrix(values, pattern, b.shape[-1])
        rows = b.detach().reshape(-1, b.shape[-1]).cpu().numpy()
        low, high = (np.broadcast_to(v.detach().cpu().numpy(), b.shape).reshape(rows.shape) for v in (lower, upper))
        starts = [None if v is None else v.detach().cpu().numpy().reshape(rows.shape) for v in _starts(options)]
        solutions = []
        for k, row in enumerate(rows):
            x0, active = (None if v is None else v[k] for v in starts)
            found = solve_on_host(A, row, low[k], high[k], x0=x0, active=active, rtol=options["rtol"])
            if not found.converged:
                raise NonstickError(f"row {k} of b: {found.message}" if len(rows) > 1 else found.message)
            solutions.append(found)
        ctx.solutions, ctx.pattern, ctx.rtol = solutions, pattern, options["rtol"]
        ctx.save_for_backward(values, lower, upper)
        return torch.as_tensor(np.stack([s.x for s in solutions]).reshape(b.shape), dtype=b.dtype, device=b.device)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor):
        values, lower, upper = ctx.saved_tensors
        (x_bar,) = gradients
        given = x_bar.detach().reshape(-1, x_bar.shape[-1]).cpu().numpy().astype(float)
        found = [s.vjp(row, rtol=min(ctx.rtol, 1e-6)) for s, row in zip(ctx.solutions, given)]
        n = x_bar.shape[-1]
        if ctx.pattern is None:
            i, j = (k.reshape(-1) for k in np.indices((n, n)))
        else:
            start, column = (t.cpu().numpy() for t in ctx.pattern)
            i, j = np.repeat(np.arange(n), np.diff(start)), column
        d_values = sum(g.entries(i, j) for g in found)
        back = lambda v, like: torch.as_tensor(np.asarray(v).reshape(like.shape), dtype=like.dtype, device=like.device)  # noqa: E731
        b, low, high = (back(np.stack([getattr(g, k) for g in found]), x_bar) for k in ("b", "lower", "upper"))
        return back(d_values, values), None, b, _like(low, lower), _like(high, upper), None


def _starts(options: dict) -> tuple[Any, Any]:
    return options["x0"], options["active"]


def _host_matrix(values: Tensor, pattern: Any, n: int) -> Any:
    import scipy.sparse as sp

    if pattern is None:
        return values.detach().cpu().numpy()
    start, column = (t.cpu().numpy() for t in pattern)
    return sp.csr_array((values.detach().cpu().numpy().astype(float), column, start), shape=(n, n))


__all__ = ["project", "solve"]
