"""Options by keyword: when a solve ends, and a sentence for a keyword that nobody knows."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from math import inf, nan
from numbers import Integral, Real
from typing import Any, Literal, ParamSpec, TypeVar

from ..errors import NonstickError, brief
from . import rounding

#: when a solve has converged: by every row and the papers' number, or by the papers' number alone
Criterion = Literal["rows", "papers"]
#: a row may be off by this many times rtol in its own units: where all rows have one scale, the KKT residual then
#: decides, and the row test costs no iteration (with 1 it costs one of eight on the half-filled sphere)
ROW_FACTOR = 10.0
#: rows are not asked for more digits than their arithmetic has
LEAST_ROW_RTOL = rounding.DIGITS


@dataclass(frozen=True)
class Stopping:
    """The tolerances and limits of a solve, as `nonstick.solve` describes them.

    Examples
    --------
    >>> from nonstick.core.options import Stopping
    >>> Stopping(rtol=1e-8, maxiter=100).row_rtol
    1e-07
    """

    rtol: float = 1e-6
    atol: float = 0.0
    maxiter: int | None = None
    time_limit: float | None = None
    criterion: Criterion = "rows"
    callback: Callable[[Any], object] | None = None

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            value = self._plain(name)
            if not 0 <= value < inf:
                raise NonstickError(f"{name} must be zero or a positive number, not {brief(getattr(self, name))}")
            object.__setattr__(self, name, value)
        if self.rtol == 0 and self.atol == 0:
            raise NonstickError(
                "rtol must be positive (or zero with a positive atol): no method reaches a residual of 0"
            )
        if self.maxiter is not None:
            if not isinstance(self.maxiter, Integral) or self.maxiter < 1:
                raise NonstickError(f"maxiter must be a positive integer or None, not {brief(self.maxiter)}")
            object.__setattr__(self, "maxiter", int(self.maxiter))
        if self.callback is not None and not callable(self.callback):
            raise NonstickError(f"callback must be a function of one argument, not {brief(self.callback)}")
        if self.time_limit is not None:
            seconds = self._plain("time_limit")
            if not seconds >= 0:
                raise NonstickError(
                    f"time_limit must be a number of seconds, zero or more, or None, not {brief(self.time_limit)}"
                )
            object.__setattr__(self, "time_limit", seconds)
        if not isinstance(self.criterion, str) or self.criterion not in ("rows", "papers"):
            raise NonstickError(f"criterion must be 'rows' or 'papers', not {brief(self.criterion)}")

    def _plain(self, name: str) -> float:
        """An option as the one kind of number that kernels know; NaN if it is none."""
        value = getattr(self, name)
        try:
            return float(value) if isinstance(value, Real) else nan
        except OverflowError:  # an integer of hundreds of digits
            return inf if value > 0 else -inf

    @property
    def row_rtol(self) -> float:
        """The row error that counts as converged."""
        return max(ROW_FACTOR * self.rtol, LEAST_ROW_RTOL)

    @property
    def limited(self) -> bool:
        """True if the caller set a limit of iterations or time."""
        return self.maxiter is not None or self.time_limit is not None


#: the names of the options
STOPPING = tuple(f.name for f in fields(Stopping))


#: words of other packages for our options
_WORDS = {
    "rtol": "tol tolerance eps ftol gtol",
    "maxiter": "maxit max_iter max_iterations itmax iterations",
    "time_limit": "timeout",
    "x0": "guess initial start",
    "method": "solver algorithm",
    "lower": "lb low",
    "upper": "ub high",
    "b": "rhs q",
    "cells": "coords coordinates",
    "diagonal": "diag",
}
_ALIASES = {word: option for option, words in _WORDS.items() for word in words.split()}

R = TypeVar("R")
P = ParamSpec("P")


def suggesting(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: an unknown keyword ends in a sentence that names the option that was probably meant.

    A function that passes on `**stopping` knows the options of `Stopping` too.
    """
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"]
    if any(p.kind is p.VAR_KEYWORD and p.name == "stopping" for p in parameters):
        known += STOPPING

    @functools.wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        for word in options:
            if word not in known:
                unknown_option(word, known, function.__qualname__.removesuffix(".__init__"))
        return function(*args, **options)

    return checked


def unknown_option(word: str, known: list[str], where: str) -> None:
    """Raise the sentence for a keyword that nobody knows."""
    alias = _ALIASES.get(word.lower(), "")
    close = [alias] if alias in known else difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    hint = f"; did you mean {close[0]!r}?" if close else f"; it knows {', '.join(known)}"
    if alias and alias not in known and where == "Solver":
        hint = f"; {alias!r} belongs to its solve"
    raise NonstickError(f"{where} has no option {brief(word)}{hint}")
