"""The figures of a table, from what its runner has found; a table names them and their titles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import registry
from . import figures, problems, tables
from .row import Row, Trace

if TYPE_CHECKING:
    from .runner import Runner


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


def _draw(run: Runner, of: Mapping[str, Any], figure: Callable[..., bool], *content, n: int = 0, **options) -> None:
    name = "-".join(filter(None, (run.table.name, of.get("name", "").format(n=n))))
    run.plan.draw(name, figure, *content, **options)


def _traces(run: Runner, of: Mapping[str, Any], n: int) -> dict[str, list[Trace]]:
    """Residuals by method."""
    found: dict[str, list[Trace]] = {}
    for solve in run.solves:
        if solve.n == n and solve.part.name == of.get("part", solve.part.name):
            found.setdefault(solve.method, []).append(solve.trace)
    return _by_kind(found, of)


def _by_kind(found: dict[str, Any], of: Mapping[str, Any]) -> dict[str, Any]:
    """Of pairs, linear solves first, then the LCP solves below them."""
    labels = list(found)
    return {label: found[label] for label in labels[::2] + labels[1::2]} if of.get("pairs") else found


def _sizes(run: Runner, of: Mapping[str, Any]) -> list[int]:
    return list(dict.fromkeys(s.n for s in run.solves if s.part.name == of.get("part", s.part.name)))


def _of_run(run: Runner, text: str) -> str:
    part = run.parts[0]
    return text.format(scene=part.scene, frames=run.plan.frames or part.frames)


def _histogram(run: Runner, of: Mapping[str, Any]) -> None:
    for n in _sizes(run, of):
        outer: dict[str, list[float]] = {}
        for s in run.solves:
            if s.n == n and tables.nested(s.method) and s.row.outer_iterations is not None:
                outer.setdefault(s.method, []).append(s.row.outer_iterations)
        _draw(run, of, figures.histogram, outer, _of_run(run, f"{{scene}} at {n}: {{frames}} frames"), n=n)


def _spread(run: Runner, of: Mapping[str, Any]) -> None:
    for n in _sizes(run, of):
        traces = _traces(run, of, n)
        _draw(run, of, figures.spread, traces, {m: _unit(m, run.parts[0].newton_steps) for m in traces}, n=n)


def _by_size(rows: Sequence[Row], quantity: str) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        value = row.extra.get(quantity, getattr(row, quantity, None))
        if value is not None:
            found.setdefault(row.method, {})[row.n] = value
    return found


def _beside(run: Runner, of: Mapping[str, Any]) -> None:
    """The table as a figure, with the paper's numbers."""
    quantity = of.get("quantity", "iterations")
    ours = _by_size([row for row in run.rows if row.case == run.table.name], quantity)
    paper = _by_size(tables.published(run.table.name), quantity)
    _draw(run, of, figures.beside, ours, paper, _of_run(run, of["title"]), quantity, columns=of.get("columns", 4))


def _chosen_by_size(run: Runner, of: Mapping[str, Any]) -> None:
    seconds = _by_size([row for row in run.rows if row.case == run.table.name], "seconds")
    _draw(run, of, figures.by_size, {name: seconds.get(m, {}) for name, m in of["curves"].items()}, of["title"])


def _gains(run: Runner, of: Mapping[str, Any]) -> None:
    part = run.parts[0]
    seconds = _by_size([row for row in run.rows if row.case == part.last_case], "seconds")
    gains = {
        name: {n: arrays / seconds[name][n] for n, arrays in seconds[f"{name}, arrays"].items() if seconds[name].get(n)}
        for name in seconds
        if f"{name}, arrays" in seconds
    }
    _draw(run, of, figures.by_size, gains, of["title"], part.last_case.removeprefix(run.table.name).strip())


def _single(run: Runner, of: Mapping[str, Any]) -> None:
    """Methods that count cycles, and the others."""
    counts = _by_size(tables.published(run.table.name), "iterations")
    for n in _sizes(run, of):
        traces = {method: traces[0] for method, traces in _traces(run, of, n).items()}
        cycles = {m: t for m, t in traces.items() if _unit(m) == "cycles"}
        others = {m: t for m, t in traces.items() if m not in cycles}
        title = _of_run(run, f"{{scene}} at {n}, frame {{frames}}")
        panels = {title: cycles, "inner iterations of the others": others}
        units = [unit for unit, curves in zip(("cycles", "CG iterations"), panels.values()) if any(curves.values())]
        printed = {method: of_n[n] for method, of_n in counts.items() if n in of_n}
        paper = {panel: printed for panel in panels}
        _draw(run, of, figures.convergence, panels, units, paper, run.plan.rtol, n=n)


def _curves(run: Runner, of: Mapping[str, Any]) -> None:
    """Residual curves in panels: those of a `part` and a `method`, at the largest size or at all."""
    largest = max(run.plan.sizes)
    panels: dict[str, dict[str, Trace]] = {}
    paper: dict[str, dict[str, float]] = {}
    for panel in of["panels"]:
        title = panel["title"].format(n=largest)
        for s in run.solves:
            fits = fnmatch(s.part.name, panel["part"]) and s.method == panel.get("method", s.method)
            fits &= s.n == largest or panel.get("sizes") == "all"
            fits &= s.part.solver in panel.get("solvers", (s.part.solver,))
            if fits and len(s.trace) <= of.get("longest", len(s.trace)):
                label = panel["curve"].format(method=s.method, solver=s.part.solver, n=s.n)
                panels.setdefault(title, {})[label] = s.trace
        printed = [row for row in tables.published(run.table.name) if row.n == largest]
        if panel["curve"] == "{method}":
            paper[title] = {
                r.method: float(r.iterations or 0)
                for r in printed
                if r.case.startswith(f"{run.table.name} {panel['part']} (")
            }
    _draw(
        run,
        of,
        figures.convergence,
        panels,
        of.get("unit", "iterations"),
        paper,
        run.plan.rtol,
        log=of.get("log", False),
    )


def _solve_by_solve(run: Runner, of: Mapping[str, Any]) -> None:
    panels = {f"{m}, {n}³": traces for n in _sizes(run, of) for m, traces in _traces(run, of, n).items()}
    _draw(run, of, figures.solves, panels, "Newton steps")


def _phases(run: Runner, of: Mapping[str, Any]) -> None:
    found: dict[str, dict[int, dict[str, float]]] = {}
    for row in run.rows:
        if row.case == run.table.name and row.seconds is not None:
            notes, setup = run.notes[of["part"], row.n], row.setup_seconds or 0.0
            found.setdefault(row.method, {})[row.n] = {
                "initialisation": mean_of(notes, "initialisation"), "setup": setup, "computation": row.seconds - setup,
                "finalisation": mean_of(notes, "finalisation"),
            }  # fmt: skip
    if found:
        _draw(run, of, figures.phases, _by_kind(found, of))


def _medians(run: Runner, of: Mapping[str, Any]) -> None:
    """All methods at the largest size, or at each size those that every size has."""
    sizes = _sizes(run, of)
    common = set.intersection(*(set(_traces(run, of, n)) for n in sizes)) if len(sizes) > 1 else None
    panels: dict[str, dict[str, list[Trace]]] = {}
    for n in (max(sizes),) if of.get("largest") else sizes:
        found = _traces(run, of, n)
        panels[f"{n}²"] = {m: t for m, t in found.items() if of.get("largest") or common is None or m in common}
    _draw(run, of, figures.medians, panels, "Newton steps", ordered=of.get("largest", False))


def _profile(run: Runner, of: Mapping[str, Any]) -> None:
    part, plan = run.parts[0], run.plan
    frames = problems.sampled_frames(plan.frames or part.frames, plan.samples or part.samples or 1)
    for n in _sizes(run, of):
        seconds: dict[str, list[float]] = {}
        for s in run.solves:
            if s.n == n:
                seconds.setdefault(s.method, []).append(s.row.seconds or np.nan)
        _draw(run, of, figures.profile, seconds, frames, n=n)


def _volume(run: Runner, of: Mapping[str, Any]) -> None:
    for n in run.plan.sizes:
        scenes: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
        for (part, size, label), curve in run.curves.items():
            if size == n:
                scenes.setdefault(part, {})[label] = curve[:, 0], volume_change(curve)
        _draw(run, of, figures.volume, scenes, n=n)


DRAWINGS: dict[str, Callable[[Runner, Mapping[str, Any]], None]] = {
    "histogram": _histogram, "spread": _spread, "beside": _beside, "by_size": _chosen_by_size, "gains": _gains,
    "single": _single, "curves": _curves, "solves": _solve_by_solve, "phases": _phases, "medians": _medians,
    "profile": _profile, "volume": _volume,
}  # fmt: skip
