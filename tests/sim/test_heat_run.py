"""`nonstick run heat`: the run directory, other bodies, and mistakes in the file."""

import numpy as np
import pytest
from typer.testing import CliRunner

from nonstick.cli import app
from nonstick.errors import NonstickError
from nonstick.io.rundir import RunDirectory
from nonstick.scenes.heat import HeatScene, is_heat
from nonstick.scenes.scene import builtin

BALL = """
kind = "heat"
name = "ball"
lower = 10.0
upper = 90.0
body = {type = "ball", centre = [0.5, 0.5, 0.5], radius = 0.4}
[domain]
size = [1.0, 1.0, 1.0]
resolution = 14
[[band]]
low = 0.0
high = 0.3
temperature = 0.0
[[band]]
low = 0.7
high = 1.0
temperature = 100.0
[time]
frames = 4
dt = 0.02
"""


def test_the_command_line_runs_it(tmp_path):
    out = tmp_path / "run"
    result = CliRunner().invoke(app, ["run", "heat", "--frames", "2", "--out", str(out), "-s", "domain.resolution=24"])
    assert result.exit_code == 0, result.output
    run = RunDirectory.open(out)
    assert run.frames() == [0, 1, 2] and run.meta()["status"] == "complete"
    first, last = run.read_frame(0), run.read_frame(2)
    free = first["inside"] & ~first["fixed"]
    assert last["temperature"][free].min() >= 20.0 and last["temperature"][free].max() <= 80.0
    assert [row["frame"] for row in run.rows()] == ["1", "2"]
    assert (out / "preview.mp4").stat().st_size > 1000 and (out / "preview.png").stat().st_size > 1000


def test_any_shape_can_be_heated(tmp_path):
    file = tmp_path / "ball.toml"
    file.write_text(BALL)
    assert is_heat(file) and is_heat("heat") and not is_heat("sphere")
    assert "heat" in builtin("heat") and "heat" not in builtin()
    out = tmp_path / "run"
    assert CliRunner().invoke(app, ["run", str(file), "--out", str(out), "--no-movie"]).exit_code == 0
    run = RunDirectory.open(out)
    q, inside = run.read_frame(run.frames()[-1])["temperature"], run.read_frame(0)["inside"]
    flipped = 100.0 - q[::-1]
    np.testing.assert_allclose(q[inside], flipped[inside], atol=1e-5)
    assert HeatScene.load(out / "scene.toml").to_toml() == (out / "scene.toml").read_text()


def test_mistakes_name_the_key():
    for change, word in (
        ({"lowr": 1.0}, "lowr"),
        ({"domain": {"size": [1.0, 1.0]}}, "three"),
        ({"start": "x"}, "start"),
    ):
        with pytest.raises(NonstickError, match=word):
            HeatScene({"kind": "heat", **change})
