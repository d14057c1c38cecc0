"""The check of the probes of a scene: do they lie where something can be measured?"""

from __future__ import annotations

import numpy as np

from ....scenes.probes import WALLS
from ....scenes.scene import Scene
from ...findings import Findings
from ..solids import Solids
from .height import Height
from .recorder import make
from .sample import sample
from .surroundings import Surroundings


def check_probes(found: Findings, scene: Scene, solids: Solids) -> None:
    """Warnings for probes that will show nothing."""
    walls = Surroundings(solids)
    for index, probe in enumerate(make(scene)):
        key, table = f"probe.{index} ({probe.name})", probe.table
        if table.at is not None:
            points = probe.feet if isinstance(probe, Height) else probe.point
            outside = [f"({', '.join(f'{c:g}' for c in x)})" for x in points if not _inside(x, scene)]
            if outside and probe.kind != "flow":
                found.warnings.append(f"{key} lies outside the domain at {outside[0]}; move it inside")
            # the foot of a gauge may lie in a floor
            elif probe.kind in ("pressure", "velocity") and not solids.moving and _buried(points, solids):
                found.warnings.append(f"{key} lies inside a solid, where there is no liquid; move it out")
        elif table.on not in scene.model.body_names or table.on in scene.model.solid_names:
            pieces, _ = walls.patches(table.on or WALLS, probe.region)
            if not len(pieces.x) and not solids.moving:
                found.warnings.append(f"{key} finds no wall; check its shape and the solid it names")
            elif probe.kind == "force":
                size = float(np.linalg.norm(pieces.area, axis=1).sum())
                unit = "m²" if scene.dimension == 3 else "m"
                found.facts.append(f"{key} looks at {size:.4g} {unit} of wall")


def _inside(x: np.ndarray, scene: Scene) -> bool:
    return all(0.0 <= c <= s for c, s in zip(x, scene.model.domain.size))


def _buried(points: np.ndarray, solids: Solids) -> bool:
    return bool(sample(solids.phi, points, solids.grid.dx, 0.0)[0] < -0.5 * solids.grid.dx)
