"""The simulator: simulations for every kind of scene, and one loop that writes their runs.

`simulate(scene)` makes the simulation of a scene, `check(scene)` examines it before a run; `nonstick.sim.run`
writes runs to directories and continues them. The names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import on_first_use

if TYPE_CHECKING:
    from .kinds import check, simulate

_WHERE = {"check": ".kinds", "simulate": ".kinds"}
__all__ = ["check", "simulate"]

__getattr__ = on_first_use(__name__, _WHERE)
