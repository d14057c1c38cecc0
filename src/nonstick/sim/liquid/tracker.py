"""What carries the liquid from step to step, and what a step hands to it.

A step is the same whatever carries the liquid: φ, velocity on the faces, forces, pressure, and the liquid moves with
the new velocity. `Tracker` names the few things that depend on what carries it. There are two: `particles.Particles`
and `levelset.LevelSet`.

All arrays have three axes (`layout.Layout`), lengths are in cells and velocities in m/s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ...grid.shapes import Shape
from .pressure import Outcome
from .sources import Source


@dataclass
class GridVelocity:
    """The velocity of the liquid on the faces at the beginning of a step."""

    velocity: list[np.ndarray]
    #: particles that a face stands for; zero where no particle is near, or where the grid itself carries the liquid
    mass: list[np.ndarray]
    #: the velocity before forces, for transfers that add the change of it
    before: list[np.ndarray]
    #: kinetic and potential energy of the liquid together, in joule, for trackers that keep it from growing
    energy: float = 0.0


@dataclass
class Flow:
    """The velocity of the liquid at the end of a step, on all faces it may meet, and what belongs to it."""

    velocity: list[np.ndarray]
    start: GridVelocity
    outcome: Outcome
    dt: float
    #: 1 in cells next to a wall that does not let go
    sticky: np.ndarray
    #: whether anything but gravity may have done work on the liquid
    fed: bool


@dataclass
class Added:
    """What sources have brought in at the beginning of a step."""

    #: divergence (1/s) that makes room for it, over cells in the user's dimension; None where nothing has to give way
    divergence: np.ndarray | None = None
    #: (kind, message) for the log
    remarks: list[tuple[str, str]] = field(default_factory=list)


class Tracker(Protocol):
    """The liquid itself. A tracker is made with (scene, solids, ledger, viscosity) and keeps the ledger's books."""

    #: distance to the surface at cell centres, negative in liquid, continued into solids: what the pressure sees
    phi: np.ndarray

    @property
    def settled(self) -> bool:
        """Does φ belong to the liquid as it is now? If so, a step need not look for it."""

    @property
    def count(self) -> int:
        """Number of particles; 0 if there are none."""

    def fill(self) -> None:
        """Put the first liquid in place and open the ledger."""

    def flow_in(self, sources: Sequence[Source], time: float, step: int, dt: float) -> Added:
        """Add what the sources emit at the beginning of a step of length dt."""

    def flow_out(self, regions: Sequence[Shape]) -> None:
        """Remove what is in the regions."""

    def viscosity(self) -> np.ndarray | float:
        """Dynamic viscosity: a number, or an array over cells in the user's dimension."""

    def find_surface(self, pressure: np.ndarray | None, sticky: np.ndarray) -> None:
        """Find φ and hold its volume at the ledger's.

        `pressure` is that of the last step (None before the first), `sticky` is 1 next to walls that do not let go.
        """

    def to_grid(self) -> GridVelocity:
        """The velocity on the faces; its arrays may be changed."""

    def move(self, flow: Flow) -> None:
        """Take the velocity of the flow and move with it."""

    def fastest(self) -> float:
        """The largest component of the liquid's velocity."""

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy in joule (per metre of depth in 2D); height counts from the domain's corner."""

    def frame_arrays(self) -> dict[str, np.ndarray]:
        """Positions and velocities for a frame file, in metres and m/s."""

    def state(self) -> dict[str, np.ndarray]:
        """Everything the tracker needs to go on bit for bit."""

    def restore(self, state: dict[str, np.ndarray], started: bool) -> None:
        """Go on from a state; `started` says that at least one step had been made. Ledger and solids are up to date."""
