"""`nonstick methods | cases | doctor`: which methods and problems there are, and what this installation consists of."""

from __future__ import annotations

import json
import platform
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from .options import JSON, complete_problems, option
from .terminal import fail, print_names, say

#: packages that are always there
CORE = ("numpy", "scipy", "numba", "llvmlite", "typer", "rich", "pydantic")
#: bytes each core copies, several times; larger than the caches of most processors
BLOCK, ROUNDS = 64 * 2**20, 5


def add(app: typer.Typer) -> None:
    for command in (methods, cases, doctor):
        app.command(command.__name__)(command)


def methods(as_json: bool = JSON) -> None:
    """List every method, for --method and --methods."""
    from ..registry import methods

    print_names("method", methods(), as_json)


def cases(
    name: str | None = typer.Argument(
        None, metavar="[CASE]", help="The problem to save.", show_default=False, autocompletion=complete_problems
    ),
    save: Path | None = option(
        "--save",
        metavar="FILE",
        help="Write the problem to FILE.npz or FILE.mtx; without CASE: every problem, into the folder FILE.",
    ),
    size: int = typer.Option(32, "--size", "-n", help="Cells (obstacle problems: nodes) per side."),
    as_json: bool = JSON,
) -> None:
    """List the built-in problems and benchmarks, for nonstick bench; or save problems.

    [bold]Example:[/bold]

    nonstick cases circle2d --size 64 --save circle.npz
    """
    if save is not None:
        _save(name, save, size)
        return
    if name is not None:
        fail(f"say where the problem goes: nonstick cases {name} --size {size} --save {name}.npz")
    from ..bench import benchmarks

    print_names("case", {name: entry.description for name, entry in benchmarks().items()}, as_json)


def _save(name: str | None, target: Path, size: int) -> None:
    from .. import cases
    from ..files.problems import save_problem

    if name is None and target.suffix in (".npz", ".mtx"):
        fail(f"name the problem that goes to {target}: nonstick cases circle2d --save {target}")
    if target.suffix not in (".npz", ".mtx", "") and not target.is_dir():
        fail(f"a problem is written as .npz or .mtx, and {target} is not a folder: name it {target.stem}.npz")
    if target.suffix in (".npz", ".mtx"):
        files = {str(name): target}
    else:
        files = {known: target / f"{known}-{size}.npz" for known in ([name] if name else cases.names())}
        target.mkdir(parents=True, exist_ok=True)
    for known, file in files.items():
        problem = cases.build(known, size).problem
        save_problem(file, problem)
        say(f"{known}: {problem.n} unknowns, in {file}")


def doctor(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """Show versions, cores, memory speed, the cache of kernels, and which extras are installed.

    [bold]Example:[/bold]

    nonstick doctor
    """
    found = examine()
    if as_json:
        print(json.dumps(found, indent=1))
        return
    from ..sim.run.findings import size

    say(f"nonstick {found['nonstick']}, Python {found['python']}, {found['system']}")
    say("packages   " + ", ".join(f"{name} {number}" for name, number in found["packages"].items()))
    say(f"cores      {found['cores']}, of which kernels use {found['threads']}")
    say(f"memory     {size(found['memory_free'])} free, {found['bandwidth'] / 1e9:.1f} GB/s copied on all cores")
    kept = f"{found['kernels']} files, {size(found['kernels_bytes'])}"
    say(f"kernels    {found['kernels_folder']}: {kept}; they may be deleted and are compiled again when needed")
    for name, extra in found["extras"].items():
        lacks = ", ".join(extra["missing"])
        state = f"{lacks} missing, get it with: {extra['install']}" if lacks else "installed"
        say(f"{name:10} {extra['for']}: {state}")


def examine() -> dict[str, Any]:
    """All findings, as plain values."""
    from numba import config

    from .. import __version__
    from ..core.optional import EXTRAS, install
    from ..kernels._cache import cache_folder
    from ..sim.run.findings import cores, free_memory

    folder = Path(config.CACHE_DIR or cache_folder())
    files = [f.stat().st_size for f in folder.rglob("*") if f.is_file()] if folder.is_dir() else []
    memory, count = free_memory(), cores()
    return {
        "nonstick": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "system": platform.platform(terse=True),
        "packages": {name: _version(name) for name in CORE},
        "cores": count,
        "threads": int(config.NUMBA_NUM_THREADS),
        "memory_free": memory if memory < float("inf") else 0.0,
        "bandwidth": bandwidth(count),
        "kernels_folder": str(folder),
        "kernels": len(files),
        "kernels_bytes": sum(files),
        "extras": {
            name: {
                "for": purpose,
                "missing": [package for package in packages if find_spec(package) is None],
                "install": install(name),
            }
            for name, (purpose, packages) in EXTRAS.items()
        },
    }


def bandwidth(cores: int, block: int = BLOCK, rounds: int = ROUNDS) -> float:
    """Bytes per second that all cores together read and write, the best of some rounds."""
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np

    pairs = [(np.zeros(block // 8), np.ones(block // 8)) for _ in range(cores)]
    best = float("inf")
    with ThreadPoolExecutor(cores) as pool:
        for _ in range(rounds):
            began = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(*pair), pairs))  # NumPy lets other threads run meanwhile
            best = min(best, time.perf_counter() - began)
    return 2 * block * cores / best


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow to load

    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
