"""Ctrl-C ends a command within a second, also while compiled code runs that never looks at signals."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from nonstick.cli.terminal import prompt_interrupt

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

#: one call of compiled code that takes longer than anybody waits; SuperLU, like a compiler, serves no signals
BUSY = """
import os, signal, threading, numpy as np, scipy.sparse as sp
from scipy.sparse.linalg import splu
from nonstick.cli.terminal import guarded
A = sp.random_array((6000, 6000), density=0.01, random_state=1, format="csc") + 100 * sp.eye_array(6000, format="csc")
def work():
    print("ready", flush=True)
    splu(A, permc_spec="NATURAL")
guarded(work)
"""
#: a file is half written meanwhile
BUSY_WRITING = BUSY.replace(
    "    splu(",
    "    from nonstick.files.atomic import replacing\n"
    "    with replacing(FILE) as partial:\n"
    "        partial.write_text('half')\n"
    "        splu(",
)
SLEEPY = """
import time
from nonstick.cli.terminal import guarded
def work():
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        time.sleep(1.5)  # clean-up may take its time
        print("cleaned up", flush=True)
guarded(work)
"""
#: Python ignores exceptions in __del__
DROPPED = """
import time
from nonstick.cli.terminal import guarded
class Slow:
    def __del__(self):
        print("ready", flush=True)
        time.sleep(1)
def work():
    Slow()
    time.sleep(60)
guarded(work)
"""


def interrupted(code: str, way: int = signal.SIGINT) -> tuple[int, str, str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
        preexec_fn=lambda: [signal.signal(one, signal.SIG_DFL) for one in (signal.SIGINT, way)],  # jobs may ignore them
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    threading.Event().wait(0.5)
    process.send_signal(way)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def test_inside_compiled_code():
    code, _, err = interrupted(BUSY)
    assert code == 1 and err == "nonstick: interrupted inside compiled code\n"


def test_python_is_left_to_clean_up():
    code, out, err = interrupted(SLEEPY)
    assert code == 1 and "cleaned up" in out and err == "nonstick: interrupted\n"


@pytest.mark.parametrize("way", ["SIGTERM", "SIGHUP"])
def test_signals_that_end_a_process_leave_nothing_half_written(tmp_path, way):
    code = (
        "import time\nfrom nonstick.cli.terminal import guarded\nfrom nonstick.files.atomic import replacing\n"
        f"def work():\n    with replacing({str(tmp_path / 'a.vdb')!r}) as partial:\n"
        "        partial.write_text('half')\n"
        "        print('ready', flush=True)\n        time.sleep(60)\nguarded(work)"
    )
    assert interrupted(code, getattr(signal, way))[::2] == (1, "nonstick: interrupted\n")
    assert not list(tmp_path.iterdir())
    inside = BUSY_WRITING.replace("FILE", repr(str(tmp_path / "b.vdb")))
    assert interrupted(inside, getattr(signal, way))[::2] == (1, "nonstick: interrupted inside compiled code\n")
    assert not list(tmp_path.iterdir())


def test_one_of_many_ranks_is_ended_without_a_word(monkeypatch):
    """When a rank is killed, mpiexec ends the others by SIGTERM, and says why."""
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    assert interrupted(BUSY, signal.SIGTERM) == (-signal.SIGTERM, "", "")


def test_a_dropped_one_is_sent_again():
    code, _, err = interrupted(DROPPED)
    assert code == 1 and err == "nonstick: interrupted\n"


def test_objects_that_were_left_half_made_say_nothing():
    code, _, err = interrupted(
        "import time\nfrom nonstick.cli.terminal import guarded\n"
        "class Half:\n    def __del__(self):\n        self.never_set\n"
        "kept = Half()\n"
        "def work():\n    own = Half()\n    print('ready', flush=True)\n    time.sleep(60)\nguarded(work)"
    )
    assert code == 1 and err == "nonstick: interrupted\n"


def test_signals_are_as_before_afterwards():
    before = signal.getsignal(signal.SIGINT)
    with prompt_interrupt():
        pass
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.set_wakeup_fd(-1) == -1


def test_while_commands_are_loaded():
    """The loading of typer, which takes a tenth of a second, stands for all of it."""
    code, _, err = interrupted(
        "import sys, time\n"
        "class Waits:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer':\n"
        "            print('ready', flush=True)\n"
        "            time.sleep(60)\n"
        "sys.meta_path.insert(0, Waits())\n"
        "from nonstick.__main__ import main\n"
        "main()"
    )
    assert code == 1 and err == "nonstick: interrupted\n"


#: says when the first image is painted: painting goes on for thousands of images
PAINTED = """
import sys
from nonstick.sim.run import preview
def told(*words, render=preview.render):
    path, compare, camera, out, tick, frames = words
    def tell(done, of):
        tick(done, of)
        if done == 2:
            print("ready", flush=True)
    return render(path, compare, camera, out, tell, frames)
preview.render = told
from nonstick.__main__ import main
sys.argv = ["nonstick", "render", RUN, "--out", OUT, "--size", "64x64", "--frame", "0", "--turntable", "100000"]
main()
"""


@pytest.fixture(scope="module")
def still_run(tmp_path_factory):
    from nonstick import Scene
    from nonstick.sim.run.loop import run

    folder = tmp_path_factory.mktemp("run") / "still"
    run(Scene.load("sphere", {"domain.resolution": 8, "time.frames": 1}), folder)
    return folder


@pytest.mark.parametrize("name", ["a.mp4", "a.gif", "pictures"])
def test_while_pictures_are_painted(still_run, tmp_path, name):
    """Whole pictures of a sequence stay; a movie that is not whole does not, and ffmpeg has ended."""
    pytest.importorskip("PIL")
    pytest.importorskip("imageio_ffmpeg")
    before = sorted(still_run.rglob("*"))
    code = PAINTED.replace("RUN", repr(str(still_run))).replace("OUT", repr(str(tmp_path / name)))
    status, _, err = interrupted(code)
    told = [line for line in err.splitlines() if line.startswith("nonstick: ")]
    assert status == 1 and len(told) == 1 and "interrupted" in told[0] and "Traceback" not in err, err
    assert sorted(still_run.rglob("*")) == before
    if name != "pictures":
        assert not list(tmp_path.iterdir())
        return
    pictures = sorted(file.name for file in (tmp_path / name).iterdir())
    assert 2 <= len(pictures) < 20_000 and pictures == [f"{k:05d}.png" for k in range(len(pictures))]
