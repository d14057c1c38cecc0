"""Figures of tables: outer iterations, convergence, phases, volume over time, from what a runner has found.

A function from `beside` on takes the runner, the entry of the table and a size, and returns a `Chart`; its name is the
`figure` of the entry. A figure has panels, and a panel a list of marks: functions that draw on its axes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import registry
from ..pictures.render.charts import COLOURS, finish, new_figure
from . import problems, tables
from .row import Row, Trace, quartiles

if TYPE_CHECKING:
    from .runner import Runner, Solve

Of = Mapping[str, Any]
Mark = Callable[[Any], Any]

#: the height at which a residual of zero is drawn
FLOOR = 1e-16
#: line styles in turn, so that a curve under another one is visible
STYLES = ("-", "--", "-.", ":")
BAND = COLOURS[0]
#: the style of numbers from the paper
PAPER: dict[str, Any] = {"marker": "D", "mfc": "white", "ls": "none", "zorder": 5}
RESIDUAL = "residual relative to max|b|"
SIZE = "cells along a side"
LOG_Y, LOG_BOTH = ("linear", "log"), ("log", "log")


@dataclass
class Chart:
    """Panels by their titles; x is a label, or one for each title."""

    panels: Mapping[str, Sequence[Mark]]
    x: str | Mapping[str, str]
    y: str
    columns: int = 3
    #: True if all panels have the same axes
    share: bool = False
    heading: str = ""
    #: ticks of an axis of sizes
    sizes: Collection[int] = ()
    scales: tuple[str, str] = ("linear", "linear")

    def draw(self, path: Path) -> bool:
        """True if there was something to draw.

        Panels with the same curves have one legend beside them, where it covers no curve.
        """
        panels = {title: marks for title, marks in self.panels.items() if marks}
        if not panels:
            return False
        figure, all_axes = new_figure(len(panels), self.columns, self.share)
        for k, (axes, (title, marks)) in enumerate(zip(all_axes, panels.items())):
            axes.set(title=title, ylabel=self.y if k % self.columns == 0 else "")
            axes.set(xscale=self.scales[0], yscale=self.scales[1])
            axes.grid(alpha=0.25)
            for mark in marks:
                mark(axes)
            if self.sizes:
                axes.set_xticks(sorted(self.sizes), [str(n) for n in sorted(self.sizes)])
                axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
            if not self.share or k + self.columns >= len(panels):
                axes.set_xlabel(self.x if isinstance(self.x, str) else self.x.get(title, "iterations"))
        labels = [axes.get_legend_handles_labels() for axes in all_axes]
        if len(panels) > 1 and len({tuple(names) for _, names in labels}) == 1:
            figure.legend(*labels[0], loc="outside right upper", fontsize=8)
        else:
            for axes, (_, names) in zip(all_axes, labels):
                if names:
                    axes.legend(fontsize=7)
        figure.suptitle(self.heading, fontsize=11)
        return finish(figure, path)


# -- marks --------------------------------------------------------------------------------------------


def _line(x: Any, y: Any, **how: Any) -> Mark:
    return lambda axes: axes.plot(list(x), list(y), **how)[0]


def _residuals(trace: Trace | np.ndarray, style: str, label: str | None = None) -> Mark:
    k, residual = np.array(trace, float).T
    return _line(k, np.maximum(residual, FLOOR), ls=style, marker="." if len(k) < 40 else "", lw=1.2, label=label)


def _band(traces: Sequence[Trace]) -> Mark:
    """Range, quartiles and median over many solves."""
    k, values = quartiles(traces)
    low, first, median, third, high = np.maximum(values, FLOOR)

    def mark(axes) -> None:
        axes.fill_between(k, low, high, color=BAND, alpha=0.15, lw=0, step="post", label="smallest to largest")
        axes.fill_between(k, first, third, color=BAND, alpha=0.35, lw=0, step="post", label="quartiles")
        axes.step(k, median, where="post", color=BAND, label="median")

    return mark


# -- what has been found ------------------------------------------------------------------------------


def draw(run: Runner, of: Of) -> None:
    """A figure of a table; one for each size, if `{n}` stands in its name."""
    name = of.get("name", "")
    for n in (_sizes(run, of) or run.plan.sizes) if "{n}" in name else (max(run.plan.sizes),):
        figure: Chart = globals()[of["figure"]](run, of, n)
        run.plan.draw("-".join(filter(None, (run.table.name, name.format(n=n)))), figure.draw)


def volume_change(curve: np.ndarray) -> np.ndarray:
    """In percent."""
    return 100 * (curve[:, 1] / curve[0, 1] - 1)


def mean_of(notes: Sequence[Mapping[str, float]], key: str) -> float:
    return float(np.mean([note[key] for note in notes]))


def _unit(method: str, newton_steps: bool = False) -> str:
    if newton_steps and method.startswith("newton"):
        return "Newton steps"
    if method.startswith(("fas-mg", "fmg", "pi-mg", "pe-mg")) or method in ("auto", "mg-cg"):
        return "cycles"
    entry = registry.entries().get(method)
    return "CG iterations" if entry is not None and entry.converges else "iterations"


def _sizes(run: Runner, of: Of) -> list[int]:
    return list(dict.fromkeys(s.n for s in run.solves if s.part.name == of.get("part", s.part.name)))


def _by_method(run: Runner, of: Of, n: int, value: Callable[[Solve], Any] = lambda s: s.trace) -> dict[str, list[Any]]:
    """What the solves of one size have, residuals by default; methods without anything are left out."""
    found: dict[str, list[Any]] = {}
    for s in run.solves:
        if s.n == n and s.part.name == of.get("part", s.part.name) and (kept := value(s)) not in (None, []):
            found.setdefault(s.method, []).append(kept)
    return _by_kind(found, of)


def _by_kind(found: dict[str, Any], of: Of) -> dict[str, Any]:
    """Of pairs, linear solves first, then the LCP solves below them."""
    labels = list(found)
    return {label: found[label] for label in labels[::2] + labels[1::2]} if of.get("pairs") else found


def _by_size(rows: Sequence[Row], case: str, quantity: str) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        value = row.extra.get(quantity, getattr(row, quantity, None))
        if row.case == case and value is not None:
            found.setdefault(row.method, {})[row.n] = value
    return found


def _of_run(run: Runner, text: str) -> str:
    return text.format(scene=run.parts[0].scene, frames=run.plan.frames or run.parts[0].frames)


# -- figures ------------------------------------------------------------------------------------------


def beside(run: Runner, of: Of, n: int) -> Chart:
    """The table as a figure: a quantity against the size, ours and the paper's, a panel per method."""
    name, quantity = run.table.name, of.get("quantity", "iterations")
    ours = _by_size(run.rows, name, quantity)
    paper: dict[str, dict[int, float]] = {method: {} for method in ours}
    paper |= _by_size(tables.published(name), f"{name} (published)", quantity)
    panels = {
        method: [
            _line(paper[method], paper[method].values(), color=COLOURS[5], **{**PAPER, "ls": "--"}, label="paper"),
            _line(found, found.values(), color=BAND, marker="o", label="ours"),
        ]
        for method, found in ours.items()
    }
    sizes = {n for method, found in ours.items() for n in (*found, *paper[method])}
    positive = all(value > 0 for found in ours.values() for value in found.values())
    scales, title = LOG_BOTH if positive else ("log", "linear"), _of_run(run, of["title"])
    return Chart(panels, SIZE, quantity, of.get("columns", 4), True, title, sizes, scales)


def histogram(run: Runner, of: Of, n: int) -> Chart:
    """Outer iterations per solve (Lai, figure 5.5)."""
    outer = _by_method(run, of, n, lambda s: s.row.outer_iterations)
    outer = {method: counts for method, counts in outer.items() if tables.nested(method)}

    def bars(axes) -> None:
        largest = int(max(map(max, outer.values())))
        top = min(12, largest)
        width, places = 0.8 / len(outer), np.arange(top + 1)
        for k, (name, values) in enumerate(outer.items()):
            counts = np.bincount(np.minimum(np.array(values, int), top), minlength=top + 1)
            axes.bar(places + (k - 0.5 * (len(outer) - 1)) * width, counts, width, label=name)
        axes.set_xticks(places, [*map(str, places[:-1]), f"≥ {top}" if largest > top else str(top)])

    title = _of_run(run, f"{{scene}} at {n}: {{frames}} frames")
    return Chart({title: [bars] if outer else []}, "outer iterations", "pressure solves")


def spread(run: Runner, of: Of, n: int) -> Chart:
    """Residuals over many solves: range, quartiles and median (Andersen, figures 8 and 11)."""
    traces = {f"{method} ({len(found)} solves)": found for method, found in _by_method(run, of, n).items()}
    units = {title: _unit(title.split(" (")[0], run.parts[0].newton_steps) for title in traces}
    return Chart({title: [_band(found)] for title, found in traces.items()}, units, RESIDUAL, scales=LOG_Y)


def solves(run: Runner, of: Of, n: int, shown: int = 12) -> Chart:
    """Curves of some solves, and beside them the distribution of all solves (Andersen, figure 8).

    Solves without iterations (liquid in free fall) are omitted.
    """
    panels: dict[str, list[Mark]] = {}
    for size in _sizes(run, of):
        for method, traces in _by_method(run, of, size, lambda s: s.trace[1:] and s.trace).items():
            chosen = np.unique(np.linspace(0, len(traces) - 1, shown).round().astype(int))
            title, some = f"{method}, {size}³", zip(cycle(STYLES), chosen)
            panels[f"{title}: {len(chosen)} solves"] = [_residuals(traces[k], style) for style, k in some]
            panels[f"{title}: all {len(traces)} solves"] = [_band(traces)]
    return Chart(panels, "Newton steps", RESIDUAL, columns=2, scales=LOG_Y)


def medians(run: Runner, of: Of, n: int) -> Chart:
    """Median residuals of several settings (Andersen, figures 16 and 17).

    A panel per size has the settings that all sizes have; with `largest` there is only the largest size, whose many
    settings are drawn in shades of one colour scale.
    """
    found = {size: _by_method(run, of, size) for size in _sizes(run, of)}
    largest = of.get("largest", False)
    chosen = set(found[n]) if largest else set.intersection(*map(set, found.values()))

    def shades(axes) -> None:
        from matplotlib import colormaps

        axes.set_prop_cycle(color=list(colormaps["viridis"](np.linspace(0.0, 0.9, len(chosen)))))

    def median(traces: Sequence[Trace], style: str, label: str) -> Mark:
        k, values = quartiles(traces)
        curve = _residuals(np.stack([k, values[2]], axis=1), style, label)
        edges = np.maximum(values[[1, 3]], FLOOR)
        if largest:
            return curve
        return lambda axes: axes.fill_between(k, *edges, color=curve(axes).get_color(), alpha=0.15, lw=0)

    panels = {
        f"{size}²": [shades] * largest
        + [median(of[name], style, name) for style, name in zip(cycle(STYLES), (m for m in of if m in chosen))]
        for size, of in found.items()
        if size == n or not largest
    }
    return Chart(panels, "Newton steps", f"median {RESIDUAL}", scales=LOG_Y)


def phases(run: Runner, of: Of, n: int) -> Chart:
    """Seconds of each phase against the size, a panel per method (Andersen, figure 10)."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for row in run.rows:
        if row.case == run.table.name and row.seconds is not None:
            notes, setup = run.notes[of["part"], row.n], row.setup_seconds or 0.0
            parts = {
                "initialisation": mean_of(notes, "initialisation"),
                "setup": setup,
                "computation": row.seconds - setup,
                "finalisation": mean_of(notes, "finalisation"),
            }
            for name, seconds in parts.items():
                found.setdefault(row.method, {}).setdefault(name, {})[row.n] = max(seconds, 1e-6)
    panels = {
        method: [_line(by, by.values(), marker="o", ms=4, label=name) for name, by in parts.items()]
        for method, parts in _by_kind(found, of).items()
    }
    return Chart(panels, SIZE, "seconds per step", share=True, sizes=_sizes(run, of), scales=LOG_BOTH)


def by_size(run: Runner, of: Of, n: int) -> Chart:
    """Seconds against the size (Lai, figure 5.11)."""
    seconds = _by_size(run.rows, run.table.name, "seconds")
    curves = {name: seconds[method] for name, method in of["curves"].items() if method in seconds}
    marks = [
        _line(by, by.values(), ls=style, marker=marker, label=name)
        for style, marker, (name, by) in zip(cycle(STYLES), cycle("os^v"), curves.items())
    ]
    sizes = {n for by in curves.values() for n in by}
    return Chart({of["title"]: marks}, SIZE, "seconds", sizes=sizes, scales=LOG_BOTH)


def convergence(
    panels: Mapping[str, Mapping[str, Trace]],
    unit: Mapping[str, str] | str,
    paper: Mapping[str, Mapping[str, float]],
    goal: float,
    log: bool = False,
) -> Chart:
    """Residual against iterations, a panel per study (Lai, figure 5.10; Andersen, figures 12-14).

    `paper` holds, for each panel, the counts that the paper needed to reach its tolerance. They are diamonds at the
    height of `goal`, if they fit in, and numbers in the legend. `log` is for methods whose counts differ by orders of
    magnitude.
    """

    def curve(trace: Trace, style: str, name: str, count: float | None, longest: float) -> Mark:
        line = _residuals(trace, style, name if count is None else f"{name} (paper: {count:g})")
        if count is None or count > 3 * longest:
            return line
        return lambda axes: axes.plot(count, goal, color=line(axes).get_color(), **PAPER)

    marks: dict[str, list[Mark]] = {}
    for title, found in panels.items():
        counts, curves = paper.get(title, {}), {name: trace for name, trace in found.items() if trace}
        longest = max((k for trace in curves.values() for k, _ in trace), default=0)
        turn = zip(cycle(STYLES), curves.items())
        marks[title] = [curve(trace, style, name, counts.get(name), longest) for style, (name, trace) in turn]
        if any(name in counts for name in curves):
            marks[title].append(lambda axes: axes.axhline(goal, color="0.6", lw=0.8, zorder=0))
    columns = 2 if sum(map(bool, marks.values())) == 4 else 3
    return Chart(marks, unit, RESIDUAL, columns, scales=("log" if log else "linear", "log"))


def single(run: Runner, of: Of, n: int) -> Chart:
    """Methods that count cycles, and the others."""
    name = run.table.name
    counts = _by_size(tables.published(name), f"{name} (published)", "iterations")
    title, others = _of_run(run, f"{{scene}} at {n}, frame {{frames}}"), "inner iterations of the others"
    panels: dict[str, dict[str, Trace]] = {title: {}, others: {}}
    for method, traces in _by_method(run, of, n).items():
        panels[title if _unit(method) == "cycles" else others][method] = traces[0]
    printed = {method: of_n[n] for method, of_n in counts.items() if n in of_n}
    units = {title: "cycles", others: "CG iterations"}
    return convergence(panels, units, dict.fromkeys(panels, printed), run.plan.rtol)


def curves(run: Runner, of: Of, n: int) -> Chart:
    """Residual curves in panels: those of a `part` and a `method`, at the largest size or at all."""
    panels: dict[str, dict[str, Trace]] = {}
    paper: dict[str, dict[str, float]] = {}
    for panel in of["panels"]:
        title = panel["title"].format(n=n)
        for s in run.solves:
            fits = fnmatch(s.part.name, panel["part"]) and s.method == panel.get("method", s.method)
            fits &= s.n == n or panel.get("sizes") == "all"
            fits &= s.part.solver in panel.get("solvers", (s.part.solver,))
            if fits and len(s.trace) <= of.get("longest", len(s.trace)):
                label = panel["curve"].format(method=s.method, solver=s.part.solver, n=s.n)
                panels.setdefault(title, {})[label] = s.trace
        if panel["curve"] == "{method}":
            paper[title] = {
                r.method: float(r.iterations or 0)
                for r in tables.published(run.table.name)
                if r.n == n and r.case.startswith(f"{run.table.name} {panel['part']} (")
            }
    return convergence(panels, of.get("unit", "iterations"), paper, run.plan.rtol, of.get("log", False))


def profile(run: Runner, of: Of, n: int) -> Chart:
    """Seconds of a solve over the frames of a run (Takahashi–Batty, figures 5, 7, 9)."""
    part, plan = run.parts[0], run.plan
    frames = problems.sampled_frames(plan.frames or part.frames, plan.samples or part.samples or 1)
    found = _by_method(run, of, n, lambda s: s.row.seconds or np.nan)
    marks = [_line(frames[: len(of)], of, marker=".", label=name) for name, of in found.items()]
    return Chart({"": marks}, "frame", "seconds", scales=LOG_Y)


def volume(run: Runner, of: Of, n: int) -> Chart:
    """Change of volume over time, a panel per scene (Andersen, figure 15)."""
    panels: dict[str, list[Mark]] = {}
    for (part, size, label), curve in run.curves.items():
        if size == n:
            panels.setdefault(part, []).append(_line(curve[:, 0], volume_change(curve), label=label, lw=1.2))
    for marks in panels.values():
        marks.append(lambda axes: axes.axhline(0.0, color="0.5", lw=0.8))
    return Chart(panels, "time in s", "change of volume in %", share=True)
