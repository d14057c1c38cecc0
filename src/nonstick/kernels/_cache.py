"""Keeps compiled kernels in the user's cache folder, under the hash of their source.

Numba's own rule uses the time stamp of one file. So a new installation compiles everything again, and numba does not
notice an edit to a function inlined from another file. Here the key is the text of the file and of every kernel file it
imports. So the cache stays valid after a new installation, all installations of one version share it, and it never
gives old code. The environment variable `NUMBA_CACHE_DIR` overrides it.
"""

import hashlib
import os
import re
import shutil
import sys
from functools import cache
from pathlib import Path

from numba import config
from numba.core.caching import CacheImpl, _CacheLocator

#: kernel files lie in this folder and beside the one package that uses them; their names begin with `_`
PACKAGE = Path(__file__).parents[1]
#: versions of one file's kernels that are kept
KEPT = 4


@cache
def source_stamp(path: Path) -> str:
    """Hash of a kernel file and of the kernel files it imports."""
    files, todo = {Path(__file__), Path(__file__).with_name("__init__.py")}, [path]
    while todo:
        file = todo.pop()
        if file not in files and file.is_file():
            files.add(file)
            todo += imported_kernels(file)
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:24]


def imported_kernels(path: Path) -> list[Path]:
    """The kernel files a file imports from: `from ._blocks import …`, `from ..kernels._vector import …`."""
    out = []
    for dots, module in re.findall(r"^from (\.+)([\w.]*\b_\w+) import", path.read_text(), re.M):
        out.append(path.parents[len(dots) - 1].joinpath(*module.split(".")).with_suffix(".py"))
    return out


def cache_folder() -> Path:
    """The user's cache folder of this system."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "nonstick" / "kernels"


def folder_of(path: Path) -> Path:
    """The folder of the compiled kernels of a file: `grid._fractions-<hash>`."""
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return cache_folder() / f"{name}-{source_stamp(path)}"


class SourceHashLocator(_CacheLocator):
    """Finds the cache of functions defined in this package; other packages are not touched."""

    def __init__(self, py_func, path: Path):
        self._line = py_func.__code__.co_firstlineno
        self._stamp = source_stamp(path)
        self._folder = folder_of(path)

    def get_cache_path(self):
        return str(self._folder)

    def get_source_stamp(self):
        return self._stamp

    def get_disambiguator(self):
        return str(self._line)

    def ensure_cache_path(self):
        new = not self._folder.exists()
        super().ensure_cache_path()
        if new:
            _prune(self._folder)

    @classmethod
    def from_function(cls, py_func, py_file):
        path = Path(py_file)
        if PACKAGE not in path.parents or config.CACHE_DIR:
            return None
        self = cls(py_func, path)
        try:
            self.ensure_cache_path()
        except OSError:  # the home folder is not writable: numba finds another place
            return None
        return self


def compiled(path: Path) -> bool:
    """True if any kernel of the file is in the cache; always True with `NUMBA_CACHE_DIR`, where we do not look."""
    if config.CACHE_DIR:
        return True
    return next(folder_of(path).glob("*.nbc"), None) is not None


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
