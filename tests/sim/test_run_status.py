"""A run whose process was ended from outside is not called running."""

import json
import os
import signal
import subprocess
import sys

import pytest

from nonstick.files.lock import Lock, held
from nonstick.files.rundir import RunDirectory

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


#: a run that never ends, without the time it takes to compile one
ENDLESS = """
import sys, time
from nonstick import Scene
from nonstick.sim.run.loop import run
from nonstick.sim.heat.simulation import HeatSimulation
def wait(self):
    print("ready", flush=True)
    time.sleep(60)
HeatSimulation.next_frame = wait
run(Scene.load("heat", {"domain.resolution": 8}), sys.argv[1])
"""


@pytest.mark.parametrize("way", ["SIGTERM", "SIGKILL"])
def test_a_run_that_was_ended_is_stopped_and_one_that_goes_on_is_running(tmp_path, way):
    path = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        opened = RunDirectory.open(path)
        assert opened.status() == "running"
    finally:
        process.send_signal(getattr(signal, way))
        process.wait()
    assert opened.meta()["status"] == "running"  # it had no time to write
    assert opened.status() == "stopped"
    from typer.testing import CliRunner

    from nonstick.cli import app

    shown = CliRunner().invoke(app, ["info", str(path)]).stdout
    assert "stopped" in shown and "running" not in shown and f"nonstick resume {path}" in shown


def test_who_has_a_lock(tmp_path):
    assert not held(tmp_path)
    with Lock(tmp_path):
        assert held(tmp_path)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    file = tmp_path / "lock"
    owner = {"host": os.uname().nodename, "since": ""}
    for pid, host, expected in (
        (gone.pid, owner["host"], False),
        (os.getpid(), owner["host"], False),
        (1, "other", True),
    ):
        file.write_text(json.dumps({**owner, "pid": pid, "host": host}))
        assert held(tmp_path) is expected
