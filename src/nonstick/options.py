"""Options by keyword: one that nobody knows ends in a sentence that names the one that was probably meant."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import TypeVar

from .errors import NonstickError, brief

#: words of other packages for our options
_ALIASES = {
    "tol": "rtol", "tolerance": "rtol", "eps": "rtol", "ftol": "rtol", "gtol": "rtol",
    "maxit": "maxiter", "max_iter": "maxiter", "max_iterations": "maxiter", "itmax": "maxiter", "iterations": "maxiter",
    "guess": "x0", "initial": "x0", "start": "x0", "solver": "method", "algorithm": "method",
    "lb": "lower", "low": "lower", "ub": "upper", "high": "upper", "rhs": "b", "q": "b",
    "timeout": "time_limit", "coords": "cells", "coordinates": "cells", "diag": "diagonal",
}  # fmt: skip

F = TypeVar("F", bound=Callable)


def suggesting(function: F) -> F:
    """Decorator: an unknown keyword ends in a sentence that names the option that was probably meant."""
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"]

    @functools.wraps(function)
    def checked(*args, **options):
        for word in options:
            if word not in known:
                unknown_option(word, known, function.__qualname__.removesuffix(".__init__"))
        return function(*args, **options)

    return checked  # type: ignore[return-value]


def unknown_option(word: str, known: list[str], where: str) -> None:
    """Raise the sentence for a keyword that nobody knows."""
    alias = _ALIASES.get(word.lower(), "")
    close = [alias] if alias in known else difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    hint = f"; did you mean {close[0]!r}?" if close else f"; it knows {', '.join(known)}"
    if alias and alias not in known and where == "Solver":
        hint = f"; {alias!r} belongs to its solve"
    raise NonstickError(f"{where} has no option {brief(word)}{hint}")
