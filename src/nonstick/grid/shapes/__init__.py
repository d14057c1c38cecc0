"""Solids and liquids as signed distances: negative inside, in 2D and 3D alike.

A shape is called with coordinate arrays that broadcast against each other, `shape(x, y)` or `shape(x, y, z)`,
and combines by operators: `a | b` union, `a & b` intersection, `a - b` difference, `~a` complement (a tank
is the complement of what it holds).
"""

from .base import Direction, Moments, Positive, Probes, Shape, Vector, shape_kinds
from .combined import (
    Complement,
    Difference,
    Intersection,
    Shell,
    Union,
    difference,
    intersection,
    rotated_box,
    union,
)
from .figure import Figure
from .maze import Maze
from .mesh import Mesh
from .primitives import Ball, Box, Capsule, Cylinder, HalfSpace, Torus
from .sampled import sample_meshes

__all__ = [
    "Ball",
    "Box",
    "Capsule",
    "Complement",
    "Cylinder",
    "Difference",
    "Direction",
    "Figure",
    "HalfSpace",
    "Intersection",
    "Maze",
    "Mesh",
    "Moments",
    "Positive",
    "Probes",
    "Shape",
    "Shell",
    "Torus",
    "Union",
    "Vector",
    "difference",
    "intersection",
    "rotated_box",
    "sample_meshes",
    "shape_kinds",
    "union",
]
