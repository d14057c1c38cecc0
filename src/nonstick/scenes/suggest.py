"""The key or type that was probably meant: words of other programs, other spellings, and slips of the keyboard."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: our words, and what American English, Blender, Houdini, Mantaflow and others call the same thing
_WORDS = {
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
}  # fmt: skip


def suggestion(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, or None.

    Examples
    --------
    >>> from nonstick.scenes.suggest import suggestion
    >>> suggestion("sphere", ["ball", "box"]), suggestion("center", ["centre", "radius"]), suggestion("xyz", ["box"])
    ('ball', 'centre', None)
    """
    known = list(known)
    given = word[:80].lower().replace("-", "_")
    same = [name for name in known if name.lower() == given]
    meant = [name for name in known if given in _WORDS.get(name, "").split()]
    close = difflib.get_close_matches(given, known, n=1)
    # a slip of the keyboard is nearer than a word of another program, if it is really near
    if close and difflib.SequenceMatcher(None, given, close[0]).ratio() > 0.8:
        meant = [*close, *meant]
    return next(iter([*same, *meant, *close]), None)
