"""Commands run where Windows' gaps are: no descriptors of folders, no flags, locks, users and limits of POSIX.

No Windows is needed for it: a process loses these names before nonstick is loaded. It does not show that Windows
works, but finds every call that Windows does not have.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GAPS = """
# the standard library and these packages have branches of their own
import ctypes, multiprocessing, os, random, shutil, signal, socket, subprocess, sys, tempfile, threading
from importlib import import_module
from importlib.util import find_spec
for name in {packages}:
    if find_spec(name):
        import_module(name)
gone = "O_NOFOLLOW O_DIRECTORY O_NONBLOCK O_CLOEXEC pread pwrite {fork} getuid geteuid killpg setsid sysconf mkfifo"
for name in (*gone.split(), "sched_getaffinity", "register_at_fork", "getloadavg", "uname"):
    if hasattr(os, name):
        delattr(os, name)
os.supports_dir_fd = set()
os.supports_fd = set()
sys.modules["fcntl"] = sys.modules["resource"] = sys.modules["pwd"] = sys.modules["termios"] = None
"""
COMMAND = (
    GAPS.format(packages=["numba", "numpy", "scipy.sparse", "typer"], fork="fork")
    + """
from nonstick.cli import main
try:
    main(sys.argv[1:])
except SystemExit as leave:
    sys.exit(leave.code)
"""
)
COLLECT = (
    GAPS.format(packages=["dask", "distributed", "numba", "platformdirs", "psutil", "viser", "xdist"], fork="")
    + """
import pytest
for name in ("SIGHUP", "SIGKILL", "SIGALRM", "SIGSTOP", "SIGUSR1", "alarm", "setitimer", "pthread_kill"):
    delattr(signal, name)
sys.exit(pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", "-p", "no:faulthandler", *sys.argv[1:]]))
"""
)


@pytest.fixture
def command(tmp_path):
    def run(*words):
        done = subprocess.run([sys.executable, "-c", COMMAND, *words], capture_output=True, text=True, cwd=tmp_path)
        assert "Error" not in done.stderr, done.stderr
        return done

    return run


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has its gaps")
def test_a_run_from_its_beginning_to_a_picture(command, tmp_path):
    size = ("--set", "domain.resolution=12")
    assert command("run", "circle", *size, "--frames", "2", "--no-movie", "--out", "a").returncode == 0
    assert command("resume", "a", "--frames", "3", "--no-movie").returncode == 0
    assert "frames" in command("info", "a").stdout
    assert command("export", "a", "--to", "ply").returncode == 0
    pytest.importorskip("PIL")
    assert command("render", "a", "--out", "a.png").returncode == 0
    assert (tmp_path / "a.png").stat().st_size > 500
    assert not (tmp_path / "a" / "lock").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="making links needs rights there")
def test_links_in_a_run_are_refused_by_their_path(command, tmp_path):
    size = ("--set", "domain.resolution=12")
    command("run", "circle", *size, "--frames", "1", "--no-movie", "--out", "a")
    (tmp_path / "else").write_text("mine", encoding="utf-8")
    (tmp_path / "a" / "log.jsonl").unlink()
    (tmp_path / "a" / "log.jsonl").symlink_to(tmp_path / "else")
    done = command("resume", "a", "--frames", "2", "--no-movie")
    assert done.returncode == 2 and "is a link" in done.stderr
    assert (tmp_path / "else").read_text(encoding="utf-8") == "mine"


def test_an_ended_process_gives_up_its_lock_where_only_the_file_tells(tmp_path, monkeypatch):
    from nonstick.errors import NonstickError
    from nonstick.files import lock

    monkeypatch.setattr(lock, "fcntl", None)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    with lock.Lock(tmp_path):
        assert lock.held(tmp_path)
        with pytest.raises(NonstickError, match="is writing in"), lock.Lock(tmp_path):
            pass
        left = (tmp_path / "lock").read_text(encoding="utf-8")
    (tmp_path / "lock").write_text(left.replace(str(os.getpid()), str(dead.pid)), encoding="utf-8")
    assert not lock.held(tmp_path)
    with lock.Lock(tmp_path) as taken:
        assert "has ended" in taken.taken_over


@pytest.mark.slow
def test_no_test_asks_for_what_windows_has_not_before_it_may_be_left_out():
    folder = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, str(folder)], capture_output=True, text=True, cwd=folder.parent
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
