"""Which liquid is under pressure: a pressure of rounding errors does not count."""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from .alone import Alone

#: share of the largest pressure up to which a pressure is an error of the solver
SHARE = 1e-6
#: share of the weight of a cell, over its face, up to which a pressure is noise of liquid in flight
LIGHT = 0.01


def least_pressure(pressure: np.ndarray, scene: Scene, gravity: np.ndarray, ranks: Alone) -> float:
    """The pressure in Pa above which a cell counts as pressed; `gravity` is the present one.

    Decisions must not depend on whether a cell holds 0 or a rounding error. In free flight all pressures are such
    errors, the largest one too: so there is a floor, far below what a layer of one cell of liquid weighs.
    """
    most = ranks.max(max(float(pressure.max(initial=0.0)), -float(pressure.min(initial=0.0))))
    return max(LIGHT * scene.model.physics.density * scene.dx * float(np.linalg.norm(gravity)), SHARE * most)
