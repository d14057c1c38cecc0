"""Names of packages that load on first use, so that a command waits only for the modules it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_first_use(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a package; `where` gives the module (such as ".scene") of every name.

    Examples
    --------
    >>> find = on_first_use("nonstick", {"NonstickError": ".errors"})
    >>> find("NonstickError").__name__
    'NonstickError'
    """

    def find(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(where[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
