"""Previews of heat runs: beside the run without bounds, or beside another run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...errors import NonstickError
from ...io.rundir import RunDirectory
from ...render.heat import HeatView
from ...render.movie import beside, label, write_movie, write_picture
from .simulation import Heat


class _Panel:
    """One body in the movie: its view, its states frame by frame, the words over it."""

    def __init__(self, inside: np.ndarray, heat: Heat, states: Iterator[np.ndarray], count: int):
        self.view, self.states, self.count = HeatView(inside), states, count
        bounded = np.isfinite(heat.lower) or np.isfinite(heat.upper)
        self.title = f"{heat.lower:g} to {heat.upper:g}" if bounded else "no bounds"
        self.last = np.zeros(())

    def draw(self, low: float, high: float) -> np.ndarray:
        """The next state; a panel that has ended shows its last."""
        self.last = next(self.states, self.last)
        return label(self.view.draw(self.last, low, high), self.title)


def render(
    path: str | Path,
    compare: str | Path | None = None,
    out: str | Path | None = None,
    tick: Callable[[int, int], None] | None = None,
) -> tuple[Path, Path]:
    """Make the movie and the picture of a run, or of two runs side by side; returns their paths."""
    run = RunDirectory.open(path)
    scene, status = run.scene(), run.meta().get("status")
    heat = Heat.of(scene)
    heats, panels = [heat], [_of_run(run, heat)]
    if compare is not None:
        other = RunDirectory.open(compare)
        heats.append(Heat.of(other.scene()))
        panels.append(_of_run(other, heats[1]))
    elif scene.model.output.compare and (np.isfinite(heat.lower) or np.isfinite(heat.upper)):
        free = replace(heat, lower=-np.inf, upper=np.inf)
        # without bounds equilibrium comes later or sooner; an interrupted run is compared as far as it came
        reached = panels[0].count - 1
        states = list(free.frames(max(reached, scene.model.time.frames) if status == "done" else reached))
        panels.append(_Panel(run.read_frame(0)["inside"], free, iter(states), len(states)))
    ends = [value for h in heats for _, _, value in h.bands] + [h.start for h in heats]
    low, high = min(ends), max(max(ends), min(ends) + 1e-9)
    movie = Path(out) if out else run.path / ("compare.mp4" if compare else "preview.mp4")
    picture = movie.with_suffix(".png")
    count = max(p.count for p in panels)
    image = np.zeros((2, 2, 3), np.uint8)

    def images() -> Iterator[np.ndarray]:
        nonlocal image
        for done in range(count):
            image = beside([p.draw(low, high) for p in panels])
            if tick is not None:
                tick(done + 1, count)
            yield image

    write_movie(movie, images(), fps=15)
    write_picture(picture, image)
    return movie, picture


def _of_run(run: RunDirectory, heat: Heat) -> _Panel:
    frames = run.frames()
    if not frames:
        raise NonstickError(f"{run.path} has no frames yet; run it first")
    states = (run.read_frame(frame)["temperature"] for frame in frames)
    return _Panel(run.read_frame(0)["inside"], heat, states, len(frames))
