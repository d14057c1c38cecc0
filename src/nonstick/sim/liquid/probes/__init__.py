"""Probes: numbers that a scene asks for in every step, such as a water height or the force on a wall."""
