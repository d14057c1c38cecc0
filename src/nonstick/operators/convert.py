"""Anything matrix-like as an operator."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .base import Operator
from .csr import CSROperator
from .stencil import StencilOperator


def as_operator(A, cells=None, symmetric: bool = True) -> Operator:
    """Anything matrix-like as an operator; with `cells` it is a stencil operator if the matrix allows it."""
    if isinstance(A, Operator):
        return A
    A = A if isinstance(A, sp.csr_array) and A.dtype == float else sp.csr_array(A, dtype=float)
    if cells is not None:
        cells = np.asarray(cells)
        stencil = StencilOperator.from_matrix(A, cells) if symmetric else None
        if stencil is not None:
            return stencil
    return CSROperator(A, cells, symmetric)
