"""The words of `scipy.optimize` at the door: `bounds=`, `options=`, and the names of other solvers.

A caller may use either set of words. Whatever is not the same thing here is refused with a sentence that says what to
give in its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import NonstickError, brief
from .options import STOPPING, Stopping, unknown_option

#: options of scipy.optimize that have no meaning here, and what to do without them
_FOREIGN = {
    "ftol": "stops on the residual, not on the decrease of the objective: give 'gtol' (absolute) or 'rtol'",
    "xtol": "stops on the residual, not on the length of a step: give 'gtol' (absolute) or 'rtol'",
    "xatol": "stops on the residual, not on the length of a step: give 'gtol' (absolute) or 'rtol'",
    "maxfun": "counts iterations, not evaluations of the objective: give 'maxiter'",
    "maxfev": "counts iterations, not evaluations of the objective: give 'maxiter'",
}
#: options of scipy.optimize that only concern how a method works inside: they are accepted and change nothing
_INSIDE = frozenset({"disp", "iprint", "maxcor", "maxls", "eps", "finite_diff_rel_step"})


def read_bounds(bounds: Any, lower: Any, upper: Any, n: int, *, pairs: bool = True) -> tuple[Any, Any]:
    """lower and upper, from `bounds=` in any form that SciPy takes: a `Bounds`, or pairs, or `(lower, upper)`.

    A list of n pairs `(low, high)` is one for each unknown, as in `scipy.optimize.minimize`. Two numbers are the bounds
    of all unknowns, as in `linprog`, and two arrays those of each, as in `lsq_linear`. Of two pairs for two unknowns,
    `pairs` says what is meant.

    Examples
    --------
    >>> from scipy.optimize import Bounds
    >>> read_bounds(Bounds(0.0, 1.0), 0.0, float("inf"), 2)
    (array([0.]), array([1.]))
    >>> read_bounds([(0, None), (-1, 1)], 0.0, float("inf"), 2)
    ([0, -1], [None, 1])
    """
    if bounds is None:
        if any(hasattr(side, "lb") and hasattr(side, "ub") for side in (lower, upper)):
            raise NonstickError("a Bounds object holds both bounds: give it as bounds=")
        if isinstance(lower, list) and lower and all(isinstance(pair, tuple) and len(pair) == 2 for pair in lower):
            raise NonstickError("lower is a list of pairs: give them as bounds=, or two arrays as lower and upper")
        return lower, upper
    if not (_is(lower, 0.0) and _is(upper, np.inf)):
        raise NonstickError("bounds= and lower, upper are two ways to say the same: give one of them")
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        return bounds.lb, bounds.ub
    try:
        entries = list(bounds)
        shapes = [np.shape(entry) for entry in entries]
    except (TypeError, ValueError):  # no list, or one of lists of unequal lengths
        entries, shapes = [], []
    if len(entries) == n and all(shape == (2,) for shape in shapes) and (pairs or n != 2):
        return [low for low, _ in entries], [high for _, high in entries]
    if len(entries) == 2 and all(math.prod(shape) in (1, n) or len(shape) == 2 for shape in shapes):
        return entries[0], entries[1]
    raise NonstickError(
        f"bounds must be a scipy.optimize.Bounds, {n} pairs (low, high), or (lower, upper), not {brief(bounds)}"
    )


def _is(bound: Any, default: float) -> bool:
    return isinstance(bound, int | float) and bound == default


def read_options(options: Mapping[str, Any] | None, stopping: dict[str, Any]) -> Stopping:
    """The stopping rule, from the keywords and from `options=`, a dict as for `scipy.optimize.minimize`.

    `gtol` is an absolute bound on the projected gradient there, and the same here: `atol` with `rtol = 0`.

    Examples
    --------
    >>> read_options({"gtol": 1e-8, "maxiter": 50}, {}).atol
    1e-08
    """
    given = dict(options or {})
    for word in list(given):
        if word in _FOREIGN:
            raise NonstickError(f"options has {word!r}, but nonstick {_FOREIGN[word]}")
        if word in _INSIDE:
            del given[word]
    if "gtol" in given:
        given["atol"] = given.pop("gtol")
        given.setdefault("rtol", 0.0)
    if "tol" in given:
        given["rtol"] = given.pop("tol")
    for word in given:
        if word not in STOPPING:
            unknown_option(word, [*STOPPING, "gtol", "tol"], "options")
    return Stopping(**(stopping | given))


#: what other solvers are called, and what is nearest to them in purpose
_NEAREST = {
    "auto": "l-bfgs-b lbfgsb lbfgs tnc trust-constr slsqp cobyla cobyqa bfgs newton-cg trust-ncg nelder-mead powell "
    "tron gpcg blmvm bqpip bncg bntr bnls bqnls spg apgd fista gradient active-set ipopt snopt knitro vinewtonrsls "
    "vinewtonssls snesvi path lemke fischer-newton qpoases daqp nnls",
    "qp": "osqp piqp clarabel proxqp proxsuite highs highspy gurobi mosek cplex scs ecos quadprog cvxopt qpalm copt "
    "hpipm kvxopt sip jaxopt_osqp cvxpy",
    "lsq": "trf dogbox bvls lm lsmr lsqr lsq_linear least_squares",
    "mg-cg": "pyamg amg multigrid amgcl hypre boomeramg gamg ruge_stuben smoothed_aggregation cg pcg minres",
    "pi-direct": "spsolve splu superlu cholmod cholesky pardiso mumps umfpack direct lu",
    "pi-gmres": "gmres fgmres lgmres",
    "pi-bicgstab": "bicgstab bicg",
}
_OTHERS = {word: ours for ours, words in _NEAREST.items() for word in words.split()}


def nearest_method(name: str) -> str:
    """A sentence on what is nearest here to a solver of another package; empty if the name belongs to none.

    Examples
    --------
    >>> nearest_method("L-BFGS-B")
    "'L-BFGS-B' is a solver of another package; 'auto' solves the same problems here"
    """
    ours = _OTHERS.get(name.strip().lower().replace(" ", "-"))
    if ours is None:
        return ""
    what = {
        "qp": "here 'auto' solves such problems with bounds, and nonstick.qp those with linear constraints",
        "lsq": "here nonstick.lsq solves least squares with bounds, and 'auto' other problems",
    }.get(ours, f"{ours!r} solves the same problems here")
    if ours == "mg-cg":
        what = "here 'mg-cg' solves the linear system, and 'auto' the problem with bounds"
    return f"{brief(name)} is a solver of another package; {what}"
