"""The methods a scene names, looked at before anything runs."""

from __future__ import annotations

from ... import registry
from ...errors import NonstickError
from ...scenes.scene import Scene


def check_methods(scene: Scene) -> None:
    """Refuse names that do not exist or belong to another system: the first step, or honey, would come too late."""
    solver = scene.model.solver
    check_scalar(solver.method, scene.where)
    if not _known(solver.viscosity, scene.where, "solver.viscosity").viscous:
        raise NonstickError(
            f"{scene.where}: solver.viscosity is {solver.viscosity!r}, which does not solve for viscosity; take "
            "'visc-auto' or another visc-… method"
        )


def _known(name: str, where: str, key: str):
    try:
        return registry.get(name)
    except NonstickError as error:
        raise NonstickError(f"{where}: {key}: {error}") from None


def check_scalar(method: str, where: str) -> None:
    """The same for the method that solves for pressure or temperature."""
    if _known(method, where, "solver.method").viscous:
        raise NonstickError(
            f"{where}: solver.method is {method!r}, which solves for viscosity and nothing else; take 'auto' or "
            "another method, and name viscosity methods in solver.viscosity"
        )


def check_edges(scene: Scene, mode) -> None:
    """walls = edge is no box: few methods take it (`auto` hands over to one of them). `mode` is that of `Solids`."""
    method = scene.model.solver.method
    if isinstance(mode, str) and mode == "edge" and method != "auto" and not registry.get(method).handles_edges:
        raise NonstickError(
            f"{scene.where}: walls.pressure is 'edge', which solver.method {method!r} cannot treat; take 'auto', "
            "'pgs', 'psor' or 'fmg'"
        )


def check_bodies(scene: Scene) -> None:
    """Bodies couple all cells around them: methods that work on stencils cannot treat them, nor can walls = edge."""
    if not scene.model.bodies or not scene.model.liquid:
        return
    modes = [b.pressure for b in scene.model.bodies] + [s.pressure for s in scene.model.solid]
    if "edge" in {scene.model.walls.pressure, *modes}:
        raise NonstickError(f"{scene.where}: walls.pressure = 'edge' cannot be combined with bodies; take 'cut'")
    method = scene.model.solver.method
    if not registry.get(method).handles_bodies:
        raise NonstickError(
            f"{scene.where}: solver.method {method!r} cannot treat rigid bodies; take 'auto' or another method that "
            "needs no stencil"
        )
