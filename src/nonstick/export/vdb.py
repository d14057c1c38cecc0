"""OpenVDB files (`.vdb`), written with NumPy alone; there is no OpenVDB package to install from the index.

A file is a header, then every grid: its metadata, its transform, its topology and its values. A grid is a tree of
three levels below a root, with 32³, 16³ and 8³ entries a node: a leaf is 8³ voxels, a node above it 128³, the one above
that 4096³. Masks are bit fields, least bit first, over entries in C order. Values are stored with "active mask"
compression: only active voxels are written, and a byte says what the inactive ones are: the background, minus the
background, or a mask of both.

The format is that of file version 224, which OpenVDB has written since version 5 (2017); OpenVDB 3 and later read it.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import md5
from pathlib import Path

import numpy as np

MAGIC = 0x56444220
FILE_VERSION = 224
#: the version of OpenVDB whose format this is
LIBRARY = (10, 0)
ACTIVE_MASK = 2
#: entries a side of a leaf, and voxels a side of the nodes above
LEAF, LOWER, UPPER = 8, 128, 4096

#: what a byte before the values says about the inactive ones
_BACKGROUND, _MINUS, _MASK = 0, 1, 3


@dataclass(frozen=True)
class VDBGrid:
    """A grid for `write`: a dense box of values, of which those in `active` count.

    Parameters
    ----------
    name : str
        As other programs show it.
    values : array
        `[i, j, k]`, or `[i, j, k, 3]` for vectors; stored as float32.
    active : array of bool
        Which voxels are stored with their value.
    background : float
        The value everywhere else. In a level set inactive voxels of `inside` have minus this value.
    inside : array of bool, optional
        Voxels that are inside a level set.
    voxel, origin : float, three floats
        Width of a voxel, and where the centre of the voxel with index (0, 0, 0) is, in metres.
    corner : three ints
        Index of the first voxel of `values`.
    kind : str
        Class of the grid: "level set", "fog volume", "staggered", or "" for none.
    metadata : mapping of str to str
        More about the grid.
    """

    name: str
    values: np.ndarray
    active: np.ndarray
    background: float = 0.0
    inside: np.ndarray | None = None
    voxel: float = 1.0
    origin: Sequence[float] = (0.0, 0.0, 0.0)
    corner: Sequence[int] = (0, 0, 0)
    kind: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def vector(self) -> bool:
        return self.values.ndim == 4


def write(path: str | Path, grids: Sequence[VDBGrid], metadata: Mapping[str, str] | None = None) -> None:
    """Write grids into one file.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> x = np.arange(-4.0, 5.0)
    >>> phi = np.sqrt(x[:, None, None] ** 2 + x[None, :, None] ** 2 + x**2) - 3.0
    >>> ball = VDBGrid("surface", phi, abs(phi) < 1.5, 1.5, phi < 0, kind="level set")
    >>> write(tempfile.mktemp(suffix=".vdb"), [ball])
    """
    out = bytearray()
    out += struct.pack("<qIIIB", MAGIC, FILE_VERSION, *LIBRARY, 1)
    tag = len(out)
    out += bytes(36)
    out += _metadata({"creator": "nonstick", **(metadata or {})})
    out += struct.pack("<i", len(grids))
    for grid in grids:
        out += _string(grid.name)
        out += _string("Tree_vec3s_5_4_3" if grid.vector else "Tree_float_5_4_3")
        out += _string("")  # no grid whose tree is shared
        where = len(out)
        out += bytes(24)
        start = len(out)
        tree = _Tree(grid)
        out += struct.pack("<I", ACTIVE_MASK)
        out += _grid_metadata(grid, tree)
        out += _transform(grid)
        out += tree.topology()
        buffers = len(out)
        out += tree.buffers()
        out[where : where + 24] = struct.pack("<qqq", start, buffers, len(out))
    # the tag of a file is made from what it holds, so that equal grids give equal bytes
    out[tag : tag + 36] = str(uuid.UUID(bytes=md5(out, usedforsecurity=False).digest())).encode("ascii")
    Path(path).write_bytes(out)


# -- header parts -----------------------------------------------------------------------------------------


def _string(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<I", len(data)) + data


def _metadata(items: Mapping[str, str | int | bool | tuple[int, ...]]) -> bytes:
    out = struct.pack("<I", len(items))
    for name, value in items.items():
        if isinstance(value, bool):
            kind, data = "bool", struct.pack("<?", value)
        elif isinstance(value, int):
            kind, data = "int64", struct.pack("<q", value)
        elif isinstance(value, tuple):
            kind, data = "vec3i", struct.pack("<3i", *value)
        else:
            kind, data = "string", str(value).encode("utf-8")
        out += _string(name) + _string(kind) + struct.pack("<I", len(data)) + data
    return out


def _grid_metadata(grid: VDBGrid, tree: _Tree) -> bytes:
    items: dict = {"name": grid.name, "is_saved_as_half_float": False, "file_voxel_count": tree.voxels,
                   "file_compression": "active values", "value_type": "vec3s" if grid.vector else "float"}  # fmt: skip
    if tree.voxels:
        items |= {"file_bbox_min": tree.low, "file_bbox_max": tree.high}
    if grid.kind:
        items["class"] = grid.kind
    if grid.vector:
        items["vector_type"] = "contravariant relative"  # a velocity: turned and scaled with the grid
    return _metadata(items | dict(grid.metadata))


def _transform(grid: VDBGrid) -> bytes:
    """Index to metres: one scale for all axes and a shift, with the numbers OpenVDB derives from the scale."""
    s = float(grid.voxel)
    parts = [list(grid.origin)] + [[v] * 3 for v in (s, s, 1 / s, 1 / s**2, 0.5 / s)]
    return _string("UniformScaleTranslateMap") + struct.pack("<18d", *(v for part in parts for v in part))


# -- the tree ---------------------------------------------------------------------------------------------


class _Tree:
    """A dense box cut into leaves, and the nodes above them."""

    def __init__(self, grid: VDBGrid):
        self.background = np.float32(grid.background)
        self.width = 3 if grid.vector else 1
        corner = np.array(grid.corner, np.int64)
        first = corner // LEAF
        shape = np.array(grid.values.shape[:3])
        blocks = -(-(corner + shape) // LEAF) - first
        before = corner - LEAF * first
        after = LEAF * blocks - before - shape
        pad = [(int(a), int(b)) for a, b in zip(before, after)]
        active = _leaves(np.pad(grid.active, pad), blocks)
        keep = active.any(axis=1)
        index = np.argwhere(np.ones(blocks, bool)) + first
        inside = np.zeros_like(active) if grid.inside is None else _leaves(np.pad(grid.inside, pad), blocks)
        #: leaf positions in units of leaves, in the order of blocks
        self.index, self.active, self.inside = index[keep], active[keep], inside[keep]
        #: leaves that are wholly inside become one entry of the node above them
        full = ~keep & inside.all(axis=1)
        self.full = index[full]
        values = grid.values.astype(np.float32, copy=False)
        values = np.pad(values, pad + [(0, 0)] * (values.ndim - 3))
        self.values = _leaves(values, blocks)[keep]
        self.voxels = int(self.active.sum())
        if self.voxels:
            where = np.argwhere(grid.active) + corner
            self.low, self.high = (tuple(int(v) for v in e) for e in (where.min(axis=0), where.max(axis=0)))
        self._sort()

    def _sort(self) -> None:
        """Leaves in the order of the file: by upper node, then by place in it, then by place in the lower node."""
        upper, lower, leaf = _places(self.index)
        order = np.lexsort((leaf, lower, *upper.T[::-1]))
        self.index, self.active, self.inside, self.values = (
            a[order] for a in (self.index, self.active, self.inside, self.values)
        )
        self.masks = np.packbits(self.active, axis=1, bitorder="little")

    def topology(self) -> bytes:
        parts = [struct.pack("<i", 1), self._value(1.0)]
        upper, lower, leaf = _places(self.index)
        f_upper, f_lower, f_leaf = _places(self.full)
        roots = np.unique(np.concatenate([upper, f_upper]), axis=0)
        parts.append(struct.pack("<II", 0, len(roots)))
        for root in roots:
            here, full = (upper == root).all(axis=1), (f_upper == root).all(axis=1)
            parts.append(struct.pack("<3i", *(int(v) * UPPER for v in root)))
            children = np.unique(np.concatenate([lower[here], f_lower[full]]))
            parts.append(self._node(32**3, children, np.empty(0, np.int64)))
            for child in children:
                leaves = np.flatnonzero(here & (lower == child))
                parts.append(self._node(16**3, leaf[leaves], f_leaf[full & (f_lower == child)]))
                parts.append(self.masks[leaves].tobytes())
        return b"".join(parts)

    def _node(self, size: int, children: np.ndarray, inside: np.ndarray) -> bytes:
        """Child mask, value mask (no entry is active), and the entries: background, or minus it where inside."""
        mask = np.zeros(size, bool)
        mask[children] = True
        out = np.packbits(mask, bitorder="little").tobytes() + bytes(size // 8)
        if not len(inside):
            return out + bytes([_BACKGROUND])
        outside = np.ones(size, bool)
        outside[inside] = False
        return out + bytes([_MASK]) + np.packbits(outside, bitorder="little").tobytes()

    def buffers(self) -> bytes:
        outside = np.packbits(~self.inside, axis=1, bitorder="little")
        idle = ~self.active
        some, every = (idle & self.inside).any(axis=1), ~(idle & ~self.inside).any(axis=1)
        counts = self.active.sum(axis=1)
        packed = self.values[self.active].tobytes()
        ends = np.concatenate([[0], np.cumsum(counts)]) * 4 * self.width
        parts = []
        for n in range(len(self.index)):
            parts.append(self.masks[n].tobytes())
            if not some[n]:
                parts.append(bytes([_BACKGROUND]))
            elif every[n]:
                parts.append(bytes([_MINUS]))
            else:
                parts.append(bytes([_MASK]) + outside[n].tobytes())
            parts.append(packed[ends[n] : ends[n + 1]])
        return b"".join(parts)

    def _value(self, sign: float) -> bytes:
        return np.full(self.width, sign * self.background, "<f4").tobytes()


def _leaves(box: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """A dense box as `[leaf, voxel(, component)]`, both in C order."""
    a, b, c = (int(n) for n in blocks)
    rest = box.shape[3:]
    cut = box.reshape(a, LEAF, b, LEAF, c, LEAF, *rest).transpose(0, 2, 4, 1, 3, 5, *range(6, 6 + len(rest)))
    return np.ascontiguousarray(cut).reshape(a * b * c, LEAF**3, *rest)


def _places(leaf: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of leaves: the upper node, the lower node's entry in it, and the leaf's entry in the lower node."""
    low, up = LOWER // LEAF, UPPER // LEAF
    upper = leaf // up
    x, y, z = ((leaf // low) % (up // low)).T
    a, b, c = (leaf % low).T
    return upper, (x * 32 + y) * 32 + z, (a * 16 + b) * 16 + c
