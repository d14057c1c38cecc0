"""Krylov methods, Richardson's iteration and sparse factorisation."""
