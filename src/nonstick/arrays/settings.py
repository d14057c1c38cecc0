"""Numbers tuned by hand for solves on arrays; docs/explanation/settings.md says what each is worth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ArraySettings:
    """What the loop, its two cycles and the corrections of a method on arrays are tuned by."""

    #: changes of the set after which it waits for its linear problem
    patience: int = 40
    #: unknowns closer to a tie than this part of the tolerance keep their policy
    slack: float = 0.1
    #: steps between two questions to a device
    stride: int = 10
    #: steps on every coarser level of a prediction, the residual at which they end, and the cells along the longest
    #: axis, or the unknowns of a sparse matrix, up to which there is none
    predicted: int = 4
    predicted_to: float = 1e-4
    small: int = 16
    #: a grid with no longer axis is the coarsest, and an axis of it has at most so many cells
    smallest: int = 2
    largest: int = 10
    #: cells of a block are one part if they are coupled by more than this part of a cell's mean weight
    weak: float = 0.05
    #: cells whose surface outweighs their couplings by this factor have no coarse value
    held: float = 10.0
    #: row sums of coarse grids below this part of the diagonal are rounding
    rounding: float = 1e-6
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
    #: what a solve on a device may ask for at most, in double and in single precision: below this part of the residual
    #: it began with, rounding decides; and the number of such solves
    least_double: float = 1e-11
    least_single: float = 1e-4
    rounds: int = 20


SETTINGS = ArraySettings()
