"""Operators A x and transfers between sizes; an operator has its diagonal, its vectors and, if it has one, its grid."""

from .base import Operator
from .csr import CSROperator, Products
from .faces import FaceSystem, ViscosityOperator
from .masked import LowRank, Masked
from .rows import Rows
from .saddle import Bordered
from .stencil import StencilOperator, as_operator
from .transfer import AggregateTransfer, MatrixTransfer, Transfer

__all__ = [
    "AggregateTransfer",
    "Bordered",
    "CSROperator",
    "FaceSystem",
    "LowRank",
    "Masked",
    "MatrixTransfer",
    "Operator",
    "Products",
    "Rows",
    "StencilOperator",
    "Transfer",
    "ViscosityOperator",
    "as_operator",
]
