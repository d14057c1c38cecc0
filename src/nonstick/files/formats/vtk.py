"""ParaView's XML files: images (`.vti`), points and triangles (`.vtp`), series in time (`.pvd`).

Arrays follow the text as raw bytes after an underscore, each with its length before it. VTK counts x fastest, so
arrays `[i, j, k]` are written transposed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

_TYPES = {"f4": "Float32", "f8": "Float64", "i4": "Int32", "i8": "Int64", "u1": "UInt8", "u4": "UInt32"}


class _Appended:
    """Array elements in the text, and their bytes at the end of the file."""

    def __init__(self) -> None:
        self.blocks: list[bytes | memoryview] = []
        self.length = 0
        self._places: dict[tuple[int, int], int] = {}

    def array(self, name: str, values: np.ndarray, components: int = 1) -> str:
        values = np.ascontiguousarray(values)
        values = values.astype(values.dtype.newbyteorder("<"), copy=False)
        # the array itself, which is not copied; bytes that are there already are named a second time
        key = values.__array_interface__["data"][0], values.nbytes
        offset = self._places.setdefault(key, self.length) if values.nbytes else self.length
        if offset == self.length:
            self.blocks += [np.uint64(values.nbytes).tobytes(), values.reshape(-1).view(np.uint8).data]
            self.length += 8 + values.nbytes
        kind = _TYPES[values.dtype.str[1:]]
        return (
            f'<DataArray type="{kind}" Name={quoteattr(name)} NumberOfComponents="{components}" '
            f'format="appended" offset="{offset}"/>\n'
        )

    def data(self, tag: str, arrays: Mapping[str, np.ndarray], rank: int) -> str:
        """A `PointData` or `CellData` element; arrays with more axes than `rank` are vectors."""
        text = "".join(self.array(n, a, a.shape[-1] if a.ndim > rank else 1) for n, a in arrays.items())
        return f"<{tag}>\n{text}</{tag}>\n"

    def save(self, path: str | Path, kind: str, body: str) -> None:
        head = (
            f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" '
            f'header_type="UInt64">\n{body}<AppendedData encoding="raw">\n_'
        )
        with open(path, "wb") as file:
            file.write(head.encode("utf-8"))
            file.writelines(self.blocks)
            file.write(b"\n</AppendedData>\n</VTKFile>\n")


def write_image(
    path: str | Path,
    dx: float,
    cells: Mapping[str, np.ndarray],
    nodes: Mapping[str, np.ndarray],
    shape: Sequence[int],
    time: float = 0.0,
    first: Sequence[int] | None = None,
) -> None:
    """A box of cells; arrays over cells and over nodes, vectors with their components last.

    Its `first` cell is the one at the origin, or as many cells from it.

    Examples
    --------
    >>> import tempfile
    >>> write_image(tempfile.mktemp(suffix=".vti"), 0.1, {"phi": np.zeros((4, 5, 6), "f4")}, {}, (4, 5, 6))
    """
    out = _Appended()
    shape = tuple(shape) + (0,) * (3 - len(shape))
    first = (*(first or ()), 0, 0, 0)[:3]
    extent = " ".join(f"{a} {a + n}" for a, n in zip(first, shape))
    rank = 3 if all(shape) else 2
    flat = lambda arrays: {n: _x_fastest(a, rank) for n, a in arrays.items()}  # noqa: E731
    body = (
        f'<ImageData WholeExtent="{extent}" Origin="0 0 0" Spacing="{dx!r} {dx!r} {dx!r}">\n{_time(out, time)}'
        f'<Piece Extent="{extent}">\n'
        f"{out.data('PointData', flat(nodes), rank)}{out.data('CellData', flat(cells), rank)}"
        "</Piece>\n</ImageData>\n"
    )
    out.save(path, "ImageData", body)


def _x_fastest(values: np.ndarray, rank: int) -> np.ndarray:
    """Values `[i, j, k(, component)]` as `[k, j, i(, component)]`, in memory too."""
    return np.ascontiguousarray(values.transpose(*reversed(range(rank)), *range(rank, values.ndim)))


def write_poly(
    path: str | Path,
    points: np.ndarray,
    triangles: np.ndarray | None,
    data: Mapping[str, np.ndarray],
    time: float = 0.0,
    of_cells: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Points (n, 3), with triangles (m, 3) between them, or without; `data` over points.

    Examples
    --------
    >>> import tempfile
    >>> write_poly(tempfile.mktemp(suffix=".vtp"), np.zeros((2, 3), "f4"), None, {"speed": np.ones(2, "f4")})
    """
    out = _Appended()
    n = len(points)
    # points alone are one cell with all of them, which takes less room than a cell for each
    cells = _all_points(data.get("id"), n)[None] if triangles is None else triangles
    m, width = cells.shape if n else (0, 0)
    tag, counts = (
        ("Verts", f'NumberOfVerts="{m}" NumberOfPolys="0"')
        if triangles is None
        else ("Polys", f'NumberOfVerts="0" NumberOfPolys="{m}"')
    )
    body = (
        f'<PolyData>\n{_time(out, time)}<Piece NumberOfPoints="{n}" {counts} NumberOfLines="0" NumberOfStrips="0">\n'
        f"{out.data('PointData', data, 1)}{out.data('CellData', of_cells or {}, 1)}<Points>\n"
        f"{out.array('Points', points.astype('f4', copy=False), 3)}</Points>\n"
        f"<{tag}>\n{out.array('connectivity', cells.ravel().astype('i4', copy=False))}"
        f"{out.array('offsets', (np.arange(1, m + 1) * width).astype('i4'))}</{tag}>\n</Piece>\n</PolyData>\n"
    )
    out.save(path, "PolyData", body)


def _all_points(ids: np.ndarray | None, n: int) -> np.ndarray:
    """The numbers 0 to n - 1 in any order: the ids if they are just these, so that a file has them once."""
    if ids is not None and n and ids.dtype.str in ("<i4", "<u4") and int(ids.max()) == n - 1:
        return ids.view("<i4")
    return np.arange(n, dtype="i4")


def _time(out: _Appended, time: float) -> str:
    return (
        f'<FieldData>\n<DataArray type="Float64" Name="TimeValue" NumberOfTuples="1" format="ascii">{time!r}'
        "</DataArray>\n</FieldData>\n"
    )


def series(files: Sequence[tuple[float, str]]) -> str:
    """The text of a `.pvd`: times and the files that belong to them."""
    lines = [f'<DataSet timestep="{time!r}" part="0" file={quoteattr(file)}/>\n' for time, file in files]
    return (
        '<?xml version="1.0"?>\n<VTKFile type="Collection" version="1.0" byte_order="LittleEndian">\n<Collection>\n'
        f"{''.join(lines)}</Collection>\n</VTKFile>\n"
    )
