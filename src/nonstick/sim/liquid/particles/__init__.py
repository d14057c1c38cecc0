"""Particles: their columns, where they begin, the transfer to the grid and back, their motion and their spacing."""
