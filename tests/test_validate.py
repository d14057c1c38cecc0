"""Every mistake a caller can make, and a piece of the sentence that answers it."""

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick.core import validate
from nonstick.errors import NonstickError
from nonstick.kernels._csr import _csr_check_pairs
from nonstick.operators.csr import CSROperator

N = 4
A = sp.csr_array(sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(N, N)))
B = np.array([1.0, -1.0, 2.0, 0.5])
CELLS = np.array([[0, 0], [0, 1], [0, 2], [0, 3]])


def changed(i, j, value):
    M = A.toarray()
    M[i, j] = value
    return M


def entry(values, i, value):
    out = np.array(values, dtype=float)
    out[i] = value
    return out


# (positional arguments, keywords, pieces of the message)
MISTAKES = {
    "not square": ((np.ones((3, 4)), B), {}, ("square", "3 × 4")),
    "a vector as A": ((np.ones(4), B), {}, ("A must be a matrix", "(4)")),
    "no matrix": ((object(), B), {}, ("scipy.sparse", "object")),
    "the name of a file": (("A.mtx", B), {}, ("not the name of a file", "load_problem")),
    "ragged list": (([[1.0], [1.0, 2.0]], B), {}, ("two-dimensional array", "list")),
    "NaN in A": ((changed(1, 2, np.nan), B), {}, ("A[1, 2] is nan",)),
    "inf in A": ((changed(3, 3, np.inf), B), {}, ("A[3, 3] is inf",)),
    "complex A": ((A.astype(complex), B), {}, ("A is complex",)),
    "words in A": ((np.array([["a"]]), [1.0]), {}, ("A must hold numbers",)),
    "unsymmetric value": (
        (changed(1, 2, -0.9), B), {"method": "psor"}, ("'psor' needs a symmetric matrix", "'auto', 'pi-gmres'")),
    "unsymmetric pattern": ((changed(0, 3, -0.5), B), {"method": "pi-pcg"}, ("'pi-pcg' needs a symmetric matrix",)),
    "no P-matrix": (([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]), {}, ("not a P-matrix", "A[0, 1] A[1, 0] = 6", "= 4")),
    "zero diagonal": ((changed(2, 2, 0.0), B), {}, ("A[2, 2] is 0", "positive diagonal")),
    "negative diagonal": ((-A, B), {}, ("A[0, 0] is -2.5", "4 places like this")),
    "indefinite": (([[1.0, 2.0], [2.0, 1.0]], [1.0, 1.0]), {}, ("not positive definite", "A[0, 1] = 2")),
    "b too long": ((A, np.ones(5)), {}, ("b has shape (5)", "4 unknowns")),
    "b a number": ((A, 1.0), {}, ("b has shape ()",)),
    "NaN in b": ((A, entry(B, 2, np.nan)), {}, ("b[2] is nan",)),
    "inf in b": ((A, entry(B, 0, -np.inf)), {}, ("b[0] is -inf",)),
    "complex b": ((A, B + 1j), {}, ("b is complex",)),
    "words in b": ((A, ["x"] * 4), {}, ("b must hold numbers",)),
    "masked b": ((A, np.ma.array(B, mask=[0, 1, 1, 0])), {}, ("b[1] is masked", "2 places like this")),
    "masked A": ((np.ma.array(A.toarray(), mask=np.eye(4)), B), {}, ("A[0, 0] is masked",)),
    "lower too short": ((A, B, np.zeros(3)), {}, ("lower has shape (3)", "4")),
    "NaN bound": ((A, B, entry(np.zeros(4), 1, np.nan)), {}, ("lower is NaN at unknown 1",)),
    "NaN for all": ((A, B, 0.0, np.nan), {}, ("upper is NaN",)),
    "lower above upper": ((A, B, 0.0, entry(np.ones(4), 3, -2.0)), {}, ("lower is above upper at unknown 3", "0 > -2")),
    "lower +inf": ((A, B, np.inf), {}, ("lower[0] is inf",)),
    "upper -inf": ((A, B, -np.inf, -np.inf), {}, ("upper[0] is -inf",)),
    "x0 too short": ((A, B), {"x0": [1.0]}, ("x0 has shape (1)",)),
    "NaN in x0": ((A, B), {"x0": entry(B, 3, np.nan)}, ("x0[3] is nan",)),
    "rtol zero": ((A, B), {"rtol": 0.0}, ("rtol must be positive",)),
    "rtol negative": ((A, B), {"rtol": -1e-6}, ("rtol must be zero or a positive number",)),
    "rtol NaN": ((A, B), {"rtol": np.nan}, ("rtol must be",)),
    "rtol a word": ((A, B), {"rtol": "small"}, ("rtol must be", "'small'")),
    "atol negative": ((A, B), {"atol": -1.0}, ("atol must be",)),
    "maxiter zero": ((A, B), {"maxiter": 0}, ("maxiter must be a positive integer",)),
    "maxiter a fraction": ((A, B), {"maxiter": 2.5}, ("maxiter must be a positive integer",)),
    "unknown method": ((A, B), {"method": "psro"}, ("unknown method 'psro'", "did you mean", "'psor'")),
    "cells too few": ((A, B), {"cells": CELLS[:3]}, ("cells has shape 3 × 2", "4 × 2")),
    "cells four-dimensional": ((A, B), {"cells": np.zeros((4, 4), int)}, ("cells has shape 4 × 4",)),
    "cells fractional": ((A, B), {"cells": CELLS + 0.5}, ("integer grid coordinates",)),
    "cells NaN": ((A, B), {"cells": CELLS * np.nan}, ("integer grid coordinates",)),
    "cells twice": ((A, B), {"cells": CELLS[[0, 1, 1, 3]]}, ("cells 1 and 2", "(0, 1)")),
    "cells far apart": ((A, B), {"cells": CELLS * 10**9}, ("too many to number",)),
    "cells with an operator": ((CSROperator(A), B), {"cells": CELLS}, ("operator already knows",)),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence(mistake):
    arguments, options, pieces = MISTAKES[mistake]
    with pytest.raises(NonstickError) as caught:
        nonstick.solve(*arguments, **{"method": "pgs"} | options)
    message = str(caught.value)
    assert all(piece in message for piece in pieces), message
    assert "\n" not in message


def test_lcp_speaks_of_m_and_q():
    with pytest.raises(NonstickError, match=r"M is not a P-matrix"):
        nonstick.lcp(changed(0, 1, -10.0), B, method="pgs")
    with pytest.raises(NonstickError, match=r"q\[1\] is nan"):
        nonstick.lcp(A, entry(B, 1, np.nan), method="pgs")
    with pytest.raises(NonstickError, match=r"nonstick.solve"):
        nonstick.lcp(A, B, lower=-1.0, method="pgs")


def test_nothing_of_the_callers_is_touched_or_kept():
    # Unsorted, with a duplicate entry: canonical form is made on a copy.
    data, indices = np.array([-1.0, 1.0, 1.5, 2.5, -1.0]), np.array([1, 0, 0, 1, 0])
    M = sp.csr_array((data.copy(), indices.copy(), np.array([0, 3, 5])), shape=(2, 2))
    b = np.array([1.0, 2.0])
    solution = nonstick.solve(M, b, method="pgs", rtol=1e-10)
    b[:] = 7.0
    assert np.array_equal(M.data, data) and np.array_equal(M.indices, indices)
    assert solution.kkt() < 1e-10
    np.testing.assert_allclose(solution.x, np.linalg.solve([[2.5, -1.0], [-1.0, 2.5]], [1.0, 2.0]), rtol=1e-8)


@pytest.mark.parametrize("wide", [np.int32, np.int64])
def test_rows_of_a_matrix_with_few_zeros_are_sorted_and_summed(wide):
    rng = np.random.default_rng(0)
    n = 40
    row, column = rng.integers(0, n, (2, 3 * n * n))
    value = rng.standard_normal(row.size)
    value[row == column] = 100.0
    value[(row + column) % 7 == 0] = 0.0  # zeros of the caller's keep their places: other numbers may follow
    order = np.argsort(row, kind="stable")
    begins = np.searchsorted(row[order], np.arange(n + 1)).astype(wide)
    A = sp.csr_array((value[order], column[order].astype(wide), begins), shape=(n, n))
    A.data.flags.writeable = False
    expected = A.tocsc().tocsr()
    expected.sum_duplicates()
    found = validate._canonical(A)
    assert found.has_canonical_format and found.indices.dtype == np.int32
    assert np.array_equal(found.indices, expected.indices) and np.array_equal(found.indptr, expected.indptr)
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-14, atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_pairs_kernel_against_numpy(seed):
    rng = np.random.default_rng(seed)
    M = np.where(rng.random((30, 30)) < 0.1, rng.random((30, 30)), 0.0)
    M = M + M.T + 5.0 * np.eye(30)
    i, j = rng.choice(30, 2, replace=False)
    if seed in (1, 2):
        M[i, j] += 0.5
    elif seed == 3:
        M[i, j] = M[j, i] = 40.0
    elif seed == 4:
        M[i, j], M[j, i] = -40.0, -4.0
    C = sp.csr_array(M)
    where, values = np.empty(2, np.int64), np.empty(2)
    d = M.diagonal()
    kind = _csr_check_pairs(where, values, C.data, C.indices, C.indptr, np.sqrt(d), 1e-8)
    minors = np.outer(d, d) - M * M.T + np.diag(np.full(30, np.inf))
    symmetric = np.array_equal(M, M.T)
    assert kind == (0 if symmetric else 1) + (2 if minors.min() < 0 else 0)
    if kind >= 2:
        assert minors[*where] < 0
        np.testing.assert_allclose(values[0] ** (2 if kind == 2 else 1), M[*where] * M[*where[::-1]])


def test_symmetry_is_judged_relative_to_the_diagonal():
    tiny = sp.csr_array(A * 1e-20)
    assert validate.symmetric(validate.matrix(tiny))
    broken = tiny.toarray()
    broken[0, 1] *= 1.01
    assert not validate.symmetric(validate.matrix(broken))
    rounded = A.toarray()
    rounded[0, 1] *= 1 + 1e-12
    assert validate.symmetric(validate.matrix(rounded))


def test_indices_come_back_as_int32():
    wide = sp.csr_array(A)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert validate.matrix(wide).indices.dtype == np.int32


def _damage(kind, where, value):
    A = getattr(sp, f"{kind}_array")(np.eye(3))
    if where == "coords":
        A.coords[0][1] = value
    else:
        getattr(A, where)[1] = value
    return A


@pytest.mark.parametrize(
    "kind, where, value",
    [("csr", "indices", 10**6), ("csr", "indices", -1), ("csc", "indices", 3), ("csr", "indptr", -5),
     ("csr", "indptr", 10**6), ("coo", "coords", 77), ("coo", "coords", -1)],
)  # fmt: skip
def test_indices_are_checked_before_compiled_code_sees_them(kind, where, value):
    with pytest.raises(NonstickError, match="A is damaged"):
        nonstick.solve(_damage(kind, where, value), np.ones(3))


def test_indices_must_be_integers():
    A = sp.csr_array(np.eye(3))
    A.indices = A.indices.astype(float)
    with pytest.raises(NonstickError, match="not integers"):
        nonstick.solve(A, np.ones(3))


@pytest.mark.parametrize("kind", [">f8", "f2", "i1", "?", "g"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_numbers_of_any_kind(form, kind):
    A = sp.eye_array(3).asformat(form)
    A.data = A.data.astype(kind)
    np.testing.assert_allclose(nonstick.solve(A, np.array([0.5, 1.0, 2.0])).x, [0.5, 1.0, 2.0])


def _with(format, change):
    A = sp.eye_array(3).asformat(format)
    change(A)
    return A


@pytest.mark.parametrize(
    "damaged",
    [
        lambda: _with("dok", lambda A: A._dict.update({(9, 0): 1.0})),
        lambda: _with("dok", lambda A: A._dict.update({(0, -4): 1.0})),
        lambda: _with("csr", lambda A: A.indptr.__setitem__(slice(1, None), (10**6, 10**6, 0))),
        lambda: _with("lil", lambda A: (A.rows[1].append(7), A.data[1].append(1.0))),
        lambda: _with("lil", lambda A: A.data[1].extend([1.0] * 50)),
    ],
    ids=["dok", "dok negative", "csr that ends in zero", "lil", "lil lengths"],
)
def test_damaged_matrices_of_other_formats_are_refused(damaged, tmp_path):
    for use in (
        lambda: nonstick.solve(damaged(), np.ones(3)),
        lambda: nonstick.Solver(np.eye(3)).update(damaged()),
        lambda: nonstick.save_problem(tmp_path / "p.npz", damaged(), np.ones(3)),
        lambda: nonstick.solve(np.eye(3), np.ones(3), constraints=(damaged(), 0.0, 1.0)),
        lambda: nonstick.solve(np.eye(3), damaged()),
        lambda: nonstick.qp(damaged(), np.ones(3)),
        lambda: nonstick.qp(np.eye(3), np.ones(3), damaged(), np.ones(3)),
        lambda: nonstick.lsq(damaged(), np.ones(3)),
        lambda: nonstick.solve(np.eye(3), np.ones(3)).jvp(A=damaged()),
        lambda: nonstick.solve(np.eye(3), np.ones(3)).vjp(np.ones(3)).matrix(damaged()),
    ):
        with pytest.raises(NonstickError, match="is damaged"):
            use()
