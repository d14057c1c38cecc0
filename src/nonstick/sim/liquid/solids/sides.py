"""The two sides of thin walls: which places lie on which side, and the solids as each side sees them.

A distance at nodes cannot show a wall thinner than about two cells: no node need lie in it, and a cell, a face and the
particles around it may lie on both of its sides. To liquid on one side everything behind the wall is solid. So beside
thin walls space gets colours, one for each side, and every colour has a distance of its own at the nodes: the true one
on its side, continued linearly through the wall and beyond. With it a thin wall is as thick as any.

Colours are found on a lattice of half cells. A line of the lattice crosses a thin wall where the wall is less than
`THIN` thick along its normal. Places up to `reach` before and behind the crossing are beside the wall; those that the
lattice connects within this band are on one side. Beyond the end of a wall no line crosses it, so its sides are apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ....grid.faces import between, lower, upper
from ..settings import SOLIDS

#: walls are thin up to this thickness along their normal; along the line of the grid nearest to it that is up to √3
#: times as long, here in half cells
THIN = SOLIDS.thin
LONG = 0.5 * math.ceil(2.0 * math.sqrt(3.0) * THIN)
#: a place is in a solid up to this distance; walls thinner than the shortest step along a line are not found
TOUCH, SHORTEST = 1e-6, 0.01
#: distances farther from a wall than this are taken from nodes, in cells
NEAR = 1.75
#: distances are continued this far beyond the places of a colour, in cells
DEPTH = SOLIDS.depth

#: numbers of colours: a maze has more than a byte can tell apart
COLOUR = np.int16

#: distance to solids in cells at points (d, n) in cells
Distance = Callable[[np.ndarray], np.ndarray]


@dataclass
class SideColours:
    """Colours of the places of a lattice of half cells beside thin walls: 1, 2, ...; 0 elsewhere, -1 in solids."""

    lattice: np.ndarray
    count: int
    #: places of the lattice (d, n) that have a colour, in cells, with their distances and normals
    x: np.ndarray
    distance: np.ndarray
    normal: np.ndarray
    #: links of the lattice that no wall crosses, for each axis
    free: list[np.ndarray]

    def joined(self) -> list[np.ndarray]:
        """For each axis: True between cells whose centres a line joins without crossing a wall."""
        out = []
        for axis, free in enumerate(self.free):
            a, b = ([slice(1, None, 2)] * free.ndim for _ in range(2))
            a[axis], b[axis] = slice(1, -1, 2), slice(2, None, 2)
            out.append(free[tuple(a)] & free[tuple(b)])
        return out

    @property
    def centres(self) -> np.ndarray:
        """Colours at the centres of cells."""
        return self.lattice[(slice(1, None, 2),) * self.lattice.ndim]

    def _seen_nodes(self, colour: int) -> np.ndarray:
        """Nodes that places of a colour see: a short way leads there, through no wall and no other colour."""
        seen, passed = self.lattice == colour, (self.lattice == colour) | (self.lattice == 0)
        for _ in range(int(2 * 1.42 * DEPTH)):
            wider = seen.copy()
            for axis, free in enumerate(self.free):
                lower(wider, axis)[...] |= upper(seen, axis) & free
                upper(wider, axis)[...] |= lower(seen, axis) & free
            seen = wider & passed
        return seen[(slice(None, None, 2),) * seen.ndim]

    def seen_from(self, colour: int, nodes: np.ndarray) -> np.ndarray:
        """The distance at nodes, in cells, as this colour sees it; `nodes` is the distance to all solids."""
        from scipy.spatial import cKDTree

        out = nodes.copy()
        mine = self.lattice[tuple((2.0 * self.x).astype(int))] == colour
        hidden = ~self._seen_nodes(colour)
        points = np.argwhere(hidden).astype(float)
        if not len(points) or not mine.any():
            return out
        x, distance, normal = self.x[:, mine].T, self.distance[mine], self.normal[:, mine].T
        far, which = cKDTree(x).query(points, k=min(24, len(x)), distance_upper_bound=DEPTH)
        far, which = far.reshape(len(points), -1), which.reshape(len(points), -1)
        found = np.isfinite(far[:, 0])
        far, which, points = far[found], np.minimum(which[found], len(x) - 1), points[found]
        # the place whose normal points to the node best: across corners others belong to another wall
        way = points[:, None] - x[which]
        along = (way * normal[which]).sum(axis=2)
        aside = np.sqrt(np.maximum((way**2).sum(axis=2) - along**2, 0.0))
        best = np.where(np.isfinite(far), aside + 0.1 * far + (along > 0.0), np.inf).argmin(axis=1)[:, None]
        value = np.take_along_axis(distance[which] + along, best, axis=1)[:, 0]
        at = tuple(points.astype(int).T)
        out[at] = np.minimum(value, -np.abs(nodes[at]))
        return out


def is_thin(distance: Distance, x: np.ndarray) -> np.ndarray:
    """True for places (d, n) outside solids, in cells, with a wall before them that ends within THIN, by its normal."""
    s, n, out = distance(x), normals(distance, x), np.zeros(x.shape[1], bool)
    for deep in np.arange(0.1, THIN + 0.05, 0.1):
        left = np.flatnonzero(~out)
        y = x[:, left] - (s[left] + deep) * n[:, left]
        here = distance(y)
        # before the wall the distance would still fall by all of the way; behind it another wall may be near too
        out[left] = (here > TOUCH) & (distance(y - 0.02 * n[:, left]) > here - 0.01)
    return out


def find_colours(distance: Distance, nodes: np.ndarray, reach: float, last: SideColours | None) -> SideColours | None:
    """The colours beside thin walls; None if there are none. Sides keep the colours they had `last`.

    `nodes` is the distance at the nodes of the grid, in cells.
    """
    lattice = _SideLattice(distance, nodes)
    beside, pairs = lattice.beside(reach)
    if not beside.any():
        return None
    part, count = lattice.parts(beside)
    for a, b in pairs:  # a part that has both sides of a wall has none
        both = part[a][part[a] == part[b]]
        part[np.isin(part, both)] = 0
    colour = _coloured(part, count, None if last is None else last.lattice)
    out = colour[part]
    out[~lattice.open] = -1
    at = np.nonzero(out > 0)
    if not at[0].size:
        return None
    x = 0.5 * np.array(at, float)
    return SideColours(out, int(out.max()), x, lattice.s[at], normals(distance, x), lattice.free)


def _coloured(part: np.ndarray, count: int, last: np.ndarray | None) -> np.ndarray:
    """A colour for each part, another one than that of parts near it; the one it had before, if that is possible."""
    from scipy.ndimage import find_objects

    boxes = find_objects(part, max_label=count)
    sizes = np.bincount(part.ravel(), minlength=count + 1)
    out = np.zeros(count + 1, COLOUR)
    for p in np.argsort(-sizes[1:], kind="stable") + 1:
        box = boxes[p - 1]
        if box is None:
            continue
        taken = {int(out[q]) for q in range(1, count + 1) if out[q] and _near(boxes[q - 1], box)}
        wanted: list[int] = []
        if last is not None:
            had = last[box][part[box] == p]
            votes = np.bincount(had[had > 0], minlength=1)
            wanted = [int(c) for c in np.argsort(-votes, kind="stable") if votes[c]]
        out[p] = next(c for c in itertools.chain(wanted, itertools.count(1)) if c not in taken)
    return out


def _near(a: tuple[slice, ...] | None, b: tuple[slice, ...]) -> bool:
    """True if two boxes of the lattice are less than twice the depth apart."""
    gap = int(4 * DEPTH)
    return a is not None and all(s.start < t.stop + gap and t.start < s.stop + gap for s, t in zip(a, b))


def normals(distance: Distance, x: np.ndarray) -> np.ndarray:
    """Unit vectors (d, n) along which the distance grows."""
    steps = 0.02 * np.eye(len(x))[:, :, None]
    out = np.stack([distance(x + e) - distance(x - e) for e in steps])
    return out / np.maximum(np.sqrt((out**2).sum(axis=0)), 1e-9)


def _at(index) -> np.ndarray:
    """Places (d, n) of the lattice, in cells."""
    return 0.5 * np.asarray(index, float)


def _refined(a: np.ndarray, axis: int) -> np.ndarray:
    """Values with those halfway between neighbours along an axis."""
    out = np.repeat(a, 2, axis)[(slice(None),) * axis + (slice(None, -1),)]
    out[(slice(None),) * axis + (slice(1, None, 2),)] = between(a, axis)
    return out


class _SideLattice:
    """Distances at the nodes, and halfway between them; links join places that are neighbours."""

    def __init__(self, distance: Distance, nodes: np.ndarray):
        self.distance, self.s = distance, nodes
        for axis in range(nodes.ndim):
            self.s = _refined(self.s, axis)
        self.shape = self.s.shape
        near = np.nonzero(np.abs(self.s) < NEAR)  # elsewhere no wall is as near as a link is long
        self.s[near] = distance(_at(near))
        self.open = self.s > TOUCH
        #: links that no wall crosses, for each axis
        self.free = [self._free(axis) for axis in range(nodes.ndim)]

    def _pair(self, axis: int, far: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """The lower and the upper ones of places so many links apart along an axis."""
        whole = [slice(None)] * len(self.shape)
        a, b = list(whole), list(whole)
        a[axis], b[axis] = slice(None, -far), slice(far, None)
        return tuple(a), tuple(b)

    def _free(self, axis: int) -> np.ndarray:
        """Links along an axis that cross no wall. A distance changes by no more than the way: few are left to try."""
        a, b = self._pair(axis, 1)
        out = self.open[a] & self.open[b]
        near = np.nonzero(out & (self.s[a] + self.s[b] < 0.5))
        if not near[0].size:
            return out
        step, link = np.zeros((len(self.shape), 1)), np.arange(near[0].size)
        step[axis] = 0.5
        x, s, t = _at(near), self.s[a][near], self.s[b][near]
        crossed = np.zeros(link.size, bool)
        while link.size and step[axis, 0] > SHORTEST:
            step = 0.5 * step
            middle = self.distance(x + step)
            crossed[link[middle <= TOUCH]] = True
            link, x = np.concatenate([link, link]), np.concatenate([x, x + step], axis=1)
            s, t = np.concatenate([s, middle]), np.concatenate([middle, t])
            keep = ~crossed[link] & (s + t < step[axis, 0])
            link, x, s, t = link[keep], x[:, keep], s[keep], t[keep]
        out[near] = ~crossed
        return out

    def crossings(self):
        """For each length of a crossing along each axis: the places before it as a mask, the axis, and the length."""
        for axis in range(len(self.shape)):
            a, b = self._pair(axis, 1)
            before = self.open[a] & self.open[b] & ~self.free[axis]
            yield self._where_thin(before, axis, 1), axis, 1
            for far in range(2, min(int(2 * LONG), self.shape[axis] - 1) + 1):
                a, b = self._pair(axis, far)
                before = self.open[a] & self.open[b]
                for k in range(1, far):
                    inner = [slice(None)] * len(self.shape)
                    inner[axis] = slice(k, self.shape[axis] - far + k)
                    before &= ~self.open[tuple(inner)]
                yield self._where_thin(before, axis, far), axis, far

    def _where_thin(self, before: np.ndarray, axis: int, far: int) -> np.ndarray:
        """The crossings whose wall is thin, with two sides that face away from each other.

        Past the end of a wall a line may cut off its corner: there it has no sides.
        """
        found = np.array(np.nonzero(before))
        if not found.size:
            return before
        x, way = _at(found), np.zeros((len(self.shape), 1))
        way[axis] = 1.0
        one, other = self._hit(x, way), self._hit(x + 0.5 * far * way, -way)
        opposed = (normals(self.distance, one) * normals(self.distance, other)).sum(axis=0) < -0.5
        out = np.zeros_like(before)
        out[tuple(found[:, opposed])] = is_thin(self.distance, one[:, opposed])
        return out

    def _hit(self, x: np.ndarray, way: np.ndarray) -> np.ndarray:
        """Where a wall begins on lines from x; a distance is a step that does not reach it."""
        for _ in range(40):
            x = x + np.maximum(self.distance(x) - TOUCH, 0.0) * way
        return x

    def beside(self, reach: float) -> tuple[np.ndarray, list]:
        """The places beside thin walls, and the indices of those before and behind each crossing."""
        out, pairs = np.zeros(self.shape, bool), []
        for before, axis, far in self.crossings():
            if not before.any():
                continue
            a, b = self._pair(axis, far)
            low, high = np.zeros(self.shape, bool), np.zeros(self.shape, bool)
            low[a], high[b] = before, before
            pairs.append((np.nonzero(low), np.nonzero(high)))
            one, other = self._pair(axis, 1)
            for _ in range(int(2 * reach)):
                out |= low | high
                down, up = np.zeros(self.shape, bool), np.zeros(self.shape, bool)
                down[one], up[other] = low[other] & self.free[axis], high[one] & self.free[axis]
                low, high = down, up
        return out, pairs

    def parts(self, beside: np.ndarray) -> tuple[np.ndarray, int]:
        """Number of the connected part of each place of a mask, and the number of parts; 0 elsewhere."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        number = np.full(self.shape, -1, np.int64)
        number[beside] = np.arange(np.count_nonzero(beside))
        links = []
        for axis, free in enumerate(self.free):
            a, b = self._pair(axis, 1)
            joined = free & beside[a] & beside[b]
            links.append((number[a][joined], number[b][joined]))
        i, j = (np.concatenate(side) for side in zip(*links))
        n = int(number.max()) + 1
        count, label = connected_components(coo_matrix((np.ones(i.size, bool), (i, j)), (n, n)), directed=False)
        out = np.zeros(self.shape, np.int64)
        out[beside] = label + 1
        return out, int(count)
