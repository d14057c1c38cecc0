"""Multigrid: `Multigrid(coarsening, smoother, cycle)`, with coarsenings for grids, faces and bare matrices."""
