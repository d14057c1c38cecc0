"""A run of a heat scene from file to directory: scene.toml, meta.json, log.jsonl, stats.csv, frames/, preview."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..io.rundir import RunDirectory
from ..render.heat import HeatView
from ..render.movie import beside, label, write_movie, write_picture
from ..scenes.geometry import build
from ..scenes.heat import HeatScene
from .heat import Heat

COLUMNS = ("step", "frame", "time", "dt", "unknowns", "iterations", "outer_iterations", "pressure_seconds",
           "step_seconds", "kkt", "converged", "coldest", "hottest")  # fmt: skip


def heat_of(scene: HeatScene) -> Heat:
    """The set-up a scene describes."""
    model = scene.model
    return Heat(
        resolution=model.domain.resolution,
        size=model.domain.size,  # type: ignore[arg-type]
        body=None if model.body is None else build(model.body, scene.folder),
        start=model.start,
        bands=tuple((band.low, band.high, band.temperature) for band in model.band),
        lower=-np.inf if model.lower is None else model.lower,
        upper=np.inf if model.upper is None else model.upper,
        diffusivity=model.diffusivity,
        dt=model.time.dt,
        method=model.solver.method,
        rtol=model.solver.rtol,
    )


def run(scene: HeatScene, out: str | Path, movie: bool, progress: Callable[[int, str], object]) -> str:
    """Make all frames, and the movie if wanted; returns a sentence on how it ended."""
    heat, frames = heat_of(scene), scene.model.time.frames
    begin, inside, fixed = heat.begin()
    free = inside & ~fixed
    meta = {"name": scene.model.name, "kind": "heat", "shape": list(heat.grid.shape), "status": "running"}
    directory = RunDirectory.create(out, scene.to_toml(), meta)
    directory.write_frame(0, {"temperature": begin, "inside": inside, "fixed": fixed})
    states, clock = [begin], time.perf_counter()
    for k, solution in enumerate(heat.solutions(frames), 1):
        states.append(solution.temperature)
        now = time.perf_counter()
        values = solution.temperature[free]
        row = dict(zip(COLUMNS, (
            k, k, k * heat.dt, heat.dt, solution.problem.n, solution.iterations, solution.outer_iterations,
            solution.seconds, now - clock, solution.kkt(), int(solution.converged), values.min(initial=np.inf),
            values.max(initial=-np.inf),
        )))  # fmt: skip
        clock = now
        directory.write_frame(k, {"temperature": solution.temperature})
        directory.append_rows([row], COLUMNS)
        if not solution.converged:
            directory.log("unconverged", f"frame {k}: {solution.message}")
        if k % max(1, frames // 20) == 0:
            progress(k, f"{solution.outer_iterations} steps  {row['coldest']:.2f} to {row['hottest']:.2f}")
    directory.write_meta({**meta, "status": "complete"})
    if movie:
        _preview(scene, heat, inside, states, directory.path)
    reached = len(states) - 1
    return f"equilibrium after {reached} frames" if reached < frames else f"{reached} frames"


def _preview(scene: HeatScene, heat: Heat, inside: np.ndarray, states: list[np.ndarray], path: Path) -> None:
    view = HeatView(inside)
    ends = [value for _, _, value in heat.bands] + [heat.start]
    low, high = min(ends), max(max(ends), min(ends) + 1e-9)
    rows = [states]
    names = [f"{heat.lower:g} to {heat.upper:g}"]
    if scene.model.output.compare and (np.isfinite(heat.lower) or np.isfinite(heat.upper)):
        free = replace(heat, lower=-np.inf, upper=np.inf)
        rows.append(list(free.frames(scene.model.time.frames)))
        names.append("no bounds")
    images = []
    for k in range(max(map(len, rows))):
        frames = [label(view.draw(r[min(k, len(r) - 1)], low, high), name) for r, name in zip(rows, names)]
        images.append(beside(frames))
    write_movie(path / "preview.mp4", images, fps=15)
    write_picture(path / "preview.png", images[-1])
