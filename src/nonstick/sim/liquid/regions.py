"""Regions of a scene: liquids, inflows, outflows and forces, measured many times at points near their surface."""

from __future__ import annotations

from ...grid.shapes import Shape, sample_meshes
from ...scenes.geometry import ShapeTable, build
from ...scenes.scene import Scene


def region(scene: Scene, table: ShapeTable, key: str) -> Shape:
    """The shape of a table of the scene, its meshes sampled for the scene's grid; messages name the key."""
    return sample_meshes(build(table, scene.folder, f"{scene.where}: {key}"), scene.dx)
