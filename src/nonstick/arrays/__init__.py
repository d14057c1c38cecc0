"""The pressure solve on dense fields of any array library (NumPy, PyTorch, JAX, CuPy), on any of its devices.

`library` knows the libraries; `stencil` is the operator; `multigrid` its cycle; `active_set` and `loop` solve with
bounds; `methods` puts them behind names of the registry. Nothing here is compiled by numba.
"""

from .grid import GridProblem, GridResult, solve_grid
from .methods import ArrayActiveSet, ArrayCycles, ArrayMethod, ArrayNewton

__all__ = ["ArrayActiveSet", "ArrayCycles", "ArrayMethod", "ArrayNewton", "GridProblem", "GridResult", "solve_grid"]
