"""Small runs, made once, and the programs that read what is exported."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from nonstick import Scene
from nonstick.sim.run.loop import run

CLIENTS = Path(__file__).parent / "clients"


@pytest.fixture(scope="session")
def splash(tmp_path_factory):
    """Liquid thrown about in a ball."""
    out = tmp_path_factory.mktemp("splash") / "run"
    run(Scene.load("sphere", {"domain.resolution": 20, "time.frames": 8, "time.fps": 20}), out)
    return out


@pytest.fixture(scope="session")
def toys(tmp_path_factory):
    """A tank with a wall that moves, a turned block and two bodies."""
    out = tmp_path_factory.mktemp("toys") / "run"
    scene = Scene(
        {
            "name": "toys",
            "domain": {"size": [1.0, 0.75, 0.5], "resolution": 20},
            "time": {"frames": 4, "fps": 24},
            "liquid": [{"shape": {"type": "box", "low": [0, 0, 0], "high": [1.0, 0.3, 0.5]}}],
            "solid": [
                {
                    "shape": {"type": "box", "low": [-0.3, 0.0, 0.0], "high": [0.1, 0.75, 0.5]},
                    "motion": {"velocity": [0.5, 0.0, 0.0]},
                },
                {"shape": {"type": "box", "low": [0.7, 0.0, 0.1], "high": [0.9, 0.2, 0.4], "rotate": 20}},
            ],
            "bodies": [
                {
                    "name": "a ball",
                    "shape": {"type": "ball", "centre": [0.5, 0.5, 0.25], "radius": 0.1},
                    "density": 500,
                },
                {
                    "name": "brick",
                    "shape": {"type": "box", "low": [0.3, 0.5, 0.1], "high": [0.4, 0.6, 0.3]},
                    "density": 800,
                    "spin": 200,
                    "axis": [0, 0, 1],
                },
            ],
        }
    )
    run(scene, out)
    return out


@pytest.fixture(scope="session")
def flat(tmp_path_factory):
    """A run in two dimensions."""
    out = tmp_path_factory.mktemp("flat") / "run"
    run(Scene.load("circle", {"domain.resolution": 24, "time.frames": 3}), out)
    return out


# -- the real readers -------------------------------------------------------------------------------------


@cache
def _python_with(module: str, chosen: str) -> str | None:
    """A Python that can import a module: the one named by an environment variable, this one, or the system's."""
    for python in (os.environ.get(chosen), sys.executable, shutil.which("python3"), "/usr/bin/python3"):
        words = [python, "-c", f"import {module}"]
        if python and shutil.which(python) and subprocess.run(words, capture_output=True).returncode == 0:
            return python
    return None


def ask(words: list[str], **environment: str) -> dict:
    """Run a reader; what it prints as JSON in its last line."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(words, capture_output=True, text=True, env=inherited | environment, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout[done.stdout.rindex("\n{") if "\n{" in done.stdout else done.stdout.index("{") :])


@contextmanager
def virtual_screen(xvfb: str):
    """The name of a screen in memory.

    The server chooses a free number and says it when it is ready. (xvfb-run waits three seconds, which are too few on a
    busy machine.) Without `-noreset` it starts afresh when its last client leaves, and refuses the next one until it is
    ready again: ParaView connects several times, and more than half of its attempts failed.
    """
    ready, said = os.pipe()
    words = [xvfb, "-displayfd", str(said), "-screen", "0", "1280x1024x24", "-nolisten", "tcp", "-noreset"]
    server = subprocess.Popen(words, pass_fds=[said], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(said)
    try:
        with os.fdopen(ready) as pipe:
            number = pipe.readline().strip()
        assert number, f"{xvfb} ended before it had a screen"
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="session")
def openvdb():
    """OpenVDB's own reader: a function of the words after the script."""
    python = _python_with("pyopenvdb", "NONSTICK_OPENVDB") or _python_with("openvdb", "NONSTICK_OPENVDB")
    if python is None:
        pytest.skip("OpenVDB is not installed (Debian: python3-openvdb)")
    return lambda *words: ask([python, str(CLIENTS / "openvdb_report.py"), *map(str, words)])


@pytest.fixture(scope="session")
def paraview():
    pvpython = shutil.which("pvpython")
    if pvpython is None:
        pytest.skip("ParaView is not installed (Debian: paraview)")
    xvfb = shutil.which("Xvfb")

    def report(folder, picture=None):
        words = [pvpython, str(CLIENTS / "paraview_report.py"), str(folder)]
        if picture is None:
            return ask(words)
        with virtual_screen(xvfb) as screen:
            return ask([*words, str(picture)], DISPLAY=screen)

    report.has_screen = xvfb is not None
    return report


@pytest.fixture(scope="session")
def blender():
    python = _python_with("bpy", "NONSTICK_BPY")
    if python is None:
        pytest.skip("Blender's module is not installed (pip install 'bpy==4.5.*')")
    return lambda *words: ask([python, str(CLIENTS / "blender_report.py"), *map(str, words)])
