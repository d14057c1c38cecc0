"""Matrix Market: what SciPy writes is read as SciPy reads it; damage is a ValueError and never a crash."""

import gzip
import io
import random

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from nonstick.files.problem_file import read_market

rng = np.random.default_rng(3)
LOWER = sp.csr_array(np.tril(rng.standard_normal((7, 7))) * (rng.random((7, 7)) < 0.5))
MATRICES = {
    "general": sp.random_array((5, 8), density=0.4, random_state=rng),
    "symmetric": LOWER + LOWER.T,
    "skew-symmetric": LOWER - LOWER.T,
    "dense": rng.standard_normal((4, 3)),
    "dense symmetric": (LOWER + LOWER.T).toarray(),
    "dense skew": (LOWER - LOWER.T).toarray(),
    "integers": sp.coo_array(np.array([[1, 0], [0, -3]])),
    "empty": sp.coo_array((3, 3)),
}


def dense(A):
    return A.toarray() if sp.issparse(A) else A


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", MATRICES)
def test_what_scipy_writes(tmp_path, kind, packed):
    text = io.BytesIO()
    scipy.io.mmwrite(text, MATRICES[kind], comment="two\nlines")
    path = tmp_path / ("m.mtx.gz" if packed else "m.mtx")
    path.write_bytes(gzip.compress(text.getvalue()) if packed else text.getvalue())
    np.testing.assert_array_equal(dense(read_market(path)), dense(MATRICES[kind]))
    assert sp.issparse(read_market(path)) == sp.issparse(MATRICES[kind])


def test_a_pattern_is_ones(tmp_path):
    path = tmp_path / "m.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n\n% why not\n2 2 2\n1 1\n2 1\n")
    np.testing.assert_array_equal(read_market(path).toarray(), [[1.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize(("text", "says"), [
    ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1.0\n", "column 3 of 1 to 2"),
    ("%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1.0\n", "row 0 of 1 to 2"),
    ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1.5 1 1.0\n", "row 1.5"),
    ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n", "promises 6 numbers and it has 3"),
    ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 x\n", "not a number"),
    ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1.0\0\n", "not a number"),
    ("%%MatrixMarket matrix coordinate real general\n99999999 2 1\n1 1 1.0\n", "more than the file has"),
    ("%%MatrixMarket matrix coordinate real general\n-2 2 1\n1 1 1.0\n", "sizes are missing"),
    ("%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1.0\n", "cannot be 2 × 3"),
    ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1.0 2.0\n", "complex"),
    ("%%MatrixMarket matrix array pattern general\n1 1\n", "pattern"),
    ("", "first line"),
])  # fmt: skip
def test_damage_is_named(tmp_path, text, says):
    (tmp_path / "m.mtx").write_text(text)
    with pytest.raises(ValueError, match=says):
        read_market(tmp_path / "m.mtx")


def test_damaged_bytes(tmp_path):
    text, path = io.BytesIO(), tmp_path / "m.mtx"
    scipy.io.mmwrite(text, MATRICES["symmetric"])
    for seed in range(300):
        dice, content = random.Random(seed), bytearray(text.getvalue())
        for _ in range(dice.randrange(1, 4)):
            content[dice.randrange(len(content))] = dice.randrange(256)
        path.write_bytes(content[: dice.randrange(len(content))] if dice.random() < 0.3 else content)
        try:
            A = read_market(path)
        except ValueError:
            continue
        assert not sp.issparse(A) or A.nnz == 0 or max(A.coords[0].max(), A.coords[1].max()) < max(A.shape)
