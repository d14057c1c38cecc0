"""Stand-ins for the scans of the papers: a bunny, an armadillo and a dragon as smooth blends of many tapered parts.

A part is a chain of round cones: a ball that moves along a line while its radius changes. Parts melt into each other
by a smooth minimum, which leaves creases at legs and necks; ripples of the surface are folds and scales. The scans
themselves may not be shipped: `file` takes yours instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from ...errors import NonstickError
from .base import Corners, Positive, Shape, Vector
from .mesh import Mesh

#: points whose coordinates are in memory at a time
_AT_A_TIME = 1_000_000

#: x, y, z and radius of the balls of a chain
Chain = list[tuple[float, float, float, float]]
#: chains, the width over which they melt into each other, and the ripples of the surface
Parts = tuple[list[Chain], float, Callable[..., np.ndarray]]


@dataclass(frozen=True)
class Figure(Shape):
    """A bunny, an armadillo or a dragon, looking to +x; its longest side is `size`.

    In a scene `file = "bunny.ply"` puts a mesh of your own into the same box.

    Examples
    --------
    >>> from nonstick.grid import Figure
    >>> bunny = Figure("bunny", (0.5, 0.5, 0.5), 1.0)
    >>> bool(bunny(0.45, 0.3, 0.5) < 0.0 < bunny(0.95, 0.95, 0.5))
    True
    """

    kind = "figure"
    name: Literal["bunny", "armadillo", "dragon"]
    centre: Vector
    size: Positive
    dimension = 3
    _box: Corners = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.centre) != 3:
            raise NonstickError(f"a figure has three dimensions, but its centre has {len(self.centre)} coordinates")
        low, high = _extent(self.name)
        half = 0.5 * self.size / (high - low).max() * (high - low)
        object.__setattr__(self, "_box", (np.array(self.centre) - half, np.array(self.centre) + half))

    @classmethod
    def from_scene(
        cls,
        folder: Path,
        name: Literal["bunny", "armadillo", "dragon"],
        centre: Vector,
        size: Positive,
        file: str | None = None,
    ) -> Shape:
        made = cls(name, centre, size)
        return made if file is None else _fitted(Mesh.load(folder / file, repair=True), made)

    def bounds(self, dimension: int) -> Corners:
        return self._box

    def distance(self, *x):
        from ._distance import _blended_cones  # numba is loaded when a shape is sampled, not when a scene is read

        low, high = _extent(self.name)
        scale = self.size / (high - low).max()
        _, blend, ripples = _FIGURES[self.name]()
        x = np.broadcast_arrays(*x)
        out = np.empty(x[0].shape)
        flat = out.reshape(-1)
        for begin in range(0, flat.size, _AT_A_TIME):
            part = slice(begin, begin + _AT_A_TIME)
            local = np.stack([(a.flat[part] - b) / scale + c for a, b, c in zip(x, self._box[0], low)])
            _blended_cones(flat[part], local, _cones(self.name), blend)
            flat[part] += ripples(*local)
        out *= scale
        return out


def _fitted(mesh: Mesh, figure: Figure) -> Mesh:
    """A mesh with its middle and its longest side those of the figure."""
    low, high = mesh.bounds(3)
    scale = figure.size / float((high - low).max())
    vertices = (mesh.vertices - 0.5 * (low + high)) * scale + np.array(figure.centre)
    return Mesh(vertices, mesh.faces, mesh.repaired)


@cache
def _cones(name: str) -> np.ndarray:
    """The round cones of a figure as the kernel takes them."""
    rows = []
    for chain in _FIGURES[name]()[0]:
        for first, last in pairwise(np.array(chain)):
            way, change = np.split(last - first, [3])
            square = float(way @ way)
            around = [*(first[:3] + 0.5 * way), 0.5 * np.sqrt(square) + max(first[3], last[3])]
            rows.append([*first[:3], *way, 1.0 / max(square, 1e-12), first[3], *change, *around])
    return np.array(rows)


@cache
def _extent(name: str) -> Corners:
    """The box around the balls of a figure."""
    balls = np.array([ball for chain in _FIGURES[name]()[0] for ball in chain])
    return (balls[:, :3] - balls[:, 3:]).min(axis=0), (balls[:, :3] + balls[:, 3:]).max(axis=0)


def _mirrored(chains: list[Chain]) -> list[Chain]:
    """Chains of one side and their mirror images; z = 0 is the middle of the figure."""
    return chains + [[(x, y, -z, r) for x, y, z, r in chain] for chain in chains]


@cache
def _bunny() -> Parts:
    middle: list[Chain] = [
        [(0.27, 0.30, 0, 0.23), (0.42, 0.33, 0, 0.235), (0.56, 0.34, 0, 0.19), (0.66, 0.42, 0, 0.13)],
        [(0.66, 0.42, 0, 0.13), (0.70, 0.55, 0, 0.115), (0.74, 0.63, 0, 0.125), (0.85, 0.59, 0, 0.075)],
        [(0.85, 0.59, 0, 0.075), (0.90, 0.57, 0, 0.045)],
        [(0.05, 0.24, 0, 0.075), (0.10, 0.27, 0, 0.07)],
    ]
    side: list[Chain] = [
        [(0.28, 0.23, 0.13, 0.155), (0.40, 0.19, 0.17, 0.125)],
        [(0.30, 0.06, 0.17, 0.060), (0.44, 0.055, 0.19, 0.055), (0.57, 0.045, 0.19, 0.045)],
        [(0.62, 0.33, 0.09, 0.095), (0.68, 0.18, 0.10, 0.060), (0.72, 0.06, 0.10, 0.048), (0.80, 0.045, 0.10, 0.042)],
        [(0.80, 0.56, 0.055, 0.060), (0.86, 0.56, 0.035, 0.050)],
        [(0.80, 0.68, 0.075, 0.028), (0.83, 0.67, 0.075, 0.020)],
        [(0.70, 0.71, 0.055, 0.045), (0.63, 0.82, 0.085, 0.052), (0.55, 0.93, 0.115, 0.048), (0.48, 1.01, 0.13, 0.018)],
    ]

    def fur(x, y, z):
        return 0.004 * np.sin(38 * x + 9 * y) * np.sin(34 * y - 8 * z) * np.sin(36 * z + 7 * x)

    return middle + _mirrored(side), 0.05, fur


@cache
def _armadillo() -> Parts:
    middle: list[Chain] = [
        [(0.50, 0.36, 0, 0.135), (0.47, 0.48, 0, 0.165), (0.48, 0.62, 0, 0.155), (0.52, 0.72, 0, 0.10)],
        [(0.41, 0.42, 0, 0.12), (0.36, 0.55, 0, 0.15), (0.40, 0.70, 0, 0.11)],
        [(0.52, 0.72, 0, 0.10), (0.57, 0.82, 0, 0.090), (0.66, 0.83, 0, 0.062), (0.75, 0.79, 0, 0.042)],
        [(0.75, 0.79, 0, 0.042), (0.81, 0.77, 0, 0.030)],
        [(0.40, 0.32, 0, 0.095), (0.28, 0.20, 0, 0.068), (0.16, 0.12, 0, 0.045), (0.06, 0.11, 0, 0.028)],
        [(0.06, 0.11, 0, 0.028), (0.0, 0.15, 0, 0.014)],
    ]
    side: list[Chain] = [
        [(0.50, 0.34, 0.10, 0.100), (0.58, 0.20, 0.15, 0.075), (0.50, 0.07, 0.16, 0.052), (0.64, 0.045, 0.18, 0.040)],
        [(0.48, 0.66, 0.13, 0.080), (0.52, 0.63, 0.26, 0.056), (0.58, 0.75, 0.34, 0.044), (0.62, 0.85, 0.36, 0.036)],
        [(0.52, 0.89, 0.055, 0.034), (0.47, 0.97, 0.105, 0.040), (0.45, 1.04, 0.125, 0.014)],
        [(0.63, 0.875, 0.045, 0.020), (0.65, 0.87, 0.045, 0.014)],
    ]
    claws: list[Chain] = [
        [
            (0.62, 0.85, 0.36, 0.022),
            (0.66 - 0.03 * k, 0.92, 0.36 + 0.035 * k, 0.015),
            (0.68 - 0.03 * k, 0.95, 0.36 + 0.04 * k, 0.007),
        ]
        for k in (-1, 0, 1)
    ] + [
        [(0.64, 0.045, 0.18, 0.026), (0.70, 0.035, 0.18 + 0.03 * k, 0.018), (0.73, 0.025, 0.18 + 0.035 * k, 0.008)]
        for k in (-1, 0, 1)
    ]

    def scales(x, y, z):
        back = 1.0 / (1.0 + np.exp((x - 0.42) / 0.03))  # bands of the shell; fine scales elsewhere
        return back * 0.008 * np.sin(62 * (y + 0.35 * x)) + (1 - back) * 0.0025 * np.sin(90 * x) * np.sin(
            90 * y
        ) * np.sin(90 * z)

    return middle + _mirrored(side + claws), 0.032, scales


@cache
def _dragon() -> Parts:
    t = np.linspace(0.0, 1.0, 22)
    # a body in the shape of an S, from the tail (0) over two arches to the neck (1)
    x = 0.10 + 1.25 * t + 0.06 * np.sin(9 * t)
    y = 0.34 + 0.15 * np.sin(2 * np.pi * 1.35 * t - 0.9) + 0.18 * t**2
    z = 0.10 * np.sin(2 * np.pi * t + 0.4) * (1 - 0.6 * t)
    r = 0.02 + 0.135 * np.sin(np.pi * np.clip(t * 0.93 + 0.06, 0, 1)) ** 0.8
    spine: Chain = list(zip(x.tolist(), y.tolist(), z.tolist(), r.tolist()))
    hx, hy, hz, _ = spine[-1]
    chains: list[Chain] = [
        spine,
        [(hx, hy, hz, 0.07), (hx + 0.09, hy + 0.13, hz, 0.075), (hx + 0.17, hy + 0.17, hz, 0.085)],
        [(hx + 0.17, hy + 0.19, hz, 0.075), (hx + 0.30, hy + 0.17, hz, 0.048), (hx + 0.38, hy + 0.18, hz, 0.036)],
        [(hx + 0.18, hy + 0.13, hz, 0.055), (hx + 0.29, hy + 0.075, hz, 0.034), (hx + 0.35, hy + 0.06, hz, 0.020)],
        [(*spine[0][:3], 0.03), (-0.02, 0.30, 0.12, 0.024), (-0.07, 0.42, 0.10, 0.02), (0.0, 0.52, 0.04, 0.014)],
    ]
    for k in range(2, 22):  # the crest: a thin plate on every ring of the spine
        px, py, pz, pr = spine[k]
        chains.append([(px, py + 0.7 * pr, pz, 0.030), (px - 0.035, py + pr + 0.045 + 0.25 * pr, pz, 0.014)])
    for side in (-1.0, 1.0):
        for k, lean in ((6, -0.03), (15, 0.05)):
            px, py, pz, pr = spine[k]
            knee, foot = (px + lean - 0.05, 0.5 * py, pz + 0.22 * side), (px + lean + 0.03, 0.055, pz + 0.24 * side)
            chains.append([(px, py, pz + 0.5 * pr * side, 0.085), (*knee, 0.058), (*foot, 0.042)])
            for c in (-1, 0, 1):
                toe = (foot[0] + 0.085, 0.035, foot[2] + 0.04 * c)
                chains.append([(*foot, 0.032), (*toe, 0.019), (toe[0] + 0.04, 0.02, toe[2], 0.014)])
        top = (hx + 0.14, hy + 0.24, hz + 0.045 * side)
        chains.append(
            [
                (*top, 0.028),
                (hx + 0.03, hy + 0.33, hz + 0.085 * side, 0.020),
                (hx - 0.03, hy + 0.42, hz + 0.08 * side, 0.016),
            ]
        )
        chains.append(
            [(hx + 0.35, hy + 0.19, hz + 0.02 * side, 0.020), (hx + 0.42, hy + 0.14, hz + 0.09 * side, 0.018)]
        )

    def scales(x, y, z):
        return 0.0035 * np.sin(70 * x + 20 * y) * np.sin(70 * y - 15 * z) * np.sin(64 * z)

    return chains, 0.03, scales


_FIGURES: dict[str, Callable[[], Parts]] = {"bunny": _bunny, "armadillo": _armadillo, "dragon": _dragon}
