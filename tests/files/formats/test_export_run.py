"""Exports of whole runs: which files, kept ones, and mistakes in one sentence."""

import errno
import shutil
from pathlib import Path

import numpy as np
import pytest

import nonstick
from nonstick.cli import main
from nonstick.core.optional import install
from nonstick.files.formats import FORMATS, Exporter, Options, Shot, export, write_frame


@pytest.fixture
def copy(splash, tmp_path):
    return Path(shutil.copytree(splash, tmp_path / "run"))


def command(*words) -> int:
    with pytest.raises(SystemExit) as leave:
        main(["export", *map(str, words)])
    return leave.value.code or 0


def test_files_and_what_is_said(copy, capsys):
    assert command(copy, "--to", "ply", "--frames", "2:4", "--surface", "grid") == 0
    said = capsys.readouterr().out
    names = sorted(f.name for f in (copy / "export" / "ply").iterdir())
    assert names == ["sphere_000002.ply", "sphere_000003.ply"]
    assert "sphere_000002.ply … sphere_000003.ply (2 files)" in said


def test_several_formats_at_once(copy, tmp_path):
    assert command(copy, "-t", "vdb", "-t", "vtk", "--frames", "1", "-o", tmp_path / "out", "--surface", "grid") == 0
    assert (tmp_path / "out" / "vdb" / "sphere_000001.vdb").is_file()
    assert (tmp_path / "out" / "vtk" / "surface.pvd").is_file()


def test_frames_that_are_there_are_kept(copy):
    options = Options(surface="grid")
    first = export(copy, "obj", frames=slice(0, 2), options=options)
    first[0].write_text("mine")
    export(copy, "obj", frames=slice(0, 3), options=options)
    assert first[0].read_text() == "mine" and len(list(first[0].parent.iterdir())) == 3
    export(copy, "obj", frames=slice(0, 1), options=options, overwrite=True)
    assert first[0].read_text() != "mine"


def test_progress_is_told(copy):
    told = []
    export(copy, "obj", frames=slice(0, 3), options=Options(surface="grid"), tick=lambda *a: told.append(a))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_run_in_progress(copy):
    """Frames may be handed over as they are made, and give the same files."""
    arrays = Shot(copy).run.read_frame(2)
    (file,) = write_frame(["vdb"], copy, 2, arrays)
    mine = file.read_bytes()
    export(copy, "vdb", frames=[2], overwrite=True)
    assert file.read_bytes() == mine
    exporter = Exporter(Shot(copy), {"vtk": FORMATS["vtk"]}, options=Options(surface="grid"))
    exporter.write(1)
    exporter.write(2)
    series = [f.name for f in exporter.finish([1, 2]) if f.suffix == ".pvd"]
    assert series == ["surface.pvd", "particles.pvd", "fields.pvd", "solids.pvd"]


def test_from_python():
    assert nonstick.export is export


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--to", "abc"], "there is no format 'abc'; use one of vdb, usd, vtk, ply, obj, glb"),
        (["--to", "ply", "--frames", "50:60"], "has frames 0 to 8, and none of them is asked for"),
        (["--to", "ply", "--frames", "x"], "--frames takes A:B"),
        (["--to", "ply", "--frames", "1:2:0"], "--frames takes A:B"),
        (["--to", "ply", "--surface", "blob"], "surface is one of grid, particles, splashsurf"),
    ],
)
def test_mistakes(splash, words, sentence, capsys):
    assert command(splash, *words) == 2
    said = capsys.readouterr().err
    assert sentence in said and len(said.splitlines()) == 1


def test_no_run(tmp_path, capsys):
    assert command(tmp_path, "--to", "vdb") == 2
    assert "is not a run directory" in capsys.readouterr().err


def test_no_frames(copy, capsys):
    shutil.rmtree(copy / "frames")
    (copy / "frames").mkdir()
    assert command(copy, "--to", "vdb") == 2
    assert "holds no frames yet, so there is nothing to export" in capsys.readouterr().err


def test_flat_runs_go_where_it_makes_sense(flat, tmp_path, capsys):
    assert command(flat, "--to", "vdb", "-o", tmp_path / "a") == 2
    assert "is 2D, and .vdb files hold 3D only" in capsys.readouterr().err and not (tmp_path / "a").exists()
    assert command(flat, "--to", "vtk", "-o", tmp_path / "b") == 0


def test_a_missing_package_is_named(copy, monkeypatch, capsys):
    import sys

    monkeypatch.setitem(sys.modules, "pxr", None)
    assert command(copy, "--to", "usd") == 2
    assert install("usd") in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "pysplashsurf", None)
    assert command(copy, "--to", "ply", "--surface", "splashsurf") == 2
    assert install("surface") in capsys.readouterr().err


def test_a_damaged_frame_loses_nothing_else(copy, capsys):
    file = copy / "frames" / "000002.npz"
    file.write_bytes(file.read_bytes()[:2000])
    assert command(copy, "--to", "vdb") == 2
    said = capsys.readouterr().err
    assert "000002.npz" in said and "damaged" in said and len(said.splitlines()) == 1
    assert sorted(f.name for f in (copy / "export" / "vdb").iterdir()) == ["sphere_000000.vdb", "sphere_000001.vdb"]
    with np.load(copy / "frames" / "000001.npz") as good:
        np.savez(file, **{**good, "phi": good["phi"][:-1]})
    assert command(copy, "--to", "vdb") == 2
    assert "000002.npz is damaged, phi has shape" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["vdb", "ply", "obj", "glb", "vtk"])
def test_a_full_disk_leaves_whole_files_only(form, copy, monkeypatch, capsys):
    from nonstick.files.formats import formats

    module = getattr(formats, form)
    name = "write_poly" if form == "vtk" else "write"
    real, calls = getattr(module, name), []

    def full(path, *rest, **more):
        calls.append(path)
        real(path, *rest, **more)
        if len(calls) > 4:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, name, full)
    assert command(copy, "--to", form, "--surface", "grid") == 2
    said = capsys.readouterr().err
    assert "No space left on device" in said and len(said.splitlines()) == 1
    monkeypatch.undo()
    before = {f: f.read_bytes() for f in (copy / "export" / form).iterdir()}
    assert before and not any("partial" in f.name for f in before)
    assert command(copy, "--to", form, "--surface", "grid") == 0  # and goes on
    assert all(f.read_bytes() == data for f, data in before.items())


def usd_or_skip():
    pytest.importorskip("pxr", reason="usd-core is not installed (pip install usd-core)")


def test_a_full_disk_leaves_the_usd_file_that_was_there(copy, monkeypatch, capsys):
    usd_or_skip()
    from nonstick.files.formats import formats

    (file,) = export(copy, "usd", frames=slice(0, 2), options=Options(surface="grid"))
    before, real = file.read_bytes(), formats.usd.write

    def full(path, *rest):
        real(path, *rest)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(formats.usd, "write", full)
    assert command(copy, "--to", "usd", "--surface", "grid") == 2
    said = capsys.readouterr().err
    assert "No space left on device" in said and len(said.splitlines()) == 1
    assert [f.name for f in file.parent.iterdir()] == [file.name] and file.read_bytes() == before
    monkeypatch.undo()
    assert command(copy, "--to", "usd", "--surface", "grid") == 0
    assert formats.usd.frames(file) == list(range(9))


def test_a_damaged_frame_leaves_the_usd_file_that_was_there(copy, capsys):
    usd_or_skip()
    (file,) = export(copy, "usd", frames=slice(0, 2), options=Options(surface="grid"))
    before = file.read_bytes()
    bad = copy / "frames" / "000004.npz"
    bad.write_bytes(bad.read_bytes()[:2000])
    assert command(copy, "--to", "usd", "--surface", "grid") == 2
    said = capsys.readouterr().err
    assert "000004.npz" in said and "damaged" in said and len(said.splitlines()) == 1
    assert [f.name for f in file.parent.iterdir()] == [file.name] and file.read_bytes() == before
