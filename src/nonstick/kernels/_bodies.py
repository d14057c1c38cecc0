"""Rigid bodies: the part of the grid they cover, and Gauss–Seidel on the rows that touch them."""

from . import parallel, prange, serial


@serial
def _relax_around_bodies(x, c, b, lower, upper, rows, near, weight, d, indptr, column, entry, image):
    """One projected sweep over `rows` of `B + U S Uᵀ`, where every row of a body is coupled to every other.

    c = S Uᵀ x is kept up to date. near, weight: (rows, 6) neighbours of each row and their couplings (0 if there is no
    neighbour); d the diagonal of the whole operator; indptr, column, entry: U by rows; image: U S, entry by entry.
    """
    for e in range(rows.size):
        t = rows[e]
        s = b[t]
        for q in range(6):
            s += weight[e, q] * x[near[e, q]]
        own = 0.0
        for p in range(indptr[e], indptr[e + 1]):
            s -= entry[p] * c[column[p]]
            own += entry[p] * image[p]
        # the effect of the row's own x through the body is part of its diagonal
        new = x[t] if d[t] <= 0.0 else (s + own * x[t]) / d[t]
        new = min(max(new, lower[t]), upper[t])
        step = new - x[t]
        if step != 0.0:
            for p in range(indptr[e], indptr[e + 1]):
                c[column[p]] += image[p] * step
            x[t] = new


@parallel
def _cover(out, phi):
    """Share of every half cell (2^d to a cell; a 2D grid has one cell and one half along the first axis) with phi < 0.

    phi is the distance at the nodes in cells. A cell is cut into 4^d pieces, each filled by clip(½ - 4·distance, 0, 1)
    at its middle; a cell whose nodes all lie at least an eighth of a cell on one side is full or empty without this
    computation.
    """
    nx, ny, nz = phi.shape[0] - 1, phi.shape[1] - 1, phi.shape[2] - 1
    hx = out.shape[0] // nx
    px = 1 if hx == 1 else 4
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                low = high = phi[i, j, k]
                for di in range(2):
                    for dj in range(2):
                        for dk in range(2):
                            s = phi[i + di, j + dj, k + dk]
                            low = min(low, s)
                            high = max(high, s)
                full = 1.0 if high <= -0.125 else 0.0
                for a in range(hx):
                    for b in range(2):
                        for c in range(2):
                            out[hx * i + a, 2 * j + b, 2 * k + c] = full
                if low >= 0.125 or high <= -0.125:
                    continue
                part = 1.0 / (px // hx * 4)
                for a in range(px):
                    x = (a + 0.5) / px
                    for b in range(4):
                        y = (b + 0.5) / 4
                        for c in range(4):
                            z = (c + 0.5) / 4
                            s = 0.0
                            for di in range(2):
                                wx = x if di else 1.0 - x
                                for dj in range(2):
                                    wy = wx * (y if dj else 1.0 - y)
                                    for dk in range(2):
                                        s += wy * (z if dk else 1.0 - z) * phi[i + di, j + dj, k + dk]
                            share = min(max(0.5 - 4.0 * s, 0.0), 1.0)
                            out[hx * i + a * hx // px, 2 * j + b // 2, 2 * k + c // 2] += share * part
