"""Shipped kernels: used where source, Python, numba and processor fit, else kernels are compiled."""

import os
import subprocess
import sys
import zipfile

import pytest

from nonstick.kernels import shipped

KEY = ("signature", ("triple", "cpu", "features"), ("code", ""))
HOST = shipped.llvm.get_host_cpu_features()
ALL = dict.fromkeys(shipped.NEEDED, True)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    for name in shipped._ASKED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "compiled")
    monkeypatch.setattr(shipped.llvm, "get_host_cpu_features", lambda: ALL)
    shipped._archive.cache_clear()
    yield
    shipped._archive.cache_clear()


def pack():
    return shipped.pack([("file-hash", "f.nbi", {KEY: "f.1.nbc"})], {"file-hash/f.1.nbc": b"\x80\x04K*."})


def test_a_kernel_is_found_by_source_signature_and_code():
    assert not shipped.has("file-hash") and shipped.find("file-hash", "f.nbi", KEY) is None
    shipped._archive.cache_clear()
    assert pack() == shipped.archive_path().stat().st_size
    assert shipped.has("file-hash") and not shipped.has("file-other")
    assert shipped.find("file-hash", "f.nbi", KEY) == 42
    assert shipped.find("file-hash", "f.nbi", (KEY[0], ("any", "other", "target"), KEY[2])) == 42
    assert shipped.find("file-other", "f.nbi", KEY) is None
    assert shipped.find("file-hash", "f.nbi", ("other", *KEY[1:])) is None
    assert shipped.find("file-hash", "f.nbi", (*KEY[:2], ("other", ""))) is None


def test_other_processors_and_settings_compile(monkeypatch):
    pack()
    assert shipped.usable(ALL)
    for name in shipped.NEEDED:
        assert not shipped.usable(ALL | {name: False})
    monkeypatch.setenv("NUMBA_OPT", "1")
    assert not shipped.usable(ALL) and not shipped.has("file-hash")


def test_a_damaged_archive_is_as_good_as_none():
    pack()
    content = shipped.archive_path().read_bytes()
    shipped.archive_path().write_bytes(content[: len(content) // 2])
    assert shipped.find("file-hash", "f.nbi", KEY) is None
    with zipfile.ZipFile(shipped.archive_path(), "w") as archive:
        archive.writestr("file-hash/f.nbi", b"no pickle")
    shipped._archive.cache_clear()
    assert shipped.find("file-hash", "f.nbi", KEY) is None


CODE = """
import numpy, pathlib, sys
from nonstick.kernels import _cache, _vector, shipped
shipped.FOLDER = pathlib.Path(sys.argv[1])
print(_vector.dot(numpy.arange(5.0), numpy.ones(5)), len(_vector._block_dot.stats.cache_misses))
if sys.argv[2:]:
    _cache.ship()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="kernels are shipped for Linux")
def test_a_process_without_a_cache_takes_the_kernels_of_another(tmp_path):
    if not shipped.usable(HOST):
        pytest.skip("this processor compiles")
    plain = {k: v for k, v in os.environ.items() if k not in shipped._ASKED}

    def run(cache, *words, **settings):
        env = plain | settings | {"XDG_CACHE_HOME": str(tmp_path / cache)}
        command = [sys.executable, "-c", CODE, str(tmp_path / "compiled"), *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.split()

    assert run("one", "ship", **shipped.SETTINGS) == ["10.0", "1"]
    assert run("two") == ["10.0", "0"]
    assert run("three", NUMBA_OPT="2") == ["10.0", "1"]
