"""Runs: the directory, resuming bit for bit, kill -9, any number of threads."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from nonstick import NonstickError, Scene
from nonstick.files.rundir import RunDirectory
from nonstick.sim.run.loop import resume, run

SMALL = {"domain.resolution": 20, "time.frames": 5, "output.movie": False, "output.checkpoint_every": 3}


def small(name="circle", **more):
    return Scene.load(name, {**SMALL, **more})


def frames(path):
    return {f.name: f.read_bytes() for f in sorted((path / "frames").glob("*.npz"))}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "unbroken"
    run(small(), path)
    return path


def test_run_directory_has_everything(unbroken):
    directory = RunDirectory.open(unbroken)
    assert directory.frames() == list(range(6))
    assert directory.meta()["status"] == "done"
    rows = directory.rows()
    wanted = [
        "step",
        "frame",
        "time",
        "dt",
        "unknowns",
        "iterations",
        "outer_iterations",
        "pressure_seconds",
        "step_seconds",
        "kkt",
        "volume",
    ]
    assert set(wanted) | {"volume_error", "particles"} <= set(rows[0])
    assert float(rows[-1]["time"]) == pytest.approx(5 / 60)
    assert all(float(r["kkt"]) <= 1e-6 and r["converged"] == "1" for r in rows)
    assert all(abs(float(r["volume_error"])) < 0.01 for r in rows)
    frame = directory.read_frame(5)
    assert frame["position"].shape == frame["velocity"].shape == (int(rows[-1]["particles"]), 2)
    assert frame["phi"].shape == (20, 20)
    # every checkpoint is plain arrays
    assert directory.checkpoints() == [0, 3, 4, 5]
    with np.load(unbroken / "checkpoints" / "000005.npz", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


def test_resume_is_bit_identical(unbroken, tmp_path):
    path = tmp_path / "run"
    run(small(**{"time.frames": 2}), path)
    resume(path, frames=5)
    assert frames(path) == frames(unbroken)
    # back to a frame whose checkpoint is gone: recomputed from the one before
    resume(path, from_frame=2, frames=5)
    assert frames(path) == frames(unbroken)
    steps = [int(r["step"]) for r in RunDirectory.open(path).rows()]
    assert steps == list(range(1, len(steps) + 1))


def test_resume_refuses_a_changed_scene(unbroken, tmp_path):
    path = tmp_path / "run"
    run(small(**{"time.frames": 1}), path)
    with pytest.raises(NonstickError, match=r"physics\.density"):
        resume(path, scene=small(**{"physics.density": 900.0}))
    file = path / "scene.toml"
    file.write_text(file.read_text().replace("per_axis = 2", "per_axis = 3"))
    with pytest.raises(NonstickError, match=r"particles\.per_axis"):
        resume(path)
    with pytest.raises(NonstickError, match="is not a run directory"):
        resume(tmp_path / "nowhere")
    with pytest.raises(NonstickError, match="not empty"):
        run(small(), path)


def _start(path, threads, frames_wanted=5):
    code = (
        "from nonstick import Scene; from nonstick.sim.run.loop import run\n"
        f"run(Scene.load('circle', {SMALL | {'time.frames': frames_wanted}!r}), {str(path)!r})"
    )
    env = dict(os.environ, NUMBA_NUM_THREADS=str(threads))
    return subprocess.Popen([sys.executable, "-c", code], env=env, stderr=subprocess.PIPE)


def test_two_threads_give_the_same_bytes(unbroken, tmp_path):
    process = _start(tmp_path / "two", 2)
    assert process.wait() == 0, process.stderr.read().decode()
    assert frames(tmp_path / "two") == frames(unbroken)


def test_killed_and_resumed(unbroken, tmp_path):
    path = tmp_path / "killed"
    process = _start(path, 1)
    while process.poll() is None and not (path / "frames" / "000002.npz").exists():
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    # what a kill in the middle of writing leaves behind
    (path / "frames" / ".000099.npz.1.partial.npz").write_bytes(b"half")
    resume(path)
    assert frames(path) == frames(unbroken)
    assert not list((path / "frames").glob(".*"))


def test_a_missed_tolerance_is_retried_and_reported(tmp_path):
    scene = small(**{"time.frames": 1, "solver.method": "pgs", "solver.maxiter": 1})
    directory = run(scene, tmp_path / "run")
    rows = directory.rows()
    assert rows[0]["method"] != "pgs" and rows[0]["converged"] == "1"
    assert any(line["kind"] == "retry" and "pgs" in line["message"] for line in directory.log_lines())


def test_the_cap_on_substeps_is_reported(tmp_path):
    scene = small("cm-circle", **{"time.frames": 1, "time.max_substeps": 1, "time.cfl": 0.1})
    directory = run(scene, tmp_path / "run")
    assert directory.meta()["summary"]["capped"] == 1
    assert any(line["kind"] == "cap" for line in directory.log_lines())


def test_a_run_of_an_older_version_goes_on_and_can_be_summed_up(unbroken, tmp_path):
    path = tmp_path / "older"
    run(small(**{"time.frames": 2}), path)
    table = path / "stats.csv"
    lines = [line.split(",") for line in table.read_text().splitlines()]
    drop = [lines[0].index(name) for name in ("contacts", "body_kinetic", "viscosity_seconds", "capped")]
    table.write_text("\n".join(",".join(v for i, v in enumerate(row) if i not in drop) for row in lines) + "\n")
    directory = resume(path, frames=5)
    assert frames(path) == frames(unbroken)
    rows = directory.rows()
    assert rows[0]["contacts"] == "" and rows[-1]["contacts"] != ""
    found = directory.meta()["summary"]
    assert found["steps"] == len(rows) and found["capped"] == 0 and found["unconverged"] == 0
