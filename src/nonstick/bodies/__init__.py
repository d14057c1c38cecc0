"""Rigid bodies: shape, mass, pose and velocity, contact, prescribed motion. Knows nothing of liquid."""
