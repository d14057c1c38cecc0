"""Scenes: the schema of scene files, the built-in ones, and the `Scene` class."""
