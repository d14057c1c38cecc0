"""The runs of a case and what follows from them: errors, observed order, verdict; their file, page and plots."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from ..bench.row import version
from ..core.optional import missing
from ..errors import NonstickError
from ..files.atomic import write_text
from ..pictures.render.charts import finish, new_figure
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
        absent = [n.key for n in case.published if n.key not in values]
        if absent:
            raise NonstickError(f"the case {case.name} measured no {absent[0]!r}: its file in cases/ is wrong")
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


# -- the page and the plots ---------------------------------------------------------------------------

HEAD = """# Measured: published experiments

This page is written by `nonstick validate --out docs/measurements`, which runs all cases at quick sizes, or with
`--full` at full sizes. A run that was stopped goes on with `--resume`. Full cases run on three grids or more, and on
one of them with steps of half the length. The last line of a table is judged. The error is (measured − published) /
scale; the scale is the published number, and 1 where that is zero or a share. The order is the slope of the error over
the size of the cells, on a logarithmic scale; without a steady trend it says little.

The allowed errors of quick sizes were set with quick results at hand, wide enough to pass: they notice a change and say
nothing about accuracy. For that, look at the errors themselves, and at full sizes.
"""

COLUMNS = ("case", "quantity", "measured", "published", "error", "allowed", "order", "")


def number(value: float, unit: str = "") -> str:
    """A number with four digits."""
    return f"{value:.4g}" + (f" {unit}" if unit else "")


def percent(value: float) -> str:
    """A share in percent; small ones with their power of ten."""
    share = 100.0 * value
    return f"{share:+.2f} %" if abs(share) >= 0.005 or share == 0.0 else f"{share:+.0e} %"


def rows(name: str, result: Result) -> list[list[str]]:
    """The line of each number of a case, in the columns of `COLUMNS`."""
    out = []
    for n in result.case.published:
        value = result.last.values[n.key]
        found = [number(value, n.unit), number(n.value, n.unit), percent(n.error(value))]
        order = "–" if math.isnan(result.order(n)) else f"{result.order(n):.1f}"
        verdict = "pass" if result.passed(n) else "FAIL"
        out.append([name, n.text, *found, f"{100 * n.allowed(result.full):.3g} %", order, verdict])
    return out


def page(results: Mapping[str, Result], pictures: str) -> str:
    """The page of all results in Markdown; `pictures` is the folder of the plots, relative to the page."""
    table = [f"| {' | '.join(COLUMNS)} |".replace("  ", " "), "|---" * len(COLUMNS) + "|"]
    for name, result in sorted(results.items()):
        table += [f"| {' | '.join(cells)} |" for cells in rows(f"[{name}](#{name})", result)]
    parts = [HEAD, _origin(results), "\n".join(table) + "\n"]
    parts += [_section(name, result, pictures) for name, result in sorted(results.items())]
    return "\n".join(parts)


def _origin(results: Mapping[str, Result]) -> str:
    """Which version of the code found the results, and how long it took."""
    cases: dict[str, list[str]] = {}
    for name, result in sorted(results.items()):
        cases.setdefault(result.version, []).append(name)
    minutes = sum(run.seconds for result in results.values() for run in result.runs) / 60.0
    full = sum(result.full for result in results.values())
    text = f"{len(results)} cases, {full} of them at full sizes, {minutes:.0f} minutes of processor time. "
    if len(cases) == 1:
        return text + f"All were run by version {next(iter(cases))}.\n"
    return text + "".join(f"Version {v} ran {', '.join(names)}. " for v, names in sorted(cases.items())).rstrip() + "\n"


def _section(name: str, result: Result, pictures: str) -> str:
    case = result.case
    head = " | ".join(f"{n.text}{f' ({n.unit})' if n.unit else ''} | error" for n in case.published)
    lines = [f"| size | {head} |", "|---" * (1 + 2 * len(case.published)) + "|"]
    for run in result.runs:
        cells = [str(run.size)]
        for n in case.published:
            value = run.values[n.key]
            cells += [number(value), percent(n.error(value))]
        lines.append(f"| {' | '.join(cells)} |")
    size = "full" if result.full else "quick"
    seconds = sum(run.seconds for run in result.runs)
    return (
        f"## {name}\n\n{case.title}. {case.citation}. Sizes: {size}, {seconds:.0f} s of processor time.\n\n"
        + "\n".join(lines)
        + "\n\n"
        f"![{case.title}]({pictures}/{name}.png)\n"
    )


def plot(path: Path, result: Result) -> None:
    """Curves of all runs beside the published ones, and errors over the size of the grid."""
    case = result.case
    curved = any(run.curves for run in result.runs) or bool(case.data)
    figure, axes = new_figure(1 + curved, 2)
    if curved:
        for run in result.runs:
            for name, (x, y) in run.curves.items():
                style = "-" if run.size.steps == 1 else "--"
                axes[0].plot(
                    x, y, style, lw=1.2, label=f"{run.size}" if len(run.curves) == 1 else f"{name}, {run.size}"
                )
        for name, (x, y) in case.data.items():
            axes[0].plot(x, y, "k--" if len(x) > 30 else "kD", lw=1.0, mfc="white", ms=5, label=name)
        axes[0].set(xlabel=case.axes[0], ylabel=case.axes[1], title=case.name)
        axes[0].legend(fontsize=7)
        axes[0].grid(alpha=0.25)
    panel = axes[-1]
    for n in case.published:
        for steps, mark in ((1, "o-"), (2, "s")):
            runs = [r for r in result.runs if r.size.steps == steps]
            sizes = [r.size.cells for r in runs]
            errors = [max(abs(n.error(r.values[n.key])), 1e-12) for r in runs]
            if runs:
                label = n.text if steps == 1 else f"{n.text}, steps / 2"
                panel.loglog(sizes, errors, mark, ms=4, lw=1.2, label=label, mfc=None if steps == 1 else "white")
    grids = sorted({r.size.cells for r in result.runs})
    if len(grids) > 1:
        low, high = panel.get_ylim()
        guide = np.sqrt(low * high) * (grids[0] / np.array(grids, float)) ** 2
        panel.loglog(grids, guide, ":", color="0.6", lw=1.0, label="second order")
    panel.set_xticks(grids, [str(n) for n in grids])
    panel.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    panel.set(xlabel="cells", ylabel="size of the error, relative", title="error")
    panel.legend(fontsize=7, loc="lower left")
    panel.grid(alpha=0.25)
    finish(figure, path)


def write(name: str, result: Result, known: Mapping[str, Case], out: Path) -> None:
    """Page, plot and numbers of a case; other cases of earlier calls stay on the page."""
    folder = out / "validation"
    save(folder / "results.json", {name: result})
    if missing("pictures", "matplotlib") is None:
        plot(folder / f"{name}.png", result)
    write_text(out / "validation.md", page(load(folder / "results.json", known), "validation"))
