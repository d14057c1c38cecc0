"""The scene file: every table and key, its type, its default and its meaning.

Units are SI; lengths are metres from the lower corner of the domain, y points up. Nothing depends on the
resolution but the size of the cells. `json_schema()` publishes the same rules for editors.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ..bodies.expression import Expression
from ..errors import NonstickError

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Vector = Annotated[tuple[Number, ...], Field(min_length=2, max_length=3)]
Walls = Literal["none", "cut", "solid", "edge", "all"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


# -- shapes -----------------------------------------------------------------------------------------------


class _Placed(_Table):
    """What every shape can have besides its own keys."""

    rotate: Number = Field(0.0, description="Turn by this many degrees, counterclockwise.")
    axis: Vector = Field((0.0, 0.0, 1.0), description="Axis of the rotation (3D).")
    about: Vector | None = Field(None, description="Centre of the rotation; default: the shape's own centre.")
    move: Vector | None = Field(None, description="Shift by this vector, after the rotation.")


class Ball(_Placed):
    """A disc in 2D, a ball in 3D."""

    type: Literal["ball"]
    centre: Vector
    radius: Positive


class Box(_Placed):
    """An axis-aligned box between two corners."""

    type: Literal["box"]
    low: Vector
    high: Vector

    @model_validator(mode="after")
    def _ordered(self):
        if len(self.low) != len(self.high):
            raise ValueError("low and high need the same number of coordinates")
        if any(a >= b for a, b in zip(self.low, self.high)):
            raise ValueError("every coordinate of low must be below that of high")
        return self


class HalfSpace(_Placed):
    """Everything behind the plane through `point`, on the side `normal` points away from."""

    type: Literal["halfspace"]
    point: Vector
    normal: Vector


class Capsule(_Placed):
    """All points within `radius` of a segment."""

    type: Literal["capsule"]
    start: Vector
    end: Vector
    radius: Positive


class Torus(_Placed):
    """A ring; in 2D an annulus."""

    type: Literal["torus"]
    centre: Vector
    major: Positive
    minor: Positive
    ring_axis: Vector = (0.0, 1.0, 0.0)


class Mesh(_Placed):
    """A closed triangle mesh from a file (needs the extra `[mesh]`); the path is relative to the scene file."""

    type: Literal["mesh"]
    file: str
    scale: Positive = 1.0


class Union(_Placed):
    """All points in any of the shapes."""

    type: Literal["union"]
    of: tuple[Shape, ...] = Field(min_length=1)


class Intersection(_Placed):
    """All points in all of the shapes."""

    type: Literal["intersection"]
    of: tuple[Shape, ...] = Field(min_length=1)


class Difference(_Placed):
    """The first shape without the others."""

    type: Literal["difference"]
    of: tuple[Shape, ...] = Field(min_length=1)


class Shell(_Placed):
    """A thin wall along the surface of a shape."""

    type: Literal["shell"]
    of: Shape
    thickness: Positive


Shape = Annotated[
    Ball | Box | HalfSpace | Capsule | Torus | Mesh | Union | Intersection | Difference | Shell,
    Field(discriminator="type"),
]
for _combination in (Union, Intersection, Difference, Shell):
    _combination.model_rebuild()


# -- the tables of a scene --------------------------------------------------------------------------------


class Domain(_Table):
    """The box the grid covers; its sides are solid walls."""

    size: Annotated[tuple[Positive, ...], Field(min_length=2, max_length=3)] = Field(
        description="Extent in metres; two numbers for 2D, three for 3D."
    )
    resolution: int = Field(64, ge=4, le=4096, description="Cells along the longest side.")


class Time(_Table):
    frames: int = Field(100, ge=1, le=1_000_000, description="Number of frames to make.")
    fps: Positive = Field(60.0, description="Frames per second of simulated time.")
    cfl: Positive = Field(2.0, le=20.0, description="Cells a particle may cross in one substep.")
    max_substeps: int = Field(100, ge=1, description="Cap on substeps per frame; reported when it binds.")
    min_substeps: int = Field(1, ge=1, description="At least this many substeps per frame.")


class Physics(_Table):
    density: Positive = Field(1000.0, description="Liquid density in kg/m³.")
    viscosity: NotNegative = Field(
        0.0, description="Dynamic viscosity in Pa s: water 0.001, oil 0.1, honey 10, batter 100; 0 is inviscid."
    )
    gravity: Vector | None = Field(None, description="Acceleration in m/s²; default 9.81 downwards (-y).")


class WallSettings(_Table):
    pressure: Walls = Field(
        "cut",
        description="Where the pressure must not pull: none (sticky walls), cut (cells the wall cuts), solid "
        "(cells with their centre in a wall), edge (at the wall itself), all (everywhere: splashy).",
    )
    viscous: Literal["no-slip", "slip", "separating"] = Field(
        "no-slip",
        description="What walls do to viscous liquid: no-slip (it moves with them), slip (no shear), separating "
        "(as no-slip where they press on it, free where they do not).",
    )
    separation: NotNegative = Field(0.0, description="Desired separation velocity κ in m/s at the domain's sides.")
    adhesion: NotNegative = Field(0.0, description="Pull in Pa the domain's sides sustain before they let go.")


class Keyed(_Table):
    """A number that varies in time: linear between `values` at `times`, constant outside."""

    times: tuple[Number, ...] = Field(min_length=1)
    values: tuple[NotNegative, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _matched(self):
        if len(self.times) != len(self.values):
            raise ValueError("times and values need the same length")
        if any(a >= b for a, b in zip(self.times, self.times[1:])):
            raise ValueError("times must increase")
        return self


class Ramp(_Table):
    """A number that varies in space: between `values` at the coordinates `at` of one axis, constant outside."""

    along: Literal["x", "y", "z"] = Field("x", description="The axis.")
    at: tuple[Number, ...] = Field(min_length=2, description="Coordinates in metres, increasing.")
    values: tuple[NotNegative, ...] = Field(min_length=2)
    scale: Literal["linear", "log"] = Field(
        "linear", description="What is interpolated: the values or their logarithms."
    )

    @model_validator(mode="after")
    def _matched(self):
        if len(self.at) != len(self.values):
            raise ValueError("at and values need the same length")
        if any(a >= b for a, b in zip(self.at, self.at[1:])):
            raise ValueError("the coordinates `at` must increase")
        if self.scale == "log" and min(self.values) <= 0.0:
            raise ValueError("scale = log needs values above zero")
        return self


def _arithmetic(text: str) -> str:
    try:
        Expression(text)
    except NonstickError as error:
        raise ValueError(str(error)) from None
    return text


#: a formula of the time t in seconds
Formula = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_arithmetic)]


class Keyframes(_Table):
    """Where a solid is at given times: shifts and turns since the beginning, at rest before and after."""

    times: tuple[NotNegative, ...] = Field(min_length=1, description="Seconds, increasing.")
    offsets: tuple[Vector, ...] | None = Field(None, description="Shift in metres at each time.")
    angles: tuple[Number, ...] | None = Field(None, description="Turn in degrees at each time.")
    smooth: bool = Field(True, description="Smooth without overshoot; false: straight lines.")

    @model_validator(mode="after")
    def _matched(self):
        if self.offsets is None and self.angles is None:
            raise ValueError("keyframes need offsets or angles")
        for values in (self.offsets, self.angles):
            if values is not None and len(values) != len(self.times):
                raise ValueError("times, offsets and angles need the same length")
        if any(a >= b for a, b in zip(self.times, self.times[1:])):
            raise ValueError("times must increase")
        return self


class Motion(_Table):
    """A prescribed rigid motion: the sum of all that is given, rotation about a point that moves along."""

    velocity: Vector | None = Field(None, description="Constant velocity in m/s.")
    amplitude: Vector | None = Field(None, description="Oscillation amplitude · sin(2π frequency t) in metres.")
    frequency: NotNegative = Field(1.0, description="Oscillations per second.")
    spin: Number = Field(0.0, description="Rotation in degrees per second.")
    axis: Vector = Field((0.0, 0.0, 1.0), description="Axis of the rotation (3D).")
    about: Vector | None = Field(
        None, description="Centre of the rotation at time 0; default: the domain's centre, a body's own centre."
    )
    position: tuple[Formula | Number, ...] | None = Field(
        None, min_length=2, max_length=3, description='Shift in metres as formulas of t, e.g. ["0.1*sin(2*pi*t)", "0"].'
    )
    angle: Formula | None = Field(None, description='Turn in degrees as a formula of t, e.g. "90*smooth(t/2)".')
    keys: Keyframes | None = None
    start: NotNegative = Field(0.0, description="At rest before this time, which is t = 0 of formulas and keyframes.")
    stop: Positive | None = Field(None, description="At rest after this time.")


class Solid(_Table):
    shape: Shape
    container: bool = Field(False, description="The solid is everything outside the shape.")
    pressure: Walls | None = Field(None, description="As walls.pressure, for this solid; default: walls.pressure.")
    separation: NotNegative | Keyed = Field(0.0, description="Desired separation velocity κ in m/s (may vary in time).")
    adhesion: NotNegative = Field(0.0, description="Pull in Pa this wall sustains before it lets go.")
    motion: Motion | None = None


class Body(_Table):
    """A rigid body: moved by gravity, contact and liquid, or by a prescribed motion."""

    name: str = Field("", max_length=80, description="Used in messages and files; default: body-1, body-2, ...")
    shape: Shape = Field(description="Where the body is at time 0; it must be bounded.")
    density: Positive | None = Field(None, description="In kg/m³; needed unless the body has a motion.")
    velocity: Vector | None = Field(None, description="Initial velocity of the centre of mass in m/s.")
    spin: Number = Field(0.0, description="Initial rotation in degrees per second.")
    axis: Vector = Field((0.0, 0.0, 1.0), description="Axis of the initial rotation (3D).")
    restitution: float = Field(0.3, ge=0.0, le=1.0, strict=True, description="Share of the speed kept by a bounce.")
    friction: NotNegative = Field(0.4, description="Coulomb's coefficient; of two bodies the geometric mean counts.")
    pressure: Walls | None = Field(None, description="As walls.pressure, for this body; default: walls.pressure.")
    separation: NotNegative | Keyed = Field(0.0, description="Desired separation velocity κ in m/s (may vary in time).")
    adhesion: NotNegative = Field(0.0, description="Pull in Pa this body sustains before liquid lets go of it.")
    motion: Motion | None = Field(
        None, description="A prescribed motion: the body moves liquid and others, not they it."
    )

    @model_validator(mode="after")
    def _heavy(self):
        if self.density is None and self.motion is None:
            raise ValueError("a body needs a density, or a motion")
        if self.motion is not None and (self.velocity is not None or self.spin):
            raise ValueError("a body with a motion has its velocity from it: leave velocity and spin out")
        return self


class Liquid(_Table):
    shape: Shape
    velocity: Vector | None = Field(None, description="Initial velocity in m/s.")
    spin: Number = Field(0.0, description="Initial rotation in degrees per second.")
    axis: Vector = Field((0.0, 0.0, 1.0), description="Axis of the rotation (3D).")
    about: Vector | None = Field(None, description="Centre of the rotation; default: the domain's centre.")
    viscosity: NotNegative | Ramp | None = Field(
        None, description="Dynamic viscosity in Pa s, carried along; default: physics.viscosity."
    )


class Inflow(_Table):
    """A region that is kept full of liquid moving with the given velocity."""

    shape: Shape
    velocity: Vector = Field(description="In m/s, relative to the source where it moves.")
    start: NotNegative = 0.0
    stop: Positive | None = None
    viscosity: NotNegative | Ramp | None = Field(
        None, description="Dynamic viscosity in Pa s, carried along; default: physics.viscosity."
    )
    motion: Motion | None = Field(None, description="A prescribed motion of the source; its liquid moves with it.")


class Outflow(_Table):
    """A region in which liquid is taken away."""

    shape: Shape


class Force(_Table):
    """A body force besides gravity, everywhere or in a region."""

    acceleration: Vector = Field(description="In m/s².")
    shape: Shape | None = None
    frequency: NotNegative = Field(0.0, description="If not 0: times cos(2π frequency t).")
    start: NotNegative = 0.0
    stop: Positive | None = None


class Solver(_Table):
    method: str = Field("auto", description="Any name of `nonstick methods`.")
    rtol: Positive = Field(1e-6, lt=1.0, description="KKT residual of every pressure solve, relative to max|b|.")
    maxiter: int | None = Field(None, ge=1, description="Iteration limit; default: the method's own.")
    viscosity: str = Field("visc-auto", description="Method of the viscosity step: any visc-… name.")
    viscosity_rtol: Positive = Field(1e-4, lt=1.0, description="Residual of every viscosity solve, relative to max|b|.")
    warm_start: bool = Field(True, description="Start from the pressure and the contact set of the step before.")


class Particles(_Table):
    transfer: Literal["apic", "flip", "pic"] = "apic"
    flip: float = Field(0.97, ge=0.0, le=1.0, description="Share of FLIP against PIC, for transfer = flip.")
    per_axis: int = Field(2, ge=1, le=4, description="Particles per cell along each axis.")
    jitter: float = Field(0.5, ge=0.0, le=1.0, description="How far the first positions stray from a lattice.")
    seed: int = Field(1, ge=0)
    even_out: bool = Field(True, description="Move crowded particles apart (positions only).")


class Surface(_Table):
    track: Literal["particles", "grid"] = Field(
        "particles", description="Particles, or a level set moved on the grid (semi-Lagrangian, with peel-off rule)."
    )


class Volume(_Table):
    correct: bool = Field(True, description="Hold the volume of the surface at the ledger's.")


class Output(_Table):
    particles: bool = Field(True, description="Write positions and velocities of particles in every frame.")
    surface: bool = Field(True, description="Write the liquid's level set in every frame.")
    pressure: bool = Field(True, description="Write the pressure in every frame (2D).")
    checkpoint_every: int = Field(10, ge=1, description="Keep a checkpoint of every n-th frame besides the last two.")
    movie: bool = Field(True, description="Make preview.mp4 and preview.png at the end of a run.")


class Camera(_Table):
    """How the preview looks."""

    width: int = Field(640, ge=64, le=8192, description="Pixels.")
    height: int = Field(640, ge=64, le=8192)
    azimuth: Number = Field(30.0, description="Degrees the camera is turned around y (3D).")
    elevation: float = Field(18.0, ge=-89.0, le=89.0, description="Degrees the camera looks down (3D).")
    zoom: Positive = 1.0
    colour: Literal["liquid", "speed", "pressure", "viscosity"] = Field(
        "liquid", description="What colours show; pressure in 2D only; viscosity where it varies."
    )
    tint: tuple[Share, Share, Share] | None = Field(None, description="Colour of the liquid: red, green, blue in 0..1.")
    clear: Positive = Field(0.2, description="How deep one sees into the liquid (3D), as a share of the longest side.")
    fps: Positive | None = Field(None, description="Frames per second of the movie; default: at most 30.")


class SceneModel(_Table):
    """A whole scene file."""

    name: str = Field("scene", min_length=1, max_length=80)
    description: str = ""
    domain: Domain
    time: Time = Time()
    physics: Physics = Physics()
    walls: WallSettings = WallSettings()
    liquid: tuple[Liquid, ...] = ()
    solid: tuple[Solid, ...] = ()
    bodies: tuple[Body, ...] = ()
    inflow: tuple[Inflow, ...] = ()
    outflow: tuple[Outflow, ...] = ()
    force: tuple[Force, ...] = ()
    solver: Solver = Solver()
    particles: Particles = Particles()
    surface: Surface = Surface()
    volume: Volume = Volume()
    output: Output = Output()
    camera: Camera = Camera()

    @property
    def dimension(self) -> int:
        return len(self.domain.size)

    @model_validator(mode="after")
    def _carried(self):
        """Viscosity of its own needs particles that carry it, and an axis the domain has."""
        for table, entries in (("liquid", self.liquid), ("inflow", self.inflow)):
            for index, entry in enumerate(entries):
                given = entry.viscosity
                if given is not None and given != self.physics.viscosity and self.surface.track == "grid":
                    raise ValueError(
                        f"{table}.{index}.viscosity is carried by particles, and surface.track = grid has none: take "
                        "surface.track = particles, or one physics.viscosity for all liquid"
                    )
                if isinstance(given, Ramp) and given.along == "z" and self.dimension == 2:
                    raise ValueError(f"{table}.{index}.viscosity.along is z, but the scene is 2D")
        return self


def json_schema() -> dict[str, Any]:
    """The JSON Schema of scene files (draft 2020-12), for editors and other programs."""
    schema = SceneModel.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "nonstick scene",
        **{k: v for k, v in schema.items() if k != "title"},
    }
