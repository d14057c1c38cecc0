"""A sparse Cholesky factorisation: an order of elimination, the fronts that it leads to, and their numbers.

The first two depend on the pattern of a matrix alone and are made once; numbers follow for every free set and shift.
"""
