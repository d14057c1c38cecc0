"""The run directory of a run on many ranks: rank 0 writes tables and notes, every rank its piece of frames.

All ranks call the same methods at the same time. What fails on one rank fails on all, with one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ...core.columns import FIELDS, PARTICLES
from ...errors import NonstickError
from ...files import pieces
from ...files.rundir import RunDirectory, load, save
from ...grid.box import IndexBox
from ...parallel.comm import Comm
from ...scenes.scene import Scene

T = TypeVar("T")


class SharedDirectory(RunDirectory):
    """A run directory that all ranks use together."""

    def __init__(self, path: str | Path, comm: Comm):
        super().__init__(path)
        self.comm = comm
        #: the boxes of all ranks; set before frames are written
        self.boxes: list[IndexBox] = []

    def _first(self, action: Callable[[], T]) -> T:
        """What rank 0 finds or does; all ranks get the result, or the error."""
        found: Any = None
        with self.comm.same_outcome():
            if self.comm.rank == 0:
                found = action()
        return self.comm.shared(found)

    # -- life -----------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[Any]:  # type: ignore[override]
        """The right to change the directory, which rank 0 holds for all."""
        with ExitStack() as stack:
            lock = RunDirectory.writing(self)
            self._first(lambda: stack.enter_context(lock) and None)
            lock.taken_over = self.comm.shared(lock.taken_over)
            yield lock

    def scene(self) -> Scene:
        def read() -> tuple:
            found = self._plain.scene()
            return found.to_dict(), found.where, found.folder

        return Scene(*self._first(read))

    def meta(self) -> dict[str, Any]:
        return self._first(super().meta)

    def rows(self, name: str = "stats.csv") -> list[dict[str, str]]:
        return self._first(lambda: RunDirectory.rows(self._plain, name))

    def frames(self) -> list[int]:
        return self._first(super().frames)

    def checkpoints(self) -> list[int]:
        return self._first(super().checkpoints)

    def alone(self) -> RunDirectory | None:
        return self._plain if self.comm.rank == 0 else None

    @property
    def _plain(self) -> RunDirectory:
        """The same directory for one process, with the same notes on what is made again."""
        out = RunDirectory(self.path)
        out.again = self.again
        return out

    def write_scene(self, scene_toml: str) -> None:
        self._first(lambda: self._plain.write_scene(scene_toml))

    def write_meta(self, meta: Mapping[str, Any]) -> None:
        self._first(lambda: self._plain.write_meta(meta))

    def log(self, kind: str, message: str, **more: Any) -> None:
        """Not together: ranks may log at different times, and only rank 0 writes."""
        if self.comm.rank == 0:
            super().log(kind, message, **more)

    def append_rows(self, rows: Iterable[Mapping[str, Any]], columns: tuple[str, ...], name: str = "stats.csv") -> None:
        self._first(lambda: self._plain.append_rows(rows, columns, name))

    def drop_after(self, frame: int) -> None:
        self._first(lambda: self._plain.drop_after(frame))

    # -- frames and checkpoints -----------------------------------------------------------------------

    def write_frame(self, frame: int, arrays: Mapping[str, np.ndarray]) -> None:
        self._write(self.frames_path / f"{frame:06d}.npz", arrays)

    def write_checkpoint(self, frame: int, arrays: Mapping[str, np.ndarray], every: int) -> None:
        self._write(self.checkpoints_path / f"{frame:06d}.npz", arrays)
        self._first(lambda: self._plain.drop_checkpoints(frame, every))

    def _write(self, index: Path, arrays: Mapping[str, np.ndarray]) -> None:
        """A file of a frame: no index of an old one, then all pieces, then the new index."""
        self._first(lambda: index.unlink(missing_ok=True))
        piece, same = pieces.cut(arrays)
        with self.comm.same_outcome():
            save(pieces.name_of(index, self.comm.rank), piece)
        where = np.array([[box.low, box.high] for box in self.boxes])
        self._first(lambda: save(index, same | {"pieces": where}))

    def read_part(self, frame: int, box: IndexBox) -> dict[str, np.ndarray]:
        """The cells of a checkpoint in a box, and the particles there; one piece is in memory at a time."""
        part = np.array([box.low, box.high])
        out: dict[str, np.ndarray] = {}
        with self.comm.same_outcome():
            out = load(self.checkpoints_path / f"{frame:06d}.npz", part)
            if out["pressure"].shape != box.shape:  # of one process
                inside = tuple(map(slice, box.low, box.high))
                x = out["x"][-len(box.low) :]
                mine = np.all((x >= part[0][:, None]) & (x < part[1][:, None]), axis=0)
                for name in FIELDS.keys() & out:
                    out[name] = np.ascontiguousarray(out[name][inside])
                for name in PARTICLES.keys() & out:
                    if out[name].shape[-1] == mine.size:
                        out[name] = np.ascontiguousarray(out[name][..., mine])
        return out


class Files:
    """Makes and opens run directories: of one process, or of all ranks together."""

    def __init__(self, comm: Comm):
        self.comm = comm

    def check_free(self, path: str | Path) -> None:
        with self.comm.same_outcome():
            if self.comm.rank == 0:
                RunDirectory.check_free(path)

    def create(self, path: str | Path, scene_toml: str, meta: Mapping[str, Any]) -> RunDirectory:
        if self.comm.size == 1:
            return RunDirectory.create(path, scene_toml, meta)
        with self.comm.same_outcome():
            if self.comm.rank == 0:
                RunDirectory.create(path, scene_toml, meta)
        return SharedDirectory(path, self.comm)

    def open(self, path: str | Path) -> RunDirectory:
        if self.comm.size == 1:
            return RunDirectory.open(path)
        with self.comm.same_outcome():
            if self.comm.rank == 0:
                RunDirectory.open(path)
        return SharedDirectory(path, self.comm)


def same_scene(comm: Comm, scene: Scene) -> None:
    """Refuse ranks that have read different scenes."""
    texts = comm.gathered(scene.to_toml())
    for rank, text in enumerate(texts):
        if text != texts[0]:
            raise NonstickError(
                f"{scene.where}: rank {rank} of {comm.size} has read another scene than rank 0: let all ranks read the "
                "same file, with the same --set"
            )
