"""Figures that belong to tables: outer iterations, convergence, phases, volume over time.

Each function returns True if there was something to draw.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from ..pictures.render.charts import COLOURS, finish, new_figure
from .row import Trace, quartiles

#: the height at which a residual of zero is drawn
FLOOR = 1e-16
#: line styles in turn, so that a curve under another one is visible
STYLES = ("-", "--", "-.", ":")
BAND = COLOURS[0]
#: the style of numbers from the paper
PAPER = {"marker": "D", "mfc": "white", "ls": "none", "zorder": 5}
RESIDUAL = "residual relative to max|b|"
SIZE = "cells along a side"


def _panels(
    path: Path,
    panels: Mapping[str, Any],
    draw: Callable[[Any, Any], object],
    x: str | Mapping[str, str],
    y: str,
    columns: int = 3,
    share: bool = False,
    heading: str = "",
) -> bool:
    """A panel for each title that has content, drawn by `draw(axes, content)`; x is a label, or one for each title.

    Panels with the same curves have one legend beside them, where it covers no curve.
    """
    panels = {title: content for title, content in panels.items() if content}
    if not panels:
        return False
    figure, all_axes = new_figure(len(panels), columns, share)
    for k, (axes, (title, content)) in enumerate(zip(all_axes, panels.items())):
        axes.set(title=title, ylabel=y if k % columns == 0 else "")
        axes.grid(alpha=0.25)
        draw(axes, content)
        if not share or k + columns >= len(panels):
            axes.set_xlabel(x if isinstance(x, str) else x.get(title, "iterations"))
    labels = [axes.get_legend_handles_labels() for axes in all_axes]
    if len(panels) > 1 and len({tuple(names) for _, names in labels}) == 1:
        figure.legend(*labels[0], loc="outside right upper", fontsize=8)
    else:
        for axes, (_, names) in zip(all_axes, labels):
            if names:
                axes.legend(fontsize=7)
    figure.suptitle(heading, fontsize=11)
    return finish(figure, path)


def _curve(axes, style: str, points: Trace | np.ndarray, label: str | None = None):
    k, residual = np.array(points, float).T
    mark = "." if len(k) < 40 else ""
    return axes.semilogy(k, np.maximum(residual, FLOOR), style, marker=mark, lw=1.2, label=label)[0]


def _band(axes, traces: Sequence[Trace]) -> None:
    k, values = quartiles(traces)
    low, first, median, third, high = np.maximum(values, FLOOR)
    axes.fill_between(k, low, high, color=BAND, alpha=0.15, lw=0, step="post", label="smallest to largest")
    axes.fill_between(k, first, third, color=BAND, alpha=0.35, lw=0, step="post", label="quartiles")
    axes.step(k, median, where="post", color=BAND, label="median")
    axes.set_yscale("log")


def _size_axis(axes, sizes: Collection[int]) -> None:
    axes.set_xticks(sorted(sizes), [str(n) for n in sorted(sizes)])
    axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)


def histogram(path: Path, outer: Mapping[str, list[float]], title: str = "") -> bool:
    """A histogram of outer iterations per solve (Lai, figure 5.5)."""
    outer = {name: values for name, values in outer.items() if values}

    def draw(axes, outer) -> None:
        largest = int(max(map(max, outer.values())))
        top = min(12, largest)
        width, places = 0.8 / len(outer), np.arange(top + 1)
        for k, (name, values) in enumerate(outer.items()):
            counts = np.bincount(np.minimum(np.array(values, int), top), minlength=top + 1)
            axes.bar(places + (k - 0.5 * (len(outer) - 1)) * width, counts, width, label=name)
        axes.set_xticks(places, [*map(str, places[:-1]), f"≥ {top}" if largest > top else str(top)])

    return _panels(path, {title: outer}, draw, "outer iterations", "pressure solves")


def convergence(
    path: Path,
    panels: Mapping[str, Mapping[str, Trace]],
    unit: Mapping[str, str] | str = "iterations",
    paper: Mapping[str, Mapping[str, float]] | None = None,
    goal: float | None = None,
    log: bool = False,
) -> bool:
    """Residual against iterations, a panel per study (Lai, figure 5.10; Andersen, figures 12-14).

    `paper` holds, for each panel, the counts that the paper needed to reach its tolerance. They are diamonds at the
    height of `goal`, if they fit in, and numbers in the legend. `log` is for methods whose counts differ by orders of
    magnitude.
    """

    def draw(axes, curves) -> None:
        counts = (paper or {}).get(axes.get_title(), {})
        longest = max(k for trace in curves.values() for k, _ in trace)
        for style, (name, trace) in zip(cycle(STYLES), curves.items()):
            named = f"{name} (paper: {counts[name]:g})" if name in counts else name
            line = _curve(axes, style, trace, named)
            if goal is not None and counts.get(name, np.inf) <= 3 * longest:
                axes.plot(counts[name], goal, color=line.get_color(), **PAPER)
        if goal is not None and any(name in counts for name in curves):
            axes.axhline(goal, color="0.6", lw=0.8, zorder=0)
        if log:
            axes.set_xscale("log")

    panels = {title: {name: t for name, t in curves.items() if t} for title, curves in panels.items()}
    return _panels(path, panels, draw, unit, RESIDUAL, 2 if sum(map(bool, panels.values())) == 4 else 3)


def spread(path: Path, panels: Mapping[str, list[Trace]], units: Mapping[str, str]) -> bool:
    """Residuals over many solves: range, quartiles and median (Andersen, figures 8 and 11)."""

    def draw(axes, traces) -> None:
        _band(axes, traces)
        axes.set_title(f"{axes.get_title()} ({len(traces)} solves)")

    return _panels(path, {title: [t for t in traces if t] for title, traces in panels.items()}, draw, units, RESIDUAL)


def solves(path: Path, panels: Mapping[str, list[Trace]], unit: str, shown: int = 12) -> bool:
    """Curves of some solves, and beside them the distribution of all solves (Andersen, figure 8).

    Solves without iterations (liquid in free fall) are omitted.
    """

    def each(axes, traces) -> None:
        for style, trace in zip(cycle(STYLES), traces):
            _curve(axes, style, trace)

    found: dict[str, tuple[Callable[..., None], list[Trace]]] = {}
    for title, traces in panels.items():
        if traces := [t for t in traces if len(t) > 1]:
            some = [traces[k] for k in np.unique(np.linspace(0, len(traces) - 1, shown).round().astype(int))]
            found[f"{title}: {len(some)} solves"] = each, some
            found[f"{title}: all {len(traces)} solves"] = _band, traces
    return _panels(path, found, lambda axes, of: of[0](axes, of[1]), unit, RESIDUAL, columns=2)


def medians(path: Path, panels: Mapping[str, Mapping[str, list[Trace]]], unit: str, ordered: bool = False) -> bool:
    """Median residuals of several settings, a panel per size (Andersen, figures 16 and 17).

    Many `ordered` settings are drawn in shades of one colour scale.
    """

    def draw(axes, curves) -> None:
        if ordered:
            from matplotlib import colormaps

            axes.set_prop_cycle(color=list(colormaps["viridis"](np.linspace(0.0, 0.9, len(curves)))))
        for style, (name, traces) in zip(cycle(STYLES), curves.items()):
            k, values = quartiles(traces)
            line = _curve(axes, style, np.stack([k, values[2]], axis=1), name)
            if not ordered:
                axes.fill_between(k, *np.maximum(values[[1, 3]], FLOOR), color=line.get_color(), alpha=0.15, lw=0)

    panels = {title: {name: t for name, t in curves.items() if any(t)} for title, curves in panels.items()}
    return _panels(path, panels, draw, unit, f"median {RESIDUAL}")


def phases(path: Path, panels: Mapping[str, Mapping[int, Mapping[str, float]]]) -> bool:
    """Seconds of each phase against the size, a panel per method (Andersen, figure 10)."""

    def draw(axes, sizes) -> None:
        for name in dict.fromkeys(name for parts in sizes.values() for name in parts):
            seconds = [parts.get(name, np.nan) for parts in sizes.values()]
            axes.loglog(list(sizes), np.maximum(seconds, 1e-6), marker="o", ms=4, label=name)
        _size_axis(axes, sizes)

    return _panels(path, panels, draw, SIZE, "seconds per step", share=True)


def by_size(path: Path, values: Mapping[str, Mapping[int, float]], title: str, what: str = "seconds") -> bool:
    """A quantity against the size (Lai, figure 5.11; Andersen, figure 9)."""
    values = {name: of for name, of in values.items() if of}

    def draw(axes, values) -> None:
        for style, marker, (name, of) in zip(cycle(STYLES), cycle("os^v"), values.items()):
            axes.loglog(list(of), list(of.values()), style, marker=marker, label=name)
        _size_axis(axes, {n for of in values.values() for n in of})

    return _panels(path, {title: values}, draw, SIZE, what)


def beside(
    path: Path,
    ours: Mapping[str, Mapping[int, float]],
    paper: Mapping[str, Mapping[int, float]],
    title: str,
    what: str = "iterations",
    columns: int = 4,
) -> bool:
    """A quantity against the size, ours and the paper's, a panel per method (the tables themselves)."""
    positive = all(value > 0 for of in ours.values() for value in of.values())
    sizes = {n for name, of in ours.items() if of for n in (*of, *paper.get(name, {}))}

    def draw(axes, of) -> None:
        printed = paper.get(axes.get_title(), {})
        axes.plot(list(printed), list(printed.values()), color=COLOURS[5], **{**PAPER, "ls": "--"}, label="paper")
        axes.plot(list(of), list(of.values()), color=BAND, marker="o", label="ours")
        axes.set(xscale="log", yscale="log" if positive else "linear")
        _size_axis(axes, sizes)

    return _panels(path, ours, draw, SIZE, what, columns, share=True, heading=title)


def volume(path: Path, scenes: Mapping[str, Mapping[str, tuple[np.ndarray, np.ndarray]]]) -> bool:
    """Change of volume over time, a panel per scene (Andersen, figure 15)."""

    def draw(axes, curves) -> None:
        for name, (t, v) in curves.items():
            axes.plot(t, v, label=name, lw=1.2)
        axes.axhline(0.0, color="0.5", lw=0.8)

    return _panels(path, scenes, draw, "time in s", "change of volume in %", share=True)


def profile(path: Path, curves: Mapping[str, list[float]], frames: Sequence[int]) -> bool:
    """Seconds of a solve over the frames of a run (Takahashi–Batty, figures 5, 7, 9)."""

    def draw(axes, curves) -> None:
        for name, seconds in curves.items():
            axes.semilogy(frames[: len(seconds)], seconds, marker=".", label=name)

    return _panels(path, {"": curves}, draw, "frame", "seconds")
