"""Kernels that were compiled before the package was packed, so that a new user's first run does not wait for them.

`make kernels` writes an archive beside this file: the kernels of common runs, for one Python, one numba and processors
of the level x86-64-v3 (AVX2 and FMA, most since 2015). A wheel takes it along, a clone has none. Kernels are found
under the hash of their source, as in the cache; what is not found here is compiled.

The archive holds pickles, and loading a pickle runs what it says. It is trusted like the Python files beside it, with
which it was installed: the wheel has the SHA-256 of each, and pip compares them.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import zipfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba

#: the settings with which shipped kernels are compiled
SETTINGS = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
#: what a processor of this level has that others may lack, as LLVM names it
NEEDED = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2", "xsave")
#: settings of users for which kernels must be compiled
_OTHER = ("CACHE_DIR", "BOUNDSCHECK", "DEBUGINFO", "LOOP_VECTORIZE", "SLP_VECTORIZE", "OPT")
_ASKED = (*SETTINGS, *(f"NUMBA_{name}" for name in _OTHER))
FOLDER = Path(__file__).with_name("compiled")


def archive_path() -> Path:
    """Where the kernels for this Python and numba are, if they were shipped."""
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return FOLDER / f"{python}-numba{numba.__version__}-{llvm.get_process_triple()}-v3.zip"


def usable(features: dict[str, bool]) -> bool:
    """True if a processor with these features runs shipped kernels, and the user has not asked for others."""
    return all(features.get(name) for name in NEEDED) and not any(name in os.environ for name in _ASKED)


@cache
def _archive() -> zipfile.ZipFile | None:
    """The archive in memory, because processes that are forked would share the place in an open file."""
    try:
        if archive_path().is_file() and usable(llvm.get_host_cpu_features()):
            return zipfile.ZipFile(io.BytesIO(archive_path().read_bytes()))
    except (OSError, RuntimeError, zipfile.BadZipFile):  # LLVM may not know the processor
        pass
    return None


def has(folder: str) -> bool:
    """True if kernels of a file are here; `folder` is that of the cache, with the hash of the source in its name."""
    archive = _archive()
    return archive is not None and any(name.startswith(f"{folder}/") for name in archive.namelist())


def find(folder: str, index: str, key: tuple[Any, ...]) -> Any:
    """What numba keeps of a kernel, or None; `index` is the name of its index and `key` what it asks for there."""
    archive = _archive()
    if archive is None:
        return None
    try:
        signature, _target, code = key
        data = pickle.loads(archive.read(f"{folder}/{index}")).get((signature, code))
        return None if data is None else pickle.loads(archive.read(f"{folder}/{data}"))
    except Exception:  # it is not there, or not of this time and place: it is compiled
        return None


def pack(indices: Iterable[tuple[str, str, dict[Any, str]]], contents: dict[str, bytes]) -> int:
    """Write the archive: indices as (folder, name, key → file) and the contents of the files; returns its bytes."""
    FOLDER.mkdir(exist_ok=True)
    with zipfile.ZipFile(archive_path(), "w", zipfile.ZIP_DEFLATED) as archive:
        for folder, name, overloads in indices:
            found = {(signature, code): file for (signature, _target, code), file in overloads.items()}
            _write(archive, f"{folder}/{name}", pickle.dumps(found))
        for path, content in sorted(contents.items()):
            _write(archive, path, content)
    return archive_path().stat().st_size


def _write(archive: zipfile.ZipFile, path: str, content: bytes) -> None:
    """Without the time, so that the same kernels make the same archive."""
    archive.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)
