"""The simulator's commands: a run interrupted, resumed, shown; what goes wrong is one sentence."""

import pytest

from nonstick import Scene
from nonstick.cli import main
from nonstick.files.rundir import RunDirectory
from nonstick.scenes import builtin_text
from nonstick.sim.liquid.simulation import Simulation

TINY = ("--set", "domain.resolution=16", "--set", "camera.width=64", "--set", "camera.height=64")


def test_ctrl_c_says_how_to_go_on_and_nothing_is_lost(run, tmp_path, monkeypatch):
    path = tmp_path / "run"
    step = Simulation.next_frame

    def interrupted(self):
        if self.frame == 2:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(Simulation, "next_frame", interrupted)
    code, out, err = run("run", "circle", "-n", 4, "-o", path, *TINY)
    assert code == 1 and f"nonstick resume {path}" in out and err.endswith("nonstick: interrupted\n")
    code, out, err = run("info", path)
    assert code == 0 and "2 frames, interrupted" in out
    assert "advection" in out and "viscosity" not in out  # stages that the scene does not have are not shown
    code, out, err = run("render", path, "-s", "colour=pressure")  # an unfinished run can be looked at
    assert code == 0 and (path / "preview.mp4").is_file()
    monkeypatch.undo()
    code, out, err = run("resume", path, "--no-movie")
    assert code == 0 and "not converged" in out
    assert sorted(f.name for f in (path / "frames").iterdir())[-1] == "000004.npz"
    code, out, err = run("run", "circle", "-o", path, *TINY)
    assert code == 2 and "is not empty" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("run", "circle", "-s", "solver.method=nosuch"), "solver.method: unknown method 'nosuch'"),
        (("run", "circle", "-s", "solver.viscosity=nosuch"), "solver.viscosity: unknown"),
        (("run", "circle", "-s", "domain.resolution=2"), "domain.resolution"),
        (("run", "circle", "-s", "liquid.3.velocity=[1,0]"), "liquid.3.velocity"),
        (("run", "circle", "-o", __file__), "is a file"),
        (("run", "sphere", "-s", "domain.resolution=3000"), "domain.resolution="),
        (("check", "cirle"), "did you mean 'circle'"),
        (("render", "nowhere"), "is not a run directory"),
        (("resume", "nowhere"), "is not a run directory"),
    ],
)
def test_mistakes_end_in_one_sentence(run, words, sentence):
    code, out, err = run(*words)
    assert code == 2 and sentence in err and err.count("\n") == 1 and err.startswith("nonstick: ")


def test_a_3d_run_has_no_pressure_to_show(run, tmp_path):
    run("run", "sphere", "-n", 1, "-o", tmp_path / "run", "--no-movie", "-s", "domain.resolution=8")
    code, out, err = run("render", tmp_path / "run", "-s", "colour=pressure")
    assert code == 2 and "3D frames hold no pressure" in err


def test_a_new_scene_has_its_own_name(run, tmp_path):
    file = tmp_path / "my splash.toml"
    code, _, err = run("new", file, "--from", "sphere")
    assert code == 0, err
    assert Scene.load(file).name == "my splash"
    assert file.read_text().splitlines()[1:] == builtin_text("sphere").splitlines()[1:]


def test_a_folder_that_is_missing_is_named(run, tmp_path):
    code, _, err = run("new", tmp_path / "none" / "a.toml")
    assert code == 2 and f"there is no folder {tmp_path / 'none'}; make it first" in err


def test_a_branch_on_the_command_line(run, tmp_path):
    first, new = tmp_path / "first", tmp_path / "new"
    run("run", "circle", "-n", 3, "-o", first, *TINY, "--no-movie")
    changed = ("--set", "physics.viscosity=5")
    code, out, err = run("resume", first, "--from-frame", 1, *changed, "--no-movie")
    assert code == 2 and "physics.viscosity" in err and "--out NEW" in err
    code, out, err = run("resume", first, "--from-frame", 1, *changed, "--out", new, "--no-movie")
    assert code == 0 and f"the run is in {new}" in out
    assert [line.split("  ")[0] for line in err.splitlines() if line.startswith("frame ")] == ["frame 2/3", "frame 3/3"]
    code, out, err = run("info", new)
    assert f"a branch from frame 1 of {first}; changed: physics.viscosity" in out
    code, out, err = run("resume", first, "--from-frame", 1, "--frames", 2, "--no-movie")
    assert code == 0 and "frame 3 is there already and is kept" in err.replace("\n", " ")
    assert (first / "frames" / "000003.npz").is_file()
    code, out, err = run("resume", first, "--set", "time.frames=4", "--no-movie")
    assert code == 0 and (first / "frames" / "000004.npz").is_file()
    code, out, err = run("resume", first, "--out", new, "--discard")
    assert code == 2 and "leave one of them out" in err


def test_check_tells_by_its_exit_code_whether_a_run_would_work(run, monkeypatch):
    from nonstick.sim.run import findings

    code, out, err = run("check", "circle", "-s", "domain.resolution=16")
    assert code == 0 and "no problems found" in out
    code, out, err = run("check", "circle", "-s", "domain.resolution=16", "-s", "liquid=[]")
    assert code == 2 and "liquid holds no cell" in err
    code, out, err = run("check", "sphere", "-s", "domain.resolution=3000")
    assert code == 2 and "of memory" in err and err.count("\n") == 1
    monkeypatch.setattr(findings, "free_memory", lambda: 1e6)
    code, out, err = run("check", "heat", "-s", "domain.resolution=12")
    assert code == 2 and "of memory" in err


def test_run_says_what_check_knows_once_and_logs_it(tmp_path, capsys):
    file, out = tmp_path / "mug.toml", tmp_path / "run"
    file.write_text(
        "[domain]\nsize = [1.0, 1.0]\nresolution = 16\n[time]\nframes = 1\n[output]\nmovie = false\n"
        "[surface]\ntrack = 'grid'\n"
        "[[liquid]]\nshape = {type = 'box', low = [0.35, 0.3], high = [0.65, 0.6]}\n"
        "[[solid]]\nshape = {type = 'box', low = [0.3, 0.24], high = [0.7, 0.3]}\n"
    )
    with pytest.raises(SystemExit):
        main(["run", str(file), "--out", str(out)])
    said = capsys.readouterr().err
    assert said.count("warning: solid.0.shape is thinner than 1.5 cells") == 1

    assert [line["kind"] for line in RunDirectory.open(out).log_lines()].count("check") == 1
