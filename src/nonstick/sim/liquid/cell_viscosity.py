"""Viscosity of cells from that of the particles in them."""

from __future__ import annotations

import numpy as np

from ._extrapolate import _extrapolate
from ._particles import _normalise, _scatter_value
from .cloud import Cloud
from .layout import Layout

#: layers of cells beyond the particles that take the viscosity of their neighbours; edges need one layer, a surface
#: shifted to keep its volume another
LAYERS = 3


def cell_viscosity(cloud: Cloud, layout: Layout) -> np.ndarray:
    """The mean of the particles around each cell, weighted by the trilinear hat of its centre.

    Cells beyond the particles take the mean of their neighbours, layer by layer: the edges of the surface average over
    them. The particles must be sorted.
    """
    mu, mass = np.zeros(layout.three), np.zeros(layout.three)
    _scatter_value(mu, mass, cloud.x, cloud.mu, cloud.start, layout.plane)
    known = np.empty(mu.shape, np.int8)
    _normalise(mu, known, mass)
    _extrapolate(mu, known, np.empty(mu.size, np.int32), LAYERS)
    return layout.drop(mu)
