r"""Paths as Windows writes them: `\`, drives, names of devices; in scenes, archives, run directories and commands.

Where `\` and `:` are letters like others, such a name is one file in the folder where it was asked for. What a scene
calls a thing never becomes a path: the name of its file is one that both systems have.
"""

import json
import ntpath
import sys
from pathlib import Path, PureWindowsPath

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick import NonstickError, Scene
from nonstick.files.atomic import safe_name, safe_names
from nonstick.files.rundir import RunDirectory
from nonstick.sim.run.loop import resume, run

HOSTILE = [
    "C:\\runs\\a", "C:a", "C:", "\\\\server\\share\\a", "\\\\.\\NUL", "\\\\?\\C:\\a", "..\\..\\a", "a\\..\\..\\b",
    "a/b\\c", "\\a", "con", "NUL", "nul.png", "aux.tar.gz", "COM1", "com¹", "LPT².txt", "conin$", "CONOUT$", "prn ",
    "a.", "a:stream", "a?*<>|\"",
]  # fmt: skip
SMALL = {"domain.resolution": 8, "time.frames": 1}
posix = pytest.mark.skipif(sys.platform == "win32", reason="such names are paths there")


def reserved(name):
    found = getattr(ntpath, "isreserved", None)  # Python 3.13
    return found(name) if found else PureWindowsPath(name).is_reserved()


def everything(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*"))


@pytest.fixture
def run_command(capsys, tmp_path, monkeypatch):
    """The command, in a folder of its own."""
    from nonstick.cli import main

    monkeypatch.chdir(tmp_path)

    def command(*words):
        with pytest.raises(SystemExit) as leave:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return leave.value.code or 0, out, err

    return command


def test_a_name_made_of_a_path_stays_in_its_folder_on_both_systems():
    names = safe_names(HOSTILE)
    for name in [*names, *(f"{safe_name(text)}.obj" for text in HOSTILE)]:
        path = PureWindowsPath(name)
        assert path.parts == (name,) == Path(name).parts and not path.drive and not path.root, name
        assert not reserved(name) and name == name.rstrip(". ") and not set(name) & set('\\/:*?"<>|'), name
    assert len({name.lower() for name in names}) == len(HOSTILE)


@pytest.mark.parametrize(
    "file", ["C:\\meshes\\bunny.stl", "meshes\\bunny.stl", "..\\bunny.stl", "NUL", "\\\\server\\bunny.stl"]
)
def test_a_mesh_that_is_elsewhere(run_command, tmp_path, file):
    table = {"type": "mesh", "file": file}
    scene = {"domain": {"size": [1.0, 1.0, 1.0], "resolution": 8}, "liquid": [{"shape": table}]}
    (tmp_path / "a.toml").write_text(Scene(scene).to_toml(), encoding="utf-8")
    status, _, err = run_command("check", "a.toml")
    assert status == 2 and err.count("\n") == 1 and f"there is no mesh file {str(tmp_path / file)!r}" in err
    assert everything(tmp_path) == ["a.toml"]


@posix
@pytest.mark.parametrize("words", ["check", "run", "info", "resume", "render", "view", "solve", "export --to ply"])
@pytest.mark.parametrize("path", ["C:\\runs\\a", "runs\\a.toml", "\\\\server\\a.npz"])
def test_commands_say_in_one_sentence_what_is_not_there(run_command, tmp_path, words, path):
    command, *more = words.split()
    status, _, err = run_command(command, path, *more)
    assert status == 2 and err.count("\n") == 1 and err.startswith("nonstick: "), err
    assert not everything(tmp_path)


@posix
@pytest.mark.parametrize("out", ["C:\\runs\\a", "..\\a", "con"])
def test_a_run_in_a_folder_of_such_a_name(run_command, tmp_path, out):
    small = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    assert run_command("run", "circle", *small, "--no-movie", "--out", out)[0] == 0
    assert run_command("resume", out, "--frames", "2", "--no-movie")[0] == 0
    assert run_command("export", out, "--to", "ply", "--out", "ply\\files")[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {out, "ply\\files"}
    assert RunDirectory.open(out).frames() == [0, 1, 2] and "2 frames" in run_command("info", out)[1]


def test_names_in_a_scene_are_no_paths(tmp_path):
    bodies = [
        {"name": name, "shape": {"type": "ball", "centre": [0.1 + 0.15 * k, 0.7], "radius": 0.05}, "density": 500.0}
        for k, name in enumerate(("..\\..\\a", "C:\\a", "con", "..\\..\\A", "com¹"))
    ]
    pool = {"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.4]}}
    scene = {
        "name": "..\\..\\nul", "domain": {"size": [1.0, 1.0], "resolution": 20}, "time": {"frames": 1},
        "liquid": [pool], "bodies": bodies,
    }  # fmt: skip
    run(Scene(scene), tmp_path / "run")
    assert everything(tmp_path / "run" / "bodies") == ["A-2.obj", "C-a.obj", "a.obj", "com¹_.obj", "con_.obj"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_members_of_archives_are_keys_and_not_files(run_command, tmp_path):
    A = sp.csr_array(2.0 * sp.eye_array(4))
    parts = {"A_data": A.data, "A_indices": A.indices, "A_indptr": A.indptr, "b": np.ones(4)}
    strange = {name: np.ones(3) for name in (*HOSTILE, "../a", "/a", "a/b")}
    np.savez(tmp_path / "problem.npz", **parts, **strange)
    status, out, err = run_command("solve", "problem.npz")
    assert status == 0 and "nonstick: " not in err and "4 unknowns" in out
    run(Scene.load("circle", SMALL), tmp_path / "run")
    before = everything(tmp_path)
    for folder in ("frames", "checkpoints"):
        file = tmp_path / "run" / folder / "000001.npz"
        with np.load(file) as arrays:
            np.savez(file, **arrays, **strange)
    assert resume(tmp_path / "run", frames=2).frames() == [0, 1, 2]
    new = {f"run/{folder}/000002.npz" for folder in ("frames", "checkpoints")}
    assert {Path(name) for name in set(everything(tmp_path)) - set(before)} <= {Path(name) for name in new}


def test_a_run_that_was_begun_on_windows_goes_on(tmp_path):
    done = run(Scene.load("circle", SMALL), tmp_path / "run")
    file = done.path / "meta.json"
    meta = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(meta | {"folder": "C:\\Users\\me\\scenes"}).replace("\n", "\r\n"), encoding="utf-8")
    for name in ("scene.toml", "stats.csv", "log.jsonl"):
        text = (done.path / name).read_text(encoding="utf-8")
        (done.path / name).write_bytes(text.replace("\n", "\r\n").encode())
    assert resume(done.path, frames=2).frames() == [0, 1, 2]
    assert {row["frame"] for row in done.rows()} == {"1", "2"} and not (done.path / "C:").exists()


def test_its_mesh_is_asked_for_where_it_was(tmp_path):
    done = run(Scene.load("sphere", SMALL), tmp_path / "run")
    cup = {"shape": {"type": "mesh", "file": "meshes\\cup.stl"}}
    scene = Scene(done.scene().to_dict() | {"solid": [cup]})
    known = {"folder": "C:\\Users\\me", "scene": scene.to_dict(), "fingerprint": scene.fingerprint()}
    done.write_scene(scene.to_toml())
    done.write_meta(done.meta() | known)
    with pytest.raises(NonstickError, match=r"there is no mesh file 'C:.*Users.*me.*cup.stl'"):
        resume(done.path, frames=2)
