"""Geometry: grids, and shapes as signed distances."""

from . import shapes
from .mac import Grid
from .shapes import *  # noqa: F403  # its `__all__` is the one list of the shapes

__all__ = ["Grid"]
__all__ += shapes.__all__
