"""Going back in a run keeps its frames; a branch starts from a frame with changed physics."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene
from nonstick.files.rundir import RunDirectory
from nonstick.files.tables import read_probes
from nonstick.sim.run.branch import branch
from nonstick.sim.run.loop import resume, run

GAUGE = {"name": "gauge", "type": "height", "at": [1.0, 0.0]}
SMALL = {"domain.resolution": 16, "time.frames": 6, "output.movie": False, "output.checkpoint_every": 5}


def frames(path):
    return {f.name: f.read_bytes() for f in sorted((path / "frames").glob("*.npz"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    run(Scene.load("circle", {**SMALL, "probe": [GAUGE]}), path)
    return path


@pytest.fixture
def copy(whole, tmp_path):
    import shutil

    return shutil.copytree(whole, tmp_path / "copy")


def test_going_back_with_fewer_frames_keeps_the_later_ones_and_says_so(whole, copy):
    told = []
    resume(copy, from_frame=2, frames=4, warn=told.append)
    assert frames(copy) == frames(whole)
    assert any("frames 5 to 6 are there already and are kept" in line and "--discard" in line for line in told)
    assert (copy / "probes.csv").read_bytes() == (whole / "probes.csv").read_bytes()
    steps = [int(row["step"]) for row in RunDirectory.open(copy).rows()]
    assert steps == list(range(1, len(steps) + 1))
    assert [int(row["frame"]) for row in RunDirectory.open(copy).rows()][-1] == 6


def test_frames_that_are_made_again_are_there_all_the_time(whole, copy):
    there, told = [], []
    resume(copy, from_frame=0, progress=lambda n, rows: there.append(len(frames(copy))), warn=told.append)
    assert there == [7] * 6
    assert any("frames 1 to 6 are made again" in line for line in told)
    assert frames(copy) == frames(whole)


def test_discard_deletes_and_says_what(copy):
    told = []
    resume(copy, from_frame=0, frames=2, warn=told.append, discard=True)
    assert sorted(frames(copy)) == ["000000.npz", "000001.npz", "000002.npz"]
    assert any("frames 1 to 6" in line and "deleted" in line for line in told)
    assert {row["frame"] for row in RunDirectory.open(copy).rows()} == {"1", "2"}


@pytest.mark.parametrize("number", [3, 6, 7])
def test_the_number_of_frames_alone_is_no_reason_to_refuse(whole, copy, number):
    resume(copy, scene=Scene.load("circle", {**SMALL, "probe": [GAUGE], "time.frames": number}))
    assert RunDirectory.open(copy).frames() == list(range(max(number, 6) + 1))
    assert RunDirectory.open(copy).scene().model.time.frames == number


def test_a_branch_without_changes_is_the_same_run(whole, tmp_path):
    before = frames(whole)
    made = branch(whole, tmp_path / "new", 3)  # frame 3 has no checkpoint: it is computed again
    assert frames(made.path) == frames(whole) == before
    assert (made.path / "probes.csv").read_bytes() == (whole / "probes.csv").read_bytes()
    assert made.checkpoints()[0] == 3 and made.meta()["status"] == "done"
    # frames before the branch are the same files: no disk is used
    assert (made.path / "frames/000002.npz").samefile(whole / "frames/000002.npz")


def test_a_branch_with_changed_physics(whole, tmp_path):
    old, told = frames(whole), []
    changes = {"physics.gravity": [9.81, 0.0], "time.frames": 7}
    made = branch(whole, tmp_path / "new", 5, changes, warn=told.append)
    new = frames(made.path)
    assert frames(whole) == old and len(new) == 8
    assert [n for n in old if new[n] == old[n]] == [f"{k:06d}.npz" for k in range(6)]
    # gravity to the right moves the liquid to the right
    x = [made.read_frame(k)["position"][:, 0].mean() for k in (6, 7)]
    assert x[1] > x[0] > RunDirectory(whole).read_frame(6)["position"][:, 0].mean()
    parent = made.meta()["parent"]
    assert parent["run"] == str(whole) and parent["frame"] == 5
    assert parent["changed"]["time.frames"] == [6, 7] and "physics.gravity" in parent["changed"]
    assert len(read_probes(made.path)["gauge.height"]) == len(made.rows())
    # it goes on like any run, but not to before the branch
    resume(made.path, frames=8)
    assert made.frames()[-1] == 8
    with pytest.raises(NonstickError, match="is a branch, and its frames up to 5"):
        resume(made.path, from_frame=4)


def test_a_branch_may_make_one_viscosity_vary(tmp_path):
    scene = Scene.load("fountain", {"domain.resolution": 16, "time.frames": 2, "physics.viscosity": 0.5})
    run(scene, tmp_path / "run")
    extra = {"shape": {"type": "ball", "centre": [0.1, 0.1], "radius": 0.05}, "viscosity": 2.0}
    made = branch(tmp_path / "run", tmp_path / "new", 1, {"inflow.0.viscosity": 50.0, "liquid": [extra]})
    mu = made.read_checkpoint(2)["mu"]
    assert mu.min() == np.float32(0.5) and mu.max() == np.float32(50.0)


@pytest.mark.parametrize(
    "frame, changes, sentence",
    [
        (2, {"domain.resolution": 20}, "domain cannot change in a branch"),
        (2, {"time.fps": 30.0}, r"time\.fps cannot change"),
        (9, {}, "has frames up to 6"),
        (2, {"surface.track": "grid"}, "does not fit the changed scene"),
        (2, {"physics.densty": 1.0}, "did you mean 'density'"),
    ],
)
def test_what_cannot_be_branched_is_one_sentence_and_leaves_nothing(whole, tmp_path, frame, changes, sentence):
    with pytest.raises(NonstickError, match=sentence):
        branch(whole, tmp_path / "new", frame, changes)
    assert list(tmp_path.iterdir()) == []


def test_a_branch_of_a_heat_run(tmp_path):
    scene = Scene.load("heat", {"domain.resolution": 12, "time.frames": 3, "output.movie": False})
    run(scene, tmp_path / "run")
    made = branch(tmp_path / "run", tmp_path / "new", 2, {"diffusivity": 0.1})
    assert made.frames() == [0, 1, 2, 3]
    old, new = (frames(tmp_path / name) for name in ("run", "new"))
    assert old["000002.npz"] == new["000002.npz"] and old["000003.npz"] != new["000003.npz"]
    same = resume(tmp_path / "run", scene=scene.replace({"time.frames": 1}))
    assert same.frames() == [0, 1, 2, 3]


def test_a_branch_goes_through_a_link_and_into_a_folder_that_is_there(whole, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    inode = (tmp_path / "disk").stat().st_ino
    made = branch(whole, tmp_path / "link", 4)
    assert made.path == tmp_path / "link" and (tmp_path / "link").is_symlink()
    assert (tmp_path / "disk").stat().st_ino == inode and made.meta()["status"] == "done"
    assert frames(tmp_path / "disk") == frames(whole)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["disk", "link"]
