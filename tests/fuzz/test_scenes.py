"""Mutated scene files: each is checked and, if it passes, run for two frames."""

import copy
import random
import shutil
import string
from collections import Counter
from functools import cache

import pytest
import tomli_w
from bases import BALL, BASES, BOX, plain_scenes, write_meshes
from bounds import answered, none_broke, seeds

from nonstick import Scene, methods
from nonstick.sim.kinds import check
from nonstick.sim.run.loop import run

NUMBERS = [0, -1, 1, 2, 0.0, -0.0, 0.5, 1e-15, 1e-9, 1e-300, 5e-324, 1e9, 1e14, 1e15, -1e15, 1e20, 1e300, 1.8e308,
           float("inf"), float("nan"), 10**10, 2**63, -(2**63), 10**400, True, False]  # fmt: skip
WORDS = ["", "x", "../../x", "\x1b[31m", "a\0b", "é" * 90, "x" * 5000, "t", "1/t", "t**t", "exp(900*t)", "sqrt(-t)",
         "z", "cut", "edge", "grid", "apic", "flip", "union", "difference", "mesh", "torus", "float", "Ramp", "slip",
         "separating", "left", "front", "walls", "step", "height", "force", "flow", "velocity", "vdb", "usd", "glb",
         "closed.obj", "open.obj", ".", "x/y", "x*y", "log(x)", "x**y", "cylinder", "1e400", "max(t, 0)"]  # fmt: skip
KEYS = [
    ("time", "fps"), ("time", "cfl"), ("time", "min_substeps"), ("physics", "density"), ("physics", "viscosity"),
    ("walls", "adhesion"), ("walls", "separation"), ("solver", "rtol"), ("solver", "viscosity_rtol"), ("time", "dt"),
    ("particles", "jitter"), ("particles", "flip"), ("camera", "zoom"),
]  # fmt: skip
SHAPES = [
    BOX, BALL, {"type": "union", "of": [BALL, BOX]}, {"type": "difference", "of": [BOX, BALL]},
    {"type": "shell", "of": BALL, "thickness": 0.05}, {"type": "mesh", "file": "nowhere.obj"},
    {"type": "cylinder", "start": [0.2, 0.1], "end": [0.6, 0.3], "radius": 0.1},
    {"type": "box", "low": [0.2, 0.2], "high": [0.2, 0.6]}, {**BOX, "rotate": 33.0, "move": [0.1, 0.3]},
]  # fmt: skip


def places(node, path=()):
    """Paths of all entries of nested tables."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


def value(rng):
    kind = rng.randrange(8)
    if kind < 4:
        return rng.choice(NUMBERS)
    if kind == 4:
        return rng.choice(WORDS + sorted(methods()))
    if kind == 5:
        return [rng.choice(NUMBERS) for _ in range(rng.randrange(5))]
    return copy.deepcopy(rng.choice(SHAPES)) if kind == 6 else {}


def size(rng):
    """A number of any size that scenes may have."""
    return rng.choice([-1.0, 1.0, 1.0, 1.0]) * 10.0 ** rng.uniform(*rng.choice([(-2, 2), (-2, 2), (-6, 6), (-15, 15)]))


@cache
def vocabulary():
    """Key → all values that it has in scenes to start from."""
    found = {}

    def collect(node):
        for key, inside in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(key, str):
                found.setdefault(key, []).append(inside)
            if isinstance(inside, (dict, list)):
                collect(inside)

    for scene in plain_scenes():
        collect(scene)
    return found


def nudge(rng, data):
    """One change that a user might make, in place: a number a few times larger, or a value from another scene."""
    everywhere = list(places(data))
    path = rng.choice(everywhere) if everywhere else ("name",)
    table = data
    for part in path[:-1]:
        table = table[part]
    key, kind = path[-1], rng.randrange(4)
    if kind == 0:
        other = rng.choice(BASES)
        name = rng.choice([name for name in other if name != "domain"])
        data[name] = copy.deepcopy(other[name])
    elif type(table[key]) in (int, float):
        table[key] = type(table[key])(table[key] * 10.0 ** rng.uniform(-0.7, 0.7) * rng.choice([1, 1, 1, -1]))
    elif key in vocabulary():
        table[key] = copy.deepcopy(rng.choice(vocabulary()[key]))


def change(rng, data):
    """One random change, in place: mostly another value of the same type."""
    everywhere = list(places(data))
    path = rng.choice(everywhere) if everywhere else ("name",)
    table = data
    for part in path[:-1]:
        table = table[part]
    key, kind = path[-1], rng.randrange(24)
    old = table[key] if isinstance(table, list) or key in table else None
    if kind >= 18:
        where, name = rng.choice(KEYS)
        if isinstance(data.setdefault(where, {}), dict):
            data[where][name] = size(rng)
    elif kind >= 10 and type(old) in (int, float):
        table[key] = size(rng) if rng.randrange(2) else rng.choice(NUMBERS)
    elif kind >= 10 and isinstance(old, str):
        table[key] = rng.choice(WORDS + sorted(methods()))
    elif kind >= 10:
        change(rng, data)
    elif kind < 3 and type(old) in (int, float) and abs(old) < 1e300:
        table[key] = old * rng.choice([-1, 0.1, 0.5, 2, 3, 10, 1e3, 1e-3, 1e6, 1e-6])
    elif kind == 3:
        del table[key]
    elif kind == 4 and isinstance(old, list):
        old.extend(copy.deepcopy(old))
    elif kind == 5 and isinstance(old, dict) and "type" in old:
        table[key] = {"type": rng.choice(["union", "intersection", "difference"]), "of": [old, rng.choice(SHAPES)]}
    elif kind == 6:
        other = rng.choice(BASES)
        name = rng.choice(list(other))
        data[name] = copy.deepcopy(other[name])
    elif kind == 7 and isinstance(old, dict):
        old[rng.choice(["", " ", ".", "float", "".join(rng.choices(string.ascii_lowercase, k=4))])] = value(rng)
    else:
        table[key] = value(rng)


def mutant(seed):
    """A scene as a dict, or the text of a file with some bytes changed."""
    rng = random.Random(seed)
    data = copy.deepcopy(rng.choice(plain_scenes()))
    mild = rng.randrange(2)
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        (nudge if mild else change)(rng, data)
    small(data)
    if mild or rng.randrange(5):
        return data
    text = list(tomli_w.dumps(data)) if writable(data) else list("[domain]\nsize = [1.0, 1.0]\n")
    for _ in range(rng.choice([1, 2, 10])):
        where = rng.randrange(len(text))
        text[where : where + rng.randrange(3)] = rng.choice(["", "9", "-", '"', "[", "]", "=", "\n", "e", "\0", "\x1b"])
    return "".join(text)


def writable(data):
    try:
        tomli_w.dumps(data)
    except (ValueError, TypeError):
        return False
    return True


def small(data):
    """Hold the size down, where the mutation has left a size."""
    limits = [("domain", "resolution", 10), ("time", "frames", 2), ("time", "max_substeps", 20)]
    for table, key, most in limits[: 2 if data.get("kind") == "heat" else 3]:
        found = data.setdefault(table, {})
        if isinstance(found, dict) and (key not in found or (type(found[key]) is int and found[key] > most)):
            found[key] = most
    output = data.setdefault("output", {})
    if isinstance(output, dict):
        output["movie"] = False


@pytest.mark.filterwarnings("ignore")
def test_mutated_scenes(tmp_path):
    write_meshes(tmp_path)
    tried = Counter()
    for seed in seeds(20):
        scene, out = mutant(seed), tmp_path / str(seed)
        with answered(seed):
            tried["scenes"] += 1
            made = Scene(scene, "mutant.toml", tmp_path) if isinstance(scene, dict) else read(scene, tmp_path)
            if max(made.shape) <= 64 and made.model.time.frames <= 2:
                tried["checked"] += 1
                check(made)
                tried["run"] += 1
                run(made, out)
                tried["finished"] += 1
        shutil.rmtree(out, ignore_errors=True)
    print(dict(tried))
    none_broke()


def read(text, folder):
    file = folder / "mutant.toml"
    file.write_text(text, encoding="utf-8")
    return Scene.load(file)
