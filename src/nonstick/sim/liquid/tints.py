"""The colours of the liquids of a scene: given, or by their viscosity."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...render.plane import on_cells
from ...scenes.camera import rgb
from ...scenes.scene import Scene
from ...scenes.schema import Ramp

#: (least viscosity in Pa s, colour) of liquids without a colour of their own
BY_VISCOSITY = (
    (0.0, (0.05, 0.33, 0.56)),
    (0.03, (0.72, 0.58, 0.13)),
    (1.0, (0.93, 0.58, 0.08)),
    (1e4, (0.17, 0.12, 0.10)),
)
#: the same in 2D, where liquid is drawn flat; None is the blue of the palette
FLAT_WATER = (0.16, 0.47, 0.78)


class Tints:
    """One colour for each liquid and inflow of a scene, and from these the colours over cells."""

    def __init__(self, scene: Scene):
        self.scene = scene
        model = scene.model
        every = model.camera.tint
        self.colours = np.array([every or self._of(source) for source in model.sources] or [every or self._of(None)])
        #: colour of the first liquid
        self.main = self.colours[0]
        self.several = bool((self.colours != self.main).any())

    def _of(self, source) -> tuple[float, ...]:
        """The colour of a liquid or inflow."""
        if source is not None and source.colour is not None:
            return rgb(source.colour)
        mu = self.scene.model.physics.viscosity if source is None or source.viscosity is None else source.viscosity
        value = max(mu.values) if isinstance(mu, Ramp) else mu
        found = [colour for least, colour in BY_VISCOSITY if value >= least][-1]
        return FLAT_WATER if self.scene.dimension == 2 and found == BY_VISCOSITY[0][1] else found

    def over_cells(self, frame: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Colours (..., 3) over cells where liquids of several colours mix; None if there is one colour."""
        sources, ids = frame.get("sources"), frame.get("id")
        if not self.several or sources is None or ids is None or not len(sources) or not len(ids):
            return None
        at = np.searchsorted(sources[:, 0], ids, side="right") - 1
        number = np.clip(sources[np.maximum(at, 0), 1], 0, len(self.colours) - 1)
        return on_cells(self.colours[number], frame["position"], self.scene.shape, self.scene.dx)
