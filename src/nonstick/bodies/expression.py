"""Formulas in scene files, `"0.2 * sin(2*pi*t)"`: arithmetic only, with exact derivatives.

A formula is parsed into Python's syntax tree and only numbers, its variables, pi, e, + - * / ** and the functions below
are allowed; nothing is ever executed. Values are computed together with their derivatives by all variables (dual
numbers), so that the velocity of a prescribed motion is the exact derivative of its position, and the gradient of a
velocity field that of its formula. Variables are numbers, or arrays for a field.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import NonstickError

#: a value and its derivative by each variable; numbers or arrays
Dual = tuple[Any, tuple[Any, ...]]
_NAMES: dict[str, float] = {"pi": math.pi, "e": math.e}


class _Numbers:
    """Functions of numbers. A function without a value raises an error."""

    sin, cos, tan, exp, log, sqrt, tanh, power = (
        math.sin, math.cos, math.tan, math.exp, math.log, math.sqrt, math.tanh, math.pow,
    )  # fmt: skip

    @staticmethod
    def where(condition, yes, no):
        return yes if condition else no


class _Arrays:
    """The same functions of arrays. A function without a value gives NaN."""

    sin, cos, tan, exp, log, sqrt, tanh, power, where = (
        np.sin, np.cos, np.tan, np.exp, np.log, np.sqrt, np.tanh, np.power, np.where,
    )  # fmt: skip


def _smooth(m, x) -> tuple[Any, Any]:
    """0 before 0, 1 after 1, smooth in between; its derivative."""
    x = m.where(x > 0.0, x, 0.0)
    x = m.where(x < 1.0, x, 1.0)
    return x * x * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x)


def _sqrt(m, x) -> tuple[Any, Any]:
    root = m.sqrt(x)
    return root, m.where(x > 0, 0.5 / m.where(x > 0, root, 1.0), 0.0)


#: functions of one argument: value and derivative, with the functions of numbers or of arrays
_ONE = {
    "sin": lambda m, x: (m.sin(x), m.cos(x)),
    "cos": lambda m, x: (m.cos(x), -m.sin(x)),
    "tan": lambda m, x: (m.tan(x), 1.0 + m.tan(x) ** 2),
    "exp": lambda m, x: (m.exp(x), m.exp(x)),
    "log": lambda m, x: (m.log(x), 1.0 / x),
    "sqrt": _sqrt,
    "abs": lambda m, x: (abs(x), m.where(x > 0, 1.0, m.where(x < 0, -1.0, 0.0))),
    "tanh": lambda m, x: (m.tanh(x), 1.0 - m.tanh(x) ** 2),
    "smooth": _smooth,
}
_MANY = ("min", "max")
#: limits the cost of powers and nested formulas, which could otherwise block the program
_LONGEST, _DEEPEST = 500, 40


@dataclass(frozen=True)
class Expression:
    """A checked formula of t, or of other variables.

    Examples
    --------
    >>> from nonstick.bodies import Expression
    >>> Expression("3*t**2")(2.0)
    (12.0, 12.0)
    >>> import numpy as np
    >>> value, (by_x, by_y) = Expression("x*y", ("x", "y")).field(np.array([2.0, 3.0]), 5.0)
    >>> value.tolist(), by_x.tolist(), by_y.tolist()
    ([10.0, 15.0], [5.0, 5.0], [2.0, 3.0])
    """

    text: str
    variables: tuple[str, ...] = ("t",)

    def __post_init__(self):
        if len(self.text) > _LONGEST:
            raise NonstickError(f"the formula {self.text[:30]!r}... is longer than {_LONGEST} characters; shorten it")
        try:
            tree = ast.parse(self.text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise NonstickError(
                f"the formula {self.text!r} is not valid arithmetic; write for example "
                f"'0.2*sin(2*pi*{self.variables[0]})'"
            ) from None
        _check(tree.body, self, 0)
        object.__setattr__(self, "_tree", tree.body)

    def __call__(self, t: float) -> tuple[float, float]:
        """Value and derivative at time t, for a formula of one variable."""
        try:
            value, (slope,) = _evaluate(self._tree, _Numbers, self._inputs((float(t),)))  # type: ignore[attr-defined]
        except (ValueError, ZeroDivisionError, OverflowError):
            raise NonstickError(
                f"the formula {self.text!r} has no value at t = {t:.6g} s; it must have a value at all times"
            ) from None
        if not (math.isfinite(value) and math.isfinite(slope)):
            raise NonstickError(
                f"the formula {self.text!r} has no finite value at t = {t:.6g} s; it must be finite at all times"
            )
        return value, slope

    def field(self, *at: np.ndarray | float) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Values and derivatives by each variable, at arrays of points that broadcast against each other."""
        points = np.broadcast_arrays(*(np.asarray(x, float) for x in at))
        with np.errstate(all="ignore"):
            value, slopes = _evaluate(self._tree, _Arrays, self._inputs(tuple(points)))  # type: ignore[attr-defined]
        shape = points[0].shape
        value, slopes = np.broadcast_to(value, shape), tuple(np.broadcast_to(s, shape) for s in slopes)
        bad = ~np.isfinite(value)
        if bad.any():
            where = ", ".join(f"{v} = {x[bad][0]:.4g}" for v, x in zip(self.variables, points))
            raise NonstickError(
                f"the formula {self.text!r} has no finite value at {where}; it must be finite wherever there is liquid"
            )
        return value, tuple(np.where(np.isfinite(s), s, 0.0) for s in slopes)

    def _inputs(self, values: tuple[Any, ...]) -> dict[str, Dual]:
        """Every variable with its derivatives by all variables."""
        count = len(self.variables)
        return {
            name: (value, tuple(float(k == index) for k in range(count)))
            for index, (name, value) in enumerate(zip(self.variables, values))
        }


def _check(node: ast.AST, formula: Expression, depth: int) -> None:
    text, known = formula.text, ", ".join((*formula.variables, *_NAMES))
    if depth > _DEEPEST:
        raise NonstickError(f"the formula {text!r} has too many brackets inside brackets; simplify it")
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)):
        parts: list[ast.expr] = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        parts = [node.operand]
    elif isinstance(node, ast.Constant) and _is_number(node.value):
        parts = []
    elif isinstance(node, ast.Name):
        if node.id not in formula.variables and node.id not in _NAMES:
            raise NonstickError(f"the formula {text!r} has an unknown name {node.id!r}; known: {known}")
        parts = []
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        name = node.func.id
        if name not in _ONE and name not in _MANY:
            functions = ", ".join([*_ONE, *_MANY])
            raise NonstickError(f"the formula {text!r} has an unknown function {name!r}; known: {functions}")
        if len(node.args) != 1 if name in _ONE else len(node.args) < 2:
            raise NonstickError(f"the formula {text!r} gives {name} the wrong number of arguments ({len(node.args)})")
        parts = node.args
    else:
        raise NonstickError(
            f"the formula {text!r} may contain only numbers, {known}, + - * / **, brackets and functions"
        )
    for part in parts:
        _check(part, formula, depth + 1)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _evaluate(node: ast.AST, m: Any, at: dict[str, Dual]) -> Dual:
    """Value and derivatives of a part of a formula; `m` has the functions."""
    if isinstance(node, (ast.Constant, ast.Name)):
        if isinstance(node, ast.Name) and node.id in at:
            return at[node.id]
        value = float(node.value) if isinstance(node, ast.Constant) else _NAMES[node.id]  # type: ignore[arg-type]
        return value, (0.0,) * len(at)
    if isinstance(node, ast.UnaryOp):
        a, da = _evaluate(node.operand, m, at)
        return (-a, tuple(-d for d in da)) if isinstance(node.op, ast.USub) else (a, da)
    if isinstance(node, ast.Call):
        arguments = [_evaluate(part, m, at) for part in node.args]
        name = node.func.id  # type: ignore[attr-defined]
        if name in _MANY:
            return _extreme(name, arguments, m)
        a, da = arguments[0]
        value, slope = _ONE[name](m, a)
        return value, tuple(slope * d for d in da)
    assert isinstance(node, ast.BinOp)
    (a, da), (b, db) = _evaluate(node.left, m, at), _evaluate(node.right, m, at)
    pairs = list(zip(da, db))
    if isinstance(node.op, ast.Add):
        return a + b, tuple(x + y for x, y in pairs)
    if isinstance(node.op, ast.Sub):
        return a - b, tuple(x - y for x, y in pairs)
    if isinstance(node.op, ast.Mult):
        return a * b, tuple(x * b + a * y for x, y in pairs)
    if isinstance(node.op, ast.Div):
        return a / b, tuple((x * b - a * y) / (b * b) for x, y in pairs)
    value = m.power(a, b)
    return value, tuple(_power_slope(m, value, a, b, x, y) for x, y in pairs)


def _extreme(name: str, arguments: list[Dual], m: Any) -> Dual:
    """The least or largest argument with its derivatives; the first one of equals."""
    best, slopes = arguments[0]
    for value, other in arguments[1:]:
        better = value < best if name == "min" else value > best
        slopes = tuple(m.where(better, y, x) for x, y in zip(slopes, other))
        best = m.where(better, value, best)
    return best, slopes


def _power_slope(m: Any, value: Any, a: Any, b: Any, da: Any, db: Any) -> Any:
    """Derivative of a ** b; a derivative that is 0 needs no value of the other factor."""
    slope: Any = 0.0
    if np.any(da) and np.any(b):
        slope = slope + b * m.power(a, b - 1.0) * da
    if np.any(db):
        slope = slope + value * m.log(a) * db
    return slope
