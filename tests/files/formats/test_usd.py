"""USD files, read back by usd-core, checked by its validators, and imported by Blender."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene
from nonstick.files.formats import Options, Shot, export, liquid_mesh, usd
from nonstick.sim.run.loop import run


@pytest.fixture(scope="module")
def pxr():
    return pytest.importorskip("pxr", reason="usd-core is not installed (pip install usd-core)")


@pytest.fixture(scope="module")
def toys_usd(toys, tmp_path_factory, pxr):
    (file,) = export(toys, "usd", out=tmp_path_factory.mktemp("usd"))
    return file


def test_stage(toys_usd):
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(str(toys_usd))
    assert UsdGeom.GetStageUpAxis(stage) == "Y"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == 24
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, 4)
    assert stage.GetDefaultPrim().GetPath() == "/toys"
    assert UsdGeom.Camera(stage.GetPrimAtPath("/toys/camera"))


def test_liquid_and_particles(toys, toys_usd):
    from pxr import Usd, UsdGeom

    shot = Shot(toys)
    stage = Usd.Stage.Open(str(toys_usd))
    mesh, points = UsdGeom.Mesh.Get(stage, "/toys/liquid"), UsdGeom.Points.Get(stage, "/toys/particles")
    assert mesh.GetPointsAttr().GetNumTimeSamples() == len(shot.frames)
    for number in (0, 3):
        frame = shot.frame(number)
        own = liquid_mesh(shot, frame, "particles", 2)
        assert np.array_equal(mesh.GetPointsAttr().Get(number), own.vertices)
        assert np.array_equal(mesh.GetVelocitiesAttr().Get(number), own.velocity)
        assert np.array_equal(mesh.GetFaceVertexIndicesAttr().Get(number), own.faces.ravel())
        order = np.argsort(frame.ids)
        assert np.array_equal(points.GetPointsAttr().Get(number), frame.arrays["position"][order])
        assert not points.GetVelocitiesAttr().HasAuthoredValue()
        assert np.array_equal(points.GetIdsAttr().Get(number), frame.ids[order])
    assert points.GetWidthsAttr().Get()[0] == pytest.approx(0.5 * shot.grid.dx)


def test_bodies_and_solids_move(toys, toys_usd):
    from pxr import Gf, Usd, UsdGeom

    shot = Shot(toys)
    stage = Usd.Stage.Open(str(toys_usd))
    frame = shot.frame(4)
    place = UsdGeom.Xformable(stage.GetPrimAtPath("/toys/bodies/brick")).ComputeLocalToWorldTransform(4.0)
    assert place.Transform(Gf.Vec3d(0, 0, 0)) == pytest.approx(tuple(frame.arrays["body_centre"][1]))
    turn = place.ExtractRotationQuat()
    own = frame.arrays["body_orientation"][1]
    assert abs(own @ [turn.GetReal(), *turn.GetImaginary()]) == pytest.approx(1.0)
    wall = UsdGeom.Xformable(stage.GetPrimAtPath("/toys/solids/solid_0")).ComputeLocalToWorldTransform(4.0)
    assert wall.ExtractTranslation() == pytest.approx((0.5 * frame.time, 0, 0))
    assert stage.GetPrimAtPath("/toys/bodies/a_ball/a_ball").IsA(UsdGeom.Mesh)


@pytest.mark.parametrize("which", ["toys", "flat"])
def test_validators_have_nothing_to_say(which, request, tmp_path, pxr):
    from pxr import Usd

    UsdValidation = pytest.importorskip("pxr.UsdValidation", reason="the validators came with OpenUSD 26")
    (file,) = export(request.getfixturevalue(which), "usd", out=tmp_path)
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    errors = UsdValidation.ValidationContext(validators).Validate(Usd.Stage.Open(str(file)))
    assert [e.GetErrorAsString() for e in errors] == []


def test_without_particles(splash, tmp_path, pxr):
    from pxr import Usd

    (file,) = export(splash, "usd", frames=[1], out=tmp_path, options=Options(particles=False))
    assert not Usd.Stage.Open(str(file)).GetPrimAtPath("/sphere/particles")


def test_blender_imports_several_frames(toys, toys_usd, blender):
    shot = Shot(toys)
    answer = blender(toys_usd, 0, 2, 4)[str(toys_usd)]
    assert answer["objects"]["camera"] == "CAMERA"
    for number in (0, 2, 4):
        frame = shot.frame(number)
        mesh = liquid_mesh(shot, frame, "particles", 2)
        low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
        entry = answer["frames"][str(number)]
        upright = [[low[0], -high[2], low[1]], [high[0], -low[2], high[1]]]
        assert np.array(entry["liquid"]) == pytest.approx(np.array(upright), abs=1e-4)
        assert "velocity" in entry["attributes"]
        x, y, z = frame.arrays["body_centre"][0]
        assert [row[3] for row in entry["places"]["a_ball"][:3]] == pytest.approx([x, -z, y], abs=1e-5)


def test_what_to_install_is_said(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(NonstickError, match=r"pip install .*\[usd\]'"):
        usd.require()


def test_particles_that_are_born_have_velocities(tmp_path, pxr):
    from pxr import Usd, UsdGeom

    pour = {"shape": {"type": "box", "low": [0.3, 0.6, 0.3], "high": [0.7, 0.8, 0.7]}, "velocity": [0.0, -1.0, 0.0]}
    scene = Scene(
        {"name": "pour", "domain": {"size": [1, 1, 1], "resolution": 8}, "time": {"frames": 2}, "inflow": [pour]}
    )
    run(scene, tmp_path / "run")
    (file,) = export(tmp_path / "run", "usd", out=tmp_path)
    stage = Usd.Stage.Open(str(file))
    points = UsdGeom.Points.Get(stage, "/pour/particles")
    frame = Shot(tmp_path / "run").frame(2)
    order = np.argsort(frame.ids)
    assert np.array_equal(points.GetIdsAttr().Get(2), frame.ids[order])
    assert np.array_equal(points.GetVelocitiesAttr().Get(2), frame.arrays["velocity"][order])


def test_after_a_failed_export_the_next_one_works(splash, tmp_path, pxr, monkeypatch):
    frame = Shot.frame

    def failing(self, number, *arrays):
        if number == 2:
            raise NonstickError("frame 2 is damaged")
        return frame(self, number, *arrays)

    monkeypatch.setattr(Shot, "frame", failing)
    with pytest.raises(NonstickError) as kept:  # as a notebook keeps the last error, and with it the stage
        export(splash, "usd", out=tmp_path)
    assert kept.traceback and not list(tmp_path.iterdir())
    monkeypatch.undo()
    (file,) = export(splash, "usd", out=tmp_path)
    assert usd.frames(file) == list(range(9))
