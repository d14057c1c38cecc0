"""Files for other programs that appear while a run goes on (`output.export`).

The run is worth more than its files: if a file cannot be written, the run goes on without, says so, and tries once more
at its end. `nonstick export` makes the missing files at any later time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ...files.rundir import RunDirectory
from ...scenes.scene import Scene
from ..kinds import AnySimulation

if TYPE_CHECKING:
    from ...files.formats.format import Format


def wanted(scene: Scene) -> dict[str, Format]:
    """The formats that a scene asks for; refused if they cannot hold its frames or need a package that is missing."""
    names = getattr(scene.model.output, "export", ())
    if not names:
        return {}
    from ...files.formats.formats import checked  # loaded only by runs that export

    return checked(scene, names, f"{scene.where}: output.export: the scene")


class Exports:
    """Writes the exported files of a run as its frames are made."""

    def __init__(self, scene: Scene, directory: RunDirectory, warn: Callable[[str], None] | None = None):
        self.formats = wanted(scene)
        self.directory, self.warn = directory, warn
        self._failed = False
        self._exporter = None
        if self.formats or (directory.path / "export").is_dir():
            from ...files.formats.run import Exporter
            from ...files.formats.shot import Shot

            self._exporter = Exporter(Shot(directory.path), self.formats)

    def drop_after(self, frame: int) -> None:
        """Delete the files of frames that the run will make again."""
        if self._exporter is not None:
            self._exporter.drop_after(frame)

    def write(self, simulation: AnySimulation) -> None:
        """The files of the frame that the simulation has just made."""
        exporter = self._exporter
        if exporter is not None and self.formats and not self._failed:
            self._try(simulation.frame, lambda: exporter.write(simulation.frame, simulation.frame_arrays(), True))

    def finish(self, frame: int) -> None:
        """Files that are missing, and those about all frames, at the end of a run."""
        exporter, failed = self._exporter, self._failed
        if exporter is None or not self.formats:
            return
        self._failed = False
        self._try(frame, lambda: exporter.finish(self.directory.frames()))
        if failed and not self._failed:
            self._tell("the exported files that were missing are there now")

    def _try(self, frame: int, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:  # of any kind: none is worth the run
            self._failed = True
            again = " ".join(f"--to {name}" for name in self.formats)
            self._tell(
                f"export stopped at frame {frame} ({error}), and the run goes on without it; write the missing files "
                f"with `nonstick export {self.directory.path} {again}`"
            )

    def _tell(self, sentence: str) -> None:
        with suppress(OSError):  # on a full disk there is no room for the log either
            self.directory.log("export", sentence)
        if self.warn is not None:
            self.warn(sentence)
