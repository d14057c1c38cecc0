"""Multigrid over face velocities, for the viscosity system: coarser grids, transfers and smoothers."""
