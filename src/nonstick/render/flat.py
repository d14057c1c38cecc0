"""Drawings of 2D frames: liquid, solids, spray; coloured plainly, by speed or by pressure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import distance_transform_edt, gaussian_filter, map_coordinates

from ..grid.shapes import Shape
from .palette import AIR, PAINTS, SOLID, SOLID_EDGE, WATER, WATER_EDGE, ramp


def draw(frame: dict[str, np.ndarray], phi_solid: np.ndarray, dx: float, width: int, height: int,
         colour: str = "liquid", scale: float | None = None, tint=None,
         bodies: Sequence[Shape] = ()) -> np.ndarray:  # fmt: skip
    """An RGB image (uint8) of one frame. `phi_solid` is nodal; `scale` is the value at the end of the ramp.

    `bodies` are shapes where they are in this frame, in metres.
    """
    nx, ny = (n - 1 for n in phi_solid.shape)
    per_cell = min(width / nx, height / ny)
    w, h = max(2, round(nx * per_cell) // 2 * 2), max(2, round(ny * per_cell) // 2 * 2)
    # pixel centres in cells; row 0 of an image is the top
    x = (np.arange(w) + 0.5) * nx / w
    y = ny - (np.arange(h) + 0.5) * ny / h
    X, Y = np.meshgrid(x, y)
    pixel = nx / w
    solid = map_coordinates(phi_solid / dx, [X, Y], order=1, mode="nearest")
    water, edge = (WATER, WATER_EDGE) if tint is None else (np.array(tint), 0.6 * np.array(tint))
    image = np.broadcast_to(AIR, (h, w, 3)).copy()
    if "phi" in frame:
        phi = map_coordinates(frame["phi"].astype(float) / dx, [X - 0.5, Y - 0.5], order=1, mode="nearest")
        inside = np.clip(0.5 - phi / pixel, 0.0, 1.0)[..., None]
        body: np.ndarray = np.broadcast_to(water, image.shape)
        if colour != "liquid":
            body = ramp(_values(frame, colour, (nx, ny), dx, scale)[_cell(X, nx), _cell(Y, ny)])
        else:
            # darker towards the drawn outline; φ itself also varies inside, where particles are few
            rim = np.clip(2.0 * (1.0 - gaussian_filter(inside[..., 0], max(0.8, 0.25 / pixel))), 0.0, 1.0)[..., None]
            body = body * (1 - 0.8 * rim) + edge * 0.8 * rim
        image = image * (1 - inside) + body * inside
        _spray(image, frame, dx, (nx, ny), water if colour == "liquid" else ramp(np.array(0.5)))
    wall = np.clip(0.5 - solid / pixel, 0.0, 1.0)[..., None]
    rim = np.clip(1.0 + solid / max(0.3, 2 * pixel), 0.0, 1.0)[..., None]
    image = image * (1 - wall) + (SOLID * (1 - rim) + SOLID_EDGE * rim) * wall
    for index, one in enumerate(bodies):
        phi = np.asarray(one(dx * X, dx * Y)) / dx
        paint = PAINTS[index % len(PAINTS)]
        cover = np.clip(0.5 - phi / pixel, 0.0, 1.0)[..., None]
        rim = np.clip(1.0 + phi / max(0.25, 2 * pixel), 0.0, 1.0)[..., None]
        image = image * (1 - cover) + paint * (1 - 0.4 * rim) * cover
    return (255 * np.clip(image, 0, 1) + 0.5).astype(np.uint8)


def _cell(x: np.ndarray, n: int) -> np.ndarray:
    return np.clip(x.astype(int), 0, n - 1)


def _values(frame, colour: str, shape: tuple[int, int], dx: float, scale: float | None) -> np.ndarray:
    """The field behind the colours, over cells, as a share of `scale`."""
    if colour == "viscosity":
        return viscosity(frame, shape, dx)
    if colour == "pressure":
        field = np.maximum(frame.get("pressure", np.zeros(shape)), 0.0)
    elif "position" in frame:
        cell = [np.clip((frame["position"][:, a] / dx).astype(int), 0, shape[a] - 1) for a in range(2)]
        flat = cell[0] * shape[1] + cell[1]
        speed = np.linalg.norm(frame["velocity"], axis=1)
        count = np.bincount(flat, minlength=shape[0] * shape[1])
        field = (np.bincount(flat, speed, minlength=count.size) / np.maximum(count, 1)).reshape(shape)
    else:
        field = np.zeros(shape)
    top = scale or float(field.max()) or 1.0
    return field / top


def viscosity(frame: dict[str, np.ndarray], shape: tuple[int, ...], dx: float) -> np.ndarray:
    """Where each cell's viscosity lies between the least and the most of the frame (0..1, of logarithms)."""
    if len(frame.get("viscosity", ())) == 0:
        return np.zeros(shape)
    value = np.log(np.maximum(frame["viscosity"].astype(float), 1e-12))
    low, high = float(value.min()), float(value.max())
    index = tuple(np.clip((frame["position"] / dx).astype(int).T, 0, np.array(shape)[:, None] - 1))
    flat = np.ravel_multi_index(index, shape)
    size = int(np.prod(shape))
    count = np.bincount(flat, minlength=size).reshape(shape)
    mean = np.bincount(flat, value, minlength=size).reshape(shape) / np.maximum(count, 1)
    nearest = distance_transform_edt(count == 0, return_distances=False, return_indices=True)
    return gaussian_filter((mean[tuple(nearest)] - low) / max(high - low, 1e-9), 0.7)


def _spray(image: np.ndarray, frame, dx: float, shape: tuple[int, int], ink: np.ndarray) -> None:
    """Particles outside the drawn surface, as soft dots half a particle spacing wide."""
    if "position" not in frame or not len(frame["position"]):
        return
    x = frame["position"].astype(float) / dx
    phi = map_coordinates(frame["phi"].astype(float) / dx, [x[:, 0] - 0.5, x[:, 1] - 0.5], order=1, mode="nearest")
    x = x[phi > 0.1]
    h, w, _ = image.shape
    per = w / shape[0]
    radius = max(0.8, 0.28 * per)
    reach = int(np.ceil(radius + 0.5))
    for a, b in x:
        px, py = a * per - 0.5, (shape[1] - b) * per - 0.5
        i0, j0 = max(0, int(py) - reach), max(0, int(px) - reach)
        i1, j1 = min(h, int(py) + reach + 2), min(w, int(px) + reach + 2)
        if i0 >= i1 or j0 >= j1:
            continue
        d = np.hypot(np.arange(i0, i1)[:, None] - py, np.arange(j0, j1)[None] - px)
        cover = np.clip(radius + 0.5 - d, 0, 1)[..., None]
        image[i0:i1, j0:j1] = image[i0:i1, j0:j1] * (1 - cover) + ink * cover
