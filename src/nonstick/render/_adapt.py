"""Which pixels need rays of their own: in smooth parts of a picture every second one of every second row is enough."""

from ..kernels import serial


@serial
def _bend(image, r0, c0, r1, c1, r2, c2):
    """The largest second difference of three pixels in a colour."""
    out = 0.0
    for k in range(3):
        out = max(out, abs(image[r0, c0, k] - 2.0 * image[r1, c1, k] + image[r2, c2, k]))
    return out


@serial
def _rough(image, bent):
    """bent = how much the picture bends at every second pixel of every second row, over these pixels."""
    h, w = bent.shape
    for i in range(h):
        up, down = 2 * max(i - 1, 0), 2 * min(i + 1, h - 1)
        for j in range(w):
            left, right = 2 * max(j - 1, 0), 2 * min(j + 1, w - 1)
            row, col = 2 * i, 2 * j
            out = max(_bend(image, up, col, row, col, down, col), _bend(image, row, left, row, col, row, right))
            bent[i, j] = max(out, _bend(image, up, left, row, col, down, right))


@serial
def _between(image, todo, lined, bent, rough):
    """Interpolate the pixels between every second one; todo = 1 where these bend by more than `rough`, or in lines.

    Straight lines between pixels 2 apart err by an eighth of the second difference.
    """
    h, w, _ = image.shape
    for row in range(h):
        r0, r1 = row - row % 2, min(row + row % 2, h - 1 - (h - 1) % 2)
        for col in range(w):
            c0, c1 = col - col % 2, min(col + col % 2, w - 1 - (w - 1) % 2)
            todo[row, col] = 0
            if row == r0 and col == c0:
                continue
            most = max(bent[r0 // 2, c0 // 2], bent[r0 // 2, c1 // 2], bent[r1 // 2, c0 // 2], bent[r1 // 2, c1 // 2])
            if most > rough or lined[row, col] != 0:
                todo[row, col] = 1
                continue
            for k in range(3):
                both = image[r0, c0, k] + image[r0, c1, k] + image[r1, c0, k] + image[r1, c1, k]
                image[row, col, k] = 0.25 * both


@serial
def _differ(image, r0, c0, r1, c1):
    """The largest difference of two pixels in a colour."""
    out = 0.0
    for k in range(3):
        out = max(out, abs(image[r0, c0, k] - image[r1, c1, k]))
    return out


@serial
def _contrast(image, todo, some, much):
    """Rays for pixels that differ from a neighbour: todo = 3 above `some`, 5 above `much`, else 0."""
    h, w, _ = image.shape
    todo[:] = 0
    for row in range(h):
        for col in range(w):
            for side in range(2):
                r, c = row + side, col + 1 - side
                if r < h and c < w:
                    off = _differ(image, row, col, r, c)
                    if off > some:
                        rays = 5 if off > much else 3
                        todo[row, col] = max(todo[row, col], rays)
                        todo[r, c] = max(todo[r, c], rays)
