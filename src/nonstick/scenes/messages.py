"""The first mistake of a scene file, as one sentence that names the key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

#: pydantic's names for the parts of a union; they are not keys of a file
_PARTS = ("Keyed", "Ramp", "float", "constrained-float")
#: our words for mistakes that pydantic describes in terms of Python
_WORDS = {
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
}


def sentence(error: ValidationError, model: Any) -> str:
    """A sentence on what is wrong, and where. `model` is the model that rejected the file."""
    # A misspelt key gives two errors: one key is unknown and one is missing. The unknown key is the more useful report.
    # If a number or a table is allowed and a table is given, the mistake inside the table is more useful than "not a
    # number".
    first = min(
        _mistakes(error),
        key=lambda e: (e["type"] != "extra_forbidden", e["type"] == "float_type" and isinstance(e["input"], dict)),
    )
    parts = [str(p) for p in first["loc"] if p not in _PARTS and not str(p).startswith("function-")]
    key = ".".join(parts) or "the file"
    kind, given = first["type"], first.get("input")
    if kind == "extra_forbidden":
        known = first.get("known") or _known_keys(model, parts[:-1])
        close = difflib.get_close_matches(parts[-1], known, n=1)
        hint = f", did you mean {close[0]!r}" if close else f"; known here: {', '.join(known)}" if known else ""
        return f"unknown key {key!r}{hint}"
    if kind == "missing":
        return f"{key!r} is missing"
    if kind == "dimension":
        return f"{key} {first['msg']}"
    message = _WORDS.get(kind) or first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    message = message[:1].lower() + message[1:]
    shown = "" if kind.startswith("shape") else repr(given)
    shown = f" (it is {shown})" if 0 < len(shown) < 60 else ""
    return f"{key}: {message}{shown}"


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


def _models(annotation: Any) -> Iterator[Any]:
    if hasattr(annotation, "model_fields"):
        yield annotation
    elif len(arguments := getattr(annotation, "__args__", ())) <= 3:
        for argument in arguments:
            yield from _models(argument)
