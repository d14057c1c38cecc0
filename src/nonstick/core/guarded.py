"""How files that may come from a stranger are opened: regular files only, without waiting, and not through links.

Opening a FIFO waits for ever, opening a device can do anything, and a link leads what is written to another place. So
files are looked at before they are opened and again when they are open. Below a folder that was given to `guard`, as
every run directory is, each folder is opened by the descriptor of the one above it, and a link is refused wherever it
stands. Files that users name themselves may be links.

Windows has no descriptors of folders. There a file is opened by its path, after each folder on the way was looked at;
to make a link needs rights there that users seldom have.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from ..errors import NonstickError

#: bytes of a text that is read whole: the tables of a run of a million steps are shorter
LARGEST_TEXT = 1 << 30
#: True where a folder can be opened, and a file in it by the descriptor of the folder
BY_DESCRIPTOR = os.open in os.supports_dir_fd
#: flags that some systems do not have
_FOLDER, _NO_LINK, _AT_ONCE = (getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK"))
_AT_ONCE |= getattr(os, "O_CLOEXEC", 0)
#: folders with contents that may be a stranger's
_guarded: set[Path] = set()


def guard(folder: str | Path) -> None:
    """From now on no link below this folder is followed; the folder itself may be reached by links."""
    _guarded.add(_plain(folder))


def _plain(path: str | Path) -> Path:
    return Path(os.path.abspath(path))


@dataclass(frozen=True)
class Place:
    """An open folder."""

    path: Path
    #: its descriptor, where there are such
    handle: int | None
    #: no link is followed here
    guarded: bool

    def writable(self, name: str) -> Path:
        """A path by which libraries and other programs write a file here, wherever the folder's own path leads now."""
        open_folder = Path(f"/proc/{os.getpid()}/fd/{self.handle}")
        return (open_folder if self.guarded and open_folder.exists() else self.path) / name

    def named(self, name: str) -> str:
        """What the functions of `os` call a file here, beside `dir_fd=place.handle`."""
        return name if self.handle is not None else str(self.path / name)

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError), naming(self.path / name):
            os.unlink(self.named(name), dir_fd=self.handle)

    def rename(self, old: str, new: str) -> None:
        """Give a file of this folder another name; a file or a link that has it is replaced, and nothing else is."""
        with suppress(FileNotFoundError):
            about = os.stat(self.named(new), dir_fd=self.handle, follow_symlinks=not self.guarded)
            if not stat.S_ISLNK(about.st_mode):
                _refuse_others(self.path / new, about)
        os.replace(self.named(old), self.named(new), src_dir_fd=self.handle, dst_dir_fd=self.handle)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """An error of the operating system says which file it is about, by its whole path."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


@contextmanager
def folder(path: str | Path, make: bool = False) -> Iterator[Place]:
    """Open a folder for a `with`; with `make` it is made if it is missing."""
    path = _plain(path)
    above = [one for one in (path, *path.parents) if one in _guarded]
    here = above[-1] if above else path
    if make:
        here.mkdir(parents=True, exist_ok=True)
    with naming(here):
        place = _opened(here, None, bool(above))
    try:
        for part in path.relative_to(here).parts:
            if make:
                with suppress(FileExistsError), naming(place.path / part):
                    os.mkdir(place.named(part), dir_fd=place.handle)
            with naming(place.path / part):
                below = _opened(place.path / part, place, True)
            _close(place)
            place = below
        yield place
    finally:
        _close(place)


def _opened(path: Path, above: Place | None, guarded: bool) -> Place:
    """Open a folder. One above it means that it is reached from there, and that it is not a link."""
    name, at = (above.named(path.name), above.handle) if above else (str(path), None)
    if above:
        _refuse_link(path, os.stat(name, dir_fd=at, follow_symlinks=False))
    if BY_DESCRIPTOR:
        return Place(path, os.open(name, os.O_RDONLY | _FOLDER | (_NO_LINK if above else 0), dir_fd=at), guarded)
    os.scandir(path).close()  # raises what opening a folder would raise
    return Place(path, None, guarded)


def _close(place: Place) -> None:
    if place.handle is not None:
        os.close(place.handle)


def _refuse_link(path: Path, about: os.stat_result) -> None:
    if stat.S_ISLNK(about.st_mode):
        raise NonstickError(
            f"{path} is a link to another place, and in a run directory links are not followed: put the real file or "
            "folder there"
        )


def descriptor(path: str | Path, flags: int, links: bool = True) -> int:
    """Open a regular file, or make one if the flags say so. Nothing else is opened, and nothing is waited for."""
    path, name = Path(path), _plain(path).name
    with naming(path), folder(_plain(path).parent) as place:
        links = links and not place.guarded
        with suppress(FileNotFoundError):
            _refuse_others(path, os.stat(place.named(name), dir_fd=place.handle, follow_symlinks=links))
        flags |= _AT_ONCE | (0 if links else _NO_LINK)
        handle = os.open(place.named(name), flags, 0o666, dir_fd=place.handle)
    try:
        _refuse_others(path, os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def _refuse_others(path: Path, about: os.stat_result) -> None:
    _refuse_link(path, about)
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(about.st_mode):
        raise NonstickError(f"{path} is a pipe, a socket or a device, and a file is needed: put a real file there")


def reading(path: str | Path) -> BinaryIO:
    """Open a file to read it."""
    return os.fdopen(descriptor(path, os.O_RDONLY), "rb")


def read_bytes(path: str | Path, most: int = LARGEST_TEXT) -> bytes:
    """The content of a file that is not too long."""
    with reading(path) as file:
        if (size := os.fstat(file.fileno()).st_size) > most:
            raise NonstickError(
                f"{path} has {size / 2**20:.0f} MB, and such files are texts of at most {most // 2**20} MB: is it the "
                "right file"
            )
        return file.read()


def read_text(path: str | Path, most: int = LARGEST_TEXT) -> str:
    """The text of a file, which is UTF-8 whatever the system says; what is not is replaced."""
    return io.TextIOWrapper(io.BytesIO(read_bytes(path, most)), encoding="utf-8", errors="replace").read()


def appending(path: str | Path, newline: str | None = None) -> TextIO:
    """Open a text to add to its end."""
    handle = descriptor(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    return os.fdopen(handle, "a", encoding="utf-8", errors="replace", newline=newline)


def make_folder(path: str | Path) -> None:
    """Make a folder, with those above it, unless it is there."""
    with folder(path, make=True):
        pass


def remove(path: str | Path) -> None:
    """Delete a file, or a link itself, if it is there."""
    with suppress(FileNotFoundError), folder(Path(path).parent) as place:
        place.remove(Path(path).name)
