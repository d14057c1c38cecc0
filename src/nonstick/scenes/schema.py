"""The scene file of kind `liquid`: every table and key, its type, its default and its meaning.

Units are SI; lengths are metres from the lower corner of the domain, y points up. The resolution changes only the size
of the cells. `json_schema()` publishes the same rules for editors.

The scene file of kind `heat`: a body, bands that hold a temperature, and bounds on it.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from .geometry import SIDES, WALLS, ProbeEntry, Shape, named
from .tables import (
    Camera,
    Colour,
    Direction,
    Domain,
    Formula,
    Formulas,
    Name,
    NotNegative,
    Number,
    Positive,
    SceneTable,
    SceneTables,
    Vector,
    VelocityField,
)

Walls = Literal["none", "cut", "solid", "edge", "all"]
Viscous = Literal["no-slip", "slip", "separating"]


class Time(SceneTable):
    frames: int = Field(100, ge=1, le=1_000_000, description="Number of frames to make.")
    fps: Positive = Field(60.0, description="Frames per second of simulated time.")
    cfl: float = Field(2.0, strict=True, ge=1e-4, le=20.0, description="Cells a particle may cross in one substep.")
    max_substeps: int = Field(100, ge=1, le=100_000, description="Limit on substeps per frame; more are reported.")
    min_substeps: int = Field(1, ge=1, le=100_000, description="At least this many substeps per frame.")
    order: Literal[1, 2] = Field(
        1, description="Order in time of viscosity: backward Euler, or two stages (SDIRK2) where no wall lets go."
    )


class Physics(SceneTable):
    density: Positive = Field(1000.0, description="Liquid density in kg/m³.")
    viscosity: NotNegative = Field(
        0.0, description="Dynamic viscosity in Pa s: water 0.001, oil 0.1, honey 10, batter 100; 0 is inviscid."
    )
    gravity: Formulas | None = Field(
        None,
        description='Acceleration in m/s², numbers or formulas of t, e.g. ["2*sin(3*t)", -9.81]; default 9.81 '
        "downwards (-y).",
    )


class SideSettings(SceneTable):
    """One side of the domain; a key that is not given is that of all walls."""

    pressure: Walls | None = Field(None, description="Like walls.pressure, for this side.")
    viscous: Viscous | None = Field(None, description="Like walls.viscous, for this side.")
    separation: NotNegative | None = Field(None, description="Like walls.separation, for this side.")
    adhesion: NotNegative | None = Field(None, description="Like walls.adhesion, for this side.")


class WallSettings(SceneTable):
    pressure: Walls = Field(
        "cut",
        description="Cells where the pressure must not pull: none (sticky walls), cut (cells the wall cuts), solid "
        "(cells with their centre in a wall), edge (at the wall itself), all (everywhere: splashy).",
    )
    viscous: Viscous = Field(
        "no-slip",
        description="Viscous liquid at walls: no-slip (it moves with the wall), slip (no shear), separating "
        "(no-slip where the liquid presses on the wall, free elsewhere).",
    )
    separation: NotNegative = Field(0.0, description="Desired separation velocity κ in m/s at the domain's sides.")
    adhesion: NotNegative = Field(0.0, description="Pull in Pa that the domain's sides hold before liquid separates.")
    left: SideSettings | None = Field(None, description="The side at x = 0.")
    right: SideSettings | None = Field(None, description="The opposite side.")
    bottom: SideSettings | None = Field(None, description="The side at y = 0.")
    top: SideSettings | None = Field(None, description="The opposite side.")
    back: SideSettings | None = Field(None, description="The side at z = 0 (3D).")
    front: SideSettings | None = Field(None, description="The opposite side (3D).")


class Keyed(SceneTable):
    """A number that varies in time: linear between `values` at `times`, constant outside."""

    times: tuple[Number, ...] = Field(min_length=1)
    values: tuple[NotNegative, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _matched(self) -> Self:
        if len(self.times) != len(self.values):
            raise ValueError("times and values need the same length")
        if any(a >= b for a, b in zip(self.times, self.times[1:])):
            raise ValueError("times must increase")
        return self


class Ramp(SceneTable):
    """A number that varies in space: between `values` at the coordinates `at` of one axis, constant outside."""

    along: Literal["x", "y", "z"] = Field("x", description="The axis.")
    at: tuple[Number, ...] = Field(min_length=2, description="Coordinates in metres, increasing.")
    values: tuple[NotNegative, ...] = Field(min_length=2)
    scale: Literal["linear", "log"] = Field("linear", description="Interpolate the values or their logarithms.")

    @model_validator(mode="after")
    def _matched(self) -> Self:
        if len(self.at) != len(self.values):
            raise ValueError("`at` and `values` need the same length")
        if any(a >= b for a, b in zip(self.at, self.at[1:])):
            raise ValueError("the coordinates `at` must increase")
        if self.scale == "log" and min(self.values) <= 0.0:
            raise ValueError("scale = log needs values above zero")
        return self


class Keyframes(SceneTable):
    """Positions of a solid at given times: shifts and turns since the beginning, at rest before and after."""

    times: tuple[NotNegative, ...] = Field(min_length=1, description="Seconds, increasing.")
    offsets: tuple[Vector, ...] | None = Field(None, description="Shift in metres at each time.")
    angles: tuple[Number, ...] | None = Field(None, description="Turn in degrees at each time.")
    smooth: bool = Field(True, description="Smooth without overshoot; false: straight lines.")

    @model_validator(mode="after")
    def _matched(self) -> Self:
        if self.offsets is None and self.angles is None:
            raise ValueError("keyframes need offsets or angles")
        for values in (self.offsets, self.angles):
            if values is not None and len(values) != len(self.times):
                raise ValueError("times, offsets and angles need the same length")
        if any(a >= b for a, b in zip(self.times, self.times[1:])):
            raise ValueError("times must increase")
        return self


class MotionTable(SceneTable):
    """A prescribed rigid motion: the sum of all given parts; the centre of rotation moves with the solid."""

    velocity: Vector | None = Field(None, description="Constant velocity in m/s.")
    amplitude: Vector | None = Field(None, description="Oscillation amplitude · sin(2π frequency t) in metres.")
    frequency: NotNegative = Field(1.0, description="Oscillations per second.")
    spin: Number = Field(0.0, description="Rotation in degrees per second.")
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis of the rotation (3D).")
    about: Vector | None = Field(
        None, description="Centre of the rotation at time 0; default: the domain's centre, a body's own centre."
    )
    position: Formulas | None = Field(
        None, description='Shift in metres as formulas of t, e.g. ["0.1*sin(2*pi*t)", "0"].'
    )
    angle: Formula | None = Field(None, description='Turn in degrees as a formula of t, e.g. "90*smooth(t/2)".')
    keys: Keyframes | None = None
    start: NotNegative = Field(0.0, description="At rest before this time, which is t = 0 of formulas and keyframes.")
    stop: Positive | None = Field(None, description="At rest after this time.")


class SolidTable(SceneTable):
    name: Name = Field("", description="The name that probes use; default: solid-1, solid-2, ...")
    shape: Shape
    container: bool = Field(False, description="The solid is everything outside the shape.")
    pressure: Walls | None = Field(None, description="Like walls.pressure, for this solid; default: walls.pressure.")
    viscous: Viscous | None = Field(None, description="Like walls.viscous, for this solid; default: walls.viscous.")
    separation: NotNegative | Keyed = Field(0.0, description="Desired separation velocity κ in m/s (may vary in time).")
    adhesion: NotNegative = Field(0.0, description="Pull in Pa that this wall holds before liquid separates.")
    motion: MotionTable | None = None


class BodyTable(SceneTable):
    """A rigid body: moved by gravity, contact and liquid, or by a prescribed motion."""

    name: Name = Field("", description="Used in messages and files; default: body-1, body-2, ...")
    shape: Shape = Field(description="Where the body is at time 0; it must be bounded.")
    density: Positive | None = Field(None, description="In kg/m³; needed unless the body has a motion.")
    velocity: Vector | None = Field(None, description="Initial velocity of the centre of mass in m/s.")
    spin: Number = Field(0.0, description="Initial rotation in degrees per second.")
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis of the initial rotation (3D).")
    restitution: float = Field(0.3, ge=0.0, le=1.0, strict=True, description="Share of the speed kept by a bounce.")
    friction: NotNegative = Field(
        0.4, description="Coulomb's coefficient; two bodies use the geometric mean of theirs."
    )
    pressure: Walls | None = Field(None, description="Like walls.pressure, for this body; default: walls.pressure.")
    viscous: Viscous | None = Field(None, description="Like walls.viscous, for this body; default: walls.viscous.")
    separation: NotNegative | Keyed = Field(0.0, description="Desired separation velocity κ in m/s (may vary in time).")
    adhesion: NotNegative = Field(0.0, description="Pull in Pa that this body holds before liquid separates.")
    motion: MotionTable | None = Field(
        None, description="A prescribed motion: the body pushes liquid and other bodies, but they do not push it."
    )

    @model_validator(mode="after")
    def _heavy(self) -> Self:
        if self.density is None and self.motion is None:
            raise ValueError("a body needs a density or a motion")
        if self.motion is not None and (self.velocity is not None or self.spin):
            raise ValueError("the motion of a body gives its velocity: remove velocity and spin, or the motion")
        return self


class LiquidTable(SceneTable):
    shape: Shape
    velocity: VelocityField | None = Field(
        None, description='Initial velocity in m/s: numbers, or formulas of x, y, z such as ["-2*y", "2*x"].'
    )
    spin: Number = Field(0.0, description="Initial rotation in degrees per second.")
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis of the rotation (3D).")
    about: Vector | None = Field(None, description="Centre of the rotation; default: the domain's centre.")
    viscosity: NotNegative | Ramp | None = Field(
        None, description="Dynamic viscosity in Pa s, carried along; default: physics.viscosity."
    )
    colour: Colour | None = Field(
        None, description="Colour in pictures: a name, or #rrggbb; default: by viscosity (water, oil, honey, pitch)."
    )


class Inflow(SceneTable):
    """A region that is kept full of liquid moving with the given velocity."""

    shape: Shape
    velocity: Vector = Field(description="In m/s; relative to the source if it moves.")
    start: NotNegative = 0.0
    stop: Positive | None = None
    viscosity: NotNegative | Ramp | None = Field(
        None, description="Dynamic viscosity in Pa s, carried along; default: physics.viscosity."
    )
    colour: Colour | None = Field(
        None, description="Colour in pictures: a name, or #rrggbb; default: by viscosity (water, oil, honey, pitch)."
    )
    motion: MotionTable | None = Field(None, description="A prescribed motion of the source; its liquid moves with it.")


class Outflow(SceneTable):
    """A region in which liquid is removed."""

    shape: Shape


class ForceTable(SceneTable):
    """A body force besides gravity, everywhere or in a region."""

    acceleration: Vector = Field(description="In m/s².")
    shape: Shape | None = None
    frequency: NotNegative = Field(0.0, description="If not 0, the force is multiplied by cos(2π frequency t).")
    start: NotNegative = 0.0
    stop: Positive | None = None


class SolverTable(SceneTable):
    method: Name = Field("auto", description="Any name of `nonstick methods`.")
    rtol: Positive = Field(1e-6, lt=1.0, description="KKT residual of every pressure solve, relative to max|b|.")
    maxiter: int | None = Field(None, ge=1, le=10**9, description="Iteration limit; default: the method's own.")
    viscous: Literal["stokes", "split"] = Field(
        "stokes",
        description="Pressure and viscosity of viscous liquid: in one solve, or split into three as in the papers.",
    )
    viscosity: Name = Field("visc-auto", description="Method of the viscosity step if it is split: any visc-… name.")
    viscosity_rtol: Positive = Field(1e-4, lt=1.0, description="Residual of every viscosity solve, relative to max|b|.")
    array: Literal["numpy", "torch", "jax", "cupy"] | None = Field(
        None, description="Array library of the pressure solve, with method auto or an -array one; default: compiled."
    )
    device: Name | None = Field(None, description="Device of that library, such as cuda:0; default: its own choice.")
    dtype: Literal["float64", "float32"] = Field("float64", description="Precision on that device.")
    warm_start: bool = Field(True, description="Start from the pressure and the contact set of the last step.")


class ParticlesTable(SceneTable):
    transfer: Literal["apic", "flip", "pic"] = "apic"
    flip: float = Field(0.97, ge=0.0, le=1.0, description="Share of FLIP against PIC, for transfer = flip.")
    per_axis: int = Field(2, ge=1, le=4, description="Particles per cell along each axis.")
    jitter: float = Field(0.5, ge=0.0, le=1.0, description="Random deviation of the first positions from a lattice.")
    seed: int = Field(1, ge=0, lt=2**63)
    even_out: bool = Field(True, description="Move crowded particles apart (positions only).")
    band: int = Field(
        0, ge=0, le=90, description="Layers of cells with particles below the surface and along walls, at least 4; "
        "deeper liquid is on the grid alone. 0: all liquid has particles.",
    )  # fmt: skip


class Surface(SceneTable):
    track: Literal["particles", "grid"] = Field(
        "particles", description="Particles, or a level set moved on the grid (semi-Lagrangian, with peel-off rule)."
    )


class Volume(SceneTable):
    correct: bool = Field(True, description="Keep the volume inside the surface equal to that of the ledger.")


class OutputTable(SceneTable):
    particles: bool = Field(True, description="Write positions and velocities of particles in every frame.")
    surface: bool = Field(True, description="Write the liquid's level set in every frame.")
    pressure: bool | None = Field(
        None, description="Write the pressure in every frame; default: in 2D scenes, not in 3D scenes."
    )
    checkpoint_every: int = Field(
        10, ge=1, le=10**9, description="Keep a checkpoint of every n-th frame besides the last two."
    )
    movie: bool = Field(True, description="Make preview.mp4 and preview.png at the end of a run.")
    export: tuple[Literal["vdb", "usd", "vtk", "ply", "obj", "glb"], ...] = Field(
        (), description="Formats of files for other programs, written to export/ during the run."
    )


class SceneModel(SceneTables):
    """A whole scene file of kind liquid."""

    kind: Literal["liquid"] = "liquid"
    name: Name = Field("scene", min_length=1)
    time: Time = Time()
    physics: Physics = Physics()
    walls: WallSettings = WallSettings()
    liquid: tuple[LiquidTable, ...] = ()
    solid: tuple[SolidTable, ...] = ()
    bodies: tuple[BodyTable, ...] = ()
    inflow: tuple[Inflow, ...] = ()
    outflow: tuple[Outflow, ...] = ()
    force: tuple[ForceTable, ...] = ()
    probe: tuple[ProbeEntry, ...] = ()
    solver: SolverTable = SolverTable()
    particles: ParticlesTable = ParticlesTable()
    surface: Surface = Surface()
    volume: Volume = Volume()
    output: OutputTable = OutputTable()
    camera: Camera = Camera()

    @model_validator(mode="after")
    def _sides(self) -> Self:
        """Check that the sides named exist."""
        for name in ("back", "front"):
            if self.dimension == 2 and getattr(self.walls, name) is not None:
                raise ValueError(f"walls.{name} is a side of a 3D domain: use left, right, bottom or top")
        return self

    @model_validator(mode="after")
    def _carried(self) -> Self:
        """Check that a liquid with its own viscosity has particles to carry it, and that its axis exists."""
        both: dict[str, tuple[LiquidTable | Inflow, ...]] = {"liquid": self.liquid, "inflow": self.inflow}
        for table, entries in both.items():
            for index, entry in enumerate(entries):
                given = entry.viscosity
                if given is not None and given != self.physics.viscosity and self.surface.track == "grid":
                    raise ValueError(
                        f"{table}.{index}.viscosity needs particles to carry it, but surface.track = grid has none: "
                        "use surface.track = particles, or one physics.viscosity for all liquid"
                    )
                if isinstance(given, Ramp) and given.along == "z" and self.dimension == 2:
                    raise ValueError(f"{table}.{index}.viscosity.along is z, but the scene is 2D: use x or y")
        return self

    @model_validator(mode="after")
    def _deep(self) -> Self:
        """Check that liquid without particles is possible."""
        given = [entry.viscosity for entry in self.sources]
        reasons = {
            "at least 4 layers, or 0 for all liquid": self.particles.band < 4,
            "surface.track = particles": self.surface.track != "particles",
            "one physics.viscosity for all liquid, because particles carry others": any(
                mu is not None and mu != self.physics.viscosity for mu in given
            ),
            "no flow probe, because it counts particles": any(probe.type == "flow" for probe in self.probe),
        }
        if self.particles.band and any(reasons.values()):
            raise ValueError(f"particles.band needs {'; '.join(r for r, there in reasons.items() if there)}")
        return self

    @model_validator(mode="after")
    def _observed(self) -> Self:
        """Check that names are not given twice, and that probes name walls and bodies that exist."""
        for table, names in (("solid", self.solid_names), ("probe", named(self.probe))):
            twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
            if twice is not None:
                raise ValueError(f"two entries of {table} are called {twice!r}: give each its own name")
        sides = SIDES[: 2 * self.dimension]
        known = [WALLS, *sides, *self.solid_names, *self.body_names]
        for index, probe in enumerate(self.probe):
            if probe.on is not None and known.count(probe.on) != 1:
                many = "there are several things called" if probe.on in known else "there is no wall or body called"
                raise ValueError(f"probe.{index}.on: {many} {probe.on!r}; known are {', '.join(known)}")
            if probe.shape is not None and probe.on in self.body_names and probe.on not in self.solid_names:
                raise ValueError(f"probe.{index}.shape: a region works with walls only, and {probe.on!r} is a body")
            if probe.type == "pressure" and probe.on in self.body_names:
                raise ValueError(f"probe.{index}.on: {probe.on!r} is a body; use type = force, or a point")
        return self

    @property
    def sources(self) -> tuple[LiquidTable | Inflow, ...]:
        """All that brings liquid: the liquids, then the inflows. Frames number their particles by it."""
        return self.liquid + self.inflow

    @property
    def solid_names(self) -> list[str]:
        """The names of the solids, in order."""
        return [s.name or f"solid-{index + 1}" for index, s in enumerate(self.solid)]

    @property
    def body_names(self) -> list[str]:
        """The names of the bodies, in order."""
        return [b.name or f"body-{index + 1}" for index, b in enumerate(self.bodies)]


class Band(SceneTable):
    """Cells of the body between two values of x hold a temperature."""

    low: Number
    high: Number
    temperature: Number


class HeatTime(SceneTable):
    frames: int = Field(120, ge=1, le=1_000_000, description="At most this many frames; equilibrium ends a run.")
    dt: Positive = Field(0.008, description="Time between two frames.")


class HeatSolver(SceneTable):
    method: Name = Field("ipm-pd", description="Any name of `nonstick methods`.")
    rtol: Positive = Field(1e-9, lt=1.0, description="KKT residual of every step.")


class HeatOutput(SceneTable):
    movie: bool = Field(True, description="Make preview.mp4 and preview.png.")
    compare: bool = Field(True, description="Run without bounds too and show both side by side.")


class HeatModel(SceneTables):
    """A whole scene file of kind heat."""

    kind: Literal["heat"]
    name: Name = Field("heat", min_length=1)
    description: str = ""
    domain: Domain = Domain(size=(2.0, 1.0, 0.8), resolution=96)
    body: Shape | None = Field(None, description="Any shape or mesh; default: a dragon.")
    start: Number = Field(50.0, description="Temperature at the start.")
    band: tuple[Band, ...] = ()
    lower: Number | None = Field(None, description="Lower bound; no bound if omitted.")
    upper: Number | None = Field(None, description="Upper bound; no bound if omitted.")
    diffusivity: Positive = 1.0
    time: HeatTime = HeatTime()
    solver: HeatSolver = HeatSolver()
    output: HeatOutput = HeatOutput()

    @field_validator("domain")
    @classmethod
    def _in_space(cls, domain: Domain) -> Domain:
        if len(domain.size) != 3:
            raise ValueError("a heat scene has three dimensions, so domain.size needs three numbers")
        return domain

    @property
    def cells(self) -> tuple[int, ...]:
        """The number of cells along each axis. The grid has no walls, so no cell is cut."""
        return tuple(max(1, round(side / self.domain.dx)) for side in self.domain.size)
