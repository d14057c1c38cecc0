"""`output.export`: files that appear while a run goes on, survive a kill, and never cost the run."""

import errno
import sys
from typing import get_args

import pytest

from nonstick import NonstickError, Scene
from nonstick.cli import main
from nonstick.core.optional import install
from nonstick.files.formats import FORMATS, export, formats
from nonstick.files.rundir import RunDirectory
from nonstick.scenes.schema import OutputTable
from nonstick.sim.run.loop import resume, run

ALL = [name for name in FORMATS if name != "usd"]


def scene(*names, **more):
    """A ball falls into water."""
    return Scene(
        {
            "name": "toy",
            "domain": {"size": [1.0, 1.0, 0.5], "resolution": 10},
            "time": {"frames": 4, "fps": 10},
            "liquid": [{"shape": {"type": "box", "low": [0, 0, 0], "high": [0.5, 0.6, 0.5]}}],
            "bodies": [{"shape": {"type": "ball", "centre": [0.7, 0.6, 0.25], "radius": 0.15}, "density": 400}],
            "camera": {"colour": "speed"},
            "output": {"export": names, **more},
        }
    )


def files(path):
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted((path / "export").rglob("*")) if f.is_file()}


def stop_at(number):
    def progress(frame, rows):
        if frame == number:
            raise KeyboardInterrupt

    return progress


@pytest.fixture(scope="module")
def names():
    try:
        import pxr  # noqa: F401
    except ImportError:
        return ALL
    return [*ALL, "usd"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, names):
    """A run that nobody disturbs."""
    return run(scene(*names), tmp_path_factory.mktemp("live") / "run").path


def test_the_formats_of_scenes_are_those_there_are():
    allowed = get_args(get_args(OutputTable.model_fields["export"].annotation)[0])
    assert allowed == tuple(FORMATS)


def test_files_appear_while_the_run_goes_on(tmp_path, names):
    seen = []
    run(scene(*names), tmp_path / "run", progress=lambda frame, rows: seen.append(set(files(tmp_path / "run"))))
    for number, there in enumerate(seen, start=1):
        for name in ("vdb/toy", "ply/toy", "obj/toy", "glb/toy", "vtk/surface", "vtk/particles", "vtk/fields"):
            suffix = {"vtk/fields": "vti"}.get(name, "vtp" if name.startswith("vtk") else name[:3])
            assert f"export/{name}_{number:06d}.{suffix}" in there
        assert "export/vtk/surface.pvd" in there
        assert "usd" not in names or f"export/usd/toy_{number:06d}.usdc" in there


def test_they_are_those_of_a_later_export(whole, names, tmp_path):
    for name in names:
        export(whole, name, out=tmp_path / "export" / name)
    assert files(tmp_path) == files(whole)


def test_a_run_without_bodies_or_export_writes_none(tmp_path):
    run(scene().replace({"time.frames": 1}), tmp_path / "run")
    assert not (tmp_path / "run" / "export").exists()


@pytest.mark.parametrize("after", [1, 3])
def test_a_broken_run_goes_on_to_the_same_files(whole, names, after, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(scene(*names), tmp_path / "run", stop_at(after))
    folder = tmp_path / "run" / "export"
    # killed while it wrote frame `after`, whose checkpoint is there; and something of a later frame is left
    (folder / "ply" / f"toy_{after:06d}.ply").unlink()
    (folder / "vdb" / f"toy_{after + 1:06d}.vdb").write_text("stale")
    (folder / "obj" / ".toy_000009.obj.1.partial.obj").write_text("half")
    resume(tmp_path / "run")
    assert files(tmp_path / "run") == files(whole)


def test_going_back_leaves_nothing_stale(whole, names, tmp_path):
    path = run(scene(*names), tmp_path / "run").path
    with pytest.raises(KeyboardInterrupt):
        resume(path, from_frame=1, progress=stop_at(2), discard=True)
    left = [name for name in files(path) if "00000" in name]
    assert left and all("000003" not in name and "000004" not in name for name in left)
    assert b"000003" not in (path / "export" / "vtk" / "surface.pvd").read_bytes()
    assert not (path / "export" / "usd" / "toy.usdc").exists()
    resume(path)
    assert files(path) == files(whole)


def test_going_back_keeps_files_until_they_are_made_again(whole, names, tmp_path):
    path = run(scene(*names), tmp_path / "run").path
    with pytest.raises(KeyboardInterrupt):
        resume(path, from_frame=1, progress=stop_at(2))
    assert {name for name in files(whole) if "000004" in name} <= {*files(path)}
    resume(path)
    assert files(path) == files(whole)


def test_a_longer_run_adds_frames(names, tmp_path):
    path = run(scene(*names).replace({"time.frames": 2}), tmp_path / "run").path
    resume(path, frames=3)
    straight = run(scene(*names).replace({"time.frames": 3}), tmp_path / "straight").path
    assert files(path) == files(straight)


def full_disk(monkeypatch, until=1000):
    """The disk of the vdb files is full for some writes after the second."""
    real, calls = formats.vdb.write, []

    def write(path, *rest):
        calls.append(path)
        if 2 < len(calls) <= until:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        real(path, *rest)

    monkeypatch.setattr(formats.vdb, "write", write)


def test_a_full_disk_does_not_end_the_run(tmp_path, monkeypatch):
    full_disk(monkeypatch)
    said = []
    path = run(scene("vdb"), tmp_path / "run", warn=said.append).path
    opened = RunDirectory.open(path)
    assert opened.frames() == [0, 1, 2, 3, 4] and opened.meta()["status"] == "done"
    told = [s for s in said if "export" in s]
    assert len(told) == 2 and "export stopped at frame 2" in told[0] and "No space left on device" in told[0]
    assert f"`nonstick export {path} --to vdb`" in told[0]
    assert sorted(files(path)) == ["export/vdb/toy_000000.vdb", "export/vdb/toy_000001.vdb"]
    monkeypatch.undo()
    assert len(export(path, "vdb")) == 5


def test_what_was_missing_is_written_at_the_end(tmp_path, monkeypatch, whole):
    full_disk(monkeypatch, until=3)
    said = []
    path = run(scene("vdb"), tmp_path / "run", warn=said.append).path
    assert "are there now" in said[-1]
    assert files(path) == {name: data for name, data in files(whole).items() if name.startswith("export/vdb")}


def command(*words) -> int:
    with pytest.raises(SystemExit) as leave:
        main([*map(str, words)])
    return leave.value.code or 0


@pytest.mark.parametrize("verb", ["check", "run"])
@pytest.mark.parametrize(
    "settings, sentence",
    [
        (['output.export=["vbd"]'], "output.export.0: should be one of 'vdb', 'usd', 'vtk', 'ply', 'obj' or 'glb'"),
        (['output.export=["vdb"]', "output.surface=false"], "set output.surface = true"),
        (['output.export=["usd"]'], install("usd")),
    ],
)
def test_mistakes_end_before_the_run(verb, settings, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pxr", None)
    assert command(verb, "sphere", "-s", "domain.resolution=8", *(w for s in settings for w in ("-s", s))) == 2
    said = capsys.readouterr().err
    assert sentence in said and len(said.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_flat_scenes_are_refused_where_it_makes_no_sense(tmp_path):
    with pytest.raises(NonstickError, match=r"the scene is 2D, and \.vdb files hold 3D only"):
        run(Scene.load("circle", {"output.export": ["vdb"]}), tmp_path / "run")
    path = run(Scene.load("circle", {"output.export": ["vtk"], "domain.resolution": 12, "time.frames": 1}), tmp_path)
    assert "export/vtk/surface_000001.vtp" in files(path.path)
