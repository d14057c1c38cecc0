"""Tables of shapes in scene files.

`{type = KIND, ...}` names a shape by its kind. The other keys are the arguments of that shape (of its `from_scene` if
it has one) and its placement. Tables are made from the shape classes when they are first needed, so a user's own shape
is known here as soon as its class exists.

The table `[[probe]]` of a scene: what is measured in every step, and where.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import BaseModel, Field, ValidationError, ValidationInfo, create_model, model_validator
from pydantic.json_schema import models_json_schema
from pydantic_core import PydanticCustomError, core_schema

from ..errors import NonstickError, brief
from ..grid import shapes as sd
from .messages import suggestion
from .tables import MOST, Direction, Name, Number, SceneTable, Vector


class ShapeTable(SceneTable):
    """The placement of a shape: keys that every table of a shape can have."""

    #: the class of the shape, and True if it can be built without other shapes or a folder
    made: ClassVar[type[sd.Shape]]
    alone: ClassVar[bool] = False

    rotate: Number = Field(0.0, description="Turn by this many degrees, counterclockwise.")
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis of the rotation (3D).")
    about: Vector | None = Field(None, description="Centre of the rotation; default: the shape's own centre.")
    move: Vector | None = Field(None, description="Shift by this vector, after the rotation.")
    type: str

    @model_validator(mode="after")
    def _possible(self) -> Self:
        """Report mistakes that the shape class itself finds."""
        if self.alone:
            try:
                self.plain(Path())
            except NonstickError as error:
                raise ValueError(str(error)) from None
        return self

    def plain(self, folder: Path) -> sd.Shape:
        """The shape before it is placed."""
        maker = _maker(self.made)
        keys = {name: getattr(self, name) for name in type(self).model_fields if name not in ShapeTable.model_fields}
        keys = {name: _made(value, folder) for name, value in keys.items()}
        if "folder" in inspect.signature(maker).parameters:
            keys["folder"] = folder
        made: sd.Shape = maker(**keys)
        return made


def build(table: ShapeTable, folder: Path = Path(), where: str = "") -> sd.Shape:
    """The shape of a table; paths of files start at `folder`.

    Parameters
    ----------
    table : ShapeTable
        A table from the model of a scene, for example `scene.model.liquid[0].shape`.
    folder : Path
        Where relative paths of meshes start.
    where : str
        What messages begin with: the file and the key of the table.

    Examples
    --------
    >>> from nonstick import Scene
    >>> from nonstick.scenes import build
    >>> build(Scene.load("circle").model.liquid[0].shape).dimension
    2
    """
    try:
        return _placed(table, folder)
    except NonstickError as error:
        raise NonstickError(f"{where}: {error}" if where else str(error)) from None


def _placed(table: ShapeTable, folder: Path) -> sd.Shape:
    shape = table.plain(folder)
    if table.rotate:
        about = table.about if table.about is not None else shape.middle
        if about is None:
            raise NonstickError(f"a {table.type} that is rotated needs `about`, the centre of the rotation")
        axis = table.axis if len(table.axis) == 3 else (0.0, 0.0, 1.0)
        shape = shape.rotate(float(np.radians(table.rotate)), axis, tuple(about))
    if table.move is not None:
        shape = shape.move(tuple(table.move))
    return shape


def _made(value: Any, folder: Path) -> Any:
    if isinstance(value, ShapeTable):
        return build(value, folder)
    if isinstance(value, tuple) and value and isinstance(value[0], ShapeTable):
        return tuple(build(part, folder) for part in value)
    return value


def shape_tables(node: Any, key: str = "") -> Iterator[tuple[str, ShapeTable]]:
    """All tables of shapes in a model, with their keys: those of the scene and those inside other shapes."""
    if isinstance(node, ShapeTable):
        yield key, node
    if isinstance(node, BaseModel):
        for name in type(node).model_fields:
            yield from shape_tables(getattr(node, name), f"{key}.{name}" if key else name)
    elif isinstance(node, tuple):
        for index, part in enumerate(node):
            yield from shape_tables(part, f"{key}.{index}")


# -- a key that takes any shape -----------------------------------------------------------------------


class _AnyShape:
    """Reads a table by its `type`; the shapes are looked up then, not when the schema is made."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(_read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"$shape": True}  # `json_schema` inserts the reference


Shape = Annotated[ShapeTable, _AnyShape()]


def _read(value: Any, info: ValidationInfo) -> ShapeTable:
    if isinstance(value, ShapeTable):
        return value
    if not isinstance(value, dict):
        raise PydanticCustomError("shape_table", "should be a table with a type")
    known = sd.shape_kinds()
    kind = value.get("type")
    names = ", ".join(sorted(known))
    if kind is None:
        raise PydanticCustomError("shape_type", "needs a type, one of {names}", {"names": names})
    if not isinstance(kind, str) or kind not in known:
        meant = suggestion(str(kind), known)
        hint = f"did you mean {meant!r}" if meant else f"known are {names}"
        raise PydanticCustomError(
            "shape_type", "there is no shape of type {kind}, {hint}", {"kind": brief(kind), "hint": hint}
        )
    space, own = (info.context or {}).get("dimension"), getattr(known[kind], "dimension", None)
    if isinstance(own, int) and space not in (None, own):  # a mesh; most shapes have a class for 2D and 3D
        message = "a {kind} is {own}D, but domain.size makes the scene {space}D"
        raise PydanticCustomError("shape_space", message, {"kind": kind, "own": own, "space": space})
    model = table_of(known[kind])
    try:
        return model.model_validate(value, context=info.context)
    except ValidationError as error:
        # the message is written later, where the whole path is known
        raise PydanticCustomError("shape", "is wrong", {"error": error, "known": sorted(model.model_fields)}) from None


@cache
def table_of(cls: type[sd.Shape]) -> type[ShapeTable]:
    """The table of a shape, made from the arguments of its class."""
    maker = _maker(cls)
    hints = _hints(cls)
    fields: dict[str, Any] = {"type": (Literal[cls.kind], ...)}
    alone = True
    for name, parameter in inspect.signature(maker).parameters.items():
        if name == "folder":
            alone = False
            continue
        if name in ShapeTable.model_fields:
            raise NonstickError(
                f"the shape {cls.__qualname__} has an argument {name!r}, which is a key of every shape table: "
                "rename it, or give the class a `from_scene` with another name for it"
            )
        required = parameter.default is inspect.Parameter.empty
        hint, nested = _key(hints.get(name, Any))
        alone = alone and not nested
        fields[name] = (hint, ... if required else parameter.default)
    text = (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")
    table = create_model(cls.__name__, __base__=ShapeTable, __doc__=text, **fields)
    table.made, table.alone = cls, alone
    return table


def _maker(cls: type[sd.Shape]) -> Any:
    return getattr(cls, "from_scene", cls)


def _hints(cls: type[sd.Shape]) -> dict[str, Any]:
    own = getattr(cls, "from_scene", None)
    if own is not None:
        return get_type_hints(own.__func__, include_extras=True)
    return get_type_hints(cls if is_dataclass(cls) else cls.__init__, include_extras=True)


def _key(hint: Any) -> tuple[Any, bool]:
    """The type of the key for an argument of a shape, and True if the key holds shapes."""
    if hint is sd.Shape:
        return Shape, True
    if hint == tuple[sd.Shape, ...]:
        return Annotated[tuple[Shape, ...], Field(min_length=1)], True
    if hint == sd.Vector:
        return Vector, False
    if hint == sd.Direction:
        return Direction, False
    if hint is float:
        return Number, False
    if get_origin(hint) is Annotated and get_args(hint)[0] is float:
        return Annotated[hint, Field(strict=True, le=MOST, allow_inf_nan=False)], False
    if get_origin(hint) in (Union, UnionType):
        parts = [_key(part) for part in get_args(hint)]
        return Union[tuple(part for part, _ in parts)], any(nested for _, nested in parts)  # noqa: UP007
    return hint, False


# -- JSON Schema --------------------------------------------------------------------------------------


def with_shapes(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema of tables that includes the shapes known now."""
    tables = [table_of(cls) for cls in sd.shape_kinds().values()]
    _, shapes = models_json_schema([(table, "validation") for table in tables])
    defs = {**schema.get("$defs", {}), **shapes.get("$defs", {})}
    defs["Shape"] = {"oneOf": [{"$ref": f"#/$defs/{table.__name__}"} for table in tables]}
    whole: dict[str, Any] = _refer({**schema, "$defs": defs})
    return whole


def _refer(node: Any) -> Any:
    if isinstance(node, dict):
        out = {key: _refer(value) for key, value in node.items() if key != "$shape"}
        return {**out, "$ref": "#/$defs/Shape"} if "$shape" in node else out
    return [_refer(value) for value in node] if isinstance(node, list) else node


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
