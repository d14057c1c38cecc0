"""The two masses of the liquid on a face, and what follows from them.

What moves is the mass of the particles, so pressure and viscosity act on it: then a projection is orthogonal in the
same mass with which velocities come to the grid and go back. Away from solids it keeps the momentum of the particles
and adds no energy, for any distribution of them. (Energy still comes from other parts of a step: evening out lifts
particles, and `folding` asks for a divergence.) What weighs, where liquid is carried, is the mass of its shape (the hat
masses of φ): they are in balance with a pressure for every plane surface, and particles are not. At a solid the
particles of a face lie beside its open part too, which pressure does not see: there their density counts, over the open
share of the face.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....discretise._moments import hat_fields
from ....discretise._pressure import _cells_with_liquid
from ....grid.faces import FaceField
from ....grid.levelset import continue_linearly
from ..solids.on_grid import Solids
from ._masses import _add_wall_folding, _add_weight, _folding, _loads


@dataclass
class Masses:
    """Masses on faces, 1 inside the liquid, and liquid fractions of cells; all on three axes."""

    #: the φ of the shape, in cells
    phi: np.ndarray
    fraction: np.ndarray
    #: of the shape of the liquid, solids not taken off
    hat: FaceField
    #: that pressure and viscosity move
    inertia: FaceField
    #: beside thin walls: cells that hold liquid which keeps its volume; elsewhere φ and the open faces tell
    held: np.ndarray | None = None

    @classmethod
    def of(cls, phi: np.ndarray, solids: Any, inertia: FaceField | None) -> Masses:
        """For φ in cells; the inertia is changed in place, and without particles the liquid has that of its shape.

        φ is that of liquid and its mirror image in solids, as far as cells are cut. The shape of the liquid in these
        cells depends on φ one cell deeper, where it is that of the neighbours.
        """
        deep = solids.centre < -1.0
        if deep.any():
            phi = continue_linearly(np.where(deep, 1.0, phi), deep, solids.centre, anyway=True)
        fraction, hat = hat_fields(solids.grid.drop(phi), solids.open)
        if inertia is None:
            inertia = hat * solids.open
        elif (solids.centre < 1.0).any():
            inertia *= solids.open
            inertia /= solids.room_of_faces()
        return cls(phi, fraction, hat, inertia)

    @classmethod
    def of_layers(cls, phis: Sequence[np.ndarray], solids: Solids, inertia: Sequence[FaceField] | None) -> Masses:
        """The same from φ and masses in each layer beside thin walls (`solids.layers`); without them there is one."""
        layers = solids.layers
        if layers is None:
            return cls.of(phis[0], solids, None if inertia is None else inertia[0])
        assert inertia is not None
        own = [cls.of(*each) for each in zip(phis, layers.list, inertia)]
        phi, fraction = (layers.cells([getattr(m, name) for m in own]) for name in ("phi", "fraction"))
        hat, moved = (layers.faces([getattr(m, name) for m in own]) for name in ("hat", "inertia"))
        held = layers.cells([m.filled(solids) for m, solids in zip(own, layers.list)])
        return cls(phi, fraction, hat, layers.closed.where(0.0, moved), held)

    def filled(self, solids: Any) -> np.ndarray:
        """Cells whose liquid keeps its volume, with all open faces of these solids."""
        out = np.empty(self.fraction.shape, np.int8)
        _cells_with_liquid(out, self.fraction, self.phi, *solids.open)
        return out > 0

    def of_shape(self, solids: Solids) -> Masses:
        """The same with the inertia of the shape."""
        return Masses(self.phi, self.fraction, self.hat, self.hat * solids.open, self.held)


def add_gravity(
    velocity: FaceField, kick: float, gravity: np.ndarray, pressure: np.ndarray, rho: float, masses: Masses,
    solids: Solids,
) -> None:  # fmt: skip
    """Let gravity act for `kick` seconds, in place; `pressure` is that of the last step."""
    liquid = masses.filled(solids) if masses.held is None else masses.held
    for axis, u in velocity.each():
        if gravity[axis]:
            rise, weight = np.empty(u.shape), np.empty(u.shape)
            faces = masses.hat[axis], solids.open[axis]
            _loads(rise, weight, pressure, masses.fraction, liquid, *faces, axis)
            head = rho * solids.grid.dx * gravity[axis]
            _add_weight(u, kick * gravity[axis], rise, weight, *faces, masses.inertia[axis], head, axis)


def folding(velocity: FaceField, phi: np.ndarray, solids: Any, dt: float) -> np.ndarray:
    """The divergence (1/s) that a flow needs for a step of dt in which particles move along straight lines."""
    out, way = np.empty(phi.shape), (velocity.arrays, velocity.axes.start, dt / solids.grid.dx)
    _folding(out, phi, solids.space, *way)
    if (solids.centre < 0.0).any():
        turns = solids.turns()
        driving = solids.velocity if turns.any() else velocity
        walls = solids.nodes, solids.open.arrays, solids.owner, turns, driving.arrays
        _add_wall_folding(out, phi, solids.space, solids.centre, *walls, *way)
    return out / dt
