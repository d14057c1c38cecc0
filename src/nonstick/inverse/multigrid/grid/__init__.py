"""Multigrid on grids of cells: blocks in single precision (ours), and Lai's transfers between cell-centred grids."""
