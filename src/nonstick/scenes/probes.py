"""The table `[[probe]]` of a scene: what is measured in every step, and where."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from .geometry import Shape
from .tables import Name, SceneTable, Vector

#: sides of the domain: lower and upper end of each axis
SIDES = ("left", "right", "bottom", "top", "back", "front")
#: all sides and solids, but no bodies
WALLS = "walls"

#: for each type of probe: the keys it needs, and those it may have
KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "height": (("at",), ("to", "points")),
    "pressure": ((), ("at", "shape", "on")),
    "velocity": (("at",), ()),
    "flow": (("at", "normal"), ("shape",)),
    "force": (("on",), ("shape", "about")),
}


class ProbeEntry(SceneTable):
    """Something that is measured in every step and written to probes.csv."""

    name: Name = Field("", description="The first part of its columns; default: its type and number.")
    type: Literal["height", "pressure", "velocity", "flow", "force"] = Field(
        description="height: how much water stands above a point or a line; pressure: at a point, or the mean over the "
        "walls in a region; velocity: at a point; flow: through a plane; force: on a solid, a body or a side."
    )
    at: Vector | None = Field(None, description="The point; of a plane: any of its points.")
    to: Vector | None = Field(None, description="The other end of a line of gauges (height).")
    points: int = Field(16, ge=2, le=10_000, description="Number of gauges on a line (height).")
    normal: Vector | None = Field(None, description="The direction in which flow counts as positive (flow).")
    shape: Shape | None = Field(None, description="Only this region counts (flow, force, pressure on walls).")
    on: Name | None = Field(
        None,
        min_length=1,
        description="The name of a solid, of a body or of a side of the domain (left, right, bottom, top, back, "
        "front), or walls for all sides and solids (force, pressure).",
    )
    about: Vector | None = Field(
        None, description="The point torque is about; default: the centre of a body, else the domain's lower corner."
    )

    @model_validator(mode="after")
    def _suitable(self) -> Self:
        needed, allowed = KEYS[self.type]
        for key in needed:
            if getattr(self, key) is None:
                raise ValueError(f"a probe of type {self.type} needs the key {key}")
        given = self.model_fields_set - {"name", "type", *needed, *allowed}
        for key in sorted(given):
            if getattr(self, key) is not None and getattr(self, key) != type(self).model_fields[key].default:
                known = ", ".join((*needed, *allowed))
                raise ValueError(f"a probe of type {self.type} has no key {key}; it has {known}")
        if self.normal is not None and not any(self.normal):
            raise ValueError("the normal of a plane must not be zero")
        if self.type == "pressure" and (self.at is None) == (self.shape is None and self.on is None):
            raise ValueError("a probe of type pressure needs either the point `at`, or a wall: `on`, `shape` or both")
        return self


def named(probes: tuple[ProbeEntry, ...]) -> list[str]:
    """The names of all probes, in order."""
    return [p.name or f"{p.type}-{index + 1}" for index, p in enumerate(probes)]
