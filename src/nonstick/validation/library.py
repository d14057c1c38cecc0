"""The cases there are, read from the TOML files of `cases/`, and what a measure gets to work with.

Beside every TOML file lies a Python file of the same name with the functions that measure, and exact solutions that are
curves. A table of the TOML file is a case. Its keys are those of `Case`, and

- `measure`: the function, and `parameters`: what it is called with;
- `scene`: the name of a built-in scene, or the tables of a scene; and `overrides` of its keys;
- `like`: another case of the file, from which everything that is not given is taken;
- `quick`, `full`: numbers of cells, or [cells, steps];
- `data`: curves as `[[x…], [y…]]`, or the name of a function that returns one.

So a new case is a new table and, if nothing there measures it yet, a function.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module, resources
from typing import Any

import numpy as np

from ..errors import NonstickError
from ..scenes.scene import Scene
from ..sim.liquid.simulation import Simulation
from .case import Case, Curve, Measured, Published, Size


@dataclass(frozen=True)
class Setup:
    """The scene of a case at one size, and its published curves: what a measure gets."""

    table: Mapping[str, Any]
    data: Mapping[str, Curve]
    size: Size

    @property
    def cells(self) -> int:
        return self.size.cells

    @property
    def steps(self) -> int:
        return self.size.steps

    def scene(self, overrides: Mapping[str, Any] | None = None) -> Scene:
        """The scene with as many cells along its longest side as the size says, and its steps; then with overrides."""
        keys = {"domain.resolution": self.cells, "time.min_substeps": self.steps, **self.table.get("overrides", {})}
        keys.update(overrides or {})
        source = self.table["scene"]
        return Scene.load(source, keys) if isinstance(source, str) else Scene(source).replace(keys)

    def simulation(self, overrides: Mapping[str, Any] | None = None) -> Simulation:
        """A simulation of this scene, at its first frame."""
        return Simulation(self.scene(overrides))


def frames(simulation: Simulation, until: float) -> Iterator[list[dict[str, Any]]]:
    """Run frame by frame up to a time; the rows of statistics of every frame."""
    while simulation.time < until - 1e-9:
        yield simulation.next_frame()


def record(
    simulation: Simulation,
    until: float,
    measure: Callable[[Simulation], Any] = lambda simulation: (),
    since: float = -1.0,
    first: bool = False,
) -> tuple[np.ndarray, list[Any]]:
    """Run up to a time: times and what `measure` says, of all frames after `since`, and with `first` of the start."""
    times, found = ([simulation.time], [measure(simulation)]) if first else ([], [])
    for _ in frames(simulation, until):
        if simulation.time > since:
            times.append(simulation.time)
            found.append(measure(simulation))
    return np.array(times), found


def surface(simulation: Simulation) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    """Columns of cells with a surface (their indices), the highest liquid cell of each, and heights in cells."""
    phi = np.moveaxis(simulation.grid.level_set, 1, -1)
    crossing = (phi[..., :-1] < 0) & (phi[..., 1:] >= 0)
    columns = np.nonzero(crossing.any(axis=-1))
    j = crossing.shape[-1] - 1 - np.argmax(crossing[columns][:, ::-1], axis=-1)
    below, above = phi[(*columns, j)], phi[(*columns, j + 1)]
    return columns, j, j + 0.5 + below / (below - above)


@dataclass(frozen=True)
class Measure:
    """A function of `cases/` with what the table of a case gives it; parameters can be given instead of its own."""

    function: Callable[..., Measured]
    table: Mapping[str, Any]
    data: Mapping[str, Curve]

    def __call__(self, size: Size, **parameters: Any) -> Measured:
        return self.function(self.setup(size), **{**self.table.get("parameters", {}), **parameters})

    def setup(self, size: Size) -> Setup:
        return Setup(self.table, self.data, size)


def experiments() -> dict[str, Case]:
    """All cases by name, in alphabetical order.

    Examples
    --------
    >>> from nonstick.validation import experiments
    >>> experiments()["slosh"].title
    'Water sloshes in a tank: period of the first mode'
    """
    found: dict[str, Case] = {}
    package = f"{__package__}.cases"
    for file in resources.files(package).iterdir():
        if file.name.endswith(".toml"):
            tables = tomllib.loads(file.read_text(encoding="utf-8"))
            module = import_module(f"{package}.{file.name[:-5]}")
            for name, table in tables.items():
                if name in found:
                    raise NonstickError(f"two cases are called {name}: one of them is in {file.name}")
                found[name] = _case(name, _merged(tables[table["like"]], table) if "like" in table else table, module)
    return dict(sorted(found.items()))


def _case(name: str, table: Mapping[str, Any], module: Any) -> Case:
    keys = {key: table[key] for key in ("title", "citation", "about", "timeless") if key in table}
    data = {key: _curve(curve, module) for key, curve in table.get("data", {}).items()}
    return Case(
        name,
        published=tuple(Published(**{"text": number["key"], **number}) for number in table["published"]),
        measure=Measure(getattr(module, table["measure"]), table, data),
        quick=tuple(map(_size, table["quick"])),
        full=tuple(map(_size, table["full"])),
        axes=tuple(table.get("axes", ("", ""))),
        data=data,
        **keys,
    )


def _size(entry: int | list[int]) -> Size:
    return Size(*entry) if isinstance(entry, list) else Size(entry)


def _curve(entry: str | list[list[float]], module: Any) -> Curve:
    x, y = getattr(module, entry)() if isinstance(entry, str) else entry
    return np.asarray(x), np.asarray(y)


def _merged(base: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The base, with what the table gives in its place; tables inside are merged as well, arrays are not."""
    out = dict(base)
    for key, value in table.items():
        both = isinstance(value, Mapping) and isinstance(out.get(key), Mapping)
        out[key] = _merged(out[key], value) if both else value
    return out
