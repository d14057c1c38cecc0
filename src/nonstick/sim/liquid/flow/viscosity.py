"""The viscosity stage, between projections (Aanjaneya §4.1), and viscous liquid at walls.

- `no-slip`: liquid at a wall moves with it, and its shear is that of the wall's true distance. Thick liquid does not
  leave the wall: the pressure may pull it there. Liquid is thick if its velocity spreads over a cell within the step.
  The boundary layer of other liquid is not resolved, and `walls.pressure` alone decides whether it separates.
- `slip`: liquid takes only the wall's normal velocity; no shear acts there.
- `separating`: a wall holds liquid only where the liquid presses on it. Where the projection before this stage found no
  pressure, liquid has left the wall: its faces are free and no shear acts there. Elsewhere it acts like no-slip.

A face whose middle lies in a solid belongs to the solid nearest to it, a face beyond the domain to its side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.ndimage import binary_dilation

from .... import registry
from ....discretise.fields import edge_volumes, liquid_volumes, window_of_liquid
from ....discretise.pressure import PressureProblem
from ....discretise.stokes import StokesProblem, StokesSolution
from ....discretise.viscosity import ViscosityProblem, ViscositySolution
from ....discretise.viscosity_bodies import BodyViscositySolution, ViscosityWithBodies, ViscousBody
from ....grid._extrapolate import _extrapolate
from ....grid.faces import FaceField, at_faces, ends, lower, upper
from ....grid.fractions import cut_cells
from ....grid.mac import Grid
from ....scenes.schema import Ramp, SceneModel
from ....solvers.cascade import in_turn
from ..particles._particles import _normalise, _scatter_value
from ..particles.storage import Cloud
from ..settings import STEP
from ..solids.on_grid import Solids
from .extrapolation import LiquidFaces
from .masses import Masses
from .thin_walls import ThinWalls


@dataclass
class Walls:
    """What a viscosity problem needs to know of walls."""

    #: masks, False on solid faces
    fluid: FaceField
    #: velocity of liquid and of solids
    velocity: FaceField
    #: distance of the faces to solids, in cells
    distance: FaceField
    #: liquid fractions at edges, 0 where no shear acts, in the user's dimension
    edges: tuple[np.ndarray, ...]
    #: the distances, NaN in solids to which no liquid clings
    no_slip_distance: FaceField


def walls_of(solids: Solids, velocity: FaceField, unpressed: FaceField, edges, pressure: np.ndarray) -> Walls:
    """The walls of a step; `pressure` of the projection before says where liquid presses on them.

    On faces that have left a wall the liquid moves as it did before that projection (`unpressed`): the projection
    leaves closed faces the velocity of their solid.
    """
    grid = solids.grid
    distance = no_slip_distance = distance_of_faces(solids)
    solid = distance <= 0.0
    for axis, mask in solid.each():
        mask[ends(axis)] = True  # the sides of the domain
    given, fluid = solid.where(solids.velocity, velocity), ~solid
    for kind in ("slip", "separating"):
        if kind not in solids.viscous:
            continue
        mine, sides = _of_kind(solids, solid, kind)
        free = np.ones(pressure.shape, bool)
        if kind == "slip":
            distance, no_slip_distance = mine.where(0.0, distance), mine.where(np.nan, distance)
        else:
            # include cells of air: liquid that has begun to leave still fills a part of them
            free = pressure <= 0.0
            left = FaceField((m & touches(free, axis) for axis, m in mine.each()), grid.axes)
            fluid, given = fluid | left, left.where(unpressed, given)
        edges = tuple(e * ~grid.drop(_at_walls(mine, sides, free, axis)) for axis, e in zip(grid.edge_axes, edges))
    return Walls(fluid, given, distance, edges, no_slip_distance)


def distance_of_faces(solids: Solids) -> FaceField:
    """Distance of the middles of faces to solids, in cells; beside a thin wall as their own side sees it."""
    grid, layers = solids.grid, solids.layers
    views = [solids] if layers is None else layers.list
    away = [FaceField((at_faces(view.nodes, axis) for axis in grid.axes), grid.axes) for view in views]
    return away[0] if layers is None else layers.closed.where(0.0, layers.faces(away))


def _of_kind(solids: Solids, solid: FaceField, kind: str) -> tuple[FaceField, list[tuple[bool, bool]]]:
    """The solid faces of walls of this kind, and for each of three axes whether its sides are of this kind."""
    sides = [False, False] * solids.grid.axes.start + [side.viscous == kind for side in solids.sides]
    sides_of_axes = list(zip(sides[::2], sides[1::2]))
    if len(set(solids.viscous)) == 1:
        return solid, sides_of_axes
    alike = np.array(solids.viscous) == kind
    return solid & solids.nearest_to_faces().map(lambda nearest: alike[nearest]), sides_of_axes


def touches(cells: np.ndarray, a: int) -> np.ndarray:
    """Faces of axis a next to a cell of the mask."""
    return _either(_widened(cells, a), a)


def _at_walls(solid: FaceField, sides: list[tuple[bool, bool]], wet: np.ndarray, n: int) -> np.ndarray:
    """Edges along axis n with a solid face, or on one of the sides, and next to a cell of `wet`; all on three axes."""
    a, b = (axis for axis in range(3) if axis != n)
    around_a = _either(_widened(solid[a], b, sides[b]), b)
    around_b = _either(_widened(solid[b], a, sides[a]), a)
    near = _either(_either(_widened(_widened(wet, a), b), a), b)
    return (around_a | around_b) & near


def _widened(mask: np.ndarray, axis: int, ends: tuple[bool, bool] = (False, False)) -> np.ndarray:
    """A mask with one more entry at both ends of an axis."""
    pad = [(int(k == axis),) * 2 for k in range(mask.ndim)]
    return np.pad(mask, pad, constant_values=[ends if k == axis else (False, False) for k in range(mask.ndim)])


def _either(mask: np.ndarray, axis: int) -> np.ndarray:
    """True where at least one of two neighbours along an axis is True."""
    return lower(mask, axis) | upper(mask, axis)


def cell_viscosity(cloud: Cloud, grid: Grid) -> np.ndarray:
    """The mean of the particles around each cell, weighted by the trilinear hat of its centre.

    Cells beyond the particles take the mean of their neighbours, layer by layer: the edges of the surface average over
    them. The particles must be sorted.
    """
    mu, mass = np.zeros(grid.three), np.zeros(grid.three)
    _scatter_value(mu, mass, cloud.x, cloud.mu, cloud.start, grid.plane)
    known = np.empty(mu.shape, np.int8)
    _normalise(mu, known, mass)
    # the edges of the surface need one layer, a surface shifted to keep its volume another
    _extrapolate(mu, known, np.empty(mu.size, np.int32), STEP.near)
    return mu


@dataclass
class Skin:
    """Faces of one axis in the air next to thick liquid that have mass, and the solved faces that take them along.

    Particles reach half a cell beyond the faces of the solve. What of them lies there would fall freely, and a thread
    would leave its skin behind. So the velocity is continued linearly there, which does not change rotations: each
    direction with two solved faces a, b in a row gives 2a - b, and the mean over these directions counts; if there are
    none, the mean of the neighbours a.

    What takes mass along has to move it. So before forces the faces a get the mass, and the momentum by which it
    differs from the continued velocity. Otherwise the weight of the skin would act on nothing, and a film whose surface
    is a grid line would lose the drive of an eighth of a cell.
    """

    at: tuple[np.ndarray, ...]
    #: the flat indices of a and b, and the share of each face of the skin; b is a if a alone counts
    share: list[tuple[np.ndarray, np.ndarray, np.ndarray]]

    @classmethod
    def of(cls, solved: np.ndarray, mass: np.ndarray, near: np.ndarray, axes: range) -> Skin:
        """The skin among the faces `near` thick liquid."""
        at = np.nonzero(~solved & (mass > 1e-9) & near)
        ways = [(axis, side) for axis in axes for side in (-1, 1)] if at[0].size else []
        ones, twos = ([_beside(solved, at, *way, far) for way in ways] for far in (1, 2))
        lines, count, share = np.zeros(at[0].size), np.zeros(at[0].size), []
        for (_, one), (_, two) in zip(ones, twos):
            lines += one & two
            count += one
        for (a, one), (b, two) in zip(ones, twos):
            straight = one & two
            part = np.where(lines > 0.0, straight / np.maximum(lines, 1.0), one / np.maximum(count, 1.0))
            share.append((a, np.where(straight, b, a), part))
        return cls(at, share)

    def continued(self, u: np.ndarray) -> np.ndarray:
        """The velocity that the solved faces give to the skin; its own where there are none."""
        total, held = np.zeros(self.at[0].size), np.zeros(self.at[0].size)
        for a, b, part in self.share:
            total += part * (2.0 * u.flat[a] - u.flat[b])
            held += part
        return np.where(held > 0.0, total, u[self.at])

    def drag(self, u: np.ndarray) -> None:
        """Let the skin move with the liquid, in place."""
        u[self.at] = self.continued(u)

    def load(self, u: np.ndarray, mass: np.ndarray, open_share: np.ndarray) -> None:
        """Give mass and momentum of the skin to the faces that take it along, in place; the skin keeps its own."""
        more, momentum = np.zeros(mass.size), np.zeros(mass.size)
        own, differs = mass[self.at], u[self.at] - self.continued(u)
        for a, _, part in self.share:
            taken = part * own * (open_share.flat[a] > 0.0)
            np.add.at(more, a, taken)
            np.add.at(momentum, a, taken * differs)
        a = np.flatnonzero(more)
        mass.flat[a] += more[a]
        u.flat[a] += momentum[a] / mass.flat[a]


def _beside(solved: np.ndarray, at: tuple[np.ndarray, ...], axis: int, side: int, far: int):
    """Flat indices of the faces so many faces beside the faces `at`, and whether they are solved."""
    moved = list(at)
    moved[axis] = at[axis] + side * far
    inside = (moved[axis] >= 0) & (moved[axis] < solved.shape[axis])
    moved[axis] = np.clip(moved[axis], 0, solved.shape[axis] - 1)
    return np.ravel_multi_index(moved, solved.shape), inside & solved[tuple(moved)]


#: tried when the scene's own method misses its tolerance
STRONGER = ("visc-auto", "visc-cg")
#: the same for pressure and viscosity together
COUPLED = ("stokes-auto", "stokes-minres")


class Viscosity:
    """Solves the viscosity of each step."""

    def __init__(self, solids: Solids, model: SceneModel):
        self.solids = solids
        self.mu, self.rho = model.physics.viscosity, model.physics.density
        own = [liquid.viscosity for liquid in model.liquid] + [inflow.viscosity for inflow in model.inflow]
        found = [self.mu if value is None else value for value in own] or [self.mu]
        #: True if the viscosity varies in space and particles carry it
        self.carried = len({*found}) > 1 or isinstance(found[0], Ramp)
        if not isinstance(found[0], Ramp) and not self.carried:
            self.mu = found[0]
        self._thick = any(max(v.values) if isinstance(v, Ramp) else v for v in found)
        self.method, self.rtol = model.solver.viscosity, model.solver.viscosity_rtol
        at_edges = isinstance(solids.mode, str) and solids.mode == "edge"  # a step of the papers: pressures on edges
        #: True if pressure and viscosity are solved together
        self.coupled = model.solver.viscous == "stokes" and not at_edges
        #: where the last solve has found the velocity of liquid
        self.liquid_faces: LiquidFaces

    @property
    def acts(self) -> bool:
        """True if any liquid of the scene is viscous."""
        return bool(self._thick)

    def given(self, value: float | Ramp | None, points) -> np.ndarray | float:
        """Viscosity at points (metres) of a liquid or a source of the scene, whose key holds `value`."""
        if not isinstance(value, Ramp):
            return self.mu if value is None else value
        x = points["xyz".index(value.along)]
        if value.scale == "log":
            return np.exp(np.interp(x, value.at, np.log(value.values)))
        return np.interp(x, value.at, value.values)

    def is_thick(self, mu: np.ndarray | float, gravity: np.ndarray) -> np.ndarray:
        """True where viscosity spreads velocities faster than waves of a cell move, ν > √(g dx³): over cells, or one.

        A wall that does not let such liquid slip does not let it go either, and what sticks out of it moves with it.
        """
        return np.asarray(mu) > self.rho * np.sqrt(float(np.linalg.norm(gravity)) * self.solids.grid.dx**3)

    def load_bodies(self, masses: Masses) -> None:
        """Give the faces in bodies, whose liquid moves with the body, the mass of its shape.

        Particles hardly come there: they bring a quarter too little. Its weight would be missing, and as the pressure
        lifts the body by all that it displaces, a sphere a sixth heavier than its liquid would sink 10 % too slowly.
        """
        solids = self.solids
        if self.acts and self.coupled and solids.coupling is not None:
            held = distance_of_faces(solids) <= 0.0
            masses.inertia = held.where(masses.hat * solids.open, masses.inertia)

    def held_walls(self, mu: np.ndarray | float, gravity: np.ndarray, sources=()) -> np.ndarray | None:
        """Cells in which no-slip walls hold thick liquid by pressure too, or None; `sources` as in `solve`.

        Cells at sources are excluded: liquid that comes out of a wall must be able to leave it.
        """
        solids, grid = self.solids, self.solids.grid
        thick = self.is_thick(mu, gravity)
        if "no-slip" not in solids.viscous or not thick.any():
            return None
        thick = np.broadcast_to(thick, grid.three).copy()
        if len(set(solids.viscous)) > 1:
            thick &= (np.array(solids.viscous) == "no-slip")[solids.owner]
        for source, time in sources:
            thick &= source.at(time).sample(grid.cells()) > grid.dx
        return thick

    def solve(
        self, phi: np.ndarray, velocity: FaceField, unpressed: FaceField, pressure: np.ndarray, mu: np.ndarray | float,
        dt: float, sources=(),
    ) -> ViscositySolution | BodyViscositySolution:  # fmt: skip
        """Solve for the viscosity of one step; arrays have three axes.

        Parameters
        ----------
        phi
            Distance to the surface at cell centres, in cells.
        velocity, pressure
            After the first projection.
        unpressed
            The velocity before it.
        mu
            Dynamic viscosity, a number or an array over cells.
        dt
            Length of the step.
        sources
            Pairs (source, time) that flow. The velocity of their faces is given. Otherwise thick liquid would stay on
            the wall it comes out of.
        """
        solids = self.solids
        faces, cells, edges = liquid_volumes(solids.grid.dx * solids.grid.drop(phi))
        walls = self._with_sources(walls_of(solids, velocity, unpressed, edges, pressure), sources)
        problem = self._problem(walls, mu, dt, (faces, cells, walls.edges))
        best = self._found(problem, self.rtol, None)
        if isinstance(problem, ViscosityWithBodies):
            solids.push(best.motions)
        return best

    def _with_sources(self, walls: Walls, sources) -> Walls:
        """The walls, and faces in sources, whose velocity is given."""
        solids = self.solids
        self.liquid_faces = self._liquid_faces(walls)
        for source, time in sources:
            shape = source.at(time)
            points = [solids.grid.faces(a) for a in range(solids.grid.dimension)]
            inside = FaceField.of([shape.sample(x) < 0 for x in points])
            speeds = (source.velocity(a, x, time) for a, x in enumerate(points))
            flow = FaceField.of([np.broadcast_to(v, f.shape) for v, f in zip(speeds, inside.user)])
            # the velocity of a source holds in the middles of its faces
            distance = inside.where(walls.distance.map(lambda d: np.maximum(d, 0.0)), walls.distance)
            given = inside.where(flow, walls.velocity)
            walls = replace(walls, fluid=walls.fluid & ~inside, velocity=given, distance=distance)
        return walls

    def solve_with_pressure(
        self, inviscid: PressureProblem, mu: np.ndarray | float, pressure: np.ndarray, contact: np.ndarray, sources=(),
        phis: Sequence[np.ndarray] = (),
    ) -> StokesSolution:  # fmt: skip
        """Solve for velocity and pressure of one step together.

        `inviscid` is the step without viscosity; `pressure` and `contact` are those of the last step. Where liquid has
        separated from a wall, no stress holds it there; nor where it does not press on a wall of kind "separating".
        `phis` is φ in each layer beside thin walls.
        """
        solids, grid, velocity = self.solids, self.solids.grid, FaceField.of(inviscid.velocity)
        mass = inviscid.mass
        if solids.layers is None:
            edges = edge_volumes(inviscid.phi_liquid, window_of_liquid(inviscid.phi_liquid))
        else:
            assert mass is not None
            thin = ThinWalls.of(solids, phis)
            edges, velocity, mass = thin.edges, *thin.held(velocity, mass, solids, mu, inviscid.dt / self.rho)
        rest = np.full(pressure.shape, np.inf)  # walls let go by `released`, not by their faces
        walls = self._with_sources(walls_of(solids, velocity, velocity, edges, rest), sources)
        bodies: dict[str, Any] = {}
        if inviscid.coupling is not None:
            bodies = {"bodies": inviscid.coupling, "body_of_face": solids.body_of_face().user}
        given = {
            "phi_liquid": inviscid.phi_liquid, "velocity": velocity.user,
            "viscosity": grid.drop(mu) if isinstance(mu, np.ndarray) else mu,
            "dt": inviscid.dt, "dx": grid.dx, "rho": self.rho, "weights": solids.open.user,
            "solid_velocity": walls.fluid.where(solids.velocity, walls.velocity).user, "fluid": walls.fluid.user,
            "distance": walls.distance.user, "edges": walls.edges, "walls": inviscid.walls,
            "adhesion": inviscid.adhesion, "released": grid.drop(self._released(pressure, contact)),
            "source": inviscid.wanted_divergence(), "mass": mass, "pressure": grid.drop(pressure),
            "contact": grid.drop(contact), **bodies,
        }  # fmt: skip
        if not solids.partition.shared:
            return self._solved_together(given)
        from ....mpi.viscous import solve_on_first

        return solve_on_first(solids.partition, given, self._solved_together)

    def _solved_together(self, given: dict[str, Any]) -> StokesSolution:
        """The Stokes problem of these fields, solved from the pressure and contact of the last step."""
        pressure, contact = given.pop("pressure"), given.pop("contact")
        start = given["velocity"], pressure
        return StokesProblem(**given).solve(
            in_turn(*map(registry.get, COUPLED)), rtol=self.rtol, x0=start, active=contact
        )

    def _released(self, pressure: np.ndarray, contact: np.ndarray) -> np.ndarray:
        """Cells in which walls exert no stress on the liquid."""
        solids, out = self.solids, contact < 0
        if "separating" in solids.viscous:
            lets_go = (np.array(solids.viscous) == "separating")[solids.owner]
            out |= lets_go & (pressure <= 0.0) & solids.grid.lift(cut_cells(solids.open.user))
        return out

    def skin(self, masses: Masses, mu: np.ndarray | float, gravity: np.ndarray, wet: np.ndarray) -> dict[int, Skin]:
        """The skin of thick liquid on the faces of each axis that has some; `wet` are the cells of the solve."""
        thick = np.broadcast_to(self.is_thick(mu, gravity), wet.shape) & wet
        if not thick.any():
            return {}
        around, axes = binary_dilation(thick), self.solids.grid.axes
        found = {axis: Skin.of(touches(wet, axis), m, touches(around, axis), axes) for axis, m in masses.inertia.each()}
        return {axis: skin for axis, skin in found.items() if skin.share}

    def _liquid_faces(self, walls: Walls) -> LiquidFaces:
        """Faces in walls have the wall's velocity in the solve: that of the liquid is continued from other faces."""
        return LiquidFaces(walls.fluid.where(self.solids.open, 0.0), walls.no_slip_distance)

    def _found(self, problem: ViscosityProblem | ViscosityWithBodies, rtol: float, start) -> Any:
        """The solution, or the best one found; `start` are face arrays near it, or None."""
        if self.solids.partition.shared:
            assert isinstance(problem, ViscosityProblem)
            from ....mpi.viscous import solve_viscosity

            return solve_viscosity(self.solids.partition.comm, self.solids.partition.face_halos, problem, rtol, start)
        methods = dict.fromkeys((registry.name_of(self.method), *STRONGER))
        return problem.solve(in_turn(*map(registry.get, methods)), x0=start, rtol=rtol, criterion="papers")

    def _problem(self, walls: Walls, mu, dt: float, volumes) -> ViscosityProblem | ViscosityWithBodies:
        """The problem of the liquid, or of liquid and bodies: faces in a body move with it and exert a drag on it."""
        solids = self.solids
        fields: dict[str, Any] = {
            "velocity": walls.velocity.user, "viscosity": solids.grid.drop(mu) if np.ndim(mu) else mu, "dt": dt,
            "dx": solids.grid.dx, "rho": self.rho, "volumes": volumes, "distance": walls.distance.user,
        }  # fmt: skip
        if solids.coupling is None:
            moving = solids.velocity.user if solids.moving else None
            return ViscosityProblem(fluid=walls.fluid.user, solid_velocity=moving, **fields)
        owner = walls.fluid.where(-1, solids.body_of_face())
        fluid = walls.fluid | (owner >= 0)
        bodies = []
        for covered, motion in zip(solids.coupling.covered, solids.motions()):
            velocity, spin = np.split(motion, [len(covered.body.centre)])
            bodies.append(ViscousBody(covered.body.centre, velocity, spin, matrix=covered.mass))
        return ViscosityWithBodies(bodies=bodies, body_of_face=owner.user, fluid=fluid.user, **fields)
