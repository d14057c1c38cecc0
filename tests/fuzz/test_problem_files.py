"""Mutants of good problem files through `nonstick solve`: solved, or one sentence and exit code 2."""

import contextlib
import io
import struct
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from bounds import in_time
from hypothesis import given
from hypothesis import strategies as st
from problems import fuzz, grid_cells, laplacian

from nonstick.cli import main

A = laplacian(4, 3, 1)
N = A.shape[0]
PARTS = {
    "A_data": A.data, "A_indices": A.indices, "A_indptr": A.indptr, "b": np.cos(np.arange(N)), "lower": np.zeros(N),
    "upper": np.full(N, np.inf), "cells": grid_cells(4, 3),
}  # fmt: skip


def _npz(save=np.savez, **parts) -> bytes:
    out = io.BytesIO()
    save(out, **parts)
    return out.getvalue()


def _scipy(form: str) -> bytes:
    out = io.BytesIO()
    sp.save_npz(out, A.asformat(form), compressed=False)
    return out.getvalue()


def _market() -> bytes:
    out = io.BytesIO()
    scipy.io.mmwrite(out, A)
    return out.getvalue()


GOOD = {
    "plain.npz": _npz(**PARTS),
    "packed.npz": _npz(np.savez_compressed, **PARTS),
    **{f"{form}.npz": _scipy(form) for form in ("csr", "csc", "bsr", "dia", "coo")},
    "matrix.mtx": _market(),
}


def overwrite(content: bytes, where: int, piece: bytes) -> bytes:
    where %= len(content)
    return content[:where] + piece + content[where + len(piece) :]


PIECES = st.one_of(
    st.binary(min_size=1, max_size=8),
    st.sampled_from([struct.pack("<q", v) for v in (-1, 2**31, 2**62, -(2**63), 10**6, 12, 13)]),
    st.sampled_from([struct.pack("<d", v) for v in (np.nan, np.inf, -1.0, 1e308, 0.0)]),
    st.sampled_from([b"'|O'", b"'<i8'", b"'>f8'", b"'<c16'", b"(12,)", b"(-1,)", b"99999999", b"True", b"{{{", b"\0"]),
)

#: an array of a good file in place of another: dtypes and shapes that are no damage to the archive
SWAPS = {
    "float64": lambda a: a.astype(float),
    "int8": lambda a: np.nan_to_num(a).astype(np.int8),
    "uint64": lambda a: np.nan_to_num(a, posinf=0).astype(np.uint64),
    "complex": lambda a: a.astype(complex),
    "text": lambda a: a.astype(str),
    "matrix": lambda a: np.stack([a, a]),
    "short": lambda a: a[: len(a) // 2],
    "scalar": lambda a: a.ravel()[0],
    "falling": lambda a: a[::-1].astype(np.uint32),
    "large": lambda a: np.nan_to_num(a, posinf=1).astype(np.int64) * 2**40,
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "record": lambda a: np.zeros(len(a), [("x", "f8"), ("y", "i4")]),
    "negative": lambda a: -a.astype(float),
    "half": lambda a: np.nan_to_num(a, posinf=1).astype(np.float16),
    "dates": lambda a: np.nan_to_num(a, posinf=1).astype("M8[s]"),
    "empty": lambda a: a[:0],
}


def solve(name: str, content: bytes, folder) -> None:
    file = folder / name
    file.write_bytes(content)
    out, err = io.StringIO(), io.StringIO()
    with (
        in_time(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as leave,
    ):
        main(["solve", str(file), "--maxiter", "200"])
    said = "".join(line for line in err.getvalue().splitlines(True) if not line.startswith("compil"))
    assert leave.value.code in (0, None, 2), said
    assert said.count("\n") == (leave.value.code == 2) and len(said) < 900 and "pickle" not in said, said
    assert not said or "nonstick: not converged" in said or name in said, said


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mutants")


@fuzz(150)
@given(name=st.sampled_from(list(GOOD)), changes=st.lists(st.tuples(st.integers(0, 10**5), PIECES), max_size=4),
       end=st.one_of(st.none(), st.none(), st.integers(0, 10**5)))  # fmt: skip
def test_changed_bytes(name, changes, end, folder):
    content = GOOD[name]
    for where, piece in changes:
        content = overwrite(content, where, piece)
    solve(name, content if end is None else content[: end % len(content)], folder)


@fuzz(100)
@given(name=st.sampled_from([n for n in GOOD if n.endswith("npz")]), data=st.data())
def test_changed_arrays(name, data, folder):
    """The archive is sound; arrays are of another kind, missing, or have single entries changed."""
    with np.load(io.BytesIO(GOOD[name])) as file:
        parts = {key: file[key] for key in file.files}
    key = data.draw(st.sampled_from(list(parts)))
    how = data.draw(st.sampled_from(["missing", "entry", *SWAPS]))
    array = np.atleast_1d(parts[key])
    if how == "missing":
        del parts[key]
    elif how == "entry" and array.dtype.kind in "iuf":
        array = array.copy()
        value = data.draw(st.sampled_from([-1, 0, 1, 11, 12, 13, 2**30, -(2**31)]))
        array.flat[data.draw(st.integers(0, array.size - 1))] = value
        parts[key] = array
    elif array.dtype.kind in "iuf" and how in SWAPS:
        with np.errstate(all="ignore"):
            parts[key] = SWAPS[how](array)
    solve(name, _npz(**parts), folder)


@pytest.mark.parametrize("trick", ["bomb", "lie", "duplicate", "bzip2", "folder"])
def test_archives_made_to_hurt(trick, folder):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2 if trick == "bzip2" else zipfile.ZIP_DEFLATED) as archive:
        for key, array in PARTS.items():
            archive.writestr(f"{key}.npy", npy(array))
            if trick == "duplicate":
                with pytest.warns(UserWarning):
                    archive.writestr(f"{key}.npy", b"")
        if trick == "folder":
            archive.writestr("../../outside.npy", npy(np.zeros(3)))
        if trick == "bomb":
            archive.writestr("cells.npy", npy(np.zeros((N, 2), np.int64))[:128] + bytes(10**8))
    content = out.getvalue()
    if trick == "lie":  # the sizes of the directory at the end
        content = content.replace(struct.pack("<L", len(npy(PARTS["b"]))), struct.pack("<L", 2**32 - 2))
    solve("trick.npz", content, folder)
    assert not (folder.parent.parent / "outside.npy").exists()


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()
