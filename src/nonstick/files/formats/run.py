"""Export of a whole run, or of each frame while a run goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ...core.guarded import make_folder
from ...errors import NonstickError
from ..atomic import remove_partial
from .formats import FORMATS, Format, Options, Still, checked
from .shot import Shot


def export(
    path: str | Path,
    to: str | Sequence[str],
    *,
    frames: slice | Sequence[int] | None = None,
    out: str | Path | None = None,
    options: Options | None = None,
    overwrite: bool = False,
    tick: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Write the frames of a run as files other programs open.

    Parameters
    ----------
    path : str or Path
        The run directory.
    to : str or sequence of str
        Formats: "vdb", "usd", "vtk", "ply", "obj", "glb".
    frames : slice or sequence of int, optional
        Which frames, by number: `slice(10, 20)` is 10 … 19. Default: all.
    out : str or Path, optional
        Directory of the files; default: `export/FORMAT` in the run directory.
    options : Options, optional
        How the surface is made, and what else the files hold.
    overwrite : bool
        Write frames again whose file exists.
    tick : callable, optional
        Called with the number of frames done and of all.

    Returns
    -------
    list of Path
        The files a program opens: one a frame, or one for all.

    Examples
    --------
    >>> import nonstick
    >>> nonstick.export("runs/sphere", "vdb", frames=slice(0, 50))      # doctest: +SKIP
    """
    shot = Shot(path)
    formats = checked(shot.scene, [to] if isinstance(to, str) else to, str(path), options)
    numbers = chosen(shot, frames)
    return Exporter(shot, formats, out, options).finish(numbers, overwrite, tick)


class Exporter:
    """Writes frames of a run in some formats, one after the other; for runs in progress too."""

    def __init__(
        self, shot: Shot, formats: Mapping[str, Format], out: str | Path | None = None, options: Options | None = None
    ):
        self.shot, self.formats, self.options = shot, formats, options or Options()
        self._written: set[tuple[str, int]] = set()
        base = shot.run.path / "export"
        one = len(formats) == 1
        self.folders = {
            name: base / name if out is None else Path(out) if one else Path(out) / name for name in formats
        }

    def write(self, number: int, arrays: Mapping[str, np.ndarray] | None = None, overwrite: bool = False) -> list[Path]:
        """The files of one frame of a run in progress. `arrays` are those of the frame if they are at hand.

        Files that exist are kept. Formats with one file for all frames write one for this frame as well: `finish`
        makes one of them.
        """
        files = self._write(Still(self.shot, number, self.options, arrays), overwrite, self.formats)
        for name, form in self.formats.items():
            form.series(self.folders[name], self.shot)
        return files

    def _write(self, still: Still, overwrite: bool, formats: Mapping[str, Format]) -> list[Path]:
        """The files of a frame; those that are missing are written."""
        files = []
        for name, form in formats.items():
            folder, key = self.folders[name], (name, still.number)
            files.append(form.file(folder, self.shot.name, still.number))
            make_folder(folder)
            if key not in self._written and (overwrite or not files[-1].is_file()):
                form.write(folder, still)
            self._written.add(key)
        return files

    def finish(
        self, numbers: Sequence[int], overwrite: bool = False, tick: Callable[[int, int], None] | None = None
    ) -> list[Path]:
        """All files of the frames that are missing, and those that belong to all frames together."""
        for folder in self.folders.values():
            remove_partial(folder)
        by_frame = {name: form for name, form in self.formats.items() if form.by_frame}
        files: dict[int, list[Path]] = {}

        def still(number: int) -> Still:
            # what is made for a file of all frames serves the files of each frame too
            one = Still(self.shot, number, self.options)
            files[number] = self._write(one, overwrite, by_frame)
            if tick is not None:
                tick(len(files), len(numbers))
            return one

        def finish(separate: bool) -> list[Path]:
            out = []
            for name, form in self.formats.items():
                if form.by_frame == separate:
                    folder = self.folders[name]
                    make_folder(folder)
                    out += form.finish(folder, self.shot, numbers, still, self.options, overwrite)
            return out

        whole = finish(separate=False)
        for number in numbers:
            if number not in files:
                still(number)
        return [file for number in numbers for file in files[number]] + finish(separate=True) + whole

    def drop_after(self, frame: int) -> None:
        """Delete the files of frames after `frame`, of all formats, where they lie in the run directory."""
        for name, form in FORMATS.items():
            folder = self.shot.run.path / "export" / name
            if folder.is_dir():
                form.drop_after(folder, self.shot, frame)
        self._written = {(name, number) for name, number in self._written if number <= frame}


def write_frame(
    formats: Sequence[str],
    run: str | Path,
    number: int,
    arrays: Mapping[str, np.ndarray] | None = None,
    options: Options | None = None,
) -> list[Path]:
    """The files of one frame of a run, as they appear while it goes on (`output.export`).

    Examples
    --------
    >>> write_frame(["vdb"], "runs/sphere", 12)       # doctest: +SKIP
    """
    shot = Shot(run)
    return Exporter(shot, checked(shot.scene, formats, str(run), options), options=options).write(number, arrays, True)


def chosen(shot: Shot, frames: slice | Sequence[int] | None) -> list[int]:
    """Those of the wanted frames that are there; refused if none is."""
    there = shot.frames
    if not there:
        raise NonstickError(f"{shot.run.path} holds no frames yet, so there is nothing to export")
    if frames is None:
        return there
    if isinstance(frames, slice):
        low, high = frames.start or 0, there[-1] + 1 if frames.stop is None else frames.stop
        wanted = [n for n in there if low <= n < high][:: frames.step or 1]
    else:
        wanted = sorted(set(frames) & set(there))
    if not wanted:
        raise NonstickError(f"{shot.run.path} has frames {there[0]} to {there[-1]}, and none of them is asked for")
    return wanted
