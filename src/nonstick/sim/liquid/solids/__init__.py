"""Solids and rigid bodies on the grid: distances, open shares of faces, velocities of walls."""
