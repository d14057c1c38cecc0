"""Kinds of scenes: what the run of a scene asks of its kind.

A kind of scene has tables (in `scenes`), a simulation, and a class here in `sim` that says how its runs are saved,
checked, summed up and shown. Everything else, the loop over frames, directories and commands, is the same for all.
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
from ..io.rundir import RunDirectory
from ..scenes.scene import Scene
from .findings import Findings
from .preview import Film
from .resources import Needs

Row = dict[str, Any]


class AnySimulation(Protocol):
    """A scene in motion, whatever its kind."""

    scene: Scene
    frame: int
    #: how often the run was resumed
    session: int
    #: called with (kind, message) when something should not pass unseen
    tell: Callable[[str, str], None]

    @property
    def time(self) -> float: ...
    def next_frame(self) -> list[Row]: ...
    def frame_arrays(self) -> dict[str, np.ndarray]: ...
    def state(self) -> dict[str, np.ndarray]: ...
    def restore(self, state: dict[str, np.ndarray]) -> None: ...


class Kind(ABC):
    """How scenes of one kind are simulated, saved, summed up and shown."""

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
        """A look at a scene before it is run."""

    @abstractmethod
    def contents(self, simulation: Any) -> str:
        """How much there is to simulate, in a few words."""

    @abstractmethod
    def needs(self, simulation: Any) -> Needs:
        """Memory and disk that a run will take."""

    def compiling(self, scene: Scene) -> AbstractContextManager[None]:
        """Around the whole run: a helper that compiles kernels meanwhile, where the kind has one."""
        return nullcontext()

    # -- frames on disk -------------------------------------------------------------------------------

    def begin(self, simulation: Any, directory: RunDirectory) -> None:
        """Write what belongs to the start of a run, frame 0 included."""
        self.save(simulation, directory, [])

    @abstractmethod
    def save(self, simulation: Any, directory: RunDirectory, rows: Sequence[Row]) -> None:
        """Write a frame with its rows. The file that makes the frame count is the last to appear."""

    @abstractmethod
    def saved(self, directory: RunDirectory) -> list[int]:
        """Frames from which a run can go on."""

    @abstractmethod
    def restore(self, simulation: Any, directory: RunDirectory, frame: int) -> None:
        """Bring a fresh simulation to a saved frame."""

    def ended(self, simulation: Any) -> bool:
        """Is there nothing left to simulate, though frames are left?"""
        return False

    # -- words and pictures ---------------------------------------------------------------------------

    def summary(self, rows: list[dict[str, str]]) -> dict[str, Any]:
        """Numbers over all steps; the first step of each session pays for compilation and does not count in times."""
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
        """What went wrong according to a summary."""
        return []

    def camera(self, scene: Scene, changes: Mapping[str, Any]) -> Any:
        """The camera of a scene with some keys changed."""
        if changes:
            raise NonstickError(f"a run of {self.name} has no camera keys: leave --set out")
        return None

    @abstractmethod
    def film(self, path: str | Path, compare: str | Path | None = None, camera: Any = None) -> Film:
        """The images of a run, or of two runs side by side."""


#: where the class of each kind is; a kind loads when a scene of it is met
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
    """A look at a scene of any kind before it is run: sizes, estimates, and what may go wrong."""
    return kind_of(scene).check(scene)


def column(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    """A column of stats.csv; rows that an older version wrote have no value in newer columns, and count as 0."""
    return np.array([float(row.get(name) or 0.0) for row in rows])


def warm(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Rows without the first of each session; all rows if that leaves none."""
    seen: set[Any] = set()
    found = []
    for row in rows:
        if row.get("session") in seen:
            found.append(row)
        seen.add(row.get("session"))
    return found or rows
