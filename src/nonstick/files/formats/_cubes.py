"""Marching cubes: the surface φ = 0 as a closed mesh, row by row.

The samples at the corners of a cube are inside (φ < 0) or outside. On a face of the cube the surface is one line, or
two if the signs alternate around the face. Which two is decided by the value at the saddle of the face (the asymptotic
decider: Nielson & Hamann 1991), so that both cubes at a face agree and the mesh is closed. The lines close to loops,
and loops are cut into triangles. No cut joins two points of the same face: the next cube could make the same cut, and
four triangles would share it. The few loops where every way has such a cut get a point in their middle.

Vertices and triangles are counted for every row of samples first, so that all rows know where theirs begin and can be
written at the same time, without a search for common vertices (as in Flying Edges: Schroeder, Maynard & Geveci 2015).
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from ...kernels import merged, parallel, prange

#: corners of a cube as bits: 4 x + 2 y + z
CORNERS = list(product((0, 1), repeat=3))
#: edges: axis and first corner
EDGES = [(axis, corner) for axis in range(3) for corner in CORNERS if corner[axis] == 0]
#: the point in the middle of a loop, after all edges
MIDDLE = len(EDGES)


class CubeTable(NamedTuple):
    """Triangles for all signs at the corners of a cube.

    `first[signs]` is the entry of a cube whose ambiguous faces are all cut so that liquid is separate. The k-th face of
    `faces[signs]` (-1: no more) adds 2ᵏ if liquid is joined there. `begin[entry]` is the first of its `triangles`,
    three edges each, where MIDDLE is the middle of the loop. `middle[entry]` says whether it has one.
    """

    first: np.ndarray
    faces: np.ndarray
    begin: np.ndarray
    triangles: np.ndarray
    middle: np.ndarray


def _around(axis: int, side: int) -> list[tuple[int, ...]]:
    """Corners of a face, counterclockwise seen from outside the cube."""
    u, v = [a for a in range(3) if a != axis]
    if (axis == 1) == bool(side):  # (u, v, axis) is right-handed except for y
        u, v = v, u
    out = []
    for p, q in ((0, 0), (1, 0), (1, 1), (0, 1)):
        corner = [0, 0, 0]
        corner[axis], corner[u], corner[v] = side, p, q
        out.append(tuple(corner))
    return out


#: faces as corners in order
FACES = [_around(axis, side) for axis in range(3) for side in (0, 1)]


def _edge(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    axis = next(k for k in range(3) if a[k] != b[k])
    return EDGES.index((axis, min(a, b)))


def _loops(inside: list[bool], joined: set[int]) -> list[list[int]]:
    """Closed loops of cut edges; liquid is joined across the ambiguous faces in `joined`."""
    after = {}
    for number, corners in enumerate(FACES):
        wet = [inside[CORNERS.index(c)] for c in corners]
        edges = [_edge(corners[k], corners[(k + 1) % 4]) for k in range(4)]
        enter = [k for k in range(4) if not wet[k] and wet[(k + 1) % 4]]
        leave = [k for k in range(4) if wet[k] and not wet[(k + 1) % 4]]
        for k in enter:  # a line goes from where liquid begins to where it ends, with liquid on one side of it
            ahead = sorted(leave, key=lambda q: (q - k) % 4)
            after[edges[k]] = edges[ahead[-1 if number in joined else 0]]
    out = []
    while after:
        start, edge = next(iter(after.items()))
        loop = [start]
        del after[start]
        while edge != start:
            loop.append(edge)
            edge = after.pop(edge)
        out.append(loop)
    return out


def _faces_of(edge: int) -> set[int]:
    axis, corner = EDGES[edge]
    other = tuple(c + (k == axis) for k, c in enumerate(corner))
    return {n for n, corners in enumerate(FACES) if corner in corners and other in corners}


def _cut(loop: list[int]) -> list[list[int]] | None:
    """A loop as triangles without a cut between two points of the same face; None if there is no such way."""
    if len(loop) == 3:
        return [loop]
    for k in range(1, len(loop) - 1):  # the triangle on the side from the last point to the first
        rest = []
        for part in (loop[: k + 1], loop[k:]):
            if len(part) == 2:
                continue
            if _faces_of(part[0]) & _faces_of(part[-1]):
                break
            done = _cut(part)
            if done is None:
                break
            rest += done
        else:
            return [[loop[0], loop[k], loop[-1]], *rest]
    return None


@cache
def table() -> CubeTable:
    """The triangles of all cubes."""
    first, faces = np.zeros(256, np.int32), np.full((256, 6), -1, np.int8)
    begin: list[int] = [0]
    triangles: list[list[int]] = []
    for signs in range(256):
        inside = [bool(signs >> c & 1) for c in range(8)]
        unclear = []
        for number, corners in enumerate(FACES):
            wet = [inside[CORNERS.index(c)] for c in corners]
            if wet[0] == wet[2] and wet[1] == wet[3] and wet[0] != wet[1]:
                unclear.append(number)
        first[signs] = len(begin) - 1
        faces[signs, : len(unclear)] = unclear
        for choice in range(2 ** len(unclear)):
            for loop in _loops(inside, {f for k, f in enumerate(unclear) if choice >> k & 1}):
                # a cube has at most one loop of nine points or more, and no shorter one needs a middle
                fan = [[a, b, MIDDLE] for a, b in zip(loop, loop[1:] + loop[:1])]
                triangles += _cut(loop) or fan
            begin.append(len(triangles))
    middle = [any(MIDDLE in t for t in triangles[a:b]) for a, b in pairwise(begin)]
    return CubeTable(first, faces, np.array(begin, np.int32), np.array(triangles, np.int8), np.array(middle))


#: of every face the corners 0, 1, 2, 3 around it, as bits of a cube
FACE_CORNERS = np.array([[4 * a + 2 * b + c for a, b, c in corners] for corners in FACES], np.int8)
#: of every edge: axis, and the offset of its first corner
EDGE_PLACES = np.array([(axis, *corner) for axis, corner in EDGES], np.int8)
#: of all signs of a cube: bits of the edges x, y, z at its first corner that the surface cuts
FIRST_CUTS = np.array(
    [sum((n >> 4 // 2**axis & 1 != n & 1) << axis for axis in range(3)) for n in range(256)], np.int32
)
#: eight cubes that are all outside, or all inside
ALL_OUT, ALL_IN = np.uint64(0), np.uint64(2**64 - 1)


@merged
def _value(phi, tiny):
    """φ without zeros, which would give triangles without area."""
    return phi if abs(phi) >= tiny else (-tiny if phi < 0.0 else tiny)


@merged
def _signs(out, columns, phi, i, j):
    """Of a row of cubes: bits of their corners inside. Corners beyond the last sample are as the last one.

    `columns` is room for the bits of the four corners (x, y) at every height.
    """
    nx, ny, nz = phi.shape
    a, b = min(i + 1, nx - 1), min(j + 1, ny - 1)
    row, beside, behind, across = phi[i, j], phi[i, b], phi[a, j], phi[a, b]
    none, zero = np.float32(0.0), np.uint8(0)
    for k in range(nz):  # without branches, so that many are done at once
        low = np.uint8(1) if row[k] < none else zero
        low |= np.uint8(4) if beside[k] < none else zero
        high = np.uint8(16) if behind[k] < none else zero
        high |= np.uint8(64) if across[k] < none else zero
        columns[k] = low | high
    columns[nz] = columns[nz - 1]
    for k in range(nz):
        out[k] = columns[k] | columns[k + 1] << np.uint8(1)


@merged
def _corner(phi, tiny, i, j, k, c):
    return _value(phi[i + (c >> 2), j + (c >> 1 & 1), k + (c & 1)], tiny)


@merged
def _entry(phi, tiny, i, j, k, signs, first, faces, corners):
    """The entry of the table for a cube."""
    entry = first[signs]
    for n in range(6):
        face = faces[signs, n]
        if face < 0:
            break
        a = _corner(phi, tiny, i, j, k, corners[face, 0])
        # liquid is joined if φ is negative at the saddle
        one = a * _corner(phi, tiny, i, j, k, corners[face, 2])
        other = _corner(phi, tiny, i, j, k, corners[face, 1]) * _corner(phi, tiny, i, j, k, corners[face, 3])
        if (one > other) if a < 0.0 else (other > one):
            entry += 1 << n
    return entry


@parallel
def _count(cross, vertices, triangles, middles, phi, tiny, first, faces, begin, middle, corners, cuts):
    """Of every row [i, j]: its vertices, the triangles of the cubes that begin on it, and whether one has a middle.

    `cross` of a sample at the surface has four bits, for edges x, y, z that the surface cuts and for a cube with a
    vertex in its middle, and above them the number of vertices before it in its row. Other samples are not written.
    """
    nx, ny, nz = phi.shape
    for i in prange(nx):
        signs, columns = np.zeros((nz + 7) // 8 * 8, np.uint8), np.empty(nz + 1, np.uint8)
        words = signs.view(np.uint64)
        for j in range(ny):
            _signs(signs, columns, phi, i, j)
            points, faces_here, some = 0, 0, 0
            for word in range(len(words)):
                if words[word] == ALL_OUT or words[word] == ALL_IN:
                    continue
                for k in range(8 * word, min(8 * word + 8, nz)):
                    if signs[k] == 0 or signs[k] == 255:
                        continue
                    bits = cuts[signs[k]]
                    if i < nx - 1 and j < ny - 1 and k < nz - 1:
                        entry = _entry(phi, tiny, i, j, k, signs[k], first, faces, corners)
                        faces_here += begin[entry + 1] - begin[entry]
                        bits += 8 * middle[entry]
                    cross[i, j, k] = points << 4 | bits
                    points += _before(bits, 4)
                    some |= bits >> 3
            vertices[i, j], triangles[i, j], middles[i, j] = points, faces_here, some


@merged
def _before(bits, axis):
    """How many vertices of a sample come before that of an axis (3: that of the cube, 4: all)."""
    low = bits & ((1 << axis) - 1)
    return (low & 1) + (low >> 1 & 1) + (low >> 2 & 1) + (low >> 3)


@parallel
def _fill(x, mesh, cross, vertices, triangles, middles, phi, tiny, first, faces, begin, table, corners, edges):
    """Vertices (n, 3) in samples and triangles (m, 3); `vertices` and `triangles` of a row say where its own begin."""
    nx, ny, nz = phi.shape
    points, cubes = vertices.reshape(-1), triangles.reshape(-1)
    for i in prange(nx):
        signs, columns = np.zeros((nz + 7) // 8 * 8, np.uint8), np.empty(nz + 1, np.uint8)
        words = signs.view(np.uint64)
        for j in range(ny):
            line, n = i * ny + j, triangles[i, j]
            if points[line] == points[line + 1] and n == cubes[line + 1]:
                continue
            _signs(signs, columns, phi, i, j)
            for word in range(len(words)):
                if words[word] == ALL_OUT or words[word] == ALL_IN:
                    continue
                for k in range(8 * word, min(8 * word + 8, nz)):
                    if signs[k] == 0 or signs[k] == 255:
                        continue
                    own = np.int64(cross[i, j, k])
                    v, bits = vertices[i, j] + (own >> 4), own & 15
                    here = _value(phi[i, j, k], tiny)
                    for axis in range(3):
                        if bits >> axis & 1:
                            there = _value(phi[i + (axis == 0), j + (axis == 1), k + (axis == 2)], tiny)
                            t = here / (here - there)
                            x[v, 0] = i + (t if axis == 0 else np.float32(0.0))
                            x[v, 1] = j + (t if axis == 1 else np.float32(0.0))
                            x[v, 2] = k + (t if axis == 2 else np.float32(0.0))
                            v += 1
                    if i == nx - 1 or j == ny - 1 or k == nz - 1:
                        continue
                    entry = _entry(phi, tiny, i, j, k, signs[k], first, faces, corners)
                    for t in range(begin[entry], begin[entry + 1]):
                        for corner in range(3):
                            edge = table[t, corner]
                            if edge == MIDDLE:  # its place is the mean of others, which are not all known yet
                                mesh[n, corner], x[v, 0] = v, np.nan
                            else:
                                axis, a, b = edges[edge, 0], i + edges[edge, 1], j + edges[edge, 2]
                                there = np.int64(cross[a, b, k + edges[edge, 3]])
                                mesh[n, corner] = vertices[a, b] + (there >> 4) + _before(there & 15, axis)
                        n += 1
    for i in prange(nx - 1):
        for j in range(ny - 1):
            if middles[i, j]:
                _set_middles(x, mesh, triangles[i, j], triangles[i, j + 1])


@merged
def _set_middles(x, mesh, begin, end):
    """Vertices in the middle of cubes, not a number so far: means of their loops, of which a fan has each point twice.

    Their triangles, with the middle last, follow each other among those from `begin` to `end`.
    """
    while begin < end:
        own, n = mesh[begin, 2], begin
        if np.isnan(x[own, 0]):
            for axis in range(3):
                n, total = begin, 0.0
                while n < end and mesh[n, 2] == own:
                    total += x[mesh[n, 0], axis] + x[mesh[n, 1], axis]
                    n += 1
                x[own, axis] = total / (2 * (n - begin))
        begin = max(n, begin + 1)


def extract(phi: np.ndarray, tiny: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) in samples, float32, and triangles (m, 3), int32, of φ = 0; no |φ| counts as less than `tiny`."""
    tables, least = table(), np.float32(tiny)
    nx, ny, nz = phi.shape
    # a row has at most four vertices a sample, and their number is stored above four bits
    cross = np.empty(phi.shape, np.uint16 if nz < 1024 else np.int32)
    middles = np.empty((nx, ny), np.uint8)
    vertices, triangles = np.empty((nx, ny), np.int64), np.empty((nx, ny), np.int64)
    _count(cross, vertices, triangles, middles, phi, least, tables.first, tables.faces, tables.begin, tables.middle,
           FACE_CORNERS, FIRST_CUTS)  # fmt: skip
    starts = []
    for counts in (vertices, triangles):
        # a row more, so that the end of the last one can be asked for
        start = np.zeros((nx + 1, ny), np.int64)
        np.cumsum(counts.ravel(), out=start.ravel()[1 : counts.size + 1])
        start.ravel()[counts.size + 1 :] = start.ravel()[counts.size]
        starts.append(start)
    points, faces = (int(start.ravel()[-1]) for start in starts)
    x, mesh = np.empty((points, 3), np.float32), np.empty((faces, 3), np.int32)
    _fill(x, mesh, cross, *starts, middles, phi, least, tables.first, tables.faces, tables.begin, tables.triangles,
          FACE_CORNERS, EDGE_PLACES)  # fmt: skip
    return x, mesh
