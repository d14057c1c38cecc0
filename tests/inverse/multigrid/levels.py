"""Small matrices, and levels of an algebraic hierarchy as dense matrices."""

import numpy as np
import scipy.sparse as sp


def grid(n, weak=1.0):
    T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    one = sp.eye_array(n)
    return sp.csr_array(sp.kron(T, one) + weak * sp.kron(one, T))


def rotated(n, epsilon, angle):
    """Central differences with a cross term: positive couplings on one diagonal."""
    c, s = np.cos(angle), np.sin(angle)
    a, b, m = c * c + epsilon * s * s, s * s + epsilon * c * c, 0.5 * (1 - epsilon) * c * s
    A = sp.csr_array((n * n, n * n))
    for i, row in enumerate([[m, -a, -m], [-b, 2 * (a + b), -b], [-m, -a, m]]):
        for j, value in enumerate(row):
            A = A + value * sp.kron(sp.eye_array(n, k=i - 1), sp.eye_array(n, k=j - 1))
    return sp.csr_array(A)


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
