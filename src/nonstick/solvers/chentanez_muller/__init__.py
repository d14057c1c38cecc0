"""Chentanez and Müller 2011: projected multigrid cycles over coarser discretisations, and projected relaxation."""
