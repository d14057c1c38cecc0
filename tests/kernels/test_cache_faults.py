"""The kernel cache where it cannot be written, is damaged, or belongs to somebody else: one sentence, and it works."""

import hashlib
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nonstick.kernels import _cache

SRC = Path(_cache.__file__).parents[2]

#: compiles one small kernel of ours and uses it
PROGRAM = """
import numpy as np
from nonstick.kernels._vector import _axpy, _xpby
x = np.zeros(4)
_axpy(x, 2.0, np.ones(4))
print(x.sum())
"""


def run(home: Path, **more):
    environment = {k: v for k, v in os.environ.items() if k not in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")}
    environment |= {"HOME": str(home), "PYTHONPATH": str(SRC), "TMPDIR": str(home.parent / "tmp")} | more
    Path(environment["TMPDIR"]).mkdir(exist_ok=True)
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "8.0\n"
    return done.stderr


@pytest.fixture
def home(tmp_path):
    out = tmp_path / "home"
    out.mkdir()
    return out


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    home = tmp_path_factory.mktemp("template") / "home"
    home.mkdir()
    assert run(home) == ""
    return home


@pytest.fixture
def filled(template, home):
    """A home whose cache holds the kernel."""
    shutil.copytree(template, home, dirs_exist_ok=True)
    (folder,) = (home / ".cache/nonstick/kernels").glob("kernels._vector-*")
    assert folder.stat().st_mode & 0o077 == 0 and (folder.parent.stat().st_mode & 0o077) == 0
    return home, folder


def test_it_is_used_again(filled):
    home, folder = filled
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert before and run(home) == ""
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def cut(path):
    path.write_bytes(path.read_bytes()[:100])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


class Bomb:
    def __reduce__(self):
        return os.system, ("touch exploded",)


BOMB = pickle.dumps(Bomb())
DAMAGES = {
    "cut": cut,
    "flipped": flip,
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("not a pickle at all"),
    "a pickle without seal": lambda path: path.write_bytes(pickle.dumps(Bomb())),
    "a pickle with a plain hash": lambda path: path.write_bytes(hashlib.sha256(BOMB).digest() + BOMB),
    "sealed with another key": lambda path: path.write_bytes(
        hashlib.blake2b(BOMB, key=b"x", digest_size=32).digest() + BOMB
    ),
    "open to a group": lambda path: path.chmod(0o660),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "open to all": lambda path: path.chmod(0o666),
    "a link": lambda path: (path.rename(path.with_suffix(".real")), path.symlink_to(path.with_suffix(".real"))),
}


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.slow
def test_damage_is_set_aside(filled, damage, kind):
    home, folder = filled
    for path in list(folder.glob(f"*.{kind}")):
        DAMAGES[damage](path)
    said = run(home)
    assert "Traceback" not in said and said.count("\n") >= 1 and ("again" in said or "kept" in said), said
    assert not Path("exploded").exists()


def test_what_a_group_could_write_is_not_adopted(filled):
    """A file of one's own with mode 660 was made private, and then trusted whatever was in it."""
    home, folder = filled
    for path in folder.glob("*.nbc"):
        path.chmod(0o660)
    assert "others could write" in run(home)
    assert run(home) == ""  # they were made again


def test_a_lost_key_costs_a_compilation_and_no_more(filled):
    home, folder = filled
    key = folder.parent / "key"
    assert key.stat().st_mode & 0o777 == 0o600 and key.stat().st_size == 32
    key.chmod(0o644)  # others could read it, so it is no secret any more
    before = key.read_bytes()
    assert "not made by this user" in (said := run(home)) and said.count("\n") == 1
    assert key.read_bytes() != before and key.stat().st_mode & 0o777 == 0o600
    assert run(home) == ""


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners here")
def test_a_folder_that_everybody_can_write_is_not_read(filled):
    home, folder = filled
    folder.parent.chmod(0o777)
    said = run(home)
    assert "can be written by everybody" in said and "kept in" in said and said.count("\n") == 1, said


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
def test_a_folder_of_somebody_else_is_not_read(filled):
    home, folder = filled
    os.chown(folder.parent, 12345, 12345)
    said = run(home)
    assert ("belongs to another user" in said) and said.count("\n") == 1, said


def test_a_home_that_cannot_be_written(tmp_path):
    """A file where the folder should be: unwritable for root too."""
    home = tmp_path / "home"
    home.write_text("")
    said = run(home)
    assert "cannot be used" in said and "kept in" in said and said.count("\n") == 1, said
    assert run(home).count("\n") == 1  # from the private folder
    assert (tmp_path / "tmp" / f"nonstick-{os.getuid()}" / "kernels").stat().st_mode & 0o077 == 0


def test_nothing_can_be_written(tmp_path):
    home = tmp_path / "home"
    home.write_text("")
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / f"nonstick-{os.getuid()}").write_text("")
    said = run(home)
    assert "kept in" in said and "Traceback" not in said, said


def test_a_full_disk(home, monkeypatch):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    from nonstick.kernels._cache import SealedFiles

    files = SealedFiles(str(home), "kernel", "stamp")

    def full(path):
        return open("/dev/full", "wb", buffering=0)

    monkeypatch.setattr(files, "_open_for_write", full)
    monkeypatch.setattr(os, "chmod", lambda *_: None)
    files.save("key", (1, 2))  # a sentence, no error
    assert files.load("key") is None


def test_a_folder_of_ones_own_choice_has_the_same_rules(home, tmp_path):
    chosen = tmp_path / "chosen"
    assert run(home, NUMBA_CACHE_DIR=str(chosen)) == run(home, NUMBA_CACHE_DIR=str(chosen)) == ""
    assert (chosen / "key").stat().st_mode & 0o777 == 0o600
    for path in chosen.rglob("*.nbc"):
        path.chmod(0o660)
    assert "others could write" in run(home, NUMBA_CACHE_DIR=str(chosen))


def test_a_folder_that_is_a_link_is_not_read(filled):
    home, folder = filled
    folder.rename(folder.with_name("real"))
    folder.symlink_to(folder.with_name("real"))
    assert "is a symbolic link" in run(home)
