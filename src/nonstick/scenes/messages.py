"""The first mistake of a scene file, as one sentence that names the key, and the word that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from ..errors import brief

#: pydantic's names for the parts of a union; they are not keys of a file
_PARTS = ("Keyed", "Ramp", "float", "constrained-float")
#: our words for mistakes that pydantic describes in terms of Python; what stands in braces is in the error's context
_WORDS = {
    "greater_than": "should be above {gt:.15g}",
    "greater_than_equal": "should be at least {ge:.15g}",
    "less_than": "should be below {lt:.15g}",
    "less_than_equal": "should be at most {le:.15g}",
    "too_short": "should have at least {min_length} entries and has {actual_length}",
    "too_long": "should have at most {max_length} entries and has {actual_length}",
    "string_too_short": "should not be empty",
    "string_too_long": "should have at most {max_length} characters",
    "literal_error": "should be one of {expected}",
    "tuple_type": "should be a list",
    "model_type": "should be a table",
    "model_attributes_type": "should be a table",
    "float_type": "should be a number",
    "int_type": "should be a whole number",
    "int_from_float": "should be a whole number",
    "int_parsing": "should be a whole number",
    "bool_type": "should be true or false",
    "bool_parsing": "should be true or false",
    "string_type": "should be text in quotes",
    "finite_number": "should be a finite number",
    "int_parsing_size": "should be a smaller number",
    "string_unicode": "should be text",
}


def sentence(error: ValidationError, model: Any) -> str:
    """A sentence on what is wrong, and where. `model` is the model that rejected the file."""
    # A misspelt key gives two errors: one key is unknown and one is missing. The unknown key is the more useful report.
    # If a number or a table (or a formula) is allowed and a table (or text) is given, the mistake inside it is more
    # useful than "not a number"; and if a number is given, what is wrong with it more than "not text".
    first = min(
        _mistakes(error),
        key=lambda e: (
            e["type"] != "extra_forbidden",
            e["type"] == "float_type" and isinstance(e["input"], (dict, str)) and e["loc"][-1] in _PARTS,
            e["type"] == "string_type" and isinstance(e["input"], (int, float)),
        ),
    )
    kind, given = first["type"], first.get("input")
    parts = _keys(first["loc"], kind)
    key = ".".join(parts) if parts else "the file"
    if kind == "extra_forbidden":
        known = first.get("known") or _known_keys(model, parts[:-1])
        inside = [] if parts[:-1] else _inside_tables(model, known, key)
        meant = suggestion(parts[-1], known)
        meant_one = " or ".join(map(repr, inside[:3])) or (repr(meant) if meant else "")
        hint = f", did you mean {meant_one}" if meant_one else f"; known here: {', '.join(known)}" if known else ""
        return f"unknown key {brief(key)}{hint}"
    if kind == "missing":
        return f"{key!r} is missing"
    if kind in ("dimension", "unprintable", "nowhere"):
        return f"{key} {first['msg']}"
    words = _WORDS.get(kind)
    message = words.format(**first.get("ctx", {})) if words else first["msg"]
    if kind == "tuple_type" and isinstance(given, dict) and len(parts) == 1:
        message = f"should be a list of tables: write [[{key}]] with two brackets"
    message = message.removeprefix("Value error, ").removeprefix("Input ")
    message = message[:1].lower() + message[1:]
    shown = "" if kind.startswith("shape") or isinstance(given, (dict, list)) else f" (it is {brief(given)})"
    return f"{key}: {message}{shown}"


def _keys(place: tuple[int | str, ...], kind: str) -> list[str]:
    """The keys of a file that lead to a mistake: without the names that pydantic gives to the parts of a union.

    An unknown key stands last and may be called anything, even like such a part.
    """
    keys = [str(p) for p in place]
    unknown = keys[-1:] if kind == "extra_forbidden" else []
    way = keys[: len(keys) - len(unknown)]
    return [p for p in way if p not in _PARTS and not p.startswith("function-")] + unknown


def _mistakes(error: ValidationError) -> Iterator[dict[str, Any]]:
    """All mistakes with their whole path; mistakes in a shape are nested in the mistake of its key."""
    for found in error.errors():
        if found["type"] != "shape":
            yield dict(found)
            continue
        for inner in _mistakes(found["ctx"]["error"]):
            own = {"known": found["ctx"]["known"]} if len(inner["loc"]) == 1 else {}
            yield {**own, **inner, "loc": (*found["loc"], *inner["loc"])}


def _known_keys(model: Any, path: list[str]) -> list[str]:
    """Keys allowed in the table at `path`; empty if the schema cannot be followed."""
    for part in path:
        if part.isdigit():
            continue
        field = getattr(model, "model_fields", {}).get(part)
        if field is None:
            return []
        model = next(_models(field.annotation), None)
    return sorted(getattr(model, "model_fields", {}))


def _inside_tables(model: Any, tables: Iterable[str], key: str) -> list[str]:
    """Where a key that stands at the top belongs, as `frames` is `time.frames`; in lists of tables if nowhere else."""
    found: dict[bool, list[str]] = {False: [], True: []}
    for table in tables:
        several = getattr(model.model_fields[table].annotation, "__origin__", None) in (list, tuple)
        for name in _known_keys(model, [table]):
            if name.lower() == key.lower():
                found[several].append(f"{table}.0.{name}" if several else f"{table}.{name}")
    return found[False] or found[True]


def _models(annotation: Any) -> Iterator[Any]:
    if hasattr(annotation, "model_fields"):
        yield annotation
    elif len(arguments := getattr(annotation, "__args__", ())) <= 3:
        for argument in arguments:
            yield from _models(argument)


#: our words, and what American English, Blender, Houdini, Mantaflow and others call the same thing
_SYNONYMS = {
    # types of shapes
    "ball": "sphere circle disc disk point ico icosphere uv_sphere uvsphere",
    "box": "cube cuboid rectangle rect square block brick slab",
    "halfspace": "plane half_space half-space ground floor",
    "cylinder": "tube pipe disk_3d cone",
    "capsule": "pill rod sausage stadium",
    "torus": "donut doughnut ring",
    "union": "join merge add boolean combine or",
    "difference": "subtract subtraction minus cut",
    "intersection": "intersect and common",
    "shell": "hollow thicken solidify offset",
    "mesh": "obj stl ply geometry file object model",
    # keys of shapes
    "centre": "center origin position pos location middle t",
    "radius": "r rad size scale",
    "low": "min lower lo corner minimum from",
    "high": "max upper hi maximum to",
    "start": "begin from a first frame_start start_time",
    "end": "to b last",
    "normal": "direction dir up n",
    "point": "origin position centre center location",
    "major": "radius outer major_radius",
    "minor": "thickness inner minor_radius tube_radius",
    "file": "filename filepath path mesh source",
    "scale": "size factor unit units",
    "repair": "fix close fill_holes heal",
    "move": "translate translation offset shift location t",
    "rotate": "rotation angle rot r euler",
    "about": "pivot origin centre center",
    "of": "shapes parts children items shape",
    "thickness": "width",
    # tables
    "liquid": "fluid flow water liquids",
    "solid": "obstacle collider collision effector solids wall static",
    "bodies": "body rigid rigidbody rigid_body rigidbodies rigid_bodies rbd",
    "inflow": "emitter source emit inlet inflows",
    "outflow": "drain sink outlet outflows",
    "force": "forces wind field",
    "probe": "sensor gauge probes",
    "physics": "material properties world",
    "camera": "view render",
    "output": "cache outputs",
    # keys of tables
    "size": "dimensions dimension extent extents bounds box lengths",
    "resolution": "res divisions resolution_max cells grid n",
    "frames": "frame_end frame_count num_frames n_frames end duration",
    "fps": "framerate frame_rate rate frames_per_second",
    "cfl": "cfl_number cfl_condition courant",
    "max_substeps": "substeps timesteps_max timesteps_maximum maxsubsteps maximum_substeps",
    "min_substeps": "timesteps_min timesteps_minimum minsubsteps minimum_substeps",
    "density": "rho mass",
    "viscosity": "mu nu eta dynamic_viscosity thickness",
    "velocity": "speed vel v initial_velocity inflow_velocity",
    "spin": "angular_velocity omega w",
    "friction": "mu",
    "restitution": "bounciness bounce elasticity",
    "adhesion": "stick stickiness",
    "container": "inverse inside invert hollow outside",
    "motion": "animation animated path",
    "acceleration": "force strength gravity a",
    "stop": "end stop_time frame_end",
    "method": "solver algorithm",
    "rtol": "tol tolerance eps accuracy",
    "maxiter": "max_iter max_iterations iterations",
    "per_axis": "sampling particle_number particles_per_axis",
    "flip": "flip_ratio pic_flip ratio",
    "jitter": "randomness particle_randomness random",
    "colour": "color",
    "azimuth": "yaw angle rotation",
    "elevation": "pitch tilt",
    "zoom": "focal_length lens",
    "checkpoint_every": "checkpoint checkpoints backup",
}


def suggestion(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, or None.

    Examples
    --------
    >>> from nonstick.scenes.messages import suggestion
    >>> suggestion("sphere", ["ball", "box"]), suggestion("center", ["centre", "radius"]), suggestion("xyz", ["box"])
    ('ball', 'centre', None)
    """
    known = list(known)
    given = word[:80].lower().replace("-", "_")
    same = [name for name in known if name.lower() == given]
    meant = [name for name in known if given in _SYNONYMS.get(name, "").split()]
    close = difflib.get_close_matches(given, known, n=1)
    # a slip of the keyboard is nearer than a word of another program, if it is really near
    if close and difflib.SequenceMatcher(None, given, close[0]).ratio() > 0.8:
        meant = [*close, *meant]
    return next(iter([*same, *meant, *close]), None)
