"""Preconditioners other than multigrid: incomplete factors, diagonals, deflation of rigid bodies."""
