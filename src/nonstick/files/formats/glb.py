"""glTF files (`.glb`, version 2.0): meshes with normals, and nodes that move; browsers and viewers show them.

glTF is in metres with y up, as a run is. The triangles of a liquid change from frame to frame, which glTF cannot
animate, so a file holds the liquid of one frame; rigid bodies keep their mesh, and their motion can be stored.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from .mesh import TriangleMesh
from .mesh import bounds as corners

_COMPONENTS = {"f4": 5126, "u4": 5125, "u2": 5123, "u1": 5121}
_VERTICES, _INDICES = 34962, 34963


@dataclass(frozen=True)
class GLBNode:
    """One node: a mesh, its colour (red, green, blue, opacity), and where it is at each time (4 × 4, on columns)."""

    name: str
    mesh: TriangleMesh
    colour: tuple[float, float, float, float] = (0.8, 0.8, 0.8, 1.0)
    places: Sequence[np.ndarray] = ()
    roughness: float = 0.6


def write(path: str | Path, parts: Sequence[GLBNode], times: Sequence[float] = ()) -> None:
    """Write parts; those with several places move through them at the given times in seconds.

    Examples
    --------
    >>> import tempfile
    >>> triangle = TriangleMesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]]))
    >>> write(tempfile.mktemp(suffix=".glb"), [GLBNode("body", triangle, places=[np.eye(4), np.eye(4)])], [0.0, 1.0])
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
    with open(path, "wb") as stream:
        file.save(stream)


def pack(name: str, mesh: TriangleMesh, roughness: float = 0.6) -> bytes:
    """A small file with one mesh, for pages in a browser: places in 16 bits, colours in 8, no normals.

    Numbers of 16 bits are an extension (KHR_mesh_quantization) that three.js reads and some programs do not.

    >>> len(pack("body", TriangleMesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]])))) < 1000
    True
    """
    file = _File()
    file.add_small(name, mesh, roughness)
    stream = io.BytesIO()
    file.save(stream)
    return stream.getvalue()


class _File:
    """The JSON of a file and its binary part."""

    def __init__(self) -> None:
        self.parts: list[bytes | memoryview] = []
        self.length = 0
        self.json: dict = {
            "asset": {"version": "2.0", "generator": "nonstick"},
            "scene": 0,
            "scenes": [{"nodes": []}],
            "nodes": [],
            "meshes": [],
            "materials": [],
            "accessors": [],
            "bufferViews": [],
        }

    def add(self, array: np.ndarray, kind: str, target: int | None = None, bounds: bool = False) -> int:
        """Append an array; returns the number of its accessor."""
        array = np.ascontiguousarray(array)
        view: dict = {"buffer": 0, "byteOffset": self.length, "byteLength": array.nbytes}
        if target is not None:
            view["target"] = target
        gap = -array.nbytes % 4  # every array begins at a multiple of four
        self.parts += [array.reshape(-1).view(np.uint8).data, bytes(gap)]
        self.length += array.nbytes + gap
        self.json["bufferViews"].append(view)
        accessor: dict = {
            "bufferView": len(self.json["bufferViews"]) - 1,
            "type": kind,
            "count": len(array),
            "componentType": _COMPONENTS[array.dtype.str[1:]],
        }
        if bounds:
            low, high = corners(array.reshape(len(array), -1))
            accessor |= {"min": low.tolist(), "max": high.tolist()}
        self.json["accessors"].append(accessor)
        return len(self.json["accessors"]) - 1

    def add_part(self, part: GLBNode) -> int:
        """A mesh, its material and its node; returns the number of the node."""
        mesh = part.mesh
        attributes = {
            "POSITION": self.add(mesh.vertices.astype("<f4", copy=False), "VEC3", _VERTICES, bounds=True),
            "NORMAL": self.add(mesh.normals().astype("<f4", copy=False), "VEC3", _VERTICES),
        }
        if mesh.velocity is not None:  # names that begin with _ are free for uses of one's own
            attributes["_VELOCITY"] = self.add(mesh.velocity.astype("<f4", copy=False), "VEC3", _VERTICES)
        if mesh.colour is not None:
            attributes["COLOR_0"] = self.add((mesh.colour / 255.0).astype("<f4"), "VEC3", _VERTICES)
        faces = self.add(mesh.faces.astype("<u4").ravel(), "SCALAR", _INDICES)
        node: dict = {}
        if len(part.places):
            place = part.places[0]
            node = {"translation": place[:3, 3].tolist(), "rotation": quaternion(place[:3, :3]).tolist()}
        return self._add_node(part.name, attributes, faces, part.colour, part.roughness, node)

    def add_small(self, name: str, mesh: TriangleMesh, roughness: float) -> int:
        """A mesh with places in 16 bits, as parts of its longest side, and colours in 8 bits."""
        self.json |= {key: ["KHR_mesh_quantization"] for key in ("extensionsUsed", "extensionsRequired")}
        low, high = corners(mesh.vertices)
        size = max(float((high - low).max()), 1e-9)
        place = np.zeros((len(mesh.vertices), 4), "<u2")  # four, because a vertex begins at a multiple of four bytes
        place[:, :3] = np.round((mesh.vertices - low) * (65535.0 / size))
        attributes = {"POSITION": self._add_padded(place)}
        self.json["accessors"][attributes["POSITION"]] |= {
            "min": place[:, :3].min(axis=0).tolist(),
            "max": place[:, :3].max(axis=0).tolist(),
        }
        if mesh.colour is not None:
            colour = np.zeros((len(mesh.vertices), 4), "u1")
            # colours of vertices are linear in glTF, those of pictures are not
            colour[:, :3] = np.round(255.0 * (mesh.colour / 255.0) ** 2.2)
            attributes["COLOR_0"] = self._add_padded(colour)
        index = "<u2" if len(mesh.vertices) < 65535 else "<u4"
        faces = self.add(mesh.faces.astype(index).ravel(), "SCALAR", _INDICES)
        node = {"translation": low.tolist(), "scale": [size] * 3}
        return self._add_node(name, attributes, faces, (1.0, 1.0, 1.0, 1.0), roughness, node)

    def _add_padded(self, array: np.ndarray) -> int:
        """Vectors of three fractions of the largest number of their type; a fourth column fills the gap."""
        number = self.add(array, "VEC3", _VERTICES)
        self.json["accessors"][number]["normalized"] = True
        self.json["bufferViews"][-1]["byteStride"] = array.itemsize * 4
        return number

    def _add_node(
        self, name: str, attributes: dict, faces: int, colour: Sequence[float], roughness: float, node: dict
    ) -> int:
        """A mesh, its material and its node from arrays that are there; returns the number of the node."""
        j = self.json
        material: dict = {
            "name": name,
            "doubleSided": True,
            "pbrMetallicRoughness": {
                "baseColorFactor": list(colour),
                "metallicFactor": 0.0,
                "roughnessFactor": roughness,
            },
        }
        if colour[3] < 1.0:
            material["alphaMode"] = "BLEND"
        j["materials"].append(material)
        j["meshes"].append(
            {
                "name": name,
                "primitives": [{"attributes": attributes, "material": len(j["materials"]) - 1, "indices": faces}],
            }
        )
        j["nodes"].append({"name": name, "mesh": len(j["meshes"]) - 1, **node})
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

    def save(self, stream: IO[bytes]) -> None:
        self.json["buffers"] = [{"byteLength": self.length}]
        if not self.length:  # lists that are empty are not allowed
            self.json = {k: v for k, v in self.json.items() if k in ("asset", "scene")} | {"scenes": [{}]}
        text = json.dumps(self.json, separators=(",", ":")).encode("utf-8")
        text += b" " * (-len(text) % 4)
        total = 20 + len(text) + (8 + self.length if self.length else 0)
        stream.write(struct.pack("<III", 0x46546C67, 2, total))
        stream.write(struct.pack("<II", len(text), 0x4E4F534A) + text)
        if self.length:
            stream.write(struct.pack("<II", self.length, 0x004E4942))
            stream.writelines(self.parts)


def quaternion(R: np.ndarray) -> np.ndarray:
    """The unit quaternion x y z w of a rotation matrix."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(R).as_quat()
