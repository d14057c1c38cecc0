"""Levels of an algebraic hierarchy as dense matrices."""

import numpy as np
import scipy.sparse as sp


def dense(A):
    """The matrix of a level."""
    off = sp.csr_array((-A.weights.astype(float), A.indices, A.indptr), shape=(A.n, A.n)).toarray()
    return off + np.diag(A.excess.astype(float) - off.sum(axis=1))


def interpolation(P):
    out = np.zeros((P.cols.shape[0], P.n_coarse))
    for i, (cols, vals) in enumerate(zip(P.cols, P.vals)):
        for c, v in zip(cols, vals):
            if c >= 0:
                out[i, c] += v
    return out
