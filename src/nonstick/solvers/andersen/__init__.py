"""Andersen, Niebe, Erleben 2017: Newton's method on the minimum map."""
