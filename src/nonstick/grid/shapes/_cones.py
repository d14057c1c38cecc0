"""Distance to round cones that melt into each other."""

import numpy as np
from numba import prange

from ...kernels import parallel


@parallel
def _blended_cones(out, points, cones, width):
    """out = smooth minimum, over the cones in their order, of the distances of points (3, n).

    A cone is a ball that moves along a line while its radius changes. A row of `cones` has its start, the way to its
    end, one over the square of its length, the first radius, the change of the radius, and the middle and radius of a
    ball around it. A cone whose ball is further away than the smallest distance so far and `width` changes nothing.
    """
    for turn in prange(out.size):
        q = np.int64(turn)
        x, y, z = points[0, q], points[1, q], points[2, q]
        least = np.inf
        for c in range(cones.shape[0]):
            reach = least + width + cones[c, 12]
            a, b, d = x - cones[c, 9], y - cones[c, 10], z - cones[c, 11]
            if reach < 0.0 or a * a + b * b + d * d > reach * reach:
                continue
            a, b, d = x - cones[c, 0], y - cones[c, 1], z - cones[c, 2]
            t = (a * cones[c, 3] + b * cones[c, 4] + d * cones[c, 5]) * cones[c, 6]
            t = min(max(t, 0.0), 1.0)
            a, b, d = a - t * cones[c, 3], b - t * cones[c, 4], d - t * cones[c, 5]
            far = np.sqrt(a * a + b * b + d * d) - (cones[c, 7] + t * cones[c, 8])
            overlap = max(width - abs(least - far), 0.0)
            least = min(least, far) - overlap * overlap / (4.0 * width)
        out[q] = least
