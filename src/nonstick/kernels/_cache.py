"""Keeps compiled kernels in the user's cache folder, under the hash of their source.

Numba's own rule uses the time stamp of one file. So a new installation compiles everything again, and numba does not
notice an edit to a function inlined from another file. Here the key is the text of the file and of every kernel file it
imports, and numba's version. So the cache stays valid after a new installation, all installations of one version share
it, and it never gives old code. The environment variable `NUMBA_CACHE_DIR` overrides it.

The files are pickles, and loading a pickle runs what it says. So nothing is loaded from a folder or a file that belongs
to somebody else or that others may write, and each file carries a seal: its hash with a key that only this user can
read. Whoever puts a file there without the key is noticed, and so is damage.
"""

import atexit
import errno
import hashlib
import logging
import os
import pickle
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import numba
from numba import config
from numba.core.caching import CacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.runtime import rtsys

from . import shipped

#: kernel files lie in this folder and beside the one package that uses them; their names begin with `_`
PACKAGE = Path(__file__).parents[1]
#: how files are sealed; files of versions that did it in another way are not looked at
SEALS = b"blake2b with a key"
#: versions of one file's kernels that are kept
KEPT = 4


@cache
def source_stamp(path: Path) -> str:
    """Hash of a kernel file, of the kernel files it imports, and of numba's version, which may differ between
    environments of one user."""
    files, todo = {Path(__file__).with_name(name) for name in ("__init__.py", "teams.py")}, [path]
    while todo:
        file = todo.pop()
        if file not in files and file.is_file():
            files.add(file)
            todo += imported_kernels(file)
    digest = hashlib.sha256(SEALS + numba.__version__.encode())
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:24]


def imported_kernels(path: Path) -> list[Path]:
    """The kernel files and settings a file imports from: `from ._blocks import …`, `from ..settings import …`."""
    out, text = [], path.read_text(encoding="utf-8")
    for dots, module in re.findall(r"^from (\.+)([\w.]*\b(?:_\w+|settings)) import", text, re.M):
        out.append(path.parents[len(dots) - 1].joinpath(*module.split(".")).with_suffix(".py"))
    return out


def cache_folder() -> Path:
    """Where kernels are kept: the user's cache folder, or a private one in the temporary folder if that cannot be."""
    return _usable_folder(_users_folder(), Path(tempfile.gettempdir()) / f"nonstick-{_user()}" / "kernels")


def _users_folder() -> Path | None:
    """The cache folder of this system; None for a user without a home."""
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(base) / "nonstick" / "kernels"


@cache
def _usable_folder(wanted: Path | None, spare: Path) -> Path:
    """The first of the two that can be written to, by this user alone; else a new one for this process."""
    reason = "there is no home folder" if wanted is None else _unusable(wanted)
    if wanted is not None and not reason:
        return wanted
    out = spare
    if _unusable(spare) or _unusable(spare.parent):
        try:
            out = Path(tempfile.mkdtemp(prefix="nonstick-"))
            atexit.register(shutil.rmtree, out, ignore_errors=True)
        except OSError:
            say(f"compiled kernels cannot be kept, because {reason}: every start compiles them again", kept=False)
            return spare
        say(f"compiled kernels are kept in {out} until this process ends, because {reason}", kept=False)
        return out
    say(f"compiled kernels are kept in {out}, because {reason}")
    return out


def _unusable(folder: Path) -> str:
    """Why a folder cannot keep kernels; nothing if it can. It is made if need be, and made private if it is ours."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        fault = untrusted(folder)
        if not fault and not os.access(folder, os.W_OK | os.X_OK):
            fault = f"{folder} cannot be written to"
        return fault
    except OSError as error:
        return f"{folder} cannot be used ({error.strerror})"


def untrusted(path: Path) -> str:
    """Why nothing must be loaded from a folder. One that a group can write is made private: its files are sealed."""
    if not hasattr(os, "getuid"):
        return ""
    about = os.lstat(path)
    if stat.S_ISLNK(about.st_mode):
        return f"{path} is a symbolic link (remove it)"
    if about.st_uid not in (os.getuid(), 0):
        return f"{path} belongs to another user (remove it)"
    if about.st_mode & stat.S_IWOTH:
        return f"{path} can be written by everybody (remove it, or say chmod -R go-w {path})"
    if about.st_mode & stat.S_IWGRP and about.st_uid == os.getuid():
        os.chmod(path, stat.S_IMODE(about.st_mode) & ~0o022)
    return ""


def private(path: Path, others: int = 0o022) -> bytes:
    """The content of a file of this user to which others have none of these rights; OSError if it is not one.

    Rights are those of the file that is open: one that others could write is not trusted because its mode is changed.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise PermissionError(errno.EPERM, "it is not a file", str(path))
        if hasattr(os, "getuid") and about.st_uid not in (os.getuid(), 0):
            raise PermissionError(errno.EPERM, "it belongs to another user", str(path))
        if hasattr(os, "getuid") and about.st_mode & others:
            raise PermissionError(errno.EPERM, "others could write or read it", str(path))
        return file.read()


@cache
def _key() -> bytes:
    """The key of the seals: 32 random bytes, made on first use, which only this user can read."""
    path = Path(config.CACHE_DIR or cache_folder()) / "key"
    for _ in range(3):  # another process may make one at the same time
        with suppress(OSError):
            try:
                found = private(path, 0o077)
                if len(found) == 32:
                    return found
                path.unlink()
            except FileNotFoundError:
                pass
            except OSError:
                path.unlink()
            handle, partial = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(os.urandom(32))
            with suppress(FileExistsError):
                os.link(partial, path)
            os.unlink(partial)
    return os.urandom(32)  # nothing can be kept here


def _seal_of(content: bytes) -> bytes:
    return hashlib.blake2b(content, key=_key(), digest_size=32).digest()


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


@cache
def say(sentence: str, kept: bool = True) -> None:
    """Warn once; `kept` is False if the next start has to compile again."""
    logging.getLogger("nonstick.kernels").warning(sentence, extra={"kept": kept})


def folder_of(path: Path) -> Path:
    """The folder of the compiled kernels of a file: `grid._fractions-<hash>`."""
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return cache_folder() / f"{name}-{source_stamp(path)}"


@cache
def _place(file: str) -> tuple[str, Path] | None:
    """Stamp and folder of the kernels of a file of this package; a file has many kernels, and each of them asks."""
    path = Path(file)
    return (source_stamp(path), folder_of(path)) if PACKAGE in path.parents else None


class SourceHashLocator(_CacheLocator):
    """Finds the cache of functions defined in this package; other packages are not touched."""

    def __init__(self, py_func, stamp: str, folder: Path):
        self._line = py_func.__code__.co_firstlineno
        self._stamp, self._folder = stamp, folder

    def get_cache_path(self):
        return str(self._folder)

    def get_source_stamp(self):
        return self._stamp

    def get_disambiguator(self):
        return str(self._line)

    def ensure_cache_path(self):
        try:
            self._folder.mkdir(mode=0o700)
        except OSError:
            return  # it exists; or it cannot be made, and kernels live in memory
        _prune(self._folder)

    @classmethod
    def from_function(cls, py_func, py_file):
        place = None if config.CACHE_DIR else _place(py_file)
        return None if place is None else cls(py_func, *place)


class SealedFiles(IndexDataCacheFile):
    """The files of one kernel, each with a seal in front: the hash of its content with the key of this user.

    Numba loads what it finds: a damaged file ends in an error of pickle, or in LLVM ending the process. Here a file
    that is damaged, or that others could have written, counts as missing, and so does a disk that is full.
    """

    def save(self, key, data):
        try:
            super().save(key, data)
        except OSError as error:
            folder = self._cache_path
            fault = f"compiled kernels cannot be kept in {folder} ({error.strerror})"
            say(f"{fault}: the next start compiles again", kept=False)

    def flush(self):
        with suppress(OSError):
            super().flush()

    def load(self, key):
        ready = shipped.find(Path(self._cache_path).name, self._index_name, key)
        if ready is not None:
            return ready
        try:
            return super().load(key)
        except Exception:  # whatever a pickle of another time or place may raise
            say(f"compiled kernels in {self._cache_path} are damaged and are discarded")
            return None

    def _load_index(self):
        try:
            stamp, overloads = pickle.loads(self._unseal(self._index_path))
        except Exception:
            return {}
        return overloads if stamp == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads):
        self._seal(self._index_path, self._dump(((self._version, self._source_stamp), overloads)))

    def _load_data(self, name):
        return pickle.loads(self._unseal(self._data_path(name)))

    def _save_data(self, name, data):
        self._seal(self._data_path(name), self._dump(data))

    def _seal(self, path: str, content: bytes) -> None:
        with self._open_for_write(path) as file:
            os.chmod(file.fileno() if os.chmod in os.supports_fd else file.name, 0o600)
            file.write(_seal_of(content) + content)

    def _unseal(self, path: str) -> bytes:
        """The content of a file; OSError if it is missing, and a sentence if it is not to be trusted."""
        fault = untrusted(Path(self._cache_path))
        try:
            found = private(Path(path))
        except FileNotFoundError:
            raise
        except OSError as error:
            fault = fault or f"{path} is not trusted ({error.strerror})"
        if not fault and _seal_of(found[32:]) != found[:32]:
            # one sentence for all of them: where the key was lost, every file has another seal
            fault = f"files in {Path(path).parents[1]} are damaged, or were not made by this user"
        if fault:
            say(f"kernels are compiled again, because {fault}")
            raise FileNotFoundError(path)
        return found[32:]


class KernelCache(FunctionCache):
    """The cache of one kernel, in sealed files.

    Numba prepares its compiler before it looks for a kernel, which takes as long as loading numba. Kernels that are
    found need no compiler, only numba's functions for memory; a kernel that is missing prepares it all the same.
    """

    def __init__(self, numbas: FunctionCache, prepare: Callable[[], None]):
        self.__dict__.update(numbas.__dict__)
        self._prepare = prepare
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = SealedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig, target_context):
        rtsys.initialize(target_context)
        self._prepare()
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def sealed(kernel, prepare: Callable[[], None] = lambda: None):
    """Let a compiled function keep its code in sealed files; `prepare` is called before it is loaded."""
    if hasattr(kernel, "_cache"):  # not a plain function, as with NUMBA_DISABLE_JIT
        kernel._cache = KernelCache(kernel._cache, prepare)
    return kernel


def compiled(path: Path) -> bool:
    """True if any kernel of the file is in the cache; always True with `NUMBA_CACHE_DIR`, where we do not look."""
    if config.CACHE_DIR or shipped.has(folder_of(path).name):
        return True
    return next(folder_of(path).glob("*.nbc"), None) is not None


def ship() -> int:
    """Put all kernels of the cache into the archive of shipped kernels; returns its bytes."""
    indices, contents = [], {}
    for path in sorted(cache_folder().glob("*/*.nbi")):
        folder = path.parent.name
        (_version, _stamp), overloads = pickle.loads(private(path)[32:])
        indices.append((folder, path.name, overloads))
        contents.update({f"{folder}/{name}": private(path.with_name(name))[32:] for name in overloads.values()})
    return shipped.pack(indices, contents)


def _prune(folder: Path) -> None:
    """Delete all but the newest versions of one file's kernels."""
    name = folder.name.rsplit("-", 1)[0]
    versions = [p for p in folder.parent.glob(f"{name}-*") if p.name.rsplit("-", 1)[0] == name]
    for old in sorted(versions, key=lambda p: p.stat().st_mtime, reverse=True)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


def install() -> None:
    """Make numba use this locator first."""
    if SourceHashLocator not in CacheImpl._locator_classes:
        CacheImpl._locator_classes.insert(0, SourceHashLocator)
