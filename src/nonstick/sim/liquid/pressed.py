"""Which liquid is under pressure: a pressure of rounding errors does not count."""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from .alone import Alone

#: share of the largest pressure up to which a pressure is an error of the solver
SHARE = 1e-6
#: share of the weight of a cell, over its face, up to which a pressure is noise of liquid in flight
LIGHT = 0.01
#: without gravity: a pressure that moves liquid by less than this many cells in a step is noise
STILL = 1e-6


def least_pressure(pressure: np.ndarray, scene: Scene, gravity: np.ndarray, ranks: Alone, dt: float) -> float:
    """The pressure in Pa above which a cell counts as pressed; `gravity` is the present one, dt the length of the step.

    Decisions must not depend on whether a cell holds 0 or a rounding error. In free flight all pressures are such
    errors, the largest one too: so there is a floor, far below what a layer of one cell of liquid weighs. Liquid that
    turns without gravity has only such errors in its first step, and its floor is that of a way.
    """
    most = ranks.max(max(float(pressure.max(initial=0.0)), -float(pressure.min(initial=0.0))))
    weight = LIGHT * float(np.linalg.norm(gravity))
    way = STILL * scene.dx / dt**2 if dt > 0.0 else 0.0
    return max(scene.model.physics.density * scene.dx * (weight or way), SHARE * most)
