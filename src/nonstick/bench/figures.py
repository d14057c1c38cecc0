"""Figures that belong to tables: outer iterations, convergence, phases, volume over time.

Each function returns True if there was something to draw.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import cycle
from pathlib import Path

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


def histogram(path: Path, outer: dict[str, list[float]], title: str = "") -> bool:
    """A histogram of outer iterations per solve (Lai, figure 5.5)."""
    outer = {name: values for name, values in outer.items() if values}
    if not outer:
        return False
    figure, (axes,) = new_figure()
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
    return finish(figure, path)


def convergence(
    path: Path,
    panels: dict[str, dict[str, Trace]],
    unit: Sequence[str] | str = "iterations",
    paper: Mapping[str, Mapping[str, float]] | None = None,
    goal: float | None = None,
    log: bool = False,
) -> bool:
    """Residual against iterations, a panel per study (Lai, figure 5.10; Andersen, figures 12-14).

    `paper` holds, for each panel, the counts that the paper needed to reach its tolerance. They are diamonds at the
    height of `goal`, if they fit in, and numbers in the legend. `log` is for methods whose counts differ by orders of
    magnitude.
    """
    paper = paper or {}
    panels = {title: {k: t for k, t in curves.items() if t} for title, curves in panels.items()}
    panels = {title: curves for title, curves in panels.items() if curves}
    if not panels:
        return False
    units = [unit] * len(panels) if isinstance(unit, str) else unit
    figure, all_axes = new_figure(len(panels), 2 if len(panels) == 4 else 3)
    alike = len(panels) > 1 and len({tuple(curves) for curves in panels.values()}) == 1
    for axes, (title, curves), label in zip(all_axes, panels.items(), units):
        longest = max(k for trace in curves.values() for k, _ in trace)
        counts = paper.get(title, {})
        for style, (name, trace) in zip(cycle(STYLES), curves.items()):
            k, residual = np.array(trace, float).T
            mark = "." if len(k) < 40 else ""
            named = f"{name} (paper: {counts[name]:g})" if name in counts else name
            (line,) = axes.semilogy(k, np.maximum(residual, FLOOR), style, marker=mark, lw=1.2, label=named)
            if goal is not None and counts.get(name, np.inf) <= 3 * longest:
                axes.plot(counts[name], goal, color=line.get_color(), **PAPER)
        if goal is not None and any(name in counts for name in curves):
            axes.axhline(goal, color="0.6", lw=0.8, zorder=0)
        if log:
            axes.set_xscale("log")
        axes.set(xlabel=label, title=title)
        axes.grid(alpha=0.25)
        if not alike:  # curves fall from the upper left to the lower right
            axes.legend(fontsize=7, loc="lower left" if log else "upper right")
    if alike:  # one legend beside the panels covers no curve
        figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    all_axes[0].set_ylabel("residual relative to max|b|")
    return finish(figure, path)


def spread(path: Path, panels: dict[str, list[Trace]], units: dict[str, str], columns: int = 3) -> bool:
    """Residuals over many solves: range, quartiles and median (Andersen, figures 8 and 11)."""
    panels = {title: [t for t in traces if t] for title, traces in panels.items()}
    panels = {title: traces for title, traces in panels.items() if traces}
    if not panels:
        return False
    figure, all_axes = new_figure(len(panels), columns)
    for axes, (title, traces) in zip(all_axes, panels.items()):
        _band(axes, traces)
        axes.set(title=f"{title} ({len(traces)} solves)", xlabel=units.get(title, "iterations"))
        axes.grid(alpha=0.25)
    all_axes[0].legend(fontsize=7, loc="lower left")
    for axes in all_axes[::columns]:
        axes.set_ylabel("residual relative to max|b|")
    return finish(figure, path)


def solves(path: Path, panels: dict[str, list[Trace]], unit: str, shown: int = 12) -> bool:
    """Curves of some solves, and beside them the distribution of all solves (Andersen, figure 8).

    Solves without iterations (liquid in free fall) are omitted.
    """
    panels = {title: [t for t in traces if len(t) > 1] for title, traces in panels.items()}
    panels = {title: traces for title, traces in panels.items() if traces}
    if not panels:
        return False
    figure, all_axes = new_figure(2 * len(panels), 2)
    for (single, all_of), (title, traces) in zip(all_axes.reshape(-1, 2), panels.items()):
        some = [traces[k] for k in np.unique(np.linspace(0, len(traces) - 1, shown).round().astype(int))]
        for style, trace in zip(cycle(STYLES), some):
            k, residual = np.array(trace, float).T
            single.semilogy(k, np.maximum(residual, FLOOR), style, marker=".", lw=1.0)
        _band(all_of, traces)
        all_of.legend(fontsize=7, loc="lower left")
        single.set(title=f"{title}: {len(some)} solves", xlabel=unit, ylabel="residual relative to max|b|")
        all_of.set(title=f"{title}: all {len(traces)} solves", xlabel=unit)
        all_of.sharey(single)
        for axes in (single, all_of):
            axes.grid(alpha=0.25)
    return finish(figure, path)


def _band(axes, traces: list[Trace], colour: str = BAND) -> None:
    k, (low, first, median, third, high) = quartiles(traces)
    low, first, median, third, high = (np.maximum(v, FLOOR) for v in (low, first, median, third, high))
    axes.fill_between(k, low, high, color=colour, alpha=0.15, lw=0, step="post", label="smallest to largest")
    axes.fill_between(k, first, third, color=colour, alpha=0.35, lw=0, step="post", label="quartiles")
    axes.step(k, median, where="post", color=colour, label="median")
    axes.set_yscale("log")


def medians(path: Path, panels: dict[str, dict[str, list[Trace]]], unit: str, ordered: bool = False) -> bool:
    """Median residuals of several settings, a panel per size (Andersen, figures 16 and 17).

    Many `ordered` settings are drawn in shades of one colour scale.
    """
    panels = {t: {k: v for k, v in curves.items() if any(v)} for t, curves in panels.items()}
    panels = {title: curves for title, curves in panels.items() if curves}
    if not panels:
        return False
    figure, all_axes = new_figure(len(panels))
    for axes, (title, curves) in zip(all_axes, panels.items()):
        if ordered:
            axes.set_prop_cycle(color=_shades(len(curves)))
        for style, (name, traces) in zip(cycle(STYLES), curves.items()):
            k, values = quartiles(traces)
            (line,) = axes.semilogy(k, np.maximum(values[2], FLOOR), style, marker=".", lw=1.2, label=name)
            if not ordered:
                low, high = (np.maximum(values[row], FLOOR) for row in (1, 3))
                axes.fill_between(k, low, high, color=line.get_color(), alpha=0.15, lw=0)
        axes.set(xlabel=unit, title=title)
        axes.grid(alpha=0.25)
        axes.legend(fontsize=7, loc="lower left")
    all_axes[0].set_ylabel("median residual relative to max|b|")
    return finish(figure, path)


def phases(path: Path, panels: dict[str, dict[int, dict[str, float]]], columns: int = 3) -> bool:
    """Seconds of each phase against the size, a panel per method (Andersen, figure 10)."""
    figure, all_axes = new_figure(len(panels), columns, share=True)
    for axes, (title, sizes) in zip(all_axes, panels.items()):
        names = list(dict.fromkeys(name for parts in sizes.values() for name in parts))
        for name in names:
            seconds = [parts.get(name, np.nan) for parts in sizes.values()]
            axes.loglog(list(sizes), np.maximum(seconds, 1e-6), marker="o", ms=4, label=name)
        axes.set(title=title)
        axes.set_xticks(list(sizes), [str(n) for n in sizes])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
    all_axes[0].legend(fontsize=7, loc="upper left")
    low, high = all_axes[0].get_ylim()
    all_axes[0].set_ylim(low, high * (high / low) ** 0.35)  # room for the legend
    for axes in all_axes[::columns]:
        axes.set_ylabel("seconds per step")
    for axes in all_axes[-columns:]:
        axes.set_xlabel("cells along a side")
    return finish(figure, path)


def by_size(path: Path, values: dict[str, dict[int, float]], title: str, what: str = "seconds") -> bool:
    """A quantity against the size (Lai, figure 5.11; Andersen, figure 9)."""
    values = {name: of for name, of in values.items() if of}
    if not values:
        return False
    figure, (axes,) = new_figure()
    for style, marker, (name, of) in zip(cycle(STYLES), cycle("os^v"), values.items()):
        axes.loglog(list(of), list(of.values()), style, marker=marker, label=name)
    _size_axis(axes, {n for of in values.values() for n in of})
    axes.set(ylabel=what, title=title)
    axes.legend(fontsize=8, loc="upper left")
    return finish(figure, path)


def beside(
    path: Path,
    ours: dict[str, dict[int, float]],
    paper: dict[str, dict[int, float]],
    title: str,
    what: str = "iterations",
    columns: int = 4,
) -> bool:
    """A quantity against the size, ours and the paper's, a panel per method (the tables themselves)."""
    ours = {name: of for name, of in ours.items() if of}
    if not ours:
        return False
    figure, all_axes = new_figure(len(ours), columns, share=True)
    positive = min(value for of in ours.values() for value in of.values()) > 0
    sizes = {n for of in ours.values() for n in of} | {n for name in ours for n in paper.get(name, {})}
    for axes, (name, of) in zip(all_axes, ours.items()):
        printed = paper.get(name, {})
        axes.plot(list(printed), list(printed.values()), color=COLOURS[5], **{**PAPER, "ls": "--"}, label="paper")
        axes.plot(list(of), list(of.values()), color=BAND, marker="o", label="ours")
        axes.set(title=name, xscale="log", yscale="log" if positive else "linear")
        _size_axis(axes, sizes)
        axes.set_xlabel("")
    figure.suptitle(title, fontsize=11)
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    for axes in all_axes[::columns]:
        axes.set_ylabel(what)
    for axes in all_axes[-columns:]:
        axes.set_xlabel("cells along a side")
    return finish(figure, path)


def _size_axis(axes, sizes: Collection[int]) -> None:
    axes.set_xticks(sorted(sizes), [str(n) for n in sorted(sizes)])
    axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    axes.set_xlabel("cells along a side")
    axes.grid(alpha=0.25)


def _shades(count: int) -> list:
    from matplotlib import colormaps

    return list(colormaps["viridis"](np.linspace(0.0, 0.9, count)))


def volume(path: Path, scenes: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]) -> bool:
    """Change of volume over time, a panel per scene (Andersen, figure 15)."""
    figure, all_axes = new_figure(len(scenes), 3, share=True)
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
    return finish(figure, path)


def profile(path: Path, curves: dict[str, list[float]], frames: list[int]) -> bool:
    """Seconds of a solve over the frames of a run (Takahashi–Batty, figures 5, 7, 9)."""
    figure, (axes,) = new_figure()
    for name, seconds in curves.items():
        axes.semilogy(frames[: len(seconds)], seconds, marker=".", label=name)
    axes.set_xlabel("frame")
    axes.set_ylabel("seconds")
    axes.legend(fontsize=8)
    return finish(figure, path)
