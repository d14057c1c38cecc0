"""Turns fields on a grid into a problem, and its solution back into fields."""

from .coupling import Body, Coupling
from .diffusion import DiffusionProblem, DiffusionSolution
from .pressure import PressureProblem, PressureSolution
from .viscosity import ViscosityProblem, ViscositySolution
from .viscosity_bodies import ViscosityWithBodies, ViscousBody

__all__ = [
    "Body",
    "Coupling",
    "DiffusionProblem",
    "DiffusionSolution",
    "PressureProblem",
    "PressureSolution",
    "ViscosityProblem",
    "ViscositySolution",
    "ViscosityWithBodies",
    "ViscousBody",
]
