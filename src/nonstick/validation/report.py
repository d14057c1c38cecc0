"""The page and the plots of validation results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..pictures.render.charts import finish, new_figure
from .case import Published
from .results import Result

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


def order(result: Result, published: Published) -> str:
    """The observed order with one digit, or a dash."""
    found = result.order(published)
    return "–" if math.isnan(found) else f"{found:.1f}"


def rows(name: str, result: Result) -> list[list[str]]:
    """The line of each number of a case, in the columns of `COLUMNS`."""
    out = []
    for n in result.case.published:
        value = result.last.values[n.key]
        found = [number(value, n.unit), number(n.value, n.unit), percent(n.error(value))]
        out.append([name, n.text, *found, f"{100 * n.allowed(result.full):.3g} %", order(result, n)])
        out[-1].append("pass" if result.passed(n) else "FAIL")
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
