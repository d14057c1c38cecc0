"""Turns fields on a grid into a problem, and its solution back into fields.

The names below load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import on_first_use

if TYPE_CHECKING:
    from .coupling import Body, Coupling
    from .diffusion import DiffusionProblem, DiffusionSolution
    from .pressure import PressureProblem, PressureSolution
    from .stokes import StokesProblem, StokesSolution
    from .viscosity import ViscosityProblem, ViscositySolution
    from .viscosity_bodies import ViscosityWithBodies, ViscousBody

_WHERE = {
    "Body": ".coupling",
    "Coupling": ".coupling",
    "DiffusionProblem": ".diffusion",
    "DiffusionSolution": ".diffusion",
    "PressureProblem": ".pressure",
    "PressureSolution": ".pressure",
    "StokesProblem": ".stokes",
    "StokesSolution": ".stokes",
    "ViscosityProblem": ".viscosity",
    "ViscositySolution": ".viscosity",
    "ViscosityWithBodies": ".viscosity_bodies",
    "ViscousBody": ".viscosity_bodies",
}
__all__ = [
    "Body",
    "Coupling",
    "DiffusionProblem",
    "DiffusionSolution",
    "PressureProblem",
    "PressureSolution",
    "StokesProblem",
    "StokesSolution",
    "ViscosityProblem",
    "ViscositySolution",
    "ViscosityWithBodies",
    "ViscousBody",
]

__getattr__ = on_first_use(__name__, _WHERE)
