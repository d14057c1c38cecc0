"""What is known before a run: the findings of `nonstick check` about a scene of any kind, memory and disk.

Among the findings are wrong units: scenes are in metres, and meshes often come in centimetres or millimetres. A
shortage of what a run needs is reported before it begins.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
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


@dataclass(frozen=True)
class Needs:
    """Bytes of memory and disk."""

    memory: float
    disk: float


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory() -> float:
    """Bytes this process may still use; infinite if that is not known."""
    limits = [proc("/proc/meminfo", "MemAvailable:")]
    try:
        limit, used = (
            Path(f"/sys/fs/cgroup/memory.{k}").read_text(encoding="utf-8").strip() for k in ("max", "current")
        )
        limits.append(float(limit) - float(used))
    except (OSError, ValueError):  # the control group does not exist, or has no limit
        pass
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            limits.append(most - proc("/proc/self/status", "VmSize:", 0.0))
    except ImportError:
        pass
    return max(min(limits), 0.0)


def proc(file: str, key: str, default: float = np.inf) -> float:
    """Bytes that the kernel tells under a key of a file in /proc."""
    try:
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            if line.startswith(key):
                return 1024.0 * float(line.split()[1])
    except OSError:
        pass
    return default


def free_disk(path: str | Path) -> float:
    """Bytes left on the disk of `path`; infinite if that is not known."""
    here = Path(path).absolute()
    while not here.exists() and here != here.parent:
        here = here.parent
    try:
        return float(shutil.disk_usage(here).free)
    except OSError:
        return np.inf


def size(count: float) -> str:
    """A number of bytes as text, such as 2.5 GB."""
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1024
        if count < 999.5 or unit == "TB":
            return f"{count:.0f} {unit}" if count >= 9.95 or unit in ("kB", "MB") else f"{count:.1f} {unit}"
    raise AssertionError


def memory_shortage(need: Needs) -> list[str]:
    """A sentence if memory will not be enough."""
    memory = free_memory()
    if need.memory <= memory:
        return []
    return [f"the run needs about {size(need.memory)} of memory, but only {size(memory)} are free"]


def disk_shortage(need: Needs, out: str | Path) -> list[str]:
    """A sentence if the disk will not be enough."""
    disk = free_disk(out)
    if need.disk <= disk:
        return []
    return [f"the run needs about {size(need.disk)} of disk, but only {size(disk)} are free at {out}"]


def shortages(need: Needs, out: str | Path) -> list[str]:
    """Sentences about memory or disk that will not be enough."""
    return memory_shortage(need) + disk_shortage(need, out)


def peak_bytes() -> int:
    """Largest resident memory of this process so far."""
    try:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    except ImportError:
        return 0
    return int(peak) * (1 if platform.system() == "Darwin" else 1024)
