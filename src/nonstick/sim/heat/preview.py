"""Pictures of heat runs: all frames for the movie, the last one for the picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...core.columns import check_array
from ...errors import NonstickError
from ...files.rundir import RunDirectory, damaged
from ...pictures.render.movie import beside, label
from ...pictures.render.plane import HeatView, legend
from ..run.preview import Film, Frames
from .simulation import Heat


class _Panel:
    """One body in the movie: its view, its state in each frame, and its caption."""

    def __init__(self, view: HeatView, heat: Heat, states: Iterator[np.ndarray], count: int):
        self.view, self.states, self.count = view, states, count
        bounded = np.isfinite(heat.lower) or np.isfinite(heat.upper)
        self.title = f"{heat.lower:g} to {heat.upper:g}" if bounded else "no bounds"
        self.last = np.zeros(())

    def step(self) -> None:
        """Go to the next state; a panel that has ended stays at its last state."""
        self.last = next(self.states, self.last)

    def draw(self, low: float, high: float) -> np.ndarray:
        return label(self.view.draw(self.last, low, high), self.title)


class HeatFilm(Film):
    """A run beside the same run without bounds, or beside another run."""

    fps = 15.0

    def __init__(self, path: str | Path, compare: str | Path | None = None, frames: Frames = None):
        run = RunDirectory.open(path)
        scene, status = run.scene(), run.meta().get("status")
        heat = Heat.of(scene)
        heats, self.panels = [heat], [_of_run(run, heat)]
        if compare is not None:
            other = RunDirectory.open(compare)
            heats.append(Heat.of(other.scene()))
            self.panels.append(_of_run(other, heats[1]))
        elif scene.model.output.compare and (np.isfinite(heat.lower) or np.isfinite(heat.upper)):
            free = replace(heat, lower=-np.inf, upper=np.inf)
            # the run without bounds may reach equilibrium at another frame; an interrupted run is compared up to its
            # last frame
            reached = self.panels[0].count - 1
            states = list(free.frames(max(reached, scene.model.time.frames) if status == "done" else reached))
            self.panels.append(_Panel(self.panels[0].view, free, iter(states), len(states)))
        ends = [value for h in heats for _, _, value in h.bands] + [h.start for h in heats]
        self.low, self.high = min(ends), max(max(ends), min(ends) + 1e-9)
        self.count = max(p.count for p in self.panels)
        #: which images are shown: a panel that has ended shows its last state
        self._wanted = self.chosen(range(self.count), frames)
        self.count = len(self._wanted)
        self.stills = [self.count - 1]

    def images(self) -> Iterator[np.ndarray]:
        for k in range(max(self._wanted) + 1):
            for panel in self.panels:
                panel.step()
            if k in self._wanted:
                images = [p.draw(self.low, self.high) for p in self.panels]
                yield beside([*images[:-1], legend(images[-1], self.low, self.high)])


def _of_run(run: RunDirectory, heat: Heat) -> _Panel:
    frames = run.frames()
    if not frames:
        raise NonstickError(f"{run.path} has no frames yet; run it first")
    states = (_read(run, frame, "temperature", heat, float) for frame in frames)
    inside = _read(run, 0, "inside", heat, bool)  # the first frame tells the cells of the body
    return _Panel(HeatView(inside, shape=heat.shape, dx=heat.grid.dx), heat, states, len(frames))


def _read(run: RunDirectory, frame: int, name: str, heat: Heat, dtype: type) -> np.ndarray:
    """An array of a frame, after a look at it: a file may be damaged."""
    try:
        return check_array(name, run.read_frame(frame), heat.grid.shape, dtype)
    except NonstickError as error:
        raise damaged(run.frame_file(frame), str(error)) from None
