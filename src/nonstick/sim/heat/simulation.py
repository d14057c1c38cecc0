"""Heat in a body with temperature bounds, to equilibrium (Takahashi–Batty §7.6 and figure 2).

A dragon starts at 50. Two bands across its middle hold 0 and 100. No heat passes its surface, and the temperature must
stay between 20 and 80. Each frame is one implicit step; a second run without bounds shows the effect of the bounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.columns import check_array
from ...core.show import Shown
from ...discretise.diffusion import DiffusionProblem, DiffusionSolution
from ...errors import NonstickError
from ...grid.fractions import connected_parts
from ...grid.mac import Grid
from ...grid.shapes import Figure, Shape
from ...scenes.geometry import build
from ...scenes.scene import Scene
from ...scenes.schema import HeatModel

COLUMNS = (
    "step", "frame", "time", "dt", "unknowns", "iterations", "outer_iterations", "pressure_seconds", "step_seconds",
    "kkt", "converged", "coldest", "hottest", "session",
)  # fmt: skip

#: a box, and the dragon in it
EXTENT = (2.0, 1.0, 0.8)
DRAGON = Figure("dragon", (1.0, 0.5, 0.4), 1.7)


class HeatSimulation(Shown):
    """Steps a scene of kind heat: one implicit step per frame.

    Parameters
    ----------
    scene : Scene or str
        A scene of kind heat, or what `Scene.load` takes.

    Examples
    --------
    >>> from nonstick import Scene
    >>> from nonstick.sim import simulate
    >>> simulation = simulate(Scene.load("heat", {"domain.resolution": 16}))
    >>> rows = simulation.next_frame()
    >>> simulation.frame, simulation.frame_arrays()["temperature"].shape
    (1, (16, 8, 6))
    """

    def __init__(self, scene: Scene[HeatModel] | str):
        self.scene = Scene.load(scene) if isinstance(scene, str) else scene
        self.scene.require("heat")
        self.heat = Heat.of(self.scene)
        self.temperature, self.inside, self.fixed = self.heat.begin()
        self.frame = 0
        #: how often the run was resumed; the first row of each session includes the time of compilation
        self.session = 0
        #: True if the last frame changed so little that the body is in equilibrium
        self.at_rest = False
        self.tell: Callable[[str, str], None] = lambda kind, message: None
        self._before: np.ndarray | None = None

    def facts(self) -> dict[str, object]:
        """What `repr` and notebooks show."""
        return {"frame": self.frame, "time": f"{self.time:.4g} s", "at rest": self.at_rest} | self.scene.facts()

    @property
    def time(self) -> float:
        return self.frame * self.heat.dt

    def next_frame(self) -> list[dict[str, Any]]:
        """Advance to the next frame; its row of statistics."""
        began = time.perf_counter()
        solution = self.heat.step(self.temperature, self.inside, self.fixed)
        self.frame += 1
        self._set(solution.temperature, self.temperature)
        if not solution.converged:
            self.tell("unconverged", f"frame {self.frame}: {solution.message}")
        values = self.temperature[self.inside & ~self.fixed]
        row = dict(zip(COLUMNS, (
            self.frame, self.frame, self.time, self.heat.dt, solution.problem.n, solution.iterations,
            solution.outer_iterations, solution.seconds, time.perf_counter() - began, solution.kkt(),
            int(solution.converged), values.min(initial=np.inf), values.max(initial=-np.inf), self.session,
        )))  # fmt: skip
        return [row]

    def frame_arrays(self) -> dict[str, np.ndarray]:
        """The content of a frame file; the first file also has the cells of the body and the fixed cells."""
        more = {} if self.frame else {"inside": self.inside, "fixed": self.fixed}
        return {"temperature": self.temperature, **more}

    def state(self) -> dict[str, np.ndarray]:
        """The whole state as plain arrays; a run continues from it bit for bit."""
        before = {} if self._before is None else {"before": self._before}
        return {"frame": np.array(self.frame), "temperature": self.temperature, **before}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go on from what `state` has returned, in a simulation of the same scene."""
        check_array("frame", state, (), np.int64, 0, 10**7)
        check_array("temperature", state, self.inside.shape, float)
        if "before" in state:
            check_array("before", state, self.inside.shape, float)
        self.frame = int(state["frame"])
        self._set(state["temperature"], state.get("before"))

    def _set(self, temperature: np.ndarray, before: np.ndarray | None) -> None:
        self.temperature, self._before = temperature, before
        self.at_rest = before is not None and self.heat.at_rest(before, temperature, self.inside)


@dataclass(frozen=True)
class Heat:
    """The set-up; `resolution` counts cells along the longest side. Bounds of ±inf switch them off."""

    resolution: int = 96
    size: tuple[float, float, float] = EXTENT
    #: the body; None is the dragon
    body: Shape | None = None
    start: float = 50.0
    #: intervals of x that hold a temperature
    bands: tuple[tuple[float, float, float], ...] = ((0.62, 0.74, 0.0), (1.22, 1.34, 100.0))
    lower: float = 20.0
    upper: float = 80.0
    diffusivity: float = 1.0
    #: time between two frames
    dt: float = 0.008
    method: str = "ipm-pd"
    rtol: float = 1e-9
    #: largest change of a frame, in degrees, that counts as equilibrium
    still: float = 1e-3

    @classmethod
    def of(cls, scene: Scene[HeatModel]) -> Heat:
        """The set-up a scene describes."""
        model = scene.model
        return cls(
            resolution=model.domain.resolution,
            size=model.domain.size,  # type: ignore[arg-type]
            body=None if model.body is None else build(model.body, scene.folder, f"{scene.where}: body"),
            start=model.start,
            bands=tuple((band.low, band.high, band.temperature) for band in model.band),
            lower=-np.inf if model.lower is None else model.lower,
            upper=np.inf if model.upper is None else model.upper,
            diffusivity=model.diffusivity,
            dt=model.time.dt,
            method=model.solver.method,
            rtol=model.solver.rtol,
        )

    @property
    def grid(self) -> Grid:
        dx = max(self.size) / self.resolution
        return Grid(tuple(max(1, round(e / dx)) for e in self.size), dx)

    @property
    def shape(self) -> Shape:
        """The body."""
        return DRAGON if self.body is None else self.body

    def inside(self) -> np.ndarray:
        """Boolean array over cells: the largest part of the body (thin parts may be disconnected on coarse grids)."""
        shape = self.shape
        parts, count = connected_parts(shape.sample(self.grid.cells()) < 0)
        if not count:
            raise NonstickError(
                "the body covers no cell of the grid: move it into the domain, or raise domain.resolution"
            )
        return parts == np.argmax(np.bincount(parts.ravel())[1:]) + 1

    def begin(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Temperature, body and fixed cells at the start."""
        grid, inside = self.grid, self.inside()
        x = np.broadcast_to(grid.cells()[0], grid.shape)
        temperature, fixed = np.full(grid.shape, self.start), np.zeros(grid.shape, bool)
        for low, high, value in self.bands:
            band = (x > low) & (x < high) & inside
            temperature[band] = value
            fixed |= band
        return temperature, inside, fixed

    def problem(self, temperature, inside, fixed, steady: bool = False) -> DiffusionProblem:
        """The next frame, or the equilibrium."""
        alpha = np.inf if steady else self.diffusivity * self.dt / self.grid.dx**2
        return DiffusionProblem(
            temperature=temperature, alpha=alpha, inside=inside, fixed=fixed, lower=self.lower, upper=self.upper
        )

    def step(self, temperature: np.ndarray, inside: np.ndarray, fixed: np.ndarray) -> DiffusionSolution:
        """The next frame, solved."""
        return self.problem(temperature, inside, fixed).solve(self.method, rtol=self.rtol, criterion="papers")

    def at_rest(self, before: np.ndarray, after: np.ndarray, inside: np.ndarray) -> bool:
        """True if two successive frames differ so little that the body is in equilibrium."""
        return float(np.abs(after - before)[inside].max(initial=0.0)) < self.still

    def frames(self, count: int) -> Iterator[np.ndarray]:
        """The temperature at the start and after each of at most `count` frames; ends early at equilibrium."""
        temperature, inside, fixed = self.begin()
        yield temperature
        for _ in range(count):
            before, temperature = temperature, self.step(temperature, inside, fixed).temperature
            yield temperature
            if self.at_rest(before, temperature, inside):
                return

    def equilibrium(self) -> np.ndarray:
        """The limit of all frames, found in one solve."""
        return self.problem(*self.begin(), steady=True).solve(self.method, rtol=self.rtol).temperature
