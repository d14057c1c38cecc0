"""The distance of a cell from a surface, from the distances of its neighbours: |∇φ| = 1 by upwind differences."""

import numpy as np

from ...kernels import merged


@merged
def _eikonal(a, b, c):
    """The x with max(x - a, 0)² + max(x - b, 0)² + max(x - c, 0)² = 1, in cells (Zhao 2005)."""
    a, b = min(a, b), max(a, b)
    b, c = min(b, c), max(b, c)
    a, b = min(a, b), max(a, b)
    x = a + 1.0
    if x > b:
        x = 0.5 * (a + b + np.sqrt(max(2.0 - (a - b) * (a - b), 0.0)))
        if x > c:
            s = a + b + c
            x = (s + np.sqrt(max(s * s - 3.0 * (a * a + b * b + c * c - 1.0), 0.0))) / 3.0
    return x
