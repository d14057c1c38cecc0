"""The sides of the domain: their names, their settings, and the side nearest to a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...scenes.schema import WallSettings

#: two for each axis, the lower one first
NAMES = ("left", "right", "bottom", "top", "back", "front")


@dataclass(frozen=True)
class Side:
    """What liquid does at a side."""

    pressure: str
    viscous: str
    separation: float
    adhesion: float


def sides_of(walls: WallSettings, dimension: int) -> list[Side]:
    """The sides of a domain, in the order of `NAMES`: their own settings, or those of all walls.

    Examples
    --------
    >>> walls = WallSettings(viscous="slip", bottom={"viscous": "no-slip"})
    >>> [side.viscous for side in sides_of(walls, 2)]
    ['slip', 'slip', 'no-slip', 'slip']
    """
    out = []
    for name in NAMES[: 2 * dimension]:
        own, chosen = getattr(walls, name), {}
        for key in ("pressure", "viscous", "separation", "adhesion"):
            value = None if own is None else getattr(own, key)
            chosen[key] = getattr(walls, key) if value is None else value
        out.append(Side(**chosen))
    return out


def nearest_side(points: Sequence[np.ndarray], size: Sequence[float], shape: tuple[int, ...], named: bool):
    """Distance of points to the nearest side, and the side as a negative number: -1 is the first of `NAMES`.

    Without `named` all sides have the number -1.
    """
    best: Any = np.full(shape, np.inf)
    which = np.full(shape, -1, np.int16)
    for axis, (x, length) in enumerate(zip(points, size)):
        for end, here in enumerate((x, length - x)):
            if named:
                which[np.broadcast_to(here, shape) < best] = -1 - (2 * axis + end)
            np.minimum(best, here, out=best)
    return best, which


def by_number(solids: Sequence[Any], sides: Sequence[Any]) -> list[Any]:
    """Values of solids and sides in one list: index 0, 1, ... are solids, -1, -2, ... are sides."""
    return [*solids, *reversed(sides)]
