"""Numbers tuned by hand for solves on arrays; docs/explanation/settings.md says what each is worth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ArraySettings:
    """What the loop, its two cycles and the corrections of a method on arrays are tuned by."""

    #: steps between two questions to a device
    stride: int = 10
    #: steps on every coarser level of a prediction, and the cells along the longest axis, or the unknowns of a sparse
    #: matrix, up to which there is none
    predicted: int = 4
    small: int = 16
    #: an axis of the coarsest grid has at most so many cells
    largest: int = 10
    #: cells of a block are one part if they are coupled by more than this part of a cell's mean weight
    weak: float = 0.05
    #: cells whose surface outweighs their couplings by this factor have no coarse value
    held: float = 10.0
    #: the degree of smoothing, on grids and on sparse matrices
    degree: int = 3
    #: the least eigenvalue that smoothing of a sparse matrix damps, where the largest is 2, and that of its coarsest
    #: level, which has at most `bottom` unknowns where the matrix can be coarsened so far
    damped: float = 0.5
    lowest: float = 0.02
    bottom: int = 20
    #: iterations on a grid after which its blocks stand for too little, and the sparse matrix takes over
    grid: int = 30
    #: vectors of GMRES before it begins again
    restart: int = 20


SETTINGS = ArraySettings()
