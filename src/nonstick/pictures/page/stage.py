"""A run in the scene of a page: one node for each frame and part, of which one frame is visible.

The nodes of a part lie under one parent (`/surface`, `/particles`, …), which switches the part on and off. Frames stay
in the browser as nodes that are not visible, so that going back and forth takes no time. Bodies and walls that move are
there once and change their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.show import AIR
from ...files.formats import TriangleMesh
from ...files.formats.frame import in_space
from ...files.formats.shot import RunSolid
from .artist import Artist, Picture

#: parts of a page that can be switched on and off, and whether they are on at first
PARTS = {"surface": True, "particles": False, "solids": True, "bodies": True, "domain": True}
#: distance between two runs side by side, in widths of a domain
GAP = 0.15
#: colour of the edges of the domain
GREY = (150, 155, 162)
#: angle of view from bottom to top in radians, width of a page by its height, and the air around what is seen
FOV, WIDTH, ROOM = 0.6, 1.2, 1.12


class RunStage:
    """One run in the scene of a page.

    Parameters
    ----------
    scene : viser.SceneApi
        The scene of the page.
    artist : Artist
        Draws the frames.
    root : str
        Name of the node above all nodes of the run; "" if there is one run.
    offset : float
        How far the run stands to the right, in metres.
    """

    def __init__(self, scene: Any, artist: Artist, root: str = "", offset: float = 0.0):
        self.scene, self.artist, self.root = scene, artist, root
        self.pictures: dict[int, Picture] = {}
        self.shown: int | None = None
        self._nodes: dict[int, list[Any]] = {}
        if root:
            scene.add_frame(root, show_axes=False, position=(offset, 0.0, 0.0))
        self.parts = {
            name: scene.add_frame(f"{root}/{name}", show_axes=False, visible=on)
            for name, on in PARTS.items()
            if self._has(name)
        }
        self._domain()
        self._solids = {k: self._add_solid(k, solid, mesh) for k, solid, mesh in artist.solids()}
        if root:
            size = artist.shot.grid.size
            scene.add_label(f"{root}/domain/name", root.strip("/"), position=(0.5 * size[0], 1.06 * size[1], 0.0))

    def _has(self, part: str) -> bool:
        shot = self.artist.shot
        if part == "particles":
            return bool(shot.scene.model.output.particles) and shot.scene.model.surface.track != "grid"
        return {"solids": bool(shot.walls), "bodies": bool(shot.bodies)}.get(part, True)

    # -- what stays -----------------------------------------------------------------------------------

    def _domain(self) -> None:
        """The edges of the domain."""
        size = in_space(np.array(self.artist.shot.grid.size, float))
        corners = np.array([[i >> a & 1 for a in range(3)] for i in range(8)])
        pairs = [(p, q) for p in range(8) for q in range(p) if bin(p ^ q).count("1") == 1]
        edges = np.unique(np.array([[corners[p] * size, corners[q] * size] for p, q in pairs]), axis=0)
        edges = edges[(edges[:, 0] != edges[:, 1]).any(axis=1)]  # a 2D domain has four edges
        self.scene.add_line_segments(
            f"{self.root}/domain/edges",
            edges.astype(np.float32),
            GREY,
            thickness=1.5,
            thickness_units="screen",
        )

    def _add_solid(self, k: int, solid: RunSolid, mesh: TriangleMesh) -> Any:
        shot = self.artist.shot
        flat, paint, behind, part = shot.dimension == 2, solid.colour, 0.0, f"solids/{k}"
        if solid.body is not None:
            part = f"bodies/{solid.body} {solid.name}"
        elif solid.container:
            # the inside of a 2D container lies behind the liquid
            paint, behind = AIR * (0.97 if flat else 0.92), -0.004 * max(shot.grid.size) if flat else 0.0
        return self.scene.add_mesh_simple(
            f"{self.root}/{part}",
            mesh.vertices,
            mesh.faces,
            color=tuple(int(255 * c) for c in paint),
            side="front" if solid.body is None and not flat else "double",
            position=tuple(in_space(solid.origin) + np.array([0.0, 0.0, behind])),
        )

    # -- frames ---------------------------------------------------------------------------------------

    def put(self, picture: Picture) -> None:
        """Add a frame, not visible yet."""
        self.drop(picture.number)
        name = f"{picture.number:06d}"
        nodes = []
        if picture.surface:
            nodes.append(self.scene.add_glb(f"{self.root}/surface/{name}", picture.surface, visible=False))
        if len(picture.points) and "particles" in self.parts:
            shot = self.artist.shot
            flat = shot.dimension == 2
            centre = self.artist.centre + np.array([0.0, 0.0, 0.25 * shot.grid.dx if flat else 0.0])
            nodes.append(
                self.scene.add_point_cloud(
                    f"{self.root}/particles/{name}",
                    picture.points,
                    picture.paint,
                    position=centre,
                    visible=False,
                    point_size=0.45 * shot.grid.dx,
                    point_shape="circle",
                )
            )
        self._nodes[picture.number], self.pictures[picture.number] = nodes, picture

    def drop(self, number: int) -> None:
        """Take a frame away."""
        for node in self._nodes.pop(number, []):
            node.remove()
        self.pictures.pop(number, None)
        if self.shown == number:
            self.shown = None

    def show(self, number: int) -> None:
        """Make a frame visible that was put, and the others not; a frame that was not put is an empty one."""
        if self.shown is not None and self.shown != number:
            for node in self._nodes.get(self.shown, []):
                node.visible = False
        self.shown = number
        if number not in self.pictures:
            return
        for node in self._nodes[number]:
            node.visible = True
        picture = self.pictures[number]
        for k, place in picture.places.items():
            if k in self._solids:
                self._solids[k].wxyz, self._solids[k].position = place.wxyz, place.position

    def switch(self, part: str, on: bool) -> None:
        """Show or hide a part."""
        if part in self.parts:
            self.parts[part].visible = on


def place_camera(camera: Any, stages: Sequence[RunStage], offset: float) -> None:
    """Put the first view where the movie of the run has it, or in front of 2D runs; it sees all runs."""
    shot = stages[0].artist.shot
    look = shot.scene.model.camera
    high = np.max([in_space(np.array(s.artist.shot.grid.size, float)) for s in stages], axis=0)
    high[0] += offset * (len(stages) - 1)
    turn, tilt = (np.radians(look.azimuth), np.radians(look.elevation)) if shot.dimension == 3 else (0.0, 0.0)
    turn /= len(stages)  # runs that stand side by side are seen more from the front
    back = np.array([np.sin(turn) * np.cos(tilt), np.sin(tilt), np.cos(turn) * np.cos(tilt)])
    right = np.array([np.cos(turn), 0.0, -np.sin(turn)])
    up = np.cross(back, right)
    corners = np.array([[i >> a & 1 for a in range(3)] for i in range(8)]) * high - 0.5 * high
    # a point p is in the picture if |p · up| and |p · right| are small enough, seen from the distance d - p · back
    tall = np.abs(corners @ up) / np.tan(0.5 * FOV) + corners @ back
    wide = np.abs(corners @ right) / (WIDTH * np.tan(0.5 * FOV)) + corners @ back
    far = ROOM * max(tall.max(), wide.max()) / look.zoom
    camera.look_at, camera.position = tuple(0.5 * high), tuple(0.5 * high + far * back)
    camera.up, camera.fov, camera.near, camera.far = (0.0, 1.0, 0.0), FOV, 0.01 * far, 100.0 * far


def stages(scene: Any, artists: Sequence[Artist], camera: Any) -> list[RunStage]:
    """Runs side by side in one scene, with one light and one camera."""
    scene.set_up_direction("+y")
    # viser's own lights make all colours pale; its room that is mirrored takes long without a graphics card
    scene.configure_default_lights(enabled=False)
    scene.configure_environment_map(None)
    scene.add_frame("/lights", show_axes=False)
    scene.add_light_hemisphere("/lights/sky", ground_color=(205, 205, 215), intensity=2.3)
    scene.add_light_directional("/lights/lamp", intensity=2.0, position=(-0.4, 1.0, 0.7))
    scene.add_light_directional("/lights/window", intensity=0.9, position=(0.9, 0.3, 0.5))
    offset = (1.0 + GAP) * max(a.shot.grid.size[0] for a in artists)
    names = [f"/{k} {a.shot.run.path.resolve().name}" if len(artists) > 1 else "" for k, a in enumerate(artists, 1)]
    out = [RunStage(scene, a, name, k * offset) for k, (a, name) in enumerate(zip(artists, names))]
    place_camera(camera, out, offset)
    return out
