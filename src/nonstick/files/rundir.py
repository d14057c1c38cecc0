"""The run directory: scene.toml, meta.json, log.jsonl, tables (*.csv), frames/, checkpoints/, preview.

Every file appears whole or not at all. A frame counts as done when its checkpoint exists; whatever a
killed run left beyond the last checkpoint is discarded when the run continues. meta.json is the last file that
a new run writes: a directory without it is not yet a run.

Others may have changed the files, so what is read is looked at first. One process writes at a time (`writing`), and
only inside: links to other places are refused.

In a run on many ranks all ranks call the same methods at the same time. Rank 0 reads and writes tables and notes for
all, every rank writes its piece of a frame, and what fails on one rank fails on all, with one sentence.
"""

from __future__ import annotations

import copy
import csv
import json
import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from zipfile import ZipFile

import numpy as np
from numpy.lib.format import write_array

from ..core import guarded
from ..core.columns import FIELDS, PARTICLES
from ..core.guarded import appending, guard, make_folder, naming, read_bytes, read_text, remove
from ..errors import NonstickError
from ..grid.box import IndexBox
from ..parallel.comm import SELF, Comm
from ..scenes.scene import Scene
from . import pieces
from .arrays import ArrayFile
from .atomic import replacing, write_text
from .lock import NAME as LOCK
from .lock import Lock, held

#: the table of the numbers that probes measure
PROBES = "probes.csv"
#: what lies there before meta.json
FIRST = ("scene.toml", "frames", "checkpoints", LOCK)
#: entries of meta.json that are read again, and what they are
ENTRIES: dict[str, tuple[tuple[type, ...], str]] = {
    "name": ((str,), "text"), "kind": ((str,), "text"), "status": ((str,), "text"), "folder": ((str,), "text"),
    "fingerprint": ((str,), "text"), "seconds": ((int, float), "a number"), "frames": ((int,), "a whole number"),
    "shape": ((list,), "a list"), "scene": ((dict,), "a table"), "summary": ((dict,), "a table"),
    "parent": ((dict,), "a table"),
}  # fmt: skip
#: bytes of a header and half a row
SMALL = 2000
#: columns of tables that hold words
WORDS = ("method", "body")

P = ParamSpec("P")
T = TypeVar("T")


def by_rank_0(method: Callable[Concatenate[RunDirectory, P], T]) -> Callable[Concatenate[RunDirectory, P], T]:
    """A method that rank 0 runs for all ranks: all get what it returns, or its error."""

    @wraps(method)
    def call(self: RunDirectory, *args: P.args, **named: P.kwargs) -> T:
        return self._first(lambda: method(self._of_one_process, *args, **named))

    return call


class RunDirectory:
    """The directory of one run: reading and writing it.

    Parameters
    ----------
    path : str or Path
        The directory.
    comm : Comm, optional
        The ranks that use it together; by default one process.

    Examples
    --------
    >>> import tempfile
    >>> from nonstick import Scene
    >>> from nonstick.files.rundir import RunDirectory
    >>> from nonstick.sim.run.loop import run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run(Scene.load("still", {"domain.resolution": 8, "time.frames": 1}), folder)
    ...     opened = RunDirectory.open(folder)
    ...     print(opened.frames(), opened.scene().name, len(opened.rows()))
    [0, 1] still 1
    """

    def __init__(self, path: str | Path, comm: Comm = SELF):
        self.path, self.comm = Path(path), comm
        self.frames_path = self.path / "frames"
        self.checkpoints_path = self.path / "checkpoints"
        #: frames up to this one are made again: their rows replace those that are there
        self.again = -1

    def _first(self, action: Callable[[], T]) -> T:
        """What rank 0 finds or does; all ranks get the result, or the error."""
        found: Any = None
        with self.comm.same_outcome():
            if self.comm.rank == 0:
                found = action()
        return self.comm.shared(found)

    @property
    def _of_one_process(self) -> RunDirectory:
        """The same directory for one process that reads or writes on its own."""
        if self.comm is SELF:
            return self
        out = copy.copy(self)
        out.comm = SELF
        return out

    # -- life -----------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: str | Path, scene_toml: str, meta: Mapping[str, Any], comm: Comm = SELF) -> RunDirectory:
        cls.check_free(path, comm)
        run = cls(path, comm)
        guard(run.path)
        run._make_folders()
        run.write_scene(scene_toml)
        run.write_meta(meta)
        return run

    @by_rank_0
    def _make_folders(self) -> None:
        for folder in (self.path, self.frames_path, self.checkpoints_path):
            make_folder(folder)

    @classmethod
    def check_free(cls, path: str | Path, comm: Comm = SELF) -> None:
        """Raise an error if a new run cannot be written to the path."""
        cls(path, comm)._check_free()

    @by_rank_0
    def _check_free(self) -> None:
        path = self.path
        if path.exists() and not path.is_dir():
            raise NonstickError(f"{path} is a file, but --out needs a directory")
        if not path.is_dir() or not any(path.iterdir()) or _stillborn(path):
            return
        if (path / "meta.json").exists():
            raise NonstickError(f"{path} is not empty; continue with `nonstick resume {path}` or choose another --out")
        raise NonstickError(f"{path} is not empty, and its contents are not a run; choose another --out")

    @classmethod
    def open(cls, path: str | Path, comm: Comm = SELF) -> RunDirectory:
        run = cls(path, comm)
        run._check_run()
        guard(run.path)
        return run

    @by_rank_0
    def _check_run(self) -> None:
        path = self.path
        if not (path / "meta.json").is_file() or not (path / "scene.toml").is_file():
            if path.is_dir() and _stillborn(path):
                raise NonstickError(
                    f"the run in {path} was stopped before it began: start it again with `nonstick run SCENE --out "
                    f"{path}`"
                )
            raise NonstickError(f"{path} is not a run directory: it needs a scene.toml and a meta.json")

    def alone(self) -> RunDirectory | None:
        """The directory for one process that has failed and cannot ask others; None if rank 0 writes for it."""
        return self._of_one_process if self.comm.rank == 0 else None

    @contextmanager
    def writing(self) -> Iterator[Lock]:
        """The right to change the directory, for a `with`; refused while another process has it.

        Rank 0 holds it for all ranks.
        """
        self._make_folders()
        with ExitStack() as stack:
            lock = Lock(self.path)

            def hold() -> None:
                stack.enter_context(lock)

            self._first(hold)
            lock.taken_over = self.comm.shared(lock.taken_over)
            yield lock

    @by_rank_0
    def scene(self) -> Scene:
        """The scene of the run; its mesh files are expected where they were when the run began."""
        scene = Scene.load(self.path / "scene.toml")
        scene.folder = Path(self.meta().get("folder", ".").replace("\0", ""))
        return scene

    # -- meta, log, statistics ------------------------------------------------------------------------

    @by_rank_0
    def meta(self) -> dict[str, Any]:
        """What meta.json says; entries that are there have the right type."""
        file = self.path / "meta.json"
        content = read_bytes(file)
        try:
            meta = json.loads(content)
        except (ValueError, RecursionError):  # no JSON, or no text at all
            raise NonstickError(f"{file} is damaged: start a new run") from None
        if not isinstance(meta, dict):
            raise NonstickError(f"{file} is damaged, it should contain one table: start a new run")
        for key, (kinds, word) in ENTRIES.items():
            value = meta.get(key)
            if key in meta and not (type(value) in kinds and (not isinstance(value, float) or math.isfinite(value))):
                raise NonstickError(f"{file} is damaged, {key!r} should be {word}: start a new run")
        return meta

    def status(self) -> str:
        """What a run is doing: running, done, interrupted, failed; stopped, if its process was ended from outside."""
        found = str(self.meta().get("status", "status unknown"))
        return "stopped" if found == "running" and not held(self.path) else found

    @by_rank_0
    def write_scene(self, scene_toml: str) -> None:
        write_text(self.path / "scene.toml", scene_toml)

    @by_rank_0
    def write_meta(self, meta: Mapping[str, Any]) -> None:
        write_text(self.path / "meta.json", json.dumps(dict(meta), indent=1, ensure_ascii=False) + "\n")

    def log(self, kind: str, message: str, **more: Any) -> None:
        """Add a line to the log. Ranks may call it at different times: only rank 0 writes."""
        if self.comm.rank:
            return
        line = {"when": time.strftime("%Y-%m-%dT%H:%M:%S"), "kind": kind, "message": message, **more}
        path = self.path / "log.jsonl"
        with naming(path), appending(path) as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def log_lines(self) -> list[dict[str, Any]]:
        file = self.path / "log.jsonl"
        if not file.exists():
            return []
        out = []
        for text in read_text(file).splitlines():
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):  # the last line of a killed run
                continue
            if isinstance(line, dict) and all(isinstance(line.get(key), str) for key in ("kind", "message")):
                out.append(line)
        return out

    @by_rank_0
    def append_rows(self, rows: Iterable[Mapping[str, Any]], columns: tuple[str, ...], name: str = "stats.csv") -> None:
        """Add the rows of one frame to a table; rows of this frame that are there are replaced."""
        file, rows = self.path / name, list(rows)
        fresh = not file.exists()
        header = list(columns) if fresh else self._widen(name, columns)
        if rows and not fresh and (frame := int(rows[0]["frame"])) <= self.again:
            there = self.rows(name)
            before = [row for row in there if int(row["frame"]) < frame]
            after = [row for row in there if int(row["frame"]) > frame]
            self._write_rows(name, header, [*before, *rows, *after])
            return
        with naming(file), appending(file, newline="") as stream:
            writer = csv.DictWriter(stream, header, restval="")
            if fresh:
                writer.writeheader()
            writer.writerows(rows)
            stream.flush()
            os.fsync(stream.fileno())  # before the checkpoint that says they are there

    def _widen(self, name: str, columns: tuple[str, ...]) -> list[str]:
        """The header of a table. Columns it does not have are added first: a run of an older version has fewer."""
        header = self._read_table(name)[0]
        missing = [c for c in columns if c not in header]
        if missing:
            header += missing
            self._write_rows(name, header, self.rows(name))
        return header

    def _write_rows(self, name: str, header: list[str], rows: Iterable[Mapping[str, Any]]) -> None:
        target = replacing(self.path / name, durable=True)
        with target as partial, open(partial, "w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, header, restval="")
            writer.writeheader()
            writer.writerows(rows)

    @by_rank_0
    def rows(self, name: str = "stats.csv") -> list[dict[str, str]]:
        """The whole rows of a table. Others are left out: the last one of a killed run, and what is damaged."""
        return self._read_table(name)[1]

    def _read_table(self, name: str) -> tuple[list[str], list[dict[str, str]]]:
        """Header and whole rows."""
        file = self.path / name
        if not file.exists():
            return [], []
        lines = csv.reader(read_text(file).replace("\0", "").splitlines())
        try:
            header = next(lines, [])
            rows = [dict(zip(header, line)) for line in lines if len(line) == len(header)]
        except csv.Error:
            raise NonstickError(
                f"{file} is not a table any more: move it away and resume the run, whose frames do not need it"
            ) from None
        return header, [row for row in rows if _whole(row)]

    def cut_rows(self, frame: int, name: str = "stats.csv") -> None:
        """Drop the rows of frames after `frame`."""
        rows = self.rows(name)
        keep = [row for row in rows if int(row["frame"]) <= frame]
        if not rows:
            file = self.path / name
            if file.exists() and file.stat().st_size > SMALL:
                with guarded.folder(self.path) as place:
                    place.rename(name, f"{name}.damaged")
            remove(file)  # a header and half a row of a killed run
            return
        self._write_rows(name, list(rows[0]), keep)

    # -- frames and checkpoints -----------------------------------------------------------------------

    def write_frame(self, frame: int, arrays: Mapping[str, np.ndarray], boxes: Sequence[IndexBox] = ()) -> None:
        """Write a frame; on many ranks each gives the arrays of its own box of `boxes`."""
        self._write(self.frame_file(frame), arrays, boxes)

    def _write(self, path: Path, arrays: Mapping[str, np.ndarray], boxes: Sequence[IndexBox]) -> None:
        """A whole file, or on many ranks: no index of an old one, then all pieces, then the new index."""
        if self.comm.size == 1:
            save(path, arrays)
            return
        self._first(lambda: remove(path))
        piece, same = pieces.cut(arrays)
        with self.comm.same_outcome():
            save(pieces.name_of(path, self.comm.rank), piece)
        where = np.array([[box.low, box.high] for box in boxes])
        self._first(lambda: save(path, same | {"pieces": where}))

    def read_frame(self, frame: int, names: Collection[str] | None = None) -> dict[str, np.ndarray]:
        """The arrays of a frame; with `names` at least those of them that it has."""
        return load(self.frame_file(frame), names=names)

    def frame_file(self, frame: int) -> Path:
        return self.frames_path / f"{frame:06d}.npz"

    @by_rank_0
    def frames(self) -> list[int]:
        return _numbers(self.frames_path)

    def write_checkpoint(
        self, frame: int, arrays: Mapping[str, np.ndarray], every: int, boxes: Sequence[IndexBox] = ()
    ) -> None:
        """Write a checkpoint, then delete old ones: all but the first, the last two and every n-th."""
        self._write(self.checkpoints_path / f"{frame:06d}.npz", arrays, boxes)
        self.drop_checkpoints(frame, every)

    @by_rank_0
    def drop_checkpoints(self, frame: int, every: int) -> None:
        """Delete the checkpoints that are not needed after the one of `frame`."""
        for old in self.checkpoints()[1:]:
            if old < frame - 1 and old % every:
                _remove(self.checkpoints_path / f"{old:06d}.npz")

    def read_checkpoint(self, frame: int, box: IndexBox | None = None) -> dict[str, np.ndarray]:
        """The arrays of a checkpoint, or only the cells in a box and the particles there.

        Of a checkpoint in pieces one piece is in memory at a time.
        """
        part = None if box is None else np.array([box.low, box.high])
        out: dict[str, np.ndarray] = {}
        with self.comm.same_outcome():
            out = load(self.checkpoints_path / f"{frame:06d}.npz", part)
            if box is not None and out["pressure"].shape != box.shape:  # of one process
                _crop(out, box)
        return out

    @by_rank_0
    def checkpoints(self) -> list[int]:
        return _numbers(self.checkpoints_path)

    @by_rank_0
    def drop_after(self, frame: int) -> None:
        """Delete everything after a frame: frames, checkpoints, rows and leftovers of a killed run."""
        for folder in (self.frames_path, self.checkpoints_path):
            for file in sorted(folder.glob("*.npz")):
                if _number(file) > frame:
                    _remove(file)
                elif (of := pieces.index_of(file)) is not None and not of.exists():  # left by a killed run
                    remove(file)
        for folder in (self.path, self.path / "bodies", self.frames_path, self.checkpoints_path):
            for file in folder.glob(".*.partial*"):
                remove(file)
        self.cut_rows(frame)
        self.cut_rows(frame, "bodies.csv")
        self.cut_rows(frame, PROBES)


def _numbers(folder: Path) -> list[int]:
    return sorted(k for f in folder.glob("*.npz") if (k := _number(f)) >= 0)


def _number(file: Path) -> int:
    """The frame of a file, -1 if its name is not that of a frame."""
    name = file.stem
    plain = name.isascii() and name.isdecimal() and len(name) <= 7
    return int(name) if plain and name == f"{int(name):06d}" else -1


def _whole(row: Mapping[str, str]) -> bool:
    """Does a row of a table say which frame it belongs to, and are its values numbers?"""
    frame = row.get("frame", "")
    if not (frame.isascii() and frame.isdecimal() and len(frame) <= 7):
        return False
    try:
        for name, value in row.items():
            if value and name not in WORDS:
                float(value)
    except ValueError:
        return False
    return True


def _stillborn(path: Path) -> bool:
    """Is this what a run leaves that was killed before its meta.json was written?"""
    for entry in path.iterdir():
        known = entry.name in FIRST or (entry.name.startswith(".") and ".partial" in entry.name)
        if not known or entry.is_symlink() or (entry.is_dir() and any(entry.iterdir())):
            return False
    return (path / "frames").is_dir()


def save(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    # As np.savez writes, which old versions of NumPy leave open where the disk is full. All members have the same date,
    # so equal arrays give equal bytes.
    with replacing(path, durable=True) as partial, ZipFile(partial, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                write_array(member, np.asanyarray(array), allow_pickle=False)


def _crop(arrays: dict[str, np.ndarray], box: IndexBox) -> None:
    """Keep only the cells of a box and the particles there."""
    inside = tuple(map(slice, box.low, box.high))
    x = arrays["x"][-len(box.low) :]
    mine = np.all((x >= np.array(box.low)[:, None]) & (x < np.array(box.high)[:, None]), axis=0)
    for name in FIELDS.keys() & arrays:
        arrays[name] = np.ascontiguousarray(arrays[name][inside])
    for name in PARTICLES.keys() & arrays:
        if arrays[name].shape[-1] == mine.size:
            arrays[name] = np.ascontiguousarray(arrays[name][..., mine])


def _remove(path: Path) -> None:
    """Delete a frame or a checkpoint with its pieces; the index goes first."""
    remove(path)
    for piece in pieces.files(path):
        remove(piece)


def load(path: Path, part: np.ndarray | None = None, names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of a frame or a checkpoint, or only `names`; `part` as in `pieces.join`, for one in pieces."""
    arrays = _load(path, names)
    if "pieces" not in arrays:
        return arrays
    try:
        return pieces.join(path, arrays, _load, part)
    except (NonstickError, ValueError, IndexError, KeyError, MemoryError) as error:
        raise damaged(path, f"its pieces do not fit together ({error})".replace(";", ",")) from None


def _load(path: Path, names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise NonstickError(f"there is no file {path}")
    try:
        with ArrayFile(path) as file:
            wanted = file.names
            if names is not None and "pieces" not in file:
                wanted = [name for name in wanted if name in names]
            arrays = {name: file[name] for name in wanted}
    except NonstickError:
        raise damaged(path) from None
    # compiled kernels know the byte order of this machine only
    return {name: a if a.dtype.isnative else a.astype(a.dtype.newbyteorder("=")) for name, a in arrays.items()}


def damaged(path: Path, why: str = "it cannot be read") -> NonstickError:
    """The error of a frame or checkpoint that a run did not write like that."""
    frame = max(_number(path) - 1, 0)
    return NonstickError(
        f"{path} is damaged, {why}; make it again with `nonstick resume {path.parent.parent} --from-frame {frame}`"
    )
