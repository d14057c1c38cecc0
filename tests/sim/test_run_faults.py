"""What can happen to a run: full disks, damaged files, links, two writers, little memory. Nothing is lost."""

import errno
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from nonstick import NonstickError, Scene
from nonstick.files import atomic
from nonstick.files.atomic import safe_name
from nonstick.files.lock import Lock
from nonstick.files.rundir import RunDirectory
from nonstick.sim.run.loop import resume, run, summary

SMALL = {"domain.resolution": 16, "time.frames": 3, "output.movie": False}


def small(**more):
    return Scene.load("circle", {**SMALL, **more})


def frames(path):
    return {f.name: f.read_bytes() for f in sorted((path / "frames").glob("*.npz"))}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "unbroken"
    run(small(), path)
    return path


@pytest.fixture
def copy(unbroken, tmp_path):
    return shutil.copytree(unbroken, tmp_path / "copy")


# -- names, links, writers ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "..", ".", "a/b", "c:\\x", "-rf", "é" * 80, ".hidden"])
def test_names_stay_inside(name):
    made = safe_name(name)
    assert made and "/" not in made and "\\" not in made and not made.startswith((".", "-"))
    assert len(made.encode()) <= 120


def test_a_name_does_not_lead_out_of_runs(tmp_path, monkeypatch, capsys):
    from nonstick.cli import main

    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    file = inner / "scene.toml"
    file.write_text(small(name="../../x", **{"time.frames": 1}).to_toml())
    with pytest.raises(SystemExit):
        main(["run", str(file)])
    assert [p.name for p in (inner / "runs").iterdir()] == ["x"] and not (tmp_path / "x").exists()
    assert "the run is in runs/x" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["frames", "checkpoints", "stats.csv", "log.jsonl", "meta.json"])
def test_links_are_not_followed(copy, tmp_path, name):
    away = tmp_path / "away"
    shutil.move(copy / name, away)
    if away.is_dir():
        (away / "000099.npz").write_bytes(b"precious")
    before = sorted(away.iterdir()) if away.is_dir() else away.read_bytes()
    (copy / name).symlink_to(away)
    with pytest.raises(NonstickError, match=f"{name} is a link to another place"):
        resume(copy, frames=4)
    assert before == (sorted(away.iterdir()) if away.is_dir() else away.read_bytes())


def test_the_second_resume_is_refused(copy):
    before = (copy / "stats.csv").read_bytes()
    with Lock(copy), pytest.raises(NonstickError, match=f"process {os.getpid()} on .* is writing"):
        resume(copy, frames=4)
    assert (copy / "stats.csv").read_bytes() == before
    resume(copy, frames=4)
    assert not (copy / "lock").exists()


# -- checkpoints --------------------------------------------------------------------------------------


def change(path, **arrays):
    with np.load(path) as found:
        np.savez(path, **{**{name: found[name] for name in found.files}, **arrays})


def tampered(path):
    with np.load(path) as found:
        x, vel = found["x"], found["vel"]
    far, nan = x.copy(), x.copy()
    far[1, 0], nan[1, 0] = 1e7, np.nan
    return {
        "position outside": ({"x": far}, "x contains values that are not between 0 and 16"),
        "negative position": ({"x": -x}, "x contains values that are not between"),
        "position that is no number": ({"x": nan}, "x contains values that are not finite"),
        "too few velocities": ({"vel": vel[:, :-5]}, "vel has the shape"),
        "another type": ({"vel": vel.astype(">f8")}, "vel has the type float64"),
        "great pressure": ({"pressure": np.full((16, 16), 1e200)}, "pressure contains numbers beyond"),
        "flat pressure": ({"pressure": np.zeros(256)}, "pressure has the shape"),
        "no ledger": ({"ledger": np.zeros(2)}, "ledger has too few numbers"),
        "another frame": ({"frame": np.array(7)}, "it is one of frame 7"),
    }


@pytest.mark.parametrize("case", range(9))
def test_a_tampered_checkpoint_is_noticed_and_the_one_before_taken(copy, unbroken, case):
    last = copy / "checkpoints" / "000003.npz"
    arrays, sentence = list(tampered(last).values())[case]
    change(last, **arrays)
    told = []
    resume(copy, warn=told.append)
    assert len(told) == 1 and sentence in told[0] and "going on from frame 2 instead" in told[0]
    assert frames(copy) == frames(unbroken)


def test_without_a_sound_checkpoint_there_is_a_sentence(copy):
    for file in (copy / "checkpoints").iterdir():
        file.write_bytes(b"no archive")
    with pytest.raises(NonstickError, match=r"no saved frame of .* can be used, so start a new run"):
        resume(copy)
    assert len(frames(copy)) == 4


def test_killed_before_the_first_checkpoint_begins_again(copy, unbroken):
    for name in ("checkpoints", "frames"):
        for file in (copy / name).iterdir():
            file.unlink()
    (copy / "stats.csv").unlink()
    told = []
    resume(copy, warn=told.append)
    assert told == ["no frame had been saved: from the beginning"] and frames(copy) == frames(unbroken)


def test_killed_before_it_was_a_run_directory(tmp_path, unbroken):
    path = tmp_path / "run"
    (path / "frames").mkdir(parents=True)
    (path / "checkpoints").mkdir()
    (path / "lock").write_text("{}")
    with pytest.raises(NonstickError, match="start it again with `nonstick run SCENE --out"):
        resume(path)
    run(small(), path)
    assert frames(path) == frames(unbroken)


def test_damaged_tables_and_notes_do_not_stop_a_run(copy, unbroken):
    (copy / "stats.csv").write_bytes(b"\xff\x00,,\nframe,1\n" * 300)
    (copy / "log.jsonl").write_bytes(b'\xff\n3\n[]\n{"kind": 1}\n{')
    assert summary(RunDirectory.open(copy)) == {"steps": 0}
    resume(copy, from_frame=1)
    assert frames(copy) == frames(unbroken) and (copy / "stats.csv.damaged").exists()
    (copy / "meta.json").write_text('{"seconds": "long"}')
    with pytest.raises(NonstickError, match=r"meta\.json is damaged, 'seconds' should be a number"):
        RunDirectory.open(copy).meta()


# -- full disks and little memory ---------------------------------------------------------------------


@pytest.mark.parametrize("stage", range(0, 11, 2))
def test_a_full_disk_loses_nothing(tmp_path, unbroken, monkeypatch, stage):
    path = tmp_path / "run"
    real, calls = os.replace, iter(range(10**6))

    def full(source, target, **places):
        if next(calls) >= stage:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target, **places)

    monkeypatch.setattr(atomic.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        run(small(), path)
    monkeypatch.undo()
    assert not list(path.rglob("*.partial*"))
    if (path / "meta.json").exists():
        resume(path)
    else:
        run(small(), path)
    assert frames(path) == frames(unbroken)
    assert [r["step"] for r in RunDirectory.open(path).rows()] == [
        r["step"] for r in RunDirectory.open(unbroken).rows()
    ]


def test_a_file_that_is_written_in_part_has_a_plain_message(tmp_path):
    with pytest.raises(OSError) as error, atomic.replacing(tmp_path / "x.npz"):
        raise OSError("1000 requested and 10 written")
    assert error.value.errno == errno.ENOSPC and "is the disk full" in error.value.strerror
    assert str(tmp_path / "x.npz") in str(error.value) and "None" not in str(error.value)


LIMITED = """
import resource, sys
from nonstick.cli import main
import nonstick.sim.run.loop, nonstick.sim.liquid.simulation
from nonstick import Scene
from nonstick.sim import simulate
if sys.argv[1] == "memory":
    simulate(Scene.load("circle", {"domain.resolution": 16})).next_frame()  # load what is compiled first
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 60 * 2**20,) * 2)
else:
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
main(sys.argv[2:])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
@pytest.mark.parametrize("what, more", [("memory", "domain.resolution=1500"), ("disk", "domain.resolution=40")])
def test_limits_end_in_one_sentence(tmp_path, what, more):
    path = tmp_path / "run"
    words = ["run", "circle", "-n", "2", "--no-movie", "--set", more, "--out", str(path)]
    done = subprocess.run([sys.executable, "-c", LIMITED, what, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("nonstick: ")]
    assert len(said) == 1 and ("memory" in said[0] if what == "memory" else "cannot use" in said[0])
