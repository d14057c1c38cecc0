"""Small scenes that together have everything a scene can have: what scenes and run directories are mutated from."""

import tomllib
from functools import cache

from nonstick.scenes import builtin, builtin_text

BOX = {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.4]}
BALL = {"type": "ball", "centre": [0.5, 0.7], "radius": 0.15}
STEP = {"name": "step", "shape": {"type": "box", "low": [0.7, -0.1], "high": [0.8, 0.3]}}
DOMAIN = {"size": [1.0, 1.0], "resolution": 10}
SPACE = {"size": [1.0, 1.0, 1.0], "resolution": 8}
POOL = {"shape": {"type": "box", "low": [0.0, 0.0, 0.0], "high": [1.0, 0.4, 1.0]}}
GAUGES = [
    {"name": "gauge", "type": "height", "at": [0.5, 0.0]},
    {"type": "height", "at": [0.1, 0.0], "to": [0.6, 0.0], "points": 5},
    {"type": "pressure", "at": [0.2, 0.1]},
    {"type": "pressure", "on": "left", "shape": BOX},
    {"type": "velocity", "at": [0.3, 0.2]},
    {"type": "flow", "at": [0.5, 0.0], "normal": [1.0, 0.0], "shape": BOX},
    {"type": "force", "on": "step", "about": [0.7, 0.0]},
    {"type": "force", "on": "walls"},
]

BASES = [
    {"domain": DOMAIN, "liquid": [{"shape": BOX}], "bodies": [{"shape": BALL, "density": 400.0}]},
    {"domain": DOMAIN, "liquid": [{"shape": BOX}],
     "solid": [{"shape": BALL, "motion": {"spin": 90.0, "angle": "9*t"}}]},
    {"domain": DOMAIN, "liquid": [{"shape": BOX}], "inflow": [{"shape": BALL, "velocity": [0.0, -1.0]}],
     "outflow": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [0.2, 0.2]}}]},
    {"domain": DOMAIN, "liquid": [{"shape": BOX, "viscosity": 3.0}, {"shape": BALL}], "physics": {"viscosity": 0.5}},
    {"domain": DOMAIN, "liquid": [{"shape": BOX}], "surface": {"track": "grid"}, "walls": {"pressure": "all"}},
    {"domain": DOMAIN, "liquid": [{"shape": BALL, "velocity": [1.0, 0.0], "spin": 90.0}],
     "force": [{"acceleration": [3.0, 0.0], "shape": BOX, "frequency": 2.0}], "particles": {"transfer": "flip"}},
    {"kind": "heat", "domain": {"size": [2.0, 1.0, 0.8], "resolution": 8}, "lower": 20.0, "upper": 80.0,
     "band": [{"low": 0.5, "high": 0.8, "temperature": 0.0}]},
    {"domain": DOMAIN, "liquid": [{"shape": BOX}], "solid": [STEP], "bodies": [
        {"name": "float", "shape": BALL, "density": 400.0, "viscous": "slip"}],
     "probe": [*GAUGES, {"type": "force", "on": "float"}], "output": {"export": ["vtk", "ply"]}},
    {"domain": DOMAIN, "physics": {"viscosity": 20.0, "gravity": ["2*sin(3*t)", -9.81]},
     "liquid": [{"shape": BOX, "velocity": ["-2*(y - 0.5)", "2*(x - 0.5)"]}], "solid": [{**STEP, "viscous": "slip"}],
     "walls": {"viscous": "separating", "left": {"viscous": "slip", "pressure": "none"},
               "bottom": {"adhesion": 50.0, "separation": 0.1}}},
    {"domain": SPACE, "liquid": [{"shape": {"type": "mesh", "file": "closed.obj", "scale": 0.5}}],
     "solid": [{"name": "post", "shape": {"type": "cylinder", "start": [0.7, 0.0, 0.5], "end": [0.7, 1.0, 0.6],
                                          "radius": 0.15}}],
     "probe": [{"type": "force", "on": "post"}, {"type": "flow", "at": [0.5, 0.0, 0.0], "normal": [1.0, 0.0, 0.0]}],
     "output": {"export": ["vdb", "usd", "obj", "glb"], "pressure": True}},
    {"domain": SPACE, "liquid": [POOL], "physics": {"viscosity": 5.0},
     "walls": {"back": {"viscous": "slip"}, "front": {"viscous": "separating"}},
     "bodies": [{"shape": {"type": "mesh", "file": "open.obj", "scale": 0.3, "repair": True, "move": [0.2, 0.5, 0.2]},
                 "density": 700.0}],
     "probe": [{"type": "pressure", "on": "bottom"}, {"type": "velocity", "at": [0.3, 0.2, 0.1]}]},
]  # fmt: skip

#: corners and faces of a cube: the mesh of some scenes
CORNERS = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
FACES = [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]


def write_meshes(folder):
    """The meshes that the scenes name: a cube, and one without its lid."""
    for name, faces in (("closed.obj", FACES), ("open.obj", FACES[:-1])):
        lines = [f"v {x} {y} {z}" for x, y, z in CORNERS]
        for a, b, c, d in faces:
            lines += [f"f {a} {b} {c}", f"f {a} {c} {d}"]
        (folder / name).write_text("\n".join(lines) + "\n")


@cache
def plain_scenes():
    """All scenes to start from, as dicts, the built-in ones too; not to be changed."""
    return BASES * 4 + [tomllib.loads(builtin_text(name)) for kind in ("liquid", "heat") for name in builtin(kind)]
