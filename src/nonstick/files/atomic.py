"""Atomic writing: a file appears complete or not at all; and file names made from the names in scene files."""

from __future__ import annotations

import errno
import itertools
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..core.guarded import BY_DESCRIPTOR, folder, remove

_NUMBERS = itertools.count()
#: files that this process is writing
_partial: set[Path] = set()


@contextmanager
def replacing(path: str | Path, durable: bool = False) -> Iterator[Path]:
    """Write to the path that `with` gives; it replaces `path` only if the block succeeds.

    The temporary file lies beside the target, because only a rename within one file system is atomic. A `durable` file
    is on the disk before it gets its name, so that it is whole even after a power failure. No two temporary files of a
    process have one name: threads may write one file, and OpenUSD knows a file by its name until the last error that
    holds it is dropped.
    """
    path = Path(path)
    name = f".{path.name}.{next(_NUMBERS)}.{os.getpid()}.partial{path.suffix}"
    try:
        with folder(path.parent) as place:
            place.remove(name)  # never write through a link that lies there
            partial = place.writable(name)
            _partial.add(partial)
            try:
                yield partial
                if durable:
                    _sync(partial)
                place.rename(name, path.name)
                if durable:
                    _sync(place.path)
            finally:
                with suppress(OSError):
                    place.remove(name)
                _partial.discard(partial)
    except OSError as error:
        if error.errno is None:  # NumPy's way to say that only a part was written
            raise OSError(
                errno.ENOSPC, f"only a part could be written, is the disk full ({error})", str(path)
            ) from None
        error.filename = str(path)  # the name the caller knows
        raise


def remove_own_partial() -> None:
    """Delete what this process is writing, because it ends at once, without clean-up."""
    for partial in tuple(_partial):
        with suppress(OSError):
            partial.unlink()


def remove_partial(folder: Path) -> None:
    """Delete what processes that were killed have left of files in a folder; those that are alive are not disturbed."""
    for file in folder.glob(".*.partial*"):
        found = re.search(r"\.(\d+)\.partial", file.name)
        if found is not None and ended(int(found[1])):
            remove(file)


def ended(pid: int) -> bool:
    """True if there is no process with this number."""
    if sys.platform == "win32":  # where os.kill ends a process whatever the signal
        return _ended_on_windows(pid)
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # it belongs to somebody else
        return False
    return False


def _ended_on_windows(pid: int) -> bool:
    import ctypes

    system = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    system.OpenProcess.restype = ctypes.c_void_p
    handle = system.OpenProcess(0x1000, False, pid & 0xFFFFFFFF)  # to ask about it, no more
    if not handle:
        return bool(ctypes.get_last_error() != 5)  # type: ignore[attr-defined]  # 5: it belongs to somebody else
    status = ctypes.c_ulong()
    system.GetExitCodeProcess(ctypes.c_void_p(handle), ctypes.byref(status))
    system.CloseHandle(ctypes.c_void_p(handle))
    return status.value != 259  # still active


def write_text(path: str | Path, text: str) -> None:
    """`Path.write_text`, atomically."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", errors="replace")


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk; not every system can do that for folders."""
    if not BY_DESCRIPTOR and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)  # Windows asks for the right to write
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


#: bytes of a file name, which leaves room for a number and an ending
LONGEST = 120


def safe_name(text: str, fallback: str = "scene") -> str:
    """A name that stays in its folder: letters, digits, `.`, `-` and `_`, no leading dots, no device of Windows.

    Examples
    --------
    >>> from nonstick.files.atomic import safe_name
    >>> safe_name("ball 1"), safe_name("../../x"), safe_name(".."), safe_name("con")
    ('ball-1', 'x', 'scene', 'con_')
    """
    name = re.sub(r"[^\w.-]+", "-", text).strip(".-")
    name = re.sub(r"(?i)^(con|prn|aux|nul|conin|conout|(?:com|lpt)[\d¹²³])(?![^.])", r"\1_", name)
    return name.encode()[:LONGEST].decode(errors="ignore").strip(".-") or fallback


def safe_names(texts: Iterable[str], fallback: str = "scene") -> list[str]:
    """One name for each text, no two alike, also where upper and lower case count as the same.

    Examples
    --------
    >>> from nonstick.files.atomic import safe_names
    >>> safe_names(["ball 1", "ball-1", "Ball 1"])
    ['ball-1', 'ball-1-2', 'Ball-1-3']
    """
    taken: set[str] = set()
    out = []
    for text in texts:
        own = name = safe_name(text, fallback)
        number = 2
        while name.lower() in taken:
            name = f"{own}-{number}"
            number += 1
        taken.add(name.lower())
        out.append(name)
    return out
