"""The findings of `nonstick check` about a scene of any kind; among them wrong units: scenes are in metres, and meshes
often come in centimetres or millimetres."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import NonstickError
from ...grid.mac import Grid
from ...grid.shapes import Mesh, Shape
from ...scenes.geometry import build, shape_tables
from ...scenes.scene import Scene


@dataclass
class Findings:
    """The lines that `nonstick check` prints."""

    facts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: reasons why a run would not work
    errors: list[str] = field(default_factory=list)


def reaches_beyond(shape: Shape, grid: Grid) -> bool:
    """True if a shape extends beyond the domain; tested on a ring of cells around the domain."""
    for axis in range(grid.dimension):
        for outside in (-0.5 * grid.dx, grid.size[axis] + 0.5 * grid.dx):
            points = list(grid.cells())
            points[axis] = np.array(outside)
            if (np.asarray(shape(*points)) < 0).any():
                return True
    return False


#: a domain that is longer than this (m) was probably meant in other units
LONG = 50.0
#: a mesh that is this many times as large as the domain was probably meant in other units
LARGE = 10.0
#: metres of the units that modelling programs write
UNITS = {"millimetres": 0.001, "centimetres": 0.01, "inches": 0.0254, "feet": 0.3048}
#: share of the domain that a mesh takes at the least, if its unit was guessed right
LEAST = 0.05


def check_units(found: Findings, scene: Scene) -> None:
    """Warn of a domain or a mesh in other units than metres, and say which meshes were repaired."""
    size = scene.model.domain.size
    if max(size) > LONG:
        extent = " × ".join(f"{s:g}" for s in size)
        found.warnings.append(
            f"the domain is {extent} m with cells of {scene.dx:.3g} m, so liquid moves like a lake seen from far away; "
            "if lengths were meant in centimetres, divide all of them by 100"
        )
    for key, table in shape_tables(scene.model):
        if table.made is Mesh:
            _check_mesh(found, key, table, scene)
        elif re.fullmatch(r"liquid\.\d+\.shape", key):
            low, high = build(table, scene.folder).bounds(len(size))
            longest = float(np.max(high - low))
            if LARGE * max(size) < longest < np.inf:
                found.warnings.append(
                    f"{key} is {longest:.4g} m long in a domain of {max(size):g} m: if lengths were meant in "
                    "centimetres or millimetres, divide all of them by 100 or 1000"
                )


def repairs(scene: Scene) -> list[str]:
    """A sentence on each mesh of a scene that was open and was repaired."""
    tables = [(key, table) for key, table in shape_tables(scene.model) if table.made is Mesh]
    asked: list[tuple[str, Any]] = [(key, table) for key, table in tables if getattr(table, "repair", False)]
    return [text for key, table in asked if (text := _repaired(key, table, table.plain(scene.folder)))]


def _repaired(key: str, table: Any, mesh: Any) -> str:
    return f"{key}: the mesh {table.file} was open and was repaired: {mesh.repaired}" if mesh.repaired else ""


def _check_mesh(found: Findings, key: str, table: Any, scene: Scene) -> None:
    try:
        mesh = table.plain(scene.folder)
    except NonstickError:
        return  # the check of the scene says what is wrong
    found.facts += [text for text in [_repaired(key, table, mesh)] if text]
    low, high = mesh.bounds(3)
    extent, domain = high - low, np.array(scene.model.domain.size)
    shown = " × ".join(f"{e:.3g}" for e in extent)
    ratio = float(extent.max() / domain.max())
    if ratio > LARGE:
        found.warnings.append(
            f"{key}: the mesh {table.file} is {shown} m, {ratio:.3g} times the domain: "
            f"{_fitting(table.scale, extent, domain)}"
        )
    elif extent.max() < scene.dx:
        found.warnings.append(
            f"{key}: the mesh {table.file} is {shown} m, smaller than a cell ({scene.dx:.3g} m): "
            f"{_fitting(table.scale, extent, domain)}"
        )


def _fitting(scale: float, extent: np.ndarray, domain: np.ndarray) -> str:
    """The scale that fits a mesh into the domain: that of a unit if there is one, else any."""
    share = {name: float((extent * metres / domain).max()) for name, metres in UNITS.items()}
    fits = [name for name, taken in share.items() if LEAST <= taken <= 1.0]
    if fits:
        name = max(fits, key=lambda n: (n.endswith("metres"), share[n]))
        return f"if it is in {name}, write scale = {scale * UNITS[name]:.4g}"
    fit = float(f"{0.8 * scale * float((domain / extent).min()):.1e}")
    return f"scale = {fit:g} would fit"
