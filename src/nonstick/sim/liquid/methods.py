"""Checks of the methods and the liquid of a scene, before the run."""

from __future__ import annotations

from ... import registry
from ...errors import NonstickError
from ...scenes.scene import Scene


def check_methods(scene: Scene) -> None:
    """Raise an error for methods that do not exist or solve another system. A run would fail only later."""
    solver = scene.model.solver
    check_scalar(solver.method, scene.where)
    if _kind(solver.viscosity, scene.where, "solver.viscosity") != "viscosity":
        raise NonstickError(
            f"{scene.where}: solver.viscosity is {solver.viscosity!r}, which does not solve for viscosity; take "
            "'visc-auto' or another visc-… method"
        )


def _kind(name: str, where: str, key: str) -> str:
    """The kind of a method; the error names the key of the scene."""
    try:
        known = registry.name_of(name)
    except NonstickError as error:
        raise NonstickError(f"{where}: {key}: {error}") from None
    return registry.entries()[known].kind


def check_scalar(method: str, where: str) -> None:
    """Raise an error for a method that does not solve for pressure or temperature."""
    if _kind(method, where, "solver.method") == "viscosity":
        raise NonstickError(
            f"{where}: solver.method is {method!r}, which solves only for viscosity; take 'auto' or "
            "another method, and name viscosity methods in solver.viscosity"
        )


def check_edges(scene: Scene, mode) -> None:
    """Raise an error for a method that cannot treat walls = edge; `auto` uses another one. `mode`: of `Solids`."""
    method = registry.name_of(scene.model.solver.method)
    if isinstance(mode, str) and mode == "edge" and method != "auto" and "edges" not in registry.get(method).treats:
        raise NonstickError(
            f"{scene.where}: walls.pressure is 'edge', which solver.method {method!r} cannot treat; take 'auto', "
            "'pgs', 'psor' or 'fmg'"
        )


def check_bodies(scene: Scene) -> None:
    """Raise an error for methods that cannot treat bodies, and for bodies with walls = edge."""
    if not scene.model.bodies or not scene.model.liquid:
        return
    modes = [b.pressure for b in scene.model.bodies] + [s.pressure for s in scene.model.solid]
    if "edge" in {scene.model.walls.pressure, *modes}:
        raise NonstickError(f"{scene.where}: walls.pressure = 'edge' cannot be combined with bodies; take 'cut'")
    method = scene.model.solver.method
    if registry.name_of(method) != "auto" and "bodies" not in registry.get(method).treats:
        raise NonstickError(
            f"{scene.where}: solver.method {method!r} cannot treat rigid bodies; take 'auto' or "
            "another method that does not need a stencil"
        )


def require_liquid(scene: Scene) -> None:
    """Refuse a scene without liquid, unless some flows in or bodies alone are wanted."""
    model = scene.model
    if not model.inflow and not (model.bodies and not model.liquid):
        raise NonstickError(
            f"{scene.where}: liquid holds no cell of the domain outside solids; check liquid.*.shape, or add an inflow"
        )
