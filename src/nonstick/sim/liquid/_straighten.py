"""φ of cells half a cell or more from the surface, from their neighbours that are closer to it.

The particles around a centre tell well how far the surface is if it is closer than half a cell. Farther away they are
all around the centre, or hardly there, and φ is off by up to a tenth of a cell. The surface lies where φ is zero
between two centres, so this moved it by a fiftieth of a cell, on every grid: a film was as much too deep or too thin.
"""

import numpy as np
from numba import prange

from ...kernels import parallel
from ...kernels._interpolate import _stride
from ._eikonal import _eikonal

#: φ is replaced between these distances from the surface, in cells; farther away it is not needed
NEAR, FAR = 0.5, 1.0


@parallel
def _straighten(phi, source, centre):
    """φ by |∇φ| = 1 where NEAR < |φ| < FAR, exact for flat surfaces; `source` is a copy of φ.

    Signs stay, and so do cells with |φ| <= NEAR, and with them the volume that φ encloses. Centres in solids, where
    `centre` is negative, are neither changed nor used: their φ is that of a mirror image.
    """
    nx, ny, nz = phi.shape
    step = _stride(nx)
    for turn in prange(nx):
        i = np.int64(turn) * step % nx
        for j in range(ny):
            for k in range(nz):
                own = source[i, j, k]
                if not NEAR < abs(own) < FAR or centre[i, j, k] < 0.0:
                    continue
                sign = 1.0 if own > 0.0 else -1.0
                a, b, c = 1e3, 1e3, 1e3
                if i > 0 and centre[i - 1, j, k] >= 0.0:
                    a = sign * source[i - 1, j, k]
                if i + 1 < nx and centre[i + 1, j, k] >= 0.0:
                    a = min(a, sign * source[i + 1, j, k])
                if j > 0 and centre[i, j - 1, k] >= 0.0:
                    b = sign * source[i, j - 1, k]
                if j + 1 < ny and centre[i, j + 1, k] >= 0.0:
                    b = min(b, sign * source[i, j + 1, k])
                if k > 0 and centre[i, j, k - 1] >= 0.0:
                    c = sign * source[i, j, k - 1]
                if k + 1 < nz and centre[i, j, k + 1] >= 0.0:
                    c = min(c, sign * source[i, j, k + 1])
                if min(a, b, c) < NEAR:
                    phi[i, j, k] = sign * min(max(_eikonal(a, b, c), NEAR), FAR)
