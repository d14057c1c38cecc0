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
from numba import prange

from ..kernels import inline, merged, parallel

#: corners of a cube as bits: 4 x + 2 y + z
CORNERS = list(product((0, 1), repeat=3))
#: edges: axis and first corner
EDGES = [(axis, corner) for axis in range(3) for corner in CORNERS if corner[axis] == 0]
#: the point in the middle of a loop, after all edges
MIDDLE = len(EDGES)


class Table(NamedTuple):
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
def table() -> Table:
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
    return Table(first, faces, np.array(begin, np.int32), np.array(triangles, np.int8), np.array(middle))


#: of every face the corners 0, 1, 2, 3 around it, as bits of a cube
FACE_CORNERS = np.array([[4 * a + 2 * b + c for a, b, c in corners] for corners in FACES], np.int8)
#: of every edge: axis, and the offset of its first corner
EDGE_PLACES = np.array([(axis, *corner) for axis, corner in EDGES], np.int8)


@inline
def _value(phi, tiny):
    """φ without zeros, which would give triangles without area."""
    return phi if abs(phi) >= tiny else (-tiny if phi < 0.0 else tiny)


@merged
def _signs(phi, i, j, k):
    """Bits of the four corners (x, y) of a column of cubes at height k, as corners of its lower side."""
    return (
        (phi[i, j, k] < 0.0) * 1
        + (phi[i, j + 1, k] < 0.0) * 4
        + (phi[i + 1, j, k] < 0.0) * 16
        + (phi[i + 1, j + 1, k] < 0.0) * 64
    )


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
def _count(cross, vertices, triangles, mixed, phi, tiny, first, faces, begin, middle, corners):
    """Of every row [i, j]: its vertices, and the triangles of the cubes that begin on it.

    Of every sample: bits for edges x, y, z that the surface cuts, and for a cube with a vertex in its middle. `mixed`
    of a row is 1 where all φ ≥ 0, 2 where all φ < 0, else 3.
    """
    nx, ny, nz = phi.shape
    for i in prange(nx):
        for j in range(ny):
            seen = 0
            for k in range(nz):
                seen |= 2 if phi[i, j, k] < 0.0 else 1
            mixed[i, j] = seen
    for i in prange(nx):
        for j in range(ny):
            a, b = min(i + 1, nx - 1), min(j + 1, ny - 1)
            points, faces_here = 0, 0
            if (mixed[i, j] | mixed[a, j] | mixed[i, b] | mixed[a, b]) == 3:
                for k in range(nz):
                    c = min(k + 1, nz - 1)
                    here = phi[i, j, k] < 0.0
                    bits = (
                        ((phi[a, j, k] < 0.0) != here) * 1
                        + ((phi[i, b, k] < 0.0) != here) * 2
                        + ((phi[i, j, c] < 0.0) != here) * 4
                    )
                    if i < nx - 1 and j < ny - 1 and k < nz - 1:
                        signs = _signs(phi, i, j, k) + 2 * _signs(phi, i, j, c)
                        if signs != 0 and signs != 255:
                            entry = _entry(phi, tiny, i, j, k, signs, first, faces, corners)
                            faces_here += begin[entry + 1] - begin[entry]
                            bits += 8 * middle[entry]
                    cross[i, j, k] = bits
                    points += (bits & 1) + (bits >> 1 & 1) + (bits >> 2 & 1) + (bits >> 3)
            vertices[i, j], triangles[i, j] = points, faces_here


@inline
def _before(bits, axis):
    """How many vertices of a sample come before that of an axis (3: that of the cube)."""
    low = bits & ((1 << axis) - 1)
    return (low & 1) + (low >> 1 & 1) + (low >> 2 & 1)


@parallel
def _fill(x, mesh, cross, vertices, triangles, phi, tiny, first, faces, begin, table, corners, edges):
    """Vertices (n, 3) in samples and triangles (m, 3); `vertices` and `triangles` of a row say where its own begin."""
    nx, ny, nz = phi.shape
    for i in prange(nx):
        for j in range(ny):
            v = vertices[i, j]
            some = vertices[i, j + 1] if j < ny - 1 else vertices[i + 1, 0]
            if v < some:
                for k in range(nz):
                    bits = cross[i, j, k]
                    if bits & 7:
                        here = _value(phi[i, j, k], tiny)
                        for axis in range(3):
                            if bits >> axis & 1:
                                there = _value(phi[i + (axis == 0), j + (axis == 1), k + (axis == 2)], tiny)
                                t = here / (here - there)
                                x[v, 0] = i + (t if axis == 0 else 0.0)
                                x[v, 1] = j + (t if axis == 1 else 0.0)
                                x[v, 2] = k + (t if axis == 2 else 0.0)
                                v += 1
                    v += bits >> 3
    for i in prange(nx - 1):
        at = np.empty(4, np.int64)  # the first vertex of the sample in the four rows around a cube
        for j in range(ny - 1):
            n = triangles[i, j]
            if n == triangles[i, j + 1]:
                continue
            for q in range(4):
                at[q] = vertices[i + (q >> 1), j + (q & 1)]
            low = _signs(phi, i, j, 0)
            for k in range(nz - 1):
                high = _signs(phi, i, j, k + 1)
                signs = low + 2 * high
                low = high
                if signs != 0 and signs != 255:
                    entry = _entry(phi, tiny, i, j, k, signs, first, faces, corners)
                    own = at[0] + _before(cross[i, j, k], 3)
                    parts = 0
                    for t in range(begin[entry], begin[entry + 1]):
                        for corner in range(3):
                            edge = table[t, corner]
                            if edge == MIDDLE:
                                mesh[n, corner] = own
                                parts += 1
                                continue
                            axis, a, b, c = edges[edge, 0], edges[edge, 1], edges[edge, 2], edges[edge, 3]
                            row = 2 * a + b
                            point = at[row]
                            if c:
                                bits = cross[i + a, j + b, k]
                                point += _before(bits, 3) + (bits >> 3)
                            mesh[n, corner] = point + _before(cross[i + a, j + b, k + c], axis)
                        n += 1
                    if parts:  # the middle: the mean of its loop, of which every point is in two triangles of the fan
                        for axis in range(3):
                            total = 0.0
                            for t in range(n - (begin[entry + 1] - begin[entry]), n):
                                if mesh[t, 2] == own:
                                    total += x[mesh[t, 0], axis] + x[mesh[t, 1], axis]
                            x[own, axis] = total / (2 * parts)
                for q in range(4):
                    bits = cross[i + (q >> 1), j + (q & 1), k]
                    at[q] += _before(bits, 3) + (bits >> 3)


def extract(phi: np.ndarray, tiny: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) in samples, float32, and triangles (m, 3), int32, of φ = 0; no |φ| counts as less than `tiny`."""
    tables, least = table(), np.float32(tiny)
    nx, ny, _ = phi.shape
    cross = np.zeros(phi.shape, np.uint8)
    vertices, triangles = np.empty((nx, ny), np.int64), np.empty((nx, ny), np.int64)
    _count(cross, vertices, triangles, np.empty((nx, ny), np.uint8), phi, least, tables.first, tables.faces,
           tables.begin, tables.middle, FACE_CORNERS)  # fmt: skip
    starts = []
    for counts in (vertices, triangles):
        # a row more, so that the end of the last one can be asked for
        start = np.zeros((nx + 1, ny), np.int64)
        np.cumsum(counts.ravel(), out=start.ravel()[1 : counts.size + 1])
        start.ravel()[counts.size + 1 :] = start.ravel()[counts.size]
        starts.append(start)
    points, faces = (int(start.ravel()[-1]) for start in starts)
    x, mesh = np.empty((points, 3), np.float32), np.empty((faces, 3), np.int32)
    _fill(x, mesh, cross, *starts, phi, least, tables.first, tables.faces, tables.begin, tables.triangles,
          FACE_CORNERS, EDGE_PLACES)  # fmt: skip
    return x, mesh
