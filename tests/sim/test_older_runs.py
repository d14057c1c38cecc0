"""Runs that an older version began: `data/` holds their scene.toml and meta.json as it wrote them."""

import shutil
from pathlib import Path

import pytest

from nonstick import NonstickError, Scene
from nonstick.files.rundir import RunDirectory
from nonstick.sim.run.loop import resume, run

DATA = Path(__file__).parent / "data"


def frames(path):
    return {f.name: f.read_bytes() for f in sorted((path / "frames").glob("*.npz"))}


def begin(kind, path):
    """A run of two frames with the scene and the notes of the older version."""
    run(Scene.load(DATA / f"older-{kind}" / "scene.toml"), path)
    for name in ("scene.toml", "meta.json"):
        shutil.copy(DATA / f"older-{kind}" / name, path / name)
    return path


@pytest.mark.parametrize("kind", ["liquid", "heat"])
def test_an_older_run_goes_on(kind, tmp_path):
    whole = run(Scene.load(DATA / f"older-{kind}" / "scene.toml", {"time.frames": 4}), tmp_path / "whole")
    broken = begin(kind, tmp_path / "broken")
    resume(broken, frames=4)
    assert frames(broken) == frames(whole.path)
    assert RunDirectory.open(broken).meta()["status"] == "done"


@pytest.mark.parametrize("kind, key", [("liquid", "physics.density"), ("heat", "upper")])
def test_a_changed_older_run_is_still_refused(kind, key, tmp_path):
    path = begin(kind, tmp_path / "run")
    with pytest.raises(NonstickError, match=key):
        resume(path, scene=Scene.load(path / "scene.toml", {key: 70.0}))


@pytest.mark.parametrize("name", ["circle", "heat"])
def test_a_key_at_its_default_does_not_change_the_hash(name):
    scene = Scene.load(name)
    written_out = Scene(scene.to_dict())
    assert written_out.fingerprint() == scene.fingerprint()
    assert scene.replace({"time.frames": 3, "name": "other"}).fingerprint() == scene.fingerprint()
    assert scene.replace({"solver.rtol": 1e-3}).fingerprint() != scene.fingerprint()
