"""`nonstick run heat`: the run directory, other bodies, and mistakes in the file."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from nonstick.cli import app, main
from nonstick.errors import NonstickError
from nonstick.files.rundir import RunDirectory
from nonstick.scenes import Scene, builtin
from nonstick.sim import check
from nonstick.sim.run.loop import resume

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
    assert run.frames() == [0, 1, 2] and run.meta()["status"] == "done"
    first, last = run.read_frame(0), run.read_frame(2)
    free = first["inside"] & ~first["fixed"]
    assert last["temperature"][free].min() >= 20.0 and last["temperature"][free].max() <= 80.0
    assert [row["frame"] for row in run.rows()] == ["1", "2"]
    assert (out / "preview.mp4").stat().st_size > 1000 and (out / "preview.png").stat().st_size > 1000


def test_any_shape_can_be_heated(tmp_path):
    file = tmp_path / "ball.toml"
    file.write_text(BALL)
    assert [Scene.load(name).kind for name in (file, "heat", "sphere")] == ["heat", "heat", "liquid"]
    assert "heat" in builtin("heat") and "heat" not in builtin()
    out = tmp_path / "run"
    assert CliRunner().invoke(app, ["run", str(file), "--out", str(out), "--no-movie"]).exit_code == 0
    run = RunDirectory.open(out)
    q, inside = run.read_frame(run.frames()[-1])["temperature"], run.read_frame(0)["inside"]
    flipped = 100.0 - q[::-1]
    np.testing.assert_allclose(q[inside], flipped[inside], atol=1e-5)
    assert Scene.load(out / "scene.toml").to_toml() == (out / "scene.toml").read_text()


def test_mistakes_name_the_key():
    for change, word in (
        ({"lowr": 1.0}, "lowr"),
        ({"domain": {"size": [1.0, 1.0]}}, "three"),
        ({"start": "x"}, "start"),
    ):
        with pytest.raises(NonstickError, match=word):
            Scene({"kind": "heat", **change})


@pytest.fixture
def ball(tmp_path):
    file = tmp_path / "ball.toml"
    file.write_text(BALL)
    return file


def words(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def frames(path):
    return {f.name: f.read_bytes() for f in sorted((path / "frames").glob("*.npz"))}


def test_a_killed_run_goes_on_with_the_same_temperatures(ball, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    words("run", ball, "--out", whole, "--no-movie")
    words("run", ball, "--out", broken, "--no-movie", "--frames", 2)
    with open(broken / "stats.csv", "a", encoding="utf-8") as file:
        file.write("3,3,0.0")  # half a row, as a killed run leaves it
    said = words("resume", broken, "--frames", 4, "--no-movie")
    assert "4 frames" in said
    assert frames(whole) == frames(broken)
    assert [row["frame"] for row in RunDirectory.open(broken).rows()] == ["1", "2", "3", "4"]
    words("resume", broken, "--from-frame", 1, "--frames", 4, "--no-movie")
    assert frames(whole) == frames(broken)


def test_at_rest_it_stays_at_rest(ball, tmp_path):
    out = tmp_path / "run"
    words("run", ball, "--out", out, "--no-movie", "--frames", 60, "-s", "time.dt=1.0")
    before = frames(out)
    assert len(before) < 60
    assert "equilibrium" in words("resume", out, "--no-movie")
    assert frames(out) == before


def test_a_changed_scene_is_refused(ball, tmp_path):
    out = tmp_path / "run"
    words("run", ball, "--out", out, "--no-movie", "--frames", 1)
    ball.write_text(BALL.replace("upper = 90.0", "upper = 70.0"))
    with pytest.raises(NonstickError, match="upper"):
        resume(out, scene=Scene.load(ball))
    ball.write_text(BALL.replace('"ball"\nlower', '"other name"\nlower'))
    assert resume(out, frames=2, scene=Scene.load(ball)).frames() == [0, 1, 2]


def test_check_info_and_render(ball, tmp_path, capsys):
    said = words("check", ball, "-s", "band.0.high=0.01")
    assert "14×14×14 cells" in said and "band.0 contains no cell" in said
    said = words("check", "heat", "-s", "domain.resolution=128")
    assert "no problems found" in said and "memory about" in said
    out, other = tmp_path / "run", tmp_path / "other"
    words("run", ball, "--out", out, "--no-movie", "--frames", 2)
    assert "ball: 14×14×14 cells, 2 frames, done" in words("info", out)
    assert json.loads(words("info", out, "--json"))["summary"]["steps"] == 2
    words("run", ball, "--out", other, "--no-movie", "--frames", 3, "-s", "upper=60.0")
    assert "compare.mp4" in words("render", out, "--compare", other) and (out / "compare.png").stat().st_size > 1000
    with pytest.raises(SystemExit) as left:
        main(["render", str(out), "-s", "colour=speed"])
    assert left.value.code == 2 and "no camera" in capsys.readouterr().err


def test_check_names_what_the_grid_loses():
    said = check(Scene({"kind": "heat", "start": 10.0, "lower": 20.0, "domain": {"size": [2.0, 1.0, 0.8]}}))
    assert any("no band" in w for w in said.warnings) and any("start" in w for w in said.warnings)
