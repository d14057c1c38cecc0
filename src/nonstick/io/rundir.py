"""The run directory: scene.toml, meta.json, log.jsonl, stats.csv, bodies.csv, frames/, checkpoints/, preview.

Every file appears complete or not at all. A frame counts as done when its checkpoint exists. Files that a killed run
left after the last checkpoint are discarded when the run continues.
"""

from __future__ import annotations

import csv
import json
import time
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NonstickError
from ..scenes.scene import Scene
from .atomic import replacing, write_text


class RunDirectory:
    """The directory of one run: reading and writing it.

    Examples
    --------
    >>> import tempfile
    >>> from nonstick import Scene
    >>> from nonstick.io.rundir import RunDirectory
    >>> from nonstick.sim.run import run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run(Scene.load("still", {"domain.resolution": 8, "time.frames": 1}), folder)
    ...     opened = RunDirectory.open(folder)
    ...     print(opened.frames(), opened.scene().name, len(opened.rows()))
    [0, 1] still 1
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.frames_path = self.path / "frames"
        self.checkpoints_path = self.path / "checkpoints"

    # -- life -----------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: str | Path, scene_toml: str, meta: Mapping[str, Any]) -> RunDirectory:
        cls.check_free(path)
        run = cls(path)
        run.frames_path.mkdir(parents=True)
        run.checkpoints_path.mkdir()
        write_text(run.path / "scene.toml", scene_toml)
        run.write_meta(meta)
        return run

    @staticmethod
    def check_free(path: str | Path) -> None:
        """Raise an error if a new run cannot be written to the path."""
        path = Path(path)
        if path.exists() and not path.is_dir():
            raise NonstickError(f"{path} is a file, but --out needs a directory")
        if path.is_dir() and any(path.iterdir()):
            raise NonstickError(f"{path} is not empty; continue with `nonstick resume {path}` or choose another --out")

    @classmethod
    def open(cls, path: str | Path) -> RunDirectory:
        run = cls(path)
        if not (run.path / "meta.json").is_file() or not (run.path / "scene.toml").is_file():
            raise NonstickError(f"{path} is not a run directory: it needs a scene.toml and a meta.json")
        return run

    def scene(self) -> Scene:
        """The scene of the run; its mesh files are expected where they were when the run began."""
        scene = Scene.load(self.path / "scene.toml")
        scene.folder = Path(self.meta().get("folder", "."))
        return scene

    # -- meta, log, statistics ------------------------------------------------------------------------

    def meta(self) -> dict[str, Any]:
        try:
            return json.loads((self.path / "meta.json").read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise NonstickError(f"{self.path / 'meta.json'} is damaged; start a new run ({error})") from None

    def write_meta(self, meta: Mapping[str, Any]) -> None:
        write_text(self.path / "meta.json", json.dumps(dict(meta), indent=1, ensure_ascii=False) + "\n")

    def log(self, kind: str, message: str, **more: Any) -> None:
        line = {"when": time.strftime("%Y-%m-%dT%H:%M:%S"), "kind": kind, "message": message, **more}
        with open(self.path / "log.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def log_lines(self) -> list[dict[str, Any]]:
        file = self.path / "log.jsonl"
        if not file.exists():
            return []
        out = []
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                out.append(json.loads(line))
            except json.JSONDecodeError:  # the last line of a killed run
                continue
        return out

    def append_rows(self, rows: Iterable[Mapping[str, Any]], columns: tuple[str, ...], name: str = "stats.csv") -> None:
        file = self.path / name
        fresh = not file.exists()
        header = list(columns) if fresh else self._widen(name, columns)
        with open(file, "a", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, header, restval="")
            if fresh:
                writer.writeheader()
            writer.writerows(rows)

    def _widen(self, name: str, columns: tuple[str, ...]) -> list[str]:
        """The header of a table. Missing columns are added first, because a run of an older version has fewer
        columns."""
        with open(self.path / name, newline="", encoding="utf-8") as stream:
            header = next(csv.reader(stream), [])
        missing = [c for c in columns if c not in header]
        if missing:
            header += missing
            self._write_rows(name, header, self.rows(name))
        return header

    def _write_rows(self, name: str, header: list[str], rows: Iterable[Mapping[str, Any]]) -> None:
        with replacing(self.path / name) as partial, open(partial, "w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, header, restval="")
            writer.writeheader()
            writer.writerows(rows)

    def rows(self, name: str = "stats.csv") -> list[dict[str, str]]:
        file = self.path / name
        if not file.exists():
            return []
        with open(file, newline="", encoding="utf-8") as stream:
            return [row for row in csv.DictReader(stream) if None not in row.values()]

    def cut_rows(self, frame: int, name: str = "stats.csv") -> None:
        """Drop the rows of frames after `frame`."""
        rows = self.rows(name)
        keep = [row for row in rows if row["frame"].isdigit() and int(row["frame"]) <= frame]
        if not rows:  # the file holds at most a header and half a row of a killed run
            (self.path / name).unlink(missing_ok=True)
            return
        self._write_rows(name, list(rows[0]), keep)

    # -- frames and checkpoints -----------------------------------------------------------------------

    def write_frame(self, frame: int, arrays: Mapping[str, np.ndarray]) -> None:
        _save(self.frames_path / f"{frame:06d}.npz", arrays)

    def read_frame(self, frame: int) -> dict[str, np.ndarray]:
        return _load(self.frames_path / f"{frame:06d}.npz")

    def frames(self) -> list[int]:
        return _numbers(self.frames_path)

    def write_checkpoint(self, frame: int, arrays: Mapping[str, np.ndarray], every: int) -> None:
        """Write a checkpoint, then delete old ones: all but the last two and every n-th."""
        _save(self.checkpoints_path / f"{frame:06d}.npz", arrays)
        for old in self.checkpoints():
            if old < frame - 1 and old % every:
                (self.checkpoints_path / f"{old:06d}.npz").unlink(missing_ok=True)

    def read_checkpoint(self, frame: int) -> dict[str, np.ndarray]:
        return _load(self.checkpoints_path / f"{frame:06d}.npz")

    def checkpoints(self) -> list[int]:
        return _numbers(self.checkpoints_path)

    def drop_after(self, frame: int) -> None:
        """Delete everything after a frame: frames, checkpoints, rows and leftovers of a killed run."""
        for folder in (self.frames_path, self.checkpoints_path):
            for file in folder.glob("*.npz"):
                if file.stem.isdigit() and int(file.stem) > frame:
                    file.unlink()
            for file in folder.glob(".*.partial*"):
                file.unlink()
        self.cut_rows(frame)
        self.cut_rows(frame, "bodies.csv")


def _numbers(folder: Path) -> list[int]:
    return sorted(int(f.stem) for f in folder.glob("*.npz") if f.stem.isdigit())


def _save(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    # np.savez stamps every member with the same date, so equal arrays give equal bytes.
    with replacing(path) as partial:
        np.savez(partial, **arrays)  # type: ignore[arg-type]


def _load(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise NonstickError(f"there is no file {path}")
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise NonstickError(
            f"{path} is damaged; delete it and resume the run from an earlier frame ({error})"
        ) from None
