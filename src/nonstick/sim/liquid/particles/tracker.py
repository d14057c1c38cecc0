"""The liquid as particles: they carry mass and velocity, and the pressure is computed on the grid.

φ from the particles              Zhu & Bridson 2005, with a distance that is exact for flat surfaces (`_surface`)
momentum to the faces and back    APIC: Jiang et al. 2015; FLIP and PIC: Zhu & Bridson 2005
particles move                    along straight lines (`flow.masses.folding`), out of solids, evened out (`spacing`)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ....core.columns import check_array
from ....errors import NonstickError
from ....grid.box import IndexBox
from ....grid.faces import FaceField
from ....grid.mac import Grid
from ....grid.shapes import Shape
from ....kernels._lanes import LANES
from ....scenes.scene import Scene
from ..accounts import Ledger, energy, shift_for, volume
from ..flow.extrapolation import fill_gaps
from ..flow.masses import folding
from ..flow.pressure import least_pressure
from ..flow.viscosity import Viscosity, cell_viscosity
from ..partition import cells_between
from ..settings import SEEDING
from ..solids.chambers import Chambers
from ..solids.on_grid import Solids
from ..solids.sides import COLOUR
from ..sources.sources import Source, Taps, free_share
from ..surface._surface import FARTHEST
from ..surface.particle_surface import ParticleSurface, Pressing
from ..tracking import Added, GridVelocity, StepFields
from ._particles import BATCH, ROWS, ParticleWalls, _least_distances, _move, _part_pairs, _scatter_velocity
from .deep import DeepLiquid, check_deep
from .seeding import first_gradient, first_surface, first_velocity, region, seed_slabs, varies
from .spacing import displacement
from .storage import Cloud, sums


class Particles:
    """Tracks the liquid by particles; a `tracker.Tracker`."""

    def __init__(self, scene: Scene, solids: Solids, ledger: Ledger, viscosity: Viscosity):
        self.scene, self.solids, self.ledger = scene, solids, ledger
        self.partition = solids.partition
        self.dx = scene.dx
        setting = scene.model.particles
        #: particles of a full cell
        self.per_cell = setting.per_axis**scene.dimension
        #: volume of a particle in cells
        self.worth = 1.0 / self.per_cell
        #: mass of a particle in kg (per metre of depth in 2D)
        self.mass = scene.model.physics.density * self.dx**scene.dimension / self.per_cell
        #: share of FLIP in the velocity that particles take
        self.flip = setting.flip if setting.transfer == "flip" else 0.0
        #: m/s²
        self.gravity = self.grid.vector(scene.gravity)
        #: half of the length of the last step
        self.lag = 0.0
        self.cloud = Cloud(self.grid, setting.transfer == "apic", viscosity.carried)
        self.phi = np.full(self.grid.three, 1.5)
        #: True if φ belongs to the present particles
        self.surface_is_current = False
        #: True if φ is that of the last step, moved with the liquid
        self._moved = False
        pull = float(np.linalg.norm(self.gravity))
        up = -self.gravity / pull if pull > 0.0 else np.zeros(3)
        #: particles per cell, smoothed, of the last transfer to the grid
        self._densities: list[np.ndarray] = []
        self._surface = ParticleSurface(solids, self.per_cell, up)
        self._viscosity = viscosity
        self._sorted = False
        #: length of the last step: sources fill the space that their liquid left in it
        self._last_dt = 0.0
        self._taps = Taps(scene, solids)
        #: the space outside solids, and its parts in the chambers with liquid, by their numbers
        self._space: np.ndarray | None = None
        self._spaces: dict[int, np.ndarray] = {}
        #: φ in each layer beside thin walls; φ alone without them
        self.phis = [self.phi]
        #: liquid without particles; None: all liquid has some
        self.deep: DeepLiquid | None = None
        if setting.band:
            self.deep = self._deep_liquid()

    def _deep_liquid(self) -> DeepLiquid:
        setting = self.scene.model.particles
        return DeepLiquid(self.solids, setting.band, setting.per_axis, self.scene.model.time.cfl)

    @property
    def grid(self) -> Grid:
        """The grid of the solids: the active box."""
        return self.solids.grid

    @property
    def count(self) -> int:
        """Number of particles."""
        return int(self.partition.comm.total(self.partition.own_particles(self.cloud).n))

    @property
    def x(self) -> np.ndarray:
        """Positions of the particles (3, n) in cells of the domain."""
        return self.partition.position(self.cloud.x)

    def points(self, x: np.ndarray | None = None) -> list[np.ndarray]:
        """Positions of the particles, or of x (3, n) in cells of the domain, in metres and the user's dimension."""
        x = self.x if x is None else x
        return [self.dx * c for c in x[self.grid.axes.start :]]

    def fill(self, kept: Sequence[IndexBox] = ()) -> None:
        """Fill the liquids of the scene with particles; where liquids overlap, the first one counts."""
        if self.deep is not None:  # which cells are deep is known when all positions are: they are made twice
            counts = np.zeros(self.deep.cells.size, np.int64)
            for _, pieces in self._liquids():
                for x in pieces:
                    counts += self.deep.counts(x)
            self.deep.begin(counts, kept)
        for index, pieces in self._liquids():
            self._fill_with(index, *self._born(pieces))
        if self.deep is not None:
            self._start_deep(self.deep)
        self._sort()
        # the number of particles is that of the volume they fill; the level set is off by a few hundredths of a cell
        self.ledger.initial = self.cloud.born * self.worth
        self.phis = [first_surface(self._shapes(), view) for view in self._layers_of_solids()]
        self._moved, self.ledger.offsets = True, np.zeros(self.solids.chambers().count)
        self._outline(None, self.solids.sticky, False)
        # without a surface a shift of φ could only make bubbles
        air = self.partition.comm.any(bool(((self.phi >= 0.0) & (self.solids.space > 0.0)).any()))
        if self.scene.model.volume.correct and air:
            self._outline(None, self.solids.sticky, True)
        elif self.cloud.born:
            self.ledger.initial = self.ledger.due = self.ledger.measured
            self.worth = self.ledger.initial / self.cloud.born

    def _shapes(self) -> list[Shape]:
        liquids = enumerate(self.scene.model.liquid)
        return [region(self.scene, spec.shape, f"liquid.{index}.shape") for index, spec in liquids]

    def _liquids(self) -> Iterator[tuple[int, Iterator[np.ndarray]]]:
        """The number of every liquid and its first positions, piece by piece; the same in every call."""
        rng, shapes = np.random.default_rng(self.scene.model.particles.seed), self._shapes()
        for index, shape in enumerate(shapes):
            yield index, (self._outside(slab, shapes[:index]) for slab in self._seeds(shape, rng))

    def _born(self, pieces: Iterator[np.ndarray]) -> tuple[np.ndarray, np.ndarray | None, int]:
        """The positions of `pieces` that get particles here, their places among all, and the number of all."""
        if self.deep is None:
            return self.partition.born(pieces)
        count, found, places = 0, [np.empty((3, 0))], [np.empty(0, np.int64)]
        for x in pieces:
            there = np.flatnonzero(self.deep.outside(x))
            found.append(x[:, there])
            places.append(there + count)
            count += x.shape[1]
        return np.concatenate(found, axis=1), np.concatenate(places), count

    def _fill_with(self, index: int, x: np.ndarray, places: np.ndarray | None, count: int) -> None:
        """Add the particles of a liquid of the scene, with its velocity."""
        spec, points = self.scene.model.liquid[index], self.points(x)
        velocity = first_velocity(spec, self.scene.model.domain.size, points, f"{self.scene.where}: liquid.{index}")
        self._add(x, velocity, spec.viscosity, index, places, count)
        if varies(spec) and self.cloud.affine:  # so that the first transfer includes the gradient
            gradient = first_gradient(spec, self.dx, points)
            self.cloud.aff[:, self.cloud.n - x.shape[1] :] = self._matrices(gradient)

    def _start_deep(self, deep: DeepLiquid) -> None:
        """Give deep liquid the first velocity of its liquid."""
        model, first = self.scene.model, self.grid.axes.start
        for axis, share in deep.shares.each():
            faces = np.flatnonzero(share)
            at = np.array(np.unravel_index(faces, share.shape), float) + 0.5
            at[axis] -= 0.5
            points, left = self.points(at), np.ones(faces.size, bool)
            for spec, shape in zip(model.liquid, self._shapes()):
                mine = np.flatnonzero(left & (np.asarray(shape(*points)) < 0.0))
                values = first_velocity(spec, model.domain.size, [p[mine] for p in points])[axis - first]
                deep.set_velocity(axis, faces[mine], values)
                left[mine] = False

    def _seeds(self, shape: Shape, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Positions that fill a shape; beside thin walls those of each layer on its own side.

        A wall moves positions out of it, and those in a thin wall to both sides: there they must lie in the shape.
        """
        setting, layers = self.scene.model.particles, self.solids.layers
        for c, view in enumerate(self._layers_of_solids()):
            for x in seed_slabs(shape, view, setting.per_axis, setting.jitter, rng):
                if layers is not None:
                    x = x[:, layers.of_points(x, np.zeros(x.shape[1], COLOUR)) == c]
                    x = x if c == 0 else x[:, shape(*self.points(x)) < 0.25 * self.dx / setting.per_axis]
                yield x

    def _outside(self, x: np.ndarray, taken: Sequence[Shape]) -> np.ndarray:
        """Those of the positions that lie outside the shapes."""
        for other in taken:
            x = x[:, other(*self.points(x)) >= 0]
        return x

    def _add(
        self, x: np.ndarray, velocity: Sequence[np.ndarray | float], viscosity, source: int,
        places: np.ndarray | None = None, count: int | None = None,
    ) -> None:  # fmt: skip
        """Append particles of a liquid or an inflow at x (3, n), in cells of the domain; the rest as in `Cloud.add`."""
        mu = self._viscosity.given(viscosity, self.points(x))
        vectors = np.zeros((3, x.shape[1]))
        for row, values in zip(vectors[self.grid.axes.start :], velocity):
            row[:] = values
        self.cloud.add(self.partition.here(x), vectors, mu, source, places, count)
        self._sorted = False

    def place(self, x: np.ndarray | None, velocity: np.ndarray | None, gradient: np.ndarray) -> None:
        """Change positions (d, n) in cells, and velocities (d, n) with their gradients (d, d, n) in m/s per cell."""
        cloud = self.cloud
        if self.deep is not None and self.deep.count:
            raise NonstickError(
                f"{self.scene.where}: with particles.band a part of the liquid has no particles, so they cannot be "
                "changed; set particles.band = 0"
            )
        if x is not None:
            first = self.grid.axes.start
            cloud.x[first:][:] = x - self.partition.corner[first:, None]
        if velocity is not None:
            cloud.vel[self.grid.axes.start :][:] = velocity
            if cloud.affine:
                cloud.aff[:] = self._matrices(gradient)
        self._sorted = self.surface_is_current = False
        self._moved = self._moved and x is None
        if cloud.side is not None and x is not None:
            cloud.side[:] = -1

    def _matrices(self, entries: np.ndarray) -> np.ndarray:
        """Matrices (d, d, n) of the user's dimension as nine rows (9, n)."""
        out, first = np.zeros((3, 3, entries.shape[2])), self.grid.axes.start
        out[first:, first:] = entries
        return out.reshape(9, -1)

    def _sort(self) -> None:
        if not self._sorted:
            self.partition.surround(self.cloud)
            self.cloud.sort()
            self._sorted = True
        self._take_sides(again=False)

    def _take_sides(self, again: bool) -> None:
        """Find the side of particles beside thin walls: of new ones, and of all `again`, after they have moved."""
        cloud, layers = self.cloud, self.solids.layers
        if layers is None:
            cloud.side = None
            return
        if cloud.side is None:
            cloud.side = np.full(cloud.n, -1, COLOUR)
        which = slice(None) if again else np.flatnonzero(cloud.side < 0)
        cloud.side[which] = layers.of_points(cloud.x[:, which], cloud.side[which])

    def _layers(self) -> list[tuple[Any, Cloud]]:
        """Solids and the particles among them: all, or beside thin walls what each layer sees."""
        cloud, layers = self.cloud, self.solids.layers
        seen = [cloud]
        if layers is not None:
            side = cloud.side
            assert side is not None
            seen += [cloud.part((side == 0) | (side == c)) for c in range(1, len(layers.list))]
        return list(zip(self._layers_of_solids(), seen))

    def _layers_of_solids(self) -> list[Any]:
        """The solids, or their layers beside thin walls."""
        return [self.solids] if self.solids.layers is None else self.solids.layers.list

    def _joined(self, values: list[np.ndarray]) -> np.ndarray:
        """A field over cells from those of all layers."""
        return values[0] if self.solids.layers is None else self.solids.layers.cells(values)

    # -- in and out -----------------------------------------------------------------------------------

    def flow_in(self, sources: Sequence[Source], time: float, dt: float, pressure: np.ndarray | None) -> Added:
        """Give the liquid in the sources their velocity, and fill the space that has become empty there."""
        if not sources:
            return Added()
        self.surface_is_current = False
        added = Added(np.zeros(self.grid.three))
        head = self.scene.model.physics.density * self.dx
        # in the first step it is not known what holds the liquid
        free = None if pressure is None else free_share(pressure, self.gravity, head)
        for index, source in enumerate(sources):
            if source.flows(time):
                share = self._taps.set_velocity(
                    source, time, dt, self.lag, self.cloud, self.points(), self.gravity, free
                )
                self._sort()
                self._fill_source(source, index, time, dt, share, added)
        return added

    def _fill_source(self, source: Source, index: int, time: float, dt: float, free: float, added: Added) -> None:
        """Add the particles that one source emits; `free` is the share of gravity that nothing holds in it."""
        new = self._taps.open(source, index, time, self._last_dt, self.cloud, self.worth)
        if new.blocked:
            full = f"inflow.{index} has no room for more liquid: its chamber is full at {time:.4g} s"
            added.remarks.append(("full", full))
        assert added.divergence is not None
        added.divergence += new.crowding / dt
        points = self.points(new.x)
        velocity = self._taps.velocity(source, points, time, dt, self.lag, free, self.gravity)
        kind = len(self.scene.model.liquid) + index
        self._add(new.x, velocity, source.spec.viscosity, kind, new.places, new.count)
        self.ledger.inflow += new.count * self.worth

    def flow_out(self, regions: Sequence[Shape]) -> None:
        """Remove the particles in the regions."""
        for shape in regions:
            gone = shape(*self.points()) < 0
            count = int(self.partition.comm.total(int(gone.sum())))
            if count:
                self.cloud.keep(~gone)
                self._sorted = self.surface_is_current = False
                self.ledger.outflow += count * self.worth

    # -- the active box -------------------------------------------------------------------------------

    def extent(self) -> IndexBox | None:
        """The cells of the domain with particles, in the user's dimension."""
        bounds, first = self.cloud.bounds(), self.grid.axes.start
        if bounds is None:
            return None
        low, high = ((corner + self.partition.corner)[first:] for corner in bounds)
        return cells_between(low, high, self.solids.whole.shape)

    def follow(self, old: IndexBox) -> None:
        """Let φ and particles follow the grid, which covered this box."""
        old, new, cloud = old.three(), self.partition.held.three(), self.cloud
        cloud.x += np.subtract(old.low, new.low)[:, None].astype(float)
        cloud.grid, cloud.start = self.grid, np.zeros(new.size + 1, np.int64)
        phi, air = old.moved(self.phi, new, np.inf), self._air(self.solids.chambers())
        self.phi = np.where(np.isinf(phi), air, phi)
        self.phis = [self.phi]
        if self.deep is not None:
            self.deep.follow(old, new)
        if self._sorted:
            self._sorted = False
            self._sort()

    def _air(self, chambers: Chambers) -> np.ndarray:
        """φ far from all liquid, over the cells of the chambers."""
        out, offsets = np.full(chambers.which.shape, FARTHEST), self.ledger.offsets
        out += offsets[0] if len(offsets) == 1 else np.append(0.0, offsets)[chambers.which]
        return out

    def everywhere(self) -> np.ndarray:
        """φ over own cells, in the user's dimension."""
        return self._over_domain(self.phi)

    def _over_domain(self, phi: np.ndarray) -> np.ndarray:
        if self.partition.holds_all:
            return self.partition.own(self.grid.drop(phi))
        out = self._air(self.solids.everywhere("chambers"))
        out[self.partition.held.three().slices] = phi
        return self.grid.drop(out)

    # -- surface --------------------------------------------------------------------------------------

    def find_surface(self, pressure: np.ndarray | None, sticky: np.ndarray) -> None:
        """φ from the particles, shifted so that it encloses the volume of the ledger."""
        self._sort()
        self._outline(pressure, sticky, self.scene.model.volume.correct)
        self.surface_is_current = True

    def _outline(self, pressure: np.ndarray | None, sticky: np.ndarray, correct: bool) -> None:
        cloud, ledger, partition = self.cloud, self.ledger, self.partition
        starts, per_cell = partition.own_starts(cloud.start), float(self.per_cell)
        least = 0.0
        if pressure is not None:
            least = least_pressure(pressure, self.scene, self.gravity, partition, self._last_dt)
        pressing = None if pressure is None else Pressing(np.asarray(sticky, np.int8), pressure, least)
        layers, weights = self._layers(), self._find_phi(pressing)
        chambers = self.solids.chambers()
        counts = self._in_chambers(self._counts(starts), chambers)
        offsets, measured = np.zeros(chambers.count), 0.0
        for number, space in self._chambers().items():
            c = number - 1
            gaps = 0.0
            if pressure is not None:
                for part, (solids, seen), phi, weight in zip(self._own(space), layers, self.phis, weights):
                    gaps += self._surface.gaps(phi, seen, weight, part, pressure, least, solids)
            around = (starts, per_cell, partition)
            if correct:
                guess = ledger.offsets[c] if self._shifts_alone(chambers) else 0.0
                target = counts[c] * ledger.expected + gaps
                offsets[c] = shift_for(self.phi, space, target, guess, *around, chambers.rooms[number])
            measured += volume(self.phi, space, offsets[c], *around) - gaps
        ledger.offsets = offsets
        ledger.measure(measured)
        self._shift(offsets)

    def _find_phi(self, pressing: Pressing | None) -> list[np.ndarray]:
        """φ without the shift of this step in each layer, and from them φ; returns the weights of particles in each.

        The surface has moved with the liquid, and the particles correct it (`ParticleSurface.outline`);
        `pressing` is that of the last step.
        """
        layers, weights, moved = self._layers(), [], self.phis
        known = self._moved and len(moved) == len(layers)
        if known and self._shifts_alone(self.solids.chambers()):
            self._shift(-self.ledger.offsets)
        self.phis = [np.empty_like(self.phi) for _ in layers]
        for c, (solids, seen) in enumerate(layers):
            filled = seen.start if self.deep is None else self.deep.filled(seen.start)
            before = moved[c] if known else None
            weights.append(self._surface.outline(self.phis[c], seen, solids, filled, before, pressing))
        self.phi = self._joined(self.phis)
        self._moved = True
        return weights

    def _shifts_alone(self, chambers: Chambers) -> bool:
        """True if the last shift is taken off again: beside thin walls not all places have one."""
        return self.solids.layers is not None and len(self.ledger.offsets) == chambers.count

    def _own(self, space: np.ndarray) -> list[np.ndarray]:
        """The space of cells by the layers they belong to."""
        layers = self.solids.layers
        return [space] if layers is None else [space * (layers.of_cells == c) for c in range(len(layers.list))]

    def _shift(self, offsets: np.ndarray) -> None:
        """Shift φ by an offset in each chamber."""
        layers, by, which = self.solids.layers, np.append(0.0, offsets), self.solids.chambers().which
        self.phi += offsets[0] if len(offsets) == 1 else by[which]
        if layers is not None:
            for c, phi in enumerate(self.phis):
                phi += offsets[0] if len(offsets) == 1 else by[layers.at_home(c, which)]

    def _chambers(self) -> dict[int, np.ndarray]:
        """The space outside solids in own cells, for the number of each chamber that the grid covers a part of."""
        space = self.solids.space
        if self._space is not space:
            chambers, own = self.solids.chambers(), self.partition.only_own(space)
            there = range(1, chambers.count + 1) if self.partition.holds_all else np.unique(chambers.which).tolist()
            self._space, self._spaces = space, {c: chambers.part(own, c) for c in there if c}
        return self._spaces

    def _counts(self, starts: np.ndarray) -> np.ndarray:
        """Number of particles that belong to each cell; beside a thin wall they may lie in a cell of the other side."""
        layers, cloud = self.solids.layers, self.cloud
        if layers is None:
            return np.diff(starts) if self.deep is None else self.deep.held(starts)
        assert cloud.side is not None
        out = np.zeros(self.phi.shape)
        for c in range(len(layers.list)):
            out += layers.home(c, np.diff(cloud.part(cloud.side == c).start))
        return out.ravel()

    def _in_chambers(self, counts: np.ndarray, chambers: Chambers) -> np.ndarray:
        """The share of the particles in each chamber; `counts` are those of cells."""
        if chambers.count == 1:
            return np.ones(1)
        found = np.bincount(chambers.which.ravel(), counts, minlength=chambers.count + 1)[1:]
        found = np.array(self.partition.comm.total(found), dtype=float)
        return found / max(found.sum(), 1.0)

    def viscosity(self) -> np.ndarray | float:
        """Viscosity of cells, or one number for all."""
        if not self.cloud.thick:
            return self._viscosity.mu
        self._sort()
        return cell_viscosity(self.cloud, self.grid)

    # -- to the grid and back -------------------------------------------------------------------------

    def to_grid(self, dt: float) -> GridVelocity:
        """Momentum and mass of the particles on the faces around them."""
        layers = self.solids.layers
        velocities, masses, self._densities = (list(e) for e in zip(*(self._on_faces(c) for _, c in self._layers())))
        divergence = self._folding(velocities, dt)
        if layers is None:  # what forces do to the velocity is read with a share of FLIP and in viscous liquid
            read = self.flip > 0.0 or self._viscosity.acts
            return GridVelocity(velocities[0], [velocities[0].copy() if read else velocities[0]], masses, divergence)
        return GridVelocity(layers.faces(velocities), velocities, masses, divergence)

    def _folding(self, velocities: list[FaceField], dt: float) -> np.ndarray:
        """The divergence of straight moves, per volume of cells; its sum is zero in a chamber without air."""
        views = zip(velocities, self.phis, self._layers_of_solids())
        out = self._joined([folding(u, phi, solids, dt) for u, phi, solids in views])
        comm = self.partition.comm
        for space in self._chambers().values():
            if not comm.any(bool((self.phi[space > 0.0] >= 0.0).any())):  # a full chamber does not change its volume
                out -= space * (comm.total(float(out[space > 0.0].sum())) / comm.total(float(space.sum())))
        self.partition.fill_cells(out)
        return out

    def face_velocity(self) -> FaceField:
        """The velocity on the faces at this moment; nothing is changed."""
        self._sort()
        found = [self._on_faces(seen)[0] for _, seen in self._layers()]
        return found[0] if self.solids.layers is None else self.solids.layers.faces(found)

    def _on_faces(self, cloud: Cloud) -> tuple[FaceField, FaceField, np.ndarray]:
        """Velocity and mass of particles on the faces around them, 1 inside the liquid; their density in cells."""
        shapes = [a.shape for a in self.solids.open]
        vel, aff, order = cloud.unsorted()
        if not cloud.affine:
            aff = np.zeros((9, cloud.n), np.float32, order="F")
        pairs, density = [sums((*shape, 2)) for shape in shapes], sums(self.grid.three)
        plane, first = self.grid.plane, self.grid.axes.start
        _scatter_velocity(*pairs, density, cloud.x, vel, aff, order, cloud.start, plane, first)
        if self.deep is not None:
            self.deep.add_to(pairs, density)
        velocity, mass = [], []
        for shape in shapes[first:]:
            u, m, known = np.empty(shape), np.empty(shape), np.empty(shape, np.int8)
            _part_pairs(u, m, known, pairs.pop(first), float(self.per_cell))
            fill_gaps(u, known)
            velocity.append(u)
            mass.append(m)
        out = FaceField(velocity, self.grid.axes), FaceField(mass, self.grid.axes), density
        self.partition.fill_faces(out[0])
        return out

    def even_out(self, step: StepFields) -> None:
        """Find the displacement that evens out particles."""
        if self.scene.model.particles.even_out:
            problem, pressure, mass = step.solved.problem, step.solved.pressure, step.masses.inertia
            parts = [(seen, phi, view, d) for (view, seen), phi, d in zip(self._layers(), self.phis, self._densities)]
            if self.deep is not None:
                self.deep.hold(self._densities[0])
            step.shifts = displacement(parts, self.solids, problem, pressure, step.least, self.per_cell, mass)
            if self.deep is not None:
                self.deep.close(step.shifts[0])

    def move(self, step: StepFields) -> None:
        """Give particles the new velocity, and move them along it and by what evens them out."""
        cloud, solids, first, even_out = self.cloud, self.solids, self.grid.axes.start, bool(step.shifts)
        self.partition.release(cloud)
        shifts = step.shifts or [step.velocity] * len(self.phis)  # not read without evening out
        for c, (phi, u, shift) in enumerate(zip(self.phis, [step.velocity, *step.beside], shifts)):
            one, view = cloud, self._layers_of_solids()[c]
            if cloud.side is not None:
                mine = cloud.side == c
                one = cloud.part(mine)
            vel, aff = (one.vel, one.aff) if self.flip > 0.0 else one.replaced()
            if not one.affine:
                aff = np.zeros((9, 1), np.float32, order="F")
            clear = np.empty(self.grid.three, np.float32)
            _least_distances(clear, view.nodes)
            walls = ParticleWalls(view.nodes, clear, solids.velocity.arrays, SEEDING.margin)
            fields, where = (u.arrays, step.before[c].arrays, shift.arrays), (self.partition.corner, first)
            rate = step.dt / self.dx
            work = np.empty((-(-one.n // BATCH), ROWS * LANES), np.float32)
            _move((one.x, vel, aff), work, phi, *fields, walls, *where, self.flip, one.affine, rate, even_out)
            if one is not cloud:
                cloud.x[:, mine], cloud.vel[:, mine], cloud.aff[:, mine] = one.x, one.vel, one.aff
        if solids.layers is not None:
            self._take_sides(again=True)
            assert cloud.side is not None
            solids.layers.move_out(cloud.x, cloud.side, SEEDING.margin)
        self.partition.migrate(cloud)
        if self.deep is not None:
            self.deep.move(cloud, step)
        moves = zip(self.phis, [step.velocity, *step.beside])
        self.phis = [self._surface.moved(phi, u, step.dt) for phi, u in moves]
        self.phi = self._joined(self.phis)
        self.lag, self._last_dt = 0.5 * step.dt, step.dt
        self._sorted = self.surface_is_current = False

    # -- numbers --------------------------------------------------------------------------------------

    def fastest(self) -> float:
        """The largest velocity component of a particle."""
        return max(self.cloud.fastest(), 0.0 if self.deep is None else self.deep.fastest())

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy of the particles at the middle of the last step."""
        own = self.partition.own_particles(self.cloud)
        kinetic, height = energy(own, self.gravity, self.lag / self.dx, self.partition)
        if self.deep is not None:
            more = self.deep.energy(self.gravity, self.lag / self.dx)
            kinetic, height = kinetic + more[0], height + more[1]
        return self.mass * kinetic, self.mass * self.dx * height

    # -- frames and checkpoints -----------------------------------------------------------------------

    def frame_arrays(self) -> dict[str, np.ndarray]:
        """Position, velocity, id and, where it varies, viscosity of every particle; the number of births so far."""
        cloud = self.partition.own_particles(self.cloud)
        rows = self.partition.position(cloud.x)[self.grid.axes.start :]
        position = np.empty((cloud.n, len(rows)), np.float32)
        for a, row in enumerate(rows):
            np.multiply(row, self.dx, out=position[:, a], casting="same_kind")
        out = {"position": position, "velocity": np.ascontiguousarray(cloud.vel[self.grid.axes.start :].T)}
        out |= {"id": cloud.id.copy(), "born": np.array(cloud.born), "sources": cloud.sources}
        if cloud.thick:
            out["viscosity"] = cloud.mu.copy()
        if self.deep is not None:
            out["deep"] = self.deep.everywhere()
        return out

    def state(self) -> dict[str, np.ndarray]:
        """The columns, and the length of the last step."""
        c = self.partition.own_particles(self.cloud)
        ids = {"id": c.id, "born": np.array(c.born)}
        own = {"sources": c.sources}
        columns = {"x": self.partition.position(c.x), "vel": c.vel, "aff": c.aff, "mu": c.mu}
        deep = {} if self.deep is None else self.deep.state()
        own |= zip(self._surfaces(), [self._over_domain(self.phis[0]), *self.phis[1:]])
        return {**columns, **ids, "dt": np.array(self._last_dt), **own, **deep}

    def _surfaces(self) -> list[str]:
        """The names of φ in a checkpoint, one for each layer."""
        return ["surface", *(f"surface{c}" for c in range(1, len(self._layers_of_solids())))]

    def check(self, state: Mapping[str, np.ndarray]) -> None:
        """Refuse a state that is not one of these particles."""
        self.cloud.check(state, self.solids.whole.three)
        for name in self._surfaces()[1:]:
            if name in state:
                check_array(name, state, self.grid.three, float)
        check_deep(state, self.solids.whole.three)

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Particles of a checkpoint."""
        c = self.cloud
        c.x, c.vel, c.aff, c.mu = self.partition.here(state["x"]), state["vel"], state["aff"], state["mu"]
        c.id, c.born = (state["id"], int(state["born"])) if "id" in state else (np.arange(c.n, dtype=c.ID), c.n)
        c.sources = state.get("sources", c.sources[:0])
        c.side = None
        if "deep" in state and self.deep is None:  # of a scene with a band: its particles are born in the next step
            self.deep = self._deep_liquid()
        if self.deep is not None:
            self.deep.restore(state)
        self._last_dt, self._sorted, self.surface_is_current = float(state["dt"]), False, False
        first, *sides = self._surfaces()
        # a checkpoint of an older version, or beside other walls, has the surface of its particles alone
        self._moved = first in state and all(side in state for side in sides)
        if self._moved:
            self.phi = self.grid.lift(self.partition.with_ghosts(state[first]))
            self.phis = [self.phi, *(state[side] for side in sides)]
            self.phi = self._joined(self.phis)

    def restore_surface(self) -> None:
        """φ by the shift of the ledger: a new search could find another shift."""
        self._sort()
        if not self._moved:
            self._find_phi(None)
            self._shift(self.ledger.offsets)
        self.surface_is_current = True
