"""The plan of a sweep: a scene, the keys that vary, and a run directory for every combination of their values."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.guarded import read_bytes
from ..errors import NonstickError
from ..files.atomic import safe_names, write_text
from ..scenes.scene import Scene, parse_override

#: the file of a plan in the directory of its sweep
FILE = "sweep.json"
#: combinations beyond which a sweep is more likely a slip than a wish
MOST = 10_000


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep: its directory's name, the values of the keys that vary, and its scene."""

    name: str
    values: dict[str, Any]
    scene: Scene


class SweepPlan:
    """A scene and the keys that vary.

    Parameters
    ----------
    scene : Scene
        What all runs have in common.
    vary : mapping
        Dotted key to the values that it takes.

    Examples
    --------
    >>> from nonstick import Scene
    >>> from nonstick.sweeps import SweepPlan
    >>> plan = SweepPlan(Scene.load("circle"), {"walls.pressure": ["all", "none"], "domain.resolution": [16, 32]})
    >>> [part.name for part in plan.parts]
    ['pressure-all_resolution-16', 'pressure-all_resolution-32', 'pressure-none_resolution-16', 'pressure-none_resolution-32']
    """  # noqa: E501

    def __init__(self, scene: Scene, vary: Mapping[str, Sequence[Any]]):
        if not vary:
            raise NonstickError("nothing varies: name a key and its values, for example --vary domain.resolution=32,64")
        self.scene = scene
        self.vary = {key: list(values) for key, values in vary.items()}
        count = 1
        for key, values in self.vary.items():
            if not values:
                raise NonstickError(f"{key} has no values to vary: give at least one")
            texts = [json.dumps(value, sort_keys=True) for value in values]
            if len(set(texts)) < len(texts):
                raise NonstickError(f"{key} takes a value twice ({', '.join(texts)}): leave one of them out")
            count *= len(values)
        if count > MOST:
            raise NonstickError(f"these are {count} runs, and a sweep has at most {MOST}: vary less at a time")
        self.parts = self._parts()

    def _parts(self) -> list[PlannedRun]:
        short = _short(self.vary)
        combinations = [dict(zip(self.vary, values)) for values in itertools.product(*self.vary.values())]
        names = safe_names(["_".join(f"{short[k]}-{_word(v)}" for k, v in c.items()) for c in combinations], "run")
        return [PlannedRun(name, c, self._with(c)) for name, c in zip(names, combinations)]

    def _with(self, values: dict[str, Any]) -> Scene:
        try:
            return self.scene.replace(values)
        except NonstickError as error:
            which = ", ".join(f"{k}={_word(v)}" for k, v in values.items())
            raise NonstickError(f"the run with {which[:200]} cannot be made: {error}") from None

    # -- on disk --------------------------------------------------------------------------------------

    def save(self, directory: Path) -> None:
        """Write the plan to a directory."""
        from .. import __version__

        data = {
            "format": 1,
            "nonstick": __version__,
            "where": self.scene.where,
            "vary": self.vary,
            "folder": str(self.scene.folder.absolute()),
            "scene": self.scene.to_dict(),
        }
        write_text(directory / FILE, json.dumps(data, indent=1, ensure_ascii=False))

    @classmethod
    def load(cls, directory: str | Path) -> SweepPlan:
        """The plan of the sweep in a directory."""
        file = Path(directory) / FILE
        try:
            data = json.loads(read_bytes(file))
            scene, vary, where, folder = data["scene"], data["vary"], data["where"], data["folder"]
            sound = (
                isinstance(scene, dict) and isinstance(vary, dict) and all(isinstance(v, list) for v in vary.values())
            )
            if not (sound and isinstance(where, str) and isinstance(folder, str)):
                raise TypeError
        except NonstickError:
            raise
        except FileNotFoundError:
            raise NonstickError(f"{directory} is not the directory of a sweep: it has no {FILE}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise NonstickError(f"{file} is damaged: give scene and --vary again, with another --out") from None
        return cls(Scene(scene, where, Path(folder.replace("\0", ""))), vary)

    def joined(self, directory: Path) -> SweepPlan:
        """This plan and the one that a directory has already: values may be added, all else must be the same.

        The runs that were made keep their names, because their values come first.
        """
        if not (directory / FILE).exists():
            return self
        old = SweepPlan.load(directory)
        if old.scene.fingerprint() != self.scene.fingerprint() or list(old.vary) != list(self.vary):
            raise NonstickError(
                f"{directory} holds another sweep (of {old.scene.name}, over {', '.join(old.vary)}): choose another "
                f"--out, or continue it by `nonstick sweep {directory}`"
            )
        return SweepPlan(
            self.scene, {k: [*old.vary[k], *(v for v in self.vary[k] if v not in old.vary[k])] for k in self.vary}
        )


def parse_vary(text: str) -> tuple[str, list[Any]]:
    """`key=a,b,c` as on the command line; commas inside brackets, braces and quotes do not separate.

    Examples
    --------
    >>> from nonstick.sweeps import parse_vary
    >>> parse_vary("walls.adhesion=0,10,100"), parse_vary("physics.gravity=[0.0,-9.81],[0.0,-1.62]")
    (('walls.adhesion', [0, 10, 100]), ('physics.gravity', [[0.0, -9.81], [0.0, -1.62]]))
    """
    key, equals, values = text.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise NonstickError(f"--vary needs key=value,value, for example walls.adhesion=0,10,100, but got {text[:80]!r}")
    return key.strip(), [parse_override(f"{key}={value}")[1] for value in _split(values)]


def _split(text: str) -> list[str]:
    """The text between commas that stand outside of brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{(":
            depth += 1
        elif letter in "]})":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def _short(keys: Mapping[str, Any]) -> dict[str, str]:
    """The last word of each key; the whole key where two would be alike."""
    last = [key.split(".")[-1] for key in keys]
    return {key: word if last.count(word) == 1 else key for key, word in zip(keys, last)}


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
