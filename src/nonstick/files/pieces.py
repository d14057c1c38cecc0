"""Frames and checkpoints in pieces, one for each rank of a run on many ranks.

`000012.npz` is an index: the numbers that are the same everywhere, and `pieces`, the boxes of cells of all ranks. The
pieces lie beside it, `000012-0000.npz` and so on. The index is written last and deleted first, so a frame is there only
with all its pieces. A name in a piece says how pieces are put together:

    cells.phi, nodes.phi_solid     an array over the box, or over its nodes
    rows.position, columns.x       particles along the first or the last axis
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from ..core.columns import kind_of
from ..errors import NonstickError

Arrays = dict[str, np.ndarray]

#: most pieces of a frame
MOST = 100_000


def name_of(index: Path, rank: int) -> Path:
    """The file of a piece.

    Examples
    --------
    >>> name_of(Path("frames/000012.npz"), 3).name
    '000012-0003.npz'
    """
    return index.with_name(f"{index.stem}-{rank:04d}.npz")


def index_of(piece: Path) -> Path | None:
    """The index that a file is a piece of; None for other files.

    Examples
    --------
    >>> index_of(Path("frames/000012-0003.npz")).name, index_of(Path("frames/000012.npz"))
    ('000012.npz', None)
    """
    stem, dash, rank = piece.stem.partition("-")
    plain = dash and all(t.isascii() and t.isdecimal() for t in (stem, rank))
    return piece.with_name(f"{stem}.npz") if plain else None


def cut(arrays: Mapping[str, np.ndarray]) -> tuple[Arrays, Arrays]:
    """What belongs into the piece of a rank, and what belongs into the index."""
    piece: Arrays = {}
    index: Arrays = {}
    for name, values in arrays.items():
        kind = kind_of(name)
        if kind is None:
            index[name] = values
        else:
            piece[f"{kind}.{name}"] = values
    return piece, index


def files(index: Path) -> list[Path]:
    """All pieces that lie beside an index, wanted or not."""
    return [f for f in index.parent.glob(f"{index.stem}-*.npz") if index_of(f) == index]


def boxes(index: Mapping[str, np.ndarray], path: Path) -> np.ndarray:
    """The boxes (n, 2, d) of an index: first cell and the cell after the last."""
    found = np.asarray(index["pieces"])
    whole = found.ndim == 3 and found.shape[1] == 2 and found.shape[2] in (2, 3) and 0 < len(found) <= MOST
    if not whole or found.dtype.kind not in "iu" or not (found[:, 0] >= 0).all() or (found[:, 1] > 1 << 20).any():
        raise NonstickError(f"{path} is damaged: its list of pieces makes no sense")
    return found.astype(np.int64)


def join(path: Path, index: Arrays, load: Callable[[Path], Arrays], part: np.ndarray | None = None) -> Arrays:
    """The arrays of an index and its pieces.

    Parameters
    ----------
    path : Path
        Of the index.
    index : dict
        Its arrays.
    load : callable
        Reads the arrays of a file.
    part : ndarray, optional
        (2, d): only the cells of this box, and the particles in it. Pieces elsewhere are not read; of those that are,
        one is in memory at a time.
    """
    where = boxes(index, path)
    wanted = np.stack([where[:, 0].min(axis=0), where[:, 1].max(axis=0)]) if part is None else part
    out = {name: values for name, values in index.items() if name != "pieces"}
    particles: dict[str, list[np.ndarray]] = {}
    for rank, box in enumerate(where):
        if (np.minimum(box[1], wanted[1]) <= np.maximum(box[0], wanted[0])).any():
            continue
        piece = load(name_of(path, rank))
        keep = slice(None) if part is None else _inside(piece, wanted)
        for key, values in piece.items():
            kind, _, name = key.partition(".")
            if kind in ("cells", "nodes"):
                _place(out, name, values, box, wanted, int(kind == "nodes"), path)
            else:
                along = 0 if kind == "rows" else -1
                some = (
                    keep if part is None or values.shape[along] else slice(None)
                )  # a column that is not used is empty
                particles.setdefault(key, []).append(values[some] if kind == "rows" else values[:, some])
    for key, parts in particles.items():
        kind, _, name = key.partition(".")
        out[name] = np.concatenate(parts, axis=0 if kind == "rows" else -1)
    return out


def _inside(piece: Arrays, box: np.ndarray) -> np.ndarray:
    """Mask of the particles of a checkpoint's piece in a box of cells."""
    x = piece["columns.x"][-box.shape[1] :]
    return np.all((x >= box[0][:, None]) & (x < box[1][:, None]), axis=0)


def _place(
    out: Arrays, name: str, values: np.ndarray, box: np.ndarray, wanted: np.ndarray, more: int, path: Path
) -> None:
    """Copy the part of a piece's array that lies in the wanted box."""
    shape = tuple(wanted[1] - wanted[0] + more)
    whole = out.setdefault(name, np.zeros(shape, values.dtype))
    high = box[0] + np.array(values.shape)
    if values.ndim != len(shape) or (high < box[1]).any() or (high > box[1] + more).any():
        raise NonstickError(f"{path} is damaged: a piece does not have the shape of its box")
    low, top = np.maximum(box[0], wanted[0]), np.minimum(high, wanted[1] + more)
    to = tuple(slice(a, b) for a, b in zip(low - wanted[0], top - wanted[0]))
    whole[to] = values[tuple(slice(a, b) for a, b in zip(low - box[0], top - box[0]))]
