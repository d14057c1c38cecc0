"""The runs of a case and what follows from them: errors, observed order, verdict; and their file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from ..bench.row import version
from ..errors import NonstickError
from ..files.atomic import write_text
from .case import Case, Curve, Published, Size

#: an error below this is rounding, and has no order
ROUNDING = 1e-10


@dataclass
class CaseRun:
    """One run of a case."""

    size: Size
    values: dict[str, float]
    #: processor time
    seconds: float = 0.0
    curves: Mapping[str, Curve] = field(default_factory=dict)


@dataclass
class Result:
    """All runs of a case, coarse ones first."""

    case: Case
    full: bool
    runs: list[CaseRun]
    #: version of the code that ran it
    version: str = field(default_factory=version)

    @property
    def last(self) -> CaseRun:
        """The run that is judged."""
        return self.runs[-1]

    def passed(self, number: Published | None = None) -> bool:
        """True if a number, or every number, of the last run is close enough to the published one."""
        numbers = self.case.published if number is None else (number,)
        return all(n.passes(self.last.values[n.key], self.full) for n in numbers)

    def order(self, number: Published) -> float:
        """Observed order: how fast the error falls with the size of the cells.

        NaN for fewer than three grids, where an error is that of rounding, and where all of them are chance.

        The slope of a line through the logarithms of errors and sizes, over runs with the case's own steps.
        """
        pairs = [(r.size.cells, abs(number.error(r.values[number.key]))) for r in self.runs if r.size.steps == 1]
        pairs = [(n, e) for n, e in pairs if np.isfinite(e)]
        if len({n for n, _ in pairs}) < 3 or min(e for _, e in pairs) < ROUNDING:
            return float("nan")
        if max(e for _, e in pairs) < number.scatter:
            return float("nan")
        cells, errors = np.log(np.array(pairs)).T
        return -float(np.polyfit(cells, errors, 1)[0])


def run_case(case: Case, full: bool, told: Callable[[Size, CaseRun | None], None] = lambda size, run: None) -> Result:
    """CaseRun a case on all its sizes; `told` is called with each size before its run, and with the run after it."""
    runs = []
    for size in case.full if full else case.quick:
        told(size, None)
        began = process_time()
        found = case.measure(size)
        values = {key: float(value) for key, value in found.values.items()}
        missing = [n.key for n in case.published if n.key not in values]
        if missing:
            raise NonstickError(f"the case {case.name} measured no {missing[0]!r}: its file in cases/ is wrong")
        runs.append(CaseRun(size, values, process_time() - began, found.curves))
        told(size, runs[-1])
    return Result(case, full, runs)


def save(path: Path, results: Mapping[str, Result]) -> None:
    """Write the numbers of results as JSON; results of other cases that the file holds already stay."""
    kept = _read(path)
    for name, result in results.items():
        kept[name] = {
            "full": result.full,
            "passed": result.passed(),
            "version": result.version,
            "runs": [
                {"cells": r.size.cells, "steps": r.size.steps, "seconds": round(r.seconds, 1), "values": r.values}
                for r in result.runs
            ],
        }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(dict(sorted(kept.items())), indent=1) + "\n")


def load(path: Path, cases: Mapping[str, Case]) -> dict[str, Result]:
    """The results of known cases in a file of `save`."""
    out = {}
    for name, entry in _read(path).items():
        if name in cases:
            runs = [
                CaseRun(Size(r["cells"], r["steps"]), r["values"], float(r.get("seconds", 0.0))) for r in entry["runs"]
            ]
            if all(n.key in r.values for n in cases[name].published for r in runs):
                out[name] = Result(cases[name], entry["full"], runs, entry.get("version", "unknown"))
    return out


def done(path: Path, cases: Mapping[str, Case], full: bool) -> dict[str, Result]:
    """The results in a file of `save` that this version of the code found, with the sizes that are asked for."""
    out = {}
    for name, result in load(path, cases).items():
        sizes = cases[name].full if full else cases[name].quick
        if result.version == version() and [run.size for run in result.runs] == list(sizes):
            out[name] = result
    return out


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError:
        raise NonstickError(f"{path} is damaged: delete it, and run the cases again") from None
