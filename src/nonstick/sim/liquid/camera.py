"""The camera of a scene at a moment of the movie."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...render.camera import Viewpoint
from ...scenes.camera import Camera, CameraKeys


def viewpoint(camera: Camera, dx: float, time: float, share: float) -> Viewpoint:
    """Where the camera is at a time in seconds, which is a share (0..1) of the movie; `dx` turns metres into cells.

    >>> viewpoint(Camera(turntable=360.0), 0.1, 0.0, 0.25).azimuth
    120.0
    """
    at: dict[str, Any] = {name: getattr(camera, name) for name in ("azimuth", "elevation", "zoom", "lens", "target")}
    if camera.keys is not None:
        at |= _between(camera.keys, time)
    if at["target"] is not None:
        at["target"] = tuple(float(x) / dx for x in at["target"])
    at["azimuth"] += share * camera.turntable
    return Viewpoint(**at)


def _between(keys: CameraKeys, time: float) -> dict[str, Any]:
    """The values of key frames at a time."""
    from scipy.interpolate import PchipInterpolator

    out: dict[str, Any] = {}
    now = min(max(time, keys.times[0]), keys.times[-1])
    for name in ("azimuth", "elevation", "zoom", "lens", "target"):
        values = getattr(keys, name)
        if values is None:
            continue
        table = np.array(values, float)
        if keys.smooth:
            found = PchipInterpolator(keys.times, table)(now)
        else:
            found = np.array([np.interp(now, keys.times, column) for column in np.atleast_2d(table.T)])
            found = found if table.ndim > 1 else found[0]
        out[name] = tuple(found.tolist()) if table.ndim > 1 else float(found)
    return out
