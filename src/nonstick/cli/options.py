"""Options and arguments that several commands share, and the words that the shell offers on the Tab key.

The shell calls the command on every Tab, so nothing is loaded here that takes long.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import typer

from .terminal import fail

#: formats of `nonstick export`
FORMATS = ("vdb", "usd", "vtk", "ply", "obj", "glb")
#: kinds of scenes
KINDS = ("liquid", "heat")
#: what colours show in `nonstick view`
COLOURS = ("liquid", "speed", "pressure", "viscosity", "age")


def complete_builtin_scenes(incomplete: str) -> list[tuple[str, str]]:
    """Names of built-in scenes with their descriptions."""
    import tomllib

    folder = Path(__file__).parents[1] / "scenes" / "builtin"
    found = [f for f in sorted(folder.glob("*.toml")) if f.stem.startswith(incomplete)]
    return [(f.stem, str(tomllib.loads(f.read_text(encoding="utf-8")).get("description", ""))) for f in found]


def complete_scenes(incomplete: str) -> list[tuple[str, str]]:
    """Built-in scenes, and scene files under the path that was typed."""
    return complete_builtin_scenes(incomplete) + [
        (path, "") for path in _paths(incomplete, lambda p: p.suffix == ".toml")
    ]


def complete_runs(incomplete: str) -> list[str]:
    """Run directories under the path that was typed, and in runs/."""

    def runs(start: str) -> list[str]:
        return _paths(start, lambda p: (p / "meta.json").is_file())

    more = [] if incomplete.startswith("runs/") else [path for path in runs("runs/") if path.startswith(incomplete)]
    return runs(incomplete) + more


def _offering(words: Callable[[Any], Iterable[str]]) -> Callable[[str], list[Any]]:
    """A completion: of the words that a function takes from the package those that begin as typed, with their texts."""

    def complete(incomplete: str) -> list[Any]:
        known = words(import_module)
        found = [word for word in known if word.startswith(incomplete)]
        return [(word, known[word]) for word in found] if isinstance(known, Mapping) else found

    return complete


complete_methods = _offering(lambda load: load("nonstick.registry").methods())
#: problems and tables of `nonstick bench`
complete_cases = _offering(
    lambda load: {name: entry.description for name, entry in load("nonstick.bench").benchmarks().items()}
)
#: problems that `nonstick cases` can save
complete_problems = _offering(lambda load: load("nonstick.cases").names())
#: experiments of `nonstick validate`
complete_validations = _offering(lambda load: list(load("nonstick.validation").experiments()))
complete_formats = _offering(lambda load: FORMATS)
complete_kinds = _offering(lambda load: KINDS)
complete_colours = _offering(lambda load: COLOURS)


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


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: a parameter that is annotated by a dataclass stands for its fields."""
    types = get_type_hints(command)
    groups: dict[str, Any] = {name: kind for name, kind in types.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        own = groups.get(parameter.name)
        shown = fields(own) if own else [parameter]
        hints = get_type_hints(own) if own else types
        parameters += [
            inspect.Parameter(each.name, parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
            for each in shown
        ]

    @wraps(command)
    def called(**given: Any) -> None:
        made = {name: kind(**{f.name: given.pop(f.name) for f in fields(kind)}) for name, kind in groups.items()}
        command(**given, **made)

    del called.__wrapped__  # type: ignore[attr-defined]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def option(*names: str, help: str, default: Any = None, **more: Any) -> Any:
    """An option whose default the help page does not show: there is none, or its help describes it."""
    return typer.Option(default, *names, help=help, show_default=False, **more)


def run_directory(metavar: str) -> Any:
    """The argument that names a run."""
    return typer.Argument(
        ..., metavar=metavar, help="A run directory.", show_default=False, autocompletion=complete_runs
    )


@dataclass(frozen=True)
class ArrayOptions:
    """Where a solve on arrays runs."""

    array: str | None = option("--array", help="Solve on arrays of this library: numpy, torch, jax or cupy.")
    device: str | None = option("--device", help="A device of that library, e.g. cuda:0 (default: its own choice).")


RUN = run_directory("DIR")
SCENE = typer.Argument(
    ..., metavar="SCENE", help="A built-in scene or a file.toml.", show_default=False, autocompletion=complete_scenes
)
SET = typer.Option([], "--set", "-s", metavar="KEY=VALUE", help="Change a key, e.g. -s domain.resolution=96.")
FRAMES = option("--frames", "-n", min=1, help="Number of frames.")
COMPARE = option("--compare", "-c", help="Another run, to show beside.", autocompletion=complete_runs)
JSON = typer.Option(False, "--json", help="Print JSON instead of a table.")


def frame_range(text: str) -> slice:
    """The frames that `--frames A:B` means."""
    parts = text.split(":")
    try:
        numbers = [int(p) if p.strip() else None for p in parts]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 3 or any(n is not None and n < 0 for n in numbers) or numbers[2:] == [0]:
        fail(f"--frames takes A:B, for example 10:20, and not {text!r}")
    if len(numbers) == 1:
        if numbers[0] is None:
            fail(f"--frames takes A:B, for example 10:20, and not {text!r}")
        return slice(numbers[0], numbers[0] + 1)
    return slice(*numbers)


def json_path(word: str | None) -> Path | None:
    """The file that --json names; None if there is none, or if rows go to the screen."""
    if word is None or word == "-":
        return None
    if not word.endswith(".json"):  # so that no problem file is overwritten by its own results
        fail(f"the results are written as .json, but --json is {word}; choose a name that ends in .json, or - to print")
    return Path(word)
