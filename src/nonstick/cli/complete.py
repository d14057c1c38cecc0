"""Words that the shell offers on the Tab key: scenes, runs, methods, cases, formats.

The shell calls the command on every Tab, so nothing is loaded here that takes long.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

#: formats of `nonstick export`
FORMATS = ("vdb", "usd", "vtk", "ply", "obj", "glb")
#: kinds of scenes
KINDS = ("liquid", "heat")
#: what colours show in `nonstick view`
COLOURS = ("liquid", "speed", "pressure", "viscosity", "age")


def builtin_scenes(incomplete: str) -> list[tuple[str, str]]:
    """Names of built-in scenes with their descriptions."""
    folder = Path(__file__).parents[1] / "scenes"
    found = [f for f in sorted(folder.glob("*.toml")) if f.stem.startswith(incomplete)]
    return [(f.stem, str(tomllib.loads(f.read_text(encoding="utf-8")).get("description", ""))) for f in found]


def scenes(incomplete: str) -> list[tuple[str, str]]:
    """Built-in scenes, and scene files under the path that was typed."""
    return builtin_scenes(incomplete) + [(path, "") for path in _paths(incomplete, lambda p: p.suffix == ".toml")]


def runs(incomplete: str) -> list[str]:
    """Run directories under the path that was typed, and in runs/."""
    found = _paths(incomplete, lambda p: (p / "meta.json").is_file())
    if not incomplete.startswith("runs/"):
        found += [
            path for path in _paths("runs/", lambda p: (p / "meta.json").is_file()) if path.startswith(incomplete)
        ]
    return found


def methods(incomplete: str) -> list[tuple[str, str]]:
    """Methods with a line of text each."""
    from ..registry import methods as known

    return [(name, text) for name, text in known().items() if name.startswith(incomplete)]


def cases(incomplete: str) -> list[tuple[str, str]]:
    """Problems and tables of `nonstick bench`."""
    from ..bench import benchmarks

    return [(name, entry.description) for name, entry in benchmarks().items() if name.startswith(incomplete)]


def problems(incomplete: str) -> list[str]:
    """Problems that `nonstick cases` can save."""
    from .. import cases as known

    return _starting(known.names(), incomplete)


def validations(incomplete: str) -> list[str]:
    """Experiments of `nonstick validate`."""
    from ..validation import experiments

    return _starting(experiments(), incomplete)


def formats(incomplete: str) -> list[str]:
    return _starting(FORMATS, incomplete)


def kinds(incomplete: str) -> list[str]:
    return _starting(KINDS, incomplete)


def colours(incomplete: str) -> list[str]:
    return _starting(COLOURS, incomplete)


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _paths(incomplete: str, wanted) -> list[str]:
    """Paths in the folder that was typed whose names begin as typed and that are wanted."""
    folder, _, start = incomplete.rpartition("/")
    base = Path(folder or ("/" if incomplete.startswith("/") else "."))
    prefix = incomplete[: len(incomplete) - len(start)]
    if not base.is_dir():
        return []
    return sorted(
        prefix + p.name for p in base.iterdir() if p.name.startswith(start) and p.name[0] != "." and wanted(p)
    )
