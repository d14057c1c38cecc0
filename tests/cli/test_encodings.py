"""Terminals, pipes and locales that are not UTF-8: every command speaks there too."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nonstick import Scene
from nonstick.cli import main
from nonstick.sim.run.loop import run

TINY = Path(__file__).parents[1] / "repro" / "tiny.npz"
COMMANDS = {
    "help": "--help",
    "help of a command": "run --help",
    "scenes": "scenes",
    "methods": "methods",
    "check": "check circle",
    "doctor": "doctor",
    "info": "info {run}",
    "plot": "info {run} --plot",
    "export": "export {run} --to ply --overwrite",
    "a mistake": "run nothing-é",
    "a wrong option": "run --nothing-é",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("é") / "run"
    return run(Scene.load("sphere", {"domain.resolution": 8, "time.frames": 2, "name": "Größe ×"}), path).path


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_every_command_speaks(made, monkeypatch, words, encoding):
    out, errors = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", errors)
    with pytest.raises(SystemExit) as end:
        main([word.format(run=made) for word in words.split()])
    for stream in (out, errors):
        stream.flush()
    text = out.buffer.getvalue() + errors.buffer.getvalue()
    assert len(text.decode(encoding)) > 10 and "Traceback" not in text.decode(encoding)
    assert end.value.code == (2 if "nothing" in words else 0)


def test_json_keeps_every_letter(made, monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(SystemExit):
        main(["info", str(made), "--json"])
    out.flush()
    assert json.loads(out.buffer.getvalue())["name"] == "Größe ×"


def test_the_locale_c(tmp_path):
    """Sources and files are UTF-8 whatever the locale is."""
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ask = "import sys; from nonstick.kernels import _cache\n"
    ask += "[_cache.imported_kernels(p) for p in _cache.PACKAGE.rglob('_*.py')]\n"
    ask += "from nonstick.cli import main; main(sys.argv[1:])"
    words = [sys.executable, "-c", ask, "solve", str(TINY), "--out", str(tmp_path / "x.npz")]
    done = subprocess.run(words, env=environment, capture_output=True, timeout=120)
    assert done.returncode == 0 and b"Error" not in done.stderr, done.stderr
