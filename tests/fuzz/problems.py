"""What the fuzzers share: how long they run, small problems, and what counts as an answer.

`NONSTICK_FUZZ=10000` is the number of examples of each fuzzer (`make fuzz`); the suite takes a few.
"""

import os
import warnings

import numpy as np
import scipy.sparse as sp
from bounds import in_time
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import nonstick

#: examples of a fuzzer
EXAMPLES = int(os.environ.get("NONSTICK_FUZZ", "0"))
METHODS = [name for name in nonstick.methods() if not name.startswith("visc")]
#: seconds for hundreds of unknowns where they do not converge: they take part in long runs only
QUICK = ("auto", "pgs", "pi-pcg", "mic-mprgp", "ipm-pd", "newton", "pe-pcg", "fas-mg", "tagiaamg-cg")


def fuzz(few: int):
    """Settings of a fuzzer that runs `few` examples in the suite."""
    return settings(
        max_examples=EXAMPLES or few, deadline=None, derandomize=not EXAMPLES, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


def methods():
    return st.sampled_from(METHODS if EXAMPLES else QUICK)


def laplacian(nx: int, ny: int, seed: int = 0, spread: float = 0.0) -> sp.csr_array:
    """A grid of conductances whose logarithms spread by so many decades, with a little on the diagonal."""
    rng = np.random.default_rng(seed)
    n = nx * ny
    number = np.arange(n).reshape(nx, ny)
    i = np.concatenate([number[:-1].ravel(), number[:, :-1].ravel()])
    j = np.concatenate([number[1:].ravel(), number[:, 1:].ravel()])
    w = 10.0 ** (spread * (rng.random(i.size) - 0.5))
    off = sp.coo_array((-w, (i, j)), shape=(n, n)).tocsr()
    off = off + off.T
    excess = 10.0 ** (spread * (rng.random(n) - 0.5)) * rng.choice([0.0, 0.1, 1.0], n)
    return sp.csr_array(off + sp.diags_array(excess - np.asarray(off.sum(axis=1)).ravel() + 1e-3))


def grid_cells(nx: int, ny: int) -> np.ndarray:
    return np.stack(np.divmod(np.arange(nx * ny), ny), axis=1)


def answered(call) -> object:
    """A solution that is sound, or a sentence: anything else is a finding."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", category=RuntimeWarning)
        try:
            with in_time():
                solution = call()
        except nonstick.NonstickError as error:
            text = str(error)
            assert text and "\n" not in text and len(text) < 600 and "pickle" not in text, text
            return None
    assert np.isfinite(solution.x).all(), solution.message
    assert solution.status and solution.message
    return solution
