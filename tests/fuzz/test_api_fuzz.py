"""Calls of `solve` and `lcp` with arguments of every kind of wrong: a solution or one sentence, never anything else."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from problems import answered, fuzz, grid_cells, laplacian, methods

import nonstick
from nonstick import registry

SIZES = st.tuples(st.integers(1, 7), st.integers(1, 7))
ODD_NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300, -1e300, 1e300, np.inf, -np.inf, np.nan, 5e-324, 1e16])


def spoil(array: np.ndarray, where: int, value) -> np.ndarray:
    out = np.array(array, dtype=float)
    if out.size:
        out.flat[where % out.size] = value
    return out


ARRAYS = {
    "as it is": lambda a, k, v: a,
    "one odd number": spoil,
    "read-only": lambda a, k, v: (a.setflags(write=False), a)[1],
    "too short": lambda a, k, v: a[:-1],
    "too long": lambda a, k, v: np.append(a, a[:1], axis=0),
    "a column": lambda a, k, v: a[:, None],
    "a row": lambda a, k, v: a[None, :],
    "float32": lambda a, k, v: a.astype(np.float32),
    "big-endian": lambda a, k, v: a.astype(">f8"),
    "complex": lambda a, k, v: a + 0j,
    "integers": lambda a, k, v: np.nan_to_num(a, posinf=9, neginf=-9).astype(np.int8),
    "booleans": lambda a, k, v: a > 0,
    "strings": lambda a, k, v: a.astype(str),
    "objects": lambda a, k, v: a.astype(object),
    "None": lambda a, k, v: None,
    "a list": lambda a, k, v: a.tolist(),
    "ragged": lambda a, k, v: [a.tolist(), [1.0]],
    "strided": lambda a, k, v: np.repeat(a, 2, axis=0)[::2],
    "a number": lambda a, k, v: v,
    "huge": lambda a, k, v: a * 1e200,
    "tiny": lambda a, k, v: a * 1e-200,
    "empty": lambda a, k, v: a[:0],
    "a dict": lambda a, k, v: {"a": 1},
}

MATRICES = {
    "as it is": lambda A, k, v: A,
    "csc": lambda A, k, v: A.tocsc(),
    "coo": lambda A, k, v: A.tocoo(),
    "bsr": lambda A, k, v: sp.bsr_array(A),
    "dia": lambda A, k, v: sp.dia_array(A),
    "lil": lambda A, k, v: A.tolil(),
    "dok": lambda A, k, v: A.todok(),
    "old matrix": lambda A, k, v: sp.csr_matrix(A),
    "dense": lambda A, k, v: A.toarray(),
    "not symmetric": lambda A, k, v: sp.csr_array(A + sp.coo_array(([1.0], ([0], [A.shape[0] - 1])), shape=A.shape)),
    "indefinite": lambda A, k, v: A - 3.0 * sp.eye_array(A.shape[0]),
    "wide": lambda A, k, v: A[:, :-1],
    "one odd number": lambda A, k, v: sp.csr_array((spoil(A.data, k, v), A.indices, A.indptr), shape=A.shape),
    "float32": lambda A, k, v: A.astype(np.float32),
    "complex": lambda A, k, v: A * 1j,
    "integers": lambda A, k, v: A.astype(int),
    "huge": lambda A, k, v: A * 1e250,
    "tiny": lambda A, k, v: A * 1e-250,
    "zero": lambda A, k, v: A * 0.0,
    "index out of range": lambda A, k, v: _broken(A, "indices", k, 10**6),
    "negative index": lambda A, k, v: _broken(A, "indices", k, -1),
    "pointer out of range": lambda A, k, v: _broken(A, "indptr", k, 10**6),
    "rows that overlap": lambda A, k, v: _broken(A, "indptr", k, 0),
    "a damaged dictionary": lambda A, k, v: _damaged_dok(A, k),
    "damaged lists": lambda A, k, v: _damaged_lil(A, k),
    "damaged diagonals": lambda A, k, v: _damaged_dia(A, k),
    "one axis": lambda A, k, v: sp.coo_array(np.ones(A.shape[0])),
    "lists": lambda A, k, v: sp.lil_array(A),
    "blocks": lambda A, k, v: sp.bsr_array(A),
    "vast and empty": lambda A, k, v: sp.coo_array((10**12, 10**12)),
    "a string": lambda A, k, v: "A",
    "None": lambda A, k, v: None,
}


def _broken(A, part: str, where: int, value: int):
    out = A.copy()
    array = getattr(out, part)
    array[where % array.size] = value
    return out


def _damaged_dok(A, where: int):
    out = sp.dok_array(A)
    out._dict[(where % 99, -1 if where % 2 else 10**6)] = 1.0
    return out


def _damaged_lil(A, where: int):
    out = sp.lil_array(A)
    row = where % A.shape[0]
    if where % 3:
        out.rows[row].append(-1 if where % 2 else 10**6)
        out.data[row].append(1.0)
    else:
        (out.rows if where % 2 else out.data)[row].extend([0] * 50)
    return out


def _damaged_dia(A, where: int):
    out = sp.dia_array(A)
    out.offsets[where % out.offsets.size] = 10**6 if where % 2 else -(10**9)
    return out


STOPS = st.fixed_dictionaries(
    {},
    optional={
        "rtol": st.sampled_from(
            [1e-6, 1e-3, 0.0, -1.0, np.nan, np.inf, 1e-300, "1e-6", None, 2, np.float16(1e-3), 10**400]
        ),
        "atol": st.sampled_from([0.0, 1e-9, -1.0, np.nan, None, np.longdouble(1e-9), np.complex64(1)]),
        "maxiter": st.sampled_from([1, 3, 50, 0, -1, 2.5, None, "3", 10**30]),
        "callback": st.sampled_from([None, 3, "print", lambda monitor: None, lambda monitor: monitor.stop("maxiter")]),
    },
)


@fuzz(150)
@given(
    size=SIZES, seed=st.integers(0, 99), spread=st.sampled_from([0.0, 0.0, 3.0, 12.0]), method=methods(),
    matrix=st.sampled_from(list(MATRICES)), changes=st.dictionaries(
        st.sampled_from(["b", "lower", "upper", "x0", "cells"]), st.sampled_from(list(ARRAYS)), max_size=2),
    where=st.integers(0, 10**6), value=ODD_NUMBERS, stop=STOPS, lcp=st.booleans(),
)  # fmt: skip
def test_every_call_is_answered(size, seed, spread, method, matrix, changes, where, value, stop, lcp):
    rng = np.random.default_rng(seed)
    A, n = laplacian(*size, seed, spread), size[0] * size[1]
    given = {
        "b": rng.standard_normal(n),
        "lower": np.where(rng.random(n) < 0.7, 0.0, -np.inf),
        "upper": np.where(rng.random(n) < 0.3, 1.0, np.inf),
        "x0": rng.standard_normal(n),
        "cells": grid_cells(*size),
    }
    given |= {name: ARRAYS[kind](given[name], where, value) for name, kind in changes.items()}
    if "cells" not in changes and seed % 2:
        del given["cells"]
    if lcp:
        given["q"] = given.pop("b")
        for name in ("lower", "upper"):
            del given[name]
    stop = {"maxiter": 300} | stop
    answered(
        lambda: (nonstick.lcp if lcp else nonstick.solve)(
            MATRICES[matrix](A, where, value), **given, method=method, **stop
        )
    )


@fuzz(60)
@given(
    size=st.tuples(st.integers(1, 24), st.integers(1, 24)), seed=st.integers(0, 10**6), method=methods(),
    spread=st.floats(0.0, 16.0), cells=st.booleans(), scale=st.sampled_from([1.0, 1e-12, 1e12]),
)  # fmt: skip
def test_badly_scaled_problems_end_and_are_no_worse_than_their_start(size, seed, method, spread, cells, scale):
    """Sound input: whatever the coefficients, a method ends, and with no more than the residual it began with."""
    rng = np.random.default_rng(seed)
    A, n = scale * laplacian(*size, seed, spread), size[0] * size[1]
    more = {"cells": grid_cells(*size)} if cells else {}
    solution = answered(lambda: nonstick.solve(A, rng.standard_normal(n), method=method, **more))
    if solution is None or registry.get(method).as_printed:  # a paper's own formulas may end anywhere
        return
    if "linear residual" not in solution.message:
        assert solution.kkt() <= max(solution.problem.kkt(np.zeros(n)), 1e-6) * (1 + 1e-12)
