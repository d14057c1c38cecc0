"""The cases there are, read from the TOML files of `cases/`, and the one runner that measures all of them.

A table of a TOML file is a case. Its keys are those of `Case`, and

- `scene`: the name of a built-in scene, or the tables of a scene; `overrides` of its keys, and `computed` ones;
- `parameters`: numbers that expressions use; `runs`: parameters of several runs, by the names of the runs;
- `before`: names worked out before the scene is made; `start`: names worked out from the simulation at its start;
- `until`: the end of the run; without it nothing is simulated; `stop`: whether it ends after this frame;
- `frame`: columns, worked out after each frame later than `since` (default: all), with `first` also at the start;
- `after`: names worked out at the end; `values`: the numbers of the case; `curves`: pairs for its plot;
- `like`: another case of the file, from which everything that is not given is taken;
- `quick`, `full`: numbers of cells, or [cells, steps];
- `data`: published curves as `[[x…], [y…]]`, or an expression.

Names, columns, values and curves are Python expressions, in the order of the file. They see

- parameters and earlier names, `cells`, `steps`, `data` and `scene(overrides)`;
- `sim`, positions `x` and velocities `v` of its particles, its `time` and `dx`;
- after the run the columns as arrays, their times `t`, and the table of `probes`;
- `np`, `math`, `g`, and the functions of `measures.py` and `walls.py`.

`values` or `curves` may be one expression that returns all of them. A value with `{run}` in its name is worked out
after each run. The others see the names of the last run, and those of each run as its attributes: `sticky.top[-1]`.

So a new case is a new table and, if it measures something that takes more than an expression, a function.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import resources
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import NonstickError
from ..scenes.scene import Scene
from ..sim.liquid.simulation import Simulation
from . import measures, walls
from .case import Case, Curve, Measured, Published, Size
from .measures import frames

WORDS = {"np": np, "math": math, "g": measures.GRAVITY} | vars(measures) | vars(walls)


@dataclass(frozen=True)
class Measure:
    """Measures a case as its table says; `words` are the names that all its expressions see."""

    name: str
    table: Mapping[str, Any]
    words: Mapping[str, Any]
    data: Mapping[str, Curve]

    def __call__(self, size: Size, **parameters: Any) -> Measured:
        """Parameters can be given instead of those of the table."""
        asked = self.table["values"]
        found: dict[str, Any] = {}
        runs: dict[str, Any] = {}
        each = {} if isinstance(asked, str) else {key: text for key, text in asked.items() if "{run}" in key}
        for run, own in self.table.get("runs", {"": {}}).items():
            names = self.names(size, {**own, **parameters})
            if "until" in self.table:
                self._simulate(names)
            self._work_out("after", names)
            found |= {key.format(run=run): self._value(text, names) for key, text in each.items()}
            runs[run] = SimpleNamespace(**names)
        names |= runs
        return Measured(found | self._values(asked, names, each), self._values(self.table.get("curves", {}), names))

    def _values(self, asked: Any, names: Mapping[str, Any], without: Collection[str] = ()) -> dict[str, Any]:
        if isinstance(asked, str):
            return self._value(asked, names)
        return {key: self._value(text, names) for key, text in asked.items() if key not in without}

    def names(self, size: Size, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What expressions see before the run."""
        names = {**self.words, "cells": size.cells, "steps": size.steps, "data": self.data}
        names |= {**self.table.get("parameters", {}), **(parameters or {})}
        self._work_out("before", names)
        return names | {"scene": partial(self.scene, names)}

    def scene(self, names: Mapping[str, Any], overrides: Mapping[str, Any] | None = None) -> Scene:
        """The scene with as many cells along its longest side as the size says, and its steps; then with overrides."""
        keys = {"domain.resolution": names["cells"], "time.min_substeps": names["steps"]}
        keys |= self.table.get("overrides", {})
        keys |= {key: self._value(text, names) for key, text in self.table.get("computed", {}).items()}
        keys |= overrides or {}
        source = self.table["scene"]
        return Scene.load(source, keys) if isinstance(source, str) else Scene(source).replace(keys)

    def _simulate(self, names: dict[str, Any]) -> None:
        """Run the scene; afterwards the names have the last state and the columns."""
        simulation = names["sim"] = Simulation(self.scene(names))
        names["dx"] = simulation.scene.dx
        until, since = (self._value(self.table.get(key, -1.0), names) for key in ("until", "since"))
        columns: dict[str, list[Any]] = {key: [] for key in ("t", *self.table.get("frame", {}))}

        def state() -> dict[str, Any]:
            here: dict[str, Any] = {"time": simulation.time, "t": simulation.time}
            if simulation.scene.model.surface.track != "grid":
                here |= {"x": simulation.particles.position, "v": simulation.particles.velocity}
            return names | here

        def record() -> None:
            here = state()
            self._work_out("frame", here)
            for key, column in columns.items():
                column.append(here[key])

        names |= state()
        self._work_out("start", names)
        if self.table.get("first"):
            record()
        for _ in frames(simulation, until):
            if simulation.time > since:
                record()
            if "stop" in self.table and self._value(self.table["stop"], names | columns):
                break
        names |= state() | {"probes": simulation.probe_table()}
        names |= {key: np.array(of) if np.isscalar(of[0]) else of for key, of in columns.items()}

    def _work_out(self, key: str, names: dict[str, Any]) -> None:
        """The expressions of a table of the case, each of which sees those before it."""
        for name, text in self.table.get(key, {}).items():
            names[name] = self._value(text, names)

    def _value(self, text: Any, names: Mapping[str, Any]) -> Any:
        """Of an expression, or of each of a list; numbers are their own value."""
        if isinstance(text, list):
            return tuple(self._value(of, names) for of in text)
        return eval(compile(text, f"<case {self.name}>", "eval"), dict(names)) if isinstance(text, str) else text


def experiments() -> dict[str, Case]:
    """All cases by name, in alphabetical order.

    Examples
    --------
    >>> from nonstick.validation import experiments
    >>> experiments()["slosh"].title
    'Water sloshes in a tank: period of the first mode'
    """
    found: dict[str, Case] = {}
    for file in resources.files(__package__).joinpath("cases").iterdir():
        if file.name.endswith(".toml"):
            tables = tomllib.loads(file.read_text(encoding="utf-8"))
            for name, table in tables.items():
                if name in found:
                    raise NonstickError(f"two cases are called {name}: one of them is in {file.name}")
                found[name] = _case(name, _merged(tables[table["like"]], table) if "like" in table else table)
    return dict(sorted(found.items()))


def _case(name: str, table: Mapping[str, Any]) -> Case:
    keys = {key: table[key] for key in ("title", "citation", "about", "timeless") if key in table}
    data = {key: _curve(of) for key, of in table.get("data", {}).items()}
    return Case(
        name,
        published=tuple(Published(**{"text": number["key"], **number}) for number in table["published"]),
        measure=Measure(name, table, WORDS, data),
        quick=tuple(map(_size, table["quick"])),
        full=tuple(map(_size, table["full"])),
        axes=tuple(table.get("axes", ("", ""))),
        data=data,
        **keys,
    )


def _size(entry: int | list[int]) -> Size:
    return Size(*entry) if isinstance(entry, list) else Size(entry)


def _curve(entry: str | list[list[float]]) -> Curve:
    x, y = eval(entry, dict(WORDS)) if isinstance(entry, str) else entry
    return np.asarray(x), np.asarray(y)


def _merged(base: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The base, with what the table gives in its place; tables inside are merged as well, but for those of runs."""
    out = dict(base)
    for key, value in table.items():
        both = key not in ("values", "runs") and isinstance(value, Mapping) and isinstance(out.get(key), Mapping)
        out[key] = _merged(out[key], value) if both else value
    return out
