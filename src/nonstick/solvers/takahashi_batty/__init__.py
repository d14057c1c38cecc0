"""Takahashi and Batty: MPRGP, and interior points with a log barrier, primal, primal-dual, and Mehrotra's."""
