"""Algebraic multigrid for any sparse matrix: coarse rows by Ruge and Stüben, interpolation of long range."""
