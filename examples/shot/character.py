"""A character for the shot: a small figure with round limbs, as one closed mesh in character.obj.

It stands on y = 0, 0.42 m tall. Made as a smooth union of balls and capsules, so no file has to be shipped.
"""

import sys

import numpy as np

from nonstick.files.formats import mesh, obj

#: centre line (start, end) and radius of every part, in metres
PARTS = [
    ((0.0, 0.17, 0.0), (0.0, 0.25, 0.0), 0.062),  # body
    ((0.0, 0.35, 0.0), (0.0, 0.355, 0.01), 0.066),  # head
    ((-0.035, 0.14, 0.0), (-0.05, 0.03, 0.0), 0.028),  # legs
    ((0.035, 0.14, 0.0), (0.05, 0.03, 0.0), 0.028),
    ((-0.05, 0.03, 0.0), (-0.05, 0.03, 0.03), 0.03),  # feet
    ((0.05, 0.03, 0.0), (0.05, 0.03, 0.03), 0.03),
    ((-0.06, 0.26, 0.0), (-0.15, 0.33, 0.02), 0.024),  # arms, raised
    ((0.06, 0.26, 0.0), (0.15, 0.33, 0.02), 0.024),
    ((0.0, 0.35, 0.06), (0.0, 0.345, 0.085), 0.016),  # nose
]
#: how softly parts join, in metres
SOFT = 0.022


def distance(x, y, z):
    """Smooth minimum of the distances to all parts."""
    total = 0.0
    for start, end, radius in PARTS:
        a, b = np.array(start), np.array(end)
        way = b - a
        t = ((x - a[0]) * way[0] + (y - a[1]) * way[1] + (z - a[2]) * way[2]) / max(way @ way, 1e-12)
        t = np.clip(t, 0.0, 1.0)
        part = np.sqrt(sum((p - q - t * w) ** 2 for p, q, w in zip((x, y, z), a, way))) - radius
        total = total + np.exp(-np.maximum(part, -0.2) / SOFT)
    return -SOFT * np.log(total)


def main(path="character.obj", n=72):
    """Write the mesh with about n samples over its height; returns it."""
    h = 0.46 / n
    axes = [np.arange(low, high, h) for low, high in ((-0.24, 0.24), (-0.05, 0.47), (-0.12, 0.15))]
    phi = distance(*np.meshgrid(*axes, indexing="ij", sparse=True))
    made = mesh.of_level_set(phi, h, [a[0] for a in axes])
    made.vertices[:, 1] -= made.vertices[:, 1].min()
    obj.write(path, made, "character")
    return made


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["character.obj"])
