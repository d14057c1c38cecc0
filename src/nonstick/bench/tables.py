"""Tables of the papers as data, read from `papers/*.toml`.

A file holds the tables of one paper; its head says what they measure. A table has a description, default sizes and
methods, the numbers that the paper prints, figures, and parts. A part is one problem at all sizes: a static problem
(`problem`: a function of `problems`, or a case of `nonstick.cases`), or the problems of the run of a scene (`scene`).
Keys of a table hold for each of its parts, and a table may be `like` another one. The classes below name all keys.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from .. import cases
from ..problem.box import BoxProblem
from . import problems
from .row import Row

FOLDER = Path(__file__).with_name("papers")


@dataclass(frozen=True)
class Composed:
    """A method that is written in a table: a registered name, or an expression like `CG(ILU())`."""

    method: str
    #: its own tolerance; None: the one asked for
    rtol: float | None = None
    #: True if only the largest size is solved by it
    largest: bool = False


@dataclass(frozen=True)
class Part:
    """One problem of a table at all its sizes."""

    table: str
    name: str = ""
    #: the case of its rows; "{table}" and "{part}" are filled in
    case: str = "{table} {part}"

    #: a static problem, its options, and the size of the solve that compiles
    problem: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    warm: int = 16

    #: a run: its scene, keys of the scene, frames; True if viscosity is solved and not pressure
    scene: str = ""
    keys: Mapping[str, Any] = field(default_factory=dict)
    frames: int = 0
    viscous: bool = False
    #: what of the run is solved: the first substep of the last frame; of this many frames; of every k-th frame; or
    #: every substep, from this size on every (n // size)-th
    single: bool = False
    samples: int | None = None
    stride: int = 0
    substeps_skipped_from: int = 0
    #: True if solves start from the policy of the last substep
    policy: bool = False
    #: how often a short solve is repeated
    repeats: int = 3

    #: which of the sizes, "largest" or "smallest" (all by default), their divisor, and the largest number of cells
    once: str = ""
    divide: int = 1
    most: int = 10**9

    #: methods of its own by their labels; the sub-solver in them; fields that are changed in the table's methods
    compositions: Mapping[str, Any] = field(default_factory=dict)
    solver: str = ""
    change: Mapping[str, Any] = field(default_factory=dict)
    #: the part is omitted unless this method is asked for
    needs: str = ""
    #: the tolerance is at most this
    rtol: float = 1.0
    #: True if the abscissa of residuals is Newton steps, not inner iterations
    newton_steps: bool = False

    #: further numbers: "non-zeros", "digits", "fixed work", "substeps" or "phases"
    columns: str = ""
    #: label → the linear and the LCP method that are compared
    pairs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def sizes(self, sizes: Sequence[int]) -> list[int]:
        chosen = {"": sizes, "largest": (max(sizes),), "smallest": (min(sizes),)}[self.once]
        return [min(n if self.divide == 1 else max(n // self.divide, 8), self.most) for n in chosen]

    def build(self, n: int) -> BoxProblem:
        """The static problem at this size."""
        if self.problem in cases.names():
            return cases.build(self.problem, n, **self.options).problem
        return getattr(problems, self.problem)(n, **self.options)

    def wants(self, k: int, snapshot, n: int, frames: int, samples: int | None) -> bool:
        """Whether the k-th substep of the run is solved."""
        first, samples = snapshot.substep == 0, samples or self.samples
        if self.single:
            return first and snapshot.frame == frames
        if samples is not None:
            return first and snapshot.frame in problems.sampled_frames(frames, samples)
        if self.stride:
            return first and snapshot.frame % self.stride == 0
        return not self.substeps_skipped_from or k % max(n // self.substeps_skipped_from, 1) == 0


@dataclass(frozen=True)
class Table:
    """One table of a paper."""

    name: str
    description: str
    sizes: Sequence[int]
    parts: tuple[Part, ...]
    #: methods by default; a table without any has its own in its parts
    methods: Sequence[str] = ()
    published: Sequence[Mapping[str, Any]] = ()
    figures: Sequence[Mapping[str, Any]] = ()
    #: "volume" or "momentum": a run is measured, no method; label → keys of its scene
    measure: str = ""
    walls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: a line of `nonstick bench --help`, and minutes on a quiet machine with two cores at the default sizes
    help: str = ""
    minutes: int = 0


@cache
def tables() -> dict[str, Table]:
    """Every table by its name."""
    found = {}
    for file in sorted(FOLDER.glob("*.toml")):
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        shared = content.pop("compositions", {})
        del content["title"]
        for name in content:
            found[name] = _table(name, content, shared)
    return found


def _table(name: str, content: Mapping[str, Any], shared: Mapping[str, Any]) -> Table:
    keys = dict(content[name])
    if "like" in keys:
        other = {key: value for key, value in content[keys.pop("like")].items() if key not in ("published", "parts")}
        keys = other | keys
    parts = keys.pop("parts", {"": {}})
    own = {key: keys.pop(key) for key in [field.name for field in fields(Table)] if key in keys}

    def part(title: str, special: Mapping[str, Any]) -> Part:
        of = {**keys, **special}
        if isinstance(of.get("compositions"), str):
            of["compositions"] = shared[of["compositions"]]
        of["case"] = of.get("case", Part.case).format(table=name, part=title).strip()
        return Part(name, title, **of)

    return Table(name=name, parts=tuple(part(title, special) for title, special in parts.items()), **own)


def published(table: str) -> list[Row]:
    """The rows that the paper prints: one for each size and method that has a number there.

    A quantity of a table has a list of numbers for each size, in the order of `methods`, "-" where the paper has none,
    or one number for all methods. Quantities that a row does not have are `extra`.
    """
    rows = []
    known = {field.name for field in fields(Row)}
    for block in tables()[table].published:
        case = f"{table} {block.get('part', '')}".strip() + " (published)"
        quantities = {key: value for key, value in block.items() if isinstance(value, dict)}
        sizes = sorted({int(n) for of in quantities.values() for n in of})
        for n in sizes:
            for k, method in enumerate(block["methods"]):
                values: dict[str, Any] = {}
                for key, of in quantities.items():
                    given = of.get(str(n), ())
                    value = given if not isinstance(given, list | tuple) else given[k] if k < len(given) else "-"
                    if value != "-" and value != ():
                        values[key] = value
                if not values.keys() - {"unknowns"}:
                    continue
                if diverged := values.get("iterations") == "diverged":
                    values = {"reason": "the paper: diverged", "must_converge": False}
                extra = {key: values.pop(key) for key in list(values) if key not in known}
                if "T_s" in extra:
                    values["seconds"] = extra["T_s"] / extra["s"]
                values = {"unknowns": None, "threads": block.get("threads"), **values}
                rows.append(Row(case, n, method=method, converged=not diverged, extra=extra, **values))
    return rows


def nested(method: str) -> bool:
    """True if outer iterations differ from iterations."""
    return method.startswith(("pi-", "pe-", "newton"))
