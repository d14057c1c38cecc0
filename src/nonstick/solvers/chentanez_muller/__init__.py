"""Chentanez and Müller 2012: projected multigrid cycles over coarser discretisations, and projected relaxation."""
