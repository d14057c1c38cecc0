"""What counts as rounding: every threshold that stands for the precision of the machine, with its meaning.

ε = 2⁻⁵² is the spacing of numbers near 1. A sum of n terms is off by up to n ε of their sizes, a difference of such
sums by the same part of what was subtracted; 1e-12 leaves room for some thousand terms, √ε ≈ 1e-8 is the smallest part
of a vector whose square can be told from rounding.
"""

from __future__ import annotations

#: the spacing of numbers near 1
EPSILON = 2.0**-52
#: x less a bound, relative to both: what is left is the last bits of one of them
BOUND = 1e-15
#: no row and no Krylov vector has more digits than this, relative to its terms
DIGITS = 1e-14
#: a sum of a row's entries, relative to their sizes: zero in exact arithmetic
SUM = 1e-12
#: xᵀA x or the sum of a right-hand side, relative to the sizes that are summed over many rows
TOTAL = 1e-11
#: pivots, volumes and weights that are this part of what they began with have vanished
PIVOT = 1e-10
#: curvature, forces and entries of a vector, relative to the largest: a product of two rounded sums
VANISHED = 1e-9
#: eigenvalues and entries of two vectors that agree to half of all digits are equal
HALF = 1e-8
#: a sum in single precision, or the share of a cell or a face, relative to a whole one: less is none
SINGLE = 1e-6
#: the part of what it began with that a solve in single precision leaves
SINGLE_SOLVE = 1e-4
#: no residual is asked for that is smaller than this, relative to the right-hand side: squares of it would vanish
LEAST_KKT = 1e-18
#: a row whose own diagonal outweighs its couplings by this is held by it: they change half the digits of single
#: precision
HELD = 1e3
