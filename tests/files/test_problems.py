"""`save_problem` and `load_problem`."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import nonstick
from nonstick import cases
from nonstick.errors import NonstickError
from nonstick.operators import Products
from nonstick.operators.stencil import StencilOperator

N = 40
RNG = np.random.default_rng(4)
A = sp.csr_array(sp.diags_array([-1.0, 2.0 + RNG.random(N), -1.0], offsets=[-1, 0, 1], shape=(N, N)))
B = RNG.standard_normal(N)
LOWER = np.where(RNG.random(N) < 0.4, -np.inf, -0.1)
UPPER = np.where(RNG.random(N) < 0.4, np.inf, RNG.random(N))
CELLS = np.stack([np.zeros(N, int), np.arange(N) - 7], axis=1)


def same(problem, other):
    assert (problem.A.matrix() != other.A.matrix()).nnz == 0
    for mine, its in ((problem.b, other.b), (problem.box.lower, other.box.lower), (problem.box.upper, other.box.upper)):
        assert np.array_equal(mine, its)
    assert (problem.A.cells is None) == (other.A.cells is None)


@pytest.mark.parametrize("suffix", [".npz", ".mtx"])
@pytest.mark.parametrize("bounds", [(0.0, np.inf), (LOWER, UPPER), (None, None), (-2.0, 0.5)], ids=str)
@pytest.mark.parametrize("cells", [None, CELLS], ids=["bare", "cells"])
def test_what_is_saved_is_loaded(tmp_path, suffix, bounds, cells):
    path = tmp_path / f"a problem{suffix}"
    nonstick.save_problem(path, A, B, *bounds, cells=cells)
    loaded = nonstick.load_problem(path)
    same(loaded, nonstick.BoxProblem(A, B, *bounds) if cells is None else loaded)
    assert isinstance(loaded.A, StencilOperator) == (cells is not None)
    expected = nonstick.solve(A, B, *bounds, rtol=1e-10, method="psor").x
    np.testing.assert_allclose(nonstick.solve_problem(loaded, "psor", rtol=1e-10).x, expected, atol=1e-12)
    again = tmp_path / f"again{suffix}"
    nonstick.save_problem(again, loaded)
    same(nonstick.load_problem(again), loaded)


@pytest.mark.parametrize("suffix", [".npz", ".mtx"])
def test_cells_in_another_order_stay_with_their_unknowns(tmp_path, suffix):
    order = RNG.permutation(N)
    P = sp.csr_array(A[order][:, order])
    nonstick.save_problem(tmp_path / f"p{suffix}", P, B[order], LOWER[order], UPPER[order], cells=CELLS[order])
    loaded = nonstick.load_problem(tmp_path / f"p{suffix}")
    assert np.array_equal(loaded.A.cells, CELLS[order]) and np.array_equal(loaded.b, B[order])
    found = nonstick.solve_problem(loaded, "pi-mg", rtol=1e-9).x
    np.testing.assert_allclose(found, nonstick.solve(A, B, LOWER, UPPER, rtol=1e-9).x[order], atol=1e-7)


@pytest.mark.parametrize("suffix", [".npz", ".mtx"])
def test_problems_of_every_kind(tmp_path, suffix):
    case = cases.build("circle2d", 12)
    for k, thing in enumerate((case, case.problem, case.pressure_problem, case.pressure_problem.solve())):
        nonstick.save_problem(tmp_path / f"{k}{suffix}", thing)
        same(nonstick.load_problem(tmp_path / f"{k}{suffix}"), case.problem)


def test_a_problem_replaces_all_files_of_an_older_one(tmp_path):
    nonstick.save_problem(tmp_path / "p.mtx", A, B, LOWER, UPPER, cells=CELLS)
    assert len(list(tmp_path.iterdir())) == 5
    nonstick.save_problem(tmp_path / "p.mtx", A, B)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.mtx", "p_b.mtx"]
    assert nonstick.load_problem(tmp_path / "p.mtx").box.one_sided


def test_a_matrix_alone(tmp_path):
    scipy.io.mmwrite(tmp_path / "m.mtx", A)
    sp.save_npz(tmp_path / "m.npz", A)
    for name in ("m.mtx", "m.npz"):
        problem = nonstick.load_problem(tmp_path / name)
        assert np.array_equal(problem.b, np.ones(N)) and not problem.box.lower.any()


def mistakes(tmp_path):
    edges = cases.build("circle2d", 12, walls="edge")
    return {
        "suffix": (lambda: nonstick.save_problem("p.txt", A, B), "written as .npz or .mtx"),
        "no b": (lambda: nonstick.save_problem("p.npz", A), "needs b"),
        "b twice": (lambda: nonstick.save_problem("p.npz", nonstick.BoxProblem(A, B), B), "already has them"),
        "b short": (lambda: nonstick.save_problem("p.npz", A, B[:-1]), "b has shape"),
        "edges": (lambda: nonstick.save_problem("p.npz", edges), "walls='edge'"),
        "products": (
            lambda: nonstick.save_problem("p.npz", nonstick.BoxProblem(Products(A.dot, A.diagonal()), B)),
            "no entries to write",
        ),
        "linear operator": (lambda: nonstick.save_problem("p.npz", aslinearoperator(A), B), "LinearOperator"),
        "no file": (lambda: nonstick.load_problem("nothing.npz"), "there is no file nothing.npz"),
        "no matrix": (lambda: nonstick.load_problem("nothing.mtx"), "there is no file nothing.mtx"),
        "zero character": (lambda: nonstick.load_problem("no\0thing.npz"), "zero character"),
        "masked b": (lambda: nonstick.save_problem("p.npz", A, np.ma.masked_greater(B, -np.inf)), "b.0. is masked"),
    }


@pytest.mark.parametrize("mistake", mistakes(None))
def test_mistakes(tmp_path, monkeypatch, mistake):
    monkeypatch.chdir(tmp_path)
    call, piece = mistakes(tmp_path)[mistake]
    with pytest.raises(NonstickError, match=piece):
        call()
    assert not list(tmp_path.iterdir())


def test_a_bad_problem_in_a_file_is_named(tmp_path):
    path = tmp_path / "bad.npz"
    np.savez(path, A_data=-A.data, A_indices=A.indices, A_indptr=A.indptr, b=B)
    with pytest.raises(NonstickError, match=r"bad\.npz: A\[0, 0\] is"):
        nonstick.load_problem(path)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(NonstickError, match=r"there is no folder .*none for p.npz: make it first"):
        nonstick.save_problem(tmp_path / "none" / "p.npz", [[1.0]], [1.0])
