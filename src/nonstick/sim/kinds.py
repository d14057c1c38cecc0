"""Kinds of scenes: the interface between a run and the kind of its scene.

A kind of scene has tables (in `scenes`), a simulation, and a class here in `sim` that saves, checks, summarises and
shows its runs. The loop over frames, the directories and the commands are the same for all kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from ..errors import NonstickError
from ..files.rundir import RunDirectory
from ..scenes.scene import Scene
from .run.findings import Findings, Needs, check_units
from .run.preview import Film, Frames

Row = dict[str, Any]


class AnySimulation(Protocol):
    """The simulation of a scene of any kind."""

    scene: Scene
    frame: int
    #: how often the run was resumed
    session: int
    #: called with (kind, message) if the user should know something
    tell: Callable[[str, str], None]

    @property
    def time(self) -> float: ...
    def next_frame(self) -> list[Row]: ...
    def frame_arrays(self) -> dict[str, np.ndarray]: ...
    def state(self) -> dict[str, np.ndarray]: ...
    def restore(self, state: dict[str, np.ndarray]) -> None: ...


class Kind(ABC):
    """How scenes of one kind are simulated, saved, summarised and shown."""

    #: the value of `kind` in scene files
    name: ClassVar[str]
    #: columns of stats.csv
    columns: ClassVar[tuple[str, ...]]

    # -- making ---------------------------------------------------------------------------------------

    @abstractmethod
    def simulate(self, scene: Scene) -> AnySimulation:
        """The simulation of a scene, at frame 0."""

    @abstractmethod
    def check(self, scene: Scene) -> Findings:
        """The check of a scene before its run."""

    @abstractmethod
    def contents(self, simulation: Any) -> str:
        """The size of the simulation, in a few words."""

    @abstractmethod
    def needs(self, simulation: Any) -> Needs:
        """Memory and disk that a run will take."""

    def obstacles(self, scene: Scene) -> list[str]:
        """Sentences that say why a scene cannot run on many ranks."""
        return [f"scenes of kind {self.name} run on one rank"]

    def compiling(self, scene: Scene) -> AbstractContextManager[None]:
        """A context for the whole run, in which some kinds compile kernels in a second process."""
        return nullcontext()

    # -- frames on disk -------------------------------------------------------------------------------

    def begin(self, simulation: Any, directory: RunDirectory) -> None:
        """Write the files of the start of a run, including frame 0."""
        self.describe(simulation, directory)
        self.save(simulation, directory, [])

    def describe(self, simulation: Any, directory: RunDirectory) -> None:
        """Write the files about things that do not change during a run."""
        return

    def adapted(self, before: Any, simulation: Any) -> dict[str, np.ndarray]:
        """The state of a simulation, with what another simulation with changed settings needs besides."""
        return before.state()

    @abstractmethod
    def save(self, simulation: Any, directory: RunDirectory, rows: Sequence[Row]) -> None:
        """Write a frame with its rows. The file that marks the frame as complete is written last."""

    @abstractmethod
    def saved(self, directory: RunDirectory) -> list[int]:
        """Frames from which a run can continue."""

    @abstractmethod
    def restore(self, simulation: Any, directory: RunDirectory, frame: int) -> None:
        """Set a new simulation to a saved frame."""

    def ended(self, simulation: Any) -> bool:
        """True if nothing is left to simulate, even if frames are left."""
        return False

    # -- words and pictures ---------------------------------------------------------------------------

    def summary(self, rows: list[dict[str, str]]) -> dict[str, Any]:
        """Numbers over all steps; times omit the first step of each session, which includes compilation."""
        return {
            "steps": len(rows),
            "unconverged": int((column(rows, "converged") == 0).sum()),
            "largest_kkt": float(column(rows, "kkt").max()),
            "mean_iterations": float(column(rows, "iterations").mean()),
            "mean_outer_iterations": float(column(rows, "outer_iterations").mean()),
            "mean_step_seconds": float(column(warm(rows), "step_seconds").mean()),
        }

    @abstractmethod
    def progress(self, rows: Sequence[Row]) -> str:
        """The rows of a frame in one line."""

    @abstractmethod
    def report(self, numbers: Mapping[str, Any]) -> list[str]:
        """A summary in sentences."""

    def warnings(self, numbers: Mapping[str, Any]) -> list[str]:
        """Warnings that follow from a summary."""
        return []

    def camera(self, scene: Scene, changes: Mapping[str, Any]) -> Any:
        """The camera of a scene with some keys changed."""
        if changes:
            raise NonstickError(f"a run of {self.name} has no camera keys: remove --set")
        return None

    def chart(self, directory: RunDirectory, path: Path) -> None:
        """Draw the numbers of a run over time."""
        raise NonstickError(f"a run of {self.name} has no chart: leave out --plot")

    @abstractmethod
    def film(
        self, path: str | Path, compare: str | Path | None = None, camera: Any = None, frames: Frames = None
    ) -> Film:
        """The images of a run, or of two runs side by side."""


#: the place of the class of each kind; a kind is loaded when its first scene is used
_WHERE = {"liquid": (".liquid.kind", "LiquidKind"), "heat": (".heat.kind", "HeatKind")}


def kind_of(scene: Scene) -> Kind:
    """The kind of a scene."""
    module, name = _WHERE[scene.kind]
    return getattr(import_module(module, __package__), name)()


def simulate(scene: Scene | str) -> AnySimulation:
    """The simulation of a scene of any kind, at frame 0.

    Parameters
    ----------
    scene : Scene or str
        A scene, or what `Scene.load` takes.

    Returns
    -------
    Simulation
        With `next_frame()`, `frame_arrays()`, `time`, `state()` and `restore(state)`.

    Examples
    --------
    >>> from nonstick.sim import simulate
    >>> simulate("still").frame
    0
    """
    made = scene if isinstance(scene, Scene) else Scene.load(scene)
    return kind_of(made).simulate(made)


def check(scene: Scene) -> Findings:
    """Check a scene of any kind before its run: sizes, estimates, and possible problems.

    Examples
    --------
    >>> from nonstick import Scene
    >>> from nonstick.sim.kinds import check
    >>> check(Scene.load("still", {"domain.resolution": 16})).errors
    []
    """
    first = Findings()
    check_units(first, scene)
    try:
        found = kind_of(scene).check(scene)
    except NonstickError as error:
        if not first.warnings:
            raise
        return Findings(first.facts, first.warnings, [str(error)])  # wrong units are often the reason
    return Findings(first.facts + found.facts, first.warnings + found.warnings, found.errors)


def column(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    """A column of stats.csv; a row of an older version has no value in newer columns and counts as 0."""
    return np.array([float(row.get(name) or 0.0) for row in rows])


def warm(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """All rows except the first of each session; all rows if none remain."""
    seen: set[Any] = set()
    found = []
    for row in rows:
        if row.get("session") in seen:
            found.append(row)
        seen.add(row.get("session"))
    return found or rows
