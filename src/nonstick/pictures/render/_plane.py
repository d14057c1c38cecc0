"""Pixels of 2D drawings: coverage by liquid and solids, and their colours. Distances are in cells."""

import numpy as np

from ...kernels import serial


@serial
def _at(f, x, y):
    """Bilinear value at sample coordinates, clamped at the border."""
    nx, ny = f.shape
    x, y = min(max(x, 0.0), nx - 1.0), min(max(y, 0.0), ny - 1.0)
    i, j = min(int(x), max(nx - 2, 0)), min(int(y), max(ny - 2, 0))
    i1, j1 = min(i + 1, nx - 1), min(j + 1, ny - 1)
    p, q = x - i, y - j
    return (1.0 - p) * ((1.0 - q) * f[i, j] + q * f[i, j1]) + p * ((1.0 - q) * f[i1, j] + q * f[i1, j1])


@serial
def _cover(cover, phi, pixel):
    """Share of each pixel inside a distance over cells (h, w; row 0 is the top)."""
    h, w = cover.shape
    nx, ny = phi.shape
    for row in range(h):
        y = ny - (row + 0.5) * ny / h - 0.5
        for col in range(w):
            d = _at(phi, (col + 0.5) * nx / w - 0.5, y)
            cover[row, col] = min(max(0.5 - d / pixel, 0.0), 1.0)


@serial
def _colour(image, cover, share, table, water, edge, air, reach):
    """image = liquid over air: by `table` where `share` (over cells, 0..1) has more than one entry, else plain.

    Plain liquid is darker towards its outline, which is found from the coverage `reach` pixels away.
    """
    h, w = cover.shape
    nx, ny = share.shape
    last = table.shape[0] - 1
    for row in range(h):
        up, down = max(row - reach, 0), min(row + reach, h - 1)
        for col in range(w):
            inside = cover[row, col]
            if inside == 0.0:
                for k in range(3):
                    image[row, col, k] = air[k]
                continue
            if share.size > 1:
                x, y = (col + 0.5) * nx / w - 0.5, ny - (row + 0.5) * ny / h - 0.5
                t = min(max(_at(share, x, y), 0.0), 1.0) * last
                low = min(int(t), last - 1)
                for k in range(3):
                    body = table[low, k] + (t - low) * (table[low + 1, k] - table[low, k])
                    image[row, col, k] = air[k] + inside * (body - air[k])
                continue
            left, right = max(col - reach, 0), min(col + reach, w - 1)
            mean = cover[up, left] + cover[up, right] + cover[down, left] + cover[down, right]
            mean += cover[up, col] + cover[down, col] + cover[row, left] + cover[row, right]
            rim = 0.8 * min(1.0, 2.0 * (1.0 - 0.125 * mean))
            for k in range(3):
                body = water[k] + rim * (edge[k] - water[k])
                image[row, col, k] = air[k] + inside * (body - air[k])


@serial
def _walls(image, solid, pixel, stone, edge):
    """Draw solids, given by a distance at nodes, over the image, darker along their outline."""
    h, w = image.shape[0], image.shape[1]
    nx, ny = solid.shape[0] - 1, solid.shape[1] - 1
    width = max(0.3, 2.0 * pixel)
    for row in range(h):
        y = ny - (row + 0.5) * ny / h
        for col in range(w):
            d = _at(solid, (col + 0.5) * nx / w, y)
            cover = min(max(0.5 - d / pixel, 0.0), 1.0)
            if cover > 0.0:
                rim = min(max(1.0 + d / width, 0.0), 1.0)
                for k in range(3):
                    own = stone[k] + rim * (edge[k] - stone[k])
                    image[row, col, k] += cover * (own - image[row, col, k])


@serial
def _dots(image, x, y, radius, ink):
    """Soft dots at pixel coordinates."""
    h, w = image.shape[0], image.shape[1]
    reach = int(np.ceil(radius + 0.5))
    for p in range(x.size):
        for i in range(max(0, int(y[p]) - reach), min(h, int(y[p]) + reach + 2)):
            for j in range(max(0, int(x[p]) - reach), min(w, int(x[p]) + reach + 2)):
                cover = min(max(radius + 0.5 - np.hypot(i - y[p], j - x[p]), 0.0), 1.0)
                for k in range(3):
                    image[i, j, k] += cover * (ink[k] - image[i, j, k])
