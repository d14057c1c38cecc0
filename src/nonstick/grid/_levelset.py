"""Level sets on cells: extension into solids."""

from ..kernels import serial


@serial
def _extend_into_solids(out, phi, solid, released, distance):
    """out = phi, extended into solid cells next to liquid; see `nonstick.grid.levelset`.

    `released` and `distance` are empty if not given.
    """
    nx, ny, nz = phi.shape
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = phi[i, j, k]
                if not solid[i, j, k]:
                    continue
                best = 4  # number of axes along which the nearest liquid neighbour is offset
                total = 0.0
                count = 0
                held = 0
                for a in range(max(i - 1, 0), min(i + 2, nx)):
                    for b in range(max(j - 1, 0), min(j + 2, ny)):
                        for c in range(max(k - 1, 0), min(k + 2, nz)):
                            if solid[a, b, c] or not phi[a, b, c] < 0.0:
                                continue
                            if released.size == 0 or not released[a, b, c]:
                                held += 1
                            kind = (a != i) + (b != j) + (c != k)
                            if kind < best:
                                best, total, count = kind, 0.0, 0
                            if kind == best:
                                total += phi[a, b, c]
                                count += 1
                if count == 0:
                    continue
                if held > 0:
                    if phi[i, j, k] >= 0.0:
                        out[i, j, k] = total / count
                elif distance.size > 0:
                    out[i, j, k] = distance[i, j, k]
                else:
                    out[i, j, k] = abs(total / count)
