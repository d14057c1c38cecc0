"""Arrays from `.npz` and `.npy` files that anybody may have written.

NumPy's reader believes what a file says about itself: a header of a few bytes makes it ask for terabytes, damage deep
in an archive comes out as errors of five libraries, and for Python objects it advises to load pickles, which run code.
Here sizes are compared with the file before memory is asked for, nothing is ever unpickled, and what is wrong is said
in one sentence that names the file and the key.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
from numpy.lib import format as npy

from ..core.guarded import reading
from ..errors import NonstickError

_T = TypeVar("_T")
#: deflate makes data at most this many times smaller
_DEFLATE = 1032
#: bytes of an `.npy` file before its numbers; NumPy itself writes 64 to a few hundred
_LONGEST_HEADER = 10_000


class ArrayFile:
    """An open `.npz` file: `names`, and one array after another by `file[name]`.

    Examples
    --------
    >>> import numpy as np
    >>> np.savez("x.npz", x=np.arange(3.0))
    >>> with ArrayFile("x.npz") as file:
    ...     file.names, file["x"]
    (['x'], array([0., 1., 2.]))

    With `in_pieces` the arrays may be larger than the memory: `length` and `rows` read a part of one.
    """

    def __init__(self, path: str | Path, in_pieces: bool = False) -> None:
        self.path, self._in_pieces = Path(path), in_pieces
        self._file = reading(self.path)
        try:
            self._bytes = os.fstat(self._file.fileno()).st_size
            self._members = self._directory()
        except BaseException:
            self._file.close()
            raise

    def _directory(self) -> dict[str, zipfile.ZipInfo]:
        try:
            self._zip = zipfile.ZipFile(self._file)
            members = self._zip.infolist()
        except Exception:  # untrusted input: any byte of the archive may be wrong
            raise NonstickError(
                f"{self.path} is not a readable .npz file: it is not a complete zip archive; save it again with "
                "numpy.savez"
            ) from None
        if not self._in_pieces and sum(member.file_size for member in members) > _memory():
            raise NonstickError(
                f"{self.path} is not a readable .npz file: its arrays are larger than the memory of this machine; "
                "make the problem smaller"
            )
        return {member.filename[:-4]: member for member in members if member.filename.endswith(".npy")}

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def __getitem__(self, name: str) -> np.ndarray:
        return self._opened(name, _read)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array; its numbers are not read."""
        return self._opened(name, lambda stream, size: _header(stream, size)[0])

    def rows(self, name: str, low: int, high: int) -> np.ndarray:
        """A range of an array along its first axis; the memory is that of the range."""
        return self._opened(name, lambda stream, size: _read_rows(stream, size, low, high))

    def _opened(self, name: str, read: Callable[[IO[bytes], int], _T]) -> _T:
        member = self._members[name]
        try:
            self._check(member)
            with self._zip.open(member) as stream:
                return read(stream, member.file_size)
        except _UnreadableError as error:
            reason = str(error)
        except MemoryError:
            raise
        except Exception:
            reason = "it is damaged"
        raise NonstickError(
            f"{self.path} is not a readable .npz file: cannot read {shorten(name)}, because {reason}; save it again "
            "with numpy.savez"
        )

    def _check(self, member: zipfile.ZipInfo) -> None:
        if member.flag_bits & 1:
            raise _UnreadableError("it is encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _UnreadableError("it is compressed in a way NumPy does not write")
        ratio = 1 if member.compress_type == zipfile.ZIP_STORED else _DEFLATE
        if member.compress_size > self._bytes or member.file_size > ratio * member.compress_size:
            raise _UnreadableError("the file is too short for it")

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(self, *_) -> None:
        self._zip.close()
        self._file.close()


def read_npy(path: str | Path) -> np.ndarray:
    """The array of an `.npy` file."""
    with reading(path) as stream:
        try:
            return _read(stream, os.fstat(stream.fileno()).st_size)
        except _UnreadableError as error:
            reason = str(error)
        except MemoryError:
            raise
        except Exception:
            reason = "it is damaged"
    raise NonstickError(f"{path} is not a readable .npy file: {reason}; save it again with numpy.save")


class _UnreadableError(Exception):
    """Why an array cannot be read: a clause that begins with `it` or `the file`."""


def _header(stream: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type of the array in a stream of `size` bytes."""
    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    try:
        shape, fortran, dtype = headers[npy.read_magic(stream)](stream, max_header_size=_LONGEST_HEADER)
    except Exception:  # the header is a Python literal: whatever the parser says, it is not one of ours
        raise _UnreadableError("it does not begin like an array of NumPy") from None
    if dtype.hasobject:
        raise _UnreadableError("it contains Python objects where an array of numbers is needed")
    count = math.prod(shape)
    if min(shape, default=0) < 0 or not 0 <= count * dtype.itemsize <= size:
        raise _UnreadableError(f"it promises {shorten(' × '.join(map(str, shape)))} values, more than the file has")
    return shape, fortran, dtype


def _read_rows(stream: IO[bytes], size: int, low: int, high: int) -> np.ndarray:
    """Rows of the array in a stream of `size` bytes."""
    shape, fortran, dtype = _header(stream, size)
    if not shape or not 0 <= low <= high <= shape[0]:
        raise _UnreadableError("it has too few rows")
    if fortran and len(shape) > 1:
        raise _UnreadableError("it is stored by columns, which cannot be read in pieces")
    out = np.empty((high - low, *shape[1:]), dtype)
    row = math.prod(shape[1:]) * dtype.itemsize
    stream.seek(low * row, os.SEEK_CUR)
    got = stream.readinto(out.reshape(-1).view(np.uint8).data) if out.nbytes else 0  # type: ignore[attr-defined]
    if got != out.nbytes:
        raise _UnreadableError("it has another length than it says")
    return out


def _read(stream: IO[bytes], size: int) -> np.ndarray:
    """The array in a stream of `size` bytes."""
    shape, fortran, dtype = _header(stream, size)
    out = np.empty(math.prod(shape), dtype)
    got = stream.readinto(out.view(np.uint8).data) if out.nbytes else 0  # type: ignore[attr-defined]
    if got != out.nbytes or stream.read(1):
        raise _UnreadableError("it has another length than it says")
    return out.reshape(shape, order="F" if fortran else "C")


def shorten(text: object, limit: int = 60) -> str:
    """A value of an untrusted file as it can be shown: one line, no control characters, not too long."""
    plain = "".join(c if c.isprintable() else "?" for c in str(text))
    return plain if len(plain) <= limit else f"{plain[:limit]}…"


def _memory() -> float:
    """Bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return math.inf
