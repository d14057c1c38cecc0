"""One writer at a time: a lock on a run directory that ends with its process, however that ends.

The file `lock` names the process. What counts is the lock of the operating system on it: a killed process has lost it,
so nothing has to be cleaned up by hand. Systems without such locks (Windows) go by the file, and ask whether
the process it names is alive.
"""

from __future__ import annotations

import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from ..core.guarded import descriptor, naming, remove
from ..errors import NonstickError
from .atomic import ended

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NAME = "lock"


class Lock:
    """The right to write in a folder, from `with Lock(folder):` to its end.

    Parameters
    ----------
    folder : Path
        The run directory.

    Attributes
    ----------
    taken_over : str
        A sentence if another process had the lock and died with it, else empty.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nonstick.files.lock import Lock
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Lock(Path(folder)) as lock:
    ...         print((Path(folder) / "lock").is_file(), repr(lock.taken_over))
    ...     print((Path(folder) / "lock").exists())
    True ''
    False
    """

    def __init__(self, folder: Path):
        self.folder, self.file = folder, folder / NAME
        self.taken_over = ""
        self._handle = -1

    def __enter__(self) -> Lock:
        self._handle = self._take()
        try:
            self._sign()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _sign(self) -> None:
        before = _owner(self._handle)
        if before:
            self.taken_over = f"process {before['pid']} on {before['host']} was writing here and has ended: going on"
        me = {"pid": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%dT%H:%M:%S")}
        with naming(self.file):
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, json.dumps(me).encode())

    def __exit__(self, *_: object) -> None:
        if fcntl is None:  # Windows removes no file that is open
            os.close(self._handle)
            remove(self.file)
            return
        remove(self.file)  # before it is let go, so that nobody can lock a file without a name
        os.close(self._handle)

    def _take(self) -> int:
        while True:
            handle = descriptor(self.file, os.O_RDWR | os.O_CREAT, links=False)
            try:
                self._hold(handle)
                if os.path.samestat(os.fstat(handle), os.stat(self.file)):
                    return handle
            except FileNotFoundError:  # its owner has just finished and removed it
                pass
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)

    def _hold(self, handle: int) -> None:
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            free = not _alive(_owner(handle))
        except BlockingIOError:
            free = False
        except OSError:  # a file system without locks
            free = not _owner(handle)
        if not free:
            owner = _owner(handle)
            who = f"process {owner['pid']} on {owner['host']} (since {owner['since']})" if owner else "another process"
            raise NonstickError(
                f"{who} is writing in {self.folder}: wait until it ends, or stop it; if there is no such process, "
                f"delete {self.file}"
            )


def held(folder: Path) -> bool:
    """True if a process that is alive has the lock of a folder. It changes nothing.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nonstick.files.lock import Lock, held
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Lock(Path(folder)):
    ...         print(held(Path(folder)))
    ...     print(held(Path(folder)))
    True
    False
    """
    try:
        handle = descriptor(folder / NAME, os.O_RDONLY, links=False)
    except (OSError, NonstickError):
        return False
    try:
        owner = _owner(handle)
        if owner and owner["host"] != platform.node():
            return True  # only the file can tell
        if fcntl is None:
            return _alive(owner)
        if owner and (not owner["pid"].isdecimal() or ended(int(owner["pid"]))):
            return False
        # A probe for a moment could refuse a process that starts just now, so it comes last.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError:  # held, or a file system without locks
        return True
    finally:
        os.close(handle)


def _alive(owner: dict[str, Any]) -> bool:
    """False if who wrote a lock file is known to have ended; for systems that have no locks that end with a process."""
    here = owner and owner["host"] == platform.node() and owner["pid"].isdecimal()
    return bool(owner) and not (here and ended(int(owner["pid"])))


def _owner(handle: int) -> dict[str, Any]:
    """Who wrote a lock file; nothing if it is new or cannot be read."""
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        found = json.loads(os.read(handle, 4096))
        return {key: str(found[key])[:80] for key in ("pid", "host", "since")}
    except (ValueError, TypeError, KeyError):
        return {}
