"""Many runs in one process keep no files, threads and memory; folders that cannot be written end in a sentence."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nonstick import Scene, export
from nonstick.sim.run.loop import run

SMALL = {"domain.resolution": 8, "time.frames": 1}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc here")
def test_runs_leave_nothing_behind(tmp_path):
    """Fifty of them were measured by hand (docs/measurements/reliability.md); twelve show what grows in every one."""

    def held():
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
        return len(os.listdir("/proc/self/fd")), threading.active_count(), pages * os.sysconf("SC_PAGESIZE") / 1e6

    seen = []
    for k in range(12):
        path = run(Scene.load("sphere", SMALL), tmp_path / str(k)).path
        export(path, "ply")
        shutil.rmtree(path)
        seen.append(held())
    files, threads, megabytes = zip(*seen[4:])
    assert len(set(files)) == len(set(threads)) == 1
    assert megabytes[-1] < megabytes[0] + 4.0, megabytes


def without_rights(*words, cwd, **env):
    """A command of a user for whom the modes of folders count: root loses the right to go past them."""
    before = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    return subprocess.run(
        [*before, sys.executable, "-m", "nonstick", *words],
        cwd=cwd, env=os.environ | env, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.fixture
def closed(tmp_path):
    if not hasattr(os, "geteuid") or (os.geteuid() == 0 and not shutil.which("setpriv")):
        pytest.skip("this user may write everywhere")
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("run", "circle", "--set", "domain.resolution=10", "-n", "1", "--no-movie"),
        ("run", "circle", "--set", "domain.resolution=10", "-n", "1", "--no-movie", "--out", "a/b"),
        ("new", "my.toml"),
        ("sweep", "circle", "--vary", "domain.resolution=8,10", "--out", "s"),
        ("bench", "circle2d", "--sizes", "8", "--json", "a.json"),
    ],
    ids=lambda words: words[0],
)
def test_a_folder_that_cannot_be_written_is_one_sentence(closed, words):
    done = without_rights(*words, cwd=closed)
    said = [line for line in done.stderr.splitlines() if line.startswith("nonstick: ")]
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert len(said) == 1 and "ermission denied" in said[0], done.stderr
    assert not any(closed.iterdir())


@pytest.mark.slow
def test_a_home_that_cannot_be_written_is_no_hindrance(closed, tmp_path):
    home = {"HOME": str(closed), "XDG_CACHE_HOME": str(closed / "cache"), "TMPDIR": str(tmp_path)}
    done = without_rights("check", "circle", cwd=tmp_path, **home)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert not any(closed.iterdir())
