"""Figures that belong to tables: outer iterations, convergence, phases, volume over time.

Each function says whether there was something to draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np

from ..io.atomic import replacing
from .means import Trace, quartiles

#: what a residual of zero is drawn at
FLOOR = 1e-16
#: in turn, so that a curve under another one is seen
STYLES = ("-", "--", "-.", ":")


def histogram(path: Path, outer: dict[str, list[float]], title: str = "") -> bool:
    """How many solves took how many outer iterations (Lai, figure 5.5)."""
    outer = {name: values for name, values in outer.items() if values}
    if not outer:
        return False
    figure, (axes,) = _figure()
    top = min(12, int(max(max(v) for v in outer.values())))
    more = any(value > top for values in outer.values() for value in values)
    width = 0.8 / len(outer)
    places = np.arange(top + 1)
    for k, (name, values) in enumerate(outer.items()):
        counts = np.bincount(np.minimum(np.array(values, int), top), minlength=top + 1)
        axes.bar(places + (k - 0.5 * (len(outer) - 1)) * width, counts, width, label=name)
    axes.set_xticks(places, [*map(str, places[:-1]), f"≥ {top}" if more else str(top)])
    axes.set(xlabel="outer iterations", ylabel="pressure solves", title=title)
    axes.legend(fontsize=8)
    return _finish(figure, path)


def convergence(path: Path, panels: dict[str, dict[str, Trace]], unit: Sequence[str] | str = "iterations") -> bool:
    """Residual against iterations, a panel per study (Lai, figure 5.10; Andersen, figures 12-14)."""
    panels = {title: {k: t for k, t in curves.items() if t} for title, curves in panels.items()}
    panels = {title: curves for title, curves in panels.items() if curves}
    if not panels:
        return False
    units = [unit] * len(panels) if isinstance(unit, str) else unit
    figure, all_axes = _figure(len(panels), 2 if len(panels) == 4 else 3)
    alike = len(panels) > 1 and len({tuple(curves) for curves in panels.values()}) == 1
    for axes, (title, curves), label in zip(all_axes, panels.items(), units):
        for style, (name, trace) in zip(cycle(STYLES), curves.items()):
            k, residual = np.array(trace, float).T
            mark = "." if len(k) < 40 else ""
            axes.semilogy(k, np.maximum(residual, FLOOR), style, marker=mark, lw=1.2, label=name)
        axes.set(xlabel=label, title=title)
        axes.grid(alpha=0.25)
        if not alike:
            axes.legend(fontsize=7)
    if alike:  # one legend beside the panels covers no curve
        figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    all_axes[0].set_ylabel("residual relative to max|b|")
    return _finish(figure, path)


def spread(path: Path, panels: dict[str, list[Trace]], units: dict[str, str], columns: int = 3) -> bool:
    """How residuals fell over many solves: range, quartiles and median (Andersen, figures 8 and 11)."""
    panels = {title: [t for t in traces if t] for title, traces in panels.items()}
    panels = {title: traces for title, traces in panels.items() if traces}
    if not panels:
        return False
    figure, all_axes = _figure(len(panels), columns)
    for axes, (title, traces) in zip(all_axes, panels.items()):
        _band(axes, traces, "tab:blue")
        axes.set(title=f"{title} ({len(traces)} solves)", xlabel=units.get(title, "iterations"))
        axes.grid(alpha=0.25)
    all_axes[0].legend(fontsize=7)
    for axes in all_axes[::columns]:
        axes.set_ylabel("residual relative to max|b|")
    return _finish(figure, path)


def _band(axes, traces: list[Trace], colour: str) -> None:
    k, (low, first, median, third, high) = quartiles(traces)
    low, first, median, third, high = (np.maximum(v, FLOOR) for v in (low, first, median, third, high))
    axes.fill_between(k, low, high, color=colour, alpha=0.15, lw=0, step="post", label="smallest to largest")
    axes.fill_between(k, first, third, color=colour, alpha=0.35, lw=0, step="post", label="quartiles")
    axes.step(k, median, where="post", color=colour, label="median")
    axes.set_yscale("log")


def medians(path: Path, panels: dict[str, dict[str, list[Trace]]], unit: str) -> bool:
    """Median residuals of several settings, a panel per size (Andersen, figure 16)."""
    panels = {t: {k: v for k, v in curves.items() if any(v)} for t, curves in panels.items()}
    panels = {title: curves for title, curves in panels.items() if curves}
    if not panels:
        return False
    figure, all_axes = _figure(len(panels))
    for axes, (title, curves) in zip(all_axes, panels.items()):
        for style, (name, traces) in zip(cycle(STYLES), curves.items()):
            k, values = quartiles(traces)
            (line,) = axes.semilogy(k, np.maximum(values[2], FLOOR), style, marker=".", lw=1.2, label=name)
            axes.fill_between(
                k, np.maximum(values[1], FLOOR), np.maximum(values[3], FLOOR), color=line.get_color(), alpha=0.15, lw=0
            )
        axes.set(xlabel=unit, title=title)
        axes.grid(alpha=0.25)
        axes.legend(fontsize=7)
    all_axes[0].set_ylabel("median residual relative to max|b|")
    return _finish(figure, path)


def phases(path: Path, panels: dict[str, dict[int, dict[str, float]]], columns: int = 3) -> bool:
    """Seconds of each phase against the size, a panel per method (Andersen, figure 10)."""
    figure, all_axes = _figure(len(panels), columns, share=True)
    for axes, (title, sizes) in zip(all_axes, panels.items()):
        names = list(dict.fromkeys(name for parts in sizes.values() for name in parts))
        for name in names:
            seconds = [parts.get(name, np.nan) for parts in sizes.values()]
            axes.loglog(list(sizes), np.maximum(seconds, 1e-6), marker="o", ms=4, label=name)
        axes.set(title=title)
        axes.set_xticks(list(sizes), [str(n) for n in sizes])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
    all_axes[0].legend(fontsize=7)
    for axes in all_axes[::columns]:
        axes.set_ylabel("seconds per step")
    for axes in all_axes[-columns:]:
        axes.set_xlabel("cells along a side")
    return _finish(figure, path)


def by_size(path: Path, seconds: dict[str, dict[int, float]], title: str) -> bool:
    """Seconds against the size (Lai, figure 5.11)."""
    seconds = {name: values for name, values in seconds.items() if values}
    if not seconds:
        return False
    figure, (axes,) = _figure()
    for name, values in seconds.items():
        axes.loglog(list(values), list(values.values()), marker="o", label=name)
    sizes = sorted({n for values in seconds.values() for n in values})
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    axes.set(xlabel="cells along a side", ylabel="seconds", title=title)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8)
    return _finish(figure, path)


def volume(path: Path, scenes: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]) -> bool:
    """Change of volume over time, a panel per scene (Andersen, figure 15)."""
    figure, all_axes = _figure(len(scenes), 3, share=True)
    for axes, (title, curves) in zip(all_axes, scenes.items()):
        for name, (t, v) in curves.items():
            axes.plot(t, v, label=name, lw=1.2)
        axes.axhline(0.0, color="0.5", lw=0.8)
        axes.set(title=title)
        axes.grid(alpha=0.25)
    all_axes[0].legend(fontsize=8)
    for axes in all_axes[::3]:
        axes.set_ylabel("change of volume in %")
    for axes in all_axes[-3:]:
        axes.set_xlabel("time in s")
    return _finish(figure, path)


def profile(path: Path, curves: dict[str, list[float]], frames: list[int]) -> bool:
    """Seconds of a solve over the frames of a run (Takahashi–Batty, figures 5, 7, 9)."""
    figure, (axes,) = _figure()
    for name, seconds in curves.items():
        axes.semilogy(frames[: len(seconds)], seconds, marker=".", label=name)
    axes.set_xlabel("frame")
    axes.set_ylabel("seconds")
    axes.legend(fontsize=8)
    return _finish(figure, path)


def _figure(panels: int = 1, columns: int = 3, share: bool = False):
    """A figure and its axes in reading order, at most `columns` side by side."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(panels, columns)
    down = -(-panels // columns)
    size = (7.0, 4.5) if panels == 1 else (4.2 * across, 3.5 * down)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)  # no pyplot: it keeps figures, and would choose a display
    axes = figure.subplots(down, across, squeeze=False, sharex=share, sharey=share).ravel()
    for unused in axes[panels:]:
        unused.remove()
    if share:
        for k in range(panels):
            axes[k].tick_params(labelbottom=k + columns >= panels)
    return figure, axes[:panels]


def _finish(figure, path: Path) -> bool:
    with replacing(path) as partial:
        figure.savefig(partial, dpi=120, format="png")
    return True
