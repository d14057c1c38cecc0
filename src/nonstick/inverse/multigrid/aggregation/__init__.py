"""Aggregation: unknowns merge into coarse ones, along couplings and inside blocks of a grid."""
