"""The simulator: simulations for every kind of scene, and one loop that writes their runs.

`simulate(scene)` makes the simulation of a scene, `check(scene)` examines it before a run; `nonstick.sim.run` writes
runs to directories and continues them. The names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .kinds import check, simulate

_WHERE = {"check": ".kinds", "simulate": ".kinds"}
__all__ = ["check", "simulate"]


def __getattr__(name: str):
    if name in _WHERE:
        return getattr(import_module(_WHERE[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
