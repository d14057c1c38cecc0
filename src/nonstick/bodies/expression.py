"""Formulas of time in scene files, `"0.2 * sin(2*pi*t)"`: arithmetic only, with an exact derivative.

A formula is parsed into Python's syntax tree and only numbers, t, pi, e, + - * / ** and the functions below
are allowed; nothing is ever executed. Values are computed together with their derivative by t (dual
numbers), so that the velocity of a prescribed motion is the exact derivative of its position.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass

from ..errors import NonstickError

Dual = tuple[float, float]
_NAMES: dict[str, float] = {"pi": math.pi, "e": math.e}


def _step(x: float) -> Dual:
    """0 before 0, 1 after 1, smooth in between; its derivative."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x)


#: functions of one argument: value and derivative
_ONE = {
    "sin": lambda x: (math.sin(x), math.cos(x)),
    "cos": lambda x: (math.cos(x), -math.sin(x)),
    "tan": lambda x: (math.tan(x), 1.0 + math.tan(x) ** 2),
    "exp": lambda x: (math.exp(x), math.exp(x)),
    "log": lambda x: (math.log(x), 1.0 / x),
    "sqrt": lambda x: (math.sqrt(x), 0.5 / math.sqrt(x) if x > 0 else 0.0),
    "abs": lambda x: (abs(x), math.copysign(1.0, x) if x else 0.0),
    "tanh": lambda x: (math.tanh(x), 1.0 - math.tanh(x) ** 2),
    "smooth": _step,
}
_MANY = ("min", "max")
#: limits the cost of powers and nested formulas, which could otherwise block the program
_LONGEST, _DEEPEST = 500, 40


@dataclass(frozen=True)
class Expression:
    """A checked formula of t.

    >>> Expression("3*t**2")(2.0)
    (12.0, 12.0)
    """

    text: str

    def __post_init__(self):
        if len(self.text) > _LONGEST:
            raise NonstickError(f"the formula {self.text[:30]!r}... is longer than {_LONGEST} characters; shorten it")
        try:
            tree = ast.parse(self.text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise NonstickError(
                f"the formula {self.text!r} is not valid arithmetic; write for example '0.2*sin(2*pi*t)'"
            ) from None
        _check(tree.body, self.text, 0)
        object.__setattr__(self, "_tree", tree.body)

    def __call__(self, t: float) -> Dual:
        """Value and derivative at time t."""
        try:
            value, slope = _evaluate(self._tree, float(t))  # type: ignore[attr-defined]
        except (ValueError, ZeroDivisionError, OverflowError):
            raise NonstickError(
                f"the formula {self.text!r} has no value at t = {t:.6g} s; it must have a value at all times"
            ) from None
        if not (math.isfinite(value) and math.isfinite(slope)):
            raise NonstickError(
                f"the formula {self.text!r} has no finite value at t = {t:.6g} s; it must be finite at all times"
            )
        return value, slope


def _check(node: ast.AST, text: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise NonstickError(f"the formula {text!r} has too many brackets inside brackets; simplify it")
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)):
        parts: list[ast.expr] = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        parts = [node.operand]
    elif isinstance(node, ast.Constant) and _is_number(node.value):
        parts = []
    elif isinstance(node, ast.Name):
        if node.id != "t" and node.id not in _NAMES:
            raise NonstickError(f"the formula {text!r} has an unknown name {node.id!r}; known: t, pi, e")
        parts = []
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        name = node.func.id
        if name not in _ONE and name not in _MANY:
            known = ", ".join([*_ONE, *_MANY])
            raise NonstickError(f"the formula {text!r} has an unknown function {name!r}; known: {known}")
        if len(node.args) != 1 if name in _ONE else len(node.args) < 2:
            raise NonstickError(f"the formula {text!r} gives {name} the wrong number of arguments ({len(node.args)})")
        parts = node.args
    else:
        raise NonstickError(
            f"the formula {text!r} may contain only numbers, t, pi, e, + - * / **, brackets and functions"
        )
    for part in parts:
        _check(part, text, depth + 1)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _evaluate(node: ast.AST, t: float) -> Dual:
    if isinstance(node, ast.Constant):
        return float(node.value), 0.0  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return (t, 1.0) if node.id == "t" else (_NAMES[node.id], 0.0)
    if isinstance(node, ast.UnaryOp):
        a, da = _evaluate(node.operand, t)
        return (-a, -da) if isinstance(node.op, ast.USub) else (a, da)
    if isinstance(node, ast.Call):
        arguments = [_evaluate(part, t) for part in node.args]
        name = node.func.id  # type: ignore[attr-defined]
        if name in _MANY:
            return (min if name == "min" else max)(arguments, key=lambda pair: pair[0])
        (a, da) = arguments[0]
        value, slope = _ONE[name](a)
        return value, slope * da
    assert isinstance(node, ast.BinOp)
    (a, da), (b, db) = _evaluate(node.left, t), _evaluate(node.right, t)
    if isinstance(node.op, ast.Add):
        return a + b, da + db
    if isinstance(node.op, ast.Sub):
        return a - b, da - db
    if isinstance(node.op, ast.Mult):
        return a * b, da * b + a * db
    if isinstance(node.op, ast.Div):
        return a / b, (da * b - a * db) / (b * b)
    value = math.pow(a, b)
    slope = 0.0
    if da:
        slope += b * math.pow(a, b - 1.0) * da if b else 0.0
    if db:
        slope += value * math.log(a) * db
    return value, slope
