"""Lai, Chen, Gu, Batty, Wan 2020: policy iteration, the penalty method, and FAS multigrid."""
