"""OpenVDB files (`.vdb`), written here; there is no OpenVDB package to install from the index.

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
from hashlib import sha256
from pathlib import Path

import numpy as np

from ...kernels import merged, serial

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
    out[tag : tag + 36] = str(uuid.UUID(bytes=sha256(out).digest()[:16])).encode("ascii")
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
    items: dict = {
        "name": grid.name,
        "is_saved_as_half_float": False,
        "file_voxel_count": tree.voxels,
        "file_compression": "active values",
        "value_type": "vec3s" if grid.vector else "float",
    }
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
        blocks = -(-(corner + grid.values.shape[:3]) // LEAF) - first
        self._values = grid.values.astype(np.float32, copy=False).reshape(*grid.values.shape[:3], self.width)
        self._active = np.ascontiguousarray(grid.active).view(np.uint8)
        inside = np.zeros_like(self._active) if grid.inside is None else np.ascontiguousarray(grid.inside)
        self._inside = inside.view(np.uint8)
        self._before = corner - LEAF * first
        count, wet = np.zeros(blocks, np.int32), np.zeros(blocks, np.int32)
        _count_leaves(count, wet, self._active, self._inside, self._before)
        places = np.argwhere(count > 0)
        #: leaf positions in units of leaves, in the order of the file; leaves that are wholly inside become one entry
        #: of the node above them
        self.index = places + first
        self.full = np.argwhere((count == 0) & (wet == LEAF**3)) + first
        upper, lower, leaf = _places(self.index)
        order = np.lexsort((leaf, lower, *upper.T[::-1]))
        self.index, self._leaves = self.index[order], places[order]
        self._counts = count[tuple(self._leaves.T)]
        self.masks = np.zeros((len(order), LEAF**3 // 8), np.uint8)
        low, high = np.full(3, np.iinfo(np.int64).max), np.full(3, np.iinfo(np.int64).min)
        _leaf_masks(self.masks, low, high, self._active, self._leaves, self._before)
        self.voxels = int(self._counts.sum())
        self.low, self.high = (tuple(int(v) for v in end + corner) for end in (low, high))

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

    def buffers(self) -> memoryview:
        """Of every leaf: its mask, what its inactive voxels are, and the values of the active ones."""
        most = len(self.masks) * (2 * LEAF**3 // 8 + 1) + 4 * self.width * self.voxels
        out = np.empty(most, np.uint8)
        voxels = self._values, self._active, self._inside
        end = _leaf_buffers(out, self.masks, *voxels, self._leaves, self._before)
        return out[:end].data

    def _value(self, sign: float) -> bytes:
        return np.full(self.width, sign * self.background, "<f4").tobytes()


def _places(leaf: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of leaves: the upper node, the lower node's entry in it, and the leaf's entry in the lower node."""
    low, up = LOWER // LEAF, UPPER // LEAF
    upper = leaf // up
    x, y, z = ((leaf // low) % (up // low)).T
    a, b, c = (leaf % low).T
    return upper, (x * 32 + y) * 32 + z, (a * 16 + b) * 16 + c


@merged
def _voxels(leaf, before, n):
    """The voxels of a leaf along an axis with n of them: first, and one past the last."""
    first = LEAF * leaf - before
    return max(first, 0), min(first + LEAF, n)


@serial
def _count_leaves(count, inside, active, wet, before):
    """Of every leaf: how many of its voxels are active, and inside; zero on entry."""
    nx, ny, nz = active.shape
    for i in range(nx):
        for j in range(ny):
            a, b = (i + before[0]) // LEAF, (j + before[1]) // LEAF
            for c in range(count.shape[2]):
                k0, k1 = _voxels(c, before[2], nz)
                some, under = 0, 0
                for k in range(k0, k1):
                    some += active[i, j, k]
                    under += wet[i, j, k]
                count[a, b, c] += some
                inside[a, b, c] += under


@serial
def _leaf_masks(out, low, high, active, leaves, before):
    """Bits of the active voxels of leaves, zero on entry, and the first and last active voxel along every axis."""
    nx, ny, nz = active.shape
    for n in range(len(leaves)):
        i0, i1 = _voxels(leaves[n, 0], before[0], nx)
        j0, j1 = _voxels(leaves[n, 1], before[1], ny)
        k0, k1 = _voxels(leaves[n, 2], before[2], nz)
        for i in range(i0, i1):
            for j in range(j0, j1):
                bits = 0
                for k in range(k0, k1):
                    bits |= active[i, j, k] << (k + before[2]) % LEAF
                    if active[i, j, k]:
                        low[2], high[2] = min(low[2], k), max(high[2], k)
                out[n, (i + before[0]) % LEAF * LEAF + (j + before[1]) % LEAF] = bits
                if bits:
                    low[0], high[0] = min(low[0], i), max(high[0], i)
                    low[1], high[1] = min(low[1], j), max(high[1], j)


@serial
def _leaf_buffers(out, masks, values, active, inside, leaves, before):
    """All buffers one after the other; returns where they end."""
    nx, ny, nz = active.shape
    size, width, end = masks.shape[1], values.shape[3], 0
    outside, room = np.empty(size, np.uint8), np.empty(LEAF**3 * width, np.float32)
    as_bytes = room.view(np.uint8)
    for n in range(len(leaves)):
        i0, i1 = _voxels(leaves[n, 0], before[0], nx)
        j0, j1 = _voxels(leaves[n, 1], before[1], ny)
        k0, k1 = _voxels(leaves[n, 2], before[2], nz)
        outside[:] = 255
        q, wet, whole = 0, 0, (i1 - i0) * (j1 - j0) * (k1 - k0) == LEAF**3
        for i in range(i0, i1):
            for j in range(j0, j1):
                bits = 0
                for k in range(k0, k1):
                    bits |= inside[i, j, k] << (k + before[2]) % LEAF
                    if active[i, j, k]:
                        for a in range(width):
                            room[q] = values[i, j, k, a]
                            q += 1
                    else:
                        wet += inside[i, j, k]
                        whole = whole and inside[i, j, k] != 0
                outside[(i + before[0]) % LEAF * LEAF + (j + before[1]) % LEAF] = 255 - bits
        out[end : end + size] = masks[n]
        out[end + size] = _BACKGROUND if wet == 0 else (_MINUS if whole else _MASK)
        end += size + 1
        if wet and not whole:
            out[end : end + size] = outside
            end += size
        out[end : end + 4 * q] = as_bytes[: 4 * q]
        end += 4 * q
    return end
