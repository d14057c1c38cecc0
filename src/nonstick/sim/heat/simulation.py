"""Heat in a body with temperature bounds, to equilibrium (Takahashi–Batty §7.6 and figure 2).

A dragon starts at 50. Two bands across its middle hold 0 and 100, its skin lets nothing through, and the
temperature must stay between 20 and 80. Each frame is one implicit step; a second run without bounds shows
what they change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.ndimage import label

from ...discretise.diffusion import DiffusionProblem, DiffusionSolution
from ...errors import NonstickError
from ...grid.mac import Grid
from ...grid.shapes import Ball, Capsule, HalfSpace, Shape, intersection, union

#: the box around the dragon
EXTENT = (2.0, 1.0, 0.8)


@dataclass(frozen=True)
class Heat:
    """The set-up; `resolution` counts cells along the longest side. Bounds of ±inf switch them off."""

    resolution: int = 96
    size: tuple[float, float, float] = EXTENT
    #: the body; None is the dragon
    body: Shape | None = None
    start: float = 50.0
    #: intervals of x that hold a temperature
    bands: tuple[tuple[float, float, float], ...] = ((0.62, 0.74, 0.0), (1.22, 1.34, 100.0))
    lower: float = 20.0
    upper: float = 80.0
    diffusivity: float = 1.0
    #: time between two frames
    dt: float = 0.008
    method: str = "ipm-pd"
    rtol: float = 1e-9
    #: largest change of a frame, in degrees, that counts as equilibrium
    still: float = 1e-3

    @property
    def grid(self) -> Grid:
        dx = max(self.size) / self.resolution
        return Grid(tuple(max(1, round(e / dx)) for e in self.size), dx)

    def inside(self) -> np.ndarray:
        """Boolean over cells: the body, in one piece (thin parts may come off on coarse grids)."""
        shape = dragon() if self.body is None else self.body
        parts, count = label(shape.sample(self.grid.cells()) < 0)
        if not count:
            raise NonstickError("the body covers no cell of the grid: move it into the domain, or refine")
        return parts == np.argmax(np.bincount(parts.ravel())[1:]) + 1

    def begin(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Temperature, body and fixed cells at the start."""
        grid, inside = self.grid, self.inside()
        x = np.broadcast_to(grid.cells()[0], grid.shape)
        temperature, fixed = np.full(grid.shape, self.start), np.zeros(grid.shape, bool)
        for low, high, value in self.bands:
            band = (x > low) & (x < high) & inside
            temperature[band] = value
            fixed |= band
        return temperature, inside, fixed

    def problem(self, temperature, inside, fixed, steady: bool = False) -> DiffusionProblem:
        """The next frame, or the equilibrium."""
        alpha = np.inf if steady else self.diffusivity * self.dt / self.grid.dx**2
        return DiffusionProblem(
            temperature=temperature, alpha=alpha, inside=inside, fixed=fixed, lower=self.lower, upper=self.upper
        )

    def at_rest(self, before: np.ndarray, after: np.ndarray, inside: np.ndarray) -> bool:
        """Do two successive frames differ by so little that the body is in equilibrium?"""
        return float(np.abs(after - before)[inside].max(initial=0.0)) < self.still

    def solutions(self, count: int, state: np.ndarray | None = None) -> Iterator[DiffusionSolution]:
        """One solution a frame, at most `count`, from the start or from a `state`; ends early at equilibrium."""
        temperature, inside, fixed = self.begin()
        if state is not None:
            temperature = state
        for _ in range(count):
            solution = self.problem(temperature, inside, fixed).solve(self.method, rtol=self.rtol)
            before, temperature = temperature, solution.temperature
            yield solution
            if self.at_rest(before, temperature, inside):
                return

    def frames(self, count: int) -> Iterator[np.ndarray]:
        """The temperature at the start and after each of at most `count` frames."""
        yield self.begin()[0]
        for solution in self.solutions(count):
            yield solution.temperature

    def equilibrium(self) -> np.ndarray:
        """The state all frames tend to, in one solve."""
        return self.problem(*self.begin(), steady=True).solve(self.method, rtol=self.rtol).temperature


def dragon() -> Shape:
    """A four-legged, winged, horned creature of capsules in the box of `EXTENT`, looking to +x."""
    z = 0.4
    spine = [
        ((0.10, 0.30), 0.025), ((0.25, 0.22), 0.045), ((0.42, 0.26), 0.07), ((0.60, 0.38), 0.11),
        ((0.85, 0.46), 0.15), ((1.10, 0.47), 0.16), ((1.32, 0.52), 0.12), ((1.46, 0.66), 0.09),
        ((1.56, 0.78), 0.08), ((1.68, 0.80), 0.085), ((1.84, 0.74), 0.05),
    ]  # fmt: skip
    parts: list[Shape] = []
    for ((x0, y0), r0), ((x1, y1), r1) in pairwise(spine):
        # a cone as a row of balls that overlap by most of their radius
        count = int(np.ceil(np.hypot(x1 - x0, y1 - y0) / (0.25 * min(r0, r1)))) + 1
        parts += [
            Ball((x0 + t * (x1 - x0), y0 + t * (y1 - y0), z), r0 + t * (r1 - r0)) for t in np.linspace(0.0, 1.0, count)
        ]
    for side in (-1.0, 1.0):
        for x in (0.80, 1.24):
            hip, knee, foot = (x, 0.40, z + 0.10 * side), (x + 0.06, 0.22, z + 0.19 * side), (x, 0.07, z + 0.19 * side)
            parts += [Capsule(hip, knee, 0.07), Capsule(knee, foot, 0.05)]
            parts.append(Capsule(foot, (x + 0.10, 0.055, z + 0.20 * side), 0.045))
        horn = Capsule((1.60, 0.85, z + 0.05 * side), (1.46, 0.97, z + 0.09 * side), 0.026)
        parts.append(horn)
        root, elbow, tip = (1.08, 0.58, z + 0.08 * side), (0.92, 0.90, z + 0.26 * side), (0.50, 0.84, z + 0.33 * side)
        parts += [Capsule(root, elbow, 0.035), Capsule(elbow, tip, 0.028)]
        for share in np.linspace(0.15, 0.95, 9):  # the wing's skin: ribs from the arm down to the flank
            top = tuple(e + share * (t - e) for e, t in zip(elbow, tip))
            low = (1.06 - 0.34 * share, 0.60 - 0.02 * share, z + (0.10 + 0.08 * share) * side)
            parts.append(Capsule(low, top, 0.03))
    floor = HalfSpace((0.0, 0.02, 0.0), (0.0, -1.0, 0.0))
    return intersection(union(*parts), floor)
