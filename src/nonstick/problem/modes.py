"""What a caller knows about the smooth vectors of a vector problem: `near_null=`, `nodes=`, `block=`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import validate
from ..errors import NonstickError, brief


@dataclass(frozen=True)
class Modes:
    """Near-null vectors as given, or the points whose rigid-body modes they are, and the unknowns of a point."""

    near_null: Any = None
    nodes: Any = None
    block: int | None = None

    @classmethod
    def of(cls, near_null: Any, nodes: Any, block: int | None) -> Modes | None:
        """None if nothing is given."""
        return None if near_null is None and nodes is None and block is None else cls(near_null, nodes, block)

    def vectors(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The checked vectors, n × k, and the node of each unknown."""
        block = self.block
        if self.nodes is not None:
            nodes = validate.numbers(self.nodes, "nodes").astype(float)
            if nodes.ndim != 2 or nodes.shape[1] not in (2, 3) or nodes.size != n or not np.isfinite(nodes).all():
                raise NonstickError(
                    f"nodes has shape {' × '.join(map(str, nodes.shape))}; it must hold the finite coordinates of "
                    f"points with as many unknowns as coordinates, 2 or 3, together {n}"
                )
            if block not in (None, nodes.shape[1]):
                raise NonstickError(f"block is {block}, but nodes have {nodes.shape[1]} coordinates")
            block = nodes.shape[1]
        if block is None:
            block = 1
        if not isinstance(block, int) or block < 1 or n % block:
            raise NonstickError(f"block must be the number of unknowns of a point, and divide {n}, not {brief(block)}")
        node = np.arange(n) // block
        if self.near_null is not None:
            B = validate.numbers(self.near_null, "near_null").astype(float)
            B = B[:, None] if B.ndim == 1 else B
            if B.ndim != 2 or B.shape[0] != n or not 1 <= B.shape[1] <= 30 or not np.isfinite(B).all():
                raise NonstickError(
                    f"near_null has shape {' × '.join(map(str, B.shape))}; it must be {n} × k finite numbers, k at "
                    "most 30"
                )
            return B, node
        if self.nodes is not None:
            return rigid_body_modes(nodes), node
        return np.tile(np.eye(block), (n // block, 1)), node


def rigid_body_modes(nodes: np.ndarray) -> np.ndarray:
    """The rigid-body modes of points in the plane or in space, whose displacements are stored node by node.

    Examples
    --------
    >>> import numpy as np
    >>> rigid_body_modes(np.array([[-1.0, 0.0], [1.0, 0.0]]))
    array([[ 1.,  0., -0.],
           [ 0.,  1., -1.],
           [ 1.,  0., -0.],
           [ 0.,  1.,  1.]])
    """
    count, d = nodes.shape
    centred = nodes - nodes.mean(axis=0)
    turns = [(0, 1)] if d == 2 else [(0, 1), (1, 2), (2, 0)]
    B = np.zeros((count, d, d + len(turns)))
    for axis in range(d):
        B[:, axis, axis] = 1.0
    for mode, (i, j) in enumerate(turns, start=d):
        B[:, i, mode], B[:, j, mode] = -centred[:, j], centred[:, i]
    return B.reshape(count * d, -1)
