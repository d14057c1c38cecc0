"""glTF files (`.glb`, version 2.0): meshes with normals, and nodes that move; browsers and viewers show them.

glTF is in metres with y up, as a run is. The triangles of a liquid change from frame to frame, which glTF cannot
animate, so a file holds the liquid of one frame; rigid bodies keep their mesh, and their motion can be stored.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .mesh import Mesh
from .mesh import bounds as corners

_FLOAT, _UINT, _VERTICES, _INDICES = 5126, 5125, 34962, 34963


@dataclass(frozen=True)
class Part:
    """One node: a mesh, its colour (red, green, blue, opacity), and where it is at each time (4 × 4, on columns)."""

    name: str
    mesh: Mesh
    colour: tuple[float, float, float, float] = (0.8, 0.8, 0.8, 1.0)
    places: Sequence[np.ndarray] = ()
    roughness: float = 0.6


def write(path: str | Path, parts: Sequence[Part], times: Sequence[float] = ()) -> None:
    """Write parts; those with several places move through them at the given times in seconds.

    Examples
    --------
    >>> import tempfile
    >>> triangle = Mesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]]))
    >>> write(tempfile.mktemp(suffix=".glb"), [Part("body", triangle, places=[np.eye(4), np.eye(4)])], [0.0, 1.0])
    """
    file = _File()
    clock = None
    for part in parts:
        if not len(part.mesh.faces):
            continue
        node = file.add_part(part)
        if len(part.places) > 1:
            if clock is None:
                clock = file.add(np.asarray(times, "<f4"), "SCALAR", bounds=True)
            file.animate(node, clock, part.places)
    file.save(path)


class _File:
    """The JSON of a file and its binary part."""

    def __init__(self) -> None:
        self.parts: list[bytes | memoryview] = []
        self.length = 0
        self.json: dict = {
            "asset": {"version": "2.0", "generator": "nonstick"}, "scene": 0, "scenes": [{"nodes": []}], "nodes": [],
            "meshes": [], "materials": [], "accessors": [], "bufferViews": [],
        }  # fmt: skip

    def add(self, array: np.ndarray, kind: str, target: int | None = None, bounds: bool = False) -> int:
        """Append an array; returns the number of its accessor."""
        array = np.ascontiguousarray(array)
        view: dict = {"buffer": 0, "byteOffset": self.length, "byteLength": array.nbytes}
        if target is not None:
            view["target"] = target
        # every array has four-byte numbers, so that the next one begins at a multiple of four
        self.parts.append(array.reshape(-1).view(np.uint8).data)
        self.length += array.nbytes
        self.json["bufferViews"].append(view)
        accessor: dict = {"bufferView": len(self.json["bufferViews"]) - 1, "type": kind, "count": len(array),
                          "componentType": _UINT if array.dtype.kind == "u" else _FLOAT}  # fmt: skip
        if bounds:
            low, high = corners(array.reshape(len(array), -1))
            accessor |= {"min": low.tolist(), "max": high.tolist()}
        self.json["accessors"].append(accessor)
        return len(self.json["accessors"]) - 1

    def add_part(self, part: Part) -> int:
        """A mesh, its material and its node; returns the number of the node."""
        mesh, j = part.mesh, self.json
        attributes = {
            "POSITION": self.add(mesh.vertices.astype("<f4", copy=False), "VEC3", _VERTICES, bounds=True),
            "NORMAL": self.add(mesh.normals().astype("<f4", copy=False), "VEC3", _VERTICES),
        }
        if mesh.velocity is not None:  # names that begin with _ are free for uses of one's own
            attributes["_VELOCITY"] = self.add(mesh.velocity.astype("<f4", copy=False), "VEC3", _VERTICES)
        if mesh.colour is not None:
            attributes["COLOR_0"] = self.add((mesh.colour / 255.0).astype("<f4"), "VEC3", _VERTICES)
        material: dict = {
            "name": part.name, "doubleSided": True,
            "pbrMetallicRoughness": {"baseColorFactor": list(part.colour), "metallicFactor": 0.0,
                                     "roughnessFactor": part.roughness},
        }  # fmt: skip
        if part.colour[3] < 1.0:
            material["alphaMode"] = "BLEND"
        j["materials"].append(material)
        j["meshes"].append({"name": part.name, "primitives": [{
            "attributes": attributes, "material": len(j["materials"]) - 1,
            "indices": self.add(mesh.faces.astype("<u4").ravel(), "SCALAR", _INDICES),
        }]})  # fmt: skip
        node: dict = {"name": part.name, "mesh": len(j["meshes"]) - 1}
        if len(part.places):
            place = part.places[0]
            node |= {"translation": place[:3, 3].tolist(), "rotation": quaternion(place[:3, :3]).tolist()}
        j["nodes"].append(node)
        j["scenes"][0]["nodes"].append(len(j["nodes"]) - 1)
        return len(j["nodes"]) - 1

    def animate(self, node: int, clock: int, places: Sequence[np.ndarray]) -> None:
        turns = np.array([quaternion(p[:3, :3]) for p in places])
        for k in range(1, len(turns)):  # q and -q are one rotation; the nearer one makes the shorter way
            if turns[k] @ turns[k - 1] < 0:
                turns[k] *= -1
        moves = np.array([p[:3, 3] for p in places])
        animation = self.json.setdefault("animations", [{"name": "motion", "samplers": [], "channels": []}])[0]
        for path, values, kind in (("translation", moves, "VEC3"), ("rotation", turns, "VEC4")):
            animation["samplers"].append(
                {"input": clock, "output": self.add(values.astype("<f4"), kind), "interpolation": "LINEAR"}
            )
            animation["channels"].append(
                {"sampler": len(animation["samplers"]) - 1, "target": {"node": node, "path": path}}
            )

    def save(self, path: str | Path) -> None:
        self.json["buffers"] = [{"byteLength": self.length}]
        if not self.length:  # lists that are empty are not allowed
            self.json = {k: v for k, v in self.json.items() if k in ("asset", "scene")} | {"scenes": [{}]}
        text = json.dumps(self.json, separators=(",", ":")).encode("utf-8")
        text += b" " * (-len(text) % 4)
        total = 20 + len(text) + (8 + self.length if self.length else 0)
        with open(path, "wb") as file:
            file.write(struct.pack("<III", 0x46546C67, 2, total))
            file.write(struct.pack("<II", len(text), 0x4E4F534A) + text)
            if self.length:
                file.write(struct.pack("<II", self.length, 0x004E4942))
                file.writelines(self.parts)


def quaternion(R: np.ndarray) -> np.ndarray:
    """The unit quaternion x y z w of a rotation matrix."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(R).as_quat()
