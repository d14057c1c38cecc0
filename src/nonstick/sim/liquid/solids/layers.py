"""The solids beside thin walls, layer by layer: one layer for the space without a colour, one for each colour.

A layer has the distance that its colour sees (`sides`), and all that follows from it on the grid. Every stage of a step
but the solve works in each layer, with the particles that the layer sees, and a cell or face then takes the values of
the layer of its colour (`cells`, `faces`). A cell that a thin wall divides belongs to the side that has more of it. The
liquid on the other side belongs to the nearest cell of its own side (`home`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....grid.faces import FaceField, lower, upper
from ....grid.fractions import centre_distance, close_edges, open_fractions
from ....grid.mac import Grid, SubGrid
from ..settings import SOLIDS
from ._solids import _open_space, _room
from .sides import COLOUR, SHORTEST, THIN, TOUCH, Distance, SideColours, find_colours, is_thin, normals
from .solid import Solid

if TYPE_CHECKING:
    from .on_grid import Solids


class Layer:
    """Solids as one colour sees them; what does not depend on colours is that of all solids."""

    def __init__(self, whole: Solids, nodes: np.ndarray):
        grid = whole.grid
        self._whole = whole
        #: distance at the nodes without bodies, in cells and the user's dimension
        self.user_nodes = nodes
        self.fit_nodes()
        #: shares of faces outside solids; the sides of the domain close those that are `open`
        self.outside = FaceField.of(open_fractions(nodes * grid.dx))
        self.open = FaceField.of([close_edges(w.copy(), a) for a, w in enumerate(self.outside.user)])
        self.space = np.empty(grid.three)
        _open_space(self.space, self.nodes, 4)
        self.room = np.empty(grid.three)
        _room(self.room, self.space, self.nodes, 2)
        self.centre = grid.lift(centre_distance(self.nodes if grid.dimension == 3 else self.nodes[0]))
        self._room: FaceField | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    def fit_nodes(self) -> None:
        """Join the distance with that of bodies, which are on no side."""
        whole, nodes = self._whole, self.user_nodes
        for solid, distance in zip(whole.list, whole.distances):
            if solid.body is not None:
                nodes = np.minimum(nodes, distance / whole.grid.dx)
        self.nodes = np.ascontiguousarray(nodes if nodes.ndim == 3 else np.repeat(nodes[None], 2, axis=0))

    def cover(self, still: Sequence[np.ndarray] | None, left: FaceField) -> None:
        """Close the shares of faces that bodies cover: they leave `left` of the faces that are `still` open."""
        assert still is not None
        for axis, share in FaceField.of(still).each():
            self.open[axis][...] *= np.minimum(
                np.divide(left[axis], share, out=np.ones_like(share), where=share > 0), 1
            )

    def nodes_near(self, slab: int) -> tuple[np.ndarray, int]:
        """Distance at the nodes of the layer, in cells; their first plane."""
        return self.nodes if self.grid.dimension == 3 else self.nodes[0], 0

    def room_of_faces(self) -> FaceField:
        """The mass that particles of this layer bring to a face if all its space is full."""
        if self._room is None:
            self._room = self._whole.room_around(self.centre)
        return self._room


def any_thin(whole: Solids) -> bool:
    """True if a solid is thin somewhere, at the pose it has now."""
    dx = whole.grid.dx
    for solid, nodal in zip(whole.list, whole.distances):
        if solid.body is not None:
            continue
        first, here = np.zeros(whole.grid.dimension), nodal / dx
        if solid.motion is not None:  # it may come from outside
            size = np.array(whole.whole.size)
            low, high = solid.placed(whole.time).bounds(whole.grid.dimension)
            first = np.floor(np.maximum(low, -size) / dx) - 2.0
            shape = np.maximum(np.ceil(np.minimum(high, 2.0 * size) / dx) - first + 2.0, 1.0)
            here = solid.measure(SubGrid(tuple(shape), dx, first=tuple(first.astype(int))), whole.time) / dx
        near = first[:, None] + _maybe_thin(here)
        if near.size and is_thin(_distance_of([solid], whole.time, dx), near).any():
            return True
    return False


def _maybe_thin(nodes: np.ndarray) -> np.ndarray:
    """Indices (d, n) of nodes just outside a solid; without those where nodes show that it is thick."""
    at = np.array(np.nonzero((nodes > TOUCH) & (nodes < 1.0)))
    if not at.size or min(nodes.shape) < 2:
        return at.astype(float)
    slope = np.stack([g[tuple(at)] for g in np.gradient(nodes)])
    slope /= np.maximum(np.sqrt((slope**2).sum(axis=0)), 1e-9)
    deep = 0.5 * THIN + 0.05  # the middle of a wall that is just not thin
    inside = _sampled(nodes, at - (nodes[tuple(at)] + deep) * slope)
    return at[:, inside > 0.01 - deep].astype(float)


def find_layers(whole: Solids, last: Layers | None) -> Layers | None:
    """The layers beside thin walls at the present poses; None if there are none. Sides keep the colours they had."""
    reach = max(3.0, whole.scene.model.time.cfl + 1.0)
    distance = _distance_of([s for s in whole.list if s.body is None], whole.time, whole.grid.dx)
    colours = find_colours(distance, whole.static_nodes(), reach, None if last is None else last.colours)
    return None if colours is None else Layers(whole, colours, distance)


def _distance_of(solids: Sequence[Solid], time: float, dx: float) -> Distance:
    """The distance to solids at points (d, n), all in cells."""
    shapes = [(-1.0 if s.container else 1.0, s.placed(time)) for s in solids]
    return lambda x: np.minimum.reduce([sign * shape(*(dx * x)) / dx for sign, shape in shapes])


class Layers:
    """The layers beside thin walls, and the layer of every cell and face."""

    def __init__(self, whole: Solids, colours: SideColours, distance: Distance):
        grid, nodes = whole.grid, whole.static_nodes()
        self.colours, self._distance = colours, distance
        self.list: list[Any] = [Layer(whole, nodes)]
        self.list += [Layer(whole, colours.seen_from(c, nodes)) for c in range(1, colours.count + 1)]
        #: colours at the centres, -1 in solids
        self.centres = centres = grid.lift(colours.centres)
        #: colour of cells: that of their centres; where these are in a wall, the one with most space
        self.of_cells = np.maximum(centres, 0)
        near = [_near(centres == c) for c in range(len(self.list))]
        space = np.stack([layer.space * near[c] for c, layer in enumerate(self.list)])
        space[0] = 0.0
        walled = (centres < 0) & (space.max(axis=0) > 0.0)
        self.of_cells[walled] = space.argmax(axis=0)[walled]
        #: for each colour, the cells next to it and in it
        self.around = np.zeros((len(self.list), *grid.three), bool)
        self._homes: list[np.ndarray] = [np.arange(self.of_cells.size)]
        for c in range(1, len(self.list)):
            mine = self.of_cells == c
            self.around[c] = _near(mine)
            self._homes.append(_nearest(mine, self.around[c] & ~mine))
        self.of_faces, self.closed = self._sort_faces(grid)
        #: faces at the ends of walls, by axis: which, and their open shares
        self._ends = [(axis, *self._open_ends(axis, closed)) for axis, closed in self.closed.each()]

    def _sort_faces(self, grid: Grid) -> tuple[FaceField, FaceField]:
        """Colour of faces, and those between cells on different sides of a wall."""
        which, closed = [], []
        for axis, joined in zip(grid.axes, self.colours.joined()):
            wide = np.pad(self.of_cells, [(int(a == axis),) * 2 for a in range(3)], mode="edge")
            a, b = lower(wide, axis), upper(wide, axis)
            which.append(np.maximum(a, b))
            apart = (a != b) & (a > 0) & (b > 0)
            apart[(slice(None),) * axis + (slice(1, -1),)] &= ~grid.lift(joined)
            closed.append(apart)
        return FaceField(which, grid.axes), FaceField(closed, grid.axes)

    def _open_ends(self, axis: int, closed: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """Give faces at the ends of walls, which no side has, the shares that lines from cell to cell pass.

        Nodes do not show where between them a thin wall ends: a slot would be as wide as some number of whole faces.
        The faces are those without colour beside a closed one, and closed ones beside these, if lines pass that no wall
        cuts in the cells before and behind either: elsewhere the wall goes on, from one row of faces to the next.
        """
        layer, first = self.list[0], 3 - self.colours.lattice.ndim
        wide = np.pad(self.centres, [(int(a == axis),) * 2 for a in range(3)], mode="edge")
        free = (lower(wide, axis) == 0) & (upper(wide, axis) == 0)
        others = [a for a in self.closed.axes if a != axis]
        shares = np.full(closed.shape, np.nan)
        for mask, reach in (free & _beside(closed, others), 0.5), (closed & _beside(free, others), 1.5):
            at = np.nonzero(mask)
            x = np.array(at, float)[first:] + 0.5
            x[axis - first] -= 0.5
            shares[at] = _passed(self._distance, x, axis - first, reach)
        which = np.nonzero((shares > 0.0) | ((shares == 0.0) & ~closed))
        layer.outside[axis][which] = layer.open[axis][which] = shares[which]
        closed[which], self.of_faces[axis][which] = False, 0
        return which, shares[which]

    def take_walls_in(self, velocity: FaceField, walls: FaceField | None) -> None:
        """Let the velocity of faces at the ends of walls be the mean over the face, in place: liquid and wall.

        Particles would flow past the end of a wall as if it lay behind the middle of the next closed face. `walls` is
        the velocity of the walls; None: at rest.
        """
        for axis, which, share in self._ends:
            velocity[axis][which] *= share
            if walls is not None:
                velocity[axis][which] += (1.0 - share) * walls[axis][which]

    def cells(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """The field over cells that has the values of each cell's own layer."""
        return _chosen(self.of_cells, values)

    def faces(self, values: Sequence[FaceField]) -> FaceField:
        """The field over faces that has the values of each face's own layer."""
        axes = self.of_faces.axes
        return FaceField((_chosen(self.of_faces[a], [v[a] for v in values]) for a in axes), axes)

    def seen(self, colour: int) -> FaceField:
        """Faces whose velocity liquid of a colour sees: those of its own and of no colour."""
        return ((self.of_faces == colour) | (self.of_faces == 0)) & ~self.closed

    def home(self, colour: int, values: np.ndarray) -> np.ndarray:
        """Sum values over cells, of liquid of a colour, to the cells that this liquid belongs to."""
        out = np.zeros(self.of_cells.size)
        np.add.at(out, self._homes[colour], values.ravel())
        return out.reshape(self.of_cells.shape)

    def at_home(self, colour: int, values: np.ndarray) -> np.ndarray:
        """The values over cells where the liquid of a colour belongs."""
        return values.ravel()[self._homes[colour]].reshape(values.shape)

    def space(self) -> np.ndarray:
        """Open share of cells, with the parts of other cells that belong to them."""
        out = self.cells([layer.space for layer in self.list])
        for c, layer in enumerate(self.list[1:], 1):
            apart = self.around[c] & (self.of_cells != c) & (self.of_cells > 0)
            out += self.home(c, np.where(apart, layer.space, 0.0))
        return out

    def of_points(self, x: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Colours of particles at x (3, n) in cells; those that have one already (`last`) keep it beside walls."""
        shape = self.of_cells.shape
        index = tuple(np.clip(row.astype(np.int64), 0, n - 1) for row, n in zip(x, shape))
        own = self.of_cells[index]
        out = np.maximum(own, 0).astype(COLOUR)
        free = self.centres[index] == 0
        kept = ~free & (last > 0) & (last < len(self.list))
        out[kept] = last[kept]
        open_ = np.flatnonzero(~free & ~kept)
        around = self.around[:, *(row[open_] for row in index)]
        best = np.full(open_.size, -np.inf)
        for c in np.flatnonzero(around.any(axis=1)):
            near = np.flatnonzero(around[c])
            mine = open_[near]
            s = _sampled(self.list[c].nodes, x[:, mine]) + 1e-9 * (own[mine] == c)
            better = s > best[near]
            out[mine[better]], best[near[better]] = c, s[better]
        # outside solids, but in one for every colour around: this side has no colour
        hidden = np.flatnonzero(best < 0.0)
        outside = self._distance(x[3 - self.colours.lattice.ndim :, open_[hidden]]) > TOUCH
        out[open_[hidden[outside]]] = 0
        return out

    def move_out(self, x: np.ndarray, side: np.ndarray, margin: float) -> None:
        """Move particles at x (3, n), in cells, out of the ends of walls, in place: nodes do not show these.

        A particle is moved along the normal, unless this leads to another side.
        """
        near = np.flatnonzero(_sampled(self.list[0].nodes, x) < 1.0)
        first = 3 - self.colours.lattice.ndim
        s = self._distance(x[first:, near])
        deep, s = near[s < margin], s[s < margin]
        if not deep.size:
            return
        n = np.zeros((3, deep.size))
        n[first:] = normals(self._distance, x[first:, deep])
        for c in range(1, len(self.list)):
            mine = np.flatnonzero(side[deep] == c)
            at, way = x[:, deep[mine]], 0.25 * n[:, mine]
            back = _sampled(self.list[c].nodes, at + way) <= _sampled(self.list[c].nodes, at - way)
            n[:, mine[back]] = 0.0
        x[:, deep] += (margin - s) * n

    def chambers(self, space: np.ndarray) -> tuple[np.ndarray, int]:
        """Number of the chamber of each cell with space, and the number of chambers; thin walls divide them."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        there = space > 0.0
        number = np.arange(space.size).reshape(space.shape)
        links = []
        for axis, closed in self.closed.each():
            inner = (slice(None),) * axis + (slice(1, -1),)
            a, b = lower(number, axis), upper(number, axis)
            joined = lower(there, axis) & upper(there, axis) & ~closed[inner]
            links.append((a[joined], b[joined]))
        i, j = (np.concatenate(side) for side in zip(*links))
        size = (space.size, space.size)
        label = connected_components(coo_matrix((np.ones(i.size, bool), (i, j)), size), directed=False)[1]
        out = np.zeros(space.shape, np.int32)
        found, first, numbered = np.unique(label[there.ravel()], return_index=True, return_inverse=True)
        order = np.empty(found.size, np.int32)
        order[np.argsort(first)] = np.arange(1, found.size + 1)
        out[there] = order[numbered]
        return out, int(found.size)


def _beside(mask: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Entries with a neighbour of the mask along one of the axes."""
    out = np.zeros_like(mask)
    for axis in axes:
        lower(out, axis)[...] |= upper(mask, axis)
        upper(out, axis)[...] |= lower(mask, axis)
    return out


def _passed(distance: Distance, x: np.ndarray, axis: int, reach: float) -> np.ndarray:
    """The share of lines along an axis, so far before and behind faces with middles at x (d, n), that no wall cuts."""
    places = (np.arange(SOLIDS.lines) + 0.5) / SOLIDS.lines - 0.5
    across = np.meshgrid(*([-reach] if a == axis else places for a in range(len(x))), indexing="ij")
    y = x[:, :, None] + np.stack([a.ravel() for a in across])[:, None]
    y, went = y.reshape(len(x), -1), np.zeros(y[0].size)
    cut = np.zeros(went.size, bool)
    while (went < 2.0 * reach).any():  # a distance is a step that passes no wall
        here = distance(y)
        cut |= (here <= TOUCH) & (went < 2.0 * reach)
        step = np.where(cut, 2.0 * reach, np.maximum(here, SHORTEST))
        went += step
        y[axis] += step
    return 1.0 - cut.reshape(x.shape[1], SOLIDS.lines ** (len(x) - 1)).mean(axis=1)


def _near(mask: np.ndarray) -> np.ndarray:
    """Cells of a mask and all their neighbours."""
    for axis in range(3):
        wide = np.pad(mask, [(int(a == axis),) * 2 for a in range(3)])
        mask = lower(lower(wide, axis), axis) | mask | upper(upper(wide, axis), axis)
    return mask


def _nearest(mask: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Flat index of the cell of the mask nearest to each wanted cell; other cells have their own."""
    from scipy.ndimage import distance_transform_edt

    out = np.arange(mask.size)
    if mask.any():
        at = distance_transform_edt(~mask, return_distances=False, return_indices=True)
        there = np.ravel_multi_index(tuple(at), mask.shape)
        out[wanted.ravel()] = there[wanted]
    return out


def _chosen(which: np.ndarray, values: Sequence[np.ndarray]) -> np.ndarray:
    out = values[0].copy()
    for c, value in enumerate(values[1:], 1):
        mine = which == c
        out[mine] = value[mine]
    return out


def _sampled(nodes: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A nodal field at places (d, n), linear along each axis."""
    base = [np.clip(np.floor(c).astype(int), 0, n - 2) for c, n in zip(x, nodes.shape)]
    part = [c - b for c, b in zip(x, base)]
    total = np.zeros(x.shape[1])
    for corner in np.ndindex(*(2,) * len(x)):
        weight = np.ones(x.shape[1])
        for f, bit in zip(part, corner):
            weight = weight * (f if bit else 1.0 - f)
        total += weight * nodes[tuple(b + bit for b, bit in zip(base, corner))]
    return total
