"""Ours: conjugate gradients over an active set, started from coarser problems, relaxed near the cells that change."""
