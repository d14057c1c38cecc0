"""Memory and disk that a run needs and the machine has, so that a shortage is reported before the run begins."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np


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
