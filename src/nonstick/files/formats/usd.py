"""USD files (`.usdc`, extra `[usd]`: usd-core): the whole run in one file, with a time sample a frame.

    /NAME/liquid       Mesh: points, triangles, normals and velocities of every frame
    /NAME/particles    Points in the order of their ids: ids, widths, and viscosity where it varies; velocities if the
                       scene has an inflow or an outflow
    /NAME/solids/…     Mesh each, moving ones with a transform a frame
    /NAME/bodies/…     Xform over one mesh
    /NAME/camera       as the preview looks

One time code is one frame of the run; metres, y up. Velocities are in metres a second, as programs expect for motion
blur.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.optional import need
from ...core.show import WATER
from .frame import Frame, in_space
from .mesh import TriangleMesh, bounds
from .shot import RunSolid, Shot

#: frames between two writings of the file, so that memory does not grow with the run
FLUSH = 16
#: focal length over width of the film
_FILM = 36.0


def require() -> None:
    """Refuse at once, in one sentence, if usd-core is not installed."""
    need("usd", "pxr")


def write(
    path: str | Path,
    shot: Shot,
    numbers: Sequence[int],
    frame: Callable[[int], tuple[Frame, TriangleMesh]],
    particles: bool = True,
) -> None:
    """Write frames of a run; `frame(number)` gives each with its mesh, and is called once for each, in order."""
    require()
    from pxr import Gf, Sdf, Tf, Usd, UsdGeom, Vt

    model = shot.scene.model
    try:
        stage = Usd.Stage.CreateNew(str(path))
        name = Tf.MakeValidIdentifier(shot.name)
        root = UsdGeom.Xform.Define(stage, f"/{name}")
        stage.SetDefaultPrim(root.GetPrim())
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(shot.fps)
        stage.SetFramesPerSecond(shot.fps)
        stage.SetStartTimeCode(float(numbers[0]))
        stage.SetEndTimeCode(float(numbers[-1]))
        stage.GetRootLayer().documentation = "written by nonstick"
        maker = _Maker(stage, f"/{name}", Gf, Sdf, UsdGeom, Vt)
        liquid = maker.mesh("liquid", None, shot.scene.model.camera.tint or WATER)
        maker.look(liquid, shot.scene.model.camera.tint or WATER)
        grains = maker.points("particles", shot) if particles else None
        moves = _group(maker, "solids", shot.walls) + _group(maker, "bodies", shot.bodies)
        maker.camera(shot)
        for done, number in enumerate(numbers):
            here, mesh = frame(number)
            maker.set_mesh(liquid, mesh, float(number))
            if grains is not None and here.count:
                maker.set_points(grains, here, float(number), bool(model.inflow or model.outflow))
            for op, solid in zip(moves, shot.solids):
                if solid.moves or done == 0:
                    when = float(number) if solid.moves else Usd.TimeCode.Default()
                    op.Set(_matrix(Gf, solid.place(here)), when)
            if done % FLUSH == FLUSH - 1:
                stage.Save()
        stage.Save()
    except Tf.ErrorException as error:
        raise OSError(f"usd-core cannot write it: {str(error).strip().splitlines()[0]}") from None


def frames(path: str | Path) -> list[int]:
    """The frames whose liquid a file has; none if there is no such file."""
    stage = _open(path)
    return [] if stage is None else [int(t) for t in _liquid(stage).GetPointsAttr().GetTimeSamples()]


def mesh_of(path: str | Path, number: int) -> TriangleMesh | None:
    """The liquid of one frame in a file that `write` wrote, bit for bit; None if it is not there."""
    stage = _open(path)
    if stage is None or float(number) not in _liquid(stage).GetPointsAttr().GetTimeSamples():
        return None
    prim, when = _liquid(stage), float(number)
    points, velocity = prim.GetPointsAttr().Get(when), prim.GetVelocitiesAttr().Get(when)
    faces = np.array(prim.GetFaceVertexIndicesAttr().Get(when), np.int32).reshape(-1, 3)
    mesh = TriangleMesh(np.array(points, np.float32).reshape(-1, 3), faces)
    return mesh if velocity is None else mesh.with_(velocity=np.array(velocity, np.float32).reshape(-1, 3))


def _open(path: str | Path) -> Any:
    """The stage of a file with liquid, or None."""
    from pxr import Tf, Usd

    if not Path(path).is_file():
        return None
    try:
        stage = Usd.Stage.Open(str(path))
    except Tf.ErrorException:
        return None
    return stage if stage.GetDefaultPrim() and _liquid(stage) else None


def _liquid(stage: Any) -> Any:
    from pxr import UsdGeom

    return UsdGeom.Mesh(stage.GetDefaultPrim().GetChild("liquid"))


def _group(maker: _Maker, group: str, solids: Sequence[RunSolid]) -> list[Any]:
    """Meshes of solids under one node, each with a transform to be set; the transforms."""
    from pxr import Tf, UsdGeom

    if not solids:
        return []
    UsdGeom.Scope.Define(maker.stage, f"{maker.root}/{group}")
    out, taken = [], set()
    for solid in solids:
        word = Tf.MakeValidIdentifier(solid.name)
        while word in taken:
            word += "_"
        taken.add(word)
        frame = UsdGeom.Xform.Define(maker.stage, f"{maker.root}/{group}/{word}")
        maker.look(maker.mesh(f"{group}/{word}/{word}", solid.mesh, solid.colour), solid.colour, 1.0)
        out.append(frame.AddTransformOp())
    return out


def _matrix(Gf, four: np.ndarray):
    """A matrix that acts on columns, as USD has it: for rows."""
    return Gf.Matrix4d(*four.T.ravel().tolist())


class _Maker:
    """Prims of one stage."""

    def __init__(self, stage, root: str, Gf, Sdf, UsdGeom, Vt):
        self.stage, self.root, self.Gf, self.Sdf, self.UsdGeom, self.Vt = stage, root, Gf, Sdf, UsdGeom, Vt

    def mesh(self, name: str, mesh: TriangleMesh | None, colour):
        prim = self.UsdGeom.Mesh.Define(self.stage, f"{self.root}/{name}")
        prim.CreateSubdivisionSchemeAttr(self.UsdGeom.Tokens.none)
        prim.CreateDoubleSidedAttr(True)
        prim.CreateDisplayColorAttr(self._vectors(np.array([colour])))
        prim.SetNormalsInterpolation(self.UsdGeom.Tokens.vertex)
        if mesh is not None:
            self.set_mesh(prim, mesh)
        return prim

    def set_mesh(self, prim, mesh: TriangleMesh, when: float | None = None) -> None:
        from pxr import Usd

        time = Usd.TimeCode.Default() if when is None else when
        ints = lambda a: self.Vt.IntArray.FromNumpy(np.ascontiguousarray(a, np.int32))  # noqa: E731
        prim.CreatePointsAttr().Set(self._vectors(mesh.vertices), time)
        prim.CreateFaceVertexCountsAttr().Set(ints(np.full(len(mesh.faces), 3, np.int32)), time)
        prim.CreateFaceVertexIndicesAttr().Set(ints(mesh.faces.ravel()), time)
        prim.CreateNormalsAttr().Set(self._vectors(mesh.normals()), time)
        if mesh.velocity is not None:
            prim.CreateVelocitiesAttr().Set(self._vectors(mesh.velocity), time)
        prim.CreateExtentAttr().Set(self._extent(mesh.vertices), time)

    def points(self, name: str, shot: Shot):
        prim = self.UsdGeom.Points.Define(self.stage, f"{self.root}/{name}")
        width = np.float32(shot.grid.dx / shot.scene.model.particles.per_axis)
        prim.CreateWidthsAttr(self.Vt.FloatArray([float(width)]))
        prim.SetWidthsInterpolation(self.UsdGeom.Tokens.constant)
        prim.CreatePurposeAttr(self.UsdGeom.Tokens.guide)  # there to attach things to; the mesh is what renders
        return prim

    def set_points(self, prim, frame: Frame, when: float, changing: bool) -> None:
        """Particles of a frame; with velocities if their number is `changing`. Else programs blur between frames."""
        # In the order of their ids, particles keep their places from frame to frame, and the ids take little room.
        order = frame.by_id
        x = in_space(frame.arrays["position"])
        prim.CreatePointsAttr().Set(self._vectors(x.take(order, axis=0)), when)
        prim.CreateIdsAttr().Set(self.Vt.Int64Array.FromNumpy(frame.ids.take(order).astype(np.int64)), when)
        velocity, thick = frame.get("velocity"), frame.get("viscosity")
        if velocity is not None and changing:
            prim.CreateVelocitiesAttr().Set(self._vectors(in_space(velocity).take(order, axis=0)), when)
        if thick is not None:
            api = self.UsdGeom.PrimvarsAPI(prim)
            var = api.CreatePrimvar("viscosity", self.Sdf.ValueTypeNames.FloatArray, self.UsdGeom.Tokens.vertex)
            var.Set(self.Vt.FloatArray.FromNumpy(thick.take(order).astype(np.float32, copy=False)), when)
        prim.CreateExtentAttr().Set(self._extent(x, 0.5 * float(prim.GetWidthsAttr().Get()[0])), when)

    def look(self, prim, colour, opacity: float = 0.35) -> None:
        """A plain material, so that viewers show something sensible at once."""
        from pxr import UsdShade

        path = f"{self.root}/looks/{prim.GetPath().pathString.replace(self.root, '').strip('/').replace('/', '_')}"
        self.UsdGeom.Scope.Define(self.stage, f"{self.root}/looks")
        material = UsdShade.Material.Define(self.stage, path)
        shader = UsdShade.Shader.Define(self.stage, f"{path}/preview")
        shader.CreateIdAttr("UsdPreviewSurface")
        kinds = self.Sdf.ValueTypeNames
        clear = opacity < 1.0
        shader.CreateInput("diffuseColor", kinds.Color3f).Set(self.Gf.Vec3f(*map(float, colour)))
        shader.CreateInput("roughness", kinds.Float).Set(0.02 if clear else 0.5)
        shader.CreateInput("opacity", kinds.Float).Set(opacity)
        shader.CreateInput("ior", kinds.Float).Set(1.33 if clear else 1.5)
        material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        UsdShade.MaterialBindingAPI.Apply(prim.GetPrim()).Bind(material)

    def camera(self, shot: Shot) -> None:
        """Looks at the domain from the side the preview looks from."""
        setting = shot.scene.model.camera
        size = np.zeros(3)
        size[: shot.dimension] = shot.grid.size
        flat = shot.dimension == 2
        turn, tilt = (0.0, 0.0) if flat else np.radians([setting.azimuth, setting.elevation])
        back = np.array([np.sin(turn) * np.cos(tilt), np.sin(tilt), np.cos(turn) * np.cos(tilt)])
        right = np.array([np.cos(turn), 0.0, -np.sin(turn)])
        distance = 2.2 * float(np.linalg.norm(size))
        four = np.eye(4)
        four[:3, :3] = np.stack([right, np.cross(back, right), back], axis=1)
        four[:3, 3] = 0.5 * size + distance * back
        camera = self.UsdGeom.Camera.Define(self.stage, f"{self.root}/camera")
        camera.AddTransformOp().Set(_matrix(self.Gf, four))
        camera.CreateFocalLengthAttr(float(_FILM * 2.2 / 1.08 * setting.zoom))
        camera.CreateHorizontalApertureAttr(_FILM)
        camera.CreateVerticalApertureAttr(_FILM * setting.height / setting.width)
        camera.CreateClippingRangeAttr(self.Gf.Vec2f(0.01 * distance, 10 * distance))

    def _vectors(self, values: np.ndarray):
        return self.Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values, np.float32).reshape(-1, 3))

    def _extent(self, points: np.ndarray, more: float = 0.0):
        if not len(points):
            return self._vectors(np.zeros((2, 3)))
        low, high = bounds(points)
        return self._vectors(np.array([low - more, high + more]))
