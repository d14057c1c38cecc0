"""Viscosity and pressure to second order in time (`time.order = 2`): the two stages of SDIRK2.

With γ = 1 − 1/√2 and a step of length h in which forces add `push` to the velocity u₀,

    u₁ = u₀ + γ h (L u₁ − ∇p₁) + γ push
    u₂ = u₀ + (1 − γ) h (L u₁ − ∇p₁ + push/h) + γ h (L u₂ − ∇p₂) + γ push

Each stage is a Stokes step of length γ h with the same matrix, and the second ends the step. Forces belong to the
stages: a flow that forces and viscosity keep steady is steady for every h. A mode that decays with λ gets the factor

    R = (1 − (1 − 2γ) λh) / (1 + γ λh)²,    −0.21 ≤ R ≤ 1,

so kinetic energy never grows. (Alexander 1977; γ = 1 + 1/√2 is of second order too, with much larger errors.)

Where liquid lets go of a wall the step is backward Euler, one stage of length h: it is then the minimum of a convex
energy, and two stages are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ....discretise.pressure import PressureProblem
from ....discretise.stokes import StokesSolution
from ....grid.faces import FaceField

GAMMA = 1.0 - 1.0 / math.sqrt(2.0)


class Stage(NamedTuple):
    """A Stokes solve: the step without viscosity, what was found, and the mean pressure over the step."""

    problem: PressureProblem
    found: StokesSolution
    pressure: np.ndarray


def two_stages(solve: Callable[[FaceField], Stage], before: FaceField, pushed: FaceField) -> Stage | None:
    """The end of a step; None if liquid lets go of a wall.

    `solve` is a Stokes step of length γ h from a velocity. `before` and `pushed` are the velocity before and after the
    forces of the whole step.
    """
    push = pushed - before
    first = solve(before + GAMMA * push)
    if first.found.separates:
        return None
    moved = FaceField.of(first.found.velocity) - before
    second = solve(before + ((1.0 - GAMMA) / GAMMA) * moved + GAMMA * push)
    if second.found.separates:
        return None
    second.found.iterations += first.found.iterations
    return second._replace(pressure=(1.0 - GAMMA) * first.pressure + GAMMA * second.pressure)
