"""What a run will need and what the machine has: said before the run, not by a crash in the middle of it."""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import NonstickError
from ..scenes.scene import Scene

# Peaks measured: the sphere at 32³ to 128³, a circle, a pool with bodies; honey and a viscous sphere; bodies in honey.
BYTES_PER_CELL = 190
BYTES_PER_PARTICLE = 130
#: interpreter and compiled code
BYTES_BASE = 230 * 2**20
#: more where viscosity acts
BYTES_PER_VISCOUS_CELL = 210
#: of a face of viscous liquid, for every degree of freedom of a body
BYTES_PER_TIE = 8


@dataclass(frozen=True)
class Needs:
    """Bytes of memory and disk."""

    memory: float
    disk: float

    @classmethod
    def of(cls, scene: Scene, particles: int = 0) -> Needs:
        """Of a liquid scene with that many particles; with none known, what its grid alone takes."""
        output, frames = scene.model.output, scene.model.time.frames
        cells = float(np.prod(scene.shape, dtype=float))
        frame = 4 * cells * output.surface + 8 * scene.dimension * particles * output.particles
        checkpoint = particles * (36 + 36 * (scene.model.particles.transfer == "apic")) + 9 * cells
        kept = min(frames, 3 + frames // output.checkpoint_every)
        memory = BYTES_BASE + BYTES_PER_CELL * cells + BYTES_PER_PARTICLE * particles
        if _viscous(scene):
            d, bodies = scene.dimension, sum(b.motion is None for b in scene.model.bodies)
            faces = d * particles / scene.model.particles.per_axis**d
            memory += BYTES_PER_VISCOUS_CELL * cells + BYTES_PER_TIE * faces * (3 if d == 2 else 6) * bodies
        return cls(memory, frame * (frames + 1) + checkpoint * kept)


def _viscous(scene: Scene) -> bool:
    own = [x.viscosity for x in scene.model.liquid] + [x.viscosity for x in scene.model.inflow]
    return scene.model.physics.viscosity > 0.0 or any(own)


def free_memory() -> float:
    """Bytes this process may still take; infinite where nobody says."""
    limits = [_proc("/proc/meminfo", "MemAvailable:")]
    try:
        limit, used = (Path(f"/sys/fs/cgroup/memory.{k}").read_text().strip() for k in ("max", "current"))
        limits.append(float(limit) - float(used))
    except (OSError, ValueError):  # no such group, or no limit
        pass
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            limits.append(most - _proc("/proc/self/status", "VmSize:", 0.0))
    except ImportError:
        pass
    return max(min(limits), 0.0)


def _proc(file: str, key: str, default: float = np.inf) -> float:
    try:
        for line in Path(file).read_text().splitlines():
            if line.startswith(key):
                return 1024.0 * float(line.split()[1])
    except OSError:
        pass
    return default


def free_disk(path: str | Path) -> float:
    """Bytes left where `path` is or will be; infinite where nobody says."""
    here = Path(path).absolute()
    while not here.exists() and here != here.parent:
        here = here.parent
    try:
        return float(shutil.disk_usage(here).free)
    except OSError:
        return np.inf


def size(count: float) -> str:
    """Bytes for people."""
    for unit in ("MB", "GB", "TB"):
        count /= 1024 if unit != "MB" else 2**20
        if count < 999.5 or unit == "TB":
            return f"{count:.0f} {unit}" if count >= 9.95 or unit == "MB" else f"{count:.1f} {unit}"
    raise AssertionError


def too_large(scene: Scene) -> str:
    """A sentence if not even the grid of a scene fits into memory, with a resolution that does; else nothing."""
    need, have = Needs.of(scene).memory, free_memory()
    if need <= have:
        return ""
    # with water in half of it, at 8 or 4 particles a cell
    each = BYTES_PER_CELL + 0.5 * BYTES_PER_PARTICLE * scene.model.particles.per_axis**scene.dimension
    cells = float(np.prod(scene.shape, dtype=float))
    fits = max(have - BYTES_BASE, 0.0) / each
    n = int(scene.model.domain.resolution * (fits / cells) ** (1 / scene.dimension))
    advice = f"domain.resolution={n} would fit" if n >= 4 else "free some memory"
    cells_text = "×".join(map(str, scene.shape))
    return f"{cells_text} cells need at least {size(need)} of memory and {size(have)} are free; {advice}"


def require(scene: Scene) -> None:
    """Refuse a scene whose grid does not fit."""
    sentence = too_large(scene)
    if sentence:
        raise NonstickError(f"{scene.where}: {sentence}")


def shortages(need: Needs, out: str | Path) -> list[str]:
    """Sentences on what will run out, before the run begins."""
    found: list[str] = []
    memory, disk = free_memory(), free_disk(out)
    if need.memory > memory:
        found.append(f"the run needs about {size(need.memory)} of memory and {size(memory)} are free")
    if need.disk > disk:
        found.append(f"the run needs about {size(need.disk)} of disk and {size(disk)} are free at {out}")
    return found


def peak_bytes() -> int:
    """Largest resident memory of this process so far."""
    try:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    except ImportError:
        return 0
    return int(peak) * (1 if platform.system() == "Darwin" else 1024)
